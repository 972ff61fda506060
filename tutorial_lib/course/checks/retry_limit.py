"""retry-limit: three tries for each task, counted across crashes, and nothing lost or done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from tutorial_lib.course.answers import Answer, described
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.checks.letters import check_form, is_letter, is_same
from tutorial_lib.course.instruments import (
    cancel,
    note_waiting,
    now,
    perform,
    some_error,
    waiting_text,
    watch_over,
    whole_number,
)
from tutorial_lib.faults import crash
from tutorial_lib.recovery import Recovery
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event, Trace, actor, current_actor

__all__ = ["EXERCISE"]

TRIES: Final = 3
WORKERS: Final = ("w1", "w2", "w3")
LONGEST: Final = 10.0  # seconds that process takes at most
CUTS: Final = (0.5, 5.0, 9.0)  # seconds after which a run is cut, in turn
AGAIN_WITHIN: Final = 60.0  # seconds in which a lost task must be running again
GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond
REPLACED_AFTER: Final = 1.0  # seconds until there is another worker in place of one that is gone
PATIENCE: Final = 300.0  # seconds for all tasks of a scenario


class Lost:
    """Marks a run during which the worker crashes."""


class Dismissed:
    """Marks a run during which the worker is cancelled."""


@dataclass(frozen=True)
class Scenario:
    """What comes of each run of each task: a value, an error to raise, `Lost` or `Dismissed`."""

    text: str
    outcomes: Callable[[], Mapping[int, Sequence[Any]]]

    @property
    def tasks(self) -> list[int]:
        """The numbers of the tasks."""
        return list(self.outcomes())


def errors(n: int, count: int) -> list[Any]:
    """Return so many different errors."""
    return [some_error(number, f"task {n}, run {number}") for number in range(1, count + 1)]


SCENARIOS: Final = (
    Scenario(
        "3 workers, tasks that fail never, once, twice and always",
        lambda: {
            7: ["fine"],
            2: [*errors(2, 1), 0],
            9: [*errors(9, 2), None],
            4: errors(4, 9),
            5: [""],
            1: errors(1, 9),
        },
    ),
    Scenario(
        "3 workers, one crashes at work",
        lambda: {3: [*errors(3, 1), Lost, "third time"], 8: ["fine"], 6: [*errors(6, 1), "fine"]},
    ),
    Scenario(
        "3 workers, the same task crashes three of them", lambda: {5: [Lost] * 3 + ["never"], 2: ["fine"]}
    ),
    Scenario("3 workers, one crashes, and the task fails twice more", lambda: {4: [Lost, *errors(4, 9)]}),
    Scenario(
        "3 workers, one of them is cancelled at work",
        lambda: {6: [*errors(6, 2), Dismissed, "fine"], 1: [Dismissed, "fine"]},
    ),
)


class Aim(NamedTuple):
    """A run that is to be cut: how, whose it is, and when."""

    how: type[Lost] | type[Dismissed]
    worker: str
    second: float


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events.

    Where a run is to be cut can be known only from a run without that cut: it ends as soon as it has come
    there, and the next one has one cut more. Whatever comes before a cut is the same in both.
    """
    for seed in examination.seeds:
        # What comes back too late comes back in any order of events: one of them waits for it.
        afterwards = AGAIN_WITHIN + 5.0 if seed == examination.seeds[0] else 1.0
        for scenario in SCENARIOS:
            aims: list[Aim] = []
            while True:
                run = examination.run(
                    scenario.text,
                    partial(program, scenario, tuple(aims), afterwards),
                    seed=seed,
                    faults=[crash(aim.worker, at=aim.second) for aim in aims if aim.how is Lost],
                    invariants=check_runs_and_letters,
                )
                if run.result is None:
                    break
                aims.append(run.result)
            check_nothing_missing(run.trace, scenario)


def outcome_of(planned: Sequence[Any], number: int) -> Any:
    """Return what comes of a run; the last outcome is that of all further runs."""
    return planned[min(number, len(planned) - 1)]


# ---------------------------------------------------------------------------------------------------
# What is run


class Staff:
    """The workers: hired under a name that holds for all they start, and replaced when they are gone."""

    def __init__(self, start: Callable[[], Awaitable[Any]]) -> None:
        self._start = start
        self._names: dict[str, asyncio.Task[Any]] = {}
        self.present: list[asyncio.Task[Any]] = []

    def hire(self, name: str) -> None:
        """Let a worker begin."""

        async def life() -> Any:
            with actor(name):
                return await self._start()

        self._names[name] = asyncio.create_task(life(), name=name)
        self.present.append(self._names[name])

    async def suffer(self, aim: Aim, number: int) -> None:
        """Let a worker go when its time has come, if it does not crash, and hire another one after that."""
        await asyncio.sleep(aim.second - now())
        self.present.remove(self._names[aim.worker])
        if aim.how is Dismissed:
            await cancel(self._names[aim.worker])
        await asyncio.sleep(REPLACED_AFTER)
        self.hire(f"w{number}")


