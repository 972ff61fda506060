"""Measure the tuple space against what one would use instead.

    python benchmarks/space.py             all rows
    python benchmarks/space.py 1 7 12      only these rows
    python benchmarks/space.py --quick     fewer slices: rougher figures, much sooner
    python benchmarks/space.py --strict    exit with status 1 if a bar is missed

Every figure is a ratio: what ours costs over what a reference costs, in one run and one process. The two
alternate in slices of some milliseconds, and which of them goes first is swapped each time. A slice starts
after a garbage collection and counts the processor time of this thread only. The figure is the median over
all pairs of slices, so a busy machine disturbs it little.

=========  ====================================================================================
contender  an async function that returns its cost: seconds for each operation, or bytes
reference  the contender that ours is compared with, mostly `asyncio.Queue`, which has no patterns
slice      one run of one contender
bar        the ratio that must not be exceeded, or, where it says "at least", must be reached
=========  ====================================================================================
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, NamedTuple

from tutorial_lib import ANY, TupleSpace
from tutorial_lib.patterns import Pattern

Contender = Callable[[], Awaitable[float]]

PAIRS: Final = 2_000  # in a slice of operations that take about a microsecond
HOPS: Final = 400  # in a slice of operations that take about ten microseconds
CONSUMERS: Final = 5
FAR_AWAY: Final = 60.0  # seconds; a timeout or ttl that never comes to pass here


class Stopwatch:
    """Counts the processor time of this thread: ``with Stopwatch() as watch: ...``, then `seconds`."""

    def __enter__(self) -> Stopwatch:
        gc.collect()
        self._start = time.thread_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = time.thread_time() - self._start


# ---------------------------------------------------------------------------------------------------
# Write and take, when nobody waits


async def space_pair(*, item: Any = ANY, ttl: float | None = None, watched: bool = False) -> float:
    space = TupleSpace()
    async with space.watch(limit=100) if watched else nullcontext():
        with Stopwatch() as watch:
            for number in range(PAIRS):
                await space.write("item", number, ttl=ttl)
            for _ in range(PAIRS):
                await space.try_take("item", item)
    return watch.seconds / PAIRS


async def queue_pair() -> float:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    with Stopwatch() as watch:
        for number in range(PAIRS):
            await queue.put(("item", number))
        for _ in range(PAIRS):
            await queue.get()
    return watch.seconds / PAIRS


async def space_priority() -> float:
    space = TupleSpace()
    levels = random.Random(1).choices([1, 2, 3], k=PAIRS)
    with Stopwatch() as watch:
        for number, level in enumerate(levels):
            await space.write("task", number, level)
        for level in (1, 2, 3):
            while await space.try_take("task", ANY, level):
                pass
    return watch.seconds / PAIRS


async def queue_priority() -> float:
    queue: asyncio.PriorityQueue[Any] = asyncio.PriorityQueue()
    levels = random.Random(1).choices([1, 2, 3], k=PAIRS)
    with Stopwatch() as watch:
        for number, level in enumerate(levels):
            await queue.put((level, number, "task"))
        for _ in range(PAIRS):
            await queue.get()
    return watch.seconds / PAIRS


# ---------------------------------------------------------------------------------------------------
# Taking one of many by its key


def shuffled(size: int) -> list[int]:
    numbers = list(range(size))
    random.Random(size).shuffle(numbers)
    return numbers


async def filled_space(size: int) -> TupleSpace:
    """Return a space with ``size`` tuples, in which a tuple has been looked up by its key before."""
    space = TupleSpace()
    await space.try_take("item", -1, ANY)
    for key in range(size):
        await space.write("item", key, None)
    await space.try_take("item", -1, ANY)
    return space


async def space_keyed(size: int) -> float:
    space = await filled_space(size)
    with Stopwatch() as watch:
        for key in shuffled(size):
            await space.try_take("item", key, ANY)
    return watch.seconds / size


async def queue_get(size: int) -> float:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    for key in range(size):
        await queue.put(("item", key, None))
    with Stopwatch() as watch:
        for _ in shuffled(size):
            await queue.get()
    return watch.seconds / size


async def list_keyed(size: int) -> float:
    """The list that one would write first: look at each tuple until one fits."""
    tuples = [("item", key, None) for key in range(size)]
    keys = shuffled(size)[:20]
    with Stopwatch() as watch:
        for key in keys:
            for place, fields in enumerate(tuples):
                if fields[0] == "item" and fields[1] == key:
                    del tuples[place]
                    break
    return watch.seconds / len(keys)


RINDA_KEYED: Final = """
require 'rinda/tuplespace'
size, takes = ARGV.map(&:to_i)
space = Rinda::TupleSpace.new
size.times { |key| space.write(['item', key, nil]) }
keys = (0...size).to_a.shuffle(random: Random.new(1))
take = ->(key) { space.take(['item', key, nil]) }
keys.shift(takes).each(&take)
start = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
keys.shift(takes).each(&take)
puts((Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - start) / takes)
"""


async def rinda_keyed(size: int) -> float:
    """Ruby's own tuple space, in a process that times itself once it is warm."""
    command = ["ruby", "-e", RINDA_KEYED, str(size), "20"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# ---------------------------------------------------------------------------------------------------
# Waiting and being woken


async def started(*waits: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
    """Start tasks and let each come to where it waits."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    await asyncio.sleep(0)
    return tasks


async def space_wake(size: int) -> float:
    space = TupleSpace()
    tasks = await started(*(space.take("reply", key, ANY) for key in range(size)))
    keys = shuffled(size)
    with Stopwatch() as watch:
        for key in keys:
            await space.write("reply", key, None)
        await asyncio.gather(*tasks)
    return watch.seconds / size


async def queue_wake(size: int) -> float:
    queues: dict[int, asyncio.Queue[Any]] = {key: asyncio.Queue() for key in range(size)}
    tasks = await started(*(queue.get() for queue in queues.values()))
    keys = shuffled(size)
    with Stopwatch() as watch:
        for key in keys:
            await queues[key].put(("reply", key, None))
        await asyncio.gather(*tasks)
    return watch.seconds / size


async def space_hop(timeout: float | None = None) -> float:
    space = TupleSpace()

    async def answer() -> None:
        for _ in range(HOPS):
            await space.take("ping", timeout=timeout)
            await space.write("pong")

    (task,) = await started(answer())
    with Stopwatch() as watch:
        for _ in range(HOPS):
            await space.write("ping")
            await space.take("pong", timeout=timeout)
    await task
    return watch.seconds / HOPS


async def queue_hop(timeout: float | None = None) -> float:
    ping: asyncio.Queue[str] = asyncio.Queue()
    pong: asyncio.Queue[str] = asyncio.Queue()

    async def get(queue: asyncio.Queue[str]) -> str:
        return await (queue.get() if timeout is None else asyncio.wait_for(queue.get(), timeout))

    async def answer() -> None:
        for _ in range(HOPS):
            await get(ping)
            await pong.put("pong")

    (task,) = await started(answer())
    with Stopwatch() as watch:
        for _ in range(HOPS):
            await ping.put("ping")
            await get(pong)
    await task
    return watch.seconds / HOPS


async def space_cancel(size: int) -> float:
    space = TupleSpace()
    return await time_of_cancelling([space.take("item", ANY) for _ in range(size)])


async def queue_cancel(size: int) -> float:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    return await time_of_cancelling([queue.get() for _ in range(size)])


async def time_of_cancelling(waits: Sequence[Coroutine[Any, Any, Any]]) -> float:
    tasks = await started(*waits)
    with Stopwatch() as watch:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return watch.seconds / len(tasks)


# ---------------------------------------------------------------------------------------------------
# Several consumers


class Shares:
    """How many tuples each consumer got, and whether all have been had."""

    def __init__(self) -> None:
        self.counts = [0] * CONSUMERS
        self.left = PAIRS
        self.all_had = asyncio.Event()

    def add(self, consumer: int) -> None:
        self.counts[consumer] += 1
        self.left -= 1
        if self.left == 0:
            self.all_had.set()

    @property
    def largest(self) -> float:
        """The share of the one who got most, where 1 is the even share."""
        return max(self.counts) * CONSUMERS / PAIRS


async def space_consumers(*, in_turn: bool = False) -> tuple[float, float]:
    """Return the seconds for each tuple, and the largest share that one consumer got."""
    space, shares = TupleSpace(), Shares()

    async def consume(consumer: int) -> None:
        while True:
            await space.take("item", ANY)
            shares.add(consumer)

    tasks = await started(*(consume(consumer) for consumer in range(CONSUMERS)))
    with Stopwatch() as watch:
        for number in range(PAIRS):
            await space.write("item", number)
            if in_turn:
                await asyncio.sleep(0)
        await shares.all_had.wait()
    for task in tasks:
        task.cancel()
    return watch.seconds / PAIRS, shares.largest


async def space_burst() -> float:
    return (await space_consumers())[0]


async def space_share(*, in_turn: bool) -> float:
    return (await space_consumers(in_turn=in_turn))[1]


async def even_share() -> float:
    return 1.0


async def queue_burst() -> float:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    shares = Shares()

    async def consume(consumer: int) -> None:
        while True:
            await queue.get()
            await asyncio.sleep(0)  # or one consumer gets everything
            shares.add(consumer)

    tasks = await started(*(consume(consumer) for consumer in range(CONSUMERS)))
    with Stopwatch() as watch:
        for number in range(PAIRS):
            await queue.put(("item", number))
        await shares.all_had.wait()
    for task in tasks:
        task.cancel()
    return watch.seconds / PAIRS


# ---------------------------------------------------------------------------------------------------
# What should make no difference, or little


async def write_past(waiters: int) -> float:
    """Write tuples that none of the waiting takers wants."""
    space = TupleSpace()
    tasks = await started(*(space.take("reply", key, ANY) for key in range(waiters)))
    with Stopwatch() as watch:
        for number in range(PAIRS):
            await space.write("item", number, None)
    for task in tasks:
        task.cancel()
    return watch.seconds / PAIRS


SIGNATURES: Final = [
    ("item", ANY, ANY, ANY),
    (ANY, 1, ANY, ANY),
    (ANY, ANY, 2, ANY),
    (ANY, ANY, ANY, 3),
    ("item", 1, ANY, ANY),
    ("item", ANY, 2, ANY),
    ("item", ANY, ANY, 3),
    (ANY, 1, 2, ANY),
]
"""Patterns that bind different positions."""


async def write_with_signatures(number_of_signatures: int) -> float:
    """Write tuples, and after every 100 look by each signature, so that all of them are in use."""
    space = TupleSpace()
    with Stopwatch() as watch:
        for number in range(PAIRS):
            await space.write("item", number, number, number)
            if number % 100 == 10:
                for pattern in SIGNATURES[:number_of_signatures]:
                    await space.try_read(*pattern)
    return watch.seconds / PAIRS


async def poll(size: int, tuples: Sequence[tuple[Any, ...]], pattern: Pattern) -> float:
    """Look again and again for what is not among ``size`` tuples, alternately like these."""
    space = TupleSpace()
    for number in range(size):
        await space.write(*tuples[number % len(tuples)])
    await space.try_take(*pattern)
    with Stopwatch() as watch:
        for _ in range(HOPS):
            await space.try_take(*pattern)
    return watch.seconds / HOPS


async def poll_for_absent_class(size: int) -> float:
    return await poll(size, [("item", 1), ("item", "1")], ("item", float))


async def poll_for_empty_conjunction(size: int) -> float:
    return await poll(size, [("task", 1, "done"), ("note", 1, "queued")], ("task", ANY, "queued"))


# ---------------------------------------------------------------------------------------------------
# Memory


async def bytes_of(fill: Callable[[int], Awaitable[object]], size: int) -> float:
    """Return how many bytes each of ``size`` tuples takes, its own fields included."""
    gc.collect()
    tracemalloc.start()
    kept = await fill(size)
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return used / size


async def filled_dict(size: int) -> object:
    return {key: ("item", key, None) for key in range(size)}


async def filled_list(size: int) -> object:
    return [("item", key, None) for key in range(size)]


# ---------------------------------------------------------------------------------------------------
# The table


class Row(NamedTuple):
    """A line of the table: ours against a reference."""

    number: int
    what: str
    ours: Contender
    reference: Contender
    bar: float
    slices: int = 31
    at_least: bool = False  # the bar is to be reached, not to stay below
    is_goal: bool = False  # where a miss is no failure



def rows() -> list[Row]:
    """Return all rows, in the order of their numbers."""
    waiting = "write + wake of 1 of"
    return [
        Row(1, "write + try_take / Queue put + get", space_pair, queue_pair, 2.0),
        Row(3, "take by key, 10,000 tuples / Queue get", partial(space_keyed, 10_000), partial(queue_get, 10_000), 5, 15),
        Row(3, "take by key, 100,000 tuples / Queue get", partial(space_keyed, 100_000), partial(queue_get, 100_000), 8, 7),
        Row(4, "take by key, 100,000 tuples / 1,000", partial(space_keyed, 100_000), partial(space_keyed, 1_000), 2.5, 7),
        Row(5, "wake 1,000 takers / a Queue for each", partial(space_wake, 1_000), partial(queue_wake, 1_000), 1.35),
        Row(5, "wake 10,000 takers / a Queue for each", partial(space_wake, 10_000), partial(queue_wake, 10_000), 1.5, 9),
        Row(6, "wake 10,000 takers / 1,000", partial(space_wake, 10_000), partial(space_wake, 1_000), 1.6, 9),
        Row(7, "hop between two tasks / Queue", space_hop, queue_hop, 2.0),
        Row(8, "hop with timeout / Queue and wait_for", partial(space_hop, FAR_AWAY), partial(queue_hop, FAR_AWAY), 0.75),
        Row(9, "write + take by priority / PriorityQueue", space_priority, queue_priority, 1.5),
        Row(10, "burst, 5 fair takers / Queue + sleep(0)", space_burst, queue_burst, 1.5),
        Row(10, "burst: largest share / even share", partial(space_share, in_turn=False), even_share, 1.05, 3),
        Row(10, "in turn: largest share / even share", partial(space_share, in_turn=True), even_share, 1.05, 3),
        Row(11, "pair with ttl / without", partial(space_pair, ttl=FAR_AWAY), space_pair, 2.5, is_goal=True),
        Row(12, "pair with a watcher / without", partial(space_pair, watched=True), space_pair, 1.8),
        Row(13, "pair by class / by ANY", partial(space_pair, item=int), space_pair, 2.5),
        Row(14, "write past 1,000 waiters / past none", partial(write_past, 1_000), partial(write_past, 0), 4),
        Row(14, "write past 10,000 waiters / past 1,000", partial(write_past, 10_000), partial(write_past, 1_000), 1.2, 9),
        Row(15, "poll for a class absent among 10,000 / 100", partial(poll_for_absent_class, 10_000), partial(poll_for_absent_class, 100), 1.3, 15),
        Row(16, "write with 4 signatures in use / 1", partial(write_with_signatures, 4), partial(write_with_signatures, 1), 2),
        Row(16, "write with 8 signatures in use / 1", partial(write_with_signatures, 8), partial(write_with_signatures, 1), 4),
        Row(17, "poll of an empty conjunction, 100,000 / 1,000", partial(poll_for_empty_conjunction, 100_000), partial(poll_for_empty_conjunction, 1_000), 1.5, 7),
        Row(18, "memory with an index by key / dict", partial(bytes_of, filled_space, 100_000), partial(bytes_of, filled_dict, 100_000), 2.3, 1),
        Row(18, "memory with an index by key / list", partial(bytes_of, filled_space, 100_000), partial(bytes_of, filled_list, 100_000), 3.2, 1),
        Row(19, "take by key of 10,000: list / ours", partial(list_keyed, 10_000), partial(space_keyed, 10_000), 1_000, 7, at_least=True),
        Row(19, "take by key of 10,000: Rinda / ours", partial(rinda_keyed, 10_000), partial(space_keyed, 10_000), 5_000, 3, at_least=True),
        Row(23, "cancel 2,000 waiters / Queue getters", partial(space_cancel, 2_000), partial(queue_cancel, 2_000), 1.8),
    ]

async def ratio(row, slices):
    ratios = []
    pair = [row.ours, row.reference]
    for number in range(slices):
        if number % 2:
            o = await row.ours(); r = await row.reference()
        else:
            r = await row.reference(); o = await row.ours()
        ratios.append((o/r, o, r))
    return statistics.median(x[0] for x in ratios), statistics.median(x[1] for x in ratios), statistics.median(x[2] for x in ratios)

async def main():
    nums = [int(a) for a in sys.argv[1:] if a.isdigit()]
    quick = "--quick" in sys.argv
    for row in rows():
        if nums and row.number not in nums: continue
        if "rinda" in str(row.ours) and "--ruby" not in sys.argv: continue
        x = await ratio(row, min(row.slices, 5) if quick else row.slices)
        ok = x[0] >= row.bar if row.at_least else x[0] <= row.bar
        print(f"{row.number:>3}  {row.what:55} {x[0]:8.2f} {row.bar:8} {'ok' if ok else 'MISS'} {x[1]*1e6:9.2f} {x[2]*1e6:9.2f}", flush=True)

asyncio.run(main())
