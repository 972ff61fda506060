"""The program that the sweep crashes: twenty tasks, done by the children of a supervisor."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from tutorial_lib import TupleSpace
from tutorial_lib.crew import work
from tutorial_lib.heartbeat import Monitor
from tutorial_lib.recovery import Recovery, bury_after, requeue_after_timeout, requeue_at_once
from tutorial_lib.supervisor import Child, SupervisedSystem
from tutorial_lib.tasks import State, Task

TASKS = 20
CHILDREN = ("master", "monitor", "w1", "w2", "w3")
POLICIES = (bury_after(4), requeue_at_once, requeue_after_timeout)
LATENCY = 0.01  # seconds


class DistantSpace(TupleSpace):
    """A space whose every answer takes a moment to come.

    A crash strikes between two moments. So here it can strike between any two steps of a program: before an
    operation has happened, and when it has, but nobody knows it yet.
    """

    async def write(self, *fields: Any, **options: Any) -> None:
        """Write it after a moment; the answer takes another."""
        await asyncio.sleep(LATENCY)
        await super().write(*fields, **options)
        await asyncio.sleep(LATENCY)

    async def replace(self, *arguments: Any, **options: Any) -> Any:
        """Replace it after a moment; the answer takes another."""
        await asyncio.sleep(LATENCY)
        old = await super().replace(*arguments, **options)
        await asyncio.sleep(LATENCY)
        return old

    async def read(self, *pattern: Any, **options: Any) -> Any:
        """Read it; the answer takes a moment."""
        fields = await super().read(*pattern, **options)
        await asyncio.sleep(LATENCY)
        return fields

    async def read_all(self, *pattern: Any) -> Any:
        """Read them; the answer takes a moment."""
        found = await super().read_all(*pattern)
        await asyncio.sleep(LATENCY)
        return found


async def master(space: TupleSpace) -> None:
    """Write the tasks that are not there yet, and wait until all have ended. It may begin again any time."""
    for number in range(TASKS):
        if not await space.count(*Task.pattern(id=number)):
            await space.write(*Task.new(number))
    while await ended(space) < TASKS:
        await asyncio.sleep(0.5)
    await space.replace(("finished",), ("finished",), insert=True)


async def ended(space: TupleSpace) -> int:
    """Return how many tasks have ended for good."""
    return sum([await space.count(*Task.pattern(state=state)) for state in (State.COMPLETED, State.DEAD)])


async def worker(space: TupleSpace) -> None:
    """Do one task after the other."""
    while True:
        await Task.perform_next(space, lambda task: work(1, task.id))


async def monitor(space: TupleSpace) -> None:
    """Look after the tasks of dead, failed and slow workers."""
    recovery = Recovery(space, POLICIES, timeout=4, every=1, name="monitor")
    async with recovery, Monitor(space, timeout=3, every=1, on_dead=recovery.worker_died):
        await asyncio.Event().wait()


async def main() -> None:
    """Run the system until the master says that all is finished."""
    space = DistantSpace()
    async with SupervisedSystem(space, max_restarts=10, within=60) as system:
        system.add(Child("monitor", partial(monitor, space)))
        for name in ("w1", "w2", "w3"):
            system.add(Child(name, partial(worker, space)))
        system.add(Child("master", partial(master, space), restart="on_failure"))
        await space.read("finished")
