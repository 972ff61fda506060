"""Board: where every tuple of a space is, and every step that moves one.

A tuple is in exactly one place: stored, with a taker, or in a claim. Each method here moves tuples as one
step, without an ``await`` in between, so nobody ever sees a tuple in two places or in none. The two methods
that do wait, for a match and for room, undo what was handed to somebody who is gone by then.

=========  ==================================================================================
hand over  a written tuple goes straight to whoever has waited longest for one like it
give back  a tuple whose receiver is gone returns to its old place, as if it had never left
parcel     a tuple on its way to a taker, with all that is needed to give it back
dismiss    to end a wait: served, too late, cancelled, closed, crashed
moment     when a ttl or a lease is over
=========  ==================================================================================
"""

from __future__ import annotations

import asyncio
import heapq
import types
from asyncio import get_running_loop  # by its bare name, as every operation calls it
from collections.abc import Generator, Iterable
from contextvars import Context
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from tutorial_lib.claims import Claim
from tutorial_lib.near_miss import near_miss
from tutorial_lib.patterns import Pattern, pattern_text, shown
from tutorial_lib.store import Fields, Store, Waiters, copied, fits, fits_plainly
from tutorial_lib.trace import Life, Trace, current_life, trace_now
from tutorial_lib.watching import Watch

if TYPE_CHECKING:
    from tutorial_lib.space import TupleSpace

__all__ = ["Board", "SpaceClosed", "let_others_run"]


@types.coroutine
def let_others_run() -> Generator[None, None, None]:
    """Pause for one turn of the event loop. As every take does so, this is a shorter ``asyncio.sleep(0)``."""
    yield


class SpaceClosed(Exception):
    """The space was closed, and what was asked for would need it to be open."""


_Expiry = tuple[float, str]
"""The moment at which a tuple expires, and the name of its writer."""

_Parcel = tuple[int, Fields, _Expiry | None, int]
"""A tuple on its way, with all that is needed to put it back at its old place: its sequence number, itself,
its expiry (None if it never expires), and how many deliveries failed. A plain tuple is made fastest."""


@dataclass(slots=True, eq=False)  # without slots each would get a dictionary of its own when it is served
class _Waiter:
    """Somebody who waits for a tuple, or for room to write one."""

    number: int  # the order of arrival
    operation: str
    pattern: Pattern  # for a writer: its tuple
    deadline: float | None
    life: Life
    trace: Trace | None  # whoever wakes it may have another one
    call: asyncio.Future[str | Exception]
    line: Waiters[_Waiter] | None = None  # the others who wait for a tuple; None for a writer
    place: Any = None  # where it stands in this line
    timer: asyncio.TimerHandle | None = None
    dismissed: bool = False
    lease: float = 0.0
    # what it was handed, and what is needed to give that back; for a writer, its reserved number
    fields: Fields = ()
    parcel: _Parcel | None = None
    claim: Claim | None = None
    seq: int | None = None

    def detail(self) -> dict[str, Any]:
        """Return what the events of this wait tell. A tuple to be written is copied: it will be stored."""
        pattern = copied(self.pattern) if self.operation in _WRITING else self.pattern
        return {"operation": self.operation, "pattern": pattern}


# How a wait can end. Results, not exceptions: asyncio reports an exception that nobody fetches on stderr.
_SERVED: Final = "served"
_TIMED_OUT: Final = "timeout"
_CLOSED: Final = "closed"
_CANCELLED: Final = "cancelled"

_WRITING: Final = frozenset({"write", "write_many", "replace", "complete", "bury"})
"""The operations that wait for room."""


