"""Worker processes that are killed: what was claimed is done once, and what was taken is lost at most."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
from collections import Counter

from server_help import DURABLE, REPEATS, Server, python, restart

from tutorial_lib import ANY, SpaceManager, connect

WORKERS, TASKS, KILL_EVERY = (20, 10_000, 1.0) if REPEATS >= 5 else (4, 200, 0.4)
LATE_ONES = 3

WORKER = """
    import asyncio, sys
    from tutorial_lib import StaleClaim, connect

    async def main(url, late_ones):
        async with connect(url) as manager:
            tasks, ledger = manager.space("tasks"), manager.space("ledger")
            while True:
                lease, work = (0.3, 0.6) if late_ones > 0 else (2, 0.03)
                late_ones -= 1
                try:
                    async with tasks.claim("task", int, lease=lease) as claim:
                        await asyncio.sleep(work)
                        await claim.complete("done", claim.fields[1], to=ledger)
                except StaleClaim:
                    await ledger.write("refused", claim.fields[1])

    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def test_every_task_is_completed_exactly_once() -> None:
    """By the ledger, though a worker is killed every moment and the server restarted twice.

    What is completed too late is refused, and counted.
    """
    with Server(*DURABLE) as server:
        workers = [python(WORKER, server.url, "0") for _ in range(WORKERS)]
        late = python(WORKER, server.url, str(LATE_ONES))
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
    """Give out the tasks and do damage until all are done. Returns the ledger and the number of kills."""
    choose = random.Random(0)
    restarts = [(TASKS // 3, signal.SIGKILL), (2 * TASKS // 3, signal.SIGTERM)]
    kills = 0
    async with connect(server.url) as manager:
        await manager.space("tasks").write_many([("task", number) for number in range(TASKS)])
        while await done(manager) < TASKS or await manager.space("ledger").count("refused", ANY) < LATE_ONES:
            await asyncio.sleep(KILL_EVERY)
            victim = choose.randrange(len(workers))
            workers[victim].kill()
            workers[victim].communicate()
            workers[victim] = python(WORKER, server.url, "0")
            kills += 1
            if restarts and await done(manager) >= restarts[0][0]:
                await restart(server, restarts.pop(0)[1])
        assert not restarts
        return [(entry[0], entry[1]) for entry in await manager.space("ledger").take_all()], kills


async def done(manager: SpaceManager) -> int:
    return await manager.space("ledger").count("done", int)


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
