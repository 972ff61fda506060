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
from types import TracebackType
from typing import NamedTuple, TypeVar

from tutorial_lib.arguments import check_duration
from tutorial_lib.heartbeat import Monitor, beat
from tutorial_lib.members import (
    Block,
    Member,
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


def _member_of(words: type[Word], what: str, word: object) -> Word:
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


class SupervisedSystem:
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
    ...     async with SupervisedSystem(TupleSpace(), max_restarts=3, within=10) as system:
    ...         system.add(Child("printer", faulty))
    ...         await system.join()
    >>> simulate(main)
    Traceback (most recent call last):
    tutorial_lib.supervisor.RestartLimitReached: printer raised OSError('no such printer'), after 3 restarts \
within 10 s. All children were stopped. Look into the cause; a higher max_restarts only hides it.
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
        if not isinstance(max_restarts, int) or isinstance(max_restarts, bool):
            raise TypeError(f"max_restarts is a whole number, got {max_restarts!r}.")
        if max_restarts < 0:
            raise ValueError(f"max_restarts is 0 or more, got {max_restarts!r}.")
        for what, seconds in (("within", within), ("every", every), ("timeout", timeout), ("stop_within", stop_within)):
            if seconds is None:
                raise TypeError(f"{what} is a number of seconds, got None.")
            check_duration(what, seconds, zero=False)
        self._space = space
        self._strategy = _member_of(Strategy, "strategy", strategy)
        self._max_restarts = max_restarts
        self._within = within
        self._every = every
        self._stop_within = stop_within
        self._name = name
        self._monitor = Monitor(
            space, timeout=timeout, every=every, on_dead=self._on_silence, only_expected=True, name=name
        )
        self._charges: dict[str, _Charge] = {}
        self._restarts: deque[float] = deque()  # the moments of those that still count
        self._to_do: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._left_behind: list[Member] = []  # cancelled, and not ended in time
        self._all_rest = asyncio.Event()
        self._manager: Member | None = None  # while the system is at work
        self._block: Block | None = None

    def __repr__(self) -> str:
        return f"<SupervisedSystem {self._name}, {len(self._charges)} children>"
