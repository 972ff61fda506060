"""``manager.remove``: a space goes with everything in it, in memory and on a server alike."""

from __future__ import annotations

import asyncio

import pytest
from server_help import LONG, PATIENCE, Server, claimed, ended, promised, started

from tutorial_lib import ANY, SpaceClosed, SpaceManager, StaleClaim, connect

pytestmark = pytest.mark.usefixtures("patient")


@promised
async def test_a_removed_space_is_new_and_empty_afterwards(manager: SpaceManager) -> None:
    """Also with another capacity, and also if it had been closed."""
    await manager.space("tasks").write("task", 1)
    await manager.remove("tasks")
    assert await manager.space("tasks", capacity=1).count() == 0
    await manager.space("tasks", capacity=1).close()
    await manager.remove("tasks")
    await manager.space("tasks").write_many([("task", 2), ("task", 3)])
    assert await manager.space("tasks").read_all() == [("task", 2), ("task", 3)]
    assert not (await manager.space("tasks").stats()).closed


@promised
async def test_removing_what_is_not_there_does_nothing(manager: SpaceManager) -> None:
    """And other spaces stay as they are, whatever their names look like."""
    await manager.space("tasks").write("task", 1)
    await manager.space("tasks:1").write("task", 1)
    await manager.remove("task")
    await manager.remove("tasks:")
    await manager.remove("tasks:1")
    await manager.remove("tasks:1")
    assert await manager.space("tasks").count() == 1


@promised
async def test_whoever_waits_there_is_told(manager: SpaceManager) -> None:
    """Takers, readers, those who would claim, those with a test, and writers."""
    space = manager.space("tasks", capacity=1)
    await space.write("full")
    waiting = [
        await started(space, space.take("a")),
        await started(space, space.read("b")),
        await started(space, claimed(space, "c")),
        await started(space, space.write("d")),
    ]
    await manager.remove("tasks")
    outcomes = await asyncio.gather(*map(ended, waiting))
    assert [type(outcome) for outcome in outcomes] == [SpaceClosed] * 4


@promised
async def test_a_claim_there_is_lost(manager: SpaceManager) -> None:
    """It can neither be renewed nor completed, also into another space, and the task does not come back."""
    tasks, results = manager.space("tasks"), manager.space("results")
    await tasks.write_many([("task", number) for number in range(4)])
    claims = [await claimed(tasks, "task", ANY, lease=LONG) for _ in range(4)]
    await manager.remove("tasks")
    for late in (
        claims[0].renew(5),
        claims[1].complete("result", to=results),
        claims[2].release(),
        claims[3].bury(results, "why"),
    ):
        with pytest.raises(StaleClaim):
            await late
    assert await results.count() == 0
    assert await manager.space("tasks").count() == 0


@promised
async def test_leaving_the_block_of_a_lost_claim_tells_it(manager: SpaceManager) -> None:
    """As after a lease that ran out."""
    tasks = manager.space("tasks")
    await tasks.write("task")
    with pytest.raises(StaleClaim):
        async with tasks.claim("task", lease=LONG):
            await manager.remove("tasks")
    assert await manager.space("tasks").count() == 0


@promised
async def test_a_watch_there_ends(manager: SpaceManager) -> None:
    """With the closing as its last event."""
    space = manager.space("tasks")
    async with space.watch() as events:
        await manager.remove("tasks")
        assert [event.kind async for event in events] == ["shut"]


@promised
async def test_the_new_space_is_watched_like_any_other(manager: SpaceManager) -> None:
    """The old watch does not see what happens there."""
    async with manager.space("tasks").watch(kinds=["write"]) as old:
        await manager.remove("tasks")
        space = manager.space("tasks")
        async with space.watch(kinds=["write"]) as new:
            await space.write("task", 1)
            assert (await anext(aiter(new))).fields == ("task", 1)
        assert [event.fields async for event in old] == []


@promised
async def test_what_expires_or_lapses_does_not_touch_the_new_space(manager: SpaceManager) -> None:
    """Its tuples and claims are its own."""
    space = manager.space("tasks")
    await space.write("brief", ttl=0.1)
    await space.write("claimed")
    await claimed(space, "claimed", lease=0.1)
    await manager.remove("tasks")
    await manager.space("tasks").write("new")
    await asyncio.sleep(0.2)
    assert await manager.space("tasks").read_all() == [("new",)]


