"""dead-letter: a consumer that survives its failures, and sets the failed tasks aside with the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tutorial_lib.course.answers import Answer, described
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.checks.letters import check_form, is_letter, is_same
from tutorial_lib.course.instruments import (
    OutOfPaper,
    cancel,
    note_waiting,
    perform,
    waiting_text,
    watch_over,
    whole_number,
)
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event, Trace

__all__ = ["EXERCISE"]

PATIENCE: Final = 30.0  # seconds for the tasks, of which each takes 0.1 s
QUIET: Final = 31.0  # seconds in which there is no task
CANCELLED_TASK: Final = 99


def outcomes() -> dict[int, Any]:
    """Return what comes of each task: a value, or an error that is raised. New objects for each run."""
    return {
        4: "done",
        11: ValueError("account 11 is closed"),
        3: 0,
        8: KeyError("price"),
        15: None,
        7: OutOfPaper("tray 2"),
        20: "",
        12: TimeoutError("no reply in 5 s"),
        1: False,
        9: ExceptionGroup("two parts failed", [ValueError("left"), OSError("right")]),
        2: [1, 2],
        14: RuntimeError("once more, with feeling"),
    }


@dataclass(frozen=True)
class Scenario:
    """How many consumers there are, how long a task takes, and when a consumer is cancelled."""

    text: str
    consumers: int = 1
    seconds: float = 0.1
    cancelled_at_work: bool = False


SCENARIOS: Final = (
    Scenario("12 tasks, 6 of them fail, then the consumer is cancelled while it waits"),
    Scenario("12 tasks, 6 of them fail, then the consumer is cancelled at work", cancelled_at_work=True),
    Scenario("12 tasks, 6 of them fail, two consumers share them", consumers=2),
    Scenario("12 tasks, 6 of them fail, process does not pause", seconds=0.0),
)


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events."""
    for seed in examination.seeds:
        # Who leaves when it is quiet does so in any order of events: one of them waits for it.
        quiet = QUIET if seed == examination.seeds[0] else 2.0
        for scenario in SCENARIOS:
            run = examination.run(
                scenario.text, partial(program, scenario, quiet), seed=seed, invariants=check_letters
            )
            check_nothing_missing(run.trace)


async def program(scenario: Scenario, quiet: float, answer: Answer) -> None:
    """Give the consumers tasks, first many at once, then one by one; in the end cancel them.

    Before that there is nothing to do for ``quiet`` seconds.
    """
    tasks, results, dead = TupleSpace("tasks"), TupleSpace("results"), TupleSpace("dead")
    process = make_process(scenario.seconds)
    names = ["consumer"] if scenario.consumers == 1 else ["consumer 1", "consumer 2"]
    workers = [asyncio.create_task(answer(tasks, results, dead, process), name=name) for name in names]

    async def all_accounted_for() -> bool:
        return await results.count() + await dead.count() >= len(outcomes())

    async def never() -> bool:
        return False

    numbers = list(outcomes())
    await tasks.write_many([("task", n) for n in numbers[:7]])
    await watch_over(workers, never, seconds=2.0)
    for n in numbers[7:]:
        await tasks.write("task", n)
        await watch_over(workers, never, seconds=0.3)
    await watch_over(workers, all_accounted_for, seconds=PATIENCE)
    await watch_over(workers, never, seconds=quiet)  # in which nothing may happen twice
    note_waiting(tasks, results, dead)
    if scenario.cancelled_at_work:
        await tasks.write("task", CANCELLED_TASK)
        await watch_over(workers, never, seconds=2.0)
    for worker in workers:
        await cancel(worker)


def make_process(seconds: float) -> Callable[[int], Awaitable[Any]]:
    """Make a ``process`` for one run: each task has its own outcome."""
    planned = outcomes()

    async def process(n: int) -> Any:
        whole_number("process(n)", n)
        if n == CANCELLED_TASK:
            return await perform(n, 100.0)
        outcome = planned.get(n)
        if isinstance(outcome, Exception):
            return await perform(n, seconds, error=outcome)
        return await perform(n, seconds, value=outcome)

    return process


def check_letters(trace: Trace) -> None:
    """Each task runs once, and what is written afterwards is true, complete and said once."""
    runs: set[int] = set()
    outcome: dict[int, Event] = {}
    letters: dict[int, Event] = {}
    for event in trace:
        if event.kind == "start":
            check_first_run(event, runs)
            runs.add(event.fields[0])
        elif event.kind in ("finish", "fail"):
            outcome[event.fields[0]] = event
        elif is_letter(event):
            check_form(event)
            n = event.fields[1]
            check_only_letter(event, letters.get(n))
            check_truth(event, outcome.get(n))
            letters[n] = event


def check_first_run(event: Event, runs: set[int]) -> None:
    """Object to a second run of a task."""
    n = event.fields[0]
    if n in runs:
        raise Objection(
            "each task is processed once.",
            f"at {clock(event.time)} {event.actor} processed task {n} a second time.",
            "take the task instead of reading it, and do not give it back: a failed task goes to dead at "
            "once.",
            at=event.time,
        )


