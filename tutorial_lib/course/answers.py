"""Answers: what a learner hands in, and whether it is of the kind that was asked for.

An answer to most exercises is anything that gives something to await when it is called: an ``async def``
function, a bound method, an object with ``__call__``. Whatever else is handed in is named plainly.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import reprlib
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Answer", "WrongKind", "described", "dispose", "refuse_swapped"]


class WrongKind(Exception):
    """The answer is no function of the kind that was asked for. Says what it is, and what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.advice = advice


class Answer:
    """The learner's function. Called like the function itself, it gives something to await.

    ``form`` is what was asked for, in words, for messages. ``arguments`` and ``options`` are the names of
    what the check will hand over by position and by name. Raises `WrongKind` for something that cannot be
    called so.

    >>> Answer(7, "load-balance", "async function", ("tasks", "process"))
    Traceback (most recent call last):
        ...
    tutorial_lib.course.answers.WrongKind: 7 (int) cannot be called
    """

    def __init__(
        self,
        function: Any,
        exercise: str,
        form: str,
        arguments: tuple[str, ...],
        options: tuple[str, ...] = (),
    ) -> None:
        if not callable(function):
            raise _not_callable(function, exercise, form)
        self.function: Callable[..., Any] = function
        name = getattr(function, "__name__", type(function).__name__)
        self.name = name if name.isidentifier() else "answer"  # a lambda has no name that one could type
        self._check_parameters(arguments, options)

    def _check_parameters(self, arguments: tuple[str, ...], options: tuple[str, ...]) -> None:
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # some callables do not tell; the call itself will
            return
        try:
            signature.bind(*arguments, **dict.fromkeys(options))
        except TypeError as error:
            listed = ", ".join([*arguments, *(f"{option}=..." for option in options)])
            raise WrongKind(
                f"{self.name}({listed}) does not fit {self.name}{signature}: {error}",
                f"give {self.name} these parameters: ({', '.join([*arguments, *options])}).",
            ) from None

    def __call__(self, *arguments: Any, **options: Any) -> Coroutine[Any, Any, Any]:
        """Call the function and await what it gives; raises `WrongKind` if that cannot be awaited."""
        return self._awaited(*arguments, **options)

    async def _awaited(self, *arguments: Any, **options: Any) -> Any:
        given = self.function(*arguments, **options)
        if not inspect.isawaitable(given):
            raise self._not_awaitable(given)
        return await given

    def _not_awaitable(self, given: object) -> WrongKind:
        if inspect.isgenerator(given) or inspect.isasyncgen(given):
            return WrongKind(
                f"{self.name} contains yield, so a call of it gives {described(given)}",
                "write async def, await what has to be waited for, and return instead of yield.",
            )
        return WrongKind(
            f"{self.name}(...) gave {described(given)}, which cannot be awaited",
            f"write async def {self.name}(...) in place of def {self.name}(...).",
        )


def _not_callable(given: object, exercise: str, form: str) -> WrongKind:
    if inspect.iscoroutine(given):
        name = given.__name__
        given.close()  # or Python complains later that it was never awaited
        return WrongKind(
            f"{name}(...) was called before it was handed in, so the check got a coroutine",
            f'hand in the {form} itself: check("{exercise}", {name}).',
        )
    is_result = inspect.isgenerator(given) or inspect.isasyncgen(given) or asyncio.isfuture(given)
    return WrongKind(
        f"{described(given)} {'was handed in' if is_result else 'cannot be called'}",
        f'write the {form} and hand it in by its name, without calling it: check("{exercise}", its_name).',
    )


def described(value: object) -> str:
    """Name a value in a few words, whatever it is.

    >>> described(None), described([1, 2]), described("a")
    ('None', '[1, 2] (list)', "'a' (str)")
    """
    if value is None:
        return "None"
    for is_kind, words in _KINDS:
        if is_kind(value):
            return words
    if inspect.isfunction(value) or inspect.isclass(value):
        return f"{value.__name__} itself"
    try:
        text = re.sub(r" at 0x[0-9A-Fa-f]+", "", _short.repr(value))  # an address says nothing to a learner
    except Exception:  # a learner's own __repr__ may fail
        text = "something"
    return f"{text} ({type(value).__name__})"


_short = reprlib.Repr()
_short.maxstring = _short.maxother = 120
_short.maxdict = _short.maxlist = _short.maxtuple = 6

_KINDS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (inspect.iscoroutine, "a coroutine (an await is missing)"),
    (inspect.isasyncgen, "an async generator"),
    (inspect.isgenerator, "a generator"),
    (asyncio.isfuture, "a task that is not awaited (an await is missing)"),
)


def refuse_swapped(call: str, id: object, answer: object) -> None:
    """Raise `ValueError` if ``call``, such as ``"check"``, was given the function first and then the id.

    >>> refuse_swapped("check", print, "matching")
    Traceback (most recent call last):
        ...
    ValueError: The id comes first, and then the function: check("matching", print).
    """
    if isinstance(answer, str) and not isinstance(id, str):
        name = getattr(id, "__name__", "your_function")
        dispose(id)
        raise ValueError(f'The id comes first, and then the function: {call}("{answer}", {name}).')


def dispose(value: object) -> None:
    """Close a coroutine that will never be awaited, so that Python does not complain about it later."""
    if inspect.iscoroutine(value):
        value.close()
