"""Master: hands out tasks by writing them into one space, and collects the answers from another.

The master knows no worker, and no worker knows the master: they agree on the shape of the tuples.

==============================================  ===================================================
tuple                                           meaning
==============================================  ===================================================
``("task", id, *payload)``                      written by the master into the space for tasks
``("result", id, value)``                       written by a worker into the space for results
``("result", id, "completed", value)``          the same, with the state in words
``("result", id, "failed", reason)``            the worker could not do it
``("task", id, *payload, reason)``              a dead letter, as ``claim.bury(results, reason)`` writes it
==============================================  ===================================================

>>> import asyncio
>>> from tutorial_lib.crew import Crew, work
>>> from tutorial_lib.patterns import ANY
>>> from tutorial_lib.simulation import simulate
>>> from tutorial_lib.space import TupleSpace
>>> async def main():
...     tasks, results = TupleSpace("tasks"), TupleSpace("results")
...     async def worker(name):
...         while True:
...             async with tasks.claim("task", int, ANY, lease=10) as claim:
...                 _, number, side = claim.fields
...                 await work(1, number)
...                 await claim.complete("result", number, side ** 2, to=results)
...     master = Master(tasks, results)
...     async with Crew(worker, 3):
...         for side in [2, 3, 4, 5]:
...             await master.submit(side)
...         return await master.collect()
>>> simulate(main).result
Collected(results={1: 4, 2: 9, 3: 16, 4: 25}, failures={}, missing=[], duplicates=0)
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, NamedTuple

from tutorial_lib.arguments import check_duration
from tutorial_lib.patterns import ANY, Pattern, where
from tutorial_lib.space import SpaceClosed, TupleSpace
from tutorial_lib.watching import Watch

__all__ = ["Collected", "Master"]

MOST_NAMED = 5  # tasks without an answer, in a message
_ARRIVALS = ("write", "replace", "release", "lapse")
"""The kinds of events after which an answer may be there."""


class Collected(NamedTuple):
    """What a master has collected so far. Returned by `Master.collect`."""

    results: dict[int, Any]
    """The values of the completed tasks by their ids, in the order of the ids."""
    failures: dict[int, Any]
    """The reasons of the failed and buried tasks by their ids, in the order of the ids."""
    missing: list[int]
    """The ids of the tasks without an answer."""
    duplicates: int
    """How many answers came for a task that had one already. They were ignored: the first answer counts."""


class Master:
    """Hands out tasks in the space ``tasks`` and collects the answers in ``results``.

    The tuples are those in the table above. Ids are 1, 2, 3, ...; one master uses a pair of spaces at a
    time, since a second one would use the same ids. Whoever dies with a task that was simply taken takes
    it along, and no master can know: let the workers `claim`, and bury a task after some attempts.

    >>> from tutorial_lib.space import TupleSpace
    >>> Master(TupleSpace("tasks"), TupleSpace("results")).progress()
    (0, 0)
    """

    def __init__(self, tasks: TupleSpace, results: TupleSpace) -> None:
        self._tasks = tasks
        self._results = results
        self._last_id = 0
        self._payload_lengths: dict[int, int] = {}  # by id, for all tasks that were written
        self._values: dict[int, Any] = {}
        self._failures: dict[int, Any] = {}
        self._duplicates = 0

    def __repr__(self) -> str:
        done, total = self.progress()
        return f"<Master, {done} of {total} tasks done>"

    async def submit(self, *payload: Any) -> int:
        """Write the task ``("task", id, *payload)`` and return its id.

        Waits for room if the space for tasks is full. Raises what ``tasks.write`` raises, and then the
        task was not submitted.
        """
        self._last_id += 1
        number = self._last_id
        await self._tasks.write("task", number, *payload)
        self._payload_lengths[number] = len(payload)
        return number

    def progress(self) -> tuple[int, int]:
        """Return how many tasks are done and how many were submitted. A failed task is done as well.

        Answers count from the moment at which a running `collect` takes them.
        """
        return len(self._values) + len(self._failures), len(self._payload_lengths)

    async def collect(self, timeout: float | None = None) -> Collected:
        """Wait until every task that was submitted has an answer, and return all answers since the start.

        After ``timeout`` seconds (None: no limit) it returns what there is, and ``missing`` names the rest;
        a later call goes on from there. Tasks that are submitted meanwhile are waited for too. Answers are
        taken out of the space for results; other tuples stay there. Raises `SpaceClosed` if that space is
        closed before the last answer.
        """
        check_duration("timeout", timeout)
        async with self._results.watch(kinds=_ARRIVALS) as events:
            events.wish = self._wish
            await self._take_answers()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._take_answers_to_come(events)
        return Collected(
            dict(sorted(self._values.items())),
            dict(sorted(self._failures.items())),
            self._missing(),
            self._duplicates,
        )

    async def _take_answers_to_come(self, events: Watch) -> None:
        if not self._missing():
            return
        async for _ in events:
            await self._take_answers()
            if not self._missing():
                return
        raise SpaceClosed(
            f"collect: space {self._results.name!r} was closed, and {len(self._missing())} of "
            f"{len(self._payload_lengths)} tasks have no answer."
        )

    def _wish(self) -> tuple[str, Pattern]:
        """Say what a `collect` that is stuck waits for: in words, and as a pattern of the first answer."""
        first, *others = self._missing()
        numbers = ", ".join(str(id) for id in [first, *others[: MOST_NAMED - 1]])
        more = f" and {len(others) + 1 - MOST_NAMED} more" if len(others) >= MOST_NAMED else ""
        words = f"task {numbers} has" if not others else f"tasks {numbers}{more} have"
        return f"collect, since {words} no answer,", ("result", first, ANY)

    def _missing(self) -> list[int]:
        return [id for id in self._payload_lengths if id not in self._values and id not in self._failures]

    async def _take_answers(self) -> None:
        """Take every answer that there is now."""
        mine = where(self._is_mine, "the id of a submitted task")
        for _, id, value in await self._results.take_all("result", mine, ANY):
            self._note(id, value, self._values)
        for _, id, _, value in await self._results.take_all("result", mine, "completed", ANY):
            self._note(id, value, self._values)
        for _, id, _, reason in await self._results.take_all("result", mine, "failed", ANY):
            self._note(id, reason, self._failures)
        for length in sorted(set(self._payload_lengths.values())):
            for _, id, *_, reason in await self._results.take_all(*self._dead_letters(length)):
                self._note(id, reason, self._failures)

    def _dead_letters(self, length: int) -> Pattern:
        """Return the pattern of buried tasks that had ``length`` fields of payload."""
        mine = where(
            lambda id: self._is_mine(id) and self._payload_lengths[id] == length,
            f"the id of a submitted task with {length} fields of payload",
        )
        return ("task", mine, *[ANY] * length, ANY)

    def _is_mine(self, id: Any) -> bool:
        return type(id) is int and id in self._payload_lengths

    def _note(self, id: int, answer: Any, answers: dict[int, Any]) -> None:
        if id in self._values or id in self._failures:
            self._duplicates += 1
        else:
            answers[id] = answer