class Board:
    """The inner works of `tutorial_lib.space.TupleSpace`, which adds the operations that people call."""

    def __init__(self, name: str, capacity: int | None) -> None:
        self.name = name
        self.capacity = capacity
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None  # the event loop that this space belongs to
        self._quiet_loop: asyncio.AbstractEventLoop | None = None  # that loop, or None; see _begin
        self._refusal = ""  # why no operation is accepted any more
        self._trace: Trace | None = None  # that of the operation under way, so it changes at every await
        self._watches: list[Watch] = []
        self._watched = False  # whether anybody wants to hear of events: a trace or a watch
        self._event_numbers = count()  # for events that no trace counts
        # the tuples
        self._store = Store()
        self._expiries: dict[int, _Expiry] = {}  # by sequence number
        self._attempts: dict[int, int] = {}  # seq -> failed deliveries
        self._claims: dict[int, Claim] = {}  # seq -> the open claim on it
        self._tokens = count(1)
        # the waiters
        self._arrivals = count()
        self._takers: Waiters[_Waiter] = Waiters()  # those who wait in take or claim
        self._readers: Waiters[_Waiter] = Waiters()
        self._failed: list[tuple[_Waiter, Exception]] = []  # those whose own where() test has just raised
        self._writers: dict[int, _Waiter] = {}  # those who wait for room, by order of arrival
        self._called: dict[int, _Waiter] = {}  # writers that were promised room and have not come yet
        # the moments at which something ends: (moment, seq, token of the claim, or 0 for a tuple's ttl)
        self._moments: list[tuple[float, int, int]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_context = Context()  # empty: a timer belongs to the space, not to the actor that armed it

    # ------------------------------------------------------------------------------------------------
    # One tuple, one step: every change of place

    def _put(self, fields: Fields, ttl: float | None, place: int | None = None) -> None:
        """Write a tuple. ``place`` is the sequence number that was reserved for it, if it had to wait."""
        if self._watched:
            self._record("write", fields)
        self._place(fields, ttl, place)

    def _place(self, fields: Fields, ttl: float | None, place: int | None = None) -> None:
        """Hand a new tuple to whoever waits for it, or store it."""
        expiry = None if ttl is None else (self._moment_in(ttl), current_life(self._loop).name)
        somebody_waits = self._takers.size or self._readers.size
        if place is None and not somebody_waits:
            seq = self._store.append(fields)
            is_stored = True
        else:
            seq = self._store.next_number() if place is None else place
            is_stored = not (somebody_waits and self._hand_over((seq, fields, expiry, 0)))
            if is_stored:
                self._store.add(seq, fields)  # later ones than a reserved number may be here already
        if is_stored and expiry is not None:
            self._expiries[seq] = expiry
            self._remind(expiry[0], seq, 0)
        if self._writers:
            self._call_writers()  # if it was a writer that was called, the next may come now

    def _hand_over(self, parcel: _Parcel) -> bool:
        """Show a tuple to all readers that wait for it, give it to the first taker; tell if one took it."""
        fields = parcel[1]
        readers = self._readers.all(fields, self._wants) if self._readers.size else ()
        taker = self._takers.first(fields, self._wants) if self._takers.size else None
        for reader in readers:
            reader.fields = copied(fields)
            self._dismiss(reader, _SERVED)
            if self._watched or reader.trace is not None:
                self._record("read", fields, waiter=reader)
        while self._failed:
            self._dismiss(*self._failed.pop(0))
        if taker is None:
            return False
        self._dismiss(taker, _SERVED)
        if taker.operation == "claim":
            taker.claim = self._open_claim(parcel, taker.lease, taker.life.name, taker)
        else:
            taker.fields = fields
            taker.parcel = parcel
            if self._watched or taker.trace is not None:
                self._record("take", fields, waiter=taker)
        return True

    def _wants(self, waiter: _Waiter, fields: Fields) -> bool:
        """Tell whether a waiter wants this tuple. If its own test raises, the error is kept for it."""
        if waiter.call.done() or (waiter.deadline is not None and waiter.deadline <= self._now()):
            return False  # who was cancelled stays in line until it runs
        try:
            return fits_plainly(waiter.pattern, fields) or fits(waiter.pattern, fields, range(len(fields)))
        except Exception as error:
            self._failed.append((waiter, error))
            return False

    def _take_out(self, pattern: Pattern) -> _Parcel | None:
        """Remove the oldest tuple that matches in such a way that it can be given back."""
        found = self._store.take(pattern)
        if found is None:
            return None
        seq, fields = found
        return seq, fields, self._expiries.pop(seq, None), self._attempts.pop(seq, 0)

    def _remove(self, seq: int) -> Fields:
        """Remove a tuple for good, with all that is known of it."""
        self._forget(seq)
        return self._store.remove(seq)

    def _forget(self, seq: int) -> None:
        """Forget what is known of a tuple that has gone."""
        self._expiries.pop(seq, None)
        self._attempts.pop(seq, None)

    def _return_undelivered(self, parcel: _Parcel) -> None:
        """Give back a tuple whose taker was cancelled before it had it."""
        self._find_trace()
        if self._watched:
            self._record("release", parcel[1])
        self._give_back(parcel)

    def _give_back(self, parcel: _Parcel) -> None:
        """Return a tuple to its old place. Waiting takers get it first. Never waits for room."""
        seq, fields, expiry, attempts = parcel
        if expiry is not None and expiry[0] <= self._now():
            self._record_expiry(fields, expiry)
        elif not self._hand_over(parcel):
            self._store.add(seq, fields)
            if attempts:
                self._attempts[seq] = attempts
                self._quiet_loop = None
            if expiry is not None:
                self._expiries[seq] = expiry
                self._remind(expiry[0], seq, 0)
        self._call_writers()

    def _open_claim(self, parcel: _Parcel, lease: float, holder: str, waiter: _Waiter | None = None) -> Claim:
        seq, fields, expiry, attempts = parcel
        deadline = self._moment_in(lease)
        space = cast("TupleSpace", self)  # the only kind of board that is ever made
        claim = Claim(space, seq, fields, attempts + 1, next(self._tokens), deadline, holder)
        self._claims[seq] = claim
        if expiry is not None:
            self._expiries[seq] = expiry  # its ttl goes on while it is claimed
        self._remind(deadline, seq, claim.token)
        if self._watched or (waiter is not None and waiter.trace is not None):
            detail = {"attempt": claim.attempt, "token": claim.token, "deadline": deadline}
            self._record("claim", fields, detail, actor=holder, waiter=waiter)
        return claim

    def _end_claim(self, claim: Claim, kind: str, *, failed: bool) -> None:
        """Give a claimed tuple back: released by its holder, or lapsed."""
        expiry = self._forget_claim(claim, kind)
        if self._watched:
            detail = {"attempt": claim.attempt, "token": claim.token}
            self._record(kind, claim._original, detail, actor=claim.holder)
        attempts = claim.attempt if failed else claim.attempt - 1
        self._give_back((claim._seq, claim._original, expiry, attempts))

    def _forget_claim(self, claim: Claim, how: str) -> tuple[float, str] | None:
        del self._claims[claim._seq]
        claim._ended = how
        return self._expiries.pop(claim._seq, None)

    # ------------------------------------------------------------------------------------------------
    # Waiting for a tuple, and for room

    async def _wait_for_match(
        self, operation: str, pattern: Pattern, timeout: float | None, lease: float = 0.0
    ) -> _Waiter:
        """Wait until a write serves this pattern. Returns the waiter, which holds what it was handed."""
        if self._closed:
            await let_others_run()
            raise SpaceClosed(
                f"{operation}{pattern_text(pattern)}: space {self.name!r} is closed and has no such tuple."
            )
        if timeout == 0:
            await let_others_run()
            raise self._timeout_error(operation, pattern, timeout)  # quickly: whoever polls asks often
        waiter = self._arrive(operation, pattern, timeout)
        waiter.lease = lease
        waiter.line = self._readers if operation == "read" else self._takers
        waiter.line.add(waiter)
        if self._writers:
            self._call_writers()  # one of them may have what this waiter wants
        try:
            outcome = await waiter.call
        except BaseException:
            if waiter.parcel is not None:
                self._return_undelivered(waiter.parcel)
            elif waiter.claim is not None and waiter.claim._ended == "":
                self._find_trace()
                self._end_claim(waiter.claim, "release", failed=False)
            elif not waiter.dismissed:
                self._dismiss(waiter, _CANCELLED)
                self._call_writers()  # one of them may have been called for this waiter
            raise
        if outcome == _SERVED:
            return waiter
        if outcome == _TIMED_OUT:
            raise self._timeout_error(operation, pattern, timeout, self._store.live.values())
        if outcome == _CLOSED:
            raise SpaceClosed(
                f"{operation}{pattern_text(pattern)}: space {self.name!r} was closed during the wait."
            )
        assert isinstance(outcome, Exception)
        raise outcome

    async def _wait_for_room(self, operation: str, fields: Fields, timeout: float | None) -> int:
        """Wait until ``fields`` may be written. Returns the sequence number that was reserved for it.

        The caller writes before its next ``await``. A writer that was called and is then cancelled has
        not written: the room that was promised to it goes to the next.
        """
        if timeout == 0:
            await let_others_run()
            raise self._timeout_error(operation, fields, timeout)
        writer = self._arrive(operation, fields, timeout)
        self._writers[writer.number] = writer
        while True:
            try:
                outcome = await writer.call
            except BaseException:
                if not writer.dismissed:
                    self._dismiss(writer, _CANCELLED)
                self._called.pop(writer.number, None)
                self._call_writers()
                raise
            self._begin()  # whoever came last may have had another trace
            self._called.pop(writer.number, None)
            if outcome == _TIMED_OUT:
                raise self._timeout_error(operation, fields, timeout)
            if outcome == _CLOSED or self._closed:
                raise SpaceClosed(
                    f"{operation}{pattern_text(fields)}: {self.name!r} was closed during the wait for room."
                )
            assert writer.seq is not None
            if self._may_write(writer):
                return writer.seq
            # Whoever wanted the tuple has gone, or a tuple came back, in the moment since the call.
            self._wait_again(writer)
            self._call_writers()  # the room that this one kept may be meant for an older one

    def _arrive(self, operation: str, pattern: Pattern, timeout: float | None) -> _Waiter:
        """Make a waiter and set its timer."""
        deadline = None if timeout is None else self._moment_in(timeout)
        assert self._loop is not None
        life, call = current_life(self._loop), self._loop.create_future()
        waiter = _Waiter(next(self._arrivals), operation, pattern, deadline, life, self._trace, call)
        if self._watched:
            self._record("wait", (), waiter.detail())
        if deadline is not None:
            self._set_timer(waiter, deadline)
        return waiter

    def _wait_again(self, writer: _Waiter) -> None:
        """Let a writer that was called in vain wait on, at its old place in the line."""
        writer.call = asyncio.get_running_loop().create_future()
        writer.dismissed = False
        self._writers = dict(sorted({**self._writers, writer.number: writer}.items()))
        if self._watched:
            self._record("wait", (), writer.detail())
        if writer.deadline is not None:
            self._set_timer(writer, writer.deadline)

    def _call_writers(self) -> None:
        """Call the oldest writer for whose tuple there is room now, or somebody who wants it.

        One at a time, so that they write in order: the next is called when this one has written. Whoever
        hangs keeps the room that it was promised, but holds up nobody.
        """
        if not self._writers or self._coming():
            return
        for writer in list(self._writers.values()):
            if writer.call.done():
                continue
            if self._has_room() or self._is_wanted(writer.pattern):
                writer.seq = self._store.next_number()
                self._called[writer.number] = writer
                self._dismiss(writer, _SERVED)
                if self._coming():
                    return
            elif not self._takers.size:
                return

    def _coming(self) -> list[_Waiter]:
        """Return the writers that were called and are about to write."""
        if not self._called:
            return []
        hangs = getattr(self._loop, "is_silent", None)  # only on a virtual loop can anybody hang
        return [writer for writer in self._called.values() if hangs is None or not hangs(writer.life)]

    def _accepts(self, fields: Fields) -> bool:
        """Tell whether a new tuple may be written now: there is room, or somebody waits to take it."""
        return self._has_room(len(self._writers)) or self._is_wanted(fields, self._coming())

    def _has_room(self, places: int = 0) -> bool:
        """Tell whether there is room for one more tuple when ``places`` more are taken."""
        if self.capacity is None:
            return True
        return len(self._store) + len(self._claims) + len(self._called) + places < self.capacity

    def _is_wanted(self, fields: Fields, others: Iterable[_Waiter] = ()) -> bool:
        """Tell whether somebody waits to take this tuple, and wants none of what the ``others`` write."""
        if not self._takers.size:
            return False
        taker = self._takers.first(fields, self._wants)
        wanted = taker is not None and not any(self._wants(taker, other.pattern) for other in others)
        self._failed.clear()  # whoever's test raised learns of it when the tuple is offered
        return wanted

    def _may_write(self, writer: _Waiter) -> bool:
        """Tell whether a writer that was called can write, and takes no older one's taker or room."""
        older = [
            other
            for other in self._writers.values()
            if other.number < writer.number and not other.call.done()  # the cancelled stay until they run
        ]
        return self._is_wanted(writer.pattern, older) or (not older and self._has_room())

    def _set_timer(self, waiter: _Waiter, deadline: float) -> None:
        assert self._loop is not None
        waiter.timer = self._loop.call_at(deadline, self._time_out, waiter, context=self._timer_context)

    def _time_out(self, waiter: _Waiter) -> None:
        assert waiter.deadline is not None
        if waiter.call.done():
            return
        if waiter.deadline > self._now():  # a clock may be coarser than a deadline, and ring early
            self._set_timer(waiter, waiter.deadline)
        else:
            self._dismiss(waiter, _TIMED_OUT)
            self._call_writers()

    def _dismiss(self, waiter: _Waiter, outcome: str | Exception) -> None:
        """End a wait: out of the line, timer off, and wake the one who waited."""
        if waiter.line is None:
            del self._writers[waiter.number]
        else:
            waiter.line.remove(waiter)
        waiter.dismissed = True
        if waiter.timer is not None:
            waiter.timer.cancel()
        # Who was cancelled is called already, or its loop is closed and nobody is there to be called.
        if outcome is not _CANCELLED and not waiter.call.done():
            waiter.call.set_result(outcome)
        if self._watched or waiter.trace is not None:
            why = outcome if isinstance(outcome, str) else "error"
            self._record("leave", (), {**waiter.detail(), "why": why}, waiter=waiter)

    def _all_waiters(self) -> list[_Waiter]:
        waiters = [*self._takers, *self._readers, *self._writers.values()]
        return sorted(waiters, key=lambda waiter: waiter.number)

    @property
    def _waiting(self) -> int:
        """How many wait, for a tuple or for room."""
        return self._takers.size + self._readers.size + len(self._writers)

    # ------------------------------------------------------------------------------------------------
    # Moments: the end of a ttl or of a lease

    def _remind(self, moment: float, seq: int, token: int) -> None:
        """Note that something ends at ``moment``, and see to it that the timer rings by then."""
        self._quiet_loop = None
        if len(self._moments) > 64 + 2 * (len(self._expiries) + len(self._claims)):
            # Most of the notes are about tuples that are gone and leases that were renewed.
            self._moments = [(claim.deadline, seq, claim.token) for seq, claim in self._claims.items()]
            self._moments += [(expiry[0], seq, 0) for seq, expiry in self._expiries.items()]
            heapq.heapify(self._moments)
        heapq.heappush(self._moments, (moment, seq, token))
        if self._timer is None or moment < self._timer.when():
            self._ring_at(moment)

    def _ring_at(self, moment: float) -> None:
        assert self._loop is not None
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._on_timer, context=self._timer_context)

    def _on_timer(self) -> None:
        self._timer = None
        self._end_what_is_over()
        if self._moments:
            self._ring_at(self._moments[0][0])

    def _end_what_is_over(self) -> None:
        """Let tuples expire and leases lapse whose moment has come: it has come when now >= moment."""
        now = self._now()
        while self._moments and self._moments[0][0] <= now:
            _, seq, token = heapq.heappop(self._moments)
            claim = self._claims.get(seq)
            expiry = self._expiries.get(seq)
            if token:
                if claim is not None and claim.token == token and claim.deadline <= now:
                    self._end_claim(claim, "lapse", failed=True)
            elif expiry is not None and expiry[0] <= now and claim is None:
                self._record_expiry(self._remove(seq), expiry)
                self._call_writers()

    def _shut(self) -> None:
        """End all waiting, and all watching after the events so far."""
        self._closed = True
        self._quiet_loop = None
        for waiter in self._all_waiters():
            if not waiter.call.done():
                self._dismiss(waiter, _CLOSED)
        if self._watched:
            self._record("shut")
        for watch in self._watches:
            watch.end()

    def _empty(self) -> None:
        """Let go of every tuple, claimed ones too. For a space that is shut and will not be used again."""
        for claim in list(self._claims.values()):
            self._forget_claim(claim, "remove")
        self._store = Store()
        self._expiries.clear()
        self._attempts.clear()
        self._moments.clear()

    def _record_expiry(self, fields: Fields, expiry: tuple[float, str]) -> None:
        if self._watched:
            self._record("expire", fields, actor=expiry[1])

    # ------------------------------------------------------------------------------------------------
    # The loop, the trace, and errors

    def _begin(self) -> None:
        """Start of every operation: is this the right loop, is anything over, and who keeps the diary?

        A space is quiet while it has room without bound and nobody watches or records, and no tuple has a
        time limit or failed deliveries. ``_quiet_loop`` is the space's loop then, and None as soon as there
        is more to look after. The busiest operations ask for it themselves, in the same words.
        """
        loop = get_running_loop()
        if loop is not self._quiet_loop or trace_now() is not None:
            self._look_around(loop)

    def _look_around(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do what `_begin` is for, in a space that is not quiet. ``loop`` is the running one."""
        if loop is not self._loop:
            self._move_to(loop)
        self._trace = trace_now()
        self._watched = self._trace is not None or bool(self._watches)
        if self._moments and self._moments[0][0] <= loop.time():
            self._end_what_is_over()
        has_more_to_do = (
            self._watched or self._moments or self._attempts or self._closed or self.capacity is not None
        )
        self._quiet_loop = None if has_more_to_do else self._loop

    def _find_trace(self) -> None:
        """Look up who keeps the diary. To be done again after an await: another task may have another one."""
        self._trace = trace_now()
        self._watched = self._trace is not None or bool(self._watches)
        if self._watched:
            self._quiet_loop = None

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Belong to ``loop`` from now on, if no other loop is still using this space."""
        if self._refusal:
            raise RuntimeError(self._refusal)
        old = self._loop
        if old is not None and not old.is_closed():
            raise RuntimeError(
                f"Space {self.name!r} belongs to another event loop or thread. "
                "Make the space inside the async function that uses it, and use it in that loop only."
            )
        if old is not None and (self._waiting or self._called or self._claims):
            raise RuntimeError(
                f"Space {self.name!r} was left by an earlier event loop with somebody still waiting, or "
                "a claim still open. Make a new space inside the async function that uses it."
            )
        adopt = getattr(loop, "adopt_space", None)  # a virtual loop keeps a list of its spaces
        if adopt is not None:
            adopt(self)
        self._loop = loop
        self._timer = None
        self._watches = []  # who watched from a loop that is closed will not look again
        if old is not None and self._expiries:
            shift = loop.time() - old.time()  # what was left of a ttl is left of it here
            self._expiries = {seq: (moment + shift, name) for seq, (moment, name) in self._expiries.items()}
            self._moments = [(expiry[0], seq, 0) for seq, expiry in self._expiries.items()]
            heapq.heapify(self._moments)
            self._ring_at(self._moments[0][0])

    def refuse(self, reason: str) -> None:
        """Accept no operation any more. For a simulation whose thread could not be stopped."""
        self._refusal = reason
        self._loop = self._quiet_loop = None

    def withdraw_dead(self) -> None:
        """Withdraw the waiters of actors that have crashed. For the loop that lets them crash."""
        for waiter in self._all_waiters():
            if not waiter.life.alive:
                self._dismiss(waiter, "crashed")
        self._called = {number: writer for number, writer in self._called.items() if writer.life.alive}
        self._watches = [watch for watch in self._watches if watch.life is None or watch.life.alive]
        self._call_writers()

    def _add_watch(self, watch: Watch) -> None:
        self._begin()
        self._quiet_loop = None
        if self._closed:
            watch.end()
        else:
            self._watches.append(watch)
            self._watched = True

    def _remove_watch(self, watch: Watch) -> None:
        if watch in self._watches:
            self._watches.remove(watch)

    def _moment_in(self, seconds: float) -> float:
        """Return the moment ``seconds`` from now, in whole microseconds, as the virtual clock counts them.

        Otherwise 0.1 s after 0.2 s would be a moment just after 0.3 s, and a deadline would be missed.
        """
        now = self._now()
        moment = round(now + seconds, 6)
        return moment if moment > now else round(now + 1e-6, 6)

    def _now(self) -> float:
        assert self._loop is not None
        return self._loop.time()

    def _record(
        self,
        kind: str,
        fields: Fields = (),
        detail: dict[str, Any] | None = None,
        *,
        actor: str | None = None,
        waiter: _Waiter | None = None,
    ) -> None:
        """Tell the trace and the watches of an event: of the running task, this actor, or this waiter."""
        if waiter is not None:
            name, trace = waiter.life.name, waiter.trace
        else:
            name = current_life(self._loop).name if actor is None else actor
            trace = self._trace
        assert self._loop is not None
        time = self._loop.time()
        if trace is not None:
            fields = copied(fields)
            event: tuple[Any, ...] = trace.record(
                kind, actor=name, space=self.name, fields=fields, detail=detail, time=time
            )
        else:
            event = (next(self._event_numbers), time, name, kind, self.name, fields, detail or {})
        for watch in self._watches:
            watch.offer(event)

    def _closed_error(self, operation: str) -> SpaceClosed:
        return SpaceClosed(
            f"{operation}: space {self.name!r} is closed, and nothing can be written to it any more."
        )

    def _timeout_error(
        self, operation: str, pattern: Pattern, timeout: float | None, there: Iterable[Fields] = ()
    ) -> TimeoutError:
        what = "had no room" if operation in _WRITING else "had no match"
        waited = "at once" if not timeout else f"within {timeout:g} s"
        text = f"{operation}{pattern_text(pattern)}: space {self.name!r} {what} {waited}."
        near = near_miss(pattern, there)
        return TimeoutError(f"{text} {near}" if near else text)

    def stuck(self) -> list[str]:
        """Say, a sentence each, who waits for what, and what comes closest. For `Stalled`."""
        sentences = []
        for waiter in self._all_waiters():
            who = f"{waiter.life.name} waits in {waiter.operation}"
            if waiter.operation in _WRITING:
                sentences.append(f"{who} for room in {self.name} for {shown(waiter.pattern)}. It is full.")
            else:
                sentences.append(self._why_stuck(who, waiter.pattern))
        sentences += [self._why_watching(watch) for watch in self._watches if watch.is_awaited]
        return sentences

    def _why_watching(self, watch: Watch) -> str:
        assert watch.life is not None
        if watch.wish is None:
            return f"{watch.life.name} waits in watch for the next event in {self.name}."
        operation, pattern = watch.wish()
        return self._why_stuck(f"{watch.life.name} waits in {operation}", pattern)

    def _why_stuck(self, who: str, pattern: Pattern) -> str:
        near = near_miss(pattern, self._store.live.values()) or "The space is empty."
        return f"{who} for {pattern_text(pattern)} in {self.name}. {near}"
