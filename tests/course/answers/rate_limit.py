"""rate-limit: at most ten tasks in any second."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from answers import Wrong
from tutorial_lib.course import NotAttempted
from tutorial_lib.flow import RateLimiter


async def stub(orders, tasks):
    """At most ten tasks in any second, whenever it begins."""
    raise NotAttempted


def now():
    """The running loop is the clock."""
    return asyncio.get_running_loop().time()


# Right answers ---------------------------------------------------------------------------------------


async def with_time_stamps(orders, tasks):
    """The last ten moments are remembered."""
    last = deque(maxlen=10)
    while True:
        _, n = await orders.take("order", int)
        if len(last) == 10:
            await asyncio.sleep(max(0, last[0] + 1 - now()))
        print("task", n, "at", now())
        last.append(now())
        await tasks.write("task", n)


async def with_permits(orders, tasks):
    """Ten permits, each of which comes back after a second."""
    permits = asyncio.Semaphore(10)
    while True:
        _, n = await orders.take("order", int)
        await permits.acquire()
        await tasks.write("task", n)
        asyncio.get_running_loop().call_later(1.0, permits.release)


async def evenly_spaced(orders, tasks):
    """A leaky bucket: a tenth of a second after each task."""
    while True:
        _, n = await orders.take("order", int)
        await tasks.write("task", n)
        await asyncio.sleep(0.1)


async def ten_and_a_pause(orders, tasks):
    """Ten, however long they take, and then a full second of rest."""
    while True:
        for _ in range(10):
            _, n = await orders.take("order", int)
            await tasks.write("task", n)
        await asyncio.sleep(1)


async def with_tuples_that_expire(orders, tasks):
    """The space itself remembers: a mark with a ttl of one second for each task."""
    while True:
        async with orders.claim("order", int, lease=60) as claim:
            while await orders.count("mark", int) >= 10:
                await asyncio.sleep(0.01)
            await orders.write("mark", claim.fields[1], ttl=1.0)
            await claim.complete("task", claim.fields[1], to=tasks)


RIGHT = [with_time_stamps, with_permits, evenly_spaced, ten_and_a_pause, with_tuples_that_expire]


# Wrong answers ---------------------------------------------------------------------------------------


async def no_limit(orders, tasks):
    """Everything at once."""
    while True:
        _, n = await orders.take("order", int)
        await tasks.write("task", n)


async def fixed_windows(orders, tasks):
    """Ten in each second of the clock: twenty may pass across the boundary."""
    second, used = -1, 0
    while True:
        _, n = await orders.take("order", int)
        if int(now()) != second:
            second, used = int(now()), 0
        if used == 10:
            await asyncio.sleep(second + 1 - now())
            second, used = int(now()), 0
        used += 1
        await tasks.write("task", n)


async def windows_from_the_first_task(orders, tasks):
    """The window begins with its first task, and the next one knows nothing of it."""
    begin, used = now(), 0
    while True:
        _, n = await orders.take("order", int)
        if now() - begin >= 1:
            begin, used = now(), 0
        if used == 10:
            await asyncio.sleep(begin + 1 - now())
            begin, used = now(), 0
        used += 1
        await tasks.write("task", n)


async def big_bucket(orders, tasks):
    """A token bucket that holds ten and gets ten a second: up to twenty in one second."""
    tokens, seen = 10.0, now()
    while True:
        _, n = await orders.take("order", int)
        tokens = min(10.0, tokens + 10 * (now() - seen))
        seen = now()
        if tokens < 1:
            await asyncio.sleep((1 - tokens) / 10)
            tokens, seen = 1.0, now()
        tokens -= 1
        await tasks.write("task", n)


async def eleven(orders, tasks):
    """Off by one."""
    last = deque(maxlen=11)
    while True:
        _, n = await orders.take("order", int)
        if len(last) == 11:
            await asyncio.sleep(max(0, last[0] + 1 - now()))
        last.append(now())
        await tasks.write("task", n)


async def far_too_slow(orders, tasks):
    """One a second."""
    while True:
        _, n = await orders.take("order", int)
        await tasks.write("task", n)
        await asyncio.sleep(1)


async def a_little_too_slow(orders, tasks):
    """Six a second: it falls behind more and more."""
    while True:
        _, n = await orders.take("order", int)
        await tasks.write("task", n)
        await asyncio.sleep(1 / 6)


async def blocks_the_loop(orders, tasks):
    """time.sleep stops everybody, and no virtual time goes by."""
    while True:
        _, n = await orders.take("order", int)
        await tasks.write("task", n)
        time.sleep(0.1)


async def drops_what_is_too_much(orders, tasks):
    """What does not fit is thrown away."""
    last = deque(maxlen=10)
    while True:
        _, n = await orders.take("order", int)
        if len(last) < 10 or now() - last[0] >= 1:
            last.append(now())
            await tasks.write("task", n)


async def newest_first(orders, tasks):
    """A pile in place of a queue."""
    last = deque(maxlen=10)
    pile = []
    while True:
        pile += await orders.take_all("order", int) or [await orders.take("order", int)]
        while pile:
            _, n = pile.pop()
            if len(last) == 10:
                await asyncio.sleep(max(0, last[0] + 1 - now()))
            last.append(now())
            await tasks.write("task", n)


async def each_on_its_own(orders, tasks):
    """A task for each order: all of them wait for the same moment, and then they all go."""
    last = deque(maxlen=10)

    async def send(n):
        if len(last) == 10:
            await asyncio.sleep(max(0, last[0] + 1 - now()))
        last.append(now())
        await tasks.write("task", n)

    async with asyncio.TaskGroup() as group:
        while True:
            _, n = await orders.take("order", int)
            group.create_task(send(n))


async def writes_it_twice(orders, tasks):
    """The same task again."""
    while True:
        _, n = await orders.take("order", int)
        for _ in range(2):
            await tasks.write("task", n)
            await asyncio.sleep(0.2)


async def passes_the_order_on(orders, tasks):
    """The first field stays as it is."""
    while True:
        await tasks.write(*await orders.take("order", int))
        await asyncio.sleep(0.1)


async def stops_after_ten(orders, tasks):
    """Ten, and no more."""
    for _ in range(10):
        _, n = await orders.take("order", int)
        await tasks.write("task", n)


async def does_nothing(orders, tasks):
    """Waits for better times."""
    await asyncio.sleep(100)


async def uses_our_limiter(orders, tasks):
    """The part that the exercise asks to build."""
    limiter = RateLimiter(10, 1.0)
    while True:
        _, n = await orders.take("order", int)
        await limiter.acquire()
        await tasks.write("task", n)


def no_coroutine(orders, tasks):
    """A plain function."""
    return


async def leaves_after_half_a_minute(orders, tasks):
    """Gives up when there is no order for a while."""
    while True:
        try:
            _, n = await orders.take("order", int, timeout=30)
        except TimeoutError:
            return
        await tasks.write("task", n)
        await asyncio.sleep(0.1)


WRONG = [
    Wrong(no_limit, "not yet", "11 tasks passed from 0 s to 0 s"),
    Wrong(fixed_windows, "not yet", "11 tasks passed from 0.9 s to 1 s"),
    Wrong(windows_from_the_first_task, "not yet", "11 tasks passed from 0.9 s to 1 s"),
    Wrong(big_bucket, "not yet", "11 tasks passed from 0 s to 0.1 s"),
    Wrong(eleven, "not yet", "11 tasks passed from 0 s to 0 s"),
    Wrong(far_too_slow, "not yet", "could pass at 0 s; it passed at 2 s"),
    Wrong(a_little_too_slow, "not yet", "could pass at 0 s; it passed at 1.333"),
    Wrong(blocks_the_loop, "not yet", "11 tasks passed from 0 s to 0 s"),
    Wrong(drops_what_is_too_much, "not yet", "it had not passed"),
    Wrong(newest_first, "not yet", "and the turn was of order 11"),
    Wrong(each_on_its_own, "not yet", "11 tasks passed"),
    Wrong(writes_it_twice, "not yet", "task 11 passed, and the turn was of order 48"),
    Wrong(passes_the_order_on, "not yet", "('order', 11) was written to tasks"),
    Wrong(stops_after_ten, "not yet", "it returned, and whatever comes later would wait in vain"),
    Wrong(leaves_after_half_a_minute, "not yet", "producer goes on for ever"),
    Wrong(does_nothing, "proved nothing", "no order was taken, and nobody waited for one"),
    Wrong(uses_our_limiter, "not yet", "RateLimiter did the work"),
    Wrong(no_coroutine, "error", "gave None, which cannot be awaited"),
]
