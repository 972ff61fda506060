"""The board of a class in a real JupyterLab."""

from __future__ import annotations

from pathlib import Path

import nbformat
from playwright.sync_api import Page

from tests.browser.test_browser import (  # noqa: F401  (fixtures are found by their names)
    KERNEL_IS_READY,
    RUN_ALL,
    Course,
    browser,
    course,
    page,
    screenshots,
)

IN_A_CELL = """
from tutorial_lib.classroom.host import host
from tutorial_lib.classroom.widget import ClassBoard

async with host() as room, ClassBoard(room):
    await room.over.wait()
"""


def test_the_board_in_a_notebook(page: Page, course: Course, screenshots: Path) -> None:  # noqa: F811
    """Its buttons work while the cell that holds the class runs, and the last one ends the cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(IN_A_CELL.strip())])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (course.folder / "class.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    page.goto(f"{course.address}/lab/tree/class.ipynb?token={course.token}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.wait_for_function(KERNEL_IS_READY)
    page.evaluate(RUN_ALL)
    picture = page.locator(".jp-OutputArea svg.tt")
    picture.locator("text", has_text="Nobody has joined yet.").wait_for()
    page.click("button:has-text('Hand out work')")
    picture.locator("text", has_text="0 of 40 tasks done").wait_for()
    page.screenshot(path=screenshots / "class_in_a_notebook.png")
    page.click("button:has-text('Reset for the next group')")
    picture.locator("text", has_text="round 2 begins").wait_for()
    page.click("button:has-text('End the class')")
    page.wait_for_function(KERNEL_IS_READY)
    assert page.locator(".jp-OutputArea [data-mime-type*='stderr']").count() == 0
