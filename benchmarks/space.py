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
bar        the ratio that is not to be exceeded (<=), or is to be reached (>=)
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
from functools import partial
from typing import Any, Final, NamedTuple

from tutorial_lib import ANY, TupleSpace, matches
from tutorial_lib.patterns import Pattern

Contender = Callable[[], Awaitable[float]]

PAIRS: Final = 2_000  # in a slice of operations that take about a microsecond
PRIORITY_TASKS: Final = 3_000  # a heap is slower the more it holds, so the number is part of the row
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


async def write_and_take(space: TupleSpace, item: Any = ANY) -> float:
    with Stopwatch() as watch:
        for number in range(PAIRS):
            await space.write("item", number)
        for _ in range(PAIRS):
            await space.try_take("item", item)
    return watch.seconds / PAIRS


async def space_pair() -> float:
    return await write_and_take(TupleSpace())


async def space_pair_by_class() -> float:
    return await write_and_take(TupleSpace(), int)


async def space_pair_watched() -> float:
    space = TupleSpace()
    async with space.watch(limit=100):
        return await write_and_take(space)


async def space_pair_with_ttl() -> float:
    space = TupleSpace()
    with Stopwatch() as watch:
        for number in range(PAIRS):
            await space.write("item", number, ttl=FAR_AWAY)
        for _ in range(PAIRS):
            await space.try_take("item", ANY)
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
    levels = random.Random(1).choices([1, 2, 3], k=PRIORITY_TASKS)
    with Stopwatch() as watch:
        for number, level in enumerate(levels):
            await space.write("task", number, level)
        for level in (1, 2, 3):
            while await space.try_take("task", ANY, level):
                pass
    return watch.seconds / PRIORITY_TASKS


async def queue_priority() -> float:
    queue: asyncio.PriorityQueue[Any] = asyncio.PriorityQueue()
    levels = random.Random(1).choices([1, 2, 3], k=PRIORITY_TASKS)
    with Stopwatch() as watch:
        for number, level in enumerate(levels):
            await queue.put((level, number, "task"))
        for _ in range(PRIORITY_TASKS):
            await queue.get()
    return watch.seconds / PRIORITY_TASKS


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
    keys = shuffled(size)
    with Stopwatch() as watch:
        for key in keys:
            await space.try_take("item", key, ANY)
    return watch.seconds / size


async def queue_get(size: int) -> float:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    for key in range(size):
        await queue.put(("item", key, None))
    with Stopwatch() as watch:
        for _ in range(size):
            await queue.get()
    return watch.seconds / size


async def list_keyed(size: int) -> float:
    """What one would write first: a list, in which each tuple is compared until one matches."""
    tuples: list[tuple[Any, ...]] = [("item", key, None) for key in range(size)]
    keys = shuffled(size)[:20]
    with Stopwatch() as watch:
        for key in keys:
            pattern = ("item", key, ANY)
            for place, fields in enumerate(tuples):
                if matches(pattern, fields):
                    del tuples[place]
                    break
    return watch.seconds / len(keys)


RINDA_KEYED: Final = """
require 'rinda/tuplespace'
size, takes = ARGV.map(&:to_i)
space = Rinda::TupleSpace.new
size.times { |key| space.write(['item', key, nil]) }
keys = (0...size).to_a.shuffle(random: Random.new(1))
keys.shift(takes).each { |key| space.take(['item', key, nil]) }  # to be warm
start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
keys.shift(takes).each { |key| space.take(['item', key, nil]) }
puts((Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start) / takes)
"""


async def rinda_keyed(size: int) -> float:
    """Ruby's own tuple space, in a process that times itself once it is warm."""
    command = ["ruby", "-e", RINDA_KEYED, str(size), "20"]
    return float(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)


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


async def time_of_hops(
    send_ping: Callable[[str], Awaitable[object]],
    get_ping: Callable[[], Awaitable[object]],
    send_pong: Callable[[str], Awaitable[object]],
    get_pong: Callable[[], Awaitable[object]],
) -> float:
    """Let two tasks send each other something to and fro, so that each has to wait each time."""

    async def answer() -> None:
        for _ in range(HOPS):
            await get_ping()
            await send_pong("pong")

    (task,) = await started(answer())
    with Stopwatch() as watch:
        for _ in range(HOPS):
            await send_ping("ping")
            await get_pong()
    await task
    return watch.seconds / HOPS


async def space_hop() -> float:
    space = TupleSpace()
    return await time_of_hops(
        space.write, partial(space.take, "ping"), space.write, partial(space.take, "pong")
    )


