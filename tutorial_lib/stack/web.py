"""Web: the front, with Flask. It hands a number on as a task, and tells later what became of it.

=====================  ======================================================================
``/compute/<number>``  202 with the id of the task; 429 when there are too many requests
``/result/<task id>``  200 with the result, 202 while there is none, 400 or 502 if it failed
``/metrics``           the page that Prometheus reads
``/health``            200 if the front is up
=====================  ======================================================================

As a program: ``python -m tutorial_lib.stack.web PORT [ADDRESS]``, on the loopback unless told otherwise.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
import uuid
from collections import deque
from dataclasses import replace
from typing import Any

import kombu.exceptions
import redis.exceptions
from flask import Flask, Response, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server

from tutorial_lib.stack.client import WrongRequest
from tutorial_lib.stack.logs import make_log, open_log, working_for
from tutorial_lib.stack.metrics import Metrics
from tutorial_lib.stack.settings import Settings
from tutorial_lib.stack.worker import SQUARE, make_celery

__all__ = ["QuietHandler", "create_app"]

_QUEUE_IS_AWAY = (kombu.exceptions.OperationalError, redis.exceptions.RedisError, OSError)

Answer = tuple[Response, int]


def create_app(settings: Settings, log: Any, metrics: Metrics) -> Flask:
    """Return the Flask application."""
    app = Flask("tutorial")
    results = make_celery(settings)
    # Celery subscribes to the result of each task that it sends, unless it has nowhere to read it from. The
    # front reads results only when asked, and must be able to say at once that the queue is away.
    queue = make_celery(replace(settings, results="disabled://"))
    limit = _RateLimit(settings.requests_per_second)

    @app.get("/compute/<int(signed=True):number>")
    def compute(number: int) -> Answer:
        request_id = request.headers.get("X-Request-ID") or uuid.uuid4().hex
        with working_for(request_id):
            if not limit.allows_one_more():
                log.warning("refused", number=number)
                return _said(429, error="Too many requests. Try again in a second.", request_id=request_id)
            task_id = uuid.uuid4().hex
            log.info("accepted", number=number, task_id=task_id)
            try:
                queue.send_task(SQUARE, args=[number, request_id], task_id=task_id)
            except _QUEUE_IS_AWAY as error:
                log.error("queue is away", number=number, reason=str(error))
                return _said(503, error="The queue is away. Try again later.", request_id=request_id)
            return _said(202, task_id=task_id, request_id=request_id)

    @app.get("/result/<task_id>")
    def result(task_id: str) -> Answer:
        task = results.AsyncResult(task_id)
        try:
            state, value = task.state, task.result
        except _QUEUE_IS_AWAY:
            return _said(503, error="The results are away. Try again later.")
        if state == "SUCCESS":
            return _said(200, state="completed", result=value)
        if state == "FAILURE":
            return _said(400 if isinstance(value, WrongRequest) else 502, state="failed", error=str(value))
        # Celery cannot tell a task that waits from one that never was.
        return _said(202, state="running" if state == "STARTED" else "waiting, or unknown")

    @app.get("/metrics")
    def metrics_page() -> Response:
        return Response(metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/health")
    def health() -> Answer:
        return _said(200, state="up")

    @app.after_request
    def count(response: Response) -> Response:
        if request.endpoint == "compute":
            metrics.requests.labels(response.status_code).inc()
        return response

    return app


class QuietHandler(WSGIRequestHandler):
    """Handles requests without a log line of its own for each: the application writes better ones."""

    def log_request(self, *_: object) -> None:
        """Say nothing."""


def _said(code: int, **fields: Any) -> Answer:
    return jsonify(fields), code


class _RateLimit:
    """Allows so many requests in any second. The threads of the front share it."""

    def __init__(self, per_second: int) -> None:
        self._moments: deque[float] = deque(maxlen=per_second)
        self._lock = threading.Lock()

    def allows_one_more(self) -> bool:
        """Tell whether one more request fits in, and count it if so."""
        with self._lock:
            now = time.monotonic()
            is_full = len(self._moments) == self._moments.maxlen
            if is_full and now - self._moments[0] < 1.0:
                return False
            self._moments.append(now)  # the oldest drops out
            return True


def main() -> None:
    """Serve until the process is told to stop."""
    port = int(sys.argv[1])
    host = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    settings = Settings.from_environment()
    log = make_log("web", open_log(settings.log_file))
    app = create_app(settings, log, Metrics())
    server = make_server(host, port, app, threaded=True, request_handler=QuietHandler)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    main()
