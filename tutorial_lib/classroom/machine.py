"""Machine: what one machine of the class does, from joining to leaving.

It uses nothing but the calls of a tuple space, so it runs alike over a server, over spaces in memory, and in
virtual time.

================================  ===================================================================
tuple                             meaning
================================  ===================================================================
in the space "class"
``("round", n)``                  the round that goes on; who chooses a name claims it meanwhile
``("machine", name, cores,        the heartbeat of a machine, replaced every second; five seconds
system)``                         after the last one it is gone
in the space "tasks n"
``("task", id, job, arguments)``  one of `JOBS` is to be done, with a tuple of arguments
in the space "results n"
``("result", id, "completed",     it was done
value)``
``("result", id, "failed",        it could not be done
reason)``
================================  ===================================================================

A machine claims a task and renews its lease while the job runs. So the task of a machine that drops out
comes back, and another one does it.

>>> from tutorial_lib.crew import Crew
>>> from tutorial_lib.manager import connect
>>> from tutorial_lib.master import Master
>>> from tutorial_lib.simulation import simulate
>>> async def main():
...     async with connect("memory://") as manager:
...         await manager.space("class").write("round", 1)
...         master = Master(manager.space("tasks 1"), manager.space("results 1"))
...         for low in (0, 100, 200):
...             await master.submit("count_primes", (low, low + 100))
...         async with Crew(lambda name: serve(manager, name), 2):
...             return await master.collect()
>>> simulate(main).result.results
w1 has joined the class.
w2 has joined the class.
w1: task 1 is completed, count_primes(0, 100).
w2: task 2 is completed, count_primes(100, 200).
w1: task 3 is completed, count_primes(200, 300).
w1 has left the class.
w2 has left the class.
{1: 25, 2: 21, 3: 16}
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from tutorial_lib.claims import Claim, StaleClaim
from tutorial_lib.classroom.jobs import run_here
from tutorial_lib.manager import SpaceManager
from tutorial_lib.members import Service
from tutorial_lib.patterns import ANY, shown, where
from tutorial_lib.space import SpaceClosed, TupleSpace
from tutorial_lib.trace import actor

__all__ = ["Runner", "is_name", "serve"]

HEARTBEAT_EVERY: Final = 1.0  # seconds
HEARTBEAT_TTL: Final = 5.0  # seconds of silence after which a machine has dropped out
LEASE: Final = 10.0  # seconds in which a task comes back when its machine drops out
RENEW_EVERY: Final = LEASE / 3
LOOK_EVERY: Final = 2.0  # seconds after which an idle machine looks whether the round is still the same
CHOOSING_A_NAME: Final = 5.0  # seconds
TIME_TO_LEAVE: Final = 3.0  # seconds for the last request of a machine that leaves
LONGEST_NAME: Final = 24
LONGEST_REASON: Final = 200

Runner = Callable[[str, tuple[Any, ...]], Awaitable[Any]]
"""How a machine runs a job: called with its name and its arguments, it returns the result."""


async def serve(
    manager: SpaceManager, name: str, *, say: Callable[[str], object] = print, run: Runner = run_here
) -> None:
    """Take part in the class of ``manager`` until it is over, or this is cancelled.

    If there is a machine called ``name`` already, this one is called "name 2", and so on. ``say`` is called
    with a line of text for each thing that happens. ``run`` runs the jobs, by default in this program.
    Whoever is cancelled gives back the task and takes the heartbeat away.

    Raises `ValueError` unless ``name`` is a text of 1 to 24 printable characters, and what the spaces raise:
    `ConnectionError` if the server does not answer for half a minute, `PermissionError` for a wrong password.
    """
    if not is_name(name):
        raise ValueError(f"A machine needs a name of 1 to {LONGEST_NAME} printable characters, got {name!r}.")
    hall = manager.space("class")
    try:
        presence = await _join(hall, name)
        with actor(presence.name):
            async with presence:
                say(f"{presence.name} has joined the class.")
                await _work(manager, presence.name, say, run)
    except SpaceClosed:
        say("The class is over.")
    except asyncio.CancelledError:
        say(f"{name} has left the class.")
        raise


def is_name(name: object) -> bool:
    """Tell whether a machine may be called so."""
    return (
        isinstance(name, str)
        and 1 <= len(name) <= LONGEST_NAME
        and name.isprintable()
        and name.strip() == name
    )


async def _join(hall: TupleSpace, wanted: str) -> _Presence:
    """Choose a name that nobody has. Who holds the round may choose, so no two choose at a time."""
    async with hall.claim("round", int, lease=CHOOSING_A_NAME) as turn:
        taken = {name for _, name, _, _ in await hall.read_all("machine", str, int, str)}
        names = (wanted, *(f"{wanted} {number}" for number in range(2, len(taken) + 2)))
        presence = _Presence(hall, next(name for name in names if name not in taken))
        try:
            with actor(presence.name):
                await presence.beat()
            await turn.release()
        except BaseException:
            await presence.vanish()  # cancelled, perhaps, and nobody will join under this name
            raise
    return presence


class _Presence(Service):
    """The heartbeat of a machine while the block lasts. It ends the block when the class is over."""

    def __init__(self, hall: TupleSpace, name: str) -> None:
        super().__init__(name)
        self._hall = hall

    async def beat(self) -> None:
        """Say once that this machine is there."""
        heartbeat = ("machine", self.name, os.cpu_count() or 1, platform.system())
        mine = ("machine", self.name, ANY, ANY)
        await self._hall.replace(mine, heartbeat, insert=True, ttl=HEARTBEAT_TTL)

    async def vanish(self) -> None:
        """Take the heartbeat away, so that others need not wait until its ttl is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TIME_TO_LEAVE):
                await self._hall.try_take("machine", self.name, ANY, ANY)

    async def _serve(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_EVERY)
            with suppress(ConnectionError):  # the next one may reach the server
                await self.beat()

    async def _end(self) -> None:
        await super()._end()
        await self.vanish()


