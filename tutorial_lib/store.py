"""Store: the tuples of a space in order of age, and the waiters, both found without looking at all of them.

=========  ================================================================================
sequence   the number that a tuple gets when it is written; the oldest tuple has the smallest
live       the tuples that are there, by sequence number: the one truth, everything else points at it
signature  which positions of a pattern are bound to a value; ``("task", 7, ANY)`` binds 0 and 1
index      for one signature: from the bound values to the sequence numbers of the tuples that have them
plan       how to look for patterns of one shape: which index, and which fields to test afterwards
=========  ================================================================================

An index is made when a signature is first asked for. Numbers are removed from it lazily: a number that is
no longer live is skipped when it is met, and all of them go once they outnumber the live ones.
"""

from __future__ import annotations

import heapq
from abc import ABCMeta
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from enum import Enum
from operator import itemgetter
from typing import Any, Final, Generic, Protocol, TypeVar

from tutorial_lib.patterns import ANY, Pattern, Where, field_matches

Fields = tuple[Any, ...]

ATOMS: Final = frozenset({str, int, float, bool, type(None), bytes})
"""Immutable values, which nobody has to copy and every index can hold."""

INDEXES_PER_LENGTH: Final = 8  # a write keeps every index of its length up to date, so there are not many
DEAD_ALLOWED: Final = 1024  # dead numbers tolerated beyond the live ones before the indexes are cleaned
DEAD_ALLOWED_WHEN_EMPTY: Final = 64
LONG_SEARCH: Final = 64  # a search by class that skips more tuples than this gets an index of its own


def copied(fields: Fields) -> Fields:
    """Return a copy that shares no changeable value with ``fields``."""
    for value in fields:
        if type(value) not in ATOMS:
            return tuple(_copied_value(value) for value in fields)
    return fields


def _copied_value(value: Any) -> Any:
    if type(value) in ATOMS or (type(value) is frozenset and ATOMS.issuperset(map(type, value))):
        return value
    return deepcopy(value)  # which shares tuples that hold nothing changeable


# ---------------------------------------------------------------------------------------------------
# Plans


class Plan:
    """How to look for patterns of one shape, that is, with fields of these classes."""

    __slots__ = ("bound", "checked", "index", "key", "length", "typed", "untested")

    def __init__(self, shape: tuple[type, ...]) -> None:
        self.length = len(shape)
        self.bound = tuple(i for i, cls in enumerate(shape) if cls in ATOMS or issubclass(cls, Enum))
        self.key = _picker(self.bound)
        self.typed = tuple(i for i, cls in enumerate(shape) if cls is type or cls is ABCMeta)
        # 1, True and 1.0 share a place in every dictionary, so numbers are compared once more.
        exact = {i for i in self.bound if not issubclass(shape[i], (int, float))}
        self.checked = tuple(i for i, cls in enumerate(shape) if cls is not type(ANY) and i not in exact)
        self.untested = not self.checked
        self.index: Index | None = None


def plan_of(pattern: Pattern, plans: dict[tuple[type, ...], Plan]) -> Plan:
    """Return the plan for this pattern, made on first use and kept in ``plans``."""
    if len(pattern) == 2:  # by far the commonest lengths, and a tuple of two is made fastest this way
        first, second = pattern
        shape: tuple[type, ...] = (type(first), type(second))
    elif len(pattern) == 3:
        first, second, third = pattern
        shape = (type(first), type(second), type(third))
    else:
        shape = tuple(map(type, pattern))
    plan = plans.get(shape)
    if plan is None:
        plan = plans[shape] = Plan(shape)
    return plan


def _picker(positions: tuple[int, ...]) -> Callable[[Fields], Any]:
    """Return a function that picks these positions out of a tuple, as a key for a dictionary."""
    return itemgetter(*positions) if positions else _pick_nothing


def _pick_nothing(fields: Fields) -> None:
    return None


def fits(pattern: Pattern, fields: Fields, positions: Iterable[int]) -> bool:
    """Tell whether the fields at these positions match. The test of a ``where`` gets a copy."""
    for i in positions:
        wanted, value = pattern[i], fields[i]
        if isinstance(wanted, Where) and type(value) not in ATOMS:
            value = deepcopy(value)
        if not field_matches(wanted, value):
            return False
    return True


