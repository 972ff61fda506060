"""Drills: the workers of lesson 09, which count, and are killed.

They stand in a module and not in a notebook, since another process can only run what it can import. Each is
an async function of a manager and a name, as `tutorial_lib.classroom.machine.serve` is, and never ends.

===================================  =========================================================
tuple                                meaning
===================================  =========================================================
``("task", id, low, high)``          in "tasks": count the primes from ``low`` to ``high``
``("result", id, (name, primes))``   in "results": who counted, and how many there are
``("task", id)``                     in "tasks", for the other two: half a second of work
``("result", id, name, attempt)``    in "results": who did it, and at which delivery
``("began", name, id)``              in "log": a worker has the task, and begins
``("refused", name, id)``            in "log": a worker came too late with its result
===================================  =========================================================
"""

from __future__ import annotations

from tutorial_lib.claims import StaleClaim
from tutorial_lib.classroom.jobs import count_primes
from tutorial_lib.crew import work
from tutorial_lib.manager import SpaceManager

__all__ = ["by_claim", "by_take", "counting"]


async def counting(manager: SpaceManager, name: str) -> None:
    """Count primes, task by task."""
    tasks, results = manager.space("tasks"), manager.space("results")
    while True:
        async with tasks.claim("task", int, int, int, lease=10) as claim:
            _, number, low, high = claim.fields
            await claim.complete("result", number, (name, count_primes(low, high)), to=results)


async def by_take(manager: SpaceManager, name: str) -> None:
    """Take a task, do it, write the result."""
    tasks, results, log = manager.space("tasks"), manager.space("results"), manager.space("log")
    while True:
        _, number = await tasks.take("task", int)
        await log.write("began", name, number)
        await work(0.5, ("task", number))
        await results.write("result", number, name, 1)


async def by_claim(manager: SpaceManager, name: str) -> None:
    """Claim a task, do it, complete the claim with the result."""
    tasks, results, log = manager.space("tasks"), manager.space("results"), manager.space("log")
    while True:
        try:
            async with tasks.claim("task", int, lease=1.5) as claim:
                _, number = claim.fields
                await log.write("began", name, number)
                await work(0.5, ("task", number))
                await claim.complete("result", number, name, claim.attempt, to=results)
        except StaleClaim:
            await log.write("refused", name, number)
