"""Exactly one place: a tuple is in the space, with a taker, or in a claim.

The thousands of random schedules are in test_cancellation.py; here are the single cases, each by itself.
"""

from __future__ import annotations

import asyncio

import pytest
from space_help import ended, settle, simulated, simulated_twice, started

from tutorial_lib import TupleSpace
from tutorial_lib.trace import current_trace


@simulated_twice
async def test_a_handed_over_tuple_is_no_longer_in_the_space():
    """Between the write and the moment when the taker runs, nobody else sees it."""
    space = TupleSpace()
    taker = await started(space.take("a"))
    await space.write("a")
    assert await space.try_read("a") is None
    assert (await space.stats()).tuples == 0
    assert await taker == ("a",)


@simulated_twice
async def test_a_tuple_served_at_once_is_no_longer_in_the_space():
    """Also during the one pass of the loop that a fair take lets others run."""
    space = TupleSpace()
    await space.write("a")
    taker = asyncio.create_task(space.take("a"))
    await asyncio.sleep(0)
    assert await space.try_take("a") is None
    assert await taker == ("a",)


@simulated_twice
async def test_a_claimed_tuple_is_only_in_its_claim():
    """It cannot be read, counted, taken, replaced or claimed a second time."""
    space = TupleSpace()
    await space.write("a", 1)
    async with space.claim("a", int, lease=5):
        assert await space.try_read("a", 1) is None
        assert await space.try_take("a", 1) is None
        assert await space.read_all() == []
        assert await space.take_all() == []
        assert await space.count() == 0
        assert await space.replace(("a", 1), ("a", 2)) is None
        with pytest.raises(TimeoutError):
            async with space.claim("a", int, lease=1, timeout=1):
                pass
        stats = await space.stats()
        assert (stats.tuples, stats.claimed) == (0, 1)


@pytest.mark.parametrize("cancel_first", [True, False])
@pytest.mark.parametrize("operation", ["take", "read"])
@simulated_twice
async def test_a_taker_cancelled_in_the_tick_of_the_write_leaves_the_tuple(operation, cancel_first):
    """The tuple is there exactly once, whichever of the two came first."""
    space = TupleSpace()
    taker = await started(getattr(space, operation)("a"))
    if cancel_first:
        taker.cancel()
    await space.write("a")
    taker.cancel()
    assert isinstance(await ended(taker), asyncio.CancelledError)
    assert await space.try_take("a") == ("a",)
    assert await space.try_take("a") is None


@pytest.mark.parametrize("cancel_first", [True, False])
@simulated_twice
async def test_the_next_waiter_gets_what_a_cancelled_one_leaves(cancel_first):
    """A wake-up does not die with the waiter that it was meant for."""
    space = TupleSpace()
    first, second = await started(space.take("a")), await started(space.take("a"))
    if cancel_first:
        first.cancel()
    await space.write("a")
    first.cancel()
    assert await asyncio.wait_for(second, 1) == ("a",)
    assert isinstance(await ended(first), asyncio.CancelledError)
    assert await space.count() == 0


@pytest.mark.parametrize("cancel_first", [True, False])
@simulated_twice
async def test_a_claimer_cancelled_in_the_tick_of_the_write_leaves_the_tuple(cancel_first):
    """A claim that was never received does not hold the tuple, and was no attempt."""
    space = TupleSpace()

    async def claim() -> None:
        async with space.claim("a", lease=100):
            await asyncio.sleep(50)

    claimer = await started(claim())
    if cancel_first:
        claimer.cancel()
    await space.write("a")
    claimer.cancel()
    await settle()
    assert (await space.stats()).claimed == 0
    async with space.claim("a", lease=1) as claim_now:
        assert claim_now.attempt == 1


@pytest.mark.parametrize("operation", ["take", "read"])
@simulated_twice
async def test_cancelled_in_the_yield_of_a_fair_take_the_tuple_stays(operation):
    """The pass in which others run is a moment of cancellation after the tuple has left the space."""
    space = TupleSpace()
    await space.write("a", 1)
    await space.write("a", 2)
    taker = asyncio.create_task(getattr(space, operation)("a", int))
    await asyncio.sleep(0)
    taker.cancel()
    assert isinstance(await ended(taker), asyncio.CancelledError)
    assert await space.read_all() == [("a", 1), ("a", 2)]