# ---------------------------------------------------------------------------------------------------
# The index and the store

Bucket = int | deque[int]
"""The numbers of one key: a bare number while there is one (an empty deque takes 760 bytes)."""


class Index:
    """From the values (and, if asked, the classes) at some positions to the numbers of the tuples."""

    __slots__ = ("bound", "buckets", "class_key", "classes", "key", "odd", "typed")

    def __init__(self, bound: tuple[int, ...], typed: tuple[int, ...]) -> None:
        self.bound = bound
        self.typed = typed
        self.key = _picker(bound)
        self.class_key = _picker(typed)
        self.buckets: dict[Any, Bucket] = {}
        self.odd: deque[int] = deque()  # tuples with a value at a bound position that cannot be hashed
        self.classes: dict[tuple[type, ...], None] = {}  # the combinations of classes seen so far

    def bucket_key(self, fields: Fields) -> Any:
        """Return the key under which a stored tuple is found."""
        if not self.typed:
            return self.key(fields)
        classes = tuple(type(fields[i]) for i in self.typed)
        self.classes[classes] = None
        return self.key(fields), classes

    def add(self, seq: int, fields: Fields) -> None:
        """Add the newest tuple."""
        try:
            key = self.bucket_key(fields)
            bucket = self.buckets.get(key)
        except Exception:  # unhashable, or a hash or == of the value's own that raises
            self.odd.append(seq)
            return
        if bucket is None:
            self.buckets[key] = seq
        elif isinstance(bucket, int):
            self.buckets[key] = deque((bucket, seq))
        else:
            bucket.append(seq)

    def add_back(self, seq: int, fields: Fields) -> None:
        """Add a tuple that was here before, at the place of its age."""
        try:
            key = self.bucket_key(fields)
            bucket = self.buckets.get(key)
        except Exception:
            _insert(self.odd, seq)
            return
        if bucket is None:
            self.buckets[key] = seq
            return
        if isinstance(bucket, int):
            bucket = self.buckets[key] = deque((bucket,))
        _insert(bucket, seq)

    def clear(self) -> None:
        """Forget everything."""
        self.buckets.clear()
        self.odd.clear()
        self.classes.clear()


def _insert(numbers: deque[int], seq: int) -> None:
    """Put a number at its place, unless it is there: a number is left behind when its tuple is removed."""
    place = bisect_left(numbers, seq)
    if place == len(numbers) or numbers[place] != seq:
        numbers.insert(place, seq)


