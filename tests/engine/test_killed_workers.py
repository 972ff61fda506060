"""Worker processes that are killed: what was claimed is done once, and what was taken is lost at most."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
from collections import Counter

from server_help import DURABLE, REPEATS, Server, python, restart

from tutorial_lib import ANY, connect

WORKERS, TASKS, KILL_EVERY = (20, 10_000, 1.0) if REPEATS >= 5 else (4, 200, 0.4)
LATE, LATE_ONES = "late", 3  # one in each wave of tasks

WORKER = """
    import asyncio, sys
    from tutorial_lib import StaleClaim, actor, connect

    async def main(url, name, late_ones):
        async with connect(url) as manager:
            tasks, ledger = manager.space("tasks"), manager.space("ledger")
            await tasks.count()
            print("ready", flush=True)
            while True:
                try:
                    async with tasks.claim("task", int, lease=0.3 if late_ones > 0 else 2) as claim:
                        if late_ones > 0:
                            await ledger.read("done", claim.fields[1])  # by another, so this one is late
                        else:
                            await asyncio.sleep(0.03)
                        await claim.complete("done", claim.fields[1], to=ledger)
                except StaleClaim:
                    late_ones -= 1
                    await ledger.write("refused", claim.fields[1])

    with actor(sys.argv[2]):
        asyncio.run(main(*sys.argv[1:3], int(sys.argv[3])))
"""


def test_every_task_is_completed_exactly_once() -> None:
    """By the ledger, though a worker is killed every moment and the server restarted twice.

    What is completed too late is refused, and counted.
    """
    with Server(*DURABLE) as server:
        workers = [python(WORKER, server.url, "worker", "0") for _ in range(WORKERS)]
        late = python(WORKER, server.url, LATE, str(LATE_ONES))
        try:
            entries, kills = asyncio.run(survive(server, workers))
        finally:
            for worker in (*workers, late):
                worker.kill()
                worker.communicate()
    done = Counter(number for kind, number in entries if kind == "done")
    refused = [number for kind, number in entries if kind == "refused"]
    assert done == Counter(range(TASKS))
    assert len(refused) >= LATE_ONES
    assert kills >= 3


async def survive(server: Server, workers: list[subprocess.Popen[str]]) -> tuple[list[tuple[str, int]], int]:
    """Give out the tasks in waves, and do damage in each. Returns the ledger and the number of kills."""
    choose = random.Random(0)
    kills = 0
    async with connect(server.url) as manager:
        tasks, ledger = manager.space("tasks"), manager.space("ledger")
        for wave, how in enumerate((None, signal.SIGKILL, signal.SIGTERM)):
            while LATE not in [waiter.actor for waiter in await tasks.waiters()]:  # so it gets one of each
                await asyncio.sleep(0.02)
            numbers = range(wave * TASKS // 3, (wave + 1) * TASKS // 3)
            await tasks.write_many([("task", number) for number in numbers])
            if how is not None:
                await restart(server, how)
            left = len(numbers)
            while left > 0:
                if left > 4 * WORKERS:  # the last few are done in peace, or each kill would cost a lease
                    await replace_one(server, workers, choose.randrange(len(workers)))
                    kills += 1
                await asyncio.sleep(KILL_EVERY)
                left = numbers.stop - await ledger.count("done", int)
        while await ledger.count("refused", ANY) < LATE_ONES:
            await asyncio.sleep(0.02)
        return [(entry[0], entry[1]) for entry in await ledger.take_all()], kills


async def replace_one(server: Server, workers: list[subprocess.Popen[str]], victim: int) -> None:
    """Kill a worker, and wait until the next one is at work: on a slow machine none would ever be."""
    workers[victim].kill()
    workers[victim].communicate()
    workers[victim] = python(WORKER, server.url, "worker", "0")
    stdout = workers[victim].stdout
    assert stdout is not None
    assert await asyncio.to_thread(stdout.readline) == "ready\n"


TAKER = """
    import asyncio, sys
    from tutorial_lib import connect

    async def main(url):
        async with connect(url) as manager:
            tasks, ledger = manager.space("tasks"), manager.space("ledger")
            while True:
                kind, number = await tasks.take("task", int)
                await ledger.write("done", number)

    asyncio.run(main(sys.argv[1]))
"""
TAKERS, TAKEN, KILLS = 2, 1000, 4 * REPEATS


def test_a_killed_taker_loses_at_most_the_tuple_that_it_held(server: Server) -> None:
    """Two, killed at random moments: no tuple is there twice, and at most one is gone for each kill."""
    choose = random.Random(0)

    async def kill_again_and_again() -> list[int]:
        async with connect(server.url) as manager:
            tasks, ledger = manager.space("tasks"), manager.space("ledger")
            for kill in range(KILLS):
                takers = [python(TAKER, server.url) for _ in range(TAKERS)]
                try:
                    while len(await tasks.waiters()) < TAKERS:
                        await asyncio.sleep(0.01)
                    first = kill * TAKEN
                    writing = asyncio.create_task(
                        tasks.write_many([("task", number) for number in range(first, first + TAKEN)])
                    )
                    await asyncio.sleep(choose.uniform(0.01, 0.2))
                finally:
                    for taker in takers:
                        taker.kill()
                        taker.communicate()
                await writing
            while (await tasks.stats()).waiting:  # until the last of the dead have been given up
                await asyncio.sleep(0.1)
            return [fields[1] for space in (tasks, ledger) for fields in await space.read_all()]

    found = asyncio.run(kill_again_and_again())
    assert len(found) == len(set(found))
    assert KILLS * TAKEN - KILLS * TAKERS <= len(found) <= KILLS * TAKEN
