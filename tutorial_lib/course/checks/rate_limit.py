"""rate-limit: a producer that lets at most ten tasks pass in any second, and no fewer than it must."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from tutorial_lib.course.answers import Answer
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import note_waiting, now, waiting_text, watch_over
from tutorial_lib.flow import RateLimiter
from tutorial_lib.patterns import matches
from tutorial_lib.simulation import Run
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event, Trace

__all__ = ["EXERCISE"]

LIMIT: Final = 10
WINDOW: Final = 1.0  # seconds
GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond
PATIENCE: Final = 1.2  # seconds that a task may come after the earliest moment that the limit allows


@dataclass(frozen=True)
class Scenario:
    """When the orders arrive: a function of the seed that returns their moments, in seconds."""

    text: str
    arrivals: Callable[[int], Sequence[float]]


def all_at_once(seed: int) -> Sequence[float]:
    """Forty-five orders at the very beginning."""
    return [0.0] * 45


def across_the_second(seed: int) -> Sequence[float]:
    """One order starts the clock; nine come at the end of its second, and more just after that."""
    return [0.0] + [0.9] * 9 + [1.0] * 10 + [3.5] * 3 + [4.4] * 10 + [4.6] * 10


def one_by_one(seed: int) -> Sequence[float]:
    """Far apart, so that nobody has to wait; and one more when it has been quiet for half a minute."""
    return [*(0.4 * number for number in range(12)), 36.0]


def in_clusters(seed: int) -> Sequence[float]:
    """Clusters of different size, at moments that the seed decides."""
    chance = random.Random(seed)
    moments: list[float] = []
    moment = 0.0
    while len(moments) < 45:
        moment += round(chance.uniform(0.05, 0.9), 3)
        moments += [moment] * chance.choice((1, 2, 5, 12))
    return moments


SCENARIOS: Final = (
    Scenario("45 orders at once", all_at_once),
    Scenario("orders in clusters at the seams between seconds", across_the_second),
    Scenario("orders one by one, far apart", one_by_one),
    Scenario("orders in clusters at random moments", in_clusters),
)


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = examination.run(
                scenario.text,
                partial(program, scenario.arrivals(seed)),
                seed=seed,
                invariants=check_limit_and_order,
            )
            check_punctual(run)


async def program(arrivals: Sequence[float], answer: Answer) -> None:
    """Let the orders arrive, and wait until the last one should have passed."""
    orders, tasks = TupleSpace("orders"), TupleSpace("tasks")
    producer = asyncio.create_task(answer(orders, tasks), name="producer")

    async def never() -> bool:
        return False

    for n, moment in zip(numbers(len(arrivals)), arrivals, strict=True):
        await watch_over([producer], never, seconds=moment - now())
        await orders.write("order", n)
    await watch_over([producer], never, seconds=earliest(arrivals)[-1] + PATIENCE + 0.1 - now())
    note_waiting(orders, tasks)


def numbers(count: int) -> list[int]:
    """Return the numbers of the orders: all different, and not in order of size."""
    return [(37 * number + 11) % 101 for number in range(count)]


def earliest(arrivals: Sequence[float]) -> list[float]:
    """Return when each task could pass at the earliest: the sliding limit, kept to the full."""
    moments: list[float] = []
    for number, arrival in enumerate(arrivals):
        allowed = moments[number - LIMIT] + WINDOW if number >= LIMIT else 0.0
        moments.append(max(arrival, allowed))
    return moments


def ordered_events(trace: Trace) -> list[Event]:
    """Return the events in which the check wrote an order."""
    return trace.of("write", actor="main", space="orders")


def passed(trace: Trace) -> list[Event]:
    """Return the events in which a tuple was written to tasks."""
    return trace.of("write", "replace", space="tasks")


def check_limit_and_order(trace: Trace) -> None:
    """What is written are the orders, in order, and never more than ten in a second."""
    ordered = [event.fields[1] for event in ordered_events(trace)]
    written = passed(trace)
    for place, event in enumerate(written):
        if not matches(("task", int), event.fields):
            raise Objection(
                'every order ("order", n) becomes ("task", n).',
                f"at {clock(event.time)} {event.fields!r} was written to tasks.",
                "compare the two, field by field.",
                at=event.time,
            )
        expected = ordered[place] if place < len(ordered) else None
        if event.fields[1] != expected:
            raise Objection(
                "the tasks pass in the order in which the orders came, each one once.",
                f"at {clock(event.time)} task {event.fields[1]} passed, and the turn was "
                f"{f'of order {expected}' if expected is not None else 'of none: all had passed'}.",
                "take one order, wait for its turn, write its task, and only then take the next.",
                at=event.time,
            )
        first = written[place - LIMIT].time if place >= LIMIT else None
        if first is not None and event.time - first < WINDOW - GRACE:
            raise Objection(
                f"no window of {clock(WINDOW)}, wherever it begins, holds more than {LIMIT} tasks.",
                f"{LIMIT + 1} tasks passed from {clock(first)} to {clock(event.time)}.",
                f"before you write a task, look at the one {LIMIT} places before it: is it {clock(WINDOW)} "
                "old?",
                at=event.time,
            )


def check_punctual(run: Run) -> None:
    """Every task passes, and not later than a little after the earliest moment that the limit allows."""
    written = passed(run.trace)
    if not written and not run.trace.of("take", "claim", "read", "wait"):
        raise Objection(
            "every order becomes a task.",
            f"in {clock(run.elapsed)} no order was taken, and nobody waited for one.",
            'begin with a loop around await orders.take("order", int).',
            outcome="proved nothing",
        )
    orders = ordered_events(run.trace)
    for place, moment in enumerate(earliest([order.time for order in orders])):
        n, came = orders[place].fields[1], clock(orders[place].time)
        if place >= len(written):
            raise Objection(
                "every order becomes a task.",
                f"order {n} came at {came}, and until {clock(run.elapsed)} it had not passed."
                f"{waiting_text(run.trace)}",
                f"{LIMIT} may pass in each second: what does the producer wait for at that moment?",
                at=moment + PATIENCE,
            )
        if written[place].time - moment > PATIENCE + GRACE:
            raise Objection(
                f"no task passes later than {clock(PATIENCE)} after the earliest moment that the limit "
                "allows.",
                f"order {n} came at {came} and could pass at {clock(moment)}; it passed at "
                f"{clock(written[place].time)}.",
                "wait only as long as the limit demands, and not at all when fewer have passed.",
                at=moment + PATIENCE,
            )


EXERCISE: Final = Exercise(
    id="rate-limit",
    lesson="02_producer_consumer",
    signature="async def producer(orders, tasks)",
    task=(
        'Write a producer that goes on for ever: it takes ("order", n) from orders and writes ("task", n) to '
        "tasks, "
        f"in the same order. No window of one second, wherever it begins, may hold more than {LIMIT} tasks; "
        "and no "
        f"task may come more than {PATIENCE} s later than that limit demands. Orders come unevenly."
    ),
    why="each task waits until the one ten places before it is a second old: that keeps every window.",
    hints=(
        "Ten tasks pass at 0.9 s and ten at 1.1 s. Which window of one second is too full, and does a "
        "counter "
        "that starts anew at every full second see it?",
        "Which earlier task decides when the next one may pass? How many moments do you have to remember?",
        "Remember the moments of the last ten writes by asyncio.get_running_loop().time(). If there are ten, "
        "and "
        "the oldest is less than a second old, sleep for the rest of that second before you write.",
    ),
    judge=judge,
    arguments=("orders", "tasks"),
    off_limits=(RateLimiter,),
)
