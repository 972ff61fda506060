"""Matching: which tuple a space gives for which pattern."""

from __future__ import annotations

import asyncio
import enum
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from space_help import ArrayLike, Uncomparable, ended, refuse, settle, simulated_twice, started

from tutorial_lib import ANY, TupleSpace, matches, where


@simulated_twice
async def test_lengths_must_be_equal():
    """A pattern finds only tuples of its own length."""
    space = TupleSpace()
    await space.write_many([("a",), ("a", 1), ("a", 1, 2)])
    assert await space.read_all("a", ANY) == [("a", 1)]
    assert await space.try_take(ANY, ANY, ANY, ANY) is None


@simulated_twice
async def test_any_matches_any_one_field():
    """``ANY`` asks nothing of a field."""
    space = TupleSpace()
    tuples = [("a", None), ("a", 0), ("a", []), ("a", {"k": 1})]
    await space.write_many(tuples)
    assert await space.read_all("a", ANY) == tuples
    assert await space.read_all(ANY, ANY) == tuples


@simulated_twice
async def test_a_class_matches_its_instances():
    """A class in a pattern finds values of that class and its subclasses."""
    space = TupleSpace()
    await space.write_many([("a", "text"), ("a", 7), ("a", None)])
    assert await space.read_all("a", int) == [("a", 7)]
    assert await space.read_all("a", type(None)) == [("a", None)]
    assert await space.count("a", object) == 3


@simulated_twice
async def test_where_matches_by_predicate():
    """``where`` finds the oldest tuple whose field passes its test."""
    space = TupleSpace()
    await space.write_many([("temp", 10), ("temp", 31), ("temp", 40)])
    assert await space.take("temp", where(lambda degrees: degrees > 30, "over 30")) == ("temp", 31)


@simulated_twice
async def test_anything_else_matches_an_equal_value():
    """A value finds what equals it."""
    space = TupleSpace()
    await space.write("point", (1, 2), "x")
    assert await space.try_read("point", (1, 2), "y") is None
    assert await space.try_read("point", (1, 2), "x") == ("point", (1, 2), "x")


@pytest.mark.parametrize("order", list(itertools.permutations([1, True, 1.0])))
@simulated_twice
async def test_one_true_and_one_point_zero_are_three_values(order):
    """They share a hash, and still each pattern finds its own, whichever was written first."""
    space = TupleSpace()
    await space.write_many([("flag", value) for value in order])
    for wanted in (1, True, 1.0):
        found = await space.read_all("flag", wanted)
        assert [type(value) for _, value in found] == [type(wanted)]
        assert type((await space.take("flag", wanted))[1]) is type(wanted)


class Colour(enum.IntEnum):
    """An integer with a name."""

    RED = 1


@simulated_twice
async def test_a_named_number_does_not_match_true():
    """An `IntEnum` is an int: it finds 1 and its equals, and neither True nor 1.0."""
    space = TupleSpace()
    await space.write_many([("flag", True), ("flag", 1.0), ("flag", 1), ("flag", Colour.RED)])
    assert [type(value) for _, value in await space.read_all("flag", Colour.RED)] == [int, Colour]
    assert [type(value) for _, value in await space.read_all("flag", 1)] == [int, Colour]
    taker = await started(space.take("other", Colour.RED))
    await space.write_many([("other", True), ("other", 1)])
    assert await taker == ("other", 1)


@simulated_twice
async def test_waiting_takers_tell_one_from_true():
    """A hand-over keeps the three values apart as well."""
    space = TupleSpace()
    takers = {kind: await started(space.take("flag", kind(1))) for kind in (int, bool, float)}
    await space.write("flag", True)
    await settle()
    assert [kind for kind, taker in takers.items() if taker.done()] == [bool]
    await space.write_many([("flag", 1.0), ("flag", 1)])
    assert (await takers[int], await takers[float]) == (("flag", 1), ("flag", 1.0))


@simulated_twice
async def test_the_class_int_does_not_match_true():
    """``int`` finds no bool, whether the tuple is stored or handed over."""
    space = TupleSpace()
    taker = await started(space.take("n", int))
    await space.write("n", True)
    await settle()
    assert not taker.done()
    assert await space.try_take("n", int) is None
    await space.write("n", 1)
    assert await taker == ("n", 1)
    assert await space.read_all() == [("n", True)]


@simulated_twice
async def test_nested_values_compare_by_plain_equality():
    """Inside a field ``==`` decides."""
    space = TupleSpace()
    await space.write("a", [1, 2])
    await space.write("b", (1,))
    assert await space.try_take("a", [True, 2.0]) == ("a", [1, 2])
    assert await space.try_take("b", (True,)) == ("b", (1,))


