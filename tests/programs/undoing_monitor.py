"""A monitor that undoes a task which had just finished: wrong on purpose.

The monitor looks for tasks that have been running for too long, and queues them again. Between its look and
its take some time passes. A task that finishes in between is completed by then, yet the monitor takes it in
whatever state it finds it, and does not ask whether it got anything at all. So finished work is done twice.

The cure is in one word: take it only while it is still ``"running"``, and requeue it only if that succeeded.
"""

from __future__ import annotations

import asyncio

from tutorial_lib import ANY, TupleSpace
from tutorial_lib.crew import Crew, work

PATIENCE = 3.0  # seconds that a task may run
SECONDS = {1: 2.0, 2: 3.1, 3: 1.5}
"""How long each task takes. The second one is only a little late."""


async def worker(space: TupleSpace) -> None:
    """Run tasks for ever, one after the other."""
    clock = asyncio.get_running_loop().time
    while True:
        _, number, _, _ = await space.take("task", int, "queued", ANY)
        await space.write("task", number, "running", clock())
        await work(SECONDS[number], ("task", number))
        await space.replace(("task", number, "running", ANY), ("task", number, "completed", clock()))


async def monitor(space: TupleSpace) -> None:
    """Queue again what has been running for too long."""
    clock = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(1)
        for _, number, _, since in await space.read_all("task", int, "running", float):
            if clock() - since >= PATIENCE:
                await asyncio.sleep(0.2)  # it writes a report first
                await space.try_take("task", number, ANY, ANY)  # whatever it has become by now
                await space.write("task", number, "queued", clock())


async def main() -> None:
    """Let two workers run three tasks under the eyes of the monitor."""
    space = TupleSpace("tasks")
    for number in SECONDS:
        await space.write("task", number, "queued", 0.0)
    watching = asyncio.create_task(monitor(space), name="monitor")
    async with Crew(lambda name: worker(space), 2):
        await asyncio.sleep(8)
    watching.cancel()
