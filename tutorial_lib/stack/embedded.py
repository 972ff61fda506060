"""Embedded: the whole stack in this process, without any server to install.

gRPC and Flask listen on free ports of the loopback, Celery's queue is in memory and its worker is a thread.

>>> with run_stack() as stack:
...     stack.compute(5)
25
"""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from celery.contrib.testing.worker import start_worker
from werkzeug.serving import make_server

from tutorial_lib.stack.client import ComputeClient
from tutorial_lib.stack.compute import ComputeServer
from tutorial_lib.stack.logs import LogBook, make_log
from tutorial_lib.stack.metrics import Metrics
from tutorial_lib.stack.settings import Settings
from tutorial_lib.stack.web import QuietHandler, create_app
from tutorial_lib.stack.worker import add_task, make_celery

__all__ = ["Front", "Stack", "run_stack"]

_POLL: Final = 0.02  # seconds between two looks at a result
_the_only_one: Final = threading.Lock()

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # or gRPC writes into the notebook when a server stops


class Front:
    """The front of a stack as its callers see it, at ``url``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, Any]]:
        """Return the status and the fields of the answer to ``GET path``, sent with ``headers``.

        Raises `ConnectionError` if nobody answers.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=named)) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError as error:
            raise ConnectionError(f"{self.url} does not answer: {error}") from None

    def metrics(self) -> str:
        """Return the page that Prometheus reads."""
        with urllib.request.urlopen(self.url + "/metrics") as answer:
            return str(answer.read().decode("utf-8"))

    def outcome(self, task_id: str, timeout: float = 10.0) -> tuple[int, dict[str, Any]]:
        """Wait until the task has ended, and return the answer of its result route.

        Raises `TimeoutError` if it has not ended after ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            code, answer = self.get(f"/result/{task_id}")
            if code not in (202, 503):
                return code, answer
            time.sleep(_POLL)
        raise TimeoutError(f"Task {task_id} has not ended after {timeout:g} s. Its state: {answer}.")

    def compute(self, number: int, timeout: float = 10.0) -> Any:
        """Send ``number`` through the whole stack and return its square, or the text of the error.

        Raises `TimeoutError` if there is neither after ``timeout`` seconds.
        """
        code, answer = self.get(f"/compute/{number}")
        if code == 202:
            code, answer = self.outcome(answer["task_id"], timeout)
        return answer["result"] if code == 200 else answer["error"]


class Stack(Front):
    """A stack that runs in this process. Made by `run_stack`.

    ``server`` is its gRPC server, ``client`` what the worker calls it with.
    """

    def __init__(self, url: str, server: ComputeServer, client: ComputeClient, book: LogBook) -> None:
        super().__init__(url)
        self.server = server
        self.client = client
        self._book = book

    def logs(self, request_id: str | None = None) -> list[dict[str, Any]]:
        """Return the log lines so far: all, or those of one request."""
        lines = list(self._book.entries)
        return [line for line in lines if request_id in (None, line.get("request_id"))]

    def stop_compute(self) -> None:
        """Stop the gRPC server. Its address stays reserved for `start_compute`, which forgets all answers."""
        self.server.stop()

    def start_compute(self) -> None:
        """Start a new gRPC server at the address of the old one."""
        self.server = ComputeServer(make_log("compute", self._book), self.server.address)


@contextmanager
def run_stack(**settings: Any) -> Iterator[Stack]:
    """Run the stack in this process while the block lasts: ``with run_stack() as stack:``.

    ``settings`` are fields of `Settings`, such as ``deadline=0.2``. When the block ends, everything has
    stopped. Raises `RuntimeError` if a stack runs already in
    this process.
    """
    if not _the_only_one.acquire(blocking=False):
        # Celery can tell only all workers of a process to stop.
        raise RuntimeError("A stack runs in this process already. Leave its with block first.")
    try:
        yield from _run(settings)
    finally:
        _the_only_one.release()


def _run(settings: dict[str, Any]) -> Iterator[Stack]:
    book = LogBook()
    server = ComputeServer(make_log("compute", book))
    # Celery's memory is shared by the whole process, so each stack has a queue of its own in it.
    chosen = Settings(**{"queue": f"compute-{uuid.uuid4().hex}", **settings, "compute": server.address})
    metrics = Metrics()
    celery = make_celery(chosen)
    log = make_log("worker", book)
    client = ComputeClient(chosen, log, metrics)
    add_task(celery, client, chosen.worker, log, metrics)
    front = create_app(chosen, make_log("web", book), metrics)
    web = make_server("127.0.0.1", 0, front, threaded=True, request_handler=QuietHandler)
    stack = Stack(f"http://127.0.0.1:{web.server_port}", server, client, book)
    thread = threading.Thread(target=web.serve_forever, name="web", daemon=True)
    try:
        with start_worker(celery, pool="solo", perform_ping_check=False, loglevel="CRITICAL"):
            thread.start()
            try:
                yield stack
            finally:
                celery.control.shutdown()  # wakes the worker, which would notice its end seconds later
    finally:
        if thread.is_alive():
            web.shutdown()
            thread.join()
        web.server_close()
        client.close()
        stack.server.stop()
        celery.close()