@simulated_twice
async def test_none_is_a_value_and_no_wildcard():
    """A pattern with ``None`` finds ``None`` and nothing else."""
    space = TupleSpace()
    await space.write_many([("a", 1), ("a", None)])
    assert await space.take("a", None) == ("a", None)
    assert await space.try_take("a", None) is None


@simulated_twice
async def test_nan_is_found_by_class_and_wildcard_only():
    """A nan equals nothing, the very same object included."""
    space = TupleSpace()
    await space.write("reading", math.nan)
    assert await space.try_take("reading", math.nan) is None
    taker = await started(space.take("reading", math.nan, timeout=1))
    await space.write("reading", math.nan)
    assert isinstance(await ended(taker), TimeoutError)
    assert await space.count("reading", float) == await space.count("reading", ANY) == 2


@pytest.mark.parametrize("number", [Decimal(1), Fraction(1)])
@simulated_twice
async def test_exact_numbers_are_of_another_kind(number):
    """``Decimal(1)`` equals 1 in Python; in a space they do not match."""
    space = TupleSpace()
    await space.write_many([("n", 1), ("n", 1.0), ("n", True), ("n", number)])
    assert await space.read_all("n", number) == [("n", number)]
    assert [type(value) for _, value in await space.read_all("n", 1)] == [int]


@pytest.mark.parametrize("odd", [Uncomparable(), ArrayLike()])
@simulated_twice
async def test_values_that_cannot_be_compared_do_not_match(odd):
    """They are found by class and wildcard; asking for a value passes them by."""
    space = TupleSpace()
    await space.write("a", odd)
    assert await space.try_take("a", 1) is None
    assert await space.try_take("a", odd) is None
    assert await space.count("a", type(odd)) == await space.count("a", ANY) == 1


@pytest.mark.parametrize("odd", [Uncomparable(), ArrayLike()])
@simulated_twice
async def test_values_that_cannot_be_compared_harm_no_other_waiter(odd):
    """A writer of such a value and the takers of ordinary ones never notice it."""
    space = TupleSpace()
    by_value = await started(space.take("a", 1))
    by_odd_value = await started(space.take("a", odd))
    by_any = await started(space.take("a", ANY))
    await space.write("a", odd)
    assert (await by_any)[0] == "a"
    await space.write("a", 1)
    assert await by_value == ("a", 1)
    by_odd_value.cancel()


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ([1], [1]),
        ({"k": 1}, {"k": 1}),
        ({1}, {1}),
        ({1}, frozenset({1})),
        (frozenset({1}), {1}),
        (bytearray(b"a"), b"a"),
        (b"a", bytearray(b"a")),
        (([1],), ([1],)),
    ],
)
@simulated_twice
async def test_unhashable_fields_are_found_by_value(stored, wanted):
    """An index cannot hold them; they match all the same, stored and handed over."""
    space = TupleSpace()
    await space.write("a", "other")
    await space.write("a", stored)
    assert await space.take("a", wanted) == ("a", stored)
    taker = await started(space.take("a", wanted))
    await space.write("a", stored)
    assert await taker == ("a", stored)


@simulated_twice
async def test_hashable_and_unhashable_equals_come_in_order():
    """Where a pattern finds both kinds, the oldest comes first."""
    space = TupleSpace()
    await space.write_many([("a", {1}), ("a", frozenset({1})), ("a", {1})])
    assert [type(value) for _, value in await space.take_all("a", frozenset({1}))] == [set, frozenset, set]


@simulated_twice
async def test_a_hash_that_raises_something_strange_is_no_obstacle():
    """Unhashable means that ``hash()`` fails, however it fails."""

    class Strange:
        def __hash__(self) -> int:
            raise RuntimeError("no hash today")

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Strange)

    space = TupleSpace()
    await space.write("a", Strange())
    await space.try_take("a", 1)
    await space.write("a", Strange())
    assert await space.count("a", Strange()) == 2
    taker = await started(space.take("b", Strange()))
    await space.write("b", Strange())
    assert (await taker)[0] == "b"


# Errors inside a predicate


@simulated_twice
async def test_a_predicates_error_belongs_to_the_waiting_taker_that_owns_it():
    """The writer goes on, the taker gets the error, and the tuple is still there."""
    space = TupleSpace()
    taker = await started(space.take("a", where(refuse)))
    await space.write("a", 1)
    with pytest.raises(LookupError, match="does not like 1"):
        await taker
    assert await space.read_all() == [("a", 1)]
    assert (await space.stats()).waiting == 0


