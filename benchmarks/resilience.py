"""Measure what retry, breaker, log line and metrics cost for each call, beside the bare call.

    python benchmarks/resilience.py

The call does nothing but let other tasks run once, so everything else is what is put around it. All rows take
turns, in slices of 300 calls, and each figure is the median over the slices in microseconds of processor
time. The last column is the ratio to the bare call in the same run. Needs the extra ``stack``.

A remote call on the loopback takes about 500 microseconds. Set against that, one sees what is worth saving.
"""

from __future__ import annotations

import asyncio
import gc
import io
import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from pybreaker import CircuitBreaker
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from tutorial_lib import Breaker
from tutorial_lib.stack.logs import make_log
from tutorial_lib.stack.metrics import Metrics

CALLS: Final = 300
SLICES: Final = 21

Call = Callable[[], Awaitable[Any]]


async def bare() -> None:
    await asyncio.sleep(0)


def with_breaker(call: Call) -> Call:
    return partial(Breaker().call, call)


def with_retry(call: Call) -> Call:
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(ConnectionError),
        stop=stop_after_attempt(3),
        wait=wait_exponential(),
        reraise=True,
    )

    async def action() -> Any:
        return await call()

    return partial(retrying, action)


def with_log(call: Call) -> Call:
    log = make_log("benchmark", io.StringIO())

    async def action() -> None:
        await call()
        log.info("called", number=1)

    return action


def with_metrics(call: Call) -> Call:
    metrics = Metrics()
    completed = metrics.tasks.labels("w1", "completed")

    async def action() -> None:
        begin = time.monotonic()
        await call()
        completed.inc()
        metrics.seconds.observe(time.monotonic() - begin)

    return action


def with_pybreaker(call: Call) -> Call:
    breaker = CircuitBreaker()

    async def action() -> None:
        breaker.call(int)  # a plain function: it cannot guard an awaited call
        await call()

    return action


def rows() -> dict[str, Call]:
    """Return what is measured: the name of each row and its call, ready to be awaited."""
    return {
        "bare call": bare,
        "+ breaker (ours)": with_breaker(bare),
        "+ breaker (pybreaker)": with_pybreaker(bare),
        "+ retry (tenacity)": with_retry(bare),
        "+ log line (structlog)": with_log(bare),
        "+ metrics (prometheus_client)": with_metrics(bare),
        "+ breaker, retry, log and metrics": with_metrics(with_log(with_retry(with_breaker(bare)))),
    }


async def cost(call: Call) -> float:
    """Return the processor time of one call in microseconds, measured over one slice."""
    gc.collect()
    begin = time.thread_time()
    for _ in range(CALLS):
        await call()
    return (time.thread_time() - begin) / CALLS * 1e6


async def main() -> None:
    calls = rows()
    costs: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(SLICES):
        for name, call in calls.items():
            costs[name].append(await cost(call))
    base = statistics.median(costs["bare call"])
    print(f"{'':<36}{'us':>8}{'ratio':>8}")
    for name, figures in costs.items():
        median = statistics.median(figures)
        print(f"{name:<36}{median:>8.1f}{median / base:>8.1f}")


if __name__ == "__main__":
    asyncio.run(main())
