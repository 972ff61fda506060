"""What the tests of the tuple space share."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from tutorial_lib import Claim, TupleSpace, simulate

REPEATS = int(os.environ.get("TUTORIAL_REPEATS", "1"))
"""How many times the usual number of seeds and random steps is tried. `.ci/run` asks for more than 1."""


def simulated(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a plain test of an async one: it runs in virtual time, on a loop of its own."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        simulate(functools.partial(test, **arguments))

    return run


def simulated_twice(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a plain test of an async one: it runs in virtual time, once with a trace and once without.

    A space takes shorter ways where nobody wants to hear of its events. Both must lead to the same place.
    """

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        program = functools.partial(test, **arguments)
        simulate(program)
        simulate(untraced(program))

    return run


def untraced(program: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return the program in such a way that no trace records it."""

    async def run(*arguments: Any) -> Any:
        return await asyncio.create_task(program(*arguments), context=Context())

    return run


async def settle() -> None:
    """Let everything happen that can happen at this moment."""
    for _ in range(10):
        await asyncio.sleep(0)


async def started(operation: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
    """Start an operation as a task and let it come as far as it can."""
    task = asyncio.create_task(operation, name=name)
    await settle()
    return task


async def ended(task: asyncio.Task[Any]) -> Any:
    """Return what a task returned, or the error it ended with (as a value, not raised)."""
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    return outcome


async def claimed(space: TupleSpace, *pattern: Any, lease: float = 1) -> Claim:
    """Return a claim that is held outside any block, as by a worker that never comes back."""
    return await space.claim(*pattern, lease=lease).__aenter__()


class Uncomparable:
    """A value whose ``==`` raises."""

    def __repr__(self) -> str:
        return "Uncomparable()"

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("cannot be compared")

    __hash__ = None  # type: ignore[assignment]


class ArrayLike:
    """A value whose ``==`` answers with something that is neither true nor false, as an array does."""

    def __repr__(self) -> str:
        return "ArrayLike()"

    def __eq__(self, other: object) -> Any:
        return ArrayLike()

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    __hash__ = None  # type: ignore[assignment]


def refuse(value: object) -> bool:
    """A test for `where` that always raises."""
    raise LookupError(f"the test does not like {value!r}")