class Store:
    """The tuples of a space.

    >>> store = Store()
    >>> store.add(0, ("task", 1)); store.add(1, ("task", 2))
    >>> store.oldest(("task", int))
    0
    >>> store.remove(0), store.oldest(("task", int)), store.all(("task", ANY))
    (('task', 1), 1, [1])
    """

    def __init__(self) -> None:
        self.live: dict[int, Fields] = {}
        self._plans: dict[tuple[type, ...], Plan] = {}
        self._indexes: dict[int, list[Index]] = {}  # by length of the tuple
        self._dead = 0

    def __len__(self) -> int:
        return len(self.live)

    def add(self, seq: int, fields: Fields) -> None:
        """Store a tuple that is newer than all that are here."""
        self.live[seq] = fields
        for index in self._indexes.get(len(fields), ()):
            index.add(seq, fields)

    def add_back(self, seq: int, fields: Fields) -> None:
        """Store a tuple at its old place among the others."""
        self.live[seq] = fields
        for index in self._indexes.get(len(fields), ()):
            index.add_back(seq, fields)

    def remove(self, seq: int) -> Fields:
        """Remove a tuple and return it."""
        fields = self.live.pop(seq)
        self._dead += 1
        if self._dead > DEAD_ALLOWED_WHEN_EMPTY and (
            not self.live or self._dead > len(self.live) + DEAD_ALLOWED
        ):
            self._clean()
        return fields

    def oldest(self, pattern: Pattern) -> int | None:
        """Return the number of the oldest tuple that matches, or None."""
        plan = plan_of(pattern, self._plans)
        index = plan.index or self._index_for(plan)
        if plan.untested and not index.odd and index is plan.index:
            # Nothing to test: the first live number of the bucket is the answer.
            bucket = index.buckets.get(plan.key(pattern))
            if bucket is None:
                return None
            live = self.live
            if isinstance(bucket, int):
                return bucket if bucket in live else None
            while bucket:
                if bucket[0] in live:
                    return bucket[0]
                bucket.popleft()
            del index.buckets[plan.key(pattern)]
            return None
        return next(self._search(pattern, plan, index), None)

    def all(self, pattern: Pattern = ()) -> list[int]:
        """Return the numbers of all tuples that match, oldest first. An empty pattern matches everything."""
        if not pattern:
            return sorted(self.live)
        plan = plan_of(pattern, self._plans)
        return list(self._search(pattern, plan, plan.index or self._index_for(plan)))

    def _search(self, pattern: Pattern, plan: Plan, index: Index) -> Iterator[int]:
        """Yield the numbers of the tuples that match, oldest first."""
        # Where the index covers the bound fields, only the others are left to test, except in odd tuples.
        positions = plan.checked if index.bound == plan.bound and not index.odd else range(plan.length)
        skipped = 0
        for seq in self._candidates(pattern, plan, index):
            fields = self.live.get(seq)
            if fields is None:
                continue
            if fits(pattern, fields, positions):
                yield seq
                continue
            skipped += 1
            if skipped == LONG_SEARCH and plan.typed and not index.typed:
                plan.index = self._make_index(plan.bound, plan.typed, plan.length)

    def _candidates(self, pattern: Pattern, plan: Plan, index: Index) -> Iterable[int]:
        """Return the numbers, oldest first, among which the matching ones are. Some may be dead."""
        key = plan.key(pattern) if index.bound == plan.bound else index.key(pattern)
        if not index.typed:
            buckets = [_numbers(index.buckets, key, self.live)]
        else:
            wanted = [pattern[i] for i in index.typed]
            buckets = [
                _numbers(index.buckets, (key, classes), self.live)
                for classes in index.classes
                if all(_covers(asked, cls) for asked, cls in zip(wanted, classes, strict=True))
            ]
        if index.odd:
            buckets.append(index.odd)
        return buckets[0] if len(buckets) == 1 else heapq.merge(*buckets)

    def _index_for(self, plan: Plan) -> Index:
        """Return the index for this plan: the one for its signature, or the nearest if there are too many."""
        for index in self._indexes.get(plan.length, ()):
            if index.bound == plan.bound and not index.typed:
                plan.index = index
                return index
        if len(self._indexes.get(plan.length, ())) < INDEXES_PER_LENGTH:
            plan.index = self._make_index(plan.bound, (), plan.length)
            return plan.index
        usable = [
            index
            for index in self._indexes[plan.length]
            if not index.typed and set(index.bound) <= set(plan.bound)
        ]
        if usable:
            return max(usable, key=lambda index: len(index.bound))
        # None fits, so the oldest one makes room for one without any bound position, which fits everybody.
        self._drop_index(self._indexes[plan.length][0], plan.length)
        return self._make_index((), (), plan.length)

    def _make_index(self, bound: tuple[int, ...], typed: tuple[int, ...], length: int) -> Index:
        indexes = self._indexes.setdefault(length, [])
        if typed and len(indexes) >= INDEXES_PER_LENGTH:
            self._drop_index(indexes[0], length)
        index = Index(bound, typed)
        indexes.append(index)
        self._fill([index], length)
        return index

    def _drop_index(self, index: Index, length: int) -> None:
        self._indexes[length].remove(index)
        for plan in self._plans.values():
            if plan.index is index:
                plan.index = None

    def _fill(self, indexes: list[Index], length: int) -> None:
        for seq in sorted(self.live):  # given-back tuples stand at the end of the dictionary
            fields = self.live[seq]
            if len(fields) == length:
                for index in indexes:
                    index.add(seq, fields)

    def _clean(self) -> None:
        """Throw the dead numbers out of all indexes."""
        for length, indexes in self._indexes.items():
            for index in indexes:
                index.clear()
            if self.live:
                self._fill(indexes, length)
        self._dead = 0


