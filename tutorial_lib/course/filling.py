"""Filling: a program with gaps, run and judged as soon as no gap is left.

The program runs as an answer to an exercise does: in virtual time, and ended if it hangs or spins.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
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

SEEDS: Final = (0, 3)  # the second lets others come first, for a filling that relies on who is first
LINES_SHOWN: Final = 20  # of what a program prints, so that the verdict below is not far away

Program = Callable[[], Coroutine[Any, Any, Any]]

_NOTHING: Any = object()  # None is an answer: a function that was forgotten


def fill(id: str, program: Program = _NOTHING) -> None:
    """Say how a program with gaps stands: what is still to fill, or what comes of the filling.

    ``id`` names the example, ``program`` is the async function that stands above it in the lesson. While a
    gap, a ``...``, is left in it, this prints how many there are and runs nothing. Then it runs the program
    in virtual time, in two orders of ready tasks, and prints "Right" with the reason, or "Not yet" with what
    happened and what to think of. Never hangs: a program without an end is stopped.

    If the cell that defines ``program`` was run again and failed, this says so, as Python still has the old
    one. Raises `ValueError` for an id that does not exist, or if Python does not have the source of
    ``program``, and `TypeError` if ``program`` is missing or is no async function without parameters.

    >>> async def hand_on():
    ...     space = TupleSpace("states")
    ...     await space.write("state", 7, "queued")
    ...     return await space.replace(("state", 7, ...), ("state", 7, ...))
    >>> fill("03-hand-on", hand_on)
    2 gaps to fill: the `...` in hand_on.
    """
    if program is _NOTHING:
        raise TypeError(
            'fill() takes the id and then the async function by its name, as in fill("01-cubes", cubes).'
        )
    refuse_swapped("fill", id, program)
    example = look_up(id, "example", FADED)
    source = _source(id, program)
    gaps = count_gaps(source)
    if _is_out_of_date(program.__name__, source):
        print(f"The cell with {program.__name__} failed when you ran it last. What does it say?")
    elif gaps:
        print(f"{gaps} gap{'s' if gaps > 1 else ''} to fill: the `...` in {program.__name__}.")
    else:
        _judge(example, program, source)


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


def _is_out_of_date(name: str, source: str) -> bool:
    """Tell whether a later cell than the one with this source was to define ``name``, and did not."""
    cells: list[str] = getattr(sys.modules["__main__"], "In", [])  # what a notebook has run, also in vain
    attempts = [cell for cell in cells if re.search(rf"^async def {name}\b", cell, re.MULTILINE)]
    return bool(attempts) and source.strip() not in attempts[-1]


def _judge(example: FadedExample, program: Program, source: str) -> None:
    """Run a program without gaps and print what it prints, and then what is to be said about it."""
    try:
        examination = Examination(_as_exercise(example, program.__name__), program)
    except WrongKind as error:
        raise TypeError(f"{error}. Next step: {error.advice}") from None
    problem = _first_problem(example, examination) or _too_much_caught(source)
    if problem:
        examination.clear_away()
    _print_the_beginning(examination.output)
    text = f"Not yet. {one_line(problem)}" if problem else f"Right. {example.why}"
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def _first_problem(example: FadedExample, examination: Examination) -> str | None:
    """Run the program in more than one order of ready tasks, and say the first thing that is wrong."""
    for seed in SEEDS:
        objection = _run(examination, seed)
        if examination.forgotten:  # perhaps by an earlier cell, and only found now; not twice, then
            objection = _run(examination, seed)
        problem = _problem(example, examination, objection)
        if problem:
            return problem
    return None


def _too_much_caught(source: str) -> str | None:
    """Tell an ``except`` that keeps the order to stop to itself, which no run here shows."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "everything"
            hands_it_on = any(isinstance(part, ast.Raise) for part in ast.walk(node))
            if re.search(r"\b(BaseException|CancelledError|everything)\b", caught) and not hands_it_on:
                return (
                    f"This except catches {caught}, and so also CancelledError, the order to stop. Nobody "
                    "could end this program any more. Which error is meant here?"
                )
    return None


def _run(examination: Examination, seed: int) -> Objection | None:
    """Run the program, and return why it did not come to its end, if it did not."""
    try:
        examination.run("with its gaps filled", lambda answer: answer(), seed=seed)
    except Objection as objection:
        return objection
    return None


def _print_the_beginning(output: str) -> None:
    """Print what the program printed, or the first lines of much."""
    lines = output.splitlines()
    for line in lines[:LINES_SHOWN]:
        print(line)
    if len(lines) > LINES_SHOWN:
        print("... and more lines")


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
        known = [words for part, words in example.errors.items() if part in objection.happened]
        return known[0] if known else stopped
    as_it_was_meant = f'solution("{example.id}") shows the program as it was meant.'
    if not run.trace:  # no judge has anything to go by
        return stopped or f"Nothing happened in it. {as_it_was_meant}"
    try:
        return example.judge(run) or stopped
    except Exception:  # a judge relies on the code around the gaps, and a learner may change that as well
        return stopped or (
            f"The lines around the gaps were changed, and the judge does not know them. {as_it_was_meant}"
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
