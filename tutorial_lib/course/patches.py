"""Patches: what an answer puts in the place of library functions, taken out again.

An answer may write ``asyncio.sleep = my_sleep``. In the kernel of a notebook that would hold for every cell
and every check that comes after.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import sys
import time

from tutorial_lib.virtual_loop import VirtualLoop

__all__ = ["Originals"]


class Originals:
    """The functions and classes of asyncio, random, time and the virtual loop, as they are now.

    >>> originals, sleep = Originals(), time.sleep
    >>> time.sleep = print
    >>> originals.put_back()
    >>> time.sleep is sleep
    True
    """

    def __init__(self) -> None:
        self._members = [
            (owner, name, member)
            for owner in _owners()
            for name, member in vars(owner).items()
            if inspect.isroutine(member) or inspect.isclass(member)
        ]

    def put_back(self) -> None:
        """Put back what was replaced since."""
        for owner, name, member in self._members:
            if vars(owner).get(name) is not member:
                setattr(owner, name, member)


def _owners() -> list[object]:
    """Return the modules and classes whose members an answer might replace."""
    parts = [module for name, module in sys.modules.items() if name.startswith("asyncio.")]
    modules = [asyncio, *parts, random, time]
    classes = {
        member
        for module in modules
        for member in vars(module).values()
        if inspect.isclass(member) and member.__module__.startswith("asyncio.")
    }
    return [*modules, *classes, *VirtualLoop.__mro__[:-1]]