async def space_hop_in_time() -> float:
    space = TupleSpace()
    get_ping = partial(space.take, "ping", timeout=FAR_AWAY)
    get_pong = partial(space.take, "pong", timeout=FAR_AWAY)
    return await time_of_hops(space.write, get_ping, space.write, get_pong)


async def queue_hop() -> float:
    ping: asyncio.Queue[str] = asyncio.Queue()
    pong: asyncio.Queue[str] = asyncio.Queue()
    return await time_of_hops(ping.put, ping.get, pong.put, pong.get)


async def queue_hop_in_time() -> float:
    ping: asyncio.Queue[str] = asyncio.Queue()
    pong: asyncio.Queue[str] = asyncio.Queue()
    return await time_of_hops(
        ping.put,
        lambda: asyncio.wait_for(ping.get(), FAR_AWAY),
        pong.put,
        lambda: asyncio.wait_for(pong.get(), FAR_AWAY),
    )


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
        """Count a tuple that this consumer got."""
        self.counts[consumer] += 1
        self.left -= 1
        if self.left == 0:
            self.all_had.set()

    @property
    def largest(self) -> float:
        """The share of the one who got most, where 1 is the even share."""
        return max(self.counts) * CONSUMERS / PAIRS


async def space_consumers(*, one_by_one: bool = False) -> tuple[float, float]:
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
            if one_by_one:
                await asyncio.sleep(0)
        await shares.all_had.wait()
    for task in tasks:
        task.cancel()
    return watch.seconds / PAIRS, shares.largest


async def space_burst() -> float:
    seconds, _ = await space_consumers()
    return seconds


async def share_of_burst() -> float:
    _, share = await space_consumers()
    return share


async def share_one_by_one() -> float:
    _, share = await space_consumers(one_by_one=True)
    return share


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


async def write_with(number_of_signatures: int) -> float:
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
    """Look again and again for what is not among ``size`` tuples, which are like these in turn."""
    space = TupleSpace()
    for number in range(size):
        await space.write(*tuples[number % len(tuples)])
    for _ in range(2):  # the first look finds out that an index is worth it, the second fills it
        await space.try_take(*pattern)
    with Stopwatch() as watch:
        for _ in range(HOPS):
            await space.try_take(*pattern)
    return watch.seconds / HOPS


async def poll_class(size: int) -> float:
    return await poll(size, [("item", 1), ("item", "1")], ("item", float))


async def poll_pair(size: int) -> float:
    return await poll(size, [("task", 1, "done"), ("note", 1, "queued")], ("task", ANY, "queued"))


# ---------------------------------------------------------------------------------------------------
# Memory


async def bytes_of(fill: Callable[[int], Awaitable[object]], size: int) -> float:
    """Return how many bytes each of ``size`` tuples takes, its own fields included."""
    gc.collect()
    tracemalloc.start()
    filled = await fill(size)
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del filled
    return used / size


async def space_memory(size: int) -> float:
    return await bytes_of(filled_space, size)


async def dict_memory(size: int) -> float:
    async def fill(size: int) -> object:
        return {key: ("item", key, None) for key in range(size)}

    return await bytes_of(fill, size)


async def list_memory(size: int) -> float:
    async def fill(size: int) -> object:
        return [("item", key, None) for key in range(size)]

    return await bytes_of(fill, size)


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


def at(size: int, contender: Callable[[int], Awaitable[float]]) -> Contender:
    """Return the contender for this number of tuples, waiters or signatures."""
    return partial(contender, size)


