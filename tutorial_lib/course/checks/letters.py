"""Letters: what is written about a task when it has come to its end, in ``results`` or in ``dead``."""

from __future__ import annotations

from typing import Any

from tutorial_lib.course.checking import Objection, clock
from tutorial_lib.patterns import ANY, matches
from tutorial_lib.trace import Event

__all__ = ["check_form", "is_letter", "is_same"]


def is_letter(event: Event) -> bool:
    """Tell whether ``event`` writes to results or dead."""
    return event.kind in ("write", "replace") and event.space in ("results", "dead")


def check_form(event: Event) -> None:
    """Object to a tuple in results or dead that has not the form asked for."""
    is_result = event.space == "results"
    pattern = ("result", int, ANY) if is_result else ("dead", int, str)
    if not matches(pattern, event.fields):
        form = '("result", n, value)' if is_result else '("dead", n, reason), the reason as text'
        raise Objection(
            f"tuples in {event.space} have the form {form}.",
            f"at {clock(event.time)} {event.actor} wrote {event.fields!r} to {event.space}.",
            "compare the two, field by field.",
            at=event.time,
        )


def is_same(value: Any, expected: Any) -> bool:
    """Tell whether two values are equal and of one kind: 0, False and 0.0 are three values."""
    return type(value) is type(expected) and bool(value == expected)
