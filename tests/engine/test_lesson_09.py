"""Lesson 09 is true with a server and without one: the same outputs, but for what the text says."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tutorial_lib.course import build
from tutorial_lib.course.rules import REASONS, UNCOMPARED

PATH = Path(__file__).resolve().parents[2] / "notebooks" / "09_many_machines.ipynb"
MEASURED, NEEDS_A_SERVER = REASONS


def committed() -> NotebookNode:
    return nbformat.reads(PATH.read_text(encoding="utf-8"), as_version=4)


def shown(cell: NotebookNode) -> list[str]:
    return [build.output_text(output) for output in cell.get("outputs", ())]


@pytest.mark.parametrize("has_server", [True, False], ids=["with a server", "without a server"])
def test_every_cell_gives_the_committed_outputs(has_server: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured figures apart. What needs a server is compared if there is one, and shows nothing if not."""
    if not has_server:
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    notebook = copy.deepcopy(committed())
    assert build.run(notebook) == []
    for cell, before in zip(notebook.cells, committed().cells, strict=True):
        if cell.source.startswith(NEEDS_A_SERVER) and not has_server:
            assert shown(cell) == []
        elif not cell.source.startswith(MEASURED):
            assert shown(cell) == shown(before), cell.id


def test_the_cells_that_nobody_compares_elsewhere_are_those_that_say_why() -> None:
    """Else a cell could be compared here and nowhere else, or nowhere at all."""
    cells = committed().cells
    tagged = [cell.id for cell in cells if UNCOMPARED in cell.metadata.get("tags", ())]
    assert tagged == [cell.id for cell in cells if cell.source.startswith(REASONS)]
