"""How much a supervised system costs: an hour of workers with one-second heartbeats, watched all the time.

Run it with ``python benchmarks/supervisor.py``. The bar: 20 workers in under two seconds.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial

from tutorial_lib import Child, SupervisedSystem, TupleSpace, simulate, work

HOUR = 3600.0


async def supervised_hour(workers: int) -> None:
    """Let ``workers`` children beat every second, while their supervisor watches them."""
    async with SupervisedSystem(TupleSpace(), every=1, timeout=3) as system:
        for number in range(workers):
            system.add(Child(f"w{number}", partial(work, 2 * HOUR)))
        await asyncio.sleep(HOUR)


def main() -> None:
    print("workers   seconds for an hour   events")
    for workers in (5, 10, 20):
        began = time.perf_counter()
        run = simulate(supervised_hour, workers, time_limit=2 * HOUR, wall_limit=None)
        print(f"{workers:7}   {time.perf_counter() - began:19.2f}   {len(run.trace):6,}")


if __name__ == "__main__":
    main()