def test_nothing_of_a_removed_space_is_left_on_the_server(server: Server) -> None:
    """Tuples, indexes, claims, waiters of every kind and watches: all its keys are gone."""

    async def main() -> None:
        async with connect(server.url) as manager, asyncio.timeout(PATIENCE):
            space, other = manager.space("gone", capacity=8), manager.space("stays")
            await space.write_many([("task", number) for number in range(4)])
            await space.write("brief", 1, 2, ttl=LONG)
            assert await space.count("task", int) == 4
            assert await space.count(ANY, 1, 2) == 1
            claim = await claimed(space, "task", 0, lease=LONG)
            waiting = [
                await started(space, space.take("a", int)),
                await started(space, space.read("b")),
                await started(space, claimed(space, "c")),
            ]
            async with space.watch() as events:
                await manager.remove("gone")
                assert [event.kind async for event in events] == ["shut"]
            outcomes = await asyncio.gather(*map(ended, waiting))
            assert [type(outcome) for outcome in outcomes] == [SpaceClosed] * 3
            with pytest.raises(StaleClaim):
                await claim.complete("done", to=other)
            await asyncio.sleep(1.5)  # a tick of the client must not bring it back
        with server.admin() as admin:
            assert admin.keys("*gone*") == []
            assert admin.smembers("tuplespace:spaces") == {b"stays"}

    asyncio.run(main())


def test_another_client_removes_a_space_for_everybody(server: Server) -> None:
    """Whether it used the space itself or not."""

    async def main() -> None:
        async with connect(server.url) as one, connect(server.url) as other, asyncio.timeout(PATIENCE):
            space = one.space("tasks")
            await space.write("task", 1)
            waiter = await started(space, space.take("b"))
            async with space.watch() as events:
                await other.remove("tasks")
                assert [event.kind async for event in events] == ["shut"]
            assert isinstance(await ended(waiter), SpaceClosed)
            assert await space.count() == 0

    asyncio.run(main())


def test_what_was_handed_over_does_not_come_back_to_another_space_of_that_name(server: Server) -> None:
    """A taker is cancelled after its space was removed: its tuple belonged to the old one."""

    async def main() -> None:
        async with connect(server.url) as one, connect(server.url) as other, asyncio.timeout(PATIENCE):
            space = one.space("tasks")
            waiter = await started(space, space.take("task", int))
            one._link._deliver = lambda message: None  # type: ignore[method-assign]  # it never hears of it
            await other.space("tasks").write("task", 1)
            await other.remove("tasks")
            await other.space("tasks").write("new")
            waiter.cancel()
            await ended(waiter)
            assert await other.space("tasks").read_all() == [("new",)]

    asyncio.run(main())


def test_a_watch_that_hears_late_ends_all_the_same(server: Server) -> None:
    """It sees nothing of the new space of that name."""

    async def main() -> None:
        async with (
            asyncio.timeout(PATIENCE),
            connect(server.url) as one,
            connect(server.url) as other,
            one.space("tasks").watch() as events,
        ):
            deliver = one._link._deliver
            one._link._deliver = lambda message: None  # type: ignore[method-assign]
            await other.remove("tasks")
            await other.space("tasks").write("new")
            one._link._deliver = deliver  # type: ignore[method-assign]
            one._link.ring_all()
            assert [event.kind async for event in events] == ["shut"]

    asyncio.run(main())


def test_a_client_that_goes_does_not_bring_a_removed_space_back(server: Server) -> None:
    """Though it was given a tuple of that space and never heard of it."""

    async def main() -> None:
        async with connect(server.url) as one, connect(server.url) as other, asyncio.timeout(PATIENCE):
            waiter = await started(one.space("gone"), one.space("gone").take("task", int))
            one._link._deliver = lambda message: None  # type: ignore[method-assign]
            await other.space("gone").write("task", 1)
            await other.remove("gone")
            await one._link.ask({"name": "bye"})
            with server.admin() as admin:
                assert admin.keys("*gone*") == []
            waiter.cancel()

    asyncio.run(main())


@promised
async def test_a_watch_that_left_without_looking_does_not_silence_the_next(manager: SpaceManager) -> None:
    """As when a master collects, is told to stop at once, and collects again."""
    space = manager.space("tasks")
    for number in range(20):
        async with space.watch():
            await space.write("unseen", number)
        async with space.watch() as events:
            await space.write("task", number)
            assert (await anext(aiter(events))).fields == ("task", number)
