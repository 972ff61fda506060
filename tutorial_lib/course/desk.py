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

import difflib
from pathlib import Path
from typing import Any, Final

from tutorial_lib.course.answers import described, dispose
from tutorial_lib.course.catalog import EXERCISES
from tutorial_lib.course.checking import Exercise, examine
from tutorial_lib.course.exercise_cells import put_back, solution_cells
from tutorial_lib.course.progress import Progress, ProgressTable, progress_file
from tutorial_lib.course.verdict import Verdict
from tutorial_lib.course.workspace import material_root

__all__ = ["check", "hint", "progress", "reset", "solution"]

_NOTHING: Final = object()  # None is an answer: a function that was forgotten


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
    if isinstance(answer, str) and not isinstance(exercise, str):
        dispose(exercise)
        raise ValueError(
            f'The id comes first, and then the function: check("{answer}", {_name_of(exercise)}).'
        )
    known = _exercise(exercise)
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

    Raises `ValueError` for an id that does not exist.

    >>> hint("load-balance")  # doctest: +ELLIPSIS
    Hint ... of 3: ...
    """
    known = _exercise(exercise)
    record = Progress.load()
    number = record.note_hint(known)
    record.save()
    print(f"Hint {number} of {len(known.hints)}: {known.hints[number - 1]}")
    if number == len(known.hints):
        print(f'That was the last hint. solution("{known.id}") shows a worked solution.')


def solution(exercise: str) -> None:
    """Print the worked solution of an exercise, and other ways to write it.

    Raises `ValueError` for an id that does not exist.

    >>> solution("matching")  # doctest: +ELLIPSIS
    async def matching(space):...
    """
    known = _exercise(exercise)
    try:
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
    known = _exercise(exercise)
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


def _exercise(id: object) -> Exercise:
    if isinstance(id, str) and id in EXERCISES:
        return EXERCISES[id]
    name = id if isinstance(id, str) else _name_of(id)
    close = difflib.get_close_matches(name.replace("_", "-"), EXERCISES, n=1)
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    given = repr(id) if isinstance(id, str) else described(id)
    raise ValueError(f"There is no exercise {given}.{suggestion} The exercises are: {', '.join(EXERCISES)}.")


def _name_of(function: object) -> str:
    return getattr(function, "__name__", "your_function")


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
