"""ttl: a tuple that lives for a while."""

from __future__ import annotations

import asyncio

import pytest
from space_help import claimed, ended, settle, simulated, simulated_twice, started

from tutorial_lib import ANY, StaleClaim, TupleSpace, simulate
from tutorial_lib.trace import current_trace


@simulated_twice
async def test_before_its_deadline_a_tuple_is_seen():
    """Up to a microsecond before."""
    space = TupleSpace()
    await space.write("a", ttl=1)
    await asyncio.sleep(0.999999)
    assert await space.try_read("a") == ("a",)


@pytest.mark.parametrize("operation", ["try_take", "try_read", "take_all", "read_all", "count"])
@simulated_twice
async def test_from_its_deadline_on_a_tuple_is_never_seen_again(operation):
    """At the very moment of the deadline it is invisible, swept or not."""
    space = TupleSpace()
    sweep_comes_later = asyncio.create_task(asyncio.sleep(1))
    await settle()
    await space.write("a", ttl=1)
    await sweep_comes_later
    assert not await getattr(space, operation)("a")


@pytest.mark.parametrize("after", [1, 1.5, 3600])
@simulated_twice
async def test_every_way_of_asking_passes_an_expired_tuple_by(after):
    """At the deadline, after it, and long after it."""
    space = TupleSpace()
    await space.write("a", 1, ttl=1)
    await space.write("a", 2)
    await asyncio.sleep(after)
    assert await space.count() == 1
    assert await space.read_all() == [("a", 2)]
    assert await space.try_read("a", ANY) == ("a", 2)
    assert await space.replace(("a", 1), ("a", 3)) is None
    assert await space.try_take("a", 1) is None
    assert await space.take("a", ANY) == ("a", 2)
    with pytest.raises(TimeoutError):
        await space.take("a", ANY, timeout=0)


@simulated_twice
async def test_expired_is_expired_even_while_the_loop_was_busy():
    """Seen from a callback that runs before the sweep of the same moment: still invisible."""
    space = TupleSpace()
    seen = []

    async def look() -> None:
        await asyncio.sleep(2)
        seen.extend(await space.take_all("a", ANY))
        seen.append(await space.replace(("a", ANY), ("a", "new")))

    looker = await started(look())
    await space.write("a", 1, ttl=2)
    await looker
    assert seen == [None]


@simulated_twice
async def test_without_a_ttl_a_tuple_stays():
    """A year later it is still there."""
    space = TupleSpace()
    await space.write("a")
    await space.write("b", ttl=None)
    await asyncio.sleep(3000)
    assert await space.count() == 2


@simulated_twice
async def test_no_tuple_wakes_a_waiter_after_its_deadline():
    """A claim given back too late does not serve those who wait."""
    space = TupleSpace()
    await space.write("a", ttl=1)
    async with space.claim("a", lease=5) as claim:
        waiters = [await started(space.take("a", timeout=5)), await started(space.read("a", timeout=5))]
        await asyncio.sleep(2)
        await claim.release()
    for waiter in waiters:
        assert isinstance(await ended(waiter), TimeoutError)
    assert await space.count() == 0


@simulated_twice
async def test_the_deadline_goes_on_while_a_tuple_is_claimed():
    """At give-back an expired one expires at once; one in time comes back with its old deadline."""
    space = TupleSpace()
    await space.write("early", ttl=1)
    await space.write("late", ttl=3)
    async with space.claim("early", lease=9) as early, space.claim("late", lease=9) as late:
        await asyncio.sleep(2)
        await early.release()
        await late.release()
        assert await space.read_all() == [("late",)]
        await asyncio.sleep(1)
        assert await space.read_all() == []


@simulated_twice
async def test_an_expired_claimed_tuple_can_still_be_completed():
    """The ttl is for those who have not begun: the holder of a claim may finish."""
    space = TupleSpace()
    await space.write("task", ttl=1)
    async with space.claim("task", lease=9) as claim:
        await asyncio.sleep(2)
        await claim.complete("result")
    assert await space.read_all() == [("result",)]


