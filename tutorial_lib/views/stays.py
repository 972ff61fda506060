"""Stays: what was somewhere at a given moment, out of all that ever came and went.

>>> stays = Stays()
>>> stays.note("a", "the first", came=True, number=0)
>>> stays.note("b", "the second", came=True, number=3)
>>> stays.note("a", "the first", came=False, number=5)
>>> stays.after(4), stays.after(6)
(['the first', 'the second'], ['the second'])
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Generic, TypeVar

from tutorial_lib.views.state import Change, Claimed, Stored, Waiting
from tutorial_lib.views.thinning import Count

__all__ = ["SpaceHistory", "Stays"]

T = TypeVar("T")


class Stays(Generic[T]):
    """Things that come and go, each event of it with a number that rises."""

    def __init__(self) -> None:
        self.most = 0  # the most that there ever were at the same time
        self._items: list[T] = []  # in the order in which they came
        self._came: list[int] = []  # the number of the event with which each came
        self._went: list[int | None] = []  # and with which it went
        self._present: dict[Hashable, int] = {}  # key -> place in the lists
        self._sizes: list[int] = []  # how many there were after each coming and going
        self._changed: list[int] = []  # and the number of that event

    def note(self, key: Hashable, item: T, came: bool, number: int) -> None:
        """Note that ``item``, known by ``key``, came or went with event ``number``."""
        if came:
            self._present[key] = len(self._items)
            self._items.append(item)
            self._came.append(number)
            self._went.append(None)
        elif key in self._present:
            self._went[self._present.pop(key)] = number
        self._sizes.append(len(self._present))
        self._changed.append(number)
        self.most = max(self.most, len(self._present))

    def size_after(self, number: int) -> int:
        """Return how many there were after ``number`` events."""
        place = bisect_left(self._changed, number)
        return self._sizes[place - 1] if place else 0

    def after(self, number: int, most: int | None = None) -> list[T]:
        """Return what was there after ``number`` events, or of that the ``most`` that came last."""
        missing = self.size_after(number)
        if most is not None:
            missing = min(missing, most)
        found: list[T] = []
        place = bisect_left(self._came, number)
        while missing > len(found):  # what came last is most likely to be there still
            place -= 1
            went = self._went[place]
            if went is None or went >= number:
                found.append(self._items[place])
        return found[::-1]

    def latest(self, number: int) -> T | None:
        """Return what came last, if it was still there after ``number`` events."""
        place = bisect_left(self._came, number) - 1
        if place < 0:
            return None
        went = self._went[place]
        return self._items[place] if went is None or went >= number else None


class SpaceHistory:
    """All that is known of one space, over the whole trace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tuples: Stays[Stored] = Stays()
        self.claims: Stays[Claimed] = Stays()
        self.waiting: Stays[Waiting] = Stays()
        self.counts: dict[str, list[Count]] = {}  # by kind of tuple
        self.closed: int | None = None  # number of the event that closed it

    def note(self, change: Change, time: float, number: int) -> None:
        """Note that something came or went."""
        item = change.item
        if isinstance(item, Stored):
            self.tuples.note(item.order, item, change.came, number)
            self._count(item.kind, 1 if change.came else -1, time, number)
        elif isinstance(item, Claimed):
            self.claims.note(item.token, item, change.came, number)
        else:
            self.waiting.note(item.number, item, change.came, number)

    def _count(self, kind: str, difference: int, time: float, number: int) -> None:
        line = self.counts.setdefault(kind, [])
        now = (line[-1].height if line else 0) + difference
        if line and line[-1].number == number:
            line.pop()  # replaced by one of its kind
        line.append(Count(time, now, number))
