"""Patterns: how a tuple is asked for.

A pattern is a tuple of the same length as the tuples it matches. Each of its fields is one of

=============  ==========================================================
value          matches an equal value of the same kind
class          matches the instances of that class
``ANY``        matches anything
``where(...)`` matches what its test accepts
=============  ==========================================================

>>> matches(("task", int, ANY), ("task", 7, "queued"))
True
>>> matches(("task", int, ANY), ("task", 7))          # another length
False
>>> matches(("flag", 1), ("flag", True))              # another kind
False
>>> matches(("temp", where(lambda c: c > 30, "over 30")), ("temp", 31.5))
True
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

__all__ = ["ANY", "Pattern", "Where", "matches", "pattern_text", "safe_repr", "shown", "where"]

Pattern = tuple[Any, ...]


class _Any:
    """The one wildcard. A class of its own, since ``None`` is an ordinary value."""

    def __repr__(self) -> str:
        return "ANY"

    def __copy__(self) -> _Any:
        return self

    def __deepcopy__(self, memo: object) -> _Any:
        return self

    def __reduce__(self) -> str:
        return "ANY"


ANY: Final = _Any()
"""The wildcard: matches any one field."""


class Where:
    """A field that matches by a test. Made with `where`."""

    __slots__ = ("test", "text")

    def __init__(self, test: Callable[[Any], object], text: str) -> None:
        self.test = test
        self.text = text

    def __repr__(self) -> str:
        return f"where({self.text})"


def where(test: Callable[[Any], object], text: str = "") -> Where:
    """Make a pattern field that matches every value for which ``test(value)`` is true.

    ``test`` is a plain function of one value. ``text`` says in a few words what it asks for; it stands
    in traces, pictures and error messages, and is the function's own name if left out. Raises
    `TypeError` if ``test`` cannot be called or is a coroutine function. An error inside the test is
    raised to the one who takes or reads with this pattern, never to a writer.

    >>> where(lambda level: level <= 2, "level at most 2")
    where(level at most 2)
    """
    if not callable(test):
        raise TypeError(
            f"where() needs a function of one value, got {shown(test)}. Write where(lambda n: n > 3)."
        )
    if inspect.iscoroutinefunction(test):
        raise TypeError(f"where() needs a plain function, and {shown(test)} is async: a match cannot wait.")
    return Where(test, text or getattr(test, "__name__", repr(test)))


def kind_of(value: object) -> type | None:
    """Return `bool`, `int` or `float` for numbers of these kinds, else ``None``.

    Python says ``1 == True == 1.0``. In a tuple these are three different values, or a flag would be
    taken for a task number. ``bool`` comes first because it is a subclass of ``int``.
    """
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        return int
    if isinstance(value, float):
        return float
    return None


def is_instance(value: object, cls: type) -> bool:
    """Tell whether ``value`` matches the class ``cls``: `isinstance`, but ``True`` is no ``int``."""
    if cls is int and isinstance(value, bool):
        return False
    try:
        return isinstance(value, cls)
    except Exception:  # a class may define its own instance check, and that may raise
        return False


def is_equal(value: object, wanted: object) -> bool:
    """Tell whether ``value`` equals ``wanted`` and is of the same kind.

    What cannot be compared (an ``==`` that raises, or whose answer is neither true nor false, as with
    arrays) does not match. A nan equals nothing, itself included.
    """
    if type(value) is not type(wanted) and kind_of(value) is not kind_of(wanted):
        return False
    try:
        return bool(value == wanted)
    except Exception:
        return False


def field_matches(wanted: object, value: object) -> bool:
    """Tell whether one pattern field matches one value. Errors of a ``where`` test pass through."""
    if wanted is ANY:
        return True
    if isinstance(wanted, Where):
        return bool(wanted.test(value))
    if isinstance(wanted, type):
        return is_instance(value, wanted)
    return is_equal(value, wanted)


def matches(pattern: Pattern, fields: tuple[Any, ...]) -> bool:
    """Tell whether ``fields`` matches ``pattern``: equal length, and every field matches.

    The kinds ``bool``, ``int`` and ``float`` are kept apart for the fields themselves; values nested in
    lists or tuples are compared by plain ``==``.

    >>> matches((int,), (True,)), matches((1,), (1.0,)), matches((None,), (None,))
    (False, False, True)
    """
    if len(pattern) != len(fields):
        return False
    return all(field_matches(wanted, value) for wanted, value in zip(pattern, fields, strict=True))


LONGEST_TEXT: Final = 200


def safe_repr(value: object) -> str:
    """Return the ``repr`` of a value, or its class in angle brackets if the ``repr`` raises."""
    try:
        return repr(value)
    except Exception:  # as that of whole numbers of over 4,300 digits does
        return f"<{type(value).__name__}>"


def shown(value: object) -> str:
    """Return the ``repr`` of a value for a message: cut if it is long, and never an error of its own.

    >>> shown("a" * 1000)[:12], len(shown("a" * 1000))
    ("'aaaaaaaaaaa", 200)
    """
    text = safe_repr(value)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."


def pattern_text(pattern: Pattern) -> str:
    """Write a pattern the way a learner types it.

    >>> pattern_text(("task", int, ANY))
    "('task', int, ANY)"
    """
    texts = [field.__name__ if isinstance(field, type) else shown(field) for field in pattern]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