@simulated_twice
async def test_cancelled_in_the_yield_of_a_fair_claim_the_tuple_stays():
    """As in the yield of a take."""
    space = TupleSpace()
    await space.write("a", 1)

    async def claim() -> None:
        async with space.claim("a", int, lease=100):
            await asyncio.sleep(50)

    claimer = asyncio.create_task(claim())
    await asyncio.sleep(0)
    claimer.cancel()
    await settle()
    assert await space.read_all() == [("a", 1)]


@pytest.mark.parametrize("writer_first", [True, False])
@simulated_twice
async def test_a_timeout_in_the_tick_of_the_write_loses_nothing(writer_first):
    """Write and deadline fall on the same moment: the taker has it, or the space has it."""
    space = TupleSpace()

    async def write() -> None:
        await asyncio.sleep(1)
        await space.write("a")

    tasks = [asyncio.create_task(write())] if writer_first else []
    taker = await started(space.take("a", timeout=1))
    if not writer_first:
        tasks.append(asyncio.create_task(write()))
    outcome = await ended(taker)
    await asyncio.gather(*tasks)
    left = await space.read_all()
    if isinstance(outcome, TimeoutError):
        assert left == [("a",)]
    else:
        assert (outcome, left) == (("a",), [])


@simulated_twice
async def test_a_timeout_block_in_the_tick_of_the_write_loses_nothing():
    """`asyncio.timeout` cancels from outside; that is no excuse."""
    space = TupleSpace()
    taken = []

    async def take() -> None:
        async with asyncio.timeout(1):
            taken.append(await space.take("a"))

    taker = await started(take())
    await asyncio.sleep(1)
    await space.write("a")
    await ended(taker)
    assert len(taken) + await space.count() == 1


@simulated_twice
async def test_a_take_cancelled_before_it_began_takes_nothing():
    """A task that never ran did nothing."""
    space = TupleSpace()
    await space.write("a")
    taker = asyncio.create_task(space.take("a"))
    taker.cancel()
    assert isinstance(await ended(taker), asyncio.CancelledError)
    assert await space.count() == 1


@simulated_twice
async def test_a_write_in_the_gap_of_a_cancelled_waiter_does_not_raise():
    """A cancelled waiter is registered until its task runs; the writer must not notice."""
    space = TupleSpace()
    waiters = [await started(space.take("a")), await started(space.read("a"))]
    for waiter in waiters:
        waiter.cancel()
    await space.write("a")
    await settle()
    assert await space.read_all() == [("a",)]
    assert await space.waiters() == []


@simulated
async def test_what_is_written_after_the_cancellation_is_there_at_once():
    """A taker that is already cancelled is not handed anything, not even for a moment."""
    space = TupleSpace()
    taker = await started(space.take("a"))
    taker.cancel()
    await space.write("a")
    assert await space.try_take("a") == ("a",)
    assert isinstance(await ended(taker), asyncio.CancelledError)
    assert [event.kind for event in current_trace().of("take", "release")] == ["take"]


@simulated_twice
async def test_a_group_that_fails_loses_nothing_of_what_its_tasks_were_handed():
    """A TaskGroup cancels all of its tasks in one tick; each tuple was received, or is still there."""
    space = TupleSpace()
    received: list[tuple[object, ...]] = []
    takers: list[asyncio.Task[None]] = []

    async def take() -> None:
        received.append(await space.take("a", int))

    async def spoil() -> None:
        await asyncio.sleep(1)
        for number in range(3):
            await space.write("a", number)
        takers[0].cancel()
        raise KeyError("spoiled")

    async def work_together() -> None:
        async with asyncio.TaskGroup() as group:
            takers.extend(group.create_task(take()) for _ in range(3))
            group.create_task(spoil())

    with pytest.raises(ExceptionGroup):
        await work_together()
    assert sorted(received + await space.read_all()) == [("a", 0), ("a", 1), ("a", 2)]
    assert ("a", 0) not in received
