"""The space against a plain list: whatever is done to both, both answer the same.

The list is searched from the front, tuple by tuple, by a matching rule that is written out here once more.
It knows no index, no hand-over and no clock, so it is easy to believe.
"""

from __future__ import annotations

import asyncio
import math
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from space_help import REPEATS, ArrayLike, Uncomparable, refuse

from tutorial_lib import ANY, Claim, TupleSpace, where
from tutorial_lib.patterns import Where

Fields = tuple[Any, ...]

VALUES: list[Any] = [
    0,
    1,
    2,
    True,
    False,
    0.0,
    -0.0,
    1.0,
    math.nan,
    None,
    "",
    "a",
    "b",
    b"a",
    bytearray(b"a"),
    (),
    (1,),
    [],
    [1],
    [True],
    {"k": 1},
    {1},
    frozenset({1}),
    Decimal(1),
    Uncomparable(),
    ArrayLike(),
]
ASKING: list[Any] = [
    ANY,
    int,
    bool,
    float,
    str,
    bytes,
    list,
    tuple,
    object,
    type(None),
    where(lambda value: isinstance(value, str), "text"),
    where(lambda value: isinstance(value, int) and value > 0, "positive"),
]


def field_is_meant(wanted: Any, value: Any) -> bool:
    """Tell whether one field matches: the rule of the house, in other words than those of the library."""
    if wanted is ANY:
        return True
    if isinstance(wanted, Where):
        return bool(wanted.test(value))
    if isinstance(wanted, type):
        return isinstance(value, wanted) and not (wanted is int and type(value) is bool)
    numbers = [kind for kind in (bool, int, float) if type(value) is kind or type(wanted) is kind]
    if numbers and type(value) is not type(wanted):
        return False
    try:
        return bool(value == wanted)
    except (RuntimeError, ValueError):
        return False


def is_meant(pattern: Fields, fields: Fields) -> bool:
    """Tell whether a tuple matches, field by field from the left, the first difference deciding."""
    return len(pattern) == len(fields) and all(map(field_is_meant, pattern, fields))


class PlainList:
    """The model: numbered tuples in the order of their numbers."""

    def __init__(self) -> None:
        self.tuples: dict[int, Fields] = {}
        self.attempts: dict[int, int] = {}
        self.next_number = 0

    def write(self, fields: Fields) -> None:
        """Append a tuple."""
        self.tuples[self.next_number] = fields
        self.next_number += 1

    def find(self, pattern: Fields) -> list[int]:
        """Return the numbers of all matches, oldest first. An empty pattern means everything."""
        return [
            number for number in sorted(self.tuples) if not pattern or is_meant(pattern, self.tuples[number])
        ]

    def found(self, pattern: Fields) -> list[Fields]:
        """Return all matches, oldest first."""
        return [self.tuples[number] for number in self.find(pattern)]

    def oldest(self, pattern: Fields) -> Fields | None:
        """Return the oldest match."""
        return next(iter(self.found(pattern)), None)

    def take(self, pattern: Fields) -> Fields | None:
        """Remove the oldest match."""
        numbers = self.find(pattern)
        return self.tuples.pop(numbers[0]) if numbers else None


def same(one: Any, other: Any) -> bool:
    """Tell whether two answers are the same, kinds and order included. (`==` would take 1 for True.)"""
    return repr(one) == repr(other)


