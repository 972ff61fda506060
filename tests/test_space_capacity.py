"""capacity: a space that can be full."""

from __future__ import annotations

import asyncio

import pytest
from space_help import ended, settle, simulated_twice, started

from tutorial_lib import ANY, SpaceClosed, TupleSpace, hang, simulate, where


@simulated_twice
async def test_without_a_capacity_a_write_never_waits():
    """``None`` means no limit."""
    space = TupleSpace()
    for number in range(10_000):
        await space.write("a", number)
    assert (await space.stats()).capacity is None
    assert await space.count() == 10_000


@simulated_twice
async def test_a_full_space_lets_the_writer_wait():
    """Until a taker makes room."""
    space = TupleSpace(capacity=2)
    await space.write("a", 1)
    await space.write("a", 2)
    writer = await started(space.write("a", 3))
    assert not writer.done()
    assert await space.take("a", ANY) == ("a", 1)
    await writer
    assert await space.read_all() == [("a", 2), ("a", 3)]


@pytest.mark.parametrize("make_room", ["try_take", "take_all", "take"])
@simulated_twice
async def test_every_way_of_taking_makes_room(make_room):
    """A writer that waits goes on as soon as there is room."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    writer = await started(space.write("b"))
    await getattr(space, make_room)("a")
    await settle()
    assert writer.done()
    assert await space.read_all() == [("b",)]


@simulated_twice
async def test_reading_makes_no_room():
    """Only what leaves the space makes room."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    writer = await started(space.write("b", timeout=1))
    await space.read("a")
    assert isinstance(await ended(writer), TimeoutError)


@simulated_twice
async def test_claimed_tuples_count():
    """A claim holds its place until it completes."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    async with space.claim("a", lease=5) as claim:
        writer = await started(space.write("b"))
        assert not writer.done()
        await claim.complete()
        await settle()
        assert writer.done()


@simulated_twice
async def test_expiring_tuples_count_until_their_deadline():
    """Then they make room at once, without anyone looking."""
    space = TupleSpace(capacity=1)
    await space.write("a", ttl=2)
    with pytest.raises(TimeoutError):
        await space.write("b", timeout=1)
    await space.write("b")
    assert asyncio.get_running_loop().time() == 2
    assert await space.read_all() == [("b",)]


@simulated_twice
async def test_waiting_writers_are_served_in_order():
    """First come, first served, one place at a time."""
    space = TupleSpace(capacity=1)
    await space.write("a", 0)
    writers = [await started(space.write("a", number)) for number in (1, 2, 3)]
    order = [await space.take("a", ANY) for _ in range(4)]
    assert order == [("a", 0), ("a", 1), ("a", 2), ("a", 3)]
    await asyncio.gather(*writers)


@simulated_twice
async def test_a_new_write_does_not_overtake_a_waiting_one():
    """Room that was made for the one who waited is not taken by the one who comes."""
    space = TupleSpace(capacity=1)
    await space.write("a", 0)
    first = await started(space.write("a", 1))
    assert await space.try_take("a", 0)
    second = asyncio.create_task(space.write("a", 2))
    assert await space.take("a", ANY) == ("a", 1)
    assert await space.take("a", ANY) == ("a", 2)
    await asyncio.gather(first, second)


@simulated_twice
async def test_a_writer_that_was_let_in_stands_before_one_that_came_later():
    """Also if the later one, which needs not wait, is the quicker of the two; however it is asked for."""
    space = TupleSpace(capacity=2)
    await space.write_many([("a", 0), ("a", 0)])
    await space.try_read("a", ANY)
    writer = await started(space.write("a", 1))
    assert len(await space.take_all("a", 0)) == 2
    await space.write("a", 2)
    await writer
    assert await space.read_all() == await space.read_all("a", ANY) == [("a", 1), ("a", 2)]
    assert await space.take("a", ANY) == ("a", 1)


@simulated_twice
async def test_a_waiting_write_is_not_yet_in_the_space():
    """Nobody can read, count, take or replace it, and nobody watching has seen it."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    async with space.watch("b", kinds=["write"]) as events:
        writer = await started(space.write("b"))
        assert await space.try_read("b") is None
        assert await space.try_take("b") is None
        assert await space.take_all("b") == []
        assert await space.count() == 1
        assert await space.replace(("b",), ("c",)) is None
        writer.cancel()
        await settle()
        await space.close()
        assert [event async for event in events] == []


