"""priority: workers that never begin something less urgent while something more urgent waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from tutorial_lib.course.answers import Answer
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import note_waiting, now, perform, waiting_text, watch_over, whole_number
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event, Trace, actor

__all__ = ["EXERCISE"]

PATIENCE: Final = 60.0  # seconds beyond the work itself


class Arrival(NamedTuple):
    """A task: when it is written, its number, its level, and how long it takes."""

    moment: float
    n: int
    level: int
    seconds: float = 1.0


@dataclass(frozen=True)
class Scenario:
    """How many workers there are, and which tasks come: a function of the seed."""

    text: str
    workers: int
    arrivals: Callable[[int], Sequence[Arrival]]


def urgent_ones_later(seed: int) -> Sequence[Arrival]:
    """All levels at once, and urgent ones while the others are worked off."""
    at_once = [
        Arrival(0.0, *task) for task in ((7, 3), (2, 2), (9, 1), (4, 3), (1, 1), (8, 2), (3, 2), (5, 3))
    ]
    later = [
        Arrival(3.5, 6, 1),
        Arrival(4.5, 20, 2),
        Arrival(5.5, 10, 1),
        Arrival(7.5, 15, 1),
        Arrival(8.5, 12, 2),
    ]
    return [*at_once, *later]


def now_and_then(seed: int) -> Sequence[Arrival]:
    """Single tasks for a worker that has nothing to do, each level first at some time."""
    single = [Arrival(1.0, 5, 3), Arrival(3.0, 3, 1), Arrival(5.0, 9, 2)]
    several = [Arrival(7.0, 8, 3), Arrival(7.25, 7, 3), Arrival(7.5, 6, 2), Arrival(7.75, 4, 1)]
    return [*single, *several, Arrival(12.0, 2, 2)]


def far_apart(seed: int) -> Sequence[Arrival]:
    """Two tasks, and more than ten seconds between them in which there is nothing to do."""
    return [Arrival(0.5, 4, 2), Arrival(12.0, 6, 3)]


def by_chance(seed: int) -> Sequence[Arrival]:
    """Twenty-four tasks of all levels at moments that the seed decides."""
    chance = random.Random(seed)
    numbers = chance.sample(range(100), 24)
    moments = sorted(round(chance.uniform(0.0, 8.0), 2) for _ in numbers)
    return [
        Arrival(moment, n, chance.choice((1, 2, 3)), round(chance.uniform(0.2, 2.0), 2))
        for moment, n in zip(moments, numbers, strict=True)
    ]


SCENARIOS: Final = (
    Scenario("one worker, 13 tasks, urgent ones come late", 1, urgent_ones_later),
    Scenario("one worker, 8 tasks now and then", 1, now_and_then),
    Scenario("one worker, 2 tasks far apart", 1, far_apart),
    Scenario("one worker, 24 tasks at random moments", 1, by_chance),
    Scenario("three workers, 24 tasks at random moments", 3, by_chance),
)


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            arrivals = scenario.arrivals(seed)
            run = examination.run(
                scenario.text,
                partial(program, scenario.workers, arrivals),
                seed=seed,
                invariants=partial(check_order, scenario.workers),
            )
            check_all_done(run.trace, arrivals)


async def program(size: int, arrivals: Sequence[Arrival], answer: Answer) -> None:
    """Start the workers, let the tasks arrive, and wait until all are done."""
    tasks = TupleSpace("tasks")
    seconds = {arrival.n: arrival.seconds for arrival in arrivals}
    finished: set[int] = set()
    names = [f"w{number}" for number in range(1, size + 1)]
    workers = [
        asyncio.create_task(answer(tasks, make_process(name, seconds, finished)), name=name) for name in names
    ]

    async def all_done() -> bool:
        return len(finished) == len(arrivals)

    for arrival in arrivals:
        await watch_over(workers, all_done, seconds=arrival.moment - now())
        await tasks.write("task", arrival.n, arrival.level)
    await watch_over(workers, all_done, seconds=sum(seconds.values()) + PATIENCE)
    note_waiting(tasks)


def make_process(
    name: str, seconds: dict[int, float], finished: set[int]
) -> Callable[[int], Awaitable[None]]:
    """Make the ``process`` of one worker. Its events are signed with the worker's name."""

    async def process(n: int) -> None:
        whole_number("process(n)", n)
        with actor(name):
            await perform(n, seconds.get(n, 1.0))
        finished.add(n)

    return process


