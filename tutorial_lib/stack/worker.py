"""Worker: the Celery application and its one task.

As a program: ``celery -A tutorial_lib.stack.worker:app worker --pool solo``. Each worker is one process, so
that one which is killed takes nobody along.
"""

from __future__ import annotations

import time
from typing import Any, Final

from celery import Celery, Task
from celery.signals import worker_ready
from pybreaker import CircuitBreakerStorage, CircuitRedisStorage
from redis import Redis

from tutorial_lib.stack.client import ComputeClient, ComputeFailed, WrongRequest
from tutorial_lib.stack.logs import make_log, open_log, working_for
from tutorial_lib.stack.metrics import Metrics
from tutorial_lib.stack.settings import Settings

__all__ = ["SQUARE", "add_task", "make_celery"]

SQUARE: Final = "tutorial.square"
"""The name of the task. Written out, since a name made from the module differs between worker and front."""


def make_celery(settings: Settings) -> Celery:
    """Return a Celery application on the broker of the settings. The front needs no more to send a task."""
    app = Celery("tutorial", broker=settings.broker, backend=settings.results, set_as_current=False)
    transport: dict[str, Any] = {"visibility_timeout": settings.redelivery}
    if settings.broker == "memory://":
        transport["polling_interval"] = 0.01  # the default of a second makes a notebook feel slow
    else:
        transport |= {"socket_timeout": 2.0, "socket_connect_timeout": 2.0}
        # Whoever sends a task learns within a moment that the queue is away. By default it takes six seconds.
        transport |= {"max_retries": 1, "interval_start": 0.0, "interval_step": 0.1}
        # Look for tasks of dead workers every second. By default it is done only every 100 seconds.
        transport |= {"unacked_restore_interval": 1, "unacked_restore_throttle": 1}
    app.conf.update(
        task_default_queue=settings.queue,
        task_acks_late=True,  # a task is off the queue when it is done, not when it begins
        task_reject_on_worker_lost=True,
        # One task in hand, and none asked for meanwhile: one that is on its way to a worker that is killed is
        # lost, since Redis has handed it out and nobody has noted it yet.
        worker_prefetch_multiplier=1,
        worker_concurrency=1,
        task_publish_retry=False,  # the front says at once that the queue is away
        broker_transport_options=transport,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # a worker waits for the broker as long as it takes
        redis_socket_timeout=2.0,
        redis_socket_connect_timeout=2.0,
        result_backend_transport_options={"retry_policy": {"max_retries": 5, "interval_step": 0.2}},
        result_expires=3600,
        task_track_started=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
    )
    return app


def add_task(app: Celery, client: ComputeClient, worker: str, log: Any, metrics: Metrics) -> None:
    """Register the task, which squares a number by means of ``client``, in the name of ``worker``.

    Retry and breaker are inside the task. Around it they would replace the task by a plain function, which
    has no ``delay``, and which no worker would ever call.
    """

    @app.task(name=SQUARE, bind=True, shared=False)  # or every application of this process would get this one
    def square(task: Task[Any, Any], number: int, request_id: str) -> int:
        begin = time.monotonic()
        status = "failed"
        with working_for(request_id):
            log.info("task started", worker=worker, redelivered=_is_redelivered(task))
            try:
                result = client.square(number, request_id)
                status = "completed"
                return result
            except (ComputeFailed, WrongRequest) as error:
                log.error("task failed", worker=worker, reason=str(error))
                raise
            finally:
                if status == "completed":
                    log.info("task completed", worker=worker)
                metrics.tasks.labels(worker, status).inc()
                metrics.seconds.observe(time.monotonic() - begin)


def _is_redelivered(task: Task[Any, Any]) -> bool:
    return bool((task.request.delivery_info or {}).get("redelivered"))


def _shared_storage(settings: Settings) -> CircuitBreakerStorage | None:
    """Keep the breaker's state where all workers see it; in memory if there is but one process."""
    if not settings.broker.startswith("redis://"):
        return None
    return CircuitRedisStorage("closed", Redis.from_url(settings.broker), namespace=settings.queue)


def _from_environment() -> Celery:
    settings = Settings.from_environment()
    log, metrics = make_log("worker", open_log(settings.log_file)), Metrics()
    app = make_celery(settings)
    client = ComputeClient(settings, log, metrics, _shared_storage(settings))
    add_task(app, client, settings.worker, log, metrics)

    @worker_ready.connect(weak=False)
    def tell(**_: Any) -> None:
        log.info("worker is ready", worker=settings.worker)

    return app


def __getattr__(name: str) -> Celery:
    """Make ``app`` when Celery asks for it, and not whenever this module is imported."""
    if name == "app":
        return _from_environment()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
