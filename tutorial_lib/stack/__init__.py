"""The whole stack of lesson 08: Flask, Celery, gRPC and Prometheus, in one process or in many. An extra.

A number goes in at the front and its square comes out, by a way on which everything can go wrong:

    browser ──> web (Flask) ──> queue ──> worker (Celery) ──> compute (gRPC)

========  =====================================================================================
settings  every knob in one place, handed to other processes through their environment
logs      structured lines that carry one request id through all services
metrics   counters that are right with one process and with many
compute   the gRPC server
client    calls it, with a deadline, retry and a circuit breaker
worker    the Celery application and its one task
web       the Flask front
embedded  all of it in this process, without a server: `run_stack`
real      all of it in processes of their own, with redis-server and Prometheus
deploy    the files for Prometheus, Grafana and containers
adapters  tenacity and pybreaker on the clock of the running loop, for lesson 07
========  =====================================================================================
"""

from __future__ import annotations

from importlib.util import find_spec

_NEEDED = ("celery", "flask", "grpc", "prometheus_client", "pybreaker", "redis", "structlog", "tenacity")
_missing = [name for name in _NEEDED if find_spec(name) is None]
if _missing:
    raise ImportError(
        f"The whole stack needs {', '.join(_missing)}, which is not installed here. "
        "In a notebook, run: %pip install 'tuplespace-tutorial[stack]'. Then restart the kernel."
    )
