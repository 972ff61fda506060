"""Handed in: the answers that stand in a learner's notebook, found without opening it.

The code cells run in this process, one after the other, as *Run All* does; what each ``check("id", answer)``
was given is the answer to that exercise.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import linecache
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from tutorial_lib.course import desk
from tutorial_lib.course.exercise_cells import read_notebook, source_of

__all__ = ["answers_in"]


def answers_in(notebook: Path) -> dict[str, Any]:
    """Return the answers that stand in ``notebook``, by the ids of their exercises.

    Nothing is checked, and nothing that the cells print is shown. A cell that raises an error is passed
    over; what it would have handed in is missing. Raises `FileNotFoundError` if there is no such notebook.
    """
    answers: dict[str, Any] = {}

    def note(exercise: str, answer: Any = None) -> None:
        answers[exercise] = answer

    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in read_notebook(notebook)["cells"] if cell["cell_type"] == "code"]
    sink = io.StringIO()
    with _instead_of_check(note), redirect_stdout(sink), redirect_stderr(sink):
        for number, cell in enumerate(cells, start=1):
            with suppress(Exception):
                _run(source_of(cell), f"{notebook.stem}, code cell {number}", namespace)
    return answers


@contextmanager
def _instead_of_check(note: Callable[..., None]) -> Iterator[None]:
    """Let the cells call ``note`` where they call ``check``."""
    check = desk.check
    desk.check = note
    try:
        yield
    finally:
        desk.check = check


def _run(source: str, name: str, namespace: dict[str, Any]) -> None:
    """Run one cell as a notebook does: with await at the top, and without the lines that are not Python."""
    lines = [re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in source.splitlines()]
    text = "\n".join(lines)
    linecache.cache[name] = (len(text), None, [f"{line}\n" for line in lines], name)  # for error messages
    code = compile(text, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, namespace)
    if inspect.iscoroutine(result):
        asyncio.run(result)
