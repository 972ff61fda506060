"""Heartbeat: how one notices that somebody has crashed, although the dead say nothing.

Everybody who works writes ``("heartbeat", name, time)`` again and again, the time in seconds on the loop's
clock. A monitor looks how old the latest heartbeat of each is. Silence has many causes, so it suspects first,
and declares somebody dead only when the silence goes on. A beat that comes after all clears the suspicion.

>>> import asyncio
>>> from tutorial_lib.faults import crash
>>> from tutorial_lib.simulation import simulate
>>> from tutorial_lib.space import TupleSpace
>>> from tutorial_lib.trace import actor
>>> async def main():
...     space = TupleSpace()
...     async def worker():
...         async with beat(space, "w1", every=1):
...             await asyncio.sleep(60)
...     with actor("w1"):
...         task = asyncio.create_task(worker())
...     async with Monitor(space, timeout=3, every=1, expect=["w1"]):
...         await asyncio.sleep(30)
>>> run = simulate(main, faults=[crash("w1", at=10)])
>>> [(event.kind, event.time) for event in run.trace.of("crash", "suspect", "dead")]
[('crash', 10.0), ('suspect', 12.0), ('dead', 13.0)]

A rule of thumb: beat three to five times within the timeout, and look about as often as others beat.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, Protocol, Self

from tutorial_lib.arguments import check_count, check_period
from tutorial_lib.members import Service, record
from tutorial_lib.patterns import ANY, where
from tutorial_lib.space import SpaceClosed, TupleSpace
from tutorial_lib.virtual_loop import VirtualLoop

__all__ = ["Detector", "FixedTimeout", "MissedBeats", "Monitor", "PhiAccrual", "beat"]

GAPS_REMEMBERED = 100
SUSPECT_AT = 0.5  # of the suspicion at which a detector is sure


# ---------------------------------------------------------------------------------------------------
# Beating


def beat(space: TupleSpace, name: str, every: float) -> AbstractAsyncContextManager[object]:
    """Write a heartbeat of ``name`` into ``space`` now and ``every`` seconds: ``async with beat(...):``.

    The beats keep to their schedule whatever the block awaits. Each replaces the one before it as one step,
    so a heartbeat is never missing. A beat that cannot be written is noted in the trace, and the next one
    is tried all the same. When the block is left the beating ends; the last heartbeat stays in the space
    and grows old.

    Raises `TypeError` or `ValueError` unless ``name`` is a text and ``every`` a positive number of seconds.

    >>> from tutorial_lib.simulation import simulate
    >>> async def main():
    ...     space = TupleSpace()
    ...     async with beat(space, "w1", every=2):
    ...         await asyncio.sleep(5)
    ...     return await space.read_all()
    >>> simulate(main).result
    [('heartbeat', 'w1', 4.0)]
    """
    if not isinstance(name, str):
        raise TypeError(
            f"beat() needs the name of who beats, got {name!r}. Write beat(space, 'w1', every=1)."
        )
    check_period("every", every)
    return _Beating(space, name, every)


class _Beating(Service):
    """What `beat` returns."""

    def __init__(self, space: TupleSpace, name: str, every: float) -> None:
        super().__init__(name)
        self._space = space
        self._every = every

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            try:
                await self._beat(loop)
            except SpaceClosed:
                return
            except Exception as error:
                record("note", text=f"a heartbeat could not be written: {error!r}")
            due += self._every
            if due < loop.time():  # after a long stop: what was missed is not made up for
                due = loop.time() + self._every
            await asyncio.sleep(due - loop.time())

    async def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if isinstance(loop, VirtualLoop) and loop.is_muted(self.name):
            return
        heartbeat = ("heartbeat", self.name, loop.time())
        await self._space.replace(("heartbeat", self.name, ANY), heartbeat, insert=True)
        record("beat", space=self._space.name, fields=(self.name,))


# ---------------------------------------------------------------------------------------------------
# Judging silence


class Detector(Protocol):
    """How suspicious a silence is. Any object with this one method will do."""

    def suspicion(self, silence: float, gaps: Sequence[float]) -> float:
        """Return 0 for no suspicion up to 1 for certainty; from 0.5 on the member is suspect.

        ``silence`` is the time in seconds since the last sign of life, ``gaps`` are the times between the
        beats before that, oldest first; there are none at the beginning.
        """


@dataclass(frozen=True)
class FixedTimeout:
    """Certain after ``timeout`` seconds of silence. Simple, and right where beats come evenly.

    >>> FixedTimeout(3).suspicion(silence=1.5, gaps=[1, 1, 1])
    0.5
    """

    timeout: float

    def __post_init__(self) -> None:
        check_period("timeout", self.timeout)

    def suspicion(self, silence: float, gaps: Sequence[float]) -> float:
        """Return which part of the timeout is over."""
        return silence / self.timeout


@dataclass(frozen=True)
class MissedBeats:
    """Certain when ``count`` beats in a row have not come, where one is due ``every`` seconds.

    A beat counts as missed when it is late by half the time between two.

    >>> [MissedBeats(3, every=1).suspicion(silence, []) for silence in (1.2, 2.6, 3.6)]
    [0.0, 0.6666666666666666, 1.0]
    """

    count: int
    every: float

    def __post_init__(self) -> None:
        check_count("count", self.count, least=1)
        check_period("every", self.every)

    def suspicion(self, silence: float, gaps: Sequence[float]) -> float:
        """Return which part of ``count`` was missed."""
        return max(0, math.floor(silence / self.every - 0.5)) / self.count


@dataclass(frozen=True)
class PhiAccrual:
    """Certain when a silence so long is too unlikely, judged by the gaps that this very member had so far.

    phi = -log10(the probability that the next beat comes even later), with normally distributed gaps. A phi
    of ``threshold`` is certainty: 8 means a false alarm in 10^8. ``every`` is the gap that is expected
    before there are any; ``least_deviation`` keeps beats that come too evenly from causing alarm at the
    first delay; both in seconds.

    Source: Hayashibara, Défago, Yared and Katayama, "The phi accrual failure detector", SRDS 2004.

    >>> even, uneven = [1.0, 1.0, 1.0, 1.0], [0.4, 1.6, 0.4, 1.6]
    >>> [round(PhiAccrual().suspicion(2.5, gaps), 2) for gaps in (even, uneven)]
    [1.13, 0.28]
    """

    threshold: float = 8.0
    every: float = 1.0
    least_deviation: float = 0.25

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise ValueError(f"threshold is a number, more than 0, got {self.threshold!r}.")
        check_period("every", self.every)
        check_period("least_deviation", self.least_deviation)

    def suspicion(self, silence: float, gaps: Sequence[float]) -> float:
        """Return phi as a part of the threshold."""
        mean = fmean(gaps) if gaps else self.every
        deviation = math.sqrt(fmean((gap - mean) ** 2 for gap in gaps)) if gaps else 0.0
        deviation = max(deviation, self.least_deviation)
        later = math.erfc((silence - mean) / (deviation * math.sqrt(2))) / 2
        phi = -math.log10(later) if later > 0 else math.inf
        return phi / self.threshold


# ---------------------------------------------------------------------------------------------------
# Watching over others


class _Pulse:
    """What the monitor knows about one member."""

    def __init__(self, since: float) -> None:
        self.state = "alive"
        self.last = since  # the moment of its last sign of life; at first, of being expected
        self.newest = -math.inf  # the newest moment that any of its heartbeats named
        self.gaps: deque[float] = deque(maxlen=GAPS_REMEMBERED)
        self.is_fresh = False  # a beat has come since the last alarm

    def hear(self, moment: float, now: float) -> None:
        """Note a heartbeat. One that is read again, or after a later one, says nothing new."""
        if moment <= self.newest:
            return
        is_first = self.newest == -math.inf
        self.newest = moment
        heard = min(moment, now)  # a clock that is ahead must not make anybody immortal
        if heard <= self.last:
            return
        if not is_first:
            self.gaps.append(heard - self.last)
        if self.state == "left":
            self.state = "alive"
        self.last = heard
        self.is_fresh = True


def _is_moment(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


_HEARTBEAT: Final = ("heartbeat", str, where(_is_moment, "a moment in seconds"))


class Monitor(Service):
    """Watches the heartbeats in ``space``: ``async with Monitor(space, timeout=3, every=1):``.

    It looks every ``every`` seconds. A member whose last beat is half the ``timeout`` old is suspect, and
    dead when all of the timeout is over; another ``detector`` in place of the timeout judges in its own way.
    A suspect or dead member that beats again is cleared. All who ever beat are watched (unless
    ``only_expected``), and those in ``expect`` from the beginning, so that one who never beats is missed.

    A monitor that was itself frozen, so that it looks later than it meant to by more than ``every``, does
    not trust what it sees: it gives everybody time for a fresh beat, as if the last had come just now.

    Each death is told to the async function ``on_dead(name)``. Its errors are noted in the trace, and the
    next look waits until it has returned. ``suspect``, ``clear`` and ``dead`` are recorded under the name of
    the member, with the ``timeout``, if there is one, and with ``by``, the ``name`` of this monitor, under
    which it can be made to crash, too.

    Raises `TypeError` or `ValueError` if an argument makes no sense.

    >>> from tutorial_lib.simulation import simulate
    >>> async def main():
    ...     space = TupleSpace()
    ...     async with Monitor(space, timeout=3, every=1, expect=["w1", "w2"]) as monitor:
    ...         async with beat(space, "w1", every=1):
    ...             await asyncio.sleep(2.5)
    ...             early = monitor.status()
    ...             await asyncio.sleep(2)
    ...             return early, monitor.status()
    >>> simulate(main).result
    ({'w1': 'alive', 'w2': 'suspect'}, {'w1': 'alive', 'w2': 'dead'})
    """

    def __init__(
        self,
        space: TupleSpace,
        *,
        timeout: float | None = None,
        every: float,
        expect: Iterable[str] = (),
        detector: Detector | None = None,
        on_dead: Callable[[str], Awaitable[object]] | None = None,
        only_expected: bool = False,
        name: str = "monitor",
    ) -> None:
        if (timeout is None) == (detector is None):
            raise TypeError(
                "A Monitor needs either a timeout in seconds or a detector. "
                "Write Monitor(space, timeout=3, every=1)."
            )
        if timeout is not None:
            detector = FixedTimeout(timeout)
        assert detector is not None
        check_period("every", every)
        if isinstance(expect, str):
            raise TypeError(f"expect is a list of names, got the text {expect!r}. Write [{expect!r}].")
        super().__init__(name)
        self._space = space
        self._detector = detector
        self._every = every
        self._expected = list(expect)
        self._on_dead = on_dead
        self._only_expected = only_expected
        self._pulses: dict[str, _Pulse] = {}
        self._patient_since = -math.inf  # silence before this moment counts for nothing

    def __repr__(self) -> str:
        return f"<Monitor {self.name}, {self.status()}>"

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._pulses = {}
        self._patient_since = -math.inf
        for name in self._expected:
            self.expect(name)
        return self

    def status(self) -> dict[str, str]:
        """Return what each member is thought to be: "alive", "suspect" or "dead"."""
        return {name: pulse.state for name, pulse in self._pulses.items() if pulse.state != "left"}

    def expect(self, name: str) -> None:
        """Watch ``name`` from now on. If it was suspect or dead, it is cleared and gets a new chance."""
        if self.status().get(name, "alive") != "alive":
            self._tell("clear", name)
        self._pulses[name] = _Pulse(asyncio.get_running_loop().time())

    def forget(self, name: str) -> None:
        """Stop watching ``name``, who has left in good order. Its next new beat brings it back."""
        if name in self._pulses:
            self._pulses[name].state = "left"

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            heartbeats = await self._space.read_all(*_HEARTBEAT)
            now = loop.time()
            if now - due > self._every:
                record("note", text=f"{self.name} was frozen for {now - due:g} s and waits for fresh beats")
                self._patient_since = now
                due = now
            for _, name, moment in heartbeats:
                self._hear(name, moment, now)
            for name in list(self._pulses):
                await self._judge(name, now)
            due += self._every
            await asyncio.sleep(max(0.0, due - loop.time()))

    def _hear(self, name: str, moment: float, now: float) -> None:
        if name not in self._pulses:
            if self._only_expected:
                return
            self._pulses[name] = _Pulse(min(moment, now))
        self._pulses[name].hear(moment, now)

    async def _judge(self, name: str, now: float) -> None:
        """Say aloud what is new about a member."""
        pulse = self._pulses[name]
        if pulse.state == "left":
            return
        silence = now - max(pulse.last, self._patient_since)
        suspicion = self._detector.suspicion(silence, pulse.gaps)
        if pulse.state != "alive" and pulse.is_fresh and suspicion < SUSPECT_AT:
            pulse.state = "alive"
            self._tell("clear", name)
        if pulse.state == "alive" and suspicion >= SUSPECT_AT:
            pulse.state = "suspect"
            pulse.is_fresh = False
            self._tell("suspect", name, silence=silence)
        if pulse.state == "suspect" and suspicion >= 1:
            pulse.state = "dead"
            self._tell("dead", name, silence=silence)
            await self._report_death(name)

    def _tell(self, kind: str, name: str, **detail: float) -> None:
        if isinstance(self._detector, FixedTimeout):
            detail["timeout"] = self._detector.timeout
        record(kind, name, space=self._space.name, fields=(name,), by=self.name, **detail)

    async def _report_death(self, name: str) -> None:
        if self._on_dead is None:
            return
        try:
            await self._on_dead(name)
        except Exception as error:
            record("note", text=f"on_dead({name!r}) raised {error!r}")
