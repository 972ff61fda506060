"""Thinning: from all that is known to what a picture can show.

A run of an hour may hold ten thousand bars on an axis of a few hundred dots. Neighbours that are too short
to be told apart become one bar; marks and counts that fall on one dot become one. Nothing else changes.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Bar", "Count", "Mark", "in_rows", "joined_bars", "spread", "thinned"]


class Bar(NamedTuple):
    """A stretch of time in which an actor worked, or had a tuple in hand."""

    begin: float
    end: float
    label: str  # what the task is called
    what: str  # its tuple
    how: str  # "done", "refused" (done too late), "failed", "cut short", or "running" while it has not ended
    is_work: bool  # False: it is only known that the actor had the tuple in hand
    busy: float  # seconds; less than end - begin where several bars are drawn as one
    pieces: int  # how many bars are drawn as one
    first: int  # number of the event that began it
    last: int | None  # number of the event that ended it
    row: int = 0  # bars of one actor that overlap stand in rows of their own

    @property
    def look(self) -> str:
        """What it looks like: "done", "failed", "running", "cut" or "hand"."""
        if not self.is_work:
            return "hand"
        return "cut" if self.how in ("cut short", "refused") else self.how


class Mark(NamedTuple):
    """A moment: of a sign, of a tick (``kind`` is "in" or "out"), or of a heartbeat."""

    time: float
    kind: str
    word: str
    number: int  # of its event


class Count(NamedTuple):
    """How many tuples of one kind there were from ``time`` on."""

    time: float
    height: int
    number: int  # of the event that changed it


def in_rows(bars: list[Bar]) -> list[Bar]:
    """Give bars that overlap rows of their own: each the first that is free."""
    ends: list[float] = []  # of the last bar in each row
    placed = []
    for bar in bars:
        end = float("inf") if bar.last is None else bar.end
        row = next((row for row, taken_until in enumerate(ends) if taken_until <= bar.begin), len(ends))
        ends[row : row + 1] = [end]
        placed.append(bar._replace(row=row) if row else bar)
    return placed


def joined_bars(bars: list[Bar], slot: float) -> list[Bar]:
    """Draw neighbours as one bar that are too short to be told apart.

    >>> short = [Bar(i, i + 0.9, "", "", "done", True, 0.9, 1, i, i) for i in range(3)]
    >>> [(bar.begin, bar.end, bar.pieces) for bar in joined_bars(short, slot=10)]
    [(0, 2.9, 3)]
    """
    latest: dict[int, Bar] = {}  # the last bar in each row
    joined = []
    for bar in bars:
        before = latest.get(bar.row)
        if before is not None and _look_like_one(before, bar, slot):
            bar = before._replace(
                end=bar.end,
                label="",
                what=f"{before.pieces + bar.pieces} pieces of work",
                busy=before.busy + bar.busy,
                pieces=before.pieces + bar.pieces,
                last=bar.last,
            )
        elif before is not None:
            joined.append(before)
        latest[bar.row] = bar
    return joined + list(latest.values())


def _look_like_one(before: Bar, bar: Bar, slot: float) -> bool:
    were_short = before.pieces > 1 or before.end - before.begin < 2 * slot
    is_short = bar.last is not None and bar.end - bar.begin < 2 * slot
    return were_short and is_short and before.how == bar.how and bar.begin - before.end < slot


def spread(marks: list[Mark], slot: float) -> list[Mark]:
    """Keep one mark of each kind for each slot."""
    latest: dict[str, float] = {}
    kept = []
    for mark in marks:
        if mark.kind not in latest or mark.time - latest[mark.kind] >= slot:
            latest[mark.kind] = mark.time
            kept.append(mark)
    return kept


def thinned(line: list[Count], slot: float) -> list[Count]:
    """Keep of each slot the last count, and the highest and the lowest."""
    slots: dict[int, list[Count]] = {}
    for count in line:
        slots.setdefault(int(count.time / slot), []).append(count)
    kept = []
    for group in slots.values():
        extremes = {max(group, key=_height), min(group, key=_height), group[-1]}
        kept += sorted(extremes, key=_number)
    return kept


def _height(count: Count) -> int:
    return count.height


def _number(count: Count) -> int:
    return count.number