async def _work(manager: SpaceManager, name: str, say: Callable[[str], object], run: Runner) -> None:
    """Do the tasks of one round after the other. Raises `SpaceClosed` when the class is over."""
    hall = manager.space("class")
    finished = 0
    another_round = where(lambda number: number != finished, "a round that is not over")
    while True:
        _, number = await hall.read("round", another_round)
        tasks, results = manager.space(f"tasks {number}"), manager.space(f"results {number}")
        try:
            while await _do_a_task(tasks, results, name, say, run):
                pass
        except SpaceClosed:
            finished = number


async def _do_a_task(
    tasks: TupleSpace, results: TupleSpace, name: str, say: Callable[[str], object], run: Runner
) -> bool:
    """Do the next task; tell if there was one within a short time."""
    try:
        async with tasks.claim("task", int, ANY, ANY, lease=LEASE, timeout=LOOK_EVERY) as claim:
            _, id, job, arguments = claim.fields
            state, value = await _done_under_lease(claim, _answer(run, job, arguments))
            await claim.complete("result", id, state, value, to=results)
            say(f"{name}: task {id} is {state}, {_call_text(job, arguments)}.")
    except StaleClaim:
        say(f"{name}: task {id} is not this machine's any more, so its result is refused.")
    except TimeoutError:  # nothing to do, or the server does not answer just now
        return False
    return True


async def _done_under_lease(claim: Claim, work: Awaitable[tuple[str, Any]]) -> tuple[str, Any]:
    """Do the work and renew the lease meanwhile."""
    working = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([working], timeout=RENEW_EVERY))[0]:
            with suppress(ConnectionError):  # there is time for another attempt
                await claim.renew(LEASE)
        return working.result()
    finally:
        working.cancel()


async def _answer(run: Runner, job: Any, arguments: Any) -> tuple[str, Any]:
    """Return what to write as the result: the state, and the value or the reason."""
    try:
        return "completed", await run(job, arguments)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"[:LONGEST_REASON]


def _call_text(job: Any, arguments: Any) -> str:
    """Return a task as one would call it. Anything may stand in it, so all of it is shown as a value."""
    if not (isinstance(job, str) and job.isidentifier() and isinstance(arguments, tuple)):
        return f"{shown(job)} with {shown(arguments)}"
    return f"{job}({', '.join(map(shown, arguments))})"
