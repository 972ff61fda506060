"""Watch: a window on the events of a space."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tutorial_lib.patterns import Pattern, matches
from tutorial_lib.store import copied
from tutorial_lib.trace import Event, Life, current_life

if TYPE_CHECKING:
    from tutorial_lib.space import TupleSpace

__all__ = ["SPACE_KINDS", "Watch"]

SPACE_KINDS: Final = frozenset(
    {
        *("wait", "leave", "write", "take", "read", "replace", "expire"),
        *("claim", "renew", "complete", "release", "lapse", "bury", "shut"),
    }
)
"""The kinds of events that a space records."""


class Watch:
    """The events of a space, one after the other. Made by ``async with space.watch(...) as events``.

    Its buffer is its own, so a slow watcher holds nobody up. With a ``limit`` the oldest events are
    dropped when it is full, and the next event says in ``detail["missed"]`` how many.
    """

    def __init__(
        self, space: TupleSpace, pattern: Pattern, kinds: frozenset[str] | None, limit: int | None
    ) -> None:
        self._space = space
        self._pattern = pattern
        self._kinds = kinds
        self._limit = limit
        self._buffer: deque[tuple[Any, ...]] = deque(maxlen=limit)  # the parts of the events to come
        self._missed = 0
        self._error: Exception | None = None
        self._was_entered = False
        self._over = True
        self._bell: asyncio.Future[None] | None = None
        self.life: Life | None = None
        self.wish: Callable[[], tuple[str, Pattern]] | None = None
        """What whoever reads it waits for in truth, as operation and pattern. For `Stalled`."""

    def __repr__(self) -> str:
        return f"<Watch on {self._space.name}, {len(self._buffer)} events to come>"

    async def __aenter__(self) -> Watch:
        self._over = False
        self._was_entered = True
        self.life = current_life()
        self._space._add_watch(self)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._space._remove_watch(self)
        self.end()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Event:
        if not self._was_entered:
            raise RuntimeError("A watch is entered before it is read: async with space.watch(...) as events.")
        if not (self._buffer or self._error or self._over):
            if self._bell is not None:
                raise RuntimeError(
                    f"Two tasks wait on one watch of {self._space.name!r}. Give each its own watch."
                )
            self._bell = asyncio.get_running_loop().create_future()
            try:
                await self._bell
            finally:
                self._bell = None
        else:
            await asyncio.sleep(0)  # a loop over many events lets the others run, too
        if self._buffer:
            return self._oldest()
        self._raise_error()
        raise StopAsyncIteration

    def _oldest(self) -> Event:
        event = Event(*self._buffer.popleft())
        if self._missed:
            event = event._replace(detail={**event.detail, "missed": self._missed})
            self._missed = 0
        return event

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    @property
    def is_over(self) -> bool:
        """Whether no event will come any more: its block or its space has ended, and all were read."""
        return self._over and not self._buffer

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for the next event at this moment."""
        return self._bell is not None

    def pending(self) -> list[Event]:
        """Take the events that have come and were not read yet, oldest first, without waiting.

        For whoever looks from time to time, where ``async for`` would let others run after each event.
        Raises, when the events before were taken, what the watcher's own ``where`` test raised.

        >>> from tutorial_lib.space import TupleSpace
        >>> async def main():
        ...     space = TupleSpace()
        ...     async with space.watch(kinds="write") as events:
        ...         await space.write_many([("task", 1), ("task", 2)])
        ...         return [event.fields for event in events.pending()], events.pending()
        >>> asyncio.run(main())
        ([('task', 1), ('task', 2)], [])
        """
        if not self._buffer:
            self._raise_error()
        return [self._oldest() for _ in range(len(self._buffer))]

    def offer(self, parts: tuple[Any, ...]) -> None:
        """Take an event into the buffer if it was asked for. Never raises: the writer is not to blame.

        It comes in its ``parts``, and becomes an `Event` when it is read: many a buffer drops most of them.
        """
        _, _, _, kind, _, fields, detail = parts
        if self._over or (self._kinds is not None and kind not in self._kinds):
            return
        own = copied(fields)  # what one watcher does to a list must not reach the next
        if own is not fields:
            parts = (*parts[:5], own, detail)
        if kind == "replace":
            parts = (*parts[:6], {**detail, "old": copied(detail["old"])})
        if self._pattern and not self._sees(Event(*parts)):
            return
        if len(self._buffer) == self._limit:
            self._missed += 1  # the oldest one drops out
        self._buffer.append(parts)
        if self._bell is not None:
            self._ring()

    def end(self) -> None:
        """Let the loop end after the events that are in the buffer."""
        self._over = True
        self._ring()

    def fail(self, error: Exception) -> None:
        """Let the loop raise ``error`` after the events that are in the buffer."""
        self._error = error
        self.end()

    def _sees(self, event: Event) -> bool:
        try:
            if matches(self._pattern, event.fields):
                return True
            return event.kind == "replace" and matches(self._pattern, event.detail["old"])
        except Exception as error:  # the watcher's own test
            self.fail(error)
            return False

    def _ring(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)
