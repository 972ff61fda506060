"""Supervisor: starts children in order, notices when one ends, and starts it again, up to a limit.

The ideas and most of the words are those of Erlang/OTP (the supervisor behaviour, "OTP Design Principles").

=================  ============  =============  =========================  =================
a child ...        returns or    raises an      falls silent: crashed,     is stopped by the
                   cancels       exception      hanging, or not heard      supervisor
                   itself
=================  ============  =============  =========================  =================
`Restart` ALWAYS   restarted     restarted      restarted                  rests
ON_FAILURE         rests         restarted      restarted                  rests
NEVER              rests         rests          ended, and rests           rests
=================  ============  =============  =========================  =================

An exception is seen at once, a crash only by the silence of the child's heartbeats, which the supervisor
sends and watches by itself.

>>> import asyncio
>>> from tutorial_lib.crew import work
>>> from tutorial_lib.faults import crash
>>> from tutorial_lib.simulation import simulate
>>> from tutorial_lib.space import TupleSpace
>>> async def worker():
...     await work(100)
>>> async def main():
...     async with SupervisedSystem(TupleSpace()) as system:
...         system.add(Child("w1", worker))
...         system.add(Child("w2", worker))
...         await asyncio.sleep(20)
...         print(system.status())
>>> run = simulate(main, faults=[crash("w1", at=10)])
name  state    restarts  cause
w1    running         1  fell silent
w2    running         0
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple, Self, TypeVar

from tutorial_lib.arguments import check_count, check_period
from tutorial_lib.heartbeat import Monitor, beat
from tutorial_lib.members import (
    Member,
    Service,
    check_async_function,
    end_members,
    record,
    report_stragglers,
    run,
)
from tutorial_lib.space import TupleSpace
from tutorial_lib.tables import text_table

__all__ = [
    "Child",
    "ChildStatus",
    "Restart",
    "RestartLimitReached",
    "Strategy",
    "SupervisedSystem",
    "SystemStatus",
]

FIRST_DELAY = 0.1  # seconds before the first restart in a period; each further one waits twice as long


class RestartLimitReached(Exception):
    """Restarting does not help: there were too many restarts within the period."""


class Restart(StrEnum):
    """When a child is started again after it has ended (in OTP: permanent, transient, temporary).

    >>> [str(restart) for restart in Restart]
    ['always', 'on_failure', 'never']
    """

    ALWAYS = "always"
    ON_FAILURE = "on_failure"
    NEVER = "never"


class Strategy(StrEnum):
    """Who is restarted when one child is: it alone, all, or it and those that were started after it.

    >>> [str(strategy) for strategy in Strategy]
    ['one_for_one', 'one_for_all', 'rest_for_one']
    """

    ONE_FOR_ONE = "one_for_one"
    ONE_FOR_ALL = "one_for_all"
    REST_FOR_ONE = "rest_for_one"


@dataclass(frozen=True)
class Child:
    """What a supervisor has to know about a child.

    ``start`` is an async function without arguments; `functools.partial` binds some. ``restart`` is a
    `Restart` or its word. Raises `TypeError` or `ValueError` if one of them makes no sense.

    >>> async def worker(name):
    ...     print(name, "works")
    >>> Child("w1", partial(worker, "w1"), restart="on_failure").restart
    <Restart.ON_FAILURE: 'on_failure'>
    """

    name: str
    start: Callable[[], Awaitable[object]]
    restart: Restart = Restart.ALWAYS

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"A child needs a name as text, got {self.name!r}. Write Child('w1', worker).")
        if not self.name:
            raise ValueError("A child needs a name of at least one letter. Write Child('w1', worker).")
        check_async_function(self.start, "Child needs an async function, as in Child('w1', worker)")
        object.__setattr__(self, "restart", _member_of(Restart, "restart", self.restart))


Word = TypeVar("Word", Restart, Strategy)


def _member_of(words: type[Word], what: str, word: str) -> Word:
    try:
        return words(word)
    except ValueError:
        raise ValueError(f"{what} is one of {', '.join(words)}, got {word!r}.") from None


class ChildStatus(NamedTuple):
    """How one child is. ``state``: "new", "running", "suspect", "restarting", "resting", "stopped"."""

    name: str
    state: str
    restarts: int
    cause: str
    """How its last run ended, in words; empty if that has not happened."""


class SystemStatus(tuple[ChildStatus, ...]):
    """The `ChildStatus` of every child, in the order of starting. Prints itself as a table."""

    def __repr__(self) -> str:
        return text_table([ChildStatus._fields, *self])


class _Charge:
    """A child in the care of the supervisor."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.state = "new"
        self.restarts = 0
        self.cause = ""
        self.member: Member | None = None  # its task, while it is meant to run


