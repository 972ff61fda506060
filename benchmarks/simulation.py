"""How fast virtual time runs: workers that send a heartbeat a second, for a while.

Run it with ``python benchmarks/simulation.py``.
"""

from __future__ import annotations

import asyncio
import time

from tutorial_lib import ANY, TupleSpace, simulate

ABOUT_HEARTBEATS = 20_000  # in each row, so that each takes about as long


async def heartbeats(workers: int) -> None:
    """Let ``workers`` tasks renew a heartbeat in one space every second, without end."""
    space = TupleSpace()

    async def worker(name: str) -> None:
        while True:
            await asyncio.sleep(1)
            now = asyncio.get_running_loop().time()
            await space.replace(("heartbeat", name, ANY), ("heartbeat", name, now), insert=True)

    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(worker(f"w{number}"), name=f"w{number}")


def main() -> None:
    print("workers   virtual seconds per second   events per second")
    for workers in (10, 100, 1000):
        began = time.perf_counter()
        run = simulate(heartbeats, workers, until=ABOUT_HEARTBEATS / workers, wall_limit=None)
        took = time.perf_counter() - began
        print(f"{workers:7}   {run.elapsed / took:26,.0f}   {len(run.trace) / took:17,.0f}")


if __name__ == "__main__":
    main()
