"""Events of a space on a server: fetched when the bell rings, and offered to those who watch here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgpack

from tutorial_lib.engine.codec import decode, decode_pattern
from tutorial_lib.engine.connection import Connection, ServerUnavailable
from tutorial_lib.patterns import Pattern
from tutorial_lib.trace import Event
from tutorial_lib.watching import Watch

if TYPE_CHECKING:
    from tutorial_lib.engine.space import EngineSpace

__all__ = ["EngineWatch", "EventFeed"]


class EventFeed:
    """The events of one space, for all its watches in this program."""

    def __init__(self, space: EngineSpace, link: Connection) -> None:
        self._space = space
        self._link = link
        self._last = 0  # the number of the last event that was fetched
        self._is_listening = False
        self._fetching = False
        self._is_due = False

    async def begin(self, watch: Watch) -> None:
        """Tell the server that ``watch`` is to see every event from now on."""
        # The bell may ring before the server's answer is here, and it rings only once until somebody looks.
        self._link.listen(self._space._id, self._on_bell)
        _, last, closed = await self._space._ask("watch")
        if closed:
            watch.end()
        elif not self._is_listening:
            self._last = last
            self._is_listening = True
            if self._is_due:
                self._on_bell()

    async def end(self) -> None:
        """Tell the server if nobody watches here any more."""
        if self._is_listening and not self._space._watches:
            self._is_listening = False
            self._link.listen(self._space._id, None)
            await self._link.see_to(self._space._ask("unwatch"))

    def _on_bell(self) -> None:
        if self._link.is_closed:
            for watch in self._space._watches:
                watch.end()
            return
        self._is_due = True
        if self._is_listening and not self._fetching:
            self._fetching = True
            self._link.start_errand(self._fetch())

    async def _fetch(self) -> None:
        try:
            while self._is_due and self._is_listening:
                self._is_due = False
                _, missed, self._last, events = await self._space._ask("events", after=self._last)
                for watch in self._space._watches:
                    watch._missed += missed
                for packed in events:
                    self._offer(packed)
        except (ServerUnavailable, PermissionError, RuntimeError) as error:
            for watch in self._space._watches:
                watch.fail(error)
        finally:
            self._fetching = False

    def _offer(self, packed: bytes) -> None:
        number, moment, kind, actor, payload, detail = msgpack.unpackb(packed, raw=True, strict_map_key=False)
        event = Event(
            number,
            self._link.loop_time(moment),
            actor.decode("utf-8", "surrogatepass"),
            kind.decode(),
            self._space.name,
            decode(payload) if payload else (),
            {name.decode(): self._value(name, value) for name, value in dict(detail).items()},
        )
        for watch in list(self._space._watches):
            watch.offer(event)
            if event.kind == "shut":
                watch.end()

    def _value(self, name: bytes, value: Any) -> Any:
        if name == b"pattern":
            return decode_pattern(value)
        if name == b"old":
            return decode(value)
        if name == b"reason":
            return decode(value)[0]
        if name == b"deadline":
            return self._link.loop_time(value)
        return value.decode() if isinstance(value, bytes) else value


class EngineWatch(Watch):
    """As `Watch`. Entered when the server knows of it."""

    def __init__(
        self,
        feed: EventFeed,
        space: EngineSpace,
        pattern: Pattern,
        kinds: frozenset[str] | None,
        limit: int | None,
    ) -> None:
        super().__init__(space, pattern, kinds, limit)
        self._feed = feed

    async def __aenter__(self) -> Watch:
        await super().__aenter__()
        try:
            await self._feed.begin(self)
        except BaseException:
            await super().__aexit__()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        await self._feed.end()
