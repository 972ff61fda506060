"""Errand: one operation that may have to wait.

The server keeps whoever waits, under an id. When the bell rings, and whenever the connection was lost, the
same command is sent again: an id that the server knows is answered or waits on, one that it does not know
(it was restarted without its memory) is put in line anew. So nothing depends on any single message.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tutorial_lib.engine.codec import decode
from tutorial_lib.engine.connection import Answer, Command, Connection, ServerUnavailable
from tutorial_lib.patterns import Pattern
from tutorial_lib.store import fits

__all__ = ["Errand", "Search"]

MICROSECONDS = 1_000_000


class Errand:
    """Sends ``command`` until its answer is something else than "wait".

    ``timeout`` is in seconds; None waits for ever, 0 not at all.
    """

    def __init__(self, link: Connection, command: Command, timeout: float | None) -> None:
        self.operation = command["operation"]
        self._link = link
        self._command = command
        self._timeout = timeout
        self._left = timeout
        self._pending: asyncio.Future[Answer] | None = None

    async def run(self) -> Answer:
        """Return the answer; its first item is b"none" if the time is over."""
        loop = asyncio.get_running_loop()
        deadline = None if self._timeout is None else loop.time() + self._timeout
        with self._link.bell() as (name, bell):
            self._command["id"] = name
            try:
                while True:
                    bell.clear()
                    if deadline is not None:
                        self._left = max(deadline - loop.time(), 0.0)
                        self._command["timeout"] = int(self._left * MICROSECONDS)
                    answer = await self._attempt()
                    if answer[0] != b"wait":
                        return answer
                    try:
                        async with asyncio.timeout_at(deadline):
                            await bell.wait()
                    except TimeoutError:
                        return await self._give_up()
            except (Exception, asyncio.CancelledError) as error:
                await self._link.see_to(self._undo(), waits=not isinstance(error, ServerUnavailable))
                raise

    async def _attempt(self) -> Answer:
        return await self._ask(self._command)

    async def _ask(self, command: Command) -> Answer:
        self._pending = self._link.submit(command)
        return await self._link.wait_for(self._pending, self._left)

    async def _give_up(self) -> Answer:
        """The time is over: leave the line. What was handed over by then is taken all the same."""
        self._left = 0.0
        return await self._ask(self._leaving("timeout"))

    def _leaving(self, why: str) -> Command:
        return {**self._command, "name": "leave", "why": why}

    async def _undo(self) -> None:
        """Nobody waits for the answer any more: leave the line, and give back what was handed over."""
        if self._pending is not None:
            await self._return(await self._pending)
        await self._return(await self._link.submit(self._leaving("cancelled")))

    async def _return(self, answer: Answer) -> None:
        if answer[0] == b"ok":
            await self._link.submit({**self._command, "name": "give_back", "answer": answer})


class Search(Errand):
    """An errand for a pattern with ``where``: candidates are tested here, and the one that passes grabbed.

    At first all candidates are looked at, page by page; then those that the server offers.
    """

    def __init__(
        self, link: Connection, command: Command, timeout: float | None, pattern: Pattern, *, waits: bool
    ) -> None:
        super().__init__(link, {**command, "name": "look"}, timeout)
        self._pattern = pattern
        self._waits = waits
        self._has_looked = False

    async def _attempt(self) -> Answer:
        if self._has_looked:
            answer = await self._ask({**self._command, "name": "offers"})
            if answer[0] == b"page":
                return await self._first_that_passes(answer[1]) or [b"wait"]
            if answer[0] != b"none":
                return answer
        return await self._look_at_all()

    async def _look_at_all(self) -> Answer:
        after = 0
        waiting = self._waits and self._timeout != 0
        while True:
            name = self._command["id"] if waiting else None
            answer = await self._ask({**self._command, "id": name, "after": after})
            if answer[0] != b"page":
                return answer
            _, page, closed = answer
            found = await self._first_that_passes(page)
            if found is not None:
                return found
            if not page:
                break
            after = int(page[-1][0])
        self._has_looked = True
        if not self._waits:
            return [b"none"]
        if closed:
            return [b"closed"]
        return [b"wait"] if waiting else [b"none", 0, []]

    async def _first_that_passes(self, candidates: list[Any]) -> Answer | None:
        for seq, payload in candidates:
            fields = decode(payload)
            if fits(self._pattern, fields, range(len(fields))):
                answer = await self._ask({**self._command, "name": "grab", "seq": int(seq)})
                if answer[0] == b"ok":
                    return answer
        return None
