"""progress: a master that always knows, and tells, how far the work has come."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tutorial_lib.course.answers import Answer, described, dispose
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import perform, record
from tutorial_lib.master import Master
from tutorial_lib.patterns import matches
from tutorial_lib.simulation import Run
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event, Trace

__all__ = ["EXERCISE"]

WORKERS: Final = ("w1", "w2", "w3")
STALE: Final = 1.0  # seconds after which a finished job must have been shown
IDLE: Final = 0.1  # seconds that a worker may wait while jobs are kept back
GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond
PATIENCE: Final = 60.0  # seconds for all jobs together

VALUES: Final[dict[int, tuple[str, int]]] = {
    5: ("completed", 50),
    3: ("completed", 0),
    12: ("failed", 404),
    8: ("completed", 7),
    0: ("completed", -20),
    9: ("completed", 11),
    -4: ("failed", 500),
    7: ("completed", 3),
    1: ("completed", 60),
    6: ("failed", 1),
    2: ("completed", 8),
    11: ("completed", 900),
}
"""What comes of each job. A failed one has a value too, which is no part of the sum."""

TOTAL: Final = len(VALUES)


@dataclass(frozen=True)
class Scenario:
    """How long each job takes: a function of the seed that returns the seconds, job by job."""

    text: str
    seconds: Callable[[int], Sequence[float]]


def alike(seed: int) -> Sequence[float]:
    """Every job takes as long as the others, so that several end at the same moment."""
    return [0.7] * TOTAL


def one_long(seed: int) -> Sequence[float]:
    """One job takes so long that all others are done before it."""
    return [0.3, 9.0, *[0.3] * (TOTAL - 2)]


def by_chance(seed: int) -> Sequence[float]:
    """Long and short ones, as the seed decides."""
    chance = random.Random(seed)
    return [round(chance.uniform(0.05, 3.0), 3) for _ in range(TOTAL)]


SCENARIOS: Final = (
    Scenario("3 workers, 12 jobs of 0.7 s, 3 of them fail", alike),
    Scenario("3 workers, 12 jobs, one of them long, 3 fail", one_long),
    Scenario("3 workers, 12 jobs of different length, 3 fail", by_chance),
)


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = examination.run(
                scenario.text,
                partial(program, scenario.seconds(seed)),
                seed=seed,
                invariants=check_what_is_shown,
            )
            check_the_end(run)


async def program(seconds: Sequence[float], answer: Answer) -> Any:
    """Hire the workers, and let the answer be their master."""
    tasks, results = TupleSpace("tasks"), TupleSpace("results")
    duration = dict(zip(VALUES, seconds, strict=True))

    async def work() -> None:
        while True:
            _, n = await tasks.take("task", int)
            status, value = VALUES.get(n, ("failed", 0))
            await perform(n, duration.get(n, 0.1))
            await results.write("result", n, status, value)

    def show(done: Any, total: Any) -> None:
        record("note", text=f"show({done!r}, {total!r})", done=done, total=total)

    workers = [asyncio.create_task(work(), name=name) for name in WORKERS]
    master = asyncio.create_task(answer(tasks, results, list(VALUES), show), name=answer.name)
    await asyncio.wait([master, *workers], timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    if not master.done():
        record("note", text="the master has not returned")
        raise Objection(
            "the master returns when all jobs are done, completed or failed.",
            f"until {clock(PATIENCE)} it had not returned. {' '.join(results.stuck()[:1])}",
            "what does it wait for, and who was to write that?",
        )
    return await master


def is_shown(event: Event) -> bool:
    """Tell whether this is a call of ``show``."""
    return event.kind == "note" and "done" in event.detail


def check_what_is_shown(trace: Trace) -> None:
    """Every figure that is shown is true and fresh, and no job is kept back from a worker that waits."""
    submitted: set[int] = set()
    ended: list[float] = []  # when each result was written
    shown = -1
    waiting: dict[str, float] = {}
    for event in trace:
        check_fresh(event.time, ended, shown)
        if event.kind in ("write", "replace") and event.space == "tasks":
            check_submission(event, submitted)
            submitted.add(event.fields[1])
        elif event.kind == "write" and event.space == "results" and event.actor in WORKERS:
            ended.append(event.time)
        elif event.kind == "wait" and event.space == "tasks" and len(submitted) < TOTAL:
            waiting[event.actor] = event.time
        elif event.kind == "leave" and event.actor in waiting:
            check_no_idler(event, waiting.pop(event.actor), len(submitted))
        elif is_shown(event):
            check_figures(event, len(ended), shown)
            shown = event.detail["done"]


def check_submission(event: Event, submitted: set[int]) -> None:
    """Object to a task that is no job, or one that is written again."""
    if not matches(("task", int), event.fields) or event.fields[1] not in VALUES:
        raise Objection(
            'each job n of jobs is written as ("task", n).',
            f"at {clock(event.time)} {event.fields!r} was written to tasks.",
            'write one tuple for each job: await tasks.write("task", n).',
            at=event.time,
        )
    if event.fields[1] in submitted:
        raise Objection(
            "each job is written once.",
            f"at {clock(event.time)} {event.fields!r} was written to tasks a second time.",
            "write all jobs in one loop before you look for results.",
            at=event.time,
        )


def check_figures(event: Event, ended: int, shown: int) -> None:
    """Object to a call of ``show`` whose figures are not true."""
    done, total = event.detail["done"], event.detail["total"]
    call = f"at {clock(event.time)} show({done!r}, {total!r}) was called"
    if type(done) is not int or type(total) is not int or total != TOTAL:
        raise Objection(
            f"show gets two ints: how many jobs are done, and how many there are, here {TOTAL}.",
            f"{call}.",
            "call show(done, len(jobs)).",
            at=event.time,
        )
    if done > ended:
        raise Objection(
            "a job is done when its result is there.",
            f"{call} when {ended} results had been written.",
            "count results, and not what you have submitted.",
            at=event.time,
        )
    if shown < 0 and done != 0:
        raise Objection(
            f"the first call says that nothing is done: show(0, {TOTAL}).",
            f"{call} first of all.",
            "call show before you wait for the first result.",
            at=event.time,
        )
    if done < shown:
        raise Objection(
            "the number of jobs done never goes back.",
            f"{call} after show({shown}, {total}).",
            "count completed and failed results together, in one number.",
            at=event.time,
        )


def check_fresh(now: float, ended: Sequence[float], shown: int) -> None:
    """Object if a result has been there for too long without being shown."""
    oldest = max(shown, 0)
    if len(ended) > oldest and now - ended[oldest] > STALE + GRACE:
        raise Objection(
            f"what is shown is never more than {clock(STALE)} old, and failed jobs count as done.",
            f"result number {oldest + 1} was written at {clock(ended[oldest])}, and at {clock(now)} no call "
            f"of show had counted it{'' if shown >= 0 else '; show was never called'}.",
            "call show after each result, or often enough; wait for results of either kind.",
            at=ended[oldest] + STALE,
        )


def check_no_idler(leave: Event, since: float, submitted: int) -> None:
    """Object if a worker waited while jobs were kept back."""
    if leave.time - since > IDLE + GRACE:
        raise Objection(
            "no worker waits while jobs are not yet submitted.",
            f"{leave.actor} waited for a task from {clock(since)} to {clock(leave.time)}, and "
            f"{TOTAL - submitted + 1} of {TOTAL} jobs had not been written.",
            "write all jobs first, and only then wait for results.",
            at=since,
        )


def check_the_end(run: Run) -> None:
    """All is done and shown when the master returns the sum."""
    calls = [event for event in run.trace if is_shown(event)]
    ended = [event.time for event in run.trace.of("write", space="results") if event.actor in WORKERS]
    check_fresh(run.elapsed, ended, calls[-1].detail["done"] if calls else -1)
    if not calls or calls[-1].detail["done"] != TOTAL:
        last = calls[-1].detail["text"] if calls else "none"
        raise Objection(
            f"the last call before the master returns is show({TOTAL}, {TOTAL}).",
            f"the master returned at {clock(run.elapsed)}, and the last call was {last}.",
            "go on until as many results have come as there are jobs, of either kind, and show that too.",
            at=run.elapsed,
            outcome="not yet" if calls or run.trace.of("write", space="tasks") else "proved nothing",
        )
    expected = sum(value for status, value in VALUES.values() if status == "completed")
    if type(run.result) is not int or run.result != expected:
        what = described(run.result)
        dispose(run.result)
        raise Objection(
            f"the master returns the sum of the completed values, here {expected}.",
            f"it returned {what}.",
            "add up the fourth field of the results whose third field is completed, and return the sum.",
            at=run.elapsed,
        )


EXERCISE: Final = Exercise(
    id="progress",
    lesson="03_master_worker",
    signature="async def master(tasks, results, jobs, show)  ->  the sum of the completed values",
    task=(
        'Write ("task", n) to tasks for each int n in jobs. Workers answer with ("result", n, "completed" or '
        '"failed", value) in results. Call show(done, total), a plain function, so that what it shows is '
        "never more than 1 s old: from (0, total) to (total, total), never backwards; a failed job is done "
        "too. Return the sum of the values of the completed jobs. No worker may wait while you still hold "
        "jobs back."
    ),
    why="done counts results of either kind as they come: it cannot run ahead, fall behind or stop short.",
    hints=(
        "When is a job done: when you write it, when a worker takes it, or when its result is there? And if "
        "it failed?",
        'Which pattern finds results of both kinds? What happens to a loop that waits only for "completed" '
        "ones?",
        "Write all jobs, call show(0, len(jobs)), then take one result for each job with a pattern that "
        "leaves the status open. After each, call show with the new number, and add the value if it is "
        "completed.",
    ),
    judge=judge,
    arguments=("tasks", "results", "jobs", "show"),
    off_limits=(Master,),
)
