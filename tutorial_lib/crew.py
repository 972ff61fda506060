"""Crew: a pool of workers that have names, can be hired and dismissed, and never outlive their owner.

>>> import asyncio
>>> from tutorial_lib.simulation import simulate
>>> from tutorial_lib.space import TupleSpace
>>> async def main():
...     space = TupleSpace()
...     await space.write_many([("task", 1), ("task", 2), ("task", 3)])
...     async def worker(name):
...         while task := await space.try_take("task", int):
...             await work(1, task)
...     async with Crew(worker, 2) as crew:
...         await crew.join()
>>> run = simulate(main)
>>> [(event.time, event.actor, event.fields) for event in run.trace.of("finish")]
[(1.0, 'w1', ('task', 1)), (1.0, 'w2', ('task', 2)), (2.0, 'w1', ('task', 3))]
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any

from tutorial_lib.arguments import check_count, check_duration
from tutorial_lib.members import Block, Member, check_async_function, end_members, record, report_stragglers
from tutorial_lib.trace import current_actor
from tutorial_lib.virtual_loop import VirtualLoop

__all__ = ["Crew", "work"]


class Crew:
    """A pool of ``size`` workers: ``async with Crew(worker, 3) as crew:``.

    ``worker(name)`` is an async function; each member runs it under a name of its own, ``w1`` to ``w3``
    (``prefix`` and a number). Everything a member does is signed with its name, and a fault finds it by
    that name. Members are hired when the block is entered and cancelled when it is left; wait for them
    with `join` if they end by themselves.

    An error in a member ends the whole crew: the others are cancelled, the block is interrupted, and the
    error leaves it as it is. Errors of further members are noted in its text. A crashed member says
    nothing, and nobody waits for it. A member that does not end within 5 seconds of being cancelled is
    reported to the event loop (under `simulate`: in ``run.errors``), and left behind.

    Raises `TypeError` or `ValueError` if ``worker`` is no function, ``size`` is not a whole number of 0 or
    more, or ``prefix`` is not a text of at least one letter.

    >>> async def worker(name):
    ...     await work(1)
    >>> Crew(worker, 3)
    <Crew, nobody at work>
    """

    def __init__(self, worker: Callable[[str], Awaitable[object]], size: int, *, prefix: str = "w") -> None:
        check_async_function(worker, "Crew needs an async function of one name, as in Crew(worker, 3)")
        check_count("size", size, least=0)
        if not isinstance(prefix, str):
            raise TypeError(f"prefix is the text before a worker's number, got {prefix!r}.")
        if not prefix:
            raise ValueError("prefix is a text of at least one letter, such as 'w'.")
        self._worker = worker
        self._size = size
        self._prefix = prefix
        self._members: dict[str, Member] = {}
        self._numbers_used = 0
        self._block: Block | None = None  # while the crew is at work

    def __repr__(self) -> str:
        return f"<Crew, {', '.join(self.names) or 'nobody'} at work>"

    @property
    def names(self) -> list[str]:
        """The names of the members at work, in the order in which they were hired."""
        return [name for name, member in self._members.items() if not member.over.done()]

    async def __aenter__(self) -> Crew:
        if self._block is not None:
            raise RuntimeError("This crew is at work already. Make another Crew for a second block.")
        self._block = Block()
        self._members = {}
        self._numbers_used = 0
        for _ in range(self._size):
            self.hire()
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            loop.hirers.append(self._hire_by_fault)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trail: TracebackType | None
    ) -> None:
        assert self._block is not None
        try:
            await self._block.leave(error, self._end())
        finally:
            self._block = None

    async def _end(self) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            loop.hirers.remove(self._hire_by_fault)
        report_stragglers("its crew", await end_members(self._members.values()))

    def hire(self, name: str | None = None) -> str:
        """Put one more worker to work and return its name; without a ``name``, the next that is free.

        Raises `ValueError` if somebody of that name is at work, and `RuntimeError` outside the block.

        >>> import asyncio
        >>> async def worker(name):
        ...     await asyncio.sleep(1)
        >>> async def main():
        ...     async with Crew(worker, 2) as crew:
        ...         return crew.hire(), crew.hire("helper"), crew.names
        >>> asyncio.run(main())
        ('w3', 'helper', ['w1', 'w2', 'w3', 'helper'])
        """
        if self._block is None:
            raise RuntimeError("A crew hires only inside its block: async with Crew(worker, 3) as crew: ...")
        if name is None:
            name = self._next_name()
        elif name in self.names:
            raise ValueError(f"{name!r} is at work already. Choose another name, or dismiss it first.")
        self._start(name)
        record("hire", name)
        return name

    def _next_name(self) -> str:
        while True:
            self._numbers_used += 1
            name = f"{self._prefix}{self._numbers_used}"
            if name not in self._members:
                return name

    def _start(self, name: str) -> None:
        assert self._block is not None
        member = Member(name, partial(self._worker, name), on_over=self._block.mind)
        self._members.pop(name, None)  # so that the newest stands at the end
        self._members[name] = member

    def _hire_by_fault(self, name: str) -> bool:
        """Let the fault `hire` put somebody to work, which writes the event itself; tell if it did."""
        is_free = name not in self.names
        if is_free:
            self._start(name)
        return is_free

    async def dismiss(self, name: str) -> None:
        """Cancel the worker ``name`` and wait until it has ended, at most 5 seconds.

        A claim that it holds goes back uncounted. Does nothing if the worker has ended before. Raises
        `ValueError` if nobody of that name was ever hired, or if a worker would dismiss itself.
        """
        member = self._members.get(name)
        if member is None:
            hired = ", ".join(self._members) or "nobody"
            raise ValueError(f"Nobody called {name!r} is in this crew. Hired so far: {hired}.")
        if member.task is asyncio.current_task():
            raise ValueError(f"{name!r} cannot dismiss itself. Let it return instead.")
        if not member.over.done():
            record("dismiss", name)
            report_stragglers("its crew", await end_members([member]))

    async def join(self) -> None:
        """Wait until no member is at work any more: each has returned, failed, been dismissed or crashed."""
        while at_work := [member.over for member in self._members.values() if not member.over.done()]:
            await asyncio.wait(at_work)


async def work(seconds: float, task: Any = None) -> None:
    """Be busy for ``seconds``, on ``task`` if one is given. Only waiting counts as work in virtual time.

    Records ``start``, then ``finish``; or ``fail`` with the reason "cancelled" if it is cancelled. A crash
    records nothing more, as in real life. While the fault `slow` slows the actor down, what is left of the
    work takes that many times as long.

    Raises `TypeError` or `ValueError` unless ``seconds`` is a finite number of 0 or more.

    >>> from tutorial_lib.simulation import simulate
    >>> async def main():
    ...     await work(2.5, ("task", 7))
    >>> print(simulate(main).trace.text())
         0.000  main       start    ('task', 7) seconds=2.5
         2.500  main       finish   ('task', 7)
    """
    if seconds is None:
        raise TypeError("work() needs a number of seconds, got None. Write work(1.5).")
    check_duration("seconds", seconds)
    fields = () if task is None else task if isinstance(task, tuple) else (task,)
    record("start", fields=fields, seconds=seconds)
    try:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            await _work_at_pace(loop, seconds)
        else:
            await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        record("fail", fields=fields, reason="cancelled")
        raise
    record("finish", fields=fields)


async def _work_at_pace(loop: VirtualLoop, seconds: float) -> None:
    """Work for ``seconds`` at a pace that may change on the way."""
    name = current_actor()
    left = seconds
    while True:
        pace = loop.pace_of(name)
        change = loop.pace_changed(name)
        began = loop.time()
        try:
            changed, _ = await asyncio.wait([change], timeout=left * pace)
        finally:
            change.cancel()  # or the loop would keep it for ever
        if not changed:
            return
        left = max(0.0, left - (loop.time() - began) / pace)