@simulated_twice
async def test_a_write_that_a_waiting_taker_wants_is_handed_over_even_when_full():
    """It needs no place, since it never lies in the space."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    taker = await started(space.take("a", ANY))
    await space.write("a", 1)
    assert await taker == ("a", 1)
    assert await space.read_all() == [("full",)]


@simulated_twice
async def test_a_hand_over_passes_writers_that_wait():
    """Writers that wait for room do not hold up a tuple that is wanted now."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    writer = await started(space.write("b"))
    taker = await started(space.take("a"))
    await space.write("a")
    assert await taker == ("a",)
    assert not writer.done()
    writer.cancel()


@simulated_twice
async def test_a_write_that_a_waiting_claimer_wants_is_handed_over_even_when_full():
    """As to a waiting taker."""
    space = TupleSpace(capacity=1)
    await space.write("full")

    async def claim() -> tuple[object, ...]:
        async with space.claim("a", lease=5) as claim:
            return claim.fields

    claimer = await started(claim())
    await space.write("a")
    assert await claimer == ("a",)


@simulated_twice
async def test_a_taker_that_starts_to_wait_is_served_by_the_first_waiting_writer_it_wants():
    """Else both would wait for each other for ever."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    writers = [await started(space.write(tag, number)) for tag, number in [("b", 1), ("a", 2), ("a", 3)]]
    assert await asyncio.wait_for(space.take("a", ANY), 1) == ("a", 2)
    assert [writer.done() for writer in writers] == [False, True, False]
    assert await space.read_all() == [("full",)]
    for writer in writers:
        writer.cancel()


@simulated_twice
async def test_a_writer_called_in_vain_keeps_its_place():
    """Two writers have what one taker wants: the second goes on waiting, behind those who came earlier."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    writers = [await started(space.write(tag, number)) for tag, number in [("b", 1), ("a", 2), ("a", 3)]]
    await space.take("a", ANY)
    await settle()
    await space.take("full")
    await settle()
    assert await space.read_all() == [("b", 1)]
    assert [await space.take(ANY, ANY), await space.take(ANY, ANY)] == [("b", 1), ("a", 3)]
    await asyncio.gather(*writers)


@simulated_twice
async def test_room_made_while_a_hand_over_is_on_its_way_reaches_the_next_writer():
    """A writer that is called to hand its tuple over needs no room; the room goes to the one that does."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    first, second = await started(space.write("b")), await started(space.write("a"))
    taker = asyncio.create_task(space.take("a"))
    await asyncio.sleep(0)
    assert await space.try_take("full") == ("full",)
    assert await taker == ("a",)
    await settle()
    assert (first.done(), second.done()) == (True, True)
    assert await space.read_all() == [("b",)]


@simulated_twice
async def test_a_writer_that_was_called_for_a_taker_does_not_take_the_room_of_an_older_one():
    """The taker was served by another by then, and room appeared meanwhile: it is for the first in line."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    writers = [await started(space.write(tag, number)) for tag, number in [("b", 1), ("a", 2), ("a", 3)]]
    taker = asyncio.create_task(space.take("a", ANY))
    await asyncio.sleep(0)
    assert await space.try_take("full") == ("full",)
    assert await taker == ("a", 2)
    await settle()
    assert [writer.done() for writer in writers] == [True, True, False]
    assert await space.read_all() == [("b", 1)]
    writers[2].cancel()


@simulated_twice
async def test_room_that_a_failing_replace_does_not_use_goes_to_the_next_writer():
    """Its own test raised when it was let in; that must not hold up those behind."""

    def picky(value: object) -> bool:
        raise LookupError("never seen such a value")

    space = TupleSpace(capacity=2)
    await space.write("full", 1, 1)
    await space.write("full", 1, 2)
    inserter = await started(space.replace(("state", where(picky)), ("state", 1), insert=True))
    writer = await started(space.write("next"))
    assert await space.replace(("full", 1, 1), ("state", 0)) == ("full", 1, 1)
    assert await space.try_take("full", 1, 2)
    assert isinstance(await ended(inserter), LookupError)
    await settle()
    assert writer.done()
    assert await space.read_all() == [("state", 0), ("next",)]


@simulated_twice
async def test_room_that_an_insert_does_not_need_goes_to_the_next_writer():
    """While it waited for room a match came up, so it replaces that and takes no room."""
    space = TupleSpace(capacity=2)
    await space.write_many([("full", 1), ("full", 2)])
    inserter = await started(space.replace(("state", ANY), ("state", 1), insert=True))
    writer = await started(space.write("next"))
    assert await space.replace(("full", 1), ("state", 0)) == ("full", 1)
    assert await space.try_take("full", 2)
    assert await inserter == ("state", 0)
    await settle()
    assert writer.done()
    assert await space.read_all() == [("state", 1), ("next",)]


