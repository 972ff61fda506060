"""Patterns: what matches what, and what is refused as a pattern."""

from __future__ import annotations

import copy
import enum
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from space_help import ArrayLike, Uncomparable, refuse

from tutorial_lib.patterns import ANY, matches, pattern_text, where


class Colour(enum.IntEnum):
    """An integer with a name."""

    RED = 1


def test_lengths_must_be_equal():
    """A pattern matches only tuples of its own length."""
    assert matches(("a", ANY), ("a", 1))
    assert not matches(("a", ANY), ("a",))
    assert not matches(("a",), ("a", 1))
    assert not matches((), ("a",))


@pytest.mark.parametrize(
    "value", [None, 0, "", False, math.nan, [], {}, object(), Uncomparable(), ArrayLike()]
)
def test_any_matches_every_value(value):
    """``ANY`` matches any one field, also what is false, empty or not comparable."""
    assert matches((ANY,), (value,))


def test_there_is_one_any():
    """``ANY`` stays itself when copied, so that a copied pattern asks for the same."""
    assert copy.copy(ANY) is ANY
    assert copy.deepcopy([ANY])[0] is ANY


@pytest.mark.parametrize(
    ("cls", "value"),
    [
        (int, 7),
        (int, Colour.RED),
        (bool, True),
        (float, 1.0),
        (float, math.nan),
        (str, ""),
        (list, []),
        (object, None),
    ],
)
def test_a_class_matches_its_instances(cls, value):
    """A class matches its instances and those of its subclasses."""
    assert matches((cls,), (value,))


@pytest.mark.parametrize(
    ("cls", "value"), [(int, True), (int, 1.0), (float, 1), (bool, 1), (str, b"a"), (list, ()), (int, None)]
)
def test_a_class_matches_nothing_else(cls, value):
    """``int`` does not match ``True``, and no class matches a number of another kind."""
    assert not matches((cls,), (value,))


def test_a_class_that_cannot_tell_does_not_match():
    """A class whose own instance check raises matches nothing, and harms nobody."""

    class Strict(type):
        def __instancecheck__(cls, instance: object) -> bool:
            raise RuntimeError("no answer")

    class Odd(metaclass=Strict):
        pass

    assert not matches((Odd,), (1,))


def test_where_matches_by_its_test():
    """``where`` matches the values that its test accepts; any true answer will do."""
    assert matches((where(lambda text: text.strip(), "not blank"),), ("a",))
    assert not matches((where(lambda text: text.strip(), "not blank"),), (" ",))


def test_an_error_inside_where_passes_through():
    """An error of the test is not swallowed: it tells the learner that the test is wrong."""
    with pytest.raises(LookupError, match="does not like 'a'"):
        matches((where(refuse),), ("a",))


@pytest.mark.parametrize("wrong", [None, 3, "v > 3", [len]])
def test_where_wants_a_function(wrong):
    """Anything that cannot be called is refused, and the text shows how to write it."""
    with pytest.raises(TypeError, match="where") as refused:
        where(wrong)
    assert repr(wrong) in str(refused.value)


def test_where_refuses_an_async_function():
    """A match cannot wait; a coroutine object would count as true for every value."""

    async def slow(value: object) -> bool:
        return True

    with pytest.raises(TypeError, match="plain function"):
        where(slow)


ONES = [1, True, 1.0]


@pytest.mark.parametrize("wanted", ONES)
@pytest.mark.parametrize("value", ONES)
def test_one_true_and_one_point_zero_are_three_values(wanted, value):
    """Python says that they are equal. In a tuple they are three different values."""
    assert matches((wanted,), (value,)) is (type(wanted) is type(value))


@pytest.mark.parametrize("number", [Decimal(1), Fraction(1)])
def test_exact_numbers_are_of_another_kind(number):
    """``Decimal(1)`` and ``Fraction(1)`` match themselves, and neither 1 nor 1.0."""
    assert matches((number,), (type(number)(1),))
    for one in ONES:
        assert not matches((number,), (one,))
        assert not matches((one,), (number,))


def test_a_named_integer_equals_its_number():
    """A subclass of ``int`` is of the kind ``int``."""
    assert matches((1,), (Colour.RED,))
    assert matches((Colour.RED,), (1,))
    assert not matches((True,), (Colour.RED,))


def test_none_is_a_value():
    """``None`` matches ``None`` and is no wildcard."""
    assert matches((None,), (None,))
    assert not matches((None,), (0,))
    assert not matches(("a", None), ("a", "b"))


def test_nan_equals_nothing():
    """A nan by value matches nothing, the same nan included; ``float`` and ``ANY`` match it."""
    assert not matches((math.nan,), (math.nan,))
    assert matches((float,), (math.nan,))


def test_nested_values_compare_plainly():
    """The kind rule holds for the fields themselves; inside them ``==`` decides."""
    assert matches(([1, 2],), ([True, 2.0],))
    assert matches((("a", 1),), (("a", 1.0),))
    assert not matches(([1],), ((1,),))


def test_equal_values_of_different_types_match():
    """A set equals a frozenset and bytes equal a bytearray, so they match."""
    assert matches(({1},), (frozenset({1}),))
    assert matches((b"a",), (bytearray(b"a"),))
    assert matches((0.0,), (-0.0,))


@pytest.mark.parametrize("odd", [Uncomparable(), ArrayLike()])
def test_what_cannot_be_compared_does_not_match(odd):
    """A ``==`` that raises, or gives no yes or no, is a no, on either side."""
    assert not matches((odd,), (1,))
    assert not matches(("a",), (odd,))


# The table of kinds: rows are patterns, columns are values.
VALUES = [(1,), (True,), (1.0,), (None,), ("a", None), ("a",), ("a", ArrayLike()), ("a", math.nan)]


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
        ((str,), [5]),
        ((object,), [0, 1, 2, 3, 5]),
        (("a", None), [4]),
        (("a", ANY), [4, 6, 7]),
        (("a", float), [7]),
        (("a", ArrayLike), [6]),
        ((ANY, math.nan), []),
    ],
)
def test_the_table_of_matches(pattern, found):
    """Every pattern finds exactly these of the eight awkward tuples."""
    assert [place for place, fields in enumerate(VALUES) if matches(pattern, fields)] == found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ((ANY,), "(ANY,)"),
        (("task", int, ANY), "('task', int, ANY)"),
        ((where(lambda n: n > 3, "over 3"), True), "(where(over 3), True)"),
        ((), "()"),
    ],
)
def test_a_pattern_is_shown_as_it_is_typed(pattern, text):
    """Texts about patterns read like the code that the learner wrote."""
    assert pattern_text(pattern) == text


def test_where_is_named_after_its_function():
    """Without a text of its own a test is shown by the name of its function."""
    assert repr(where(refuse)) == "where(refuse)"