def fields_of(values: list[Any]) -> st.SearchStrategy[Fields]:
    """Return a strategy for tuples of one to three fields."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=3).map(tuple)


class SpaceMachine(RuleBasedStateMachine):
    """Hypothesis chooses the steps; after each one, space and list must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.claims: list[tuple[int, Claim]] = []

    def run(self, operation: Any) -> Any:
        """Await one operation."""
        return self.loop.run_until_complete(operation)

    @initialize(capacity=st.sampled_from([None, 6]))
    def make(self, capacity: int | None) -> None:
        """Begin with an empty space and an empty list."""
        self.capacity = capacity
        self.space = TupleSpace(capacity=capacity)
        self.model = PlainList()

    def has_room(self) -> bool:
        """Tell whether a write need not wait: stored and claimed tuples count."""
        return self.capacity is None or len(self.model.tuples) + len(self.claims) < self.capacity

    @rule(fields=fields_of(VALUES))
    def write(self, fields: Fields) -> None:
        """A write appends, or finds no room."""
        if self.has_room():
            self.run(self.space.write(*fields, timeout=0))
            self.model.write(fields)
        else:
            with pytest.raises(TimeoutError):
                self.run(self.space.write(*fields, timeout=0))

    @rule(tuples=st.lists(fields_of(VALUES), max_size=4))
    def write_many(self, tuples: list[Fields]) -> None:
        """Many writes append in order."""
        if self.capacity is None:
            assert self.run(self.space.write_many(tuples)) == len(tuples)
            for fields in tuples:
                self.model.write(fields)

    @rule(pattern=fields_of(VALUES + ASKING))
    def try_take(self, pattern: Fields) -> None:
        """The oldest match goes, or nothing."""
        assert same(self.run(self.space.try_take(*pattern)), self.model.take(pattern))

    @rule(pattern=fields_of(ASKING))
    def try_take_widely(self, pattern: Fields) -> None:
        """As try_take, with patterns that usually find something."""
        self.try_take(pattern)

    @rule(pattern=fields_of(VALUES + ASKING))
    def take(self, pattern: Fields) -> None:
        """A take without waiting: the oldest match, or a `TimeoutError`."""
        expected = self.model.take(pattern)
        if expected is None:
            with pytest.raises(TimeoutError):
                self.run(self.space.take(*pattern, timeout=0))
        else:
            assert same(self.run(self.space.take(*pattern, timeout=0)), expected)

    @rule(pattern=fields_of(VALUES + ASKING))
    def try_read(self, pattern: Fields) -> None:
        """The oldest match is shown and stays."""
        assert same(self.run(self.space.try_read(*pattern)), self.model.oldest(pattern))

    @rule(pattern=fields_of(VALUES + ASKING), limit=st.sampled_from([None, 1, 2]))
    def take_all(self, pattern: Fields, limit: int | None) -> None:
        """All matches go, oldest first, up to the limit."""
        expected = [self.model.tuples.pop(number) for number in self.model.find(pattern)[:limit]]
        assert same(self.run(self.space.take_all(*pattern, limit=limit)), expected)

    @rule(pattern=fields_of(VALUES + ASKING) | st.just(()))
    def look(self, pattern: Fields) -> None:
        """``read_all`` and ``count`` tell what is there."""
        assert same(self.run(self.space.read_all(*pattern)), self.model.found(pattern))
        assert self.run(self.space.count(*pattern)) == len(self.model.found(pattern))

    @rule(pattern=fields_of(VALUES + ASKING), fields=fields_of(VALUES), insert=st.booleans())
    def replace(self, pattern: Fields, fields: Fields, insert: bool) -> None:
        """The oldest match goes and the new tuple comes, at the end."""
        old = self.model.take(pattern)
        if old is None and insert and not self.has_room():
            return  # it would wait for room
        assert same(self.run(self.space.replace(pattern, fields, insert=insert)), old)
        if old is not None or insert:
            self.model.write(fields)

    @rule(pattern=fields_of(ASKING))
    def claim(self, pattern: Fields) -> None:
        """The oldest match goes into a claim, with its number and its count of attempts."""
        numbers = self.model.find(pattern)
        entry = self.space.claim(*pattern, lease=100_000, timeout=0)
        if not numbers:
            with pytest.raises(TimeoutError):
                self.run(entry.__aenter__())
            return
        claim = self.run(entry.__aenter__())
        assert same(claim.fields, self.model.tuples.pop(numbers[0]))
        assert claim.attempt == self.model.attempts.get(numbers[0], 0) + 1
        assert all(claim.token > earlier.token for _, earlier in self.claims)
        self.claims.append((numbers[0], claim))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """A released tuple is back at its old place, one attempt older."""
        number, claim = self.claims.pop(data.draw(st.integers(0, len(self.claims) - 1)))
        self.run(claim.release())
        self.model.tuples[number] = claim.fields
        self.model.attempts[number] = claim.attempt

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), result=fields_of(VALUES) | st.just(()))
    def complete(self, data: st.DataObject, result: Fields) -> None:
        """A completed tuple is gone; its result, if there is one, is at the end."""
        _, claim = self.claims.pop(data.draw(st.integers(0, len(self.claims) - 1)))
        self.run(claim.complete(*result))
        if result:
            self.model.write(result)

    @precondition(lambda self: self.model.tuples)
    @rule(field=st.sampled_from([where(refuse, "bad")]), width=st.integers(1, 3))
    def ask_badly(self, field: Where, width: int) -> None:
        """A test that raises reaches the caller, if it is asked at all, and takes nothing."""
        if any(len(fields) == width for fields in self.model.tuples.values()):
            with pytest.raises(LookupError):
                self.run(self.space.try_take(field, *[ANY] * (width - 1)))

    @invariant()
    def both_hold_the_same(self) -> None:
        """Tuple by tuple, in order, after every single step."""
        assert same(self.run(self.space.read_all()), self.model.found(()))
        stats = self.run(self.space.stats())
        assert (stats.tuples, stats.claimed) == (len(self.model.tuples), len(self.claims))

    def teardown(self) -> None:
        """End the claims that are open, and close the loop."""
        for _, claim in self.claims:
            self.run(claim.release())
        self.loop.close()