@simulated_twice
async def test_a_promised_place_that_is_not_needed_goes_to_the_next_writer():
    """The room was for the first writer, but a taker came for its tuple before it could lie down."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    first, second = await started(space.write("a")), await started(space.write("b"))
    taker = asyncio.create_task(space.take("a"))
    assert await space.try_take("full") == ("full",)
    assert await taker == ("a",)
    await settle()
    assert (first.done(), second.done()) == (True, True)
    assert await space.read_all() == [("b",)]


@simulated_twice
async def test_a_claimer_that_starts_to_wait_is_served_by_a_waiting_writer():
    """As a taker is."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    writer = await started(space.write("a"))
    async with space.claim("a", lease=5, timeout=1) as claim:
        assert claim.fields == ("a",)
        await settle()
        assert writer.done()


@simulated_twice
async def test_give_back_never_waits_and_may_exceed_the_capacity():
    """Handed over past a full space and given back into it: two tuples with room for one."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    taker = await started(space.take("a"))
    await space.write("a")
    taker.cancel()
    await settle()
    assert await space.read_all() == [("full",), ("a",)]
    writer = await started(space.write("b"))
    await space.take("a")
    await settle()
    assert not writer.done()
    await space.take("full")
    await writer


@simulated_twice
async def test_replace_needs_no_room():
    """One leaves, one comes."""
    space = TupleSpace(capacity=1)
    await space.write("state", "old")
    assert await space.replace(("state", ANY), ("state", "new")) == ("state", "old")
    assert await space.read_all() == [("state", "new")]


@simulated_twice
async def test_replace_passes_writers_that_wait():
    """A state can be changed although others wait for room."""
    space = TupleSpace(capacity=1)
    await space.write("state", "old")
    writer = await started(space.write("b"))
    await space.replace(("state", ANY), ("state", "new"))
    await settle()
    assert not writer.done()
    assert await space.read_all() == [("state", "new")]
    writer.cancel()


@simulated_twice
async def test_replace_with_insert_waits_for_room_when_nothing_matched():
    """Then it is a write like any other."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    inserter = await started(space.replace(("state", ANY), ("state", 1), insert=True))
    assert not inserter.done()
    assert await space.count() == 1
    await space.take("a")
    assert await inserter is None
    assert await space.read_all() == [("state", 1)]


@simulated_twice
async def test_write_many_checks_all_tuples_first():
    """One bad tuple, and nothing is written."""
    space = TupleSpace()
    with pytest.raises(TypeError, match="'b'"):
        await space.write_many([("a", 1), "b"])
    with pytest.raises(ValueError, match="ANY"):
        await space.write_many([("a", 1), ("b", ANY)])
    assert await space.count() == 0


@simulated_twice
async def test_write_many_writes_in_order_and_returns_the_count():
    """Any iterable of tuples will do, also an empty one."""
    space = TupleSpace()
    assert await space.write_many(("a", number) for number in range(3)) == 3
    assert await space.write_many([]) == 0
    assert await space.read_all() == [("a", 0), ("a", 1), ("a", 2)]


@simulated_twice
async def test_write_many_waits_where_a_write_would():
    """It goes on as room appears, in order."""
    space = TupleSpace(capacity=2)
    writer = await started(space.write_many([("a", number) for number in range(5)]))
    assert await space.count() == 2
    assert [await space.take("a", ANY) for _ in range(5)] == [("a", number) for number in range(5)]
    assert await writer == 5


