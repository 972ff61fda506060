"""The board of a class in a real JupyterLab."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.browser.test_browser import (  # noqa: F401  (fixtures are found by their names)
    RAN_ALL,
    Course,
    browser,
    course,
    page,
    run_in_a_cell,
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
    run_in_a_cell(page, course, "class", IN_A_CELL)
    picture = page.locator(".jp-OutputArea svg.tt")
    picture.locator("text", has_text="Nobody has joined yet.").wait_for()
    page.click("button:has-text('Hand out work')")
    picture.locator("text", has_text="0 of 40 tasks done").wait_for()
    page.screenshot(path=screenshots / "class_in_a_notebook.png")
    page.click("button:has-text('Reset for the next group')")
    picture.locator("text", has_text="round 2 begins").wait_for()
    page.click("button:has-text('End the class')")
    page.wait_for_function(RAN_ALL)  # the kernel is idle between two clicks as well
    assert page.locator(".jp-OutputArea [data-mime-type*='stderr']").count() == 0