@simulated_twice
async def test_a_cancelled_hand_over_keeps_the_deadline():
    """A give-back does not make a tuple young again."""
    space = TupleSpace()
    await asyncio.sleep(1)
    taker = await started(space.take("a"))
    await space.write("a", ttl=2)
    taker.cancel()
    await settle()
    await asyncio.sleep(1.999999)
    assert await space.count() == 1
    await asyncio.sleep(0.000001)
    assert await space.count() == 0


@simulated_twice
async def test_write_many_gives_every_tuple_the_ttl():
    """One ttl for all of them."""
    space = TupleSpace()
    await space.write_many([("a",), ("b",)], ttl=1)
    assert await space.count() == 2
    await asyncio.sleep(1)
    assert await space.count() == 0


@simulated
async def test_expiry_happens_at_the_deadline_not_at_the_next_look():
    """Nobody looks, and still the event is recorded at the right moment, in the order of the deadlines."""
    space = TupleSpace()
    await space.write("late", ttl=3)
    await space.write("early", ttl=1)
    await asyncio.sleep(10)
    trace = current_trace()
    assert [(event.time, event.fields) for event in trace.of("expire")] == [
        (1.0, ("early",)),
        (3.0, ("late",)),
    ]


YEAR = 365 * 24 * 3600


@pytest.mark.parametrize("start", [0.0, 0.1, 1 / 3, float(YEAR)])
def test_deadlines_are_exact_at_any_time(start):
    """A ttl, a lease and a timeout end to the microsecond, also where floats do not add up."""

    async def main() -> None:
        await asyncio.sleep(start)
        loop = asyncio.get_running_loop()
        for number in range(300):
            seconds = 0.1 + number * 0.000037
            space = TupleSpace()
            await space.write("short", ttl=seconds)
            await space.write("lent")
            claim = await claimed(space, "lent", lease=seconds)
            taker = await started(space.take("never", timeout=seconds))
            begin = loop.time()
            await asyncio.sleep(seconds)
            assert await space.try_take("short") is None
            with pytest.raises(StaleClaim):
                await claim.renew(1)
            now = loop.time()
            assert now == pytest.approx(begin + seconds, abs=2e-7)
            assert isinstance(await ended(taker), TimeoutError)
            assert loop.time() == now
            assert {event.time for event in current_trace().of("expire", "lapse", "leave")[-3:]} == {now}

    simulate(main, time_limit=2.0 * YEAR)


@simulated
async def test_what_was_taken_in_time_does_not_expire():
    """A taken tuple is out of reach of its old deadline."""
    space = TupleSpace()
    await space.write("a", ttl=1)
    await space.take("a")
    await space.write("a")
    await asyncio.sleep(5)
    assert await space.count() == 1
    assert current_trace().of("expire") == []


@simulated_twice
async def test_many_deadlines_leave_nothing_behind():
    """A thousand tuples of different ttl, half of them taken before."""
    space = TupleSpace()
    for number in range(1000):
        await space.write("a", number, ttl=1 + number % 7)
    for number in range(0, 1000, 2):
        assert await space.try_take("a", number)
    left = []
    for _ in range(7):
        left.append((await space.stats()).tuples)
        await asyncio.sleep(1)
    odd = range(1, 1000, 2)
    assert left == [sum(1 + number % 7 > seconds for number in odd) for seconds in range(7)]
    assert await space.count() == 0


@simulated
async def test_each_tuple_expires_once():
    """And what was taken before does not."""
    space = TupleSpace()
    for number in range(100):
        await space.write("a", number, ttl=1 + number % 7)
    for number in range(0, 100, 2):
        assert await space.try_take("a", number)
    await asyncio.sleep(7)
    assert sorted(event.fields[1] for event in current_trace().of("expire")) == list(range(1, 100, 2))


@simulated_twice
async def test_a_taker_that_waits_is_served_by_a_tuple_with_a_ttl():
    """A hand-over needs no time, so the deadline does not matter to it."""
    space = TupleSpace()
    taker = await started(space.take("a"))
    await space.write("a", ttl=0.000001)
    assert await taker == ("a",)
