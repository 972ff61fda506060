"""Every call, while one answer after the other is lost on the wire: it is asked for again, and done once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from proxy_help import Proxy
from server_help import PATIENCE, Server

from tutorial_lib import ANY, SpaceManager, StaleClaim, connect, where


async def history(manager: SpaceManager) -> list[Any]:
    """Call everything once, and return all that came back and all that is left."""
    space, results = manager.space("tasks", capacity=8), manager.space("results")
    even = where(lambda number: number % 2 == 0, "even")
    seen: list[Any] = []
    await space.write("task", 0)
    seen.append(await space.write_many([("task", number) for number in range(1, 7)]))
    seen.append(await space.take("task", int))
    seen.append(await space.take("task", even))
    seen.append(await space.read("task", even))
    seen.append(await space.try_take("task", 3))
    seen.append(await space.try_take("task", 3))
    seen.append(await space.replace(("task", 1), ("task", 7)))
    seen.append(await space.replace(("none",), ("task", 8), insert=True))
    async with space.claim("task", int, lease=60) as claim:
        await claim.renew(60)
        await claim.complete("done", claim.fields[1], to=results)
    async with space.claim("task", int, lease=60) as claim:
        await claim.release()
    with pytest.raises(StaleClaim):
        await claim.complete("done", claim.fields[1], to=results)
    async with space.claim("task", int, lease=60) as claim:
        seen.append((claim.fields, claim.attempt))
        await claim.bury(results, "too hard")
    seen.append(await space.count("task", int))
    seen.append(await space.take_all("task", int, limit=2))
    async with asyncio.TaskGroup() as group:
        late = group.create_task(space.take("late", int, timeout=PATIENCE))
        await space.write("late", 1)
    seen.append(late.result())
    with pytest.raises(TimeoutError):
        await space.take("never", timeout=0.01)
    seen.append(await space.read_all())
    seen.append(await results.take_all("done", ANY))
    seen.append(await results.read_all())
    return seen


async def history_of(address: str) -> list[Any]:
    async with connect(address) as manager:
        return await history(manager)


def test_whichever_answer_is_lost_every_call_gives_the_same(server: Server) -> None:
    """What came back and what is left is what it is in memory, where nothing is ever lost."""
    expected = asyncio.run(history_of("memory://"))

    async def lose_one_after_the_other() -> int:
        number, is_there = 0, True
        while is_there:
            number += 1
            with server.admin() as admin:
                admin.flushall()
            async with Proxy(server.port) as proxy:
                proxy.lose_answer(number)
                assert await history_of(proxy.url) == expected, f"answer {number} was lost"
                is_there = proxy.lost == 1
        return number

    assert asyncio.run(asyncio.wait_for(lose_one_after_the_other(), PATIENCE)) > 25
