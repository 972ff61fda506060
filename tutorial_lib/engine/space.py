"""EngineSpace: the calls of a tuple space, answered by a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

from tutorial_lib.arguments import as_tuple, check_duration, check_lease, check_pattern, checked_tuple
from tutorial_lib.claims import Claim, StaleClaim
from tutorial_lib.engine.codec import decode, decode_pattern, encode_pattern, encode_tuple, pattern_payload
from tutorial_lib.engine.connection import Answer, Command, Connection, ServerUnavailable
from tutorial_lib.engine.errand import MICROSECONDS, Errand, Search
from tutorial_lib.engine.events import EngineWatch, EventFeed
from tutorial_lib.patterns import Pattern, pattern_text, shown
from tutorial_lib.space import SpaceClosed, SpaceStats, TupleSpace, WaiterInfo
from tutorial_lib.store import Fields, fits
from tutorial_lib.trace import current_actor, current_trace
from tutorial_lib.watching import Watch

__all__ = ["EngineSpace"]

CHUNK = 500  # tuples that are written by one command: the server does nothing else meanwhile


class EngineSpace(TupleSpace):
    """A tuple space that lives in a Redis or Valkey server. Made by ``connect("redis://...").space(name)``.

    Every call means what it means for `TupleSpace`; `tutorial_lib.engine` lists what is weaker. Fields may
    be None, bool, int, float, str, bytes, list, tuple and dict; anything else is refused with `TypeError`.
    While the server is away every operation goes on trying, up to its own timeout or else for half a minute,
    and then raises `ServerUnavailable`, which is a `TimeoutError` and a `ConnectionError`.
    """

    def __init__(self, name: str, *, capacity: int | None, link: Connection) -> None:
        super().__init__(name, capacity=capacity)
        self._link = link
        self._id = name.encode("utf-8", "surrogatepass")
        self._feed = EventFeed(self, link)

    def __repr__(self) -> str:
        return f"<EngineSpace {self.name} at {self._link}>"

    # ------------------------------------------------------------------------------------------------
    # Writing

    async def write(self, *fields: Any, ttl: float | None = None, timeout: float | None = None) -> None:
        """As `TupleSpace.write`. Cancelled on its way, the tuple may or may not be written."""
        await self._write("write", [checked_tuple(fields)], ttl, timeout)

    async def write_many(
        self, tuples: Iterable[Sequence[Any]], ttl: float | None = None, timeout: float | None = None
    ) -> int:
        """As `TupleSpace.write_many`. Others may write in between when there are over 500 tuples."""
        if isinstance(tuples, (str, bytes)) or not isinstance(tuples, Iterable):
            raise TypeError(
                f"write_many() needs a list of tuples, got {shown(tuples)}. Write write_many([('task', 1)])."
            )
        ready = [checked_tuple(as_tuple(item, "write_many() needs tuples")) for item in tuples]
        await self._write("write_many", ready, ttl, timeout)
        return len(ready)

    async def _write(
        self, operation: str, tuples: list[Fields], ttl: float | None, timeout: float | None
    ) -> None:
        encoded = [self._encoded(fields) for fields in tuples]
        check_duration("ttl", ttl, zero=False)
        check_duration("timeout", timeout)
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        for first in range(0, len(tuples), CHUNK):
            command = self._command(
                "change",
                operation=operation,
                tuples=encoded[first : first + CHUNK],
                ttl=_microseconds(ttl),
                pattern=pattern_payload(tuples[first]),
            )
            left = None if deadline is None else max(deadline - loop.time(), 0.0)
            answer = await self._run(Errand(self._link, command, left))
            done = first + (answer[1] if len(answer) > 1 else 0)
            self._note_all("write", tuples[first:done])
            if answer[0] != b"ok":
                error = self._failure(operation, tuples[done], answer, timeout, "had no room")
                if operation == "write_many":
                    error = type(error)(f"{error} {done} of the {len(tuples)} tuples are written.")
                raise error

    async def replace(
        self, pattern: Sequence[Any], fields: Sequence[Any], *, insert: bool = False, ttl: float | None = None
    ) -> Fields | None:
        """As `TupleSpace.replace`. With ``where`` and ``insert``, others may write in between."""
        wanted = check_pattern("replace", as_tuple(pattern, "replace() needs a pattern, as a tuple"))
        new = checked_tuple(as_tuple(fields, "replace() needs the new tuple"))
        check_duration("ttl", ttl, zero=False)
        asked = encode_pattern(wanted)
        command = self._command(
            "change",
            operation="replace",
            shape=None if asked.tests else asked.shape,
            keys=asked.keys,
            tuples=[self._encoded(new)],
            insert=insert,
            ttl=_microseconds(ttl),
            pattern=pattern_payload(new),
        )
        answer: Answer = [b"none"]
        if asked.tests:
            answer = await self._replace_one_of(await self._matching(wanted), command)
        if not asked.tests or (insert and answer[0] == b"none"):
            answer = await self._run(Errand(self._link, command, None))
        if answer[0] == b"closed":
            raise self._failure("replace", new, answer, None, "")
        old = decode(answer[1]) if answer[0] == b"ok" else None
        if old is not None:
            self._note("replace", new, {"old": old})
        elif insert:
            self._note("write", new)
        return old

    async def _replace_one_of(self, found: list[tuple[int, Fields]], command: Command) -> Answer:
        for seq, _ in found:
            answer = await self._run(Errand(self._link, {**command, "seq": seq}, None))
            if answer[0] != b"none":  # else somebody else took it
                return answer
        return [b"none"]

    # ------------------------------------------------------------------------------------------------
    # Taking and reading

    async def take(self, *pattern: Any, timeout: float | None = None) -> Fields:
        """As `TupleSpace.take`. The tuple is lost if this program dies when it has it: see `claim`."""
        return decode((await self._obtain("take", pattern, timeout))[2])

    async def read(self, *pattern: Any, timeout: float | None = None) -> Fields:
        """As `TupleSpace.read`."""
        return decode((await self._obtain("read", pattern, timeout))[2])

    async def try_take(self, *pattern: Any) -> Fields | None:
        """As `TupleSpace.try_take`. It waits for the server, and so always lets other tasks run."""
        return await self._try("take", pattern)

    async def try_read(self, *pattern: Any) -> Fields | None:
        """As `TupleSpace.try_read`. It waits for the server, and so always lets other tasks run."""
        return await self._try("read", pattern)

    async def _try(self, operation: str, pattern: Pattern) -> Fields | None:
        check_pattern(f"try_{operation}", pattern)
        answer = await self._run(self._errand(operation, pattern, None, None, waits=False))
        if answer[0] != b"ok":
            return None
        fields = decode(answer[2])
        self._note(operation, fields)
        return fields

    async def _obtain(
        self, operation: str, pattern: Pattern, timeout: float | None, lease: float | None = None
    ) -> Answer:
        """Wait for a tuple and return the answer that holds it."""
        check_pattern(operation, pattern)
        check_duration("timeout", timeout)
        answer = await self._run(self._errand(operation, pattern, timeout, lease, waits=True))
        if answer[0] != b"ok":
            raise self._failure(operation, pattern, answer, timeout, "had no match")
        if operation != "claim":
            self._note(operation, decode(answer[2]))
        return answer

    def _errand(
        self, operation: str, pattern: Pattern, timeout: float | None, lease: float | None, *, waits: bool
    ) -> Errand:
        wanted = encode_pattern(pattern)
        kind = "w" if wanted.tests else "r" if operation == "read" else "t"
        command = self._command(
            "obtain",
            operation=operation,
            shape=wanted.shape,
            keys=wanted.keys,
            queue=kind + wanted.shape,
            waits=waits,
            lease=_microseconds(lease),
            pattern=pattern_payload(pattern),
        )
        if wanted.tests:
            return Search(self._link, command, timeout, pattern, waits=waits)
        return Errand(self._link, command, timeout)

    async def take_all(self, *pattern: Any, limit: int | None = None) -> list[Fields]:
        """As `TupleSpace.take_all`, as one step unless the pattern has a ``where``."""
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool)):
            raise TypeError(f"take_all() needs a whole number or None as limit, got {shown(limit)}.")
        if limit is not None and limit < 0:
            raise ValueError(f"take_all() needs a limit of 0 or more, got {shown(limit)}.")
        wanted = encode_pattern(pattern)
        numbers = [seq for seq, _ in await self._matching(pattern)] if wanted.tests else None
        answer = await self._ask(
            "take_all", shape=wanted.shape or None, keys=wanted.keys, numbers=numbers, limit=limit
        )
        taken = [decode(payload) for _, payload in answer[1]]
        self._note_all("take", taken)
        return taken

    async def read_all(self, *pattern: Any) -> list[Fields]:
        """As `TupleSpace.read_all`."""
        return [fields for _, fields in await self._matching(pattern)]

    async def count(self, *pattern: Any) -> int:
        """As `TupleSpace.count`. With ``where`` all candidates travel here to be tested."""
        wanted = encode_pattern(pattern)
        if wanted.tests:
            return len(await self._matching(pattern))
        answer = await self._ask("count", shape=wanted.shape or None, keys=wanted.keys)
        return int(answer[1])

    async def _matching(self, pattern: Pattern) -> list[tuple[int, Fields]]:
        """Return the numbers and fields of all tuples that match, oldest first."""
        wanted = encode_pattern(pattern)
        answer = await self._ask("read_all", shape=wanted.shape or None, keys=wanted.keys)
        found = [(int(seq), decode(payload)) for seq, payload in answer[1]]
        if not wanted.tests:
            return found
        return [(seq, fields) for seq, fields in found if fits(pattern, fields, range(len(fields)))]

    # ------------------------------------------------------------------------------------------------
    # Claims: called by `Claim` and by the block that holds it

    async def _enter_claim(self, pattern: Pattern, lease: float, timeout: float | None) -> Claim:
        answer = await self._obtain("claim", pattern, timeout, lease)
        _, seq, payload, attempt, token, deadline = answer
        claim = Claim(
            self, int(seq), decode(payload), attempt, token, self._link.loop_time(deadline), current_actor()
        )
        detail = {"attempt": claim.attempt, "token": claim.token, "deadline": claim.deadline}
        self._note("claim", claim.fields, detail)
        return claim

    async def _leave_claim(self, claim: Claim, error: BaseException | None) -> None:
        if claim._ended or claim._was_told:
            return
        if error is None:
            await self._complete(claim, "complete", (), None, {})
        else:
            failed = not isinstance(error, asyncio.CancelledError)
            await self._link.see_to(self._ask("release", **self._held(claim), failed=failed))
            claim._ended = "release"
            self._note("release", claim.fields, {"attempt": claim.attempt, "token": claim.token})

    async def _renew(self, claim: Claim, lease: float) -> None:
        check_lease(lease)
        self._check_not_ended(claim, "renew")
        begun = asyncio.get_running_loop().time()
        answer = await self._ask("renew", **self._held(claim), lease=_microseconds(lease))
        self._check_not_stale(claim, "renew", answer)
        claim.deadline = begun + lease
        self._note("renew", claim.fields, {"token": claim.token, "deadline": claim.deadline})

    async def _release(self, claim: Claim) -> None:
        self._check_not_ended(claim, "release")
        answer = await self._ask("release", **self._held(claim), failed=True)
        self._check_not_stale(claim, "release", answer)
        claim._ended = "release"
        self._note("release", claim.fields, {"attempt": claim.attempt, "token": claim.token})

    async def _complete(
        self, claim: Claim, kind: str, result: Fields, to: TupleSpace | None, detail: dict[str, Any]
    ) -> None:
        new = checked_tuple(result) if result else ()
        target = self if to is None else to
        if not isinstance(target, EngineSpace) or target._link is not self._link:
            raise ValueError(
                f"{kind}(to=...) needs a space of the same manager as {self.name!r}, got {to!r}."
            )
        self._check_not_ended(claim, kind)
        claimed = {"space": self._id, "capacity": self._bound(), **self._held(claim)}
        command = target._command(
            "change",
            operation=kind,
            claimed=claimed,
            tuples=[self._encoded(new)] if new else [],
            pattern=pattern_payload(new),
            reason=pattern_payload(tuple(detail.values())) if detail else None,
        )
        loop = asyncio.get_running_loop()
        answer: Answer = [b"none"]
        while answer[0] == b"none":  # no room as long as the lease lasted; it may have been renewed meanwhile
            left = claim.deadline - loop.time()
            answer = await target._run(Errand(self._link, command, max(left, 0.0)))
            if left <= 0:
                break
        if answer[0] == b"closed":
            raise SpaceClosed(
                f"{kind}: space {target.name!r} is closed. The claim on {claim.fields} stays open."
            )
        self._check_not_stale(claim, kind, answer)
        claim._ended = kind
        self._note(kind, claim.fields, {"attempt": claim.attempt, "token": claim.token, **detail})
        if new:
            target._note("write", new)

    @staticmethod
    def _held(claim: Claim) -> dict[str, int]:
        return {"seq": claim._seq, "token": claim.token}

    def _check_not_ended(self, claim: Claim, what: str) -> None:
        if claim._ended:
            how = {"complete": "completed", "release": "given back", "bury": "buried", "lapse": "lapsed"}
            self._refuse(claim, what, f"it is {how[claim._ended]} already")

    def _check_not_stale(self, claim: Claim, what: str, answer: Answer) -> None:
        if answer[0] != b"ok":
            claim._ended = "lapse"
            self._refuse(claim, what, f"its lease was over at {claim.deadline:.6g} s")

    def _refuse(self, claim: Claim, what: str, why: str) -> None:
        claim._was_told = True
        raise StaleClaim(
            f"{claim.holder} cannot {what} {shown(claim.fields)}: {why}. Nothing was changed. "
            "Claim again for the next tuple. If the work takes longer, use a longer lease or renew it."
        )

    # ------------------------------------------------------------------------------------------------
    # Looking at the space

    def watch(
        self, *pattern: Any, kinds: str | Iterable[str] | None = None, limit: int | None = None
    ) -> Watch:
        """As `TupleSpace.watch`: the events of all clients, in the order in which the server saw them."""
        plain = super().watch(*pattern, kinds=kinds, limit=limit)
        return EngineWatch(self._feed, self, pattern, plain._kinds, limit)

    def _add_watch(self, watch: Watch) -> None:
        self._watches.append(watch)

    async def stats(self) -> SpaceStats:
        """As `TupleSpace.stats`."""
        _, tuples, claimed, waiting, closed = await self._ask("stats")
        return SpaceStats(self.name, tuples, claimed, waiting, self.capacity, bool(closed))

    async def waiters(self) -> list[WaiterInfo]:
        """As `TupleSpace.waiters`, of all clients. The test of a ``where`` can be shown, but not called."""
        _, found = await self._ask("waiters")
        return [
            WaiterInfo(actor.decode("utf-8", "surrogatepass"), operation.decode(), decode_pattern(pattern))
            for _, actor, operation, pattern in sorted(found)
        ]

    async def close(self) -> None:
        """As `TupleSpace.close`, for everybody who uses the space."""
        answer = await self._ask("close")
        if answer[0] == b"ok":
            self._note("shut", ())

    # ------------------------------------------------------------------------------------------------
    # The server

    def _bound(self) -> str:
        return "" if self.capacity is None else str(self.capacity)

    def _command(self, name: str, **arguments: Any) -> Command:
        actor = current_actor()
        return {"name": name, "space": self._id, "capacity": self._bound(), "actor": actor, **arguments}

    def _encoded(self, fields: Fields) -> dict[str, Any]:
        return {**encode_tuple(fields), "writer": current_actor()}

    async def _ask(self, name: str, **arguments: Any) -> Answer:
        return await self._answer(name, self._link.ask(self._command(name, **arguments)))

    async def _run(self, errand: Errand) -> Answer:
        return await self._answer(errand.operation, errand.run())

    async def _answer(self, operation: str, asking: Awaitable[Answer]) -> Answer:
        try:
            answer = await asking
        except ServerUnavailable as error:
            raise ServerUnavailable(f"{operation}: space {self.name!r}: {error}") from None
        if answer[0] == b"capacity":
            existing = answer[1].decode() or None
            raise ValueError(
                f"Space {shown(self.name)} exists with capacity {existing}, asked was {self.capacity}. "
                "Ask for the same capacity, or choose another name."
            )
        return answer

    def _failure(
        self, operation: str, pattern: Pattern, answer: Answer, timeout: float | None, lack: str
    ) -> Exception:
        what = f"{operation}{pattern_text(pattern)}: space {self.name!r}"
        if answer[0] == b"closed":
            return SpaceClosed(f"{what} is closed.")
        return TimeoutError(f"{what} {lack} {f'within {timeout:g} s' if timeout else 'at once'}.")

    def _note(self, kind: str, fields: Fields, detail: dict[str, Any] | None = None) -> None:
        """Record in the trace of this program what it did itself."""
        trace = current_trace()
        if trace is not None:
            trace.record(kind, space=self.name, fields=fields, detail=detail)

    def _note_all(self, kind: str, tuples: Iterable[Fields]) -> None:
        for fields in tuples:
            self._note(kind, fields)


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, int(seconds * MICROSECONDS))