@simulated_twice
async def test_after_a_predicates_error_the_next_waiter_gets_the_tuple():
    """A bad predicate in front of the queue does not keep the tuple from those behind."""
    space = TupleSpace()
    bad = await started(space.take("a", where(refuse)))
    bad_reader = await started(space.read("a", where(refuse)))
    good_reader = await started(space.read("a", ANY))
    good = await started(space.take("a", int))
    await space.write("a", 1)
    assert await good == ("a", 1)
    assert await good_reader == ("a", 1)
    assert isinstance(await ended(bad), LookupError)
    assert isinstance(await ended(bad_reader), LookupError)
    assert await space.count() == 0


@simulated_twice
async def test_a_predicate_that_fails_on_a_waiting_write_hears_of_it_when_it_is_written():
    """Until then the tuple is not in the space, so nothing has happened yet; others are not disturbed."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    bad, leaving = [await started(space.take("a", where(refuse))) for _ in range(2)]
    writer = await started(space.write("a", 1))
    assert not bad.done()
    leaving.cancel()
    await settle()
    good = await started(space.take("b"))
    await space.write("b")
    assert await good == ("b",)
    assert not bad.done()
    await space.take("full")
    assert isinstance(await ended(bad), LookupError)
    await writer
    assert await space.read_all() == [("a", 1)]


@pytest.mark.parametrize(
    "operation", ["take", "read", "try_take", "try_read", "take_all", "read_all", "count"]
)
@simulated_twice
async def test_a_predicates_error_reaches_the_caller_and_leaves_the_space_alone(operation):
    """Whoever asks with a bad test gets its error at once; nothing is taken."""
    space = TupleSpace()
    await space.write_many([("a", 1), ("a", 2)])
    with pytest.raises(LookupError, match="does not like 1"):
        await getattr(space, operation)("a", where(refuse))
    assert await space.read_all() == [("a", 1), ("a", 2)]


@simulated_twice
async def test_take_all_takes_nothing_when_its_predicate_fails_half_way():
    """An error at the second tuple must not lose the first one."""

    def fussy(value: int) -> bool:
        if value == 2:
            raise LookupError("two")
        return True

    space = TupleSpace()
    await space.write_many([("a", 1), ("a", 2), ("a", 3)])
    with pytest.raises(LookupError):
        await space.take_all("a", where(fussy))
    assert await space.count() == 3


@simulated_twice
async def test_a_predicates_error_in_replace_and_claim_reaches_the_caller():
    """The two operations that hold more than one step change nothing either."""
    space = TupleSpace()
    await space.write("a", 1)
    with pytest.raises(LookupError):
        await space.replace(("a", where(refuse)), ("a", 2))
    with pytest.raises(LookupError):
        async with space.claim("a", where(refuse), lease=1):
            pass
    assert await space.read_all() == [("a", 1)]


@simulated_twice
async def test_a_predicates_error_in_watch_harms_neither_writer_nor_other_watchers():
    """The subscriber that owns the test gets the error; the others get the event."""
    space = TupleSpace()
    async with space.watch("a", where(refuse)) as bad, space.watch("a", ANY) as good:
        await space.write("a", 1)
        assert (await anext(aiter(good))).fields == ("a", 1)
        with pytest.raises(LookupError):
            await anext(aiter(bad))
    assert await space.count() == 1


@simulated_twice
async def test_a_predicate_may_start_other_operations():
    """A test that starts a write sees the space whole, and the write happens later."""
    space = TupleSpace()
    started_writes = []

    def busy(value: object) -> bool:
        started_writes.append(asyncio.get_running_loop().create_task(space.write("b", value)))
        return True

    await space.write("a", 1)
    assert await space.take("a", where(busy)) == ("a", 1)
    await asyncio.gather(*started_writes)
    assert set(await space.read_all()) == {("b", 1)}


# Without a pattern, and what may not be written


@simulated_twice
async def test_read_all_take_all_and_count_without_a_pattern_mean_everything():
    """Tuples of every length."""
    space = TupleSpace()
    tuples = [("a",), ("b", 1), (None, 1, 2)]
    await space.write_many(tuples)
    assert await space.count() == 3
    assert await space.read_all() == tuples
    assert await space.take_all() == tuples
    assert await space.count() == 0


@simulated_twice
async def test_watch_without_a_pattern_sees_everything():
    """Tuples of every length."""
    space = TupleSpace()
    async with space.watch(kinds=["write"]) as events:
        await space.write_many([("a",), ("b", 1)])
        await space.close()
        assert [event.fields async for event in events] == [("a",), ("b", 1)]


@pytest.mark.parametrize("operation", ["take", "read", "try_take", "try_read"])
@simulated_twice
async def test_taking_without_a_pattern_is_refused(operation):
    """Whoever takes says what; the text says so."""
    space = TupleSpace()
    await space.write("a")
    with pytest.raises(ValueError, match=operation):
        await getattr(space, operation)()
    assert await space.count() == 1


@simulated_twice
async def test_claiming_without_a_pattern_is_refused():
    """At the call, before anything is entered."""
    with pytest.raises(ValueError, match="claim"):
        TupleSpace().claim(lease=1)


@simulated_twice
async def test_writing_no_fields_is_refused():
    """A tuple has at least one field, in every operation that writes."""
    space = TupleSpace()
    await space.write("a")
    with pytest.raises(ValueError, match="field"):
        await space.write()
    with pytest.raises(ValueError, match="field"):
        await space.write_many([("b",), ()])
    with pytest.raises(ValueError, match="field"):
        await space.replace(("a",), ())
    assert await space.read_all() == [("a",)]


@pytest.mark.parametrize("pattern_field", [ANY, where(refuse), int, Uncomparable])
@simulated_twice
async def test_writing_a_pattern_is_refused(pattern_field):
    """``ANY``, ``where(...)`` and classes ask; they are no data. The text names what was given."""
    space = TupleSpace()
    await space.write("task", 1)
    shown = pattern_field.__name__ if isinstance(pattern_field, type) else repr(pattern_field)
    with pytest.raises(ValueError, match=shown.split("(")[0]):
        await space.write("task", pattern_field)
    with pytest.raises(ValueError, match=shown.split("(")[0]):
        await space.write_many([("task", 2), ("task", pattern_field)])
    with pytest.raises(ValueError, match=shown.split("(")[0]):
        await space.replace(("task", 1), ("task", pattern_field))
    with pytest.raises(ValueError, match=shown.split("(")[0]):
        await space.replace(("none",), ("task", pattern_field), insert=True)
    assert await space.read_all() == [("task", 1)]


@simulated_twice
async def test_a_claim_may_not_complete_with_a_pattern():
    """The claim stays open, so that the right result can still be written."""
    space = TupleSpace()
    await space.write("task", 1)
    async with space.claim("task", int, lease=10) as claim:
        with pytest.raises(ValueError, match="ANY"):
            await claim.complete("result", ANY)
        with pytest.raises(ValueError, match="int"):
            await claim.bury(space, int)
        await claim.complete("result", 1)
    assert await space.read_all() == [("result", 1)]


# The table of kinds


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ((1,), [0]),
        ((True,), [1]),
        ((1.0,), [2]),
        ((None,), [3]),
        (("a",), [5]),
        ((ANY,), [0, 1, 2, 3, 5]),
        ((int,), [0]),
        ((bool,), [1]),
        ((float,), [2]),
        (("a", None), [4]),
        (("a", ANY), [4, 6, 7]),
        (("a", float), [7]),
        (("a", ArrayLike), [6]),
        ((ANY, math.nan), []),
    ],
)
@simulated_twice
async def test_the_table_of_matches(pattern, found):
    """Every pattern finds exactly these of eight awkward tuples, before and after an index was built."""
    space = TupleSpace()
    tuples = [(1,), (True,), (1.0,), (None,), ("a", None), ("a",), ("a", ArrayLike()), ("a", math.nan)]
    await space.write_many(tuples)
    for _ in range(2):
        assert repr(await space.read_all(*pattern)) == repr([tuples[place] for place in found])


@simulated_twice
async def test_every_combination_of_bound_fields_finds_the_right_tuples():
    """Six fields, each asked for or not: 64 ways to ask, more than any index keeps at a time."""
    space = TupleSpace()
    tuples = list(itertools.product((0, 1), repeat=6))
    await space.write_many(tuples)
    for _ in range(2):
        for bound in itertools.product((True, False), repeat=6):
            pattern = [1 if is_bound else ANY for is_bound in bound]
            expected = [fields for fields in tuples if matches(tuple(pattern), fields)]
            assert await space.read_all(*pattern) == expected
    assert await space.take(ANY, 1, ANY, 1, ANY, 1) == (0, 1, 0, 1, 0, 1)
    assert await space.count(ANY, 1, ANY, 1, ANY, 1) == 7


@simulated_twice
async def test_a_class_is_found_among_many_of_another_class():
    """However many tuples are passed by, the first of the right class is found, subclasses too."""

    class Text(str):
        """A subclass of str."""

    space = TupleSpace()
    await space.write_many([("n", number) for number in range(300)])
    await space.write("n", Text("late"))
    await space.write("n", "last")
    for _ in range(3):
        assert await space.try_read("n", str) == ("n", "late")
        assert await space.try_read("n", float) is None
    assert await space.take_all("n", str) == [("n", "late"), ("n", "last")]
    assert await space.try_take("n", str) is None
    assert await space.take("n", int) == ("n", 0)