def _numbers(buckets: dict[Any, Bucket], key: Any, live: dict[int, Fields]) -> Iterable[int]:
    """Return the numbers under this key. Dead ones at the front are thrown out on the way."""
    bucket = buckets.get(key)
    if bucket is None:
        return ()
    if isinstance(bucket, int):
        return (bucket,)
    while bucket and bucket[0] not in live:
        bucket.popleft()
    return bucket


def _covers(asked: type, cls: type) -> bool:
    """Tell whether instances of ``cls`` match the class pattern ``asked``."""
    if asked is int and issubclass(cls, bool):
        return False
    return issubclass(cls, asked)


# ---------------------------------------------------------------------------------------------------
# The waiters


class Waiting(Protocol):
    """What the lines of waiters have to know of a waiter."""

    pattern: Pattern
    number: int  # the order of arrival


W = TypeVar("W", bound=Waiting)


class _Signature(Generic[W]):
    """The waiters whose patterns bind the same positions: by the bound values, in order of arrival."""

    __slots__ = ("key", "lines")

    def __init__(self, plan: Plan) -> None:
        self.key = plan.key
        self.lines: dict[Any, OrderedDict[int, W]] = {}


class Waiters(Generic[W]):
    """Those who wait for a tuple, found by the tuple. The same idea as `Index`, with the roles swapped."""

    def __init__(self) -> None:
        self._plans: dict[tuple[type, ...], Plan] = {}
        self._signatures: dict[
            int, dict[tuple[int, ...], _Signature[W]]
        ] = {}  # by length, by bound positions

    def __iter__(self) -> Iterator[W]:
        """Go through all waiters in order of arrival."""
        waiters = [
            waiter
            for signatures in self._signatures.values()
            for signature in signatures.values()
            for line in signature.lines.values()
            for waiter in line.values()
        ]
        return iter(sorted(waiters, key=lambda waiter: waiter.number))

    def add(self, waiter: W) -> None:
        """Add the latest waiter."""
        plan = plan_of(waiter.pattern, self._plans)
        signatures = self._signatures.setdefault(plan.length, {})
        signature = signatures.get(plan.bound)
        if signature is None:
            signature = signatures[plan.bound] = _Signature(plan)
        key = signature.key(waiter.pattern)
        line = signature.lines.get(key)
        if line is None:
            line = signature.lines[key] = OrderedDict()
        line[waiter.number] = waiter

    def remove(self, waiter: W) -> None:
        """Remove a waiter, and its signature if it was the last: every write asks for each signature."""
        plan = plan_of(waiter.pattern, self._plans)
        signatures = self._signatures[plan.length]
        signature = signatures[plan.bound]
        key = signature.key(waiter.pattern)
        line = signature.lines[key]
        del line[waiter.number]
        if not line:
            del signature.lines[key]
            if not signature.lines:
                del signatures[plan.bound]

    def first(self, fields: Fields, wants: Callable[[W, Fields], bool]) -> W | None:
        """Return the waiter that came first of all those that want this tuple, or None."""
        found: W | None = None
        for line in self._lines(fields):
            for waiter in line:
                if found is not None and waiter.number > found.number:
                    break
                if wants(waiter, fields):
                    found = waiter
                    break
        return found

    def all(self, fields: Fields, wants: Callable[[W, Fields], bool]) -> list[W]:
        """Return all waiters that want this tuple, in order of arrival."""
        found = [waiter for line in self._lines(fields) for waiter in line if wants(waiter, fields)]
        found.sort(key=lambda waiter: waiter.number)
        return found

    def _lines(self, fields: Fields) -> Iterator[Iterable[W]]:
        """Yield the lines in which somebody may want this tuple."""
        for signature in self._signatures.get(len(fields), {}).values():
            try:
                line = signature.lines.get(signature.key(fields))
            except Exception:  # a value that cannot be hashed: anybody of this signature may want it
                yield from (line.values() for line in signature.lines.values())
                continue
            if line is not None:
                yield line.values()
