"""What belongs into the gaps of lesson 02, producer and consumer."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run

__all__ = ["FADED"]

ROOM_ON_THE_SHELF: Final = 2


def _bakery(run: Run) -> str | None:
    """Judge three bakers: each order is baked once, and the shelf holds two orders at most."""
    bakings = Counter(event.fields for event in run.trace.of("start"))
    if run.trace.of("wait", actor="main") and not run.trace.of("write"):
        return (
            "Gap 2: main itself waits for an order here, before there is a baker. Name the operation only, "
            "without await and without brackets: the bakers call it."
        )
    if not bakings:
        return (
            "Gap 2: the bakers asked at 0 s, found no order and went home, before the first one was "
            "written. Which operation waits?"
        )
    order, times = bakings.most_common(1)[0]
    if times > 1:
        return (
            f"Gap 2: order {order[1]} was baked {times} times, since it stayed on the shelf all the time. "
            "Which operation removes what it returns?"
        )
    most = _most_on_the_shelf(run)
    if most > ROOM_ON_THE_SHELF:
        return (
            f"Gap 1: at some time {most} orders lay on the shelf, which has room for {ROOM_ON_THE_SHELF}. "
            "Which capacity makes the writer wait?"
        )
    if most < ROOM_ON_THE_SHELF:
        return (
            "Gap 1: there was never more than one order on the shelf, which has room for "
            f"{ROOM_ON_THE_SHELF}. So the writer had to wait too early. What is the capacity of this shelf?"
        )
    return None


def _most_on_the_shelf(run: Run) -> int:
    """Return how many orders had been written and not yet taken, at the fullest moment."""
    on_the_shelf = most = 0
    for event in run.trace.of("write", "take"):
        on_the_shelf += 1 if event.kind == "write" else -1
        most = max(most, on_the_shelf)
    return most


def _closing_time(run: Run) -> str | None:
    """Judge three consumers: all jobs are done, and then everybody goes home."""
    if run.trace.of("shut"):
        return None
    if any(not isinstance(event.fields[-1], int) for event in run.trace.of("write")):
        return (
            "Gap 2: the consumers ask for whole numbers, so none of them took your marker, and it would have "
            "stopped only one of three. What reaches everybody?"
        )
    if run.trace.of("take", actor="main"):
        return (
            "Gap 2: you took jobs away that were still to be done, and the consumers wait for more. What "
            "lets them do the rest first?"
        )
    return (
        "Gap 2: the jobs are done, and the consumers wait for more, since nobody told them that this was "
        "all. Who can tell all three at once?"
    )


FADED: Final = {
    "02-bakery": FadedExample(
        id="02-bakery",
        lesson="02_producer_consumer",
        fillings=("2", "orders.take"),
        why="With take a baker waits for an order and removes it, and the capacity holds the writer back.",
        hints=(
            "What would you see if no baker ever removed an order? And what if a baker did not wait?",
            "Gap 2 is one of read, take and try_take. The table in lesson 01 says which waits and removes.",
            "Gap 1 is a number: how many orders may lie there before the writer has to wait?",
        ),
        judge=_bakery,
        errors={
            "'coroutine' object is not callable": (
                "Gap 2: you called the operation. Name it only, without brackets: the bakers call it."
            ),
            "object method can't be used in 'await' expression": (
                "Gap 2: you awaited the operation. Name it only: the bakers call it and await that."
            ),
        },
    ),
    "02-closing-time": FadedExample(
        id="02-closing-time",
        lesson="02_producer_consumer",
        fillings=("SpaceClosed", "jobs.close()"),
        why="A closed space serves what is left, and then tells everybody who waits.",
        hints=(
            "Which of the three ways to end needs no number of consumers and no special tuple?",
            "Look at with_closing above: what is called when all jobs are written, and what is raised then?",
        ),
        judge=_closing_time,
        errors={
            "object method can't be used in 'await' expression": (
                "Gap 2: the brackets are missing. A method that is only named does nothing."
            ),
        },
    ),
}