ROWS: Final = [
    Row(1, "write + try_take / Queue put + get", space_pair, queue_pair, 2),
    Row(3, "take by key of 10,000 / Queue get", at(10_000, space_keyed), at(10_000, queue_get), 5, 15),
    Row(3, "take by key of 100,000 / Queue get", at(100_000, space_keyed), at(100_000, queue_get), 8, 7),
    Row(4, "take by key of 100,000 / of 1,000", at(100_000, space_keyed), at(1_000, space_keyed), 2.5, 7),
    Row(5, "wake 1,000 takers / a Queue each", at(1_000, space_wake), at(1_000, queue_wake), 1.35),
    Row(5, "wake 10,000 takers / a Queue each", at(10_000, space_wake), at(10_000, queue_wake), 1.5, 9),
    Row(6, "wake 10,000 takers / 1,000", at(10_000, space_wake), at(1_000, space_wake), 1.6, 9),
    Row(7, "hop between two tasks / Queue", space_hop, queue_hop, 2),
    Row(9, "write + take by priority / PriorityQueue", space_priority, queue_priority, 1.5),
    Row(10, "burst, 5 takers / Queue + sleep(0)", space_burst, queue_burst, 1.5),
    Row(10, "burst: largest share / even share", share_of_burst, even_share, 1.05, 3),
    Row(10, "one by one: largest share / even share", share_one_by_one, even_share, 1.05, 3),
    Row(11, "pair with a ttl / without (a goal)", space_pair_with_ttl, space_pair, 2.5),
    Row(12, "pair with a watcher / without", space_pair_watched, space_pair, 1.8),
    Row(13, "pair by class / by ANY", space_pair_by_class, space_pair, 2.5),
    Row(14, "write past 1,000 waiters / past none", at(1_000, write_past), at(0, write_past), 4),
    Row(14, "write past 10,000 waiters / past 1,000", at(10_000, write_past), at(1_000, write_past), 1.2, 9),
    Row(15, "absent class among 10,000 / among 100", at(10_000, poll_class), at(100, poll_class), 1.3, 15),
    Row(16, "write with 4 signatures in use / 1", at(4, write_with), at(1, write_with), 2),
    Row(16, "write with 8 signatures in use / 1", at(8, write_with), at(1, write_with), 4),
    Row(17, "absent pair among 100,000 / among 1,000", at(100_000, poll_pair), at(1_000, poll_pair), 1.5, 7),
    Row(18, "memory, with an index / dict", at(100_000, space_memory), at(100_000, dict_memory), 2.3, 1),
    Row(18, "memory, with an index / list", at(100_000, space_memory), at(100_000, list_memory), 3.2, 1),
    Row(23, "cancel 2,000 waiters / Queue getters", at(2_000, space_cancel), at(2_000, queue_cancel), 1.8),
]

if sys.version_info < (3, 12):  # later ones have a quicker wait_for, and no bar for this
    ROWS.append(Row(8, "hop with timeout / Queue + wait_for", space_hop_in_time, queue_hop_in_time, 0.75))

SLOWER: Final = [
    Row(19, "search a list of 10,000 / take by key", at(10_000, list_keyed), at(10_000, space_keyed), 1e3, 7),
]
if shutil.which("ruby"):
    SLOWER.append(
        Row(19, "Rinda with 10,000 / take by key", at(10_000, rinda_keyed), at(10_000, space_keyed), 5e3, 3)
    )
"""What ours stands below: here the bar is to be reached."""


async def ratio(row: Row, slices: int) -> float:
    """Return the median ratio of ours to the reference, measured in alternate slices."""
    ratios = []
    for number in range(slices):
        if number % 2 == 0:
            ours = await row.ours()
            reference = await row.reference()
        else:
            reference = await row.reference()
            ours = await row.ours()
        ratios.append(ours / reference)
    return statistics.median(ratios)


async def measure(row: Row, *, quick: bool, at_least: bool) -> bool:
    """Print a line of the table, and return whether its bar is met."""
    seen = await ratio(row, min(row.slices, 5) if quick else row.slices)
    is_met = seen >= row.bar if at_least else seen <= row.bar
    bar = f"{'>=' if at_least else '<='} {row.bar:,g}"
    print(f"{row.number:>3}  {row.what:<40} {seen:>9,.2f} {bar:>9}  {'met' if is_met else 'missed'}")
    return is_met


async def measure_all(numbers: Sequence[int], *, quick: bool) -> bool:
    """Print the table of these rows, or of all if none is given. Return whether all bars are met."""
    print(f"Python {platform.python_version()}")
    print(f"{'row':>3}  {'ours / reference':<40} {'ratio':>9} {'bar':>9}")
    outcomes = [
        await measure(row, quick=quick, at_least=row in SLOWER)
        for row in sorted(ROWS + SLOWER, key=lambda row: row.number)
        if row.number in numbers or not numbers
    ]
    return all(outcomes)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the tuple space against what it could stand for.")
    parser.add_argument("rows", metavar="ROW", nargs="*", type=int, help="only the rows of these numbers")
    parser.add_argument("--quick", action="store_true", help="fewer slices: sooner, and less exact")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if a bar is missed")
    options = parser.parse_args()
    all_met = asyncio.run(measure_all(options.rows, quick=options.quick))
    return 1 if options.strict and not all_met else 0


if __name__ == "__main__":
    sys.exit(main())
