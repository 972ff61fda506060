"""Exercise cells: the parts of the generated notebooks that belong to one exercise.

In ``exercises/NN_name.ipynb`` and ``solutions/NN_name.ipynb`` each exercise has a section: from the heading
of the second level above its ``check("id", ...)`` to the next such heading. Both notebooks are made from one
source, and a cell has the same id in both. A faded example stands in ``notebooks/NN_name.ipynb``: its program
is the code cell before the one that calls ``fill("id", ...)``.
"""

from __future__ import annotations

import copy
import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from tutorial_lib.course.checking import Exercise
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.course.gaps import filled

__all__ = ["Notebook", "faded_cell", "filled_cell", "put_back", "section", "solution_cells", "stub_cells"]

Notebook = dict[str, Any]
Cell = dict[str, Any]

STUB = "raise NotAttempted"


def read_notebook(path: Path) -> Notebook:
    """Read a notebook file."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def source_of(cell: Cell) -> str:
    """Return the text of a cell, which the file keeps as lines."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def section(notebook: Notebook, exercise: str) -> list[Cell]:
    """Return the code cells of an exercise's section; an empty list if it is not checked in this notebook."""
    sections: list[list[Cell]] = [[]]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            sections[-1].append(cell)
        elif re.search(r"^##? ", source_of(cell), re.MULTILINE):
            sections.append([])
    checked = re.compile(rf"""\bcheck\(\s*["']{re.escape(exercise)}["']""")
    for cells in sections:
        if any(checked.search(source_of(cell)) for cell in cells):
            return cells
    return []


def stub_cells(notebook: Notebook, exercise: str) -> list[Cell]:
    """Return the cells in which the learner is to write."""
    return [cell for cell in section(notebook, exercise) if STUB in source_of(cell)]


def solution_cells(material: Path, exercise: Exercise) -> list[str]:
    """Return the code of the worked solutions of an exercise, the first one first.

    ``material`` is the folder that holds the generated notebooks. Raises `FileNotFoundError` if they are
    not there.
    """
    name = f"{exercise.lesson}.ipynb"
    given = [source_of(cell) for cell in section(read_notebook(material / "exercises" / name), exercise.id)]
    solved = section(read_notebook(material / "solutions" / name), exercise.id)
    return [source_of(cell) for cell in solved if source_of(cell) not in given]


def faded_cell(material: Path, example: FadedExample) -> str:
    """Return the program of a faded example as its lesson has it, with the gaps.

    ``material`` is the folder that holds the generated notebooks. Raises `FileNotFoundError` if the lesson is
    not there.
    """
    notebook = read_notebook(material / "notebooks" / f"{example.lesson}.ipynb")
    code = [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return next(program for program, call in pairwise(code) if call.startswith(f'fill("{example.id}"'))


def filled_cell(material: Path, example: FadedExample) -> str:
    """Return the program of a faded example with its gaps filled. Raises as `faded_cell` does."""
    return filled(faded_cell(material, example), example.fillings)


def put_back(notebook: Path, fresh: Path, exercise: str) -> Path:
    """Put the stub of an exercise back into the learner's ``notebook``, as it stands in ``fresh``.

    The notebook as it was is kept beside it; returns the path of that copy. Other exercises in it stay as
    they are. A cell that the learner deleted comes back at the end. Raises `FileNotFoundError` if one of the
    notebooks is missing.
    """
    original = notebook.read_bytes()
    content = read_notebook(notebook)
    places = {cell.get("id"): place for place, cell in enumerate(content["cells"])}
    for cell in stub_cells(read_notebook(fresh), exercise):
        if cell["id"] in places:
            content["cells"][places[cell["id"]]] = copy.deepcopy(cell)
        else:
            content["cells"].append(copy.deepcopy(cell))
    aside = _free_name(notebook)
    aside.write_bytes(original)
    unfinished = notebook.with_name(f"{notebook.name}.part")
    unfinished.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    os.replace(unfinished, notebook)
    return aside


def _free_name(notebook: Path) -> Path:
    """Return a name for a copy that does not exist yet: ``name.before-reset-1.ipynb``."""
    number = 1
    while (aside := notebook.with_name(f"{notebook.stem}.before-reset-{number}.ipynb")).exists():
        number += 1
    return aside
