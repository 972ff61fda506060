"""What belongs into the gaps of lesson 05, recovery."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.checking import clock
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run

__all__ = ["FADED"]

CLOSING: Final = 60.0  # seconds: the moment at which the crew is to end, as in the lesson's cell
LATEST: Final = 30.0  # seconds: until then all six results are to be there


def _office(run: Run) -> str | None:
    """Judge an office in which w1 sleeps for 40 seconds over its first task, and w3 is slow."""
    return _short_lease(run) or _other_space(run) or _long_lease(run) or _deaf_worker(run)


def _short_lease(run: Run) -> str | None:
    robbed = [event for event in run.trace.of("lapse") if event.actor != "w1"]
    if robbed:
        return (
            f"Gap 1: at {clock(robbed[0].time)} the lease of {robbed[0].actor} was over, and it was still "
            f"at work on {robbed[0].fields}. Somebody else then did it again. How long does the slowest one "
            "take?"
        )
    return None


def _results(run: Run) -> list[tuple[float, str, int]]:
    """Return when each result was written, into which space, and the number of its task."""
    return [
        (event.time, event.space, event.fields[1])
        for event in run.trace.of("write")
        if event.fields[0] == "result"
    ]


def _other_space(run: Run) -> str | None:
    for time, space, number in _results(run):
        if space != "results":
            return (
                f"Gap 2: at {clock(time)} the result of task {number} went to the space {space!r}. Whoever "
                "wants results waits at another one. Which space is made for them?"
            )
    return None


def _long_lease(run: Run) -> str | None:
    for time, _, number in _results(run):
        if time > LATEST:
            return (
                f"Gap 1: the result of task {number} came at {clock(time)}, although w2 and w3 had nothing "
                "to do. The sleeping w1 had the task until its lease was over. How much longer than the "
                "work must it be?"
            )
    return None


def _deaf_worker(run: Run) -> str | None:
    if run.finished and run.elapsed > CLOSING:
        return (
            f"Gap 3: at {clock(CLOSING)} the crew was to end, and its workers went on. They are ended by a "
            "cancellation, and your except caught that, too. Which single error is meant?"
        )
    return None


FADED: Final = {
    "05-office": FadedExample(
        id="05-office",
        lesson="05_recovery",
        fillings=("15", "results", "StaleClaim"),
        why=(
            "The lease leaves time for the slowest, a result and the end of its task are one step, and the "
            "late w1 is refused without harm."
        ),
        hints=(
            "The slowest healthy worker needs 7 seconds. What does the rule of thumb say about the lease?",
            "Gap 2 is one of the two spaces in the first line.",
            "Gap 3 stands among the imports. It is what `slow` got in the section on claims.",
        ),
        judge=_office,
    ),
}
