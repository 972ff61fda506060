"""Measure a space on a server against a bare list of the same server, which has no patterns and no claims.

    python benchmarks/engine.py              all rows
    python benchmarks/engine.py --quick      fewer slices: rougher figures, much sooner
    python benchmarks/engine.py --million    the last row with a million tuples, too

It starts a server of its own (redis-server or valkey-server, on the loopback interface) and ends it. Every
figure is a ratio: what ours costs over what the reference costs, in one run, the same payload on the same
server. The two alternate in slices, and which of them goes first is swapped each time. The figure is the
median over all pairs of slices. Seconds are those of the wall clock, since most of the time is spent
on the way; on a busy machine the ratio stays, the microseconds do not.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from redis.asyncio import Redis

from tutorial_lib import ANY, SpaceManager, connect

Contender = Callable[[], Awaitable[float]]

OPERATIONS: Final = 200  # in a slice
PAYLOAD: Final = b"x" * 32
SIZES: Final = (1_000, 10_000, 100_000)
MILLION: Final = 1_000_000


@contextmanager
def server() -> Iterator[int]:
    """Run a server on a free port of the loopback interface, and yield the port."""
    program = shutil.which("valkey-server") or shutil.which("redis-server")
    if program is None:
        raise SystemExit("This needs redis-server or valkey-server: sudo apt install redis-server.")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", ""]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            yield port
        finally:
            process.kill()
            process.wait()


class Bench:
    """The contenders. Each returns its cost: seconds for one operation."""

    def __init__(self, manager: SpaceManager, other: SpaceManager, plain: Redis, other_plain: Redis) -> None:
        self.manager = manager
        self.space = manager.space("bench")
        self.writer = other.space("bench")
        self.plain = plain
        self.plain_writer = other_plain

    async def list_pair(self) -> float:
        """Push and pop."""
        start = time.perf_counter()
        for _ in range(OPERATIONS):
            await self.plain.lpush("list", PAYLOAD)
            await self.plain.blpop(["list"])
        return (time.perf_counter() - start) / OPERATIONS

    async def space_pair(self) -> float:
        """Write and take by a pattern."""
        start = time.perf_counter()
        for number in range(OPERATIONS):
            await self.space.write("task", number, PAYLOAD)
            await self.space.take("task", int, ANY)
        return (time.perf_counter() - start) / OPERATIONS

    async def space_claim(self) -> float:
        """Write, claim and complete."""
        start = time.perf_counter()
        for number in range(OPERATIONS):
            await self.space.write("task", number, PAYLOAD)
            async with self.space.claim("task", int, ANY, lease=60) as claim:
                await claim.complete()
        return (time.perf_counter() - start) / OPERATIONS

    async def list_hop(self) -> float:
        """Push to a client that waits, until it has the item."""
        total = 0.0
        for _ in range(OPERATIONS):
            waiting = asyncio.create_task(self.plain.blpop(["hop"]))
            await asyncio.sleep(0.002)
            start = time.perf_counter()
            await self.plain_writer.lpush("hop", PAYLOAD)
            await waiting
            total += time.perf_counter() - start
        return total / OPERATIONS

    async def space_hop(self) -> float:
        """Write to a client that waits, until it has the tuple."""
        total = 0.0
        for number in range(OPERATIONS):
            waiting = asyncio.create_task(self.space.take("hop", int, ANY))
            await asyncio.sleep(0.004)
            start = time.perf_counter()
            await self.writer.write("hop", number, PAYLOAD)
            await waiting
            total += time.perf_counter() - start
        return total / OPERATIONS

    async def take_among(self, size: int) -> float:
        """Take by key and write back, in a space that holds ``size`` tuples."""
        space = self.manager.space(f"holds {size}")
        if not await space.count():
            await space.write_many([("kept", number) for number in range(size)])
            await space.try_read("kept", 0)  # makes the index
        numbers = [size * i // OPERATIONS for i in range(OPERATIONS)]
        start = time.perf_counter()
        for number in numbers:
            await space.take("kept", number)
        cost = (time.perf_counter() - start) / OPERATIONS
        await space.write_many([("kept", number) for number in numbers])
        return cost


async def compare(name: str, ours: Contender, reference: Contender, pairs: int) -> None:
    """Run both in turn and print the median ratio, and the medians themselves."""
    costs: tuple[list[float], list[float]] = ([], [])
    for number in range(pairs):
        for which in (0, 1) if number % 2 else (1, 0):
            costs[which].append(await (ours, reference)[which]())
    ratio = statistics.median(one / other for one, other in zip(*costs, strict=True))
    middle = [statistics.median(cost) * 1e6 for cost in costs]
    print(f"{name:48} {ratio:6.2f}   {middle[0]:8.0f} µs over {middle[1]:8.0f} µs", flush=True)


async def measure(port: int, pairs: int, sizes: tuple[int, ...]) -> None:
    url = f"redis://127.0.0.1:{port}/0"
    async with (
        connect(url) as manager,
        connect(url) as other,
        Redis(port=port, single_connection_client=True) as plain,
        Redis(port=port, single_connection_client=True) as other_plain,
    ):
        bench = Bench(manager, other, plain, other_plain)
        await compare("write + take by pattern / LPUSH + BLPOP", bench.space_pair, bench.list_pair, pairs)
        await compare("blocked take: from write to waking / BLPOP", bench.space_hop, bench.list_hop, pairs)
        await compare("write + claim + complete / LPUSH + BLPOP", bench.space_claim, bench.list_pair, pairs)
        small = sizes[0]
        for size in sizes[1:]:
            await compare(
                f"take by key, {size:,} tuples / {small:,}",
                lambda size=size: bench.take_among(size),  # type: ignore[misc]
                lambda: bench.take_among(small),
                max(1, pairs // 5),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer slices")
    parser.add_argument("--million", action="store_true", help="the last row with a million tuples, too")
    options = parser.parse_args()
    sizes = (*SIZES, MILLION) if options.million else SIZES
    with server() as port:
        asyncio.run(measure(port, 5 if options.quick else 21, sizes))


if __name__ == "__main__":
    main()
