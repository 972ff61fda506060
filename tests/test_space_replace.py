"""replace: change a tuple in one step."""

from __future__ import annotations

import asyncio

import pytest
from space_help import ended, settle, simulated_twice, started

from tutorial_lib import ANY, SpaceClosed, TupleSpace


@simulated_twice
async def test_replace_acts_on_the_oldest_match_and_returns_it():
    """The old tuple comes back; the others stay."""
    space = TupleSpace()
    await space.write_many([("state", 1, "queued"), ("state", 2, "queued")])
    assert await space.replace(("state", int, "queued"), ("state", 1, "running")) == ("state", 1, "queued")
    assert await space.read_all() == [("state", 2, "queued"), ("state", 1, "running")]


@simulated_twice
async def test_replace_without_a_match_returns_none_and_writes_nothing():
    """Who gets nothing must not act: the answer says whether it won."""
    space = TupleSpace()
    await space.write("state", 1, "done")
    assert await space.replace(("state", 1, "running"), ("state", 1, "queued")) is None
    assert await space.read_all() == [("state", 1, "done")]


@simulated_twice
async def test_of_two_that_replace_the_same_only_one_wins():
    """Monitor and worker both try; one of them is told that it was too late."""
    space = TupleSpace()
    await space.write("state", 1, "running")
    outcomes = await asyncio.gather(
        space.replace(("state", 1, "running"), ("state", 1, "done")),
        space.replace(("state", 1, "running"), ("state", 1, "queued")),
    )
    assert outcomes == [("state", 1, "running"), None]
    assert await space.read_all() == [("state", 1, "done")]


@simulated_twice
async def test_a_replaced_state_is_never_missing_in_between():
    """Whoever looks at any moment finds exactly one."""
    space = TupleSpace()
    await space.write("state", 0)

    async def change() -> None:
        for number in range(1, 50):
            await space.replace(("state", ANY), ("state", number))
            await asyncio.sleep(0)

    changer = asyncio.create_task(change())
    while not changer.done():
        assert await space.count("state", ANY) == 1
        assert await space.try_read("state", ANY) is not None
    assert await space.read_all() == [("state", 49)]


@simulated_twice
async def test_the_new_tuple_joins_at_the_end():
    """It is as young as a tuple just written."""
    space = TupleSpace()
    await space.write_many([("a", 1), ("a", 2), ("a", 3)])
    await space.replace(("a", 2), ("a", 20))
    assert [await space.take("a", ANY) for _ in range(3)] == [("a", 1), ("a", 3), ("a", 20)]


@simulated_twice
async def test_the_old_deadline_is_not_inherited():
    """Without a ttl of its own the new tuple stays."""
    space = TupleSpace()
    await space.write("beat", 1, ttl=1)
    await space.replace(("beat", ANY), ("beat", 2))
    await asyncio.sleep(5)
    assert await space.read_all() == [("beat", 2)]


@simulated_twice
async def test_the_new_tuple_has_its_own_ttl():
    """A heartbeat that is replaced every second lives on; then it expires."""
    space = TupleSpace()
    await space.write("beat", 0)
    for number in range(1, 4):
        await space.replace(("beat", ANY), ("beat", number), ttl=1.5)
        await asyncio.sleep(1)
        assert await space.read_all() == [("beat", number)]
    await asyncio.sleep(0.5)
    assert await space.count() == 0


@simulated_twice
async def test_the_new_tuple_is_offered_to_waiters_like_a_write():
    """All matching readers and the oldest matching taker."""
    space = TupleSpace()
    await space.write("state", "running")
    reader = await started(space.read("state", "done"))
    first, second = await started(space.take("state", "done")), await started(space.take("state", "done"))
    await space.replace(("state", ANY), ("state", "done"))
    assert (await reader, await first) == (("state", "done"), ("state", "done"))
    assert not second.done()
    assert await space.count() == 0
    second.cancel()


@simulated_twice
async def test_a_waiter_does_not_get_the_old_tuple():
    """The one that is replaced is gone."""
    space = TupleSpace()
    await space.write("state", "running")
    taker = await started(space.take("state", "queued"))
    await space.replace(("state", "running"), ("state", "done"))
    await settle()
    assert not taker.done()
    taker.cancel()


@simulated_twice
async def test_insert_writes_also_when_nothing_matched():
    """The first heartbeat needs no special case."""
    space = TupleSpace()
    assert await space.replace(("beat", ANY), ("beat", 1), insert=True) is None
    assert await space.replace(("beat", ANY), ("beat", 2), insert=True) == ("beat", 1)
    assert await space.read_all() == [("beat", 2)]


@simulated_twice
async def test_an_inserted_tuple_has_its_ttl_and_serves_waiters():
    """It is a write in every respect."""
    space = TupleSpace()
    taker = await started(space.take("a"))
    await space.replace(("a",), ("a",), insert=True, ttl=1)
    assert await taker == ("a",)
    await space.replace(("a",), ("a",), insert=True, ttl=1)
    await asyncio.sleep(1)
    assert await space.count() == 0


@simulated_twice
async def test_lengths_may_differ():
    """What is replaced and what replaces it need not look alike."""
    space = TupleSpace()
    await space.write("task", 1)
    assert await space.replace(("task", int), ("result", 1, "ok")) == ("task", 1)
    assert await space.read_all() == [("result", 1, "ok")]


@simulated_twice
async def test_a_cancelled_hand_over_of_a_new_tuple_comes_back():
    """The tuple that replaced another is not lost with its taker."""
    space = TupleSpace()
    await space.write("state", 1)
    taker = await started(space.take("state", 2))
    await space.replace(("state", 1), ("state", 2))
    taker.cancel()
    assert isinstance(await ended(taker), asyncio.CancelledError)
    assert await space.read_all() == [("state", 2)]


@simulated_twice
async def test_a_cancelled_insert_has_not_happened():
    """It waited for room and was cancelled: nothing was written."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    inserter = await started(space.replace(("b",), ("b",), insert=True))
    await space.take("a")
    inserter.cancel()
    await ended(inserter)
    await settle()
    assert await space.count() in (0, 1)
    if inserter.cancelled():
        assert await space.count() == 0


@simulated_twice
async def test_a_closed_space_refuses_replace():
    """It is a write; the old tuple stays."""
    space = TupleSpace()
    await space.write("a", 1)
    await space.close()
    with pytest.raises(SpaceClosed):
        await space.replace(("a", 1), ("a", 2))
    with pytest.raises(SpaceClosed):
        await space.replace(("b", 1), ("b", 2), insert=True)
    assert await space.read_all() == [("a", 1)]


@pytest.mark.parametrize(
    ("pattern", "fields"),
    [("state", ("state", 1)), (("state", 1), "state"), (None, ("a",)), (("a",), None)],
)
@simulated_twice
async def test_replace_wants_two_tuples(pattern, fields):
    """A forgotten pair of brackets is told, with what was given."""
    space = TupleSpace()
    await space.write("state", 1)
    wrong = pattern if not isinstance(pattern, tuple) else fields
    with pytest.raises(TypeError, match="tuple") as refused:
        await space.replace(pattern, fields)
    assert repr(wrong) in str(refused.value)
    assert await space.read_all() == [("state", 1)]


@simulated_twice
async def test_an_empty_pattern_is_refused():
    """Replacing nothing in particular is a slip."""
    space = TupleSpace()
    await space.write("a")
    with pytest.raises(ValueError, match="replace"):
        await space.replace((), ("b",))
    assert await space.read_all() == [("a",)]
