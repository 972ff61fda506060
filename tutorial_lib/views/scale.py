"""Scale: from seconds to places on an axis, and to the texts beside it.

>>> scale = Scale(0.0, 12.0, left=100, right=700)
>>> scale.place(6.0), [(tick.place, tick.text) for tick in scale.ticks(5)][:2]
(400.0, [(100.0, '0'), (350.0, '5')])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Scale", "Tick", "round_up", "time_text"]

UNITS = [("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86400.0)]
FEWEST = {"µs": 0.0, "ms": 2.0, "s": 0.5, "min": 10.0, "h": 3.0, "d": 3.0}
"""A unit is used if the axis is at least so many of it long, or else a smaller one."""
SIXTIES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600)
HOURS = (1, 2, 3, 6, 12, 24, 48, 96)


class Tick(NamedTuple):
    """A mark on the axis; ``text`` is its number, and at the last tick the unit, too."""

    place: float
    text: str


@dataclass(frozen=True)
class Scale:
    """An axis from ``begin`` to ``end``, in seconds, drawn from ``left`` to ``right``."""

    begin: float
    end: float
    left: float
    right: float

    @property
    def span(self) -> float:
        """How long the axis is, in seconds."""
        return self.end - self.begin

    def place(self, time: float) -> float:
        """Return where a moment is; the ends of the axis are never left."""
        share = (min(max(time, self.begin), self.end) - self.begin) / self.span
        return self.left + share * (self.right - self.left)

    def text(self, time: float) -> str:
        """Write a moment in the unit of this axis."""
        return time_text(time, self.span)

    def ticks(self, most: int) -> list[Tick]:
        """Return ``most`` ticks or fewer, at round numbers."""
        unit, size = _unit(self.span)
        step = _step(self.span / size / most, unit)
        first, last = math.ceil(self.begin / size / step - 1e-9), math.floor(self.end / size / step + 1e-9)
        numbers = [number * step for number in range(first, last + 1)]
        texts = [f"{number:.10g}" for number in numbers]
        if texts:
            texts[-1] += f" {unit}"
        return [Tick(self.place(number * size), text) for number, text in zip(numbers, texts, strict=True)]


def time_text(time: float, span: float) -> str:
    """Write a moment or a duration, as exactly as a run of ``span`` seconds asks for.

    >>> time_text(2.5, 12), time_text(0.0004, 0.001), time_text(5400, 86400), time_text(1.23456, 12)
    ('2.5 s', '400 µs', '1.5 h', '1.23 s')
    """
    unit, size = _unit(span)
    decimals = max(0, math.ceil(3 - math.log10(max(span / size, 1e-9))))
    text = f"{time / size:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{'0' if text == '-0' else text} {unit}"


def _unit(span: float) -> tuple[str, float]:
    """Return the largest unit of which the axis has enough, and its size in seconds."""
    fitting = [(unit, size) for unit, size in UNITS if span / size >= FEWEST[unit]]
    return fitting[-1] if fitting else UNITS[0]


def _step(least: float, unit: str) -> float:
    """Return the next round number from ``least`` on."""
    rounds = {"min": SIXTIES, "h": HOURS}.get(unit, ())
    return next((float(step) for step in rounds if step >= least), round_up(least))


def round_up(number: float) -> float:
    """Return the next of ..., 0.5, 1, 2, 5, 10, 20, 50, ... that is at least ``number``.

    >>> round_up(3), round_up(0.04), round_up(12)
    (5.0, 0.05, 20.0)
    """
    if number <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(number))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= number * (1 - 1e-9))
