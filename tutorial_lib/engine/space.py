"""EngineSpace: the calls of a tuple space, answered by a server."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

from tutorial_lib.arguments import (
    as_tuple,
    check_duration,
    check_lease,
    check_limit,
    check_pattern,
    checked_tuple,
    checked_tuples,
)
from tutorial_lib.claims import REFUSED, Claim
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
A_MOMENT = 0.01  # seconds that a claim is given beyond its deadline, since clocks are never quite the same


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
        ready = checked_tuples(tuples)
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
            )
            left = None if deadline is None else max(deadline - loop.time(), 0.0)
            answer = await self._run(Errand(self._link, command, left))
            done = first + answer[1]
            self._note_all("write", tuples[first:done])
            if answer[0] != b"ok":
                error = self._failure(operation, tuples[done], answer, timeout)
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
        )
        answer: Answer = [b"none"]
        if asked.tests:
            answer = await self._replace_one_of(await self._matching(wanted), command)
        if not asked.tests or (insert and answer[0] == b"none"):
            answer = await self._run(Errand(self._link, command, None))
        if answer[0] == b"closed":
            raise self._closed_error("replace")
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
        return self._received("take", await self._obtain("take", pattern, timeout))

    async def read(self, *pattern: Any, timeout: float | None = None) -> Fields:
        """As `TupleSpace.read`."""
        return self._received("read", await self._obtain("read", pattern, timeout))

    async def try_take(self, *pattern: Any) -> Fields | None:
        """As `TupleSpace.try_take`. It waits for the server, and so always lets other tasks run."""
        return await self._try("take", pattern)

    async def try_read(self, *pattern: Any) -> Fields | None:
        """As `TupleSpace.try_read`. It waits for the server, and so always lets other tasks run."""
        return await self._try("read", pattern)

    async def _try(self, operation: str, pattern: Pattern) -> Fields | None:
        check_pattern(f"try_{operation}", pattern)
        answer = await self._run(self._errand(operation, pattern, None, None, waits=False))
        return self._received(operation, answer) if answer[0] == b"ok" else None

    async def _obtain(
        self, operation: str, pattern: Pattern, timeout: float | None, lease: float | None = None
    ) -> Answer:
        """Wait for a tuple and return the answer that holds it."""
        check_pattern(operation, pattern)
        check_duration("timeout", timeout)
        answer = await self._run(self._errand(operation, pattern, timeout, lease, waits=True))
        if answer[0] != b"ok":
            raise self._failure(operation, pattern, answer, timeout)
        return answer

    def _received(self, operation: str, answer: Answer) -> Fields:
        fields = decode(answer[2])
        self._note(operation, fields)
        return fields

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
        check_limit(limit)
        wanted = encode_pattern(pattern)
        command = self._command(
            "take_all",
            operation="take_all",
            shape=wanted.shape or None,
            keys=wanted.keys,
            numbers=[seq for seq, _ in await self._matching(pattern)] if wanted.tests else None,
            limit=limit,
        )
        _, answers = await self._run(Errand(self._link, command, None))
        return [self._received("take", answer) for answer in answers]

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
            await self._link.see_to(self._send_back(claim, failed=not isinstance(error, CancelledError)))

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
        self._check_not_stale(claim, "release", await self._send_back(claim, failed=True))

    async def _send_back(self, claim: Claim, *, failed: bool) -> Answer:
        answer = await self._ask("release", **self._held(claim), failed=failed)
        if answer[0] == b"ok":
            self._end(claim, "release", {})
        return answer

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
        command = target._command(
            "change",
            operation=kind,
            claimed={"space": self._id, "capacity": self._bound(), **self._held(claim)},
            tuples=[self._encoded(new)] if new else [],
            reason=pattern_payload((detail["reason"],)) if detail else None,
        )
        loop = asyncio.get_running_loop()
        answer: Answer = [b"none"]
        while answer[0] == b"none":  # no room yet; it is the server that tells when the lease is over
            left = max(claim.deadline - loop.time(), A_MOMENT)
            answer = await target._run(Errand(self._link, command, left))
        if answer[0] == b"closed":
            raise target._closed_error(kind)
        self._check_not_stale(claim, kind, answer)
        self._end(claim, kind, detail)
        if new:
            target._note("write", new)

    @staticmethod
    def _held(claim: Claim) -> dict[str, int]:
        return {"seq": claim._seq, "token": claim.token}

    def _end(self, claim: Claim, how: str, detail: dict[str, Any]) -> None:
        claim._ended = how
        self._note(how, claim.fields, {"attempt": claim.attempt, "token": claim.token, **detail})

    @staticmethod
    def _check_not_ended(claim: Claim, what: str) -> None:
        if claim._ended:
            raise claim._refusal(what)

    def _check_not_stale(self, claim: Claim, what: str, answer: Answer) -> None:
        if answer[0] != b"ok":
            claim._ended = "lapse"
            self._note("note", claim.fields, {"text": REFUSED, "step": what})
            raise claim._refusal(what)

    # ------------------------------------------------------------------------------------------------
    # Looking at the space

    def watch(
        self, *pattern: Any, kinds: str | Iterable[str] | None = None, limit: int | None = None
    ) -> Watch:
        """As `TupleSpace.watch`: the events of all clients, in the order in which the server saw them.

        The loop also ends with the manager, and raises `ServerUnavailable` as a waiting `take` does.
        """
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

    async def _remove_for_all(self) -> None:
        """Close the space and forget it, with everything in it. For `EngineManager.remove`."""
        command = {"name": "remove", "removed": self._id, "actor": current_actor()}
        answer = await self._answer("remove", self._link.ask(command))
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
        self, operation: str, pattern: Pattern, answer: Answer, timeout: float | None
    ) -> SpaceClosed | TimeoutError:
        if answer[0] == b"none":
            return self._timeout_error(operation, pattern, timeout, map(decode, answer[2]))
        if operation in ("write", "write_many"):
            return self._closed_error(operation)
        return SpaceClosed(
            f"{operation}{pattern_text(pattern)}: space {self.name!r} is closed and has no such tuple."
        )

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