def check_order(workers: int, trace: Trace) -> None:
    """Each task runs once, one at a time for each worker, the more urgent before the less urgent."""
    written = {event.fields[1]: event for event in trace.of("write", actor="main", space="tasks")}
    started: dict[int, Event] = {}
    for event in trace.of("start"):
        started.setdefault(event.fields[0], event)
    runs: set[int] = set()
    busy: dict[str, int] = {}
    for event in trace.of("start", "finish", "fail"):
        if event.kind != "start":
            busy.pop(event.actor, None)
            continue
        n = event.fields[0]
        check_run(event, n in runs, busy.get(event.actor))
        check_nothing_more_urgent(event, written, started)
        if workers == 1:
            check_first_come_first_served(event, written, started)
        runs.add(n)
        busy[event.actor] = n


def check_run(event: Event, is_known: bool, at_hand: int | None) -> None:
    """Object to a task that runs again, and to a worker that begins a second one."""
    n = event.fields[0]
    if is_known:
        raise Objection(
            "each task is processed once.",
            f"at {clock(event.time)} {event.actor} processed task {n} a second time.",
            "take the task out of the space; reading leaves it there for the next round.",
            at=event.time,
        )
    if at_hand is not None:
        raise Objection(
            "a worker does one task at a time.",
            f"at {clock(event.time)} {event.actor} began task {n} while it still worked on task {at_hand}.",
            "await process(n) before you look for the next task.",
            at=event.time,
        )


def check_nothing_more_urgent(event: Event, written: dict[int, Event], started: dict[int, Event]) -> None:
    """Object if a more urgent task has waited since an earlier moment, and goes on waiting."""
    n = event.fields[0]
    level = written[n].fields[2] if n in written else 0
    for other, arrival in written.items():
        waits = other not in started or started[other].time > event.time
        if arrival.fields[2] < level and arrival.time < event.time and waits:
            raise Objection(
                "no task begins while a more urgent one has been waiting; level 1 is the most urgent.",
                f"at {clock(event.time)} {event.actor} began task {n} of level {level}, and task {other} of "
                f"level {arrival.fields[2]} had been waiting since {clock(arrival.time)}.",
                "before each task ask anew, from level 1 on: what is the most urgent task right now?",
                at=event.time,
            )


def check_first_come_first_served(event: Event, written: dict[int, Event], started: dict[int, Event]) -> None:
    """Object if an older task of the same level has to wait."""
    n = event.fields[0]
    for other, arrival in written.items():
        waits = other not in started or started[other].seq > event.seq
        is_older = n in written and arrival.seq < written[n].seq
        if is_older and waits and arrival.fields[2] == written[n].fields[2]:
            raise Objection(
                "within a level the tasks are done in the order in which they were written.",
                f"at {clock(event.time)} task {n} began before task {other}, which was written first and has "
                "the same level.",
                "a space gives the oldest match first; the number says nothing about the age.",
                at=event.time,
            )


def check_all_done(trace: Trace, arrivals: Sequence[Arrival]) -> None:
    """Every task is done in the end."""
    started = {event.fields[0] for event in trace.of("start")}
    missing = [arrival for arrival in arrivals if arrival.n not in started]
    if not missing:
        return
    if not started and not trace.of("take", "claim", "wait", "read"):
        raise Objection(
            "the workers take tasks and process them.",
            f"in {clock(trace[-1].time)} nobody took a task or waited for one.",
            "begin with a loop without end that asks for a task of level 1, then 2, then 3.",
            outcome="proved nothing",
        )
    first = missing[0]
    raise Objection(
        "every task is done, whatever its level, also by a worker that had nothing to do before.",
        f"task {first.n} of level {first.level}, written at {clock(first.moment)}, was never processed."
        f"{waiting_text(trace)}",
        "what does the worker wait for when there is no task at all? A task of any level must end that wait.",
        at=first.moment,
    )


EXERCISE: Final = Exercise(
    id="priority",
    lesson="03_master_worker",
    signature="async def worker(tasks, process)",
    task=(
        'Write a worker that goes on for ever and does one task at a time: it takes ("task", n, level) from '
        "tasks and awaits process(n). Level 1 is the most urgent, 3 the least. No task may begin while a "
        "more urgent one has been waiting since an earlier moment; within a level, first come, first served. "
        "Several workers may run your function on the same space."
    ),
    why="the most urgent task is asked for anew before every task, and an idle worker waits for any.",
    hints=(
        "A worker has just finished a task of level 2. Which question does it have to ask next, and what "
        "would go wrong if it asked for level 2 again?",
        "What does a worker do that finds nothing at any level? How does it learn of the next task, whatever "
        "its level?",
        "In an endless loop: for level in 1, 2, 3, try_take; at the first success process it and begin again "
        "with level 1. If nothing was found, wait: with a short sleep, or with read, which leaves the task "
        "there.",
    ),
    judge=judge,
    arguments=("tasks", "process"),
)
