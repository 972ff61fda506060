"""Faults: bad things that happen from outside, as plain data with a time.

A list of faults says what goes wrong in a run and when. The same list serves a lesson, an exercise, the
player and a test, and every fault prints as the code that makes it.

>>> [crash("w1", at=3), hang("w2", at=4, seconds=10)]
[crash("w1", at=3), hang("w2", at=4, seconds=10)]

=======  =================================================================================
crash    the actor falls silent for ever: nothing of it runs again, nothing tidies up
hang     the actor does nothing for a while (or for ever), then goes on as if nothing was
slow     the work of the actor takes longer
mute     the heartbeats of the actor get lost, although it works
hire     a crew gets one more worker
=======  =================================================================================

A fault happens when everything else that happens at its moment has happened. One that meets nobody, since
the actor never was, has ended or has crashed, does nothing and is listed in ``Run.unused_faults``.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields

from tutorial_lib.simulation import Control

__all__ = ["crash", "hang", "hire", "mute", "slow"]


def crash(name: str, at: float) -> Crash:
    """Let the actor ``name`` crash at the virtual second ``at``: silence, without any tidying up.

    Raises `TypeError` or `ValueError` if ``name`` is not text or empty, or ``at`` not a number, 0 or more.

    >>> import asyncio
    >>> from tutorial_lib import actor, simulate
    >>> async def main():
    ...     with actor("w1"):
    ...         worker = asyncio.create_task(asyncio.sleep(5))
    ...     await asyncio.sleep(10)
    ...     return worker.done()
    >>> simulate(main, faults=[crash("w1", at=3)]).result
    False
    """
    return Crash(name, at)


def hang(name: str, at: float, seconds: float | None = None) -> Hang:
    """Let the actor ``name`` do nothing from second ``at`` on, for ``seconds`` (None: for ever).

    What it would have done meanwhile it does afterwards, in the same order. Raises `TypeError` or
    `ValueError` as `crash` does, also if ``seconds`` is not more than 0.

    >>> hang("w1", at=3)
    hang("w1", at=3)
    """
    return Hang(name, at, seconds)


def slow(name: str, at: float, factor: float = 4) -> Slow:
    """Let the work of the actor ``name`` take ``factor`` times as long from second ``at`` on.

    A factor of 1 is the normal pace, below 1 is faster; it is 4 if left out. It applies to `work`, also to
    what is under way. Raises `TypeError` or `ValueError` as `crash` does, also if ``factor`` is not more
    than 0.

    >>> slow("w1", at=3, factor=4)
    slow("w1", at=3, factor=4)
    """
    return Slow(name, at, factor)


def mute(name: str, at: float, seconds: float | None = None) -> Mute:
    """Let the heartbeats of the actor ``name`` get lost from second ``at`` on.

    They do for ``seconds`` (None: for ever), although the actor is well and works on. Raises `TypeError` or
    `ValueError` as `crash` does, also if ``seconds`` is not more than 0.

    >>> mute("w1", at=3, seconds=5)
    mute("w1", at=3, seconds=5)
    """
    return Mute(name, at, seconds)


def hire(name: str, at: float) -> Hire:
    """Let a crew hire a worker called ``name`` at second ``at``.

    Raises `TypeError` or `ValueError` as `crash` does.

    >>> hire("w4", at=5)
    hire("w4", at=5)
    """
    return Hire(name, at)


@dataclass(frozen=True, repr=False)
class _Fault:
    name: str
    at: float

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f'{self!r}: the name of an actor is text, such as "w1", got {self.name!r}.')
        if not self.name:
            raise ValueError(f"{self!r}: the name of an actor has at least one letter.")
        _check_number(self, "at", self.at)
        if self.at < 0:
            raise ValueError(f"{self!r}: at is a virtual second, 0 or more.")

    def __repr__(self) -> str:
        """Return the code that makes this fault."""
        name = json.dumps(self.name, ensure_ascii=False) if isinstance(self.name, str) else repr(self.name)
        arguments = [(field.name, getattr(self, field.name)) for field in fields(self)[1:]]
        texts = [f"{key}={value!r}" for key, value in arguments if value is not None]
        return f"{type(self).__name__.lower()}({', '.join([name, *texts])})"


@dataclass(frozen=True, repr=False)
class Crash(_Fault):
    """Made by `crash`."""

    def apply(self, control: Control) -> bool:
        """Do it; tell whether it took effect."""
        return control.crash(self.name)


@dataclass(frozen=True, repr=False)
class Hang(_Fault):
    """Made by `hang`."""

    seconds: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_seconds(self, self.seconds)

    def apply(self, control: Control) -> bool:
        """Do it; tell whether it took effect."""
        return control.hang(self.name, self.seconds)


@dataclass(frozen=True, repr=False)
class Slow(_Fault):
    """Made by `slow`."""

    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number(self, "factor", self.factor)
        if self.factor <= 0:
            raise ValueError(f"{self!r}: factor is more than 0; 4 means four times as long.")

    def apply(self, control: Control) -> bool:
        """Do it; tell whether it took effect."""
        return control.slow(self.name, self.factor)


@dataclass(frozen=True, repr=False)
class Mute(_Fault):
    """Made by `mute`."""

    seconds: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_seconds(self, self.seconds)

    def apply(self, control: Control) -> bool:
        """Do it; tell whether it took effect."""
        return control.mute(self.name, self.seconds)


@dataclass(frozen=True, repr=False)
class Hire(_Fault):
    """Made by `hire`."""

    def apply(self, control: Control) -> bool:
        """Do it; tell whether it took effect."""
        return control.hire(self.name)


def _check_number(fault: _Fault, name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{fault!r}: {name} is a number, got {value!r}.")
    if not math.isfinite(value):
        raise ValueError(f"{fault!r}: {name} is a finite number, got {value!r}.")


def _check_seconds(fault: _Fault, seconds: float | None) -> None:
    if seconds is None:
        return
    _check_number(fault, "seconds", seconds)
    if seconds <= 0:
        raise ValueError(f"{fault!r}: seconds is more than 0, or None for ever.")
