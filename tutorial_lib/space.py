"""TupleSpace: a notice board for tuples, for tasks that need not know each other.

=========  =============================================================================
write      pin a tuple to the board
take       wait for a tuple that matches a pattern, and remove it
read       the same, but leave it there
claim      take it for a limited time, until the work on it is done
try_...    do not wait: answer ``None`` if there is nothing
hand over  a write gives its tuple straight to whoever has waited longest for one like it
give back  a tuple whose receiver is gone returns to its old place, as if it had never left
=========  =============================================================================

A tuple is always in exactly one place: in the space, with a taker, or in a claim. It is handed over as one
step, without an ``await`` in between, and the one step that has an ``await`` after it can be undone.

>>> import asyncio
>>> async def main():
...     space = TupleSpace()
...     await space.write("task", 1)
...     await space.write("task", 2)
...     return await space.take("task", int), await space.read("task", int), await space.try_take("x")
>>> asyncio.run(main())
(('task', 1), ('task', 2), None)
"""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop  # by its bare name, as every operation calls it
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tutorial_lib.arguments import (
    as_tuple,
    check_duration,
    check_lease,
    check_limit,
    check_pattern,
    checked_tuple,
    checked_tuples,
)
from tutorial_lib.board import Board, SpaceClosed, let_others_run
from tutorial_lib.claims import REFUSED, Claim, ClaimEntry, StaleClaim
from tutorial_lib.patterns import Pattern, shown
from tutorial_lib.store import Fields, copied
from tutorial_lib.trace import current_life, trace_now
from tutorial_lib.watching import SPACE_KINDS, Watch

__all__ = ["Claim", "SpaceClosed", "SpaceStats", "StaleClaim", "TupleSpace", "WaiterInfo"]


class SpaceStats(NamedTuple):
    """What `TupleSpace.stats` tells: how many tuples, claims and waiters there are at this moment."""

    name: str
    tuples: int
    claimed: int
    waiting: int
    capacity: int | None
    closed: bool


class WaiterInfo(NamedTuple):
    """Who waits: the actor, the operation that it waits in, and the pattern (or the tuple to be written)."""

    actor: str
    operation: str
    pattern: Pattern


