"""Off limits: noticing that an answer uses the very part it was asked to build.

What counts is which code runs, not what it is called: an imported name, an alias and a subclass all run
the same code.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

__all__ = ["Lookout"]


class Lookout:
    """Watches runs for calls into ``parts``: classes, functions and modules.

    ``seen`` is the name of the first part that was used, ``""`` so far.

    >>> Lookout([Lookout]).seen
    ''
    """

    def __init__(self, parts: tuple[Any, ...] | list[Any]) -> None:
        self.seen = ""
        self._names = {code: part.__name__.rpartition(".")[2] for part in parts for code in _codes(part)}

    def watching(self, program: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        """Return a program that does the same, and is watched. Costs time, so only where it is needed."""
        if not self._names:
            return program

        async def watched() -> Any:
            sys.setprofile(self._notice)  # of this thread only, which belongs to the run
            try:
                return await program()
            finally:
                sys.setprofile(None)

        return watched

    def _notice(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and not self.seen:
            self.seen = self._names.get(frame.f_code, "")


def _codes(part: Any) -> Iterator[CodeType]:
    """Yield the code of a function, of all methods of a class, of all that a module defines."""
    if isinstance(part, FunctionType):
        yield inspect.unwrap(part).__code__
    elif isinstance(part, (classmethod, staticmethod)):
        yield from _codes(part.__func__)
    elif isinstance(part, property):
        yield from _codes(part.fget)
    elif isinstance(part, type):
        for member in vars(part).values():
            yield from _codes(member)
    elif isinstance(part, ModuleType):
        for member in vars(part).values():
            if getattr(member, "__module__", None) == part.__name__:
                yield from _codes(member)
