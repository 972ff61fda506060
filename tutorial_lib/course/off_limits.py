"""Off limits: noticing that an answer uses the very part it was asked to build.

What counts is the class itself, not its name: an alias and a subclass use the same methods. (A profiler
would see every call of every kind, but under Python 3.11 it makes some ``await`` hang.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

__all__ = ["Lookout"]


class Lookout:
    """Watches for calls of the methods of some classes.

    ``seen`` is the name of the first class that was used, ``""`` so far.

    >>> class Clock:
    ...     def strike(self):
    ...         return "bong"
    >>> Watch = Clock
    >>> lookout = Lookout([Clock])
    >>> with lookout.watching():
    ...     Watch().strike()
    'bong'
    >>> lookout.seen
    'Clock'
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self.seen = ""
        self._classes = tuple(classes)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Put a note into every method for the time of the ``with`` block."""
        methods = [
            (owner, name, member)
            for owner in self._classes
            for name, member in vars(owner).items()
            if isinstance(member, FunctionType)
        ]
        for owner, name, method in methods:
            setattr(owner, name, self._noting(owner, method))
        try:
            yield
        finally:
            for owner, name, method in methods:
                setattr(owner, name, method)

    def _noting(self, owner: type, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def noted(*arguments: Any, **options: Any) -> Any:
            self.seen = self.seen or owner.__name__
            return method(*arguments, **options)

        return noted
