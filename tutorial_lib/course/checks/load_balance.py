"""load-balance: five consumers share a hundred tasks fairly, whatever a task costs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tutorial_lib.course.answers import Answer, described, dispose
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import now, perform, still_running, whole_number
from tutorial_lib.patterns import matches
from tutorial_lib.simulation import Run
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event, Trace, actor

__all__ = ["EXERCISE"]

TASKS: Final = 100
CONSUMERS: Final = 5


@dataclass(frozen=True)
class Scenario:
    """How long ``process`` takes: ``seconds`` a task, ``slow_seconds`` for the consumer seen first."""

    text: str
    seconds: float
    slow_seconds: float


SCENARIOS: Final = (
    Scenario("process takes 0.1 s for every task", 0.1, 0.1),
    Scenario("process takes 0.5 s for one consumer and 0.1 s for the others", 0.1, 0.5),
    Scenario("process returns without a pause", 0.0, 0.0),
)


@dataclass(frozen=True)
class Outcome:
    """What is left when the answer has returned."""

    counts: Any
    returned_at: float
    in_space: list[tuple[Any, ...]]
    still_running: list[str]


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = examination.run(
                scenario.text, partial(program, scenario), seed=seed, invariants=check_each_task_once
            )
            check_all_done(run)
            check_counts(run)
            check_nobody_idles(run)


async def program(scenario: Scenario, answer: Answer) -> Outcome:
    """Give the answer a space and a ``process``, and look at what it leaves behind."""
    tasks = TupleSpace("tasks")
    counts = await asyncio.create_task(answer(tasks, make_process(scenario)), name=answer.name)
    returned_at = now()
    running = await still_running()
    return Outcome(counts, returned_at, await tasks.read_all("task", int), running)


def make_process(scenario: Scenario) -> Callable[[object, int], Awaitable[None]]:
    """Make a ``process`` for one run. Its events are signed with the consumer's name."""
    names: list[str] = []

    async def process(name: object, n: int) -> None:
        whole_number("process(name, n)", n)
        names.append(str(name))
        seconds = scenario.slow_seconds if names[0] == str(name) else scenario.seconds
        with actor(str(name)):
            await perform(n, seconds)

    return process


def is_task(event: Event) -> bool:
    """Tell whether ``event`` writes a task."""
    return (
        event.kind in ("write", "replace") and event.space == "tasks" and matches(("task", int), event.fields)
    )


def check_each_task_once(trace: Trace) -> None:
    """Each task was written before, is processed once, and a consumer works on one at a time."""
    written: set[int] = set()
    starts: dict[int, Event] = {}
    busy: dict[str, int] = {}
    for event in trace:
        if is_task(event):
            written.add(event.fields[1])
        elif event.kind in ("finish", "fail"):
            busy.pop(event.actor, None)
        elif event.kind == "start":
            n = event.fields[0]
            if n not in written:
                raise Objection(
                    'every task that is processed stood in tasks as ("task", n).',
                    f"at {clock(event.time)} {event.actor} processed task {n}, which nobody had written.",
                    "hand process the number that you took: _, n = await tasks.take(...).",
                    at=event.time,
                )
            if n in starts:
                first = starts[n]
                raise Objection(
                    "each task is processed once.",
                    f"at {clock(event.time)} {event.actor} processed task {n} again; {first.actor} had begun "
                    "with "
                    f"it at {clock(first.time)}.",
                    "make taking the only way to get a task: who takes it has it alone, read leaves it "
                    "there.",
                    at=event.time,
                )
            if event.actor in busy:
                raise Objection(
                    "a consumer works on one task at a time.",
                    f"at {clock(event.time)} {event.actor} began task {n} while it still worked on task "
                    f"{busy[event.actor]}.",
                    "await process(name, n) inside the consumer's loop, before the next take.",
                    at=event.time,
                )
            starts[n] = event
            busy[event.actor] = n


def check_all_done(run: Run) -> None:
    """A hundred tasks were written, every one was taken and processed, and nobody is left waiting."""
    written = {event.fields[1] for event in run.trace if is_task(event)}
    started = {event.fields[0] for event in run.trace.of("start")}
    check_written(written, started)
    check_processed(written - started, run.result)
    check_nothing_left(run.result)


def check_written(written: set[int], started: set[int]) -> None:
    """A hundred different tasks were written."""
    if not written and not started:
        raise Objection(
            f"{TASKS} tasks are written, shared and processed.",
            "the answer returned, and had neither written a task nor called process.",
            'begin with a loop that writes the tasks: await tasks.write("task", n).',
            outcome="proved nothing",
        )
    if len(written) != TASKS:
        raise Objection(
            f'{TASKS} tuples ("task", n) are written, with {TASKS} different ints.',
            f"{len(written)} different ones were written, from {min(written)} to {max(written)}."
            if written
            else "none was written.",
            f'count the writes, for example for n in range({TASKS}). A marker for the end is no "task".',
        )