class TupleSpace(Board):
    """A tuple space that lives in one event loop. ``capacity`` bounds the number of tuples (None: no bound).

    Fields and patterns are plain arguments, as in Linda (Gelernter, Generative communication in Linda,
    ACM TOPLAS 7(1), 1985). All durations are in seconds. The oldest match is served first, and waiting
    takers are served in order of arrival; these are promises of this class, Linda leaves them open.

    Raises `TypeError` or `ValueError` for a ``name`` that is no text, or a ``capacity`` that is not a whole
    number of at least 1.

    >>> TupleSpace("tasks", capacity=10)
    <TupleSpace tasks, 0 of 10 tuples>
    """

    def __init__(self, name: str = "space", *, capacity: int | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"A space needs a name as text, got {shown(name)}. Write TupleSpace('tasks').")
        if capacity is not None and (not isinstance(capacity, int) or isinstance(capacity, bool)):
            raise TypeError(f"capacity is a whole number of tuples or None, got {shown(capacity)}.")
        if capacity is not None and capacity < 1:
            raise ValueError(
                f"capacity is at least 1, got {shown(capacity)}: without room nothing could be written."
            )
        super().__init__(name, capacity)

    def __repr__(self) -> str:
        bound = "" if self.capacity is None else f" of {self.capacity}"
        claimed = f", {len(self._claims)} claimed" if self._claims else ""
        waiting = f", {self._waiting} waiting" if self._waiting else ""
        closed = ", closed" if self._closed else ""
        return f"<TupleSpace {self.name}, {len(self._store)}{bound} tuples{claimed}{waiting}{closed}>"

    # ------------------------------------------------------------------------------------------------
    # Writing

    async def write(self, *fields: Any, ttl: float | None = None, timeout: float | None = None) -> None:
        """Write the tuple ``fields``.

        Written values are copied, so later changes to a list do not reach the space. After ``ttl`` seconds
        the tuple is gone (None: never). If the space is full, this waits for room, at most ``timeout``
        seconds (None: as long as it takes; 0: not at all), and until then the tuple is not in the space.

        Raises `ValueError` without fields, or for a field that is a pattern (``ANY``, ``where(...)``, a
        class); `TypeError` for a value that cannot be copied; `TimeoutError`; `SpaceClosed`. After any
        error, cancellation included, the tuple has not been written.
        """
        loop = get_running_loop()
        is_quiet = loop is self._quiet_loop and trace_now() is None
        if (
            is_quiet
            and ttl is None
            and timeout is None
            and not self._takers.size
            and not self._readers.size
            and fields
            and self._store.add_plain(fields)
        ):
            return
        fields = checked_tuple(fields)
        if ttl is not None:
            check_duration("ttl", ttl, zero=False)
        if timeout is not None:
            check_duration("timeout", timeout)
        if not is_quiet:
            self._look_around(loop)
        if self._closed:
            raise self._closed_error("write")
        place = None
        if self.capacity is not None and not self._accepts(fields):
            place = await self._wait_for_room("write", fields, timeout)
        if self._watched:
            self._record("write", fields)
        self._place(fields, ttl, place)

    async def write_many(
        self, tuples: Iterable[Sequence[Any]], ttl: float | None = None, timeout: float | None = None
    ) -> int:
        """Write all ``tuples``, in order, and return how many they were.

        All are checked before the first is written. If the space is full, this waits for room, at most
        ``timeout`` seconds in all; on a `TimeoutError` the tuples before that are in the space. Raises
        what `write` raises.

        >>> import asyncio
        >>> async def main():
        ...     space = TupleSpace()
        ...     return await space.write_many([("task", 1), ("task", 2)]), await space.count()
        >>> asyncio.run(main())
        (2, 2)
        """
        ready = checked_tuples(tuples)
        check_duration("ttl", ttl, zero=False)
        check_duration("timeout", timeout)
        self._begin()
        if self._closed:
            raise self._closed_error("write_many")
        # Without a wait the deadline is now; the next moment would be a microsecond later.
        deadline = None if timeout is None else self._moment_in(timeout) if timeout else self._now()
        for number, tuple_ in enumerate(ready):
            place = None
            if not self._accepts(tuple_):
                left = None if deadline is None else max(0.0, deadline - self._now())
                try:
                    place = await self._wait_for_room("write_many", tuple_, left)
                except (TimeoutError, SpaceClosed) as error:
                    raise type(error)(f"{error} {number} of the {len(ready)} tuples are written.") from None
            self._put(tuple_, ttl, place)
        return len(ready)

    async def replace(
        self, pattern: Sequence[Any], fields: Sequence[Any], *, insert: bool = False, ttl: float | None = None
    ) -> Fields | None:
        """Replace the oldest match of ``pattern`` by ``fields`` as one step, and return the old tuple.

        Nobody ever sees a moment without the one or the other. Without a match this returns None, and
        writes only if ``insert`` is true, waiting for room if the space is full. The new tuple stands at
        the end, with its own ``ttl`` in seconds. Raises what `write` raises.

        >>> import asyncio
        >>> async def main():
        ...     space = TupleSpace()
        ...     await space.write("state", 7, "queued")
        ...     old = await space.replace(("state", 7, "queued"), ("state", 7, "running"))
        ...     return old, await space.read_all()
        >>> asyncio.run(main())
        (('state', 7, 'queued'), [('state', 7, 'running')])
        """
        wanted = check_pattern("replace", as_tuple(pattern, "replace() needs a pattern, as a tuple"))
        new = checked_tuple(as_tuple(fields, "replace() needs the new tuple"))
        check_duration("ttl", ttl, zero=False)
        self._begin()
        if self._closed:
            raise self._closed_error("replace")
        seq = self._store.oldest(wanted)
        if seq is None and not insert:
            await let_others_run()  # as the try_ forms: a loop that polls does not freeze its neighbours
            return None
        if seq is None:
            place = None
            if not self._accepts(new):
                place = await self._wait_for_room("replace", new, None)
                try:
                    seq = self._store.oldest(wanted)  # there may be a match by now
                except Exception:  # its own where() test raised: the room goes to the next writer
                    self._call_writers()
                    raise
            if seq is None:
                self._put(new, ttl, place)
                return None
        old = self._remove(seq)
        if self._watched:
            self._record("replace", new, {"old": copied(old)})
        self._place(new, ttl)
        self._call_writers()
        return old

    # ------------------------------------------------------------------------------------------------
    # Taking and reading

    async def take(self, *pattern: Any, timeout: float | None = None) -> Fields:
        """Remove the oldest tuple that matches and return it. Waits for one if there is none.

        Waits at most ``timeout`` seconds (None: for ever; 0: not at all). Always lets other tasks run once,
        which spreads work evenly over several takers.

        Raises `ValueError` without a pattern, `TimeoutError`, and `SpaceClosed` instead of waiting on a
        closed space. A taker that is cancelled has taken nothing. A taker that crashes after this has
        taken the tuple with it: `claim` is for work that must not be lost.
        """
        if not pattern:
            check_pattern("take", pattern)
        if timeout is not None:
            check_duration("timeout", timeout)
        loop = get_running_loop()
        if loop is not self._quiet_loop or trace_now() is not None:
            self._look_around(loop)
        parcel = self._take_out(pattern)
        if parcel is None:
            return (await self._wait_for_match("take", pattern, timeout)).fields
        _, fields, _, _ = parcel
        if self._watched:
            self._record("take", fields)
        if self._writers:
            self._call_writers()
        try:
            await let_others_run()
        except BaseException:
            self._return_undelivered(parcel)
            raise
        return fields

    async def read(self, *pattern: Any, timeout: float | None = None) -> Fields:
        """Return a copy of the oldest tuple that matches and leave it there. Waits for one if there is none.

        ``timeout``, in seconds, and errors are as for `take`.
        """
        check_pattern("read", pattern)
        check_duration("timeout", timeout)
        self._begin()
        seq = self._store.oldest(pattern)
        if seq is None:
            return (await self._wait_for_match("read", pattern, timeout)).fields
        fields = copied(self._store.live[seq])
        if self._watched:
            self._record("read", fields)
        await let_others_run()
        return fields

    async def try_take(self, *pattern: Any) -> Fields | None:
        """Remove the oldest tuple that matches and return it, or return None if there is none.

        Never waits for a tuple. When it finds none it lets other tasks run once, so that a loop which
        polls does not freeze its neighbours; when it finds one it does not. Raises `ValueError` without a
        pattern.
        """
        loop = get_running_loop()
        is_quiet = loop is self._quiet_loop and trace_now() is None
        if not pattern:
            check_pattern("try_take", pattern)
        if not is_quiet:
            self._look_around(loop)
        found = self._store.take(pattern)
        if found is None:
            await let_others_run()
            return None
        seq, fields = found
        if not is_quiet:
            self._forget(seq)
            if self._watched:
                self._record("take", fields)
            if self._writers:
                self._call_writers()
        return fields

    async def try_read(self, *pattern: Any) -> Fields | None:
        """Return a copy of the oldest tuple that matches, or None. Pauses as `try_take` does."""
        check_pattern("try_read", pattern)
        self._begin()
        seq = self._store.oldest(pattern)
        if seq is None:
            await let_others_run()
            return None
        fields = copied(self._store.live[seq])
        if self._watched:
            self._record("read", fields)
        return fields

    async def take_all(self, *pattern: Any, limit: int | None = None) -> list[Fields]:
        """Remove all tuples that match, at most ``limit``, and return them, oldest first.

        Without a pattern, everything. Never waits for a tuple; pauses as `try_take` does.
        """
        check_limit(limit)
        self._begin()
        taken = [self._remove(seq) for seq in self._store.all(pattern)[:limit]]
        if self._watched:
            for fields in taken:
                self._record("take", fields)
        self._call_writers()
        if not taken:
            await let_others_run()
        return taken

    async def read_all(self, *pattern: Any) -> list[Fields]:
        """Return copies of all tuples that match, oldest first. Without a pattern, of everything.

        Lets other tasks run once and then looks; never waits for a tuple. Leaves no mark in the trace.
        """
        await let_others_run()
        self._begin()
        live = self._store.live
        return [copied(live[seq]) for seq in self._store.all(pattern)]

    async def count(self, *pattern: Any) -> int:
        """Return how many tuples match. Without a pattern, how many there are. Pauses as `read_all` does."""
        await let_others_run()
        self._begin()
        return len(self._store.all(pattern)) if pattern else len(self._store)

    # ------------------------------------------------------------------------------------------------
    # Claiming

    def claim(self, *pattern: Any, lease: float, timeout: float | None = None) -> ClaimEntry:
        """Take the oldest tuple that matches for ``lease`` seconds: ``async with space.claim(...) as claim``.

        Waits for a tuple as `take` does. While it is claimed nobody else sees it. Leaving the block without
        an error completes the claim, leaving it with an error releases it, and the error goes on. When the
        lease is over the tuple comes back, and whatever the late holder then does raises `StaleClaim`.

        Raises `ValueError` without a pattern or for a lease that is not a positive, finite number of
        seconds; `TimeoutError` and `SpaceClosed` as `take` does.

        >>> import asyncio
        >>> async def main():
        ...     space = TupleSpace()
        ...     await space.write("task", 7)
        ...     async with space.claim("task", int, lease=10) as claim:
        ...         await claim.complete("result", claim.fields[1] ** 2)
        ...     return await space.read_all()
        >>> asyncio.run(main())
        [('result', 49)]
        """
        check_pattern("claim", pattern)
        check_lease(lease)
        check_duration("timeout", timeout)
        return ClaimEntry(self, pattern, lease, timeout)

    async def _enter_claim(self, pattern: Pattern, lease: float, timeout: float | None) -> Claim:
        self._begin()
        parcel = self._take_out(pattern)
        if parcel is None:
            waiter = await self._wait_for_match("claim", pattern, timeout, lease)
            assert waiter.claim is not None
            return waiter.claim
        claim = self._open_claim(parcel, lease, current_life(self._loop).name)
        try:
            await let_others_run()
        except BaseException:
            self._find_trace()
            self._end_claim(claim, "release", failed=False)
            raise
        return claim

    async def _leave_claim(self, claim: Claim, error: BaseException | None) -> None:
        """Leave the ``async with`` block."""
        if claim._ended in ("complete", "bury", "release") or claim._was_told:
            return
        if error is None:
            await self._complete(claim, "complete", (), None, {})
        elif self._holds(claim):
            self._end_claim(claim, "release", failed=not isinstance(error, asyncio.CancelledError))

    async def _renew(self, claim: Claim, lease: float) -> None:
        check_lease(lease)
        self._check_holds(claim, "renew")
        claim.deadline = self._moment_in(lease)
        self._remind(claim.deadline, claim._seq, claim.token)
        if self._watched:
            self._record("renew", claim.fields, {"token": claim.token, "deadline": claim.deadline})

    async def _release(self, claim: Claim) -> None:
        self._check_holds(claim, "release")
        self._end_claim(claim, "release", failed=True)

    async def _complete(
        self, claim: Claim, kind: str, result: Fields, to: TupleSpace | None, detail: dict[str, Any]
    ) -> None:
        """End a claim for good and write ``result``, if there is one, into ``to``, as one step."""
        new = checked_tuple(result) if result else ()
        target = self._of_same_loop(kind, to)
        self._check_holds(claim, kind)
        place = None
        if new and target._closed:
            raise target._closed_error(kind)
        while new and target is not self and place is None and not target._accepts(new):
            try:
                place = await target._wait_for_room(kind, new, claim.deadline - self._now())
            except TimeoutError:
                self._check_holds(claim, kind)  # it may have been renewed meanwhile
        if place is not None and not self._holds(claim):
            target._call_writers()  # the room goes to the next
            self._check_holds(claim, kind)
        self._forget_claim(claim, kind)
        if self._watched:
            detail = {"attempt": claim.attempt, "token": claim.token, **detail}
            self._record(kind, claim.fields, detail, actor=claim.holder)
        if new:
            target._put(new, None, place)
        self._call_writers()

    def _holds(self, claim: Claim) -> bool:
        self._begin()  # lets every lease lapse that is over by now
        return self._claims.get(claim._seq) is claim

    def _check_holds(self, claim: Claim, what: str) -> None:
        if not self._holds(claim):
            if claim._ended == "lapse" and not claim._was_told and self._trace is not None:
                detail = {"text": REFUSED, "step": what}
                fields = copied(claim.fields)
                self._trace.record("note", actor=claim.holder, space=self.name, fields=fields, detail=detail)
            raise claim._refusal(what)

    def _of_same_loop(self, kind: str, to: TupleSpace | None) -> TupleSpace:
        """Return the space that a claim's result goes to."""
        if to is None or to is self:
            return self
        advice = f"{kind}(to=...) needs a space of the same manager or loop as {self.name!r}, got {to!r}."
        if not isinstance(to, TupleSpace):
            raise ValueError(advice)
        try:
            to._begin()
        except RuntimeError as error:
            raise ValueError(f"{advice} {error}") from None
        return to

    # ------------------------------------------------------------------------------------------------
    # Looking at the space

    def watch(
        self, *pattern: Any, kinds: str | Iterable[str] | None = None, limit: int | None = None
    ) -> Watch:
        """Watch the events from now on: ``async with space.watch("task") as events``, then ``async for``.

        Without a pattern, all events; ``kinds`` narrows them to some kinds, such as ``["write", "expire"]``.
        The buffer is unbounded, or holds the newest ``limit`` events. The loop ends when the space is closed.
        Raises `ValueError` for a kind that no space records, and for a limit below 1.

        >>> import asyncio
        >>> async def main():
        ...     space = TupleSpace()
        ...     async with space.watch("task", int, kinds="write") as events:
        ...         await space.write("task", 1)
        ...         await space.close()
        ...         return [event.fields async for event in events]
        >>> asyncio.run(main())
        [('task', 1)]
        """
        if not (kinds is None or isinstance(kinds, Iterable)):
            raise TypeError(
                f"watch() needs a list of kinds of events or None, got {shown(kinds)}. Write kinds=['write']."
            )
        names = None if kinds is None else [kinds] if isinstance(kinds, str) else list(kinds)
        unknown = [name for name in names or () if not (isinstance(name, str) and name in SPACE_KINDS)]
        if unknown:
            raise ValueError(
                f"watch() knows no events of kind {', '.join(map(shown, unknown))}. "
                f"Choose from: {', '.join(sorted(SPACE_KINDS))}."
            )
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool)):
            raise TypeError(f"watch() needs a whole number of events or None as limit, got {shown(limit)}.")
        if limit is not None and limit < 1:
            raise ValueError(f"watch() needs a limit of 1 event or more, got {shown(limit)}.")
        return Watch(self, pattern, None if names is None else frozenset(names), limit)

    async def stats(self) -> SpaceStats:
        """Return how many tuples, claims and waiters there are."""
        self._begin()
        return SpaceStats(
            self.name, len(self._store), len(self._claims), self._waiting, self.capacity, self._closed
        )

    async def waiters(self) -> list[WaiterInfo]:
        """Return who waits for what, in order of arrival."""
        self._begin()
        return [
            WaiterInfo(waiter.life.name, waiter.operation, waiter.pattern) for waiter in self._all_waiters()
        ]

    async def close(self) -> None:
        """Close the space: nothing can be written any more, and nobody waits any more.

        Writes raise `SpaceClosed`, waiting ones too. `take`, `read` and `claim` still serve what is left and
        then raise instead of waiting. Claims may still complete. Closing twice does nothing more.
        """
        self._begin()
        if not self._closed:
            self._shut()
