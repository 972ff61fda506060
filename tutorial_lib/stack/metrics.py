"""Metrics: what the services count, and the page that Prometheus reads.

A counter is a number in the memory of one process. A page that is served by one process says nothing of what
the others counted. With several processes, prometheus_client therefore keeps each number in a file, in a
folder that all of them share: this is the case when the environment variable ``PROMETHEUS_MULTIPROC_DIR``
names one before prometheus_client is imported. A number in a file also outlives a process that is killed.
"""

from __future__ import annotations

import os

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["Metrics"]

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second line for each number, with the time at which it was first used


class Metrics:
    """The numbers of one service, or of all services that share a process.

    Each has a registry of its own, so a second stack in the same notebook starts at zero.

    >>> metrics = Metrics()
    >>> metrics.tasks.labels("w1", "completed").inc()
    >>> 'tutorial_tasks_total{status="completed",worker="w1"} 1.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "tutorial_requests", "Requests to the front", ["code"], registry=self._registry
        )
        self.tasks = Counter(
            "tutorial_tasks", "Tasks that ended", ["worker", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "tutorial_task_seconds",
            "How long a task took, with all its tries",
            buckets=[0.01, 0.05, 0.1, 0.5, 1, 2, 5],
            registry=self._registry,
        )
        self.calls = Counter("tutorial_calls", "Calls of the gRPC server", ["code"], registry=self._registry)
        self.breaker_open = Gauge(
            "tutorial_breaker_open",
            "1 while the breaker is open",
            registry=self._registry,
            multiprocess_mode="mostrecent",
        )

    def text(self) -> str:
        """Return all numbers in the text format that Prometheus reads."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry).decode("utf-8")