def check_processed(missing: set[int], outcome: Outcome) -> None:
    """No task is missing among those that were processed."""
    if missing:
        others = f", nor were {len(missing) - 1} others" if len(missing) > 1 else ""
        raise Objection(
            "every task is processed.",
            f"when the answer returned at {clock(outcome.returned_at)}, task {min(missing)} was not processed"
            f"{others}.",
            "let a consumer end only when no task can come any more, and return only when all have ended.",
            at=outcome.returned_at,
        )


def check_nothing_left(outcome: Outcome) -> None:
    """No task lies in the space, and no consumer runs, when the answer has returned."""
    if outcome.in_space:
        raise Objection(
            "every task is taken: at the end none is left in tasks.",
            f"when the answer returned, {len(outcome.in_space)} tasks still lay in tasks, "
            f"{outcome.in_space[0]!r} first.",
            "take the tasks out of the space; reading them, or dividing up the numbers, leaves them there.",
            at=outcome.returned_at,
        )
    if outcome.still_running:
        raise Objection(
            "all consumers have ended when the answer returns.",
            f"at {clock(outcome.returned_at)} {len(outcome.still_running)} tasks that it had started still "
            f"ran, one as {outcome.still_running[0]}.",
            "wait for every task that you started: asyncio.TaskGroup does it at the end of its block.",
            at=outcome.returned_at,
        )


def check_counts(run: Run) -> None:
    """Five consumers worked, and the counts say how often each of them did."""
    counts = run.result.counts
    if not isinstance(counts, dict):
        happened = f"it returned {described(counts)}."
        dispose(counts)
        raise Objection(
            "the answer returns the counts as a dict, {name: count}.",
            happened,
            "end the function with return and the counts.",
        )
    done = Counter(event.actor for event in run.trace.of("start"))
    returned = {str(name): count for name, count in counts.items()}
    if len(done) != CONSUMERS:
        shares = ", ".join(f"{name} {count}" for name, count in done.items())
        idle = [name for name in returned if name not in done]
        raise Objection(
            f"{CONSUMERS} consumers share the tasks, and each gets at least one.",
            f"the tasks went so: {shares}{f'; none went to {idle[0]}' if idle else ''}.",
            "after which step does a consumer let the others run? take does so each time, try_take only when "
            "it "
            "finds nothing."
            if idle
            else f"start {CONSUMERS} consumers, each with a name of its own, and hand process that name.",
            at=run.trace.of("finish")[-1].time,
        )
    wrong = [name for name in done | returned if not is_count(returned.get(name), done[name])]
    if wrong:
        raise Objection(
            "the counts are how often each consumer called process.",
            f"{wrong[0]} called process {done[wrong[0]]} times, and its count is "
            f"{described(returned[wrong[0]]) if wrong[0] in returned else 'missing'}.",
            "count after each await process(name, n), under the same name, and in one place for each "
            "consumer.",
        )


def is_count(returned: object, expected: int) -> bool:
    """Tell whether a returned count is the int that it should be."""
    return type(returned) is int and returned == expected


def check_nobody_idles(run: Run) -> None:
    """At the end nobody is without work for longer than one task takes, while tasks still wait.

    Where tasks take no time, being without work costs nothing and proves nothing.
    """
    written = {event.fields[1]: event.time for event in run.trace if is_task(event)}
    begun = {event.fields[0]: event.time for event in run.trace.of("start")}
    ended = run.trace.of("finish")
    longest = max(event.time - begun[event.fields[0]] for event in ended)
    last = {event.actor: event.time for event in ended}
    end = max(last.values())
    for name, since in last.items():
        waited = [n for n in begun if written[n] <= since < begun[n] - 1e-6]
        if longest and waited and end - since > longest + 1e-6:
            raise Objection(
                "no consumer is without work at the end for longer than one task takes.",
                f"{name} had nothing to do from {clock(since)} on, while {len(waited)} tasks still waited "
                "and others "
                f"worked until {clock(end)}; a task takes {clock(longest)} at most.",
                "do not divide the tasks beforehand: let each consumer take its next task when it is free.",
                at=since + longest,
            )


EXERCISE: Final = Exercise(
    id="load-balance",
    lesson="02_producer_consumer",
    signature="async def load_balance(tasks, process)  ->  {name: count}",
    task=(
        f'Start {CONSUMERS} consumers and write {TASKS} tuples ("task", n), each with another int. Each '
        "consumer "
        "takes its tasks from the space tasks and calls await process(name, n), one at a time. All consumers "
        "end, and you return how many tasks each of them did. The names are yours."
    ),
    why="taking is the only lock, and a free consumer takes next; so the load follows the speed of each.",
    hints=(
        "Who decides which consumer gets task 7: you, or the space? What would happen to a slow consumer in "
        "each case?",
        "A consumer that waits in take never learns that nothing more comes. What could you write after the "
        "last "
        "task, and how many of them, so that all five stop?",
        "Give each consumer a loop: take a tuple; if it is your end marker, stop; else await process(name, "
        "n) and "
        "count. Start the five in a TaskGroup, write the 100 tasks and then five end markers, and return the "
        "counts after the block.",
    ),
    judge=judge,
    arguments=("tasks", "process"),
)
