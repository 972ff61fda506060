"""Many worker processes, one killed every second, and the server restarted twice: every task is done once."""

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
    """By the ledger. What is completed too late is refused, and counted."""
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