@simulated_twice
async def test_a_write_that_waits_ends_at_its_timeout():
    """At its deadline, with the builtin error; then it has not happened."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    with pytest.raises(TimeoutError, match="room") as late:
        await space.write("b", timeout=2.5)
    assert type(late.value) is TimeoutError
    assert asyncio.get_running_loop().time() == 2.5
    await space.take("a")
    await settle()
    assert await space.count() == 0


@simulated_twice
async def test_timeout_zero_does_not_wait_for_room():
    """``timeout=0`` writes where there is room and gives up where there is none."""
    space = TupleSpace(capacity=1)
    await space.write("a", timeout=0)
    with pytest.raises(TimeoutError):
        await space.write("b", timeout=0)
    assert asyncio.get_running_loop().time() == 0
    assert await space.read_all() == [("a",)]


@simulated_twice
async def test_a_cancelled_write_has_not_happened():
    """Also when the room it waited for was made in the same tick: the next writer gets it."""
    space = TupleSpace(capacity=1)
    await space.write("a", 0)
    first, second = await started(space.write("a", 1)), await started(space.write("a", 2))
    assert await space.try_take("a", 0)
    first.cancel()
    assert isinstance(await ended(first), asyncio.CancelledError)
    await second
    assert await space.read_all() == [("a", 2)]


@simulated_twice
async def test_a_writer_that_gives_up_lets_the_next_one_in():
    """A timeout in front of the queue does not hold up those behind."""
    space = TupleSpace(capacity=1)
    await space.write("a", 0)
    first, second = await started(space.write("a", 1, timeout=1)), await started(space.write("a", 2))
    assert isinstance(await ended(first), TimeoutError)
    await space.take("a", 0)
    await second
    assert await space.read_all() == [("a", 2)]


@simulated_twice
async def test_waiting_writers_raise_when_the_space_closes():
    """They would wait for ever otherwise; their tuples are not written."""
    space = TupleSpace(capacity=1)
    await space.write("a")
    writers = [
        await started(space.write("b")),
        await started(space.write_many([("c",), ("d",)])),
        await started(space.replace(("e",), ("e",), insert=True)),
    ]
    await space.close()
    for writer in writers:
        assert isinstance(await ended(writer), SpaceClosed)
    assert await space.read_all() == [("a",)]


@pytest.mark.parametrize("seed", range(20))
def test_a_cancelled_writer_in_front_does_not_hold_up_the_next(seed):
    """Whichever of the two runs first: the one that was cancelled, or the one that gets the room."""

    async def main() -> list[tuple[object, ...]]:
        space = TupleSpace(capacity=1)
        await space.write("full")
        first, second = await started(space.write("first")), await started(space.write("second"))
        first.cancel()
        assert await space.try_take("full") == ("full",)
        await asyncio.wait_for(second, 1)
        return await space.read_all()

    assert simulate(main, seed=seed).result == [("second",)]


@simulated_twice
async def test_capacity_is_kept_under_pressure():
    """Three producers, two consumers, room for three: never more than three tuples, all in order."""
    space = TupleSpace(capacity=3)
    most = 0
    taken = []

    async def producer(name: str) -> None:
        for number in range(30):
            await space.write(name, number)

    async def consumer() -> None:
        while True:
            taken.append(await space.take(ANY, int))

    async def observer() -> None:
        nonlocal most
        while True:
            most = max(most, (await space.stats()).tuples)
            await asyncio.sleep(0)

    producers = [asyncio.create_task(producer(name)) for name in "xyz"]
    others = [asyncio.create_task(operation()) for operation in (observer, consumer, consumer)]
    await asyncio.gather(*producers)
    while await space.count():
        await asyncio.sleep(0)
    await settle()
    assert most == 3
    for name in "xyz":
        assert [number for tag, number in taken if tag == name] == list(range(30))
    for task in others:
        task.cancel()


def test_write_many_with_a_timeout_of_zero_does_not_wait():
    """Not for a microsecond: zero is a value."""

    async def main():
        space = TupleSpace(capacity=1)
        with pytest.raises(TimeoutError, match=r"at once. 1 of the 2"):
            await space.write_many([("a", 1), ("a", 2)], timeout=0)
        return asyncio.get_running_loop().time()

    assert simulate(main).result == 0


@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_tuples_of_waiting_writers_arrive_in_the_order_of_their_waiting_whatever_the_seed(capacity):
    """Also when the taker is quicker than the writers that were called: they come one after the other."""

    async def main():
        space = TupleSpace(capacity=capacity)
        await space.write_many([("x", number) for number in range(capacity)])
        for number in range(capacity, capacity + 5):
            await started(space.write("x", number))
        await space.take_all(limit=capacity)
        return [(await space.take("x", int))[1] for _ in range(5)]

    for seed in range(100):
        assert simulate(main, seed=seed).result == list(range(capacity, capacity + 5)), seed


@pytest.mark.parametrize("capacity", [1, 2])
def test_a_writer_that_hangs_when_its_turn_comes_does_not_hold_up_the_others(capacity):
    """It keeps the room that it was promised; others write into the rest, or hand over to a waiting taker."""

    async def main():
        space = TupleSpace(capacity=capacity)
        await space.write_many([("x", 0)] * capacity)
        for number in (1, 2, 3):
            await started(space.write("x", number), name=f"w{number}")
        await asyncio.sleep(2)
        await space.take_all()
        return [(await space.take("x", int, timeout=1))[1] for _ in range(2)]

    assert simulate(main, faults=[hang("w1", at=1)]).result == [2, 3]
