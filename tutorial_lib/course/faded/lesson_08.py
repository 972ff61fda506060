"""What belongs into the gaps of lesson 08, the whole stack."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.checking import clock
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run

__all__ = ["FADED"]

BILLS: Final = ("rent", "power", "water")  # as in the lesson's cell


def _queue(run: Run) -> str | None:
    """Judge three workers and three bills: w1 hangs when it has paid its first, w3 before it pays."""
    for bill in BILLS:
        problem = _payments(run, bill) or _confirmation(run, bill)
        if problem:
            return problem
    return None


def _payments(run: Run, bill: str) -> str | None:
    """Say what is wrong with how often a bill was paid."""
    paid = [event.time for event in run.trace.of("finish") if event.fields == (bill,)]
    confirmed = [event.time for event in run.trace.of("complete") if event.fields == ("pay", bill)]
    if confirmed and not paid:
        return (
            f"Gap 2: the task of the {bill} was confirmed at {clock(confirmed[0])}, and nobody has paid it. "
            "A bill is to be paid as long as it is not in the book. What tells that?"
        )
    if len(paid) > 1:
        noted = [event.fields for event in run.trace.of("write") if event.space == "book"]
        return (
            f"Gaps 2 and 3: the {bill} was paid at {clock(paid[0])} and again at {clock(paid[1])}. The "
            f"book begins with {noted[:1]}. Can you see there which bill was paid, and does gap 2 look for "
            "it?"
        )
    return None


def _confirmation(run: Run, bill: str) -> str | None:
    """Say what is wrong if nobody has confirmed the task of a bill."""
    if ("pay", bill) in [event.fields for event in run.trace.of("complete")]:
        return None
    return (
        f"Gap 1: at {clock(run.elapsed)} the task of the {bill} is still on loan to a worker that hangs. "
        "Nobody else can have it before the loan is over. How much longer than the work must the loan be?"
    )


FADED: Final = {
    "08-queue": FadedExample(
        id="08-queue",
        lesson="08_whole_stack",
        fillings=("5", 'not await book.try_read("paid", bill)', "bill"),
        why=(
            "What w1 and w3 had on loan came back, and only the book could tell that the one bill was paid "
            "and the other was not."
        ),
        hints=(
            "A loan is a lease. The rule of thumb of lesson 05: two to three times the longest run.",
            "Gap 2 asks the book. Which call looks without waiting and without taking away?",
            'What stands in the book is ("paid", ...). Gap 3 must be what gap 2 looks for.',
        ),
        judge=_queue,
    ),
}
