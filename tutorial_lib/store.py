"""Store: the tuples of a space in order of age, and the waiters, both found without looking at all of them.

=========  ================================================================================
sequence   the number that a tuple gets when it is written; the oldest tuple has the smallest
live       the tuples that are there, by sequence number: the one truth, everything else points at it
first      the sequence number of the oldest tuple, as far as it is known
signature  which positions of a pattern are bound to a value; ``("task", 7, ANY)`` binds 0 and 1
index      for one signature: from the bound values to the sequence numbers of the tuples that have them
plan       how to look for patterns of one shape: which index, and which fields to test afterwards
=========  ================================================================================

While the oldest tuple is always the one that is asked for, its number is enough: the space serves as a queue.
An index is made when a signature is first asked for something else, and from then on lags behind: only when
it is asked again does it enter the tuples that were written since. So a write costs the same however many
indexes there are. Numbers leave the indexes just as lazily: a dead one, whose tuple is gone, is skipped when
it is met, and now and then all are thrown out where they outnumber the live ones.
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

INDEXES_PER_LENGTH: Final = 8  # each takes memory for every tuple, so there are not many
DEAD_ALLOWED: Final = 1024  # an index never holds more dead numbers than there are live ones and so many
TIDY_AFTER: Final = DEAD_ALLOWED // 4  # removals; each may be one dead number more and one live one less
TIDY_AFTER_WHEN_EMPTY: Final = 64
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

    __slots__ = ("bound", "checked", "index", "is_covered", "key", "length", "signature", "typed")

    def __init__(self, shape: tuple[type, ...]) -> None:
        self.length = len(shape)
        self.bound = tuple(i for i, cls in enumerate(shape) if cls in ATOMS or issubclass(cls, Enum))
        self.key = _picker(self.bound)
        self.typed = tuple(i for i, cls in enumerate(shape) if cls is type or cls is ABCMeta)
        # 1, True and 1.0 share a place in every dictionary, so numbers are compared once more.
        exact = {i for i in self.bound if not issubclass(shape[i], (int, float))}
        self.checked = tuple(i for i, cls in enumerate(shape) if cls is not type(ANY) and i not in exact)
        # where a store looks for tuples, and where those who wait for one stand
        self.index: Index | None = None
        self.is_covered = False  # whether one bucket of the index holds all that can match
        self.signature: _Signature[Any] | None = None


def plan_of(pattern: Pattern, plans: dict[tuple[type, ...], Plan]) -> Plan:
    """Return the plan for this pattern, made on first use and kept in ``plans``."""
    length = len(pattern)
    if length == 2:  # by far the commonest lengths, and a tuple of two is made fastest this way
        first, second = pattern
        shape: tuple[type, ...] = (type(first), type(second))
    elif length == 3:
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


def fits_plainly(pattern: Pattern, fields: Fields) -> bool:
    """Tell whether the fields match as far as a quick look goes. If not, `fits` may still find that they do.

    Looks only at classes and plain values, and asks no ``where`` test and nobody's own ``==``.
    """
    if len(pattern) != len(fields):
        return False
    i = -1  # counted by hand: zip and enumerate would take half as long again
    for wanted in pattern:
        i += 1
        if wanted is ANY:
            continue
        value = fields[i]
        kind = type(value)
        if kind is wanted or (kind is str and value is wanted):  # Python keeps texts of a program only once
            continue
        if kind is not type(wanted) or kind not in ATOMS or value != wanted:
            return False
    return True


def fits(pattern: Pattern, fields: Fields, positions: Iterable[int]) -> bool:
    """Tell whether the fields at these positions match. The test of a ``where`` gets a copy."""
    for i in positions:
        wanted, value = pattern[i], fields[i]
        kind = type(value)
        # The two commonest cases first: the very class, and a plain value of the same kind.
        if wanted is ANY or kind is wanted or (kind is type(wanted) and kind in ATOMS and value == wanted):
            continue
        if isinstance(wanted, Where) and kind not in ATOMS:
            value = deepcopy(value)
        if not field_matches(wanted, value):
            return False
    return True


# ---------------------------------------------------------------------------------------------------
# The index and the store

Bucket = int | deque[int]
"""The numbers of one key, at least one: while there is only one a bare number, as a deque takes 760 bytes."""


class Index:
    """From the values (and, if asked, the classes) at some positions to the numbers of the tuples."""

    __slots__ = ("bound", "buckets", "classes", "end", "held", "key", "length", "odd", "typed")

    def __init__(self, length: int, bound: tuple[int, ...], typed: tuple[int, ...]) -> None:
        self.length = length
        self.bound = bound
        self.typed = typed
        self.key = _picker(bound)
        self.buckets: dict[Any, Bucket] = {}
        self.odd: deque[int] = deque()  # tuples with a value at a bound position that cannot be hashed
        self.classes: dict[tuple[type, ...], None] = {}  # the combinations of classes seen so far
        self.end = 0  # tuples from this number on have not been entered yet
        self.held = 0  # how many numbers are in it

    def catch_up(self, live: dict[int, Fields], end: int) -> None:
        """Enter the tuples that have not been entered yet. All numbers are below ``end``."""
        new: Iterable[int] = range(self.end, end)
        if end - self.end > 2 * len(live):  # most of them are dead
            new = sorted(seq for seq in live if seq >= self.end)
        self.end = end
        length, buckets = self.length, self.buckets
        added = 0
        key_of = self.key_with_classes if self.typed else self.key
        for seq in new:
            fields = live.get(seq)
            if fields is None or len(fields) != length:
                continue
            added += 1
            try:
                key = key_of(fields)
                bucket = buckets.get(key)
            except Exception:  # unhashable, or a hash or == of the value's own that raises
                self.odd.append(seq)
                continue
            if bucket is None:
                buckets[key] = seq
            elif isinstance(bucket, int):
                buckets[key] = deque((bucket, seq))
            else:
                bucket.append(seq)
        self.held += added

    def numbers(self, key: Any) -> Iterable[int]:
        """Return the numbers under this key, oldest first. Some may be dead."""
        bucket = self.buckets.get(key, ())
        return (bucket,) if isinstance(bucket, int) else bucket

    def key_with_classes(self, fields: Fields) -> Any:
        """Return the key of a stored tuple in an index by values and classes."""
        classes = tuple(type(fields[i]) for i in self.typed)
        self.classes[classes] = None
        return self.key(fields), classes

    def add_back(self, seq: int, fields: Fields) -> None:
        """Enter a tuple that was here before, at the place of its age."""
        self.held += 1
        try:
            key = self.key_with_classes(fields) if self.typed else self.key(fields)
            bucket = self.buckets.get(key)
        except Exception:  # as above
            _insert(self.odd, seq)
            return
        if bucket is None:
            self.buckets[key] = seq
            return
        if isinstance(bucket, int):
            bucket = self.buckets[key] = deque((bucket,))
        _insert(bucket, seq)

    def clear(self) -> None:
        """Forget everything, and begin anew when next asked."""
        self.buckets.clear()
        self.odd.clear()
        self.classes.clear()
        self.end = self.held = 0


def _insert(numbers: deque[int], seq: int) -> None:
    """Put a number at its place, unless it is there: a number is left behind when its tuple is removed."""
    if not numbers or numbers[-1] < seq:
        numbers.append(seq)
        return
    place = bisect_left(numbers, seq)
    if numbers[place] != seq:
        numbers.insert(place, seq)


class Store:
    """The tuples of a space.

    >>> store = Store()
    >>> store.add(store.next_number(), ("task", 1)); store.add(store.next_number(), ("task", 2))
    >>> store.oldest(("task", int))
    0
    >>> store.remove(0), store.oldest(("task", int)), store.all(("task", ANY))
    (('task', 1), 1, [1])
    """

    def __init__(self) -> None:
        self.live: dict[int, Fields] = {}
        self._end = 0  # the number that the next tuple gets
        self._first = 0  # all numbers below this one are dead, but for those of tuples that came back
        self._came_back: list[int] = []  # a heap
        self._plans: dict[tuple[type, ...], Plan] = {}
        self._indexes: dict[int, list[Index]] = {}  # by length of the tuple
        self._removed = 0  # how many tuples have gone since the last look for dead numbers

    def __len__(self) -> int:
        return len(self.live)

    def add_plain(self, fields: Fields) -> bool:
        """Store a new tuple if it holds nothing but plain values, which nobody has to copy. Tell whether."""
        for value in fields:
            if type(value) not in ATOMS:
                return False
        seq = self._end
        self.live[seq] = fields
        self._end = seq + 1
        return True

    def append(self, fields: Fields) -> int:
        """Store a new tuple as the latest. Return its number."""
        seq = self._end
        self.live[seq] = fields
        self._end = seq + 1
        return seq

    def next_number(self) -> int:
        """Return the number for a new tuple that is on its way, and not here yet."""
        self._end += 1
        return self._end - 1

    def add(self, seq: int, fields: Fields) -> None:
        """Store a tuple that has a number, at its place among the others: new, or here before."""
        self.live[seq] = fields
        if seq < self._first:
            heapq.heappush(self._came_back, seq)
        for index in self._indexes.get(len(fields), ()):
            if seq < index.end:
                index.add_back(seq, fields)

    def remove(self, seq: int) -> Fields:
        """Remove a tuple and return it."""
        fields = self.live.pop(seq)
        self._removed += 1
        if self._removed > (TIDY_AFTER if self.live else TIDY_AFTER_WHEN_EMPTY):
            self._tidy()
        return fields

    def take(self, pattern: Pattern) -> tuple[int, Fields] | None:
        """Remove the oldest tuple that matches. Return its number and itself, or None if there is none."""
        live = self.live
        if not live:
            return None
        if self._indexes:
            plan = plan_of(pattern, self._plans)
            if plan.index is not None:
                return self._take_by_index(pattern, plan, plan.index)
        # First a look at the oldest tuple of all: where a space serves as a queue, it is always that one.
        seq = self._first
        if self._came_back or seq not in live:
            seq = self._find_first()
        fields = live[seq]
        if not fits_plainly(pattern, fields):
            plan = plan_of(pattern, self._plans)
            return self._take_by_index(pattern, plan, self._index_for(plan))
        if seq == self._first:
            self._first = seq + 1
        else:
            heapq.heappop(self._came_back)
        if self._indexes:
            self.remove(seq)  # may tidy up, so the two above must be right by now
        else:
            del live[seq]
        return seq, fields

    def _find_first(self) -> int:
        """Return the number of the oldest tuple. If there is none, that of the next one to be written."""
        live, came_back = self.live, self._came_back
        while came_back and came_back[0] not in live:
            heapq.heappop(came_back)
        while self._first not in live and self._first < self._end:
            self._first += 1
        return came_back[0] if came_back else self._first

    def _take_by_index(self, pattern: Pattern, plan: Plan, index: Index) -> tuple[int, Fields] | None:
        live = self.live
        if index.end != self._end:
            index.catch_up(live, self._end)
        if plan.is_covered and not index.odd:
            # The usual case: the first live number of one bucket is the answer. All is written out here,
            # since each call would take a tenth of the time of the whole.
            key, buckets = plan.key(pattern), index.buckets
            bucket = buckets.get(key)
            if bucket is None:
                return None
            if isinstance(bucket, int):
                seq = bucket
            else:
                while bucket[0] not in live and len(bucket) > 1:
                    bucket.popleft()
                    index.held -= 1
                seq = bucket[0]
            fields = live.get(seq)
            if fields is None:
                return None
            for i in plan.checked:
                wanted, kind = pattern[i], type(fields[i])
                is_plain = kind is wanted or (kind is int and type(wanted) is int)  # an equal int, by its key
                if not is_plain and not fits(pattern, fields, (i,)):
                    break
            else:
                if isinstance(bucket, int) or len(bucket) == 1:
                    del buckets[key]
                else:
                    bucket.popleft()
                index.held -= 1
                del live[seq]
                self._removed += 1
                if self._removed > (TIDY_AFTER if live else TIDY_AFTER_WHEN_EMPTY):
                    self._tidy()
                return seq, fields
        found = next(self._search(pattern, plan, index), None)
        return None if found is None else (found, self.remove(found))

    def oldest(self, pattern: Pattern) -> int | None:
        """Return the number of the oldest tuple that matches, or None."""
        if not self.live:
            return None
        plan = plan_of(pattern, self._plans)
        return next(self._search(pattern, plan, self._index_for(plan)), None)

    def all(self, pattern: Pattern = ()) -> list[int]:
        """Return the numbers of all tuples that match, oldest first. An empty pattern matches everything."""
        if not pattern:
            return sorted(self.live)
        plan = plan_of(pattern, self._plans)
        return list(self._search(pattern, plan, self._index_for(plan)))

    def _search(self, pattern: Pattern, plan: Plan, index: Index) -> Iterator[int]:
        """Yield the numbers of the tuples that match, oldest first."""
        index.catch_up(self.live, self._end)
        # Where the index covers the bound fields, only the others are left to test, except in odd tuples.
        positions = plan.checked if index.bound == plan.bound and not index.odd else range(plan.length)
        skipped = 0
        for seq in self._candidates(pattern, index):
            fields = self.live.get(seq)
            if fields is None:
                continue
            if fits(pattern, fields, positions):
                yield seq
                continue
            skipped += 1
            if skipped == LONG_SEARCH and plan.typed and not index.typed:
                self._use(self._index_by(plan.bound, plan.typed, plan.length), plan)

    def _candidates(self, pattern: Pattern, index: Index) -> Iterable[int]:
        """Return the numbers, oldest first, among which the matching ones are. Some may be dead."""
        key = index.key(pattern)
        if not index.typed:
            buckets = [index.numbers(key)]
        else:
            wanted = [pattern[i] for i in index.typed]
            buckets = [
                index.numbers((key, classes))
                for classes in index.classes
                if all(_covers(asked, cls) for asked, cls in zip(wanted, classes, strict=True))
            ]
        if index.odd:
            buckets.append(index.odd)
        return buckets[0] if len(buckets) == 1 else heapq.merge(*buckets)

    def _index_for(self, plan: Plan) -> Index:
        """Return the index for this plan: the one for its signature, or the nearest if there are too many."""
        if plan.index is not None:
            return plan.index
        indexes = self._indexes.get(plan.length, [])
        is_there = any(index.bound == plan.bound and not index.typed for index in indexes)
        if is_there or len(indexes) < INDEXES_PER_LENGTH:
            return self._use(self._index_by(plan.bound, (), plan.length), plan)
        usable = [index for index in indexes if not index.typed and set(index.bound) <= set(plan.bound)]
        if usable:
            return max(usable, key=lambda index: len(index.bound))
        # None fits, so the oldest one makes room for one without any bound position, which fits everybody.
        return self._index_by((), (), plan.length)

    def _use(self, index: Index, plan: Plan) -> Index:
        """Look by this index from now on."""
        plan.index = index
        plan.is_covered = not index.typed
        return index

    def _index_by(self, bound: tuple[int, ...], typed: tuple[int, ...], length: int) -> Index:
        """Return the index by these positions, made if there is none."""
        indexes = self._indexes.setdefault(length, [])
        for index in indexes:
            if index.bound == bound and index.typed == typed:
                return index
        if len(indexes) >= INDEXES_PER_LENGTH:
            self._drop_index(indexes[0])
        made = Index(length, bound, typed)
        indexes.append(made)
        return made

    def _drop_index(self, index: Index) -> None:
        self._indexes[index.length].remove(index)
        for plan in self._plans.values():
            if plan.index is index:
                plan.index = None
                plan.is_covered = False

    def _tidy(self) -> None:
        """Throw out dead numbers where they outnumber the live ones."""
        self._removed = 0
        self._find_first()  # step by step, so that no single take has a long way to go
        if len(self._came_back) > TIDY_AFTER:
            self._came_back = sorted({seq for seq in self._came_back if seq in self.live})
        allowed = 2 * len(self.live) + DEAD_ALLOWED // 2 if self.live else 0
        for indexes in self._indexes.values():
            for index in indexes:
                if index.held > allowed:
                    index.clear()


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
    place: Any  # where it stands, which only `Waiters` has to know


W = TypeVar("W", bound=Waiting)


class _Signature(Generic[W]):
    """The waiters whose patterns bind the same positions: by the bound values, in order of arrival."""

    def __init__(self, bound: tuple[int, ...]) -> None:
        self.bound = bound
        self.key = _picker(bound)
        # The waiter itself while there is one. A plain dictionary finds its first entry slowly once many
        # before it are gone, so it is an ordered one.
        self.lines: dict[Any, W | OrderedDict[int, W]] = {}

    def candidates(self, fields: Fields) -> Iterable[W]:
        """Return those who may want this tuple, in order of arrival."""
        if not self.lines:
            return ()
        try:
            line = self.lines.get(self.key(fields))
        except Exception:  # a value that cannot be hashed: anybody of this signature may want it
            return sorted(self, key=lambda waiter: waiter.number)
        if line is None:
            return ()
        return line.values() if isinstance(line, OrderedDict) else (line,)

    def __iter__(self) -> Iterator[W]:
        for line in self.lines.values():
            if isinstance(line, OrderedDict):
                yield from line.values()
            else:
                yield line


class Waiters(Generic[W]):
    """Those who wait for a tuple, found by the tuple. The same idea as `Index`, with the roles swapped."""

    def __init__(self) -> None:
        self.size = 0
        # A signature is kept when its last waiter goes: as a rule the next one comes soon.
        self._signatures: dict[int, list[_Signature[W]]] = {}  # by length
        self._plans: dict[tuple[type, ...], Plan] = {}

    def __iter__(self) -> Iterator[W]:
        """Go through all waiters in order of arrival."""
        waiters = [
            waiter
            for signatures in self._signatures.values()
            for signature in signatures
            for waiter in signature
        ]
        return iter(sorted(waiters, key=lambda waiter: waiter.number))

    def add(self, waiter: W) -> None:
        """Add the latest waiter."""
        plan = plan_of(waiter.pattern, self._plans)
        signature = plan.signature or self._signature_for(plan)
        lines, key = signature.lines, signature.key(waiter.pattern)
        line = lines.get(key)
        if line is None:
            lines[key] = waiter
        elif isinstance(line, OrderedDict):
            line[waiter.number] = waiter
        else:
            lines[key] = OrderedDict([(line.number, line), (waiter.number, waiter)])
        waiter.place = (lines, key)
        self.size += 1

    def remove(self, waiter: W) -> None:
        """Remove a waiter."""
        lines, key = waiter.place
        line = lines.pop(key)
        if line is not waiter:
            del line[waiter.number]
            if line:
                lines[key] = line  # the others wait on
        self.size -= 1

    def first(self, fields: Fields, wants: Callable[[W, Fields], bool]) -> W | None:
        """Return the waiter that came first of all those that want this tuple, or None."""
        found: W | None = None
        for signature in self._signatures.get(len(fields), ()):
            for waiter in signature.candidates(fields):
                if found is not None and waiter.number > found.number:
                    break
                if wants(waiter, fields):
                    found = waiter
                    break
        return found

    def all(self, fields: Fields, wants: Callable[[W, Fields], bool]) -> list[W]:
        """Return all waiters that want this tuple, in order of arrival."""
        found = [
            waiter
            for signature in self._signatures.get(len(fields), ())
            for waiter in signature.candidates(fields)
            if wants(waiter, fields)
        ]
        found.sort(key=lambda waiter: waiter.number)
        return found

    def _signature_for(self, plan: Plan) -> _Signature[W]:
        """Return the signature of this plan, made if no other plan has it."""
        signatures = self._signatures.setdefault(plan.length, [])
        for signature in signatures:
            if signature.bound == plan.bound:
                break
        else:
            signature = _Signature(plan.bound)
            signatures.append(signature)
        plan.signature = signature
        return signature
