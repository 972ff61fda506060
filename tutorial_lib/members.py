"""Members: tasks that act under a name of their own, fail, crash, and are ended by their owner.

Crews, heartbeats, monitors and supervisors start tasks. Whoever starts a task has to end it, and has to know
the three ways in which it can end before that:

=========  ======================================================================================
return     its work is done
exception  its owner sees it at once
crash      silence: its task never ends, so nobody may wait for it
=========  ======================================================================================
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context, copy_context
from types import TracebackType
from typing import Any, Self

from tutorial_lib.trace import actor, current_life, current_trace

__all__ = [
    "PATIENCE",
    "Block",
    "Member",
    "Service",
    "check_async_function",
    "end_members",
    "loop_and_shift",
    "record",
    "report_stragglers",
    "run",
]

PATIENCE = 5.0  # seconds in which a cancelled member may tidy up


class Member:
    """A task that acts under ``name``. Starts at once.

    ``over`` is a future that is done when the task has ended in any way, a crash included. ``error`` is
    then the exception that it ended with, if it was one. ``on_over`` is called with the member.
    """

    def __init__(
        self,
        name: str,
        program: Callable[[], Awaitable[object]],
        on_over: Callable[[Member], None],
    ) -> None:
        self.name = name
        self.error: BaseException | None = None
        self._on_over = on_over
        with actor(name):
            context = copy_context()
            self.life = current_life()
        self.life.mourners.append(self._end)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(run(name, program), name=name, context=context)
        # In an empty context, since the end of a task belongs to nobody who could crash.
        self.task.add_done_callback(self._on_done, context=Context())

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self.error = task.exception()
        self._end()

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
            self._on_over(self)


async def run(name: str, program: Callable[[], Awaitable[object]]) -> None:
    """Await ``program()``. Raises `TypeError`, saying who ``name`` is, if that cannot be awaited."""
    awaitable = program()
    if not inspect.isawaitable(awaitable):
        raise TypeError(
            f"{name} cannot run: its function returned {awaitable!r}, which cannot be awaited. "
            "Write 'async def' and, inside it, no yield."
        )
    await awaitable


async def end_members(members: Iterable[Member], within: float = PATIENCE) -> list[Member]:
    """Cancel ``members`` at once and wait until they have ended, at most ``within`` seconds.

    Returns those that have not. A cancellation of the caller does not cut this short: it is raised
    afterwards, so that no member outlives its owner.
    """
    waiting = [member for member in members if not member.over.done()]
    for member in waiting:
        member.task.cancel()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    cancellation: asyncio.CancelledError | None = None
    while waiting and loop.time() < deadline:
        try:
            await asyncio.wait([member.over for member in waiting], timeout=deadline - loop.time())
        except asyncio.CancelledError as error:
            cancellation = error
        waiting = [member for member in waiting if not member.over.done()]
    if cancellation is not None:
        raise cancellation
    return waiting


def report_stragglers(owner: str, members: Iterable[Member], within: float = PATIENCE) -> None:
    """Tell the event loop, and so the learner, which members did not end when they were cancelled."""
    for member in members:
        error = RuntimeError(
            f"{member.name} did not end within {within:g} s after {owner} cancelled it. "
            "It hangs, or it catches asyncio.CancelledError and goes on: let that error pass."
        )
        asyncio.get_running_loop().call_exception_handler(
            {"message": "a task outlives its owner", "exception": error}
        )


class Block:
    """The ``async with`` block of an owner, which the failure of a member interrupts.

    As in `asyncio.TaskGroup`, the task that is inside the block is cancelled, and at the end of the block
    that cancellation turns into the error.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "an async with block runs inside a task"
        self._task = task
        self._cancellations_before = task.cancelling()
        self._is_open = True
        self._was_interrupted = False
        self._failure: BaseException | None = None
        self._who_failed = ""

    def mind(self, member: Member) -> None:
        """End the block if ``member`` has ended with an error. For its ``on_over``."""
        if member.error is not None:
            self.fail(member.name, member.error)

    def fail(self, who: str, error: BaseException) -> None:
        """End the block with ``error``. Only the first failure does; later ones are noted in its text."""
        if self._failure is not None:
            self._failure.add_note(f"After that {who} raised {error!r}.")
            return
        error.add_note(f"Raised by {who}.")
        self._failure = error
        self._who_failed = who
        if self._is_open:
            self._was_interrupted = True
            self._task.cancel()

    async def leave(self, error: BaseException | None, ending: Awaitable[None]) -> None:
        """Leave the block, in which ``error`` was raised: await ``ending``, then raise the failure, if any.

        An error of the block itself goes first, and so does a cancellation from outside.
        """
        self._is_open = False
        late_cancellation: asyncio.CancelledError | None = None
        try:
            await ending
        except asyncio.CancelledError as cancellation:
            error = late_cancellation = cancellation
        is_ours = self._was_interrupted and self._task.uncancel() <= self._cancellations_before
        if is_ours and isinstance(error, asyncio.CancelledError):
            error = None  # it only carried the message
        if self._failure is not None and error is not None:
            error.add_note(f"After that {self._who_failed} raised {self._failure!r}.")
        elif self._failure is not None:
            self._raise_failure(self._failure)
        if late_cancellation is not None:
            raise late_cancellation

    def _raise_failure(self, failure: BaseException) -> None:
        context = failure.__context__
        try:
            raise failure
        finally:
            failure.__context__ = context  # Python puts our own cancellation there, which explains nothing


