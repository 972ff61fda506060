"""Instruments: what a check hands to an answer, and what it does around it.

Whatever an answer is given to call records its calls and returns in the trace, as work does: ``start`` when
it is awaited, ``finish`` with the value it returns, ``fail`` with the error it raises. So a judge needs
nothing but the trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from tutorial_lib.course.checking import Objection, clock
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Trace, current_trace, note
from tutorial_lib.virtual_task import VirtualTask

__all__ = [
    "OutOfPaper",
    "cancel",
    "late_start",
    "note_waiting",
    "now",
    "perform",
    "raised_by_calls",
    "record",
    "some_error",
    "still_running",
    "waiting_text",
    "watch_over",
    "whole_number",
]


def now() -> float:
    """Return the time on the running loop's clock, in seconds."""
    return asyncio.get_running_loop().time()


def record(kind: str, *fields: Any, **detail: Any) -> None:
    """Write an event into the trace of the run."""
    trace = current_trace()
    assert trace is not None, "a check always runs under simulate"
    trace.record(kind, fields=fields, detail=detail)


async def perform(task: Any, seconds: float, *, value: Any = None, error: Exception | None = None) -> Any:
    """Work on ``task`` for so many seconds; then return ``value``, or raise ``error`` if there is one.

    With 0 seconds it does not pause at all.
    """
    record("start", task)
    try:
        if seconds:
            await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        record("fail", task, reason="cancelled")
        raise
    if error is not None:
        record("fail", task, error=error)
        raise error
    record("finish", task, value=value)
    return value


class OutOfPaper(Exception):
    """An error of a kind that no answer knows by name."""


def some_error(number: int, text: str) -> Exception:
    """Return an error with this text. Its kind changes with the number: no answer may count on one."""
    kinds = (RuntimeError, TimeoutError, OutOfPaper)
    return kinds[(number - 1) % len(kinds)](text)


def raised_by_calls(trace: Trace | None) -> list[Exception]:
    """Return the errors that supplied callables have raised, in order."""
    failures = trace.of("fail") if trace is not None else []
    return [event.detail["error"] for event in failures if "error" in event.detail]


def whole_number(call: str, value: Any) -> int:
    """Return ``value`` if it is a whole number, as ``call`` needs it; raises `TypeError` otherwise."""
    if type(value) is not int:
        raise TypeError(f"{call} needs the number of the task, an int; it got {value!r}")
    return value


# ---------------------------------------------------------------------------------------------------
# Answers that go on for ever


async def watch_over(
    workers: Collection[asyncio.Task[Any]],
    is_decided: Callable[[], Awaitable[bool]],
    *,
    seconds: float,
    every: float = 0.5,
) -> None:
    """Let endless ``workers`` run until ``is_decided`` says so, at most so many virtual seconds.

    Workers may be added to the list and removed from it meanwhile. ``is_decided`` is asked every ``every``
    seconds. Raises what a worker raises, and `Objection` if a worker returns.
    """
    end = now() + seconds
    while now() < end and not await is_decided():
        pause = min(every, end - now())
        done, _ = await asyncio.wait(list(workers), timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        for worker in done:
            await worker
            raise Objection(
                f"{worker.get_name()} goes on for ever.",
                f"at {clock(now())} it returned, and whatever comes later would wait in vain.",
                "put a loop around the work that has no end: while True.",
                at=now(),
            )


def late_start(seed: int) -> float:
    """Return the second at which a run with this seed begins in earnest: 0, or for every other one later.

    An answer must not take the clock to begin at 0. The first seed does so, for the sake of the picture.
    """
    return 1000.0 * (seed % 2)


async def cancel(worker: asyncio.Task[Any], *, within: float = 5.0) -> None:
    """Cancel a running task; raises `Objection` unless it ends so ``within`` seconds.

    If it has ended before, its error is raised.
    """
    if worker.done():
        await worker
    began = now()
    name = worker.get_name()
    record("note", text=f"{name} is cancelled")
    worker.cancel()
    await asyncio.wait({worker}, timeout=within)
    if not worker.done() or not worker.cancelled():
        how = "returned as if nothing had happened" if worker.done() else f"still ran at {clock(now())}"
        raise Objection(
            f"who is cancelled ends: asyncio.CancelledError passes through {name}.",
            f"at {clock(began)} {name} was cancelled, and it {how}.",
            "catch Exception, not everything: CancelledError is no Exception. If you caught it to tidy up, "
            "raise it again.",
            at=began,
        )


async def still_running() -> list[str]:
    """Return the actors of the tasks that an answer has left behind, once those it cancelled have ended."""
    await asyncio.sleep(0.001)
    mine = asyncio.current_task()
    left = [task for task in asyncio.all_tasks() if task is not mine and isinstance(task, VirtualTask)]
    return [task.actor for task in sorted(left, key=lambda task: task.number)]


# ---------------------------------------------------------------------------------------------------
# Why somebody waits


def note_waiting(*spaces: TupleSpace) -> None:
    """Note in the trace who waits for what now, so that a judge can name it."""
    sentences = [sentence for space in spaces for sentence in space.stuck()]
    note("waiting", sentences=sentences)


def waiting_text(trace: Trace) -> str:
    """Return who waited for what when `note_waiting` was called last, as the end of a sentence."""
    noted = [event.detail["sentences"] for event in trace.of("note") if "sentences" in event.detail]
    return f" {noted[-1][0]}" if noted and noted[-1] else ""
