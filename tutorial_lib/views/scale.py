"""Scale: from seconds to places on an axis, and to the texts beside it.

>>> scale = Scale(0.0, 12.0, left=100, right=700)
>>> scale.place(6.0), [(tick.place, tick.text) for tick in scale.ticks(5)]
(400.0, [(100.0, '0'), (350.0, '5'), (600.0, '10 s')])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Scale", "Tick", "round_up"]

UNITS = [("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86400.0)]
FEWEST = {"µs": 0.0, "ms": 2.0, "s": 0.5, "min": 10.0, "h": 3.0, "d": 3.0}
"""A unit is used if the axis is at least so many of it long, or else a smaller one."""

STEPS = {"min": (1, 2, 5, 10, 15, 30, 60, 120, 300, 600), "h": (1, 2, 3, 6, 12, 24, 48, 96)}
"""Round numbers of the units that are not counted in tens."""


class Tick(NamedTuple):
    """A mark on the axis. ``text`` is its number; at the last tick the unit, too."""

    place: float
    text: str


@dataclass(frozen=True)
class Scale:
    """An axis from ``begin`` to ``end``, in seconds, drawn from ``left`` to ``right``.

    A clock that began long before the axis would need long numbers: then moments are written as counted from
    ``begin``, and `since` says what that is.
    """

    begin: float
    end: float
    left: float = 0.0
    right: float = 1.0

    @property
    def since(self) -> str:
        """The moment that moments are counted from, as in "after 365 d"; "" if that is 0."""
        return f"after {_text(self.begin, self.begin)}" if self.begin else ""

    def place(self, time: float) -> float:
        """Return where a moment is. The ends of the axis are never left."""
        share = (min(max(time, self.begin), self.end) - self.begin) / (self.end - self.begin)
        return self.left + share * (self.right - self.left)

    def moment(self, time: float) -> str:
        """Write a moment as exactly as this axis asks for.

        >>> Scale(0, 12).moment(1.23456), Scale(0, 86400).moment(5400), Scale(1e6, 1e6 + 9).moment(1e6 + 2.5)
        ('1.23 s', '1.5 h', '2.5 s')
        """
        return self.length(time - self.begin)

    def length(self, seconds: float) -> str:
        """Write a duration as exactly as this axis asks for."""
        return _text(seconds, self.end - self.begin)

    def ticks(self, most: int) -> list[Tick]:
        """Return ``most`` ticks or fewer, at round numbers."""
        span = self.end - self.begin
        unit, size = _unit(span)
        step = _step(span / size / most, unit)
        numbers = [number * step for number in range(math.floor(span / size / step + 1e-9) + 1)]
        texts = [f"{number:.10g}" for number in numbers]
        texts[-1] += f" {unit}"
        places = [self.place(self.begin + number * size) for number in numbers]
        return [Tick(place, text) for place, text in zip(places, texts, strict=True)]


def _text(seconds: float, span: float) -> str:
    """Write seconds in the unit that suits ``span``, to about a thousandth of it."""
    unit, size = _unit(span)
    decimals = max(0, math.ceil(3 - math.log10(max(span / size, 1e-9))))
    text = f"{seconds / size:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{'0' if text == '-0' else text} {unit}"


def _unit(span: float) -> tuple[str, float]:
    """Return the largest unit of which there are enough in ``span``, and its size in seconds."""
    fitting = [(unit, size) for unit, size in UNITS if span / size >= FEWEST[unit]]
    return fitting[-1] if fitting else UNITS[0]


def _step(least: float, unit: str) -> float:
    """Return the next round number from ``least`` on."""
    return next((float(step) for step in STEPS.get(unit, ()) if step >= least), round_up(least))


def round_up(number: float) -> float:
    """Return the next of ..., 0.5, 1, 2, 5, 10, 20, 50, ... that is at least ``number``.

    >>> round_up(3), round_up(0.04), round_up(12)
    (5.0, 0.05, 20.0)
    """
    if number <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(number))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= number * (1 - 1e-9))
