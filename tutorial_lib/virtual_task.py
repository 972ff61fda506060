"""Tasks of the virtual loop: they have numbers, begin lives, and can be put away without running again."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import inspect
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar

from tutorial_lib.trace import NamesItself, begin_life, life_in, trace_variable

__all__ = ["VirtualTask", "put_away"]

T = TypeVar("T")


class VirtualTask(asyncio.Task[T], NamesItself):
    """A task of the virtual loop. It has a number, and its name begins a life.

    The number is its hash too: a task group keeps its tasks in a set, and must cancel them in the same
    order in every process.
    """

    def __init__(
        self,
        coroutine: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        loop: asyncio.AbstractEventLoop,
        number: int,
        context: Context,
    ) -> None:
        self.number = number
        self.context = context
        self.steps = 0  # counted only where a seed decides the order
        super().__init__(coroutine, loop=loop, name=f"Task-{number}", context=context)

    def __hash__(self) -> int:
        return self.number

    @property
    def actor(self) -> str:
        """The name of the life that the task belongs to now."""
        life = life_in(self.context)
        return life.name if life else "main"

    def is_unstarted(self) -> bool:
        """Tell whether the task has not made its first step."""
        coroutine = self.get_coro()
        return inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED

    def set_name(self, value: object) -> None:
        """Name the task. A task that has not started yet begins a life of that name."""
        super().set_name(value)
        if self.is_unstarted():
            # A context that is being run in is somebody else's as well: its life is not ours to replace.
            with contextlib.suppress(RuntimeError):
                self.context.run(begin_life, self.get_name())


def put_away(task: VirtualTask[Any]) -> None:
    """Put away a task that has not ended, without letting any of its code run again.

    Python closes a suspended coroutine when the last reference to it is gone, and closing runs every
    ``finally`` inside: a worker that crashed would put its task back after all. No call drops a coroutine
    without that. So it is made immortal: it gets one reference that nobody ever gives back, which the
    garbage collector and the end of the interpreter respect as well.
    """
    coroutine = task.get_coro()
    if inspect.iscoroutine(coroutine) and task.is_unstarted():
        coroutine.close()  # nothing of it has run, so there is no ``finally``
    else:
        task.context.run(trace_variable.set, None)  # or the history would live for ever too
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))
