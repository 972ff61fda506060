"""Filling: a program with gaps, run and judged as soon as no gap is left.

The program runs as an answer to an exercise does: in virtual time, and ended if it hangs or spins.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Coroutine
from typing import Any, Final

from tutorial_lib.course.answers import WrongKind, described, dispose, refuse_swapped
from tutorial_lib.course.catalog import FADED, look_up
from tutorial_lib.course.checking import Examination, Exercise, Objection
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.course.gaps import count_gaps
from tutorial_lib.course.verdict import one_line

__all__ = ["fill"]

WIDTH: Final = 95  # characters; a notebook breaks longer lines in the middle of a word

Program = Callable[[], Coroutine[Any, Any, Any]]


def fill(id: str, program: Program) -> None:
    """Say how a program with gaps stands: what is still to fill, or what comes of the filling.

    ``id`` names the example, ``program`` is the async function that stands above it in the lesson. While a
    gap, a ``...``, is left in it, this prints how many there are and runs nothing. Then it runs the program
    once in virtual time and prints "Right" with the reason, or "Not yet" with what happened and what to
    think of. Never hangs: a program without an end is stopped.

    Raises `ValueError` for an id that does not exist, or if Python does not have the source of ``program``,
    and `TypeError` if ``program`` is no async function without parameters.

    >>> async def hand_on():
    ...     space = TupleSpace("states")
    ...     await space.write("state", 7, "queued")
    ...     return await space.replace(("state", 7, ...), ("state", 7, ...))
    >>> fill("03-hand-on", hand_on)
    2 gaps to fill: the `...` in hand_on.
    """
    refuse_swapped("fill", id, program)
    example = look_up(id, "example", FADED)
    gaps = count_gaps(_source(id, program))
    if gaps:
        print(f"{gaps} gap{'s' if gaps > 1 else ''} to fill: the `...` in {program.__name__}.")
    else:
        _judge(example, program)


def _source(id: str, program: Program) -> str:
    """Return the code of ``program``, which must be an async function."""
    if not inspect.iscoroutinefunction(program):
        what = described(program)
        dispose(program)
        raise TypeError(
            f'fill() takes an async function by its name, as in fill("{id}", its_name), got {what}. '
            "Write async def, leave yield out, and do not call it."
        )
    try:
        return textwrap.dedent(inspect.getsource(program))
    except OSError:
        raise ValueError(
            f"fill() looks for gaps in the source of {program.__name__}, and Python has not kept it. "
            "Write the function in a cell of a notebook or in a file."
        ) from None


def _judge(example: FadedExample, program: Program) -> None:
    """Run a program without gaps and print what it prints, and then what is to be said about it."""
    try:
        examination = Examination(_as_exercise(example, program.__name__), program)
    except WrongKind as error:
        raise TypeError(f"{error}. Next step: {error.advice}") from None
    objection = None
    try:
        examination.run("with its gaps filled", lambda answer: answer())
    except Objection as raised:
        objection = raised
    problem = _problem(example, examination, objection)
    if examination.output:
        print(examination.output.rstrip("\n"))
    text = f"Not yet. {one_line(problem)}" if problem else f"Right. {example.why}"
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def _problem(example: FadedExample, examination: Examination, objection: Objection | None) -> str | None:
    """Say the first thing that is wrong; ``objection`` tells why the run did not come to its end."""
    run = examination.last_run
    assert run is not None  # a run that was stopped, or that raised an error, is kept as well
    if inspect.iscoroutine(run.result):
        dispose(run.result)
        return "The program returned a coroutine. Write await before the call that gave it."
    if examination.forgotten:
        return f"{examination.forgotten[0]}(...) was called and never awaited. Write await before it."
    stopped = None if objection is None else _in_words(objection)
    if objection is not None and objection.outcome == "error":
        return stopped
    try:
        return example.judge(run) or stopped
    except Exception:  # a judge relies on the code around the gaps, and a learner may change that as well
        return (
            "The lines around the gaps were changed, and the judge does not know them. "
            f'solution("{example.id}") shows the program as it was meant.'
        )


def _as_exercise(example: FadedExample, name: str) -> Exercise:
    """Make an exercise of an example, so that it can be run like one."""
    return Exercise(
        id=example.id,
        lesson=example.lesson,
        signature=f"async def {name}()",
        task="Fill the gaps.",
        why=example.why,
        hints=example.hints,
        judge=lambda examination: None,
        arguments=(),
    )


def _in_words(objection: Objection) -> str:
    """Say in two sentences why a run did not come to its end."""
    is_error = objection.outcome == "error"
    advice = "look at that line, and at the gaps near it." if is_error else objection.advice
    return " ".join(text[0].upper() + text[1:] for text in (objection.happened, advice))