def check_only_letter(event: Event, earlier: Event | None) -> None:
    """Object to a second letter about the same task."""
    if earlier is not None:
        raise Objection(
            "a task ends in one place, once: a failed one in dead, any other in results.",
            f"at {clock(event.time)} {event.fields!r} was written to {event.space}, and {earlier.fields!r} "
            "had been "
            f"written to {earlier.space} at {clock(earlier.time)}.",
            "use try, except and else: what stands in else is done only if nothing was raised.",
            at=event.time,
        )


def check_truth(event: Event, outcome: Event | None) -> None:
    """Object to a letter that says something else than what came of the task."""
    if event.space == "dead":
        check_reason(event, outcome)
    else:
        check_value(event, outcome)


def check_reason(event: Event, outcome: Event | None) -> None:
    """A dead letter is about a task that failed, and says why."""
    _, n, reason = event.fields
    error = outcome.detail.get("error") if outcome else None
    if error is None:
        came = {"fail": "was cancelled", "finish": "had succeeded"}
        how = came[outcome.kind] if outcome else "had not run"
        raise Objection(
            "dead holds the tasks that failed, and no others.",
            f"at {clock(event.time)} {event.fields!r} was written to dead, but task {n} {how}.",
            "only an error of process is a failure; 0, None and empty text are results, and being cancelled "
            "is neither.",
            at=event.time,
        )
    if str(error) not in reason:
        raise Objection(
            "the reason contains str(error), the text of what was raised.",
            f"at {clock(event.time)} task {n} got the reason {reason!r}; the error says {str(error)!r}.",
            "keep the error: except Exception as error, and then str(error).",
            at=event.time,
        )


def check_value(event: Event, outcome: Event | None) -> None:
    """A result is about a task that succeeded, and holds what came of it."""
    _, n, value = event.fields
    if outcome is None or outcome.kind != "finish":
        raise Objection(
            "results holds the tasks that succeeded, and no others.",
            f"at {clock(event.time)} {event.fields!r} was written to results, but task {n} had not "
            "succeeded.",
            "write the result after await process(n) has returned, and only then.",
            at=event.time,
        )
    returned = outcome.detail["value"]
    if not is_same(value, returned):
        raise Objection(
            "the result holds the value that process returned.",
            f"at {clock(event.time)} task {n} got the result {described(value)}; process had returned "
            f"{described(returned)}.",
            "write what await process(n) gave you, whatever it is.",
            at=event.time,
        )


def check_nothing_missing(trace: Trace) -> None:
    """Every task has its letter in the end."""
    written = {
        event.fields[1] for event in trace.of("write", space="results") + trace.of("write", space="dead")
    }
    if not trace.of("start") and not trace.of("wait", "take", "claim", space="tasks"):
        raise Objection(
            "a consumer takes tasks and processes them.",
            f"in {clock(trace[-1].time)} nobody took a task or waited for one.",
            'begin with a loop around await tasks.take("task", int).',
            outcome="proved nothing",
        )
    for event in trace.of("finish", "fail"):
        n = event.fields[0]
        if n not in written and event.detail.get("reason") != "cancelled":
            error = event.detail.get("error")
            came = f"failed with {error!r}" if error is not None else f"returned {event.detail['value']!r}"
            raise Objection(
                "every task ends in dead if it failed, and in results otherwise.",
                f"at {clock(event.time)} task {n} {came}, and nothing was written about it.",
                "ask for each way in which process may end: which line writes the tuple?",
                at=event.time,
            )
    missing = [n for n in outcomes() if n not in written]
    if missing:
        raise Objection(
            "every task is processed, also those after a failed one and those that come late.",
            f"task {missing[0]} was never processed.{waiting_text(trace)}",
            "look at what the consumer does after its last task: does it come back to take?",
        )


EXERCISE: Final = Exercise(
    id="dead-letter",
    lesson="02_producer_consumer",
    signature="async def consumer(tasks, results, dead, process)",
    task=(
        'Write a consumer that goes on for ever. It takes ("task", n), n an int, and awaits process(n). If '
        "that "
        'raises an Exception, it writes ("dead", n, reason) to dead, with a reason that contains str(error); '
        'otherwise it writes ("result", n, value) to results. When it is cancelled, it ends.'
    ),
    why="an error is caught where it belongs to one task, and nowhere else; so one bad task stops nobody.",
    hints=(
        "If process raises, how far does the error travel, and what does it take down on its way?",
        "try, except, else: which of your lines belongs into which part? Which kind of error must not be "
        "caught?",
        "In an endless loop: take; in try, await process(n); in except Exception as error, write the dead "
        "letter "
        "with str(error); in else, write the result.",
    ),
    judge=judge,
    arguments=("tasks", "results", "dead", "process"),
)
