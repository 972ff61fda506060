"""Desk: what a learner calls while working on the exercises.

=============================  ================================================================
``check("id", function)``      run an answer many times and say how it stands
``check("id")``                print what is asked
``hint("id")``                 print a hint; each call goes one further
``solution("id")``             print the worked solution
``progress()``                 show how all exercises stand
``reset("id")``                begin an exercise anew; the work so far is moved aside first
=============================  ================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tutorial_lib.course.answers import refuse_swapped
from tutorial_lib.course.catalog import EXERCISES, FADED, look_up
from tutorial_lib.course.checking import Exercise, examine
from tutorial_lib.course.exercise_cells import filled_cell, put_back, solution_cells
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.course.progress import Progress, ProgressTable, progress_file
from tutorial_lib.course.verdict import Verdict
from tutorial_lib.course.workspace import material_root

__all__ = ["check", "hint", "progress", "reset", "solution"]

_NOTHING: Final = object()  # None is an answer: a function that was forgotten
_WITH_HINTS: Final[Mapping[str, Exercise | FadedExample]] = {**EXERCISES, **FADED}


def check(exercise: str, answer: Any = _NOTHING) -> Verdict | None:
    """Check an answer: run it many times in virtual time, and say how it stands.

    ``exercise`` is the id, ``answer`` the function itself. Returns a `Verdict`, which a notebook shows; its
    ``outcome`` is "not attempted", "not yet", "error", "proved nothing" or "passed", and ``show()`` opens
    the run in which something went wrong. Without an answer this prints what is asked, and returns None.
    Never hangs: an answer without an end is stopped. Raises `ValueError` for an id that does not exist.

    >>> async def matching(space):
    ...     return None
    >>> print(check("matching", matching).outcome)
    not yet
    """
    refuse_swapped("check", exercise, answer)
    known = look_up(exercise, "exercise", EXERCISES)
    if answer is _NOTHING:
        print(_what_is_asked(known))
        return None
    verdict = examine(known, answer)
    record = Progress.load()
    record.note_verdict(known, verdict)
    record.save()
    return verdict


def hint(exercise: str) -> None:
    """Print a hint. Each call goes one further, from a first question to nearly the answer.

    ``exercise`` is the id of an exercise, or of a program with gaps in a lesson. Raises `ValueError` for an
    id that does not exist.

    >>> hint("load-balance")  # doctest: +ELLIPSIS
    Hint ... of 3: ...
    """
    known = look_up(exercise, "exercise", _WITH_HINTS)
    record = Progress.load()
    number = record.note_hint(known)
    record.save()
    print(f"Hint {number} of {len(known.hints)}: {known.hints[number - 1]}")
    if number == len(known.hints):
        print(f'That was the last hint. solution("{known.id}") shows a worked solution.')


def solution(exercise: str) -> None:
    """Print the worked solution of an exercise, and other ways to write it.

    ``exercise`` may also be the id of a program with gaps in a lesson: it is printed with its gaps filled.
    Raises `ValueError` for an id that does not exist.

    >>> solution("matching")  # doctest: +ELLIPSIS
    async def matching(space):...
    """
    known = look_up(exercise, "exercise", _WITH_HINTS)
    try:
        if isinstance(known, FadedExample):
            cells = [filled_cell(material_root(), known)]
        else:
            cells = solution_cells(material_root(), known)
    except FileNotFoundError as error:
        print(f"The worked solution of {known.id} is not here: {error.filename} is missing.")
        print("In a checkout, make it with: python -m tutorial_lib.course.build")
        return
    record = Progress.load()
    record.note_solution(known)
    record.save()
    print("\n\n\n".join(cells))


def progress() -> ProgressTable:
    """Show how all exercises stand, as a table.

    >>> print(repr(progress()).splitlines()[0].split())
    ['exercise', 'lesson', 'state', 'tries', 'hints']
    """
    return ProgressTable(Progress.load(), EXERCISES)


def reset(exercise: str) -> None:
    """Begin an exercise anew: put its stub back into your notebook, and forget how it stood.

    The notebook as it was is kept beside it, and the other exercises in it stay as they are. Raises
    `ValueError` for an id that does not exist.

    >>> reset("matching")  # in a checkout
    This is no working folder, so no notebook was changed. tutorial lab makes one.
    """
    known = look_up(exercise, "exercise", EXERCISES)
    record = Progress.load()
    record.forget(known.id)
    record.save()
    kept_in = progress_file()
    if kept_in is None:
        print("This is no working folder, so no notebook was changed. tutorial lab makes one.")
        return
    name = f"{known.lesson}.ipynb"
    notebook = kept_in.parent / "exercises" / name
    try:
        aside = put_back(notebook, material_root() / "exercises" / name, known.id)
    except FileNotFoundError as error:
        print(
            f"{known.id} counts as not attempted again. No notebook was changed: {error.filename} is missing."
        )
        return
    print(f"{known.id} begins anew. Your notebook as it was is kept as {_short(aside)}.")
    print(f"If {notebook.name} is open, choose File > Reload Notebook from Disk.")


def _what_is_asked(exercise: Exercise) -> str:
    lines = [exercise.signature, "", exercise.task]
    if exercise.off_limits:
        names = ", ".join(part.__name__ for part in exercise.off_limits)
        lines.append(f"Off limits, since you build it here: {names}.")
    name = exercise.signature.partition("(")[0].partition(":")[0].split()[-1]
    lines += ["", f'When it is ready: check("{exercise.id}", {name})']
    return "\n".join(lines)


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