class Service:
    """Something that keeps one member at work while its ``async with`` block lasts.

    The member acts under ``name`` and does what `_serve` says. If that fails, the block is interrupted and
    the error leaves it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._block: Block | None = None  # while it is at work
        self._member: Member | None = None

    async def __aenter__(self) -> Self:
        if self._block is not None:
            raise RuntimeError(f"{self!r} is at work already. Make another one for a second block.")
        self._block = Block()
        self._member = Member(self.name, self._serve, on_over=self._block.mind)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trail: TracebackType | None
    ) -> None:
        assert self._block is not None
        block, self._block = self._block, None
        await block.leave(error, self._end())

    async def _serve(self) -> None:
        raise NotImplementedError

    async def _end(self) -> None:
        assert self._member is not None
        report_stragglers("its owner", await end_members([self._member]))


# ---------------------------------------------------------------------------------------------------
# Small things that crews, monitors and the like have in common


def record(
    kind: str, actor: str | None = None, *, space: str = "", fields: tuple[Any, ...] = (), **detail: Any
) -> None:
    """Record an event, if there is a current trace. ``actor`` is the current actor if left out."""
    trace = current_trace()
    if trace is not None:
        trace.record(kind, actor=actor, space=space, fields=fields, detail=detail)


def check_async_function(function: object, need: str) -> None:
    """Check that ``function`` can be called to get an awaitable. ``need`` begins the message if not."""
    if inspect.iscoroutine(function):
        function.close()  # or Python complains that it was never awaited
        raise TypeError(f"{need}, got what a call of {function.__name__}() returned. Leave out the brackets.")
    if not callable(function):
        raise TypeError(f"{need}, got {function!r}.")


def loop_and_shift(
    what: str, before: asyncio.AbstractEventLoop | None
) -> tuple[asyncio.AbstractEventLoop, float]:
    """Return the running loop, and what has to be added to moments on the clock of the one ``before``.

    Raises `RuntimeError` if ``what`` was used on another loop before that is not closed yet.
    """
    loop = asyncio.get_running_loop()
    if before is None or before is loop:
        return loop, 0.0
    if not before.is_closed():
        raise RuntimeError(
            f"{what} belongs to another event loop or thread. Make it inside the async function that uses it."
        )
    return loop, loop.time() - before.time()
