"""RateLimiter: no window of that length, wherever it begins, holds more than the limit."""

from __future__ import annotations

import asyncio
import random

import pytest
from space_help import REPEATS, ended, settle, simulated, started

from tutorial_lib import actor, simulate
from tutorial_lib.faults import crash, hang
from tutorial_lib.flow import RateLimiter


def now():
    return asyncio.get_running_loop().time()


def worst_window(moments, limit, window):
    """Return by how much the shortest time for limit + 1 permits exceeds the window: below 0 is wrong."""
    return min(later - earlier - window for earlier, later in zip(moments, moments[limit:], strict=False))


async def asked(limiter, served, number):
    """Ask once, and note number and moment when served."""
    await limiter.acquire()
    served.append((number, now()))


# The limit


@simulated
async def test_a_crowd_is_served_as_fast_as_the_limit_allows_and_in_order_of_asking():
    """Fifty ask at once for ten a second: ten at each full second."""
    limiter = RateLimiter(10, window=1.0)
    served = []
    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(asked(limiter, served, number))
    assert served == [(number, number // 10) for number in range(50)]


@pytest.mark.parametrize("seed", range(10 * REPEATS))
def test_no_window_holds_more_than_the_limit(seed):
    """For uneven arrivals, odd lengths of the window, and a clock that starts at a year."""

    async def main():
        if seed % 2:
            await asyncio.sleep(365 * 24 * 3600.0)
        limit, window = random.randint(1, 5), random.choice([0.1, 0.3, 0.7, 1.0, 1 / 3])
        limiter = RateLimiter(limit, window)
        served = []
        async with asyncio.TaskGroup() as group:
            for number in range(60):
                await asyncio.sleep(random.choice([0, 0, 0.01, random.random() / 5, window]))
                group.create_task(asked(limiter, served, number))
                await settle()
        moments = [moment for _, moment in sorted(served)]  # in order of asking
        assert moments == sorted(moments)
        assert worst_window(moments, limit, window) >= 0

    simulate(main, seed=seed, time_limit=None)


@simulated
async def test_a_permit_comes_as_soon_as_the_window_has_moved_on():
    """Not at the next full second, and not later than a sliding window would let it."""
    limiter = RateLimiter(2, window=1.0)
    moments = []
    for pause in [0, 0.5, 0, 0, 0.2]:
        await asyncio.sleep(pause)
        await limiter.acquire()
        moments.append(now())
    assert moments == [0, 0.5, 1.0, 1.5, 2.0]


@simulated
async def test_unused_permits_are_not_saved_up():
    """After a long rest, no more than the limit pass at once."""
    limiter = RateLimiter(3, window=1.0)
    await asyncio.sleep(100)
    for _ in range(4):
        await limiter.acquire()
    assert now() == 101


# Cancelled, crashed and hanging callers


@simulated
async def test_cancelled_waiters_do_not_delay_the_others():
    """Of thirty, twenty leave the line; the rest move up."""
    limiter = RateLimiter(10, window=1.0)
    served = []
    tasks = [asyncio.create_task(asked(limiter, served, number)) for number in range(40)]
    await settle()
    for task in tasks[10:30]:
        task.cancel()
    await asyncio.sleep(1)
    await settle()
    assert served[10:] == [(number, 1) for number in range(30, 40)]


@pytest.mark.parametrize("seed", range(5))
def test_a_caller_cancelled_in_the_moment_of_its_permit_gives_it_to_the_next(seed):
    """The permit is not lost, and the limit holds."""

    async def main():
        limiter = RateLimiter(1, window=1.0)
        served = []
        await limiter.acquire()
        tasks = [await started(asked(limiter, served, number)) for number in range(3)]
        asyncio.get_running_loop().call_at(1.0, tasks[0].cancel)  # after the timer of the limiter
        await asyncio.gather(*tasks, return_exceptions=True)
        assert served == [(1, 1), (2, 2)]

    simulate(main, seed=seed)


@simulated
async def test_a_caller_cancelled_just_before_its_permit_is_passed_over():
    """The next in line gets it at the same moment."""
    limiter = RateLimiter(1, window=1.0)
    served = []
    waiting = []
    asyncio.get_running_loop().call_at(1.0, lambda: waiting[0].cancel())  # before the limiter's timer
    await limiter.acquire()
    waiting += [asyncio.create_task(asked(limiter, served, number)) for number in range(2)]
    await asyncio.gather(*waiting, return_exceptions=True)
    assert served == [(1, 1)]


@simulated
async def test_a_timeout_around_acquire_works():
    """The line is left, and the permit is not used up."""
    limiter = RateLimiter(1, window=3.0)
    await limiter.acquire()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await limiter.acquire()
    await limiter.acquire()
    assert now() == 3


def test_a_crashed_waiter_takes_no_permit_along():
    """The one behind it is served at the moment at which the dead would have been."""

    async def main():
        limiter = RateLimiter(1, window=1.0)
        served = []
        await limiter.acquire()
        for number in range(3):
            with actor(f"w{number}"):
                await started(asked(limiter, served, number))
        await asyncio.sleep(5)
        return served

    assert simulate(main, faults=[crash("w0", at=0.5)]).result == [(1, 1), (2, 2)]


def test_a_hanging_waiter_does_not_hold_up_the_others():
    """It gets its permit when it wakes, and the others theirs in time."""

    async def main():
        limiter = RateLimiter(1, window=1.0)
        served = []
        await limiter.acquire()
        for number in range(3):
            with actor(f"w{number}"):
                await started(asked(limiter, served, number))
        await asyncio.sleep(20)
        return served

    assert simulate(main, faults=[hang("w0", at=0.5, seconds=10)]).result == [(1, 2), (2, 3), (0, 10.5)]


# Arguments and loops


@pytest.mark.parametrize(
    ("limit", "window", "error"),
    [
        (0, 1, ValueError),
        (-1, 1, ValueError),
        (1.5, 1, TypeError),
        (True, 1, TypeError),
        (1, 0, ValueError),
        (1, -1, ValueError),
        (1, None, TypeError),
        (1, "1", TypeError),
        (1, float("inf"), ValueError),
        (1, float("nan"), ValueError),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(limit, window, error):
    """At the line that makes the limiter."""
    with pytest.raises(error, match=r"limit|window"):
        RateLimiter(limit, window)


def test_a_limiter_goes_on_in_a_later_event_loop():
    """What was left of the window when the earlier one was closed is left of it there."""
    limiter = RateLimiter(1, window=5.0)

    async def earlier():
        await limiter.acquire()
        await started(limiter.acquire())  # it waits in vain
        await asyncio.sleep(3)

    async def later():
        await limiter.acquire()
        return now()

    simulate(earlier)
    assert simulate(later).result == 2


@simulated
async def test_a_limiter_refuses_a_second_event_loop_while_the_first_is_open():
    """There is no window that both could share."""
    limiter = RateLimiter(1, window=1.0)
    await limiter.acquire()
    with pytest.raises(RuntimeError, match="inside the async function"):
        simulate(limiter.acquire)


@simulated
async def test_a_limiter_shows_how_many_wait():
    """Those that have left the line do not count."""
    limiter = RateLimiter(1, window=2.5)
    await limiter.acquire()
    waiting = [await started(limiter.acquire()) for _ in range(2)]
    assert repr(limiter) == "<RateLimiter, 1 in 2.5 s, 2 waiting>"
    waiting[0].cancel()
    await ended(waiting[0])
    assert repr(limiter) == "<RateLimiter, 1 in 2.5 s, 1 waiting>"
