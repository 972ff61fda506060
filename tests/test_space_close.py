"""close: as `asyncio.Queue.shutdown`."""

from __future__ import annotations

import asyncio

import pytest
from space_help import claimed, ended, settle, simulated_twice, started

from tutorial_lib import ANY, SpaceClosed, TupleSpace


@simulated_twice
async def test_writes_raise():
    """A closed space takes nothing new; the text names it."""
    space = TupleSpace("orders")
    await space.close()
    with pytest.raises(SpaceClosed, match="orders"):
        await space.write("a")
    with pytest.raises(SpaceClosed):
        await space.write_many([("a",)])
    with pytest.raises(SpaceClosed):
        await space.replace(("a",), ("a",), insert=True)
    assert await space.count() == 0
    with pytest.raises(SpaceClosed):
        await space.write("a")


@simulated_twice
async def test_take_read_and_claim_serve_what_is_left():
    """Nothing is thrown away."""
    space = TupleSpace()
    await space.write_many([("a", 1), ("a", 2), ("a", 3)])
    await space.close()
    assert await space.read("a", ANY) == ("a", 1)
    assert await space.take("a", ANY) == ("a", 1)
    async with space.claim("a", ANY, lease=1) as claim:
        assert claim.fields == ("a", 2)
    assert await space.try_read("a", ANY) == await space.try_take("a", ANY) == ("a", 3)


@simulated_twice
async def test_then_they_raise_instead_of_waiting():
    """A consumer ends by it, without a marker."""
    space = TupleSpace()
    await space.write("b")
    await space.close()
    with pytest.raises(SpaceClosed):
        await space.take("a")
    with pytest.raises(SpaceClosed):
        await space.read("a", timeout=5)
    with pytest.raises(SpaceClosed):
        async with space.claim("a", lease=1):
            pass
    assert asyncio.get_running_loop().time() == 0


@simulated_twice
async def test_those_who_wait_raise():
    """Takers, readers, claimers and writers all end when the space closes."""
    space = TupleSpace(capacity=1)
    await space.write("full")

    async def claim() -> None:
        async with space.claim("a", lease=1):
            pass

    waiters = [
        await started(operation)
        for operation in (
            space.take("a"),
            space.read("a"),
            claim(),
            space.take("a", timeout=9),
            space.write("b"),
        )
    ]
    await space.close()
    await settle()
    assert [type(await ended(waiter)) for waiter in waiters] == [SpaceClosed] * 5
    assert await space.waiters() == []


@simulated_twice
async def test_a_hand_over_before_the_close_counts():
    """Who was served in the same tick has its tuple."""
    space = TupleSpace()
    taker = await started(space.take("a"))
    await space.write("a")
    await space.close()
    assert await taker == ("a",)


@simulated_twice
async def test_room_that_appears_in_the_tick_of_the_close_comes_too_late():
    """After the close nothing is written any more, also by a writer that was about to be let in."""
    space = TupleSpace(capacity=1)
    await space.write("a", 1)
    writer = await started(space.write("a", 2))
    assert await space.try_take("a", 1)
    await space.close()
    assert isinstance(await ended(writer), SpaceClosed)
    assert await space.read_all() == []


@simulated_twice
async def test_try_forms_answer_none_on_a_closed_space():
    """Asking without waiting is no error."""
    space = TupleSpace()
    await space.close()
    assert await space.try_take("a") is None
    assert await space.try_read("a") is None


@simulated_twice
async def test_looking_and_clearing_work_on_a_closed_space():
    """``read_all``, ``count``, ``take_all``, ``stats`` and ``waiters`` tell what is left."""
    space = TupleSpace()
    await space.write_many([("a", 1), ("a", 2)])
    await space.close()
    assert await space.count("a", ANY) == 2
    assert await space.read_all() == [("a", 1), ("a", 2)]
    assert (await space.stats()).closed is True
    assert await space.waiters() == []
    assert await space.take_all() == [("a", 1), ("a", 2)]


@simulated_twice
async def test_closing_twice_is_harmless():
    """The second time does nothing."""
    space = TupleSpace()
    await space.close()
    await space.close()
    assert (await space.stats()).closed is True


@simulated_twice
async def test_claims_may_still_complete():
    """What was begun may end."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5):
        await space.close()
    assert (await space.stats()).claimed == 0


@simulated_twice
async def test_a_claim_that_lapses_after_the_close_can_be_taken():
    """The tuple comes back, and what is left is served."""
    space = TupleSpace()
    await space.write("task")
    await claimed(space, "task", lease=1)
    await space.close()
    await asyncio.sleep(1)
    assert await space.take("task") == ("task",)


@simulated_twice
async def test_ttl_goes_on_after_the_close():
    """Closing stops no clock."""
    space = TupleSpace()
    await space.write("a", ttl=1)
    await space.close()
    assert await space.count() == 1
    await asyncio.sleep(1)
    assert await space.count() == 0


@simulated_twice
async def test_a_hand_over_cancelled_after_the_close_comes_back():
    """A give-back is no write."""
    space = TupleSpace()
    taker = await started(space.take("a"))
    await space.write("a")
    await space.close()
    taker.cancel()
    assert isinstance(await ended(taker), asyncio.CancelledError)
    assert await space.take("a") == ("a",)
