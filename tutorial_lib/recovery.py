"""Recovery: what becomes of the tasks of those who fail, crash or take too long, and the account of it.

A policy looks at one task that may be in trouble and answers what to do with it, or None if it has no
opinion. Several stand in a tuple, and the first answer wins:

=============================  ==================================================================
`requeue_at_once`              as soon as the worker failed or is known to be dead; only for work
                               that does no harm when it is done twice
`requeue_after_timeout`        when the task has been running for too long; the general case
`bury_after`                   when it has been tried often enough: a dead letter, to be looked into
=============================  ==================================================================

A task is moved by a step that says whether it won (see `tutorial_lib.tasks`), so one that was finished in
the meantime is never undone, and whoever finishes it too late is refused.

>>> import asyncio
>>> from tutorial_lib.crew import Crew, work
>>> from tutorial_lib.faults import crash
>>> from tutorial_lib.simulation import simulate
>>> from tutorial_lib.space import TupleSpace
>>> from tutorial_lib.tasks import State, Task
>>> async def main():
...     space = TupleSpace()
...     async def worker(name):
...         while True:
...             await Task.perform_next(space, lambda task: work(2, task.id))
...     for number in range(4):
...         await space.write(*Task.new(number))
...     async with Crew(worker, 2), Recovery(space, [requeue_after_timeout], timeout=5, every=1):
...         await asyncio.sleep(20)
>>> run = simulate(main, faults=[crash("w1", at=1)])
>>> print(Ledger(run.trace))
tasks  completed  dead  waiting  lost  duplicated  refused
    4          4     0        0     0           0        0
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tutorial_lib.arguments import check_count, check_period
from tutorial_lib.claims import REFUSED
from tutorial_lib.members import Service
from tutorial_lib.space import TupleSpace
from tutorial_lib.tables import text_table
from tutorial_lib.tasks import State, Task
from tutorial_lib.trace import Event

__all__ = [
    "Answer",
    "Case",
    "Ledger",
    "Policy",
    "Recovery",
    "bury_after",
    "requeue_after_timeout",
    "requeue_at_once",
]


# ---------------------------------------------------------------------------------------------------
# Policies


class Answer(Enum):
    """What a policy wants to be done with a task."""

    REQUEUE = "requeue"
    BURY = "bury"


@dataclass(frozen=True)
class Case:
    """A task that is running or has failed, and what is known about it."""

    task: Task
    worker_is_dead: bool = False
    """Whether its worker was reported dead since it came into its state."""
    is_overdue: bool = False
    """Whether it has been in its state for the timeout."""

    @property
    def has_failed(self) -> bool:
        """Whether its worker gave it up."""
        return self.task.state == State.FAILED

    @property
    def reason(self) -> str:
        """What is wrong with it, in words; empty if nothing is."""
        if self.has_failed:
            return str(self.task.outcome)
        if self.worker_is_dead:
            return f"{self.task.worker} died"
        return "no result in time" if self.is_overdue else ""


Policy = Callable[[Case], Answer | None]


def requeue_at_once(case: Case) -> Answer | None:
    """Requeue a task as soon as it has failed or its worker is dead.

    A worker that was only silent may be working on it still, so the work will be done twice: use it where
    that does no harm.

    >>> requeue_at_once(Case(Task.new(7), worker_is_dead=True))
    <Answer.REQUEUE: 'requeue'>
    """
    return Answer.REQUEUE if case.has_failed or case.worker_is_dead else None


def requeue_after_timeout(case: Case) -> Answer | None:
    """Requeue a task that has been running, or lying there as failed, for the whole timeout.

    Choose a timeout of two to three times the longest run.

    >>> requeue_after_timeout(Case(Task.new(7), worker_is_dead=True)) is None
    True
    """
    return Answer.REQUEUE if case.is_overdue else None


def bury_after(attempts: int) -> Policy:
    """Make a policy that buries a task whose ``attempts``-th run has failed, crashed or taken too long.

    Put it before the policies that requeue. Raises `TypeError` or `ValueError` unless ``attempts`` is a
    whole number of at least 1.

    >>> bury_after(3)(Case(Task.new(7)._replace(state="failed", attempt=3)))
    <Answer.BURY: 'bury'>
    """
    check_count("attempts", attempts, least=1)

    def policy(case: Case) -> Answer | None:
        return Answer.BURY if case.reason and case.task.attempt >= attempts else None

    return policy


# ---------------------------------------------------------------------------------------------------
# The one who looks after the tasks


class Recovery(Service):
    """Looks after the tasks in ``space``: ``async with Recovery(space, policies, timeout=30, every=1):``.

    Every ``every`` seconds it asks the ``policies`` about each task that is running or has failed, and
    does what the first one answers. A task counts as overdue when it has been in its state for ``timeout``
    seconds. Whoever notices that a worker is dead says so to `worker_died`, such as
    ``Monitor(..., on_dead=recovery.worker_died)``.

    Everything it knows is in the space, apart from the reported deaths; so when it crashes and is started
    again, it goes on. It acts under ``name``. Raises `TypeError` or `ValueError` for periods that are no
    positive numbers of seconds, or policies that cannot be called.

    >>> from tutorial_lib.space import TupleSpace
    >>> policies = (bury_after(3), requeue_at_once, requeue_after_timeout)
    >>> Recovery(TupleSpace("tasks"), policies, timeout=30, every=1)
    <Recovery of tasks, 3 policies>
    """

    def __init__(
        self,
        space: TupleSpace,
        policies: Iterable[Policy],
        *,
        timeout: float,
        every: float,
        name: str = "recovery",
    ) -> None:
        self._policies = tuple(policies)
        for policy in self._policies:
            if not callable(policy):
                raise TypeError(f"A policy is a function of one case, got {policy!r}.")
        check_period("timeout", timeout)
        check_period("every", every)
        super().__init__(name)
        self._space = space
        self._timeout = timeout
        self._every = every
        self._deaths: dict[str, float] = {}  # when each worker was last reported dead

    def __repr__(self) -> str:
        return f"<Recovery of {self._space.name}, {len(self._policies)} policies>"

    async def worker_died(self, name: str) -> None:
        """Note that the worker ``name`` is dead, and look after its tasks at once."""
        self._deaths[name] = asyncio.get_running_loop().time()
        await self.look()

    async def look(self) -> None:
        """Look once at every task that is running or has failed, and do what the policies say."""
        for state in (State.RUNNING, State.FAILED):
            for fields in await self._space.read_all(*Task.pattern(state=state)):
                await self._treat(Task(*fields))

    async def _serve(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._every)

    async def _treat(self, task: Task) -> None:
        age = asyncio.get_running_loop().time() - task.since
        died_at = self._deaths.get(task.worker, -math.inf)
        case = Case(task, worker_is_dead=died_at >= task.since, is_overdue=age >= self._timeout)
        answer = self._answer(case)
        if answer is Answer.REQUEUE:
            await task.requeue(self._space)
        elif answer is Answer.BURY:
            await task.bury(self._space, f"attempt {task.attempt}: {case.reason}")

    def _answer(self, case: Case) -> Answer | None:
        for policy in self._policies:
            answer = policy(case)
            if answer is not None:
                return answer
        return None


# ---------------------------------------------------------------------------------------------------
# The account


class _Account:
    """What the trace says about one task."""

    def __init__(self) -> None:
        self.is_task = False  # whether it was ever written; answers alone do not make a task
        self.is_there = False  # in a space or in a claim
        self.is_dead = False
        self.completions: Counter[str] = Counter()  # by what shows them: states, claims, results

    def times_completed(self) -> int:
        """One completion can show in several ways, so the one that shows most often tells the number."""
        return max(self.completions.values(), default=0)

    def ending(self) -> str:
        if self.times_completed():
            return "completed"
        if self.is_dead:
            return "dead"
        return "waiting" if self.is_there else "lost"

    def surplus(self) -> int:
        """Return how many ends it had beyond the one that it should have."""
        return max(0, self.times_completed() + self.is_dead - 1)


_ARRIVALS = ("write", "replace")
_IS_THERE_AFTER = {
    **dict.fromkeys((*_ARRIVALS, "claim", "release", "lapse"), True),
    **dict.fromkeys(("take", "expire", "complete", "bury"), False),
}
_NUMBERS = ("tasks", "completed", "dead", "waiting", "lost", "duplicated", "refused")


class Ledger:
    """The account of a run: how each of its tasks ended, computed from the ``trace`` alone.

    Every task ends exactly once: *completed*; *dead*, which is given up for good; or still *waiting*, in a
    space or in a claim. A task that is nowhere, since its taker has not finished it, is *lost*. `duplicated`
    counts the ends that were one too many, `refused` those who came too late and were turned away.

    A task is every tuple that begins with ``kind`` and an id, in whatever space. It is completed when its
    third field says "completed", when a claim on it is completed, or when ``("result", id, ...)`` is
    written; dead when its third field says "dead", when it is buried, or when ``("dead", id, ...)`` or
    ``("result", id, "failed", ...)`` is written. So the account holds for simple tasks, for claims, and for
    tasks with a state (see `tutorial_lib.tasks`).

    >>> from tutorial_lib.trace import Trace
    >>> trace = Trace()
    >>> for kind, fields in [("write", ("task", 1)), ("take", ("task", 1)), ("write", ("task", 2))]:
    ...     event = trace.record(kind, fields=fields)
    >>> Ledger(trace)
    tasks  completed  dead  waiting  lost  duplicated  refused
        2          0     0        1     1           0        0
    """

    def __init__(self, trace: Iterable[Event], kind: str = "task") -> None:
        self._kind = kind
        self._accounts: dict[Any, _Account] = {}
        self._refused = 0
        previous: Event | None = None
        for event in trace:
            self._enter(event, previous)
            previous = event
        tasks = {id: account for id, account in self._accounts.items() if account.is_task}
        self.endings = {id: account.ending() for id, account in tasks.items()}
        """How each task ended, by its id: "completed", "dead", "waiting" or "lost"."""
        self._duplicated = sum(account.surplus() for account in tasks.values())

    def __repr__(self) -> str:
        return text_table([_NUMBERS, self.numbers()])

    def numbers(self) -> tuple[int, ...]:
        """Return tasks, completed, dead, waiting, lost, duplicated and refused, in this order."""
        return tuple(getattr(self, name) for name in _NUMBERS)

    @property
    def tasks(self) -> int:
        """How many tasks were written."""
        return len(self.endings)

    @property
    def completed(self) -> int:
        """How many tasks were completed, once or more often."""
        return self._count("completed")

    @property
    def dead(self) -> int:
        """How many tasks were given up for good."""
        return self._count("dead")

    @property
    def waiting(self) -> int:
        """How many tasks are still in a space or in a claim."""
        return self._count("waiting")

    @property
    def lost(self) -> int:
        """How many tasks are nowhere, and were never finished."""
        return self._count("lost")

    @property
    def duplicated(self) -> int:
        """How many ends there were beyond one for each task."""
        return self._duplicated

    @property
    def refused(self) -> int:
        """How often somebody who came too late was turned away."""
        return self._refused

    def _count(self, ending: str) -> int:
        return list(self.endings.values()).count(ending)

    def _enter(self, event: Event, previous: Event | None) -> None:
        if event.kind == "note" and event.detail.get("text") == REFUSED:
            self._refused += 1
            return
        if event.kind == "replace" and self._is_about(event.detail["old"], self._kind):
            self._account(event.detail["old"]).is_there = False
        if event.kind in _IS_THERE_AFTER and self._is_about(event.fields, self._kind):
            self._enter_task(event)
        elif event.kind in _ARRIVALS and self._is_about(event.fields, "result", "dead"):
            self._enter_answer(event.fields, previous)

    def _is_about(self, fields: tuple[Any, ...], *words: str) -> bool:
        return len(fields) >= 2 and isinstance(fields[0], str) and fields[0] in words

    def _account(self, fields: tuple[Any, ...]) -> _Account:
        return self._accounts.setdefault(_key(fields[1]), _Account())

    def _enter_task(self, event: Event) -> None:
        account = self._account(event.fields)
        account.is_task = True
        account.is_there = _IS_THERE_AFTER[event.kind]
        has_state = len(event.fields) > 2 and isinstance(event.fields[2], str)
        state = event.fields[2] if has_state and event.kind in _ARRIVALS else ""
        if event.kind == "complete":
            account.completions["claims"] += 1
        elif state == State.COMPLETED:
            account.completions["states"] += 1
        elif event.kind == "bury" or state == State.DEAD:
            account.is_dead = True

    def _enter_answer(self, fields: tuple[Any, ...], previous: Event | None) -> None:
        account = self._account(fields)
        is_failure = len(fields) == 4 and isinstance(fields[2], str) and fields[2] == State.FAILED
        if fields[0] == "result" and not is_failure:
            account.completions["results"] += 1
            return
        account.is_dead = True
        if previous is not None and previous.kind == "complete":
            account.completions["claims"] -= 1  # the claim was completed with a failure


def _key(id: Any) -> Any:
    """Return ``id``, or its text if it cannot be the key of a dictionary."""
    try:
        hash(id)
    except TypeError:
        return repr(id)
    return id
