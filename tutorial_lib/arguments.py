"""Checks of what was given to a space: patterns, tuples, durations. Errors say what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tutorial_lib.patterns import ANY, Pattern, Where, pattern_text, shown
from tutorial_lib.store import ATOMS, Fields, copied

__all__ = [
    "as_tuple",
    "check_count",
    "check_duration",
    "check_lease",
    "check_limit",
    "check_pattern",
    "check_period",
    "checked_tuple",
    "checked_tuples",
]


def check_pattern(operation: str, pattern: Pattern) -> Pattern:
    """Return the pattern. Raises `ValueError` if it has no fields."""
    if not pattern:
        raise ValueError(
            f"{operation}() needs a pattern of at least one field. Write {operation}('task', int), "
            "with ANY for a field that may be anything."
        )
    return pattern


def checked_tuple(fields: Fields) -> Fields:
    """Return the tuple to be stored: checked, and a copy that nobody else can change."""
    if not fields:
        raise ValueError("A tuple needs at least one field. Write write('task', 1).")
    for value in fields:
        if type(value) not in ATOMS:
            return _checked_copy(fields)
    return fields


def checked_tuples(tuples: Iterable[Any]) -> list[Fields]:
    """Return the tuples to be stored by write_many, all of them checked and copied."""
    if isinstance(tuples, (str, bytes)) or not isinstance(tuples, Iterable):
        raise TypeError(
            f"write_many() needs a list of tuples, got {shown(tuples)}. Write write_many([('task', 1)])."
        )
    return [checked_tuple(as_tuple(item, "write_many() needs tuples")) for item in tuples]


def _checked_copy(fields: Fields) -> Fields:
    for number, value in enumerate(fields, start=1):
        if value is ANY or isinstance(value, (Where, type)):
            raise ValueError(
                f"Field {number} of {pattern_text(fields)} is a pattern, {pattern_text((value,))}; only "
                "values can be written. Patterns belong into take, read and claim."
            )
    try:
        return copied(fields)
    except Exception as error:
        raise TypeError(
            f"{pattern_text(fields)} cannot be copied ({error}), so it cannot be written. "
            "Write plain values: numbers, text, lists, dictionaries, dataclasses."
        ) from None


def as_tuple(value: Any, need: str) -> Fields:
    """Return a tuple or list as a tuple. Raises `TypeError` for anything else, beginning with ``need``."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{need}, such as ('task', 1), got {shown(value)}.")
    return tuple(value)


def check_duration(name: str, value: float | None, *, zero: bool = True) -> None:
    """Check a length of time in seconds. None means no limit."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number of seconds or None, got {shown(value)}.")
    if not 0 <= value <= sys.float_info.max:
        raise ValueError(
            f"{name} is a finite number of seconds, 0 or more, got {shown(value)}. None means no limit."
        )
    if value == 0 and not zero:
        raise ValueError(
            f"{name}=0 would be over at once. Give a positive number of seconds, or None for no limit."
        )


def check_lease(lease: float) -> None:
    """Check the length of a lease in seconds."""
    if lease is None:
        raise TypeError(
            "lease is a number of seconds, got None: a claim without end would lose the tuple in a crash."
        )
    if isinstance(lease, bool) or not isinstance(lease, (int, float)):
        raise TypeError(f"lease is a number of seconds, got {shown(lease)}.")
    if not 0 < lease <= sys.float_info.max:
        raise ValueError(f"lease is a finite number of seconds above 0, got {shown(lease)}.")


def check_limit(limit: int | None) -> None:
    """Check the largest number of tuples that take_all may take. None means no limit."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool)):
        raise TypeError(f"take_all() needs a whole number or None as limit, got {shown(limit)}.")
    if limit is not None and limit < 0:
        raise ValueError(f"take_all() needs a limit of 0 or more, got {shown(limit)}.")


def check_period(name: str, value: float) -> None:
    """Check a length of time in seconds that has to be given and more than 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number of seconds, got {shown(value)}.")
    if not 0 < value <= sys.float_info.max:
        raise ValueError(f"{name} is a finite number of seconds, more than 0, got {shown(value)}.")


def check_count(name: str, value: int, *, least: int) -> None:
    """Check a whole number of something, which has to be ``least`` or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a whole number, got {shown(value)}.")
    if value < least:
        raise ValueError(f"{name} is a whole number of {least} or more, got {shown(value)}.")