class SupervisedSystem(Service):
    """Keeps its children running: ``async with SupervisedSystem(space) as system:`` and `add`.

    Children are started in the order of adding and stopped in reverse. Each beats every ``every`` seconds
    in ``space`` while it runs; after ``timeout`` seconds of silence it is cancelled and counts as failed.
    When a child is to be restarted, ``strategy`` says who is restarted with it: all who run and whose
    `Restart` is not NEVER; the latter are ended and rest. One restart is made at a time.

    A restart waits, for 0.1 s after a quiet period and each time twice as long, so that a fault has time
    to pass, but never so long that the limit could not be reached. The limit holds for all children
    together: with more than ``max_restarts`` restarts within ``within`` seconds the system stops all
    children, and `RestartLimitReached` leaves the block, for whoever supervises the supervisor.

    When the block is left the system stops: each child is cancelled and gets an equal part of
    ``stop_within`` to end. Crashed children are not waited for. Those that do not stop are reported to the
    event loop (under `simulate`: in ``run.errors``). The supervisor acts under ``name``.

    Raises `TypeError` or `ValueError` if an argument makes no sense.

    >>> from tutorial_lib.simulation import simulate
    >>> async def faulty():
    ...     raise OSError("no such printer")
    >>> async def main():
    ...     try:
    ...         async with SupervisedSystem(TupleSpace(), max_restarts=3, within=10) as system:
    ...             system.add(Child("printer", faulty))
    ...             await system.join()
    ...     except RestartLimitReached as error:
    ...         print(error)
    >>> run = simulate(main)
    printer raised OSError('no such printer') after 3 restarts within 10 s, so all children were stopped. \
Look into the cause; a higher max_restarts would only hide it.
    """

    def __init__(
        self,
        space: TupleSpace,
        *,
        strategy: Strategy | str = Strategy.ONE_FOR_ONE,
        max_restarts: int = 3,
        within: float = 10.0,
        every: float = 1.0,
        timeout: float = 3.0,
        stop_within: float = 5.0,
        name: str = "supervisor",
    ) -> None:
        check_count("max_restarts", max_restarts, least=0)
        check_period("within", within)
        check_period("stop_within", stop_within)
        super().__init__(name)
        self._space = space
        self._strategy = _member_of(Strategy, "strategy", strategy)
        self._max_restarts = max_restarts
        self._within = within
        self._every = every
        self._stop_within = stop_within
        self._monitor = Monitor(
            space, timeout=timeout, every=every, on_dead=self._on_silence, only_expected=True, name=name
        )
        self._charges: dict[str, _Charge] = {}
        self._forget_the_past()

    def _forget_the_past(self) -> None:
        self._restarts: deque[float] = deque()  # the moments of those that still count
        self._left_behind: list[Member] = []  # cancelled, and not ended in time
        self._to_do: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._all_rest = asyncio.Event()

    def __repr__(self) -> str:
        return f"<SupervisedSystem {self.name}, {len(self._charges)} children>"

    # ------------------------------------------------------------------------------------------------
    # From outside

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._forget_the_past()
        self._charges = {name: _Charge(charge.child) for name, charge in self._charges.items()}
        for charge in self._charges.values():
            self._to_do.put_nowait(partial(self._start, charge))
        self._note_whether_all_rest()
        return self

    def add(self, child: Child) -> None:
        """Add a child. It is started after those before it; at once if the system is at work.

        Raises `ValueError` if there is a child of that name, and `TypeError` for anything but a `Child`.
        """
        if not isinstance(child, Child):
            raise TypeError(f"add() needs a Child, got {child!r}. Write system.add(Child('w1', worker)).")
        if child.name in self._charges:
            raise ValueError(f"There is a child called {child.name!r} already. Choose another name.")
        charge = self._charges[child.name] = _Charge(child)
        self._note_whether_all_rest()
        if self._member is not None:
            self._to_do.put_nowait(partial(self._start, charge))

    def status(self) -> SystemStatus:
        """Return how every child is, in the order of starting. Prints itself as a table."""
        heard = self._monitor.status()
        rows = []
        for name, charge in self._charges.items():
            doubted = charge.state == "running" and heard.get(name, "alive") != "alive"
            state = heard[name] if doubted else charge.state
            rows.append(ChildStatus(name, state, charge.restarts, charge.cause))
        return SystemStatus(rows)

    async def join(self) -> None:
        """Wait until every child rests: until none runs, and none will be started again."""
        await self._all_rest.wait()

    async def stop(self) -> list[str]:
        """End all children, the last one first, and return the names of those that did not stop.

        Returns within ``stop_within`` seconds. Nothing is restarted any more. Stopping twice does nothing
        more.
        """
        if self._member is not None:
            manager, self._member = self._member, None
            try:
                await end_members([manager], self._patience())
            finally:
                await self._end_all()
                self._note_whether_all_rest()
        return [member.name for member in self._stragglers()]

    # ------------------------------------------------------------------------------------------------
    # Starting and stopping

    async def _end(self) -> None:
        await self.stop()
        report_stragglers(self.name, self._stragglers(), self._patience())

    def _stragglers(self) -> list[Member]:
        return [member for member in self._left_behind if not member.over.done()]

    async def _start(self, charge: _Charge) -> None:
        child = charge.child
        if charge.state == "new":
            record("hire", child.name)
        charge.state = "running"
        charge.member = Member(child.name, partial(self._live, child), on_over=self._on_over)
        self._monitor.expect(child.name)
        await asyncio.sleep(0)  # let it make its first step before the next one is started

    async def _live(self, child: Child) -> None:
        """The life of a child, in a task of its own."""
        async with beat(self._space, child.name, self._every):
            await run(child.name, child.start)

    async def _end_all(self) -> None:
        await self._end_some(list(self._charges.values()))
        for charge in self._charges.values():
            if charge.state != "resting":
                charge.state = "stopped"

    async def _end_some(self, charges: list[_Charge]) -> None:
        """End the children that run, the last one first."""
        cancellation: asyncio.CancelledError | None = None
        for charge in reversed(charges):
            if charge.member is not None:
                self._monitor.forget(charge.child.name)
                try:
                    await end_members([charge.member], self._patience())
                except asyncio.CancelledError as error:
                    cancellation = error  # the others are ended all the same
                if not charge.member.over.done():
                    self._left_behind.append(charge.member)
                charge.member = None
        if cancellation is not None:
            raise cancellation

    def _patience(self) -> float:
        """Return how long to wait for the end of one child, or of the manager."""
        return self._stop_within / (len(self._charges) + 1)

    def _note_whether_all_rest(self) -> None:
        if all(charge.state in ("resting", "stopped") for charge in self._charges.values()):
            self._all_rest.set()
        else:
            self._all_rest.clear()

    # ------------------------------------------------------------------------------------------------
    # The manager: a task that does one thing after the other

    async def _serve(self) -> None:
        async with self._monitor:
            while True:
                step = await self._to_do.get()
                await step()

    def _on_over(self, member: Member) -> None:
        """A child has ended. Of a crash nobody is told: that has to be noticed by its silence."""
        if member.life.alive:
            self._to_do.put_nowait(partial(self._treat_end, member))

    async def _on_silence(self, name: str) -> None:
        member = self._charges[name].member
        if member is not None:
            self._to_do.put_nowait(partial(self._treat, member, "fell silent", has_failed=True))

    async def _treat_end(self, member: Member) -> None:
        if member.error is not None:
            await self._treat(member, f"raised {member.error!r}", has_failed=True)
        else:
            cause = "cancelled itself" if member.task.cancelled() else "returned"
            await self._treat(member, cause, has_failed=False)

    async def _treat(self, member: Member, cause: str, *, has_failed: bool) -> None:
        """Do what has to be done about a child that has ended, or has fallen silent."""
        charge = self._charges[member.name]
        if charge.member is not member:
            return  # it was ended on purpose, and perhaps restarted since
        charge.cause = cause
        restart = charge.child.restart
        if restart is Restart.NEVER or (restart is Restart.ON_FAILURE and not has_failed):
            await self._end_some([charge])
            charge.state = "resting"
            self._note_whether_all_rest()
            return
        await self._count_restart(charge, member.error)
        await self._restart(charge)

    async def _count_restart(self, charge: _Charge, error: BaseException | None) -> None:
        now = asyncio.get_running_loop().time()
        while self._restarts and now - self._restarts[0] >= self._within:
            self._restarts.popleft()
        if len(self._restarts) < self._max_restarts:
            self._restarts.append(now)
            return
        name = charge.child.name
        record("give_up", name, by=self.name, cause=charge.cause, restarts=len(self._restarts))
        await self._end_all()
        raise RestartLimitReached(
            f"{name} {charge.cause} after {len(self._restarts)} restarts within {self._within:g} s, so all "
            "children were stopped. Look into the cause; a higher max_restarts would only hide it."
        ) from error

    async def _restart(self, failed: _Charge) -> None:
        """Start a child again, and those that the strategy restarts with it."""
        affected = self._affected(failed)
        await self._end_some(affected)
        to_start = [charge for charge in affected if charge.child.restart is not Restart.NEVER]
        for charge in affected:
            charge.state = "restarting" if charge in to_start else "resting"
        delay = self._delay()
        await asyncio.sleep(delay)
        for charge in to_start:
            charge.restarts += 1
            record("restart", charge.child.name, by=self.name, cause=failed.cause, after=delay)
            await self._start(charge)

    def _affected(self, failed: _Charge) -> list[_Charge]:
        charges = list(self._charges.values())
        if self._strategy is Strategy.ONE_FOR_ONE:
            return [failed]
        if self._strategy is Strategy.REST_FOR_ONE:
            charges = charges[charges.index(failed) :]
        return [charge for charge in charges if charge.member is not None]

    def _delay(self) -> float:
        """Return how long to wait before a restart, in seconds.

        It doubles with each restart that still counts. Even the sum of all waits stays below half the
        period, so that a child that always fails at once does reach the limit.
        """
        doubled: float = FIRST_DELAY * 2 ** (len(self._restarts) - 1)
        return min(doubled, self._within / (2 * self._max_restarts))
