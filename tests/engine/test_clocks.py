"""Machines whose clocks differ: a ttl and a lease are measured by the server's clock alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from server_help import Server, python, with_manager

from tests.loop_help import MovableLoop
from tutorial_lib import SpaceManager, connect

pytestmark = pytest.mark.usefixtures("patient")

DAY = 86_400
YEAR = 365 * DAY
CLOCKS = {"a day ahead": (DAY, 3 * YEAR), "a day behind": (-DAY, -5 * YEAR)}
"""Seconds by which a program's wall clock, and the clock of its event loop, differ from this one's."""

OFF_CLOCK = """
    import asyncio, sys, time

    wall, loop = float(sys.argv[2]), float(sys.argv[3])
    real_time, real_loop_time = time.time, asyncio.SelectorEventLoop.time
    time.time = lambda: real_time() + wall
    asyncio.SelectorEventLoop.time = lambda self: real_loop_time(self) + loop

    from tutorial_lib import StaleClaim, connect

    async def main(program):
        async with connect(sys.argv[1]) as manager:
            await program(manager.space("tasks"), asyncio.get_running_loop())

"""


def elsewhere(program: str, test: Any, server: Server, clock: str) -> None:
    """Run ``program`` on a machine whose clock is off, and ``test`` here."""

    async def run(manager: SpaceManager) -> None:
        process = python(OFF_CLOCK + program, server.url, *map(str, CLOCKS[clock]))
        try:
            await test(manager)
            _, errors = await asyncio.to_thread(process.communicate)
            assert process.returncode == 0, errors
        finally:
            process.kill()

    asyncio.run(with_manager(run, server.url))


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_lease_lasts_on_a_machine_whose_clock_is_off(server: Server, clock: str) -> None:
    """It neither lapses at once nor lasts for a day: the others see nothing, and the holder may finish."""
    program = """
    async def program(space, loop):
        async with space.claim("task", int, lease=60) as claim:
            assert 30 < claim.deadline - loop.time() < 90
            await space.write("claimed")
            await space.take("go on")
            await claim.renew(160)
            assert 130 < claim.deadline - loop.time() < 190
            await claim.complete("done")

    asyncio.run(main(program))
    """

    async def test(manager: SpaceManager) -> None:
        space = manager.space("tasks")
        await space.write("task", 1)
        await space.take("claimed")
        assert await space.try_take("task", int) is None
        await space.write("go on")
        await space.take("done")

    elsewhere(program, test, server, clock)


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_lease_ends_on_a_machine_whose_clock_is_off(server: Server, clock: str) -> None:
    """Somebody else gets the tuple, and the late holder is refused."""
    program = """
    async def program(space, loop):
        try:
            async with space.claim("task", int, lease=0.1) as claim:
                await space.read("taken over")
                await claim.complete()
        except StaleClaim:
            await space.write("refused")

    asyncio.run(main(program))
    """

    async def test(manager: SpaceManager) -> None:
        space = manager.space("tasks")
        async with space.watch("task", int, kinds="lapse") as lapses:
            await space.write("task", 1)
            await anext(lapses)
        async with space.claim("task", int, lease=60) as claim:
            assert claim.attempt == 2
            await space.write("taken over")
            await space.take("refused")

    elsewhere(program, test, server, clock)


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_ttl_means_the_same_on_every_machine(server: Server, clock: str) -> None:
    """What was written for a minute is there, and what was written for a moment is gone soon."""
    program = """
    async def program(space, loop):
        await space.take("watched")  # or the end of the short one might come before anybody looks
        await space.write("long", ttl=60)
        await space.write("short", ttl=0.05)
        await space.read("end")

    asyncio.run(main(program))
    """

    async def test(manager: SpaceManager) -> None:
        space = manager.space("tasks")
        async with space.watch(kinds="expire") as ends:
            await space.write("watched")
            assert await space.read("long") == ("long",)
            assert (await anext(ends)).fields == ("short",)
            assert await space.read_all() == [("long",)]
        await space.write("end")

    elsewhere(program, test, server, clock)


def test_the_moment_of_an_event_is_one_of_the_own_loop(server: Server) -> None:
    """Two machines see the same event, each by its own clock."""

    class OtherLoop(MovableLoop):
        ahead = -7.0 * YEAR

    async def moments() -> tuple[float, float, float]:
        loop = asyncio.get_running_loop()
        async with connect(server.url) as manager, manager.space("tasks").watch(kinds="write") as events:
            begun = loop.time()
            await manager.space("tasks").write("task", 1)
            return begun, (await anext(events)).time, loop.time()

    for new_loop in (asyncio.SelectorEventLoop, OtherLoop):
        with asyncio.Runner(loop_factory=new_loop) as runner:
            before, moment, after = runner.run(moments())
        assert before - 60 < moment < after + 60