SpaceMachine.TestCase.settings = settings(
    deadline=None,
    max_examples=300 * REPEATS,
    stateful_step_count=40,
    derandomize=REPEATS == 1,
    database=None,
)
test_a_space_answers_like_a_plain_list = SpaceMachine.TestCase


async def random_steps(seed: int, steps: int, most: int, widest: int) -> None:
    """Do random things to a space and to a list, with at most ``most`` tuples of two fields or more."""
    choose = random.Random(seed)
    space, model = TupleSpace(), PlainList()
    literals = [value for value in VALUES if not isinstance(value, (Uncomparable, ArrayLike))]

    def values() -> Fields:
        return tuple(choose.choice(literals) for _ in range(choose.randint(2, widest)))

    def pattern() -> Fields:
        like = choose.choice(list(model.tuples.values())) if model.tuples else values()
        return tuple(choose.choice([value, value, ANY, choose.choice(ASKING)]) for value in like)

    for _ in range(steps):
        what = choose.random()
        asked = pattern()
        if what < 0.25 or not model.tuples:
            fields = values()
            await space.write(*fields)
            model.write(fields)
        elif what < 0.55:
            assert same(await space.try_take(*asked), model.take(asked))
        elif what < 0.7:
            assert same(await space.try_read(*asked), model.oldest(asked))
        elif what < 0.8:
            assert same(await space.read_all(*asked), model.found(asked))
        elif what < 0.9:
            fields = values()
            assert same(await space.replace(asked, fields, insert=True), model.take(asked))
            model.write(fields)
        elif len(model.tuples) > most:
            expected = [model.tuples.pop(number) for number in model.find(asked)]
            assert same(await space.take_all(*asked), expected)
        elif (numbers := model.find(asked)) and what < 0.98:
            async with space.claim(*asked, lease=1000) as claim:
                assert same(claim.fields, model.tuples[numbers[0]])
                await claim.release()
    assert same(await space.read_all(), model.found(()))


@pytest.mark.parametrize("seed", range(3 * REPEATS))
def test_sixty_thousand_random_steps(seed):
    """Three times 20,000 steps: literals, classes, tests and wildcards, in two to four fields."""
    asyncio.run(random_steps(seed, 20_000, most=60, widest=4))


@pytest.mark.parametrize("seed", range(REPEATS))
def test_random_steps_among_many_tuples(seed):
    """Hundreds of tuples: a search by class passes so many of them by that it gets an index of its own."""
    asyncio.run(random_steps(seed, 4_000, most=400, widest=2))
