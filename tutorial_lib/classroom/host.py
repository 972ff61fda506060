"""Host: the teacher's side of the class.

In a notebook or a program of your own::

    async with host() as room:
        print(room.join_line)
        await room.hand_out("count_primes", [(0, 50_000), (50_000, 100_000)])
        print(await room.collect())
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

from tutorial_lib.classroom.jobs import checked_job
from tutorial_lib.classroom.machine import CHOOSING_A_NAME, is_name
from tutorial_lib.classroom.server import LOOPBACK, private_server
from tutorial_lib.manager import SpaceManager, connect
from tutorial_lib.master import Collected, Master
from tutorial_lib.space import SpaceClosed

__all__ = ["Classroom", "Machine", "host"]

TIME_TO_LEAVE: Final = 3.0  # seconds that the machines have when the class is over


class Machine(NamedTuple):
    """A machine that takes part: its name, the number of its processors, and its system."""

    name: str
    cores: int
    system: str


@asynccontextmanager
async def host(
    address: str = LOOPBACK, port: int = 0, password: str | None = None
) -> AsyncIterator[Classroom]:
    """Hold a class while the block lasts: ``async with host() as room:``.

    It runs a server of its own, which students reach at ``address``, an IPv4 address of this machine; by
    default only programs on this machine can. ``port`` 0 means a free one, and without a ``password`` there
    is a new one. At the end every machine is told that the class is over, and the server is gone.

    Raises what `private_server` raises.
    """
    with private_server(address, port, password) as server:
        async with connect(server.url) as manager:
            room = Classroom(manager, server.join_url)
            await room.open()
            try:
                yield room
            finally:
                await room.close()


class Classroom:
    """A class and its rounds. Made by `host`.

    ==============  ========================================================================
    ``join_url``    the address for students, with their password
    ``join_line``   the command with which a student joins
    ``manager``     the spaces: see `tutorial_lib.classroom.machine` for what is in them
    ``round``       the number of the round; the first is 1
    ``over``        an event that is set when the class is to end: see `end`
    ==============  ========================================================================
    """

    def __init__(self, manager: SpaceManager, join_url: str) -> None:
        self.manager = manager
        self.join_url = join_url
        self.join_line = f"tutorial class join {join_url}"
        self.round = 0
        self.over = asyncio.Event()
        self._hall = manager.space("class")
        self._next_round()

    def __repr__(self) -> str:
        done, total = self._master.progress()
        return f"<Classroom, round {self.round}, {done} of {total} tasks collected>"

    def _next_round(self) -> None:
        self.round += 1
        self._tasks = self.manager.space(f"tasks {self.round}")
        self._results = self.manager.space(f"results {self.round}")
        self._master = Master(self._tasks, self._results)

    async def open(self) -> None:
        """Begin the first round. Called by `host`."""
        await self._hall.write("round", self.round)

    async def machines(self) -> list[Machine]:
        """Return the machines that take part, by name, without those that have been silent for 5 seconds."""
        found = await self._hall.read_all("machine", str, int, str)
        return sorted(Machine(*fields[1:]) for fields in found if is_name(fields[1]))

    async def hand_out(self, job: str, arguments: Iterable[tuple[Any, ...]]) -> list[int]:
        """Write a task for each tuple of arguments, and return the ids of the tasks.

        ``job`` is one of `JOBS`. Raises `ValueError`, before anything is handed out, if there is no such job
        or some arguments are not allowed.
        """
        tasks = [(job, one) for one in arguments]
        for task in tasks:
            checked_job(*task)
        return [await self._master.submit(*task) for task in tasks]

    async def collect(self, timeout: float | None = None) -> Collected:
        """Wait for all results of this round, at most ``timeout`` seconds: see `Master.collect`."""
        return await self._master.collect(timeout)

    async def reset(self) -> None:
        """Begin the next round: tasks and results of this one are gone, the machines stay.

        Whoever collects gets `SpaceClosed`.
        """
        old_names = [self._tasks.name, self._results.name]
        self._next_round()
        while await self._hall.replace(("round", int), ("round", self.round)) is None:
            await self._hall.read("round", int)  # somebody holds it to choose a name
        for name in old_names:
            await self.manager.remove(name)

    def end(self) -> None:
        """Ask whoever waits for ``over``, as the command ``tutorial class host`` does, to end the class."""
        self.over.set()

    async def close(self) -> None:
        """Tell the machines that the class is over, and wait until they have left. Called by `host`.

        Closing twice does nothing more.
        """
        with suppress(SpaceClosed, TimeoutError):  # closed before, or gone, or a machine is in no hurry
            async with asyncio.timeout(TIME_TO_LEAVE + CHOOSING_A_NAME):
                await self._hall.take("round", int)
                await self._hall.close()
                await self._tasks.close()
            async with asyncio.timeout(TIME_TO_LEAVE):
                while await self.machines():
                    await asyncio.sleep(0.05)
