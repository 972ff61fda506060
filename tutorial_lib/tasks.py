"""Task: a tuple that says how far a piece of work has come, and the steps from one state to the next.

::

    queued ──start──> running ──complete──> completed
      ^                 │ │
      │<────requeue─────┘ └──fail──> failed ──bury──> dead
      └────────────requeue─────────────┘

A task may be buried in every state but the completed one.

Every task is one tuple of the same length in all its states, so one pattern finds it in any of them, and
there is never a moment in which it is missing, since each step is one `replace`. A step names the state and
the attempt that it starts from. If the task has moved on meanwhile, nothing matches and the step has lost:
it returns None, and whoever made it must not act. That is how a worker that was taken for dead is refused.

>>> import asyncio
>>> from tutorial_lib.space import TupleSpace
>>> async def main():
...     space = TupleSpace()
...     await space.write(*Task.new(7, "photo.png"))
...     task = await Task.next(space)
...     requeued = await task.requeue(space)          # a monitor has lost patience
...     return await task.complete(space, "a thumbnail"), requeued.state
>>> asyncio.run(main())
(None, 'queued')
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, Final, NamedTuple

from tutorial_lib.arguments import check_duration
from tutorial_lib.claims import REFUSED
from tutorial_lib.members import record
from tutorial_lib.patterns import ANY, Pattern
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import current_actor

__all__ = ["State", "Task"]


class State(StrEnum):
    """How far a task has come. Each state equals its word: ``State.QUEUED == "queued"``.

    >>> [str(state) for state in State]
    ['queued', 'running', 'completed', 'failed', 'dead']
    """

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    DEAD = "dead"


_STEPS: Final = {
    State.QUEUED: {State.RUNNING, State.DEAD},
    State.RUNNING: {State.COMPLETED, State.FAILED, State.QUEUED, State.DEAD},
    State.FAILED: {State.QUEUED, State.DEAD},
    State.COMPLETED: set[State](),
    State.DEAD: set[State](),
}
"""The states that can follow each state."""


class Task(NamedTuple):
    """A task as it stands in a space: ``await space.write(*Task.new(7, "photo.png"))``.

    Each step returns the task as it is afterwards, or None if it is not in the state and attempt known
    here any more; then nothing was changed. A step that leads nowhere, such as starting a completed task,
    raises `ValueError`.

    >>> Task.new(7, "photo.png")[:4]
    ('task', 7, 'queued', 0)
    """

    kind: str
    """Always ``"task"``."""
    id: Any
    """What the task is known by, such as a number."""
    state: str
    """One of `State`."""
    attempt: int
    """How often it has been started. It stays with the task, so a run that ends in a crash counts too."""
    worker: str
    """Who runs it or ran it last; empty while it is queued."""
    since: float
    """The moment on the loop's clock, in seconds, at which it came into this state."""
    payload: tuple[Any, ...]
    """What is to be worked on."""
    outcome: Any
    """The result of a completed task, the reason of a failed or dead one, else None."""

    @classmethod
    def new(cls, id: Any, *payload: Any) -> Task:
        """Return a queued task that was never started. Needs a running loop only for the time.

        >>> Task.new(7, "photo.png", 640).payload
        ('photo.png', 640)
        """
        return cls("task", id, State.QUEUED.value, 0, "", _now(), payload, None)

    @staticmethod
    def pattern(id: Any = ANY, state: Any = ANY, attempt: Any = ANY, worker: Any = ANY) -> Pattern:
        """Return the pattern of all tasks, or of those with this id, state, attempt or worker.

        >>> Task.pattern(state=State.RUNNING, worker="w1")
        ('task', ANY, 'running', ANY, 'w1', ANY, ANY, ANY)
        """
        word = state.value if isinstance(state, State) else state
        return ("task", id, word, attempt, worker, ANY, ANY, ANY)

    @classmethod
    async def next(cls, space: TupleSpace, timeout: float | None = None) -> Task:
        """Wait for the oldest queued task, start it as `start` does, and return it.

        Waits at most ``timeout`` seconds (None: for ever; 0: not at all). Raises what ``space.read`` raises.
        """
        check_duration("timeout", timeout)
        deadline = None if timeout is None else _now() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - _now())
            queued = cls(*await space.read(*cls.pattern(state=State.QUEUED), timeout=left))
            task = await queued.start(space)
            if task is not None:  # else somebody else was quicker
                return task

    @classmethod
    async def perform_next(
        cls, space: TupleSpace, process: Callable[[Task], Awaitable[object]]
    ) -> Task | None:
        """Wait for the oldest queued task, start it, await ``process(task)``, and finish it.

        The task is completed with what ``process`` returns, or failed with the text of the `Exception` that
        it raises. If the caller is cancelled, the task is queued again and the attempt does not count.
        Returns the finished task, or None if the result came too late.

        >>> from tutorial_lib.space import TupleSpace
        >>> async def main():
        ...     space = TupleSpace()
        ...     await space.write(*Task.new(7, 0))
        ...     async def divide(task):
        ...         return 1 / task.payload[0]
        ...     return await Task.perform_next(space, divide)
        >>> asyncio.run(main()).outcome
        'ZeroDivisionError: division by zero'
        """
        task = await cls.next(space)
        try:
            result = await process(task)
        except asyncio.CancelledError:
            await task._step(space, State.QUEUED, attempt=task.attempt - 1, worker="")
            raise
        except Exception as error:
            return await task.fail(space, f"{type(error).__name__}: {error}")
        return await task.complete(space, result)

    async def start(self, space: TupleSpace) -> Task | None:
        """Let the current actor run it: queued to running. This is one more attempt."""
        return await self._step(space, State.RUNNING, attempt=self.attempt + 1, worker=current_actor())

    async def complete(self, space: TupleSpace, result: Any = None) -> Task | None:
        """Finish it: running to completed. A refusal is noted in the trace, and counted by the ledger."""
        return await self._finish(space, State.COMPLETED, result)

    async def fail(self, space: TupleSpace, reason: Any) -> Task | None:
        """Give up this run of it: running to failed. A refusal is noted as for `complete`."""
        return await self._finish(space, State.FAILED, reason)

    async def requeue(self, space: TupleSpace) -> Task | None:
        """Let it be run once more: running or failed to queued. Its attempts stay counted."""
        return await self._step(space, State.QUEUED, worker="", outcome=None)

    async def bury(self, space: TupleSpace, reason: Any) -> Task | None:
        """Give it up for good, for somebody to look into: to dead, from any state but completed."""
        return await self._step(space, State.DEAD, outcome=reason)

    async def _finish(self, space: TupleSpace, state: State, outcome: Any) -> Task | None:
        finished = await self._step(space, state, outcome=outcome)
        if finished is None:
            record("note", fields=tuple(self), text=REFUSED, step=state.value)
        return finished

    async def _step(self, space: TupleSpace, state: State, **changes: Any) -> Task | None:
        if state not in _STEPS[State(self.state)]:
            raise ValueError(
                f"Task {self.id!r} is {self.state}, and no step leads from there to {state}. "
                "Use the task that the last step returned, or read it again."
            )
        new = self._replace(state=state.value, since=_now(), **changes)
        old = await space.replace(Task.pattern(self.id, self.state, self.attempt), new)
        return None if old is None else new


def _now() -> float:
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:  # a task can be described outside any loop, for the docs
        return 0.0