async def program(scenario: Scenario, aims: Sequence[Aim], afterwards: float, answer: Answer) -> Aim | None:
    """Let the workers work, crash and be dismissed, until every task has its letter, and so long afterwards.

    Returns where the next cut belongs if there are more than ``aims``, and None if all is over.
    """
    tasks, results, dead = TupleSpace("tasks"), TupleSpace("results"), TupleSpace("dead")
    next_aims: list[Aim] = []
    process = make_process(scenario, len(aims), next_aims)
    staff = Staff(lambda: answer(tasks, results, dead, process))

    async def is_decided() -> bool:
        return bool(next_aims) or await results.count() + await dead.count() >= len(scenario.tasks)

    async def is_to_be_cut() -> bool:
        return bool(next_aims)

    for name in WORKERS:
        staff.hire(name)
    await tasks.write_many([("task", n) for n in scenario.tasks])
    async with asyncio.TaskGroup() as group:
        for number, aim in enumerate(aims, start=len(WORKERS) + 1):
            group.create_task(staff.suffer(aim, number))
        await watch_over(staff.present, is_decided, seconds=PATIENCE)
        await watch_over(staff.present, is_to_be_cut, seconds=afterwards)
    note_waiting(tasks, results, dead)
    return next_aims[0] if next_aims else None


def make_process(scenario: Scenario, aimed: int, next_aims: list[Aim]) -> Callable[[int], Awaitable[Any]]:
    """Make the ``process`` of one run. Runs that are to be cut take as long as a run may.

    For the first ``aimed`` of them that is arranged; where the others come is noted in ``next_aims``.
    """
    outcomes = scenario.outcomes()
    runs: Counter[int] = Counter()
    marked = 0

    async def process(n: int) -> Any:
        nonlocal marked
        whole_number("process(n)", n)
        outcome = outcome_of(outcomes[n], runs[n])
        runs[n] += 1
        if isinstance(outcome, Exception):
            return await perform(n, 1.0, error=outcome)
        if outcome not in (Lost, Dismissed):
            return await perform(n, LONGEST if outcome == "fine" else 0.5, value=outcome)
        cut_after = CUTS[marked % len(CUTS)]
        marked += 1
        if marked > aimed:
            next_aims.append(Aim(outcome, current_actor(), now() + cut_after))
        return await perform(n, LONGEST, value="late")

    return process


# ---------------------------------------------------------------------------------------------------
# The promises


@dataclass
class Account:
    """What has happened to one task."""

    running: Event | None = None
    failures: int = 0
    last_error: Exception | None = None
    finished: Event | None = None
    lost_at: float | None = None
    letter: Event | None = None


def check_runs_and_letters(trace: Trace) -> None:
    """Each task has three tries, one at a time, and one letter that tells the truth."""
    accounts: dict[int, Account] = {}
    for event in trace:
        if event.kind == "crash":
            for account in accounts.values():
                note_crash(account, event)
        elif event.kind == "start":
            account = accounts.setdefault(event.fields[0], Account())
            check_start(event, account)
            account.running, account.lost_at = event, None
        elif event.kind in ("finish", "fail") and event.fields:
            note_end(accounts[event.fields[0]], event)
        elif is_letter(event):
            check_form(event)
            account = accounts.setdefault(event.fields[1], Account())
            check_letter(event, account)
            account.letter = event
        for n, account in accounts.items():
            check_again_in_time(n, account, event.time)


def note_crash(account: Account, event: Event) -> None:
    """Enter that the worker of a run has crashed."""
    if account.running is not None and account.running.actor == event.actor:
        account.running = None
        account.failures += 1
        account.last_error = None
        account.lost_at = event.time


def note_end(account: Account, event: Event) -> None:
    """Enter how a run ended. One that was cancelled does not count."""
    account.running = None
    if event.kind == "finish":
        account.finished = event
    elif "error" in event.detail:
        account.failures += 1
        account.last_error = event.detail["error"]


def check_start(event: Event, account: Account) -> None:
    """Object to a run that must not be."""
    n = event.fields[0]
    began = f"at {clock(event.time)} {event.actor} began task {n}"
    if account.running is not None:
        raise Objection(
            "nobody runs a task while another worker still runs it; process takes up to 10 s.",
            f"{began}, and {account.running.actor} was at it since {clock(account.running.time)}.",
            "give a worker more time than the longest run before its task counts as lost.",
            at=event.time,
        )
    if account.finished is not None or account.letter is not None:
        done = account.finished or account.letter
        raise Objection(
            "a task that is done or dead is not run again.",
            f"{began}, which had been settled at {clock(done.time) if done else ''}.",
            "who takes or claims a task, and ends it, must be one and the same; look at what is put back, "
            "and when.",
            at=event.time,
        )
    if account.failures >= TRIES:
        raise Objection(
            f"a task runs {TRIES} times at most; a lost run counts, a cancelled one does not.",
            f"{began} after {account.failures} failures.",
            "keep the count with the task, where a crash cannot reach it: claim.attempt, or a field of the "
            "tuple.",
            at=event.time,
        )


