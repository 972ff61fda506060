"""Near misses: which tuple comes closest to a pattern, and what keeps it from matching."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from tutorial_lib.patterns import Pattern, Where, field_matches, shown
from tutorial_lib.store import Fields

__all__ = ["near_miss"]

TUPLES_LOOKED_AT: Final = 100


def near_miss(pattern: Pattern, tuples: Iterable[Fields]) -> str:
    """Say in a sentence which of the oldest ``tuples`` comes closest, or return "" if there is none.

    >>> near_miss(("task", int), [("task", 3, "queued")])
    "There is ('task', 3, 'queued'): 3 fields, 2 asked."
    >>> near_miss(("task", int), [("task", "3")])
    "There is ('task', '3'): field 2 is '3' (str), asked is int."
    >>> near_miss(("task", int), [(("task", 3),)])
    "There is (('task', 3),): its one field is a tuple. For 2 fields leave out the inner brackets."
    """
    oldest = list(islice(tuples, TUPLES_LOOKED_AT))
    if not oldest:
        return ""
    closest = max(oldest, key=lambda fields: _likeness(pattern, fields))
    return f"There is {shown(closest)}: {_difference(pattern, closest)}.{_question(pattern)}"


def _likeness(pattern: Pattern, fields: Fields) -> tuple[bool, bool, int]:
    """Measure how near a tuple comes to a pattern: same length first, then how many fields match.

    What would match but for its brackets is nearer than all others.
    """
    shorter = range(min(len(pattern), len(fields)))
    matching = sum(_matches_quietly(pattern[i], fields[i]) for i in shorter)
    return _differs_in_brackets(pattern, fields), len(pattern) == len(fields), matching


def _differs_in_brackets(pattern: Pattern, fields: Fields) -> bool:
    """Tell whether one of the two is the other in one more pair of brackets: (("task", 3),)."""
    if len(pattern) == 1 and isinstance(pattern[0], tuple):
        return _all_match_quietly(pattern[0], fields)
    return len(fields) == 1 and isinstance(fields[0], tuple) and _all_match_quietly(pattern, fields[0])


def _all_match_quietly(pattern: Pattern, fields: Fields) -> bool:
    return len(pattern) == len(fields) and all(map(_matches_quietly, pattern, fields))


def _difference(pattern: Pattern, fields: Fields) -> str:
    """Say why a tuple does not match."""
    if _differs_in_brackets(pattern, fields):
        if len(fields) == 1:
            return f"its one field is a tuple. For {_fields_text(len(pattern))} leave out the inner brackets"
        return f"{_fields_text(len(fields))}, and one asked that is a tuple. Leave out the inner brackets"
    if len(pattern) != len(fields):
        return f"{_fields_text(len(fields))}, {len(pattern)} asked"
    for number, (wanted, value) in enumerate(zip(pattern, fields, strict=True), start=1):
        if not _matches_quietly(wanted, value):
            found = f"{shown(value)} ({type(value).__name__})"
            return f"field {number} is {found}, asked is {_wanted_text(wanted)}"
    return "it matches now, and did not when it was written"


def _matches_quietly(wanted: Any, value: Any) -> bool:
    try:
        return field_matches(wanted, value)
    except Exception:  # a where() test that cannot digest this value does not match it
        return False


def _question(pattern: Pattern) -> str:
    """Ask about a field that is a function: it matches only itself, which hardly anybody wants."""
    if any(inspect.isfunction(wanted) for wanted in pattern):
        return " A function in a pattern matches only itself. Did you mean where(...)?"
    return ""


def _fields_text(number: int) -> str:
    return "1 field" if number == 1 else f"{number} fields"


def _wanted_text(wanted: Any) -> str:
    if isinstance(wanted, type):
        return wanted.__name__
    if inspect.isfunction(wanted):
        return "a function"
    return repr(wanted) if isinstance(wanted, Where) else f"{shown(wanted)} ({type(wanted).__name__})"
