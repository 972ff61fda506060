"""connect: named spaces that belong together."""

from __future__ import annotations

import asyncio

import pytest
from space_help import ended, simulated_twice, started

from tutorial_lib import SpaceClosed, SpaceManager, TupleSpace, connect, simulate


def test_connect_is_not_awaited():
    """It only makes the manager; nothing is opened before the first use."""
    assert isinstance(connect(), SpaceManager)
    assert isinstance(connect("memory://"), SpaceManager)


@simulated_twice
async def test_a_space_is_a_tuple_space_of_that_name():
    """With every operation of a space."""
    space = connect().space("tasks")
    assert isinstance(space, TupleSpace)
    assert (await space.stats()).name == "tasks"
    await space.write("a")
    assert await space.take("a") == ("a",)


@simulated_twice
async def test_the_same_name_is_the_same_space():
    """Whoever asks, and however often."""
    manager = connect()
    assert manager.space("tasks") is manager.space("tasks")
    assert manager.space("tasks") is not manager.space("results")


def test_a_manager_lists_its_spaces():
    """In the order in which they were asked for, each once."""
    manager = connect()
    names = ["tasks", "results", "tasks"]
    assert [manager.space(name) for name in names][:2] == manager.spaces()


@simulated_twice
async def test_the_capacity_is_given_to_the_space():
    """``None`` by default: no bound."""
    manager = connect()
    assert (await manager.space("small", capacity=2).stats()).capacity == 2
    assert (await manager.space("large").stats()).capacity is None
    assert manager.space("small", capacity=2) is manager.space("small", capacity=2)


@simulated_twice
async def test_another_capacity_is_refused():
    """The text names the space and both numbers."""
    manager = connect()
    manager.space("tasks", capacity=2)
    with pytest.raises(ValueError, match=r"tasks.*2.*3"):
        manager.space("tasks", capacity=3)
    assert (await manager.space("tasks", capacity=2).stats()).capacity == 2


@simulated_twice
async def test_each_connect_is_a_new_and_empty_manager():
    """Two connections in one process share nothing."""
    one, other = connect("memory://"), connect("memory://")
    await one.space("tasks").write("a")
    assert await other.space("tasks").count() == 0


@simulated_twice
async def test_a_manager_closes_its_spaces():
    """Whoever waits in one of them is told."""
    manager = connect()
    space = manager.space("tasks")
    waiter = await started(space.take("a"))
    await manager.close()
    assert isinstance(await ended(waiter), SpaceClosed)
    with pytest.raises(SpaceClosed):
        await space.write("a")


@simulated_twice
async def test_async_with_closes_at_the_end():
    """All the spaces that were used inside."""
    async with connect() as manager:
        assert isinstance(manager, SpaceManager)
        space = manager.space("tasks")
        await space.write("a")
    assert (await space.stats()).closed


@simulated_twice
async def test_async_with_closes_also_after_an_error():
    """And the error goes on."""
    manager = connect()
    space = manager.space("tasks")

    async def fail() -> None:
        async with manager:
            raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        await fail()
    assert (await space.stats()).closed


@simulated_twice
async def test_closing_twice_is_harmless():
    """As for a space; an unused manager closes, too."""
    manager = connect()
    await manager.close()
    await manager.close()


@simulated_twice
async def test_a_closed_manager_has_no_spaces():
    """The text says to connect anew."""
    manager = connect()
    await manager.close()
    with pytest.raises(SpaceClosed, match="tasks"):
        manager.space("tasks")


@pytest.mark.parametrize("url", ["", "memory", "redis2://host", "ftp://host", "memory:/"])
def test_an_unknown_address_is_refused(url):
    """The text shows what was given, and the address that works everywhere."""
    with pytest.raises(ValueError, match="memory://") as refused:
        connect(url)
    assert repr(url) in str(refused.value)


@pytest.mark.parametrize("url", [None, 7, b"memory://"])
def test_an_address_is_text(url):
    """Anything else is a slip."""
    with pytest.raises(TypeError, match="text"):
        connect(url)


@pytest.mark.parametrize("name", [None, 7, b"tasks"])
def test_a_name_is_text(name):
    """And a refused name leaves nothing behind."""
    manager = connect()
    with pytest.raises(TypeError, match="name"):
        manager.space(name)
    assert manager.space("tasks") is manager.space("tasks")


@pytest.mark.parametrize("capacity", [0, -1, 1.5, "3", True])
def test_a_wrong_capacity_is_refused(capacity):
    """And leaves no space behind, so the right one can still be asked for."""
    manager = connect()
    with pytest.raises((TypeError, ValueError), match="capacity"):
        manager.space("tasks", capacity=capacity)
    assert manager.space("tasks", capacity=3) is manager.space("tasks", capacity=3)


def test_a_manager_made_outside_any_loop_works_in_the_first():
    """A notebook connects in one cell and works in the next."""
    manager = connect()
    space = manager.space("tasks")

    async def main() -> int:
        await space.write("a")
        return await manager.space("tasks").count()

    assert asyncio.run(main()) == 1


def test_a_manager_works_under_simulate():
    """Nothing in it knows of real time."""

    async def main() -> object:
        async with connect() as manager:
            await manager.space("tasks").write("a", ttl=10)
            await asyncio.sleep(10)
            return await manager.space("tasks").count()

    assert simulate(main).result == 0