def check_letter(event: Event, account: Account) -> None:
    """Object to a letter that comes again, or does not tell the truth."""
    n, said = event.fields[1], event.fields[2]
    written = f"at {clock(event.time)} {event.fields!r} was written to {event.space}"
    if account.letter is not None:
        raise Objection(
            "each task ends once: in results or in dead.",
            f"{written}, after {account.letter.fields!r} at {clock(account.letter.time)}.",
            "only who holds the task may write its letter; what was lost to another must not be reported.",
            at=event.time,
        )
    if event.space == "results":
        value = account.finished.detail["value"] if account.finished is not None else None
        if account.finished is None or not is_same(said, value):
            came = f"process had returned {described(value)}" if account.finished else "it had not succeeded"
            raise Objection(
                "the result is what process returned for this task.",
                f"{written}, and {came}.",
                "write what await process(n) gave you, whatever it is, and only if it raised nothing.",
                at=event.time,
            )
    elif account.finished is not None or account.failures < TRIES:
        what = "it had succeeded" if account.finished else f"it had failed {account.failures} times"
        raise Objection(
            "a task is dead after its third failure, and not before; a third run that succeeds is a success.",
            f"{written}, and {what}.",
            "is the number you compare the number of failures, this one included? Being cancelled is none.",
            at=event.time,
        )
    elif account.last_error is not None and str(account.last_error) not in said:
        raise Objection(
            "the reason is the text of the last error.",
            f"{written}; the last error of task {n} was {account.last_error!r}.",
            "keep the error that you caught last: except Exception as error, and then str(error).",
            at=event.time,
        )


def check_again_in_time(n: int, account: Account, time: float) -> None:
    """Object if a lost task has not been taken up again."""
    is_due = account.lost_at is not None and account.letter is None and account.failures < TRIES
    if is_due and account.lost_at is not None and time > account.lost_at + AGAIN_WITHIN + GRACE:
        raise Objection(
            f"a lost task is running again within {clock(AGAIN_WITHIN)}.",
            f"the worker of task {n} crashed at {clock(account.lost_at)}, and at {clock(time)} the task had "
            "not begun again.",
            "a plain take is gone with its taker. Claim the task for a while: then it comes back by itself.",
            at=account.lost_at + AGAIN_WITHIN,
        )


def check_nothing_missing(trace: Trace, scenario: Scenario) -> None:
    """Every task has its letter in the end."""
    lettered = {event.fields[1] for event in trace if is_letter(event)}
    missing = [n for n in scenario.tasks if n not in lettered]
    if not missing:
        return
    if not trace.of("start") and not trace.of("take", "claim", "read", "wait"):
        raise Objection(
            "workers take tasks and process them.",
            f"in {clock(trace[-1].time)} nobody took a task or waited for one.",
            "begin with a loop without end around async with tasks.claim(...).",
            outcome="proved nothing",
        )
    n = missing[0]
    runs = [event for event in trace.of("start", "finish", "fail") if event.fields == (n,)]
    if runs:
        how = {"start": "was cut short in a run that began", "finish": "succeeded", "fail": "failed"}
        happened = f"task {n} {how[runs[-1].kind]} at {clock(runs[-1].time)}, and nothing came after that."
    else:
        happened = f"task {n} never ran."
    raise Objection(
        "every task ends in results or in dead.",
        happened + waiting_text(trace),
        "follow this one task: who has it at that moment, and what is written next?",
        at=runs[-1].time if runs else None,
    )


EXERCISE: Final = Exercise(
    id="retry-limit",
    lesson="05_recovery",
    signature="async def worker(tasks, results, dead, process)",
    task=(
        'Write a worker that goes on for ever; several run at once. It gets ("task", n) from tasks and '
        'awaits process(n), which takes at most 10 s. Success: ("result", n, value) to results. After the '
        'third failure: ("dead", n, reason) to dead, with the text of the last error; before that, the task '
        "is to be run again. A worker may crash and is replaced: the run that was lost counts as a failure, "
        "and the task must be running again within 60 s. A run that ends because the worker is cancelled "
        "does not count. You may keep other tuples in tasks."
    ),
    why="the count lives with the task and not with the worker, so no crash can falsify it.",
    hints=(
        "Where is the task while a worker runs it, and where is it when that worker has crashed? Who still "
        "knows how often it was tried?",
        "A claim gives a task for a while, and counts its deliveries: which lease fits 10 s of work and 60 s "
        "of patience? What does claim.attempt say when the third run was lost?",
        "async with tasks.claim('task', int, lease=30) as claim. If claim.attempt > 3, complete it with a "
        "dead letter. Else try process: on success complete it with the result, on an Exception at the third "
        "attempt with a dead letter, at an earlier one release it. Leave a cancellation alone: the claim "
        "gives the task back uncounted.",
    ),
    judge=judge,
    arguments=("tasks", "results", "dead", "process"),
    off_limits=(Recovery,),
)
