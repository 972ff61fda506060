"""A newcomer's path through an exercise in a real JupyterLab: untouched, wrong, hint, right, still there."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.test_browser import (  # noqa: F401  (fixtures are found by their names)
    CODE_CELLS,
    KERNEL_IS_READY,
    RAN_ALL,
    RUN_ALL,
    Course,
    browser,
    course,
    page,
    screenshots,
)

TWENTY_EACH = """
async def load_balance(tasks, process):
    counts = Counter()

    async def consumer(name):
        for _ in range(20):
            _, n = await tasks.take("task", int)
            await process(name, n)
            counts[name] += 1

    async with asyncio.TaskGroup() as group:
        for number in range(1, 6):
            group.create_task(consumer(f"w{number}"), name=f"w{number}")
        await tasks.write_many([("task", number) for number in range(100)])
    return dict(counts)
"""
WHO_IS_FREE = """
async def load_balance(tasks, process):
    counts = Counter()

    async def consumer(name):
        while task := await tasks.try_take("task", int):
            await process(name, task[1])
            counts[name] += 1
            await asyncio.sleep(0)

    await tasks.write_many([("task", number) for number in range(100)])
    async with asyncio.TaskGroup() as group:
        for number in range(1, 6):
            group.create_task(consumer(f"w{number}"), name=f"w{number}")
    return dict(counts)
"""

SET_SOURCE = """
([beginning, source]) => {
  const cells = jupyterapp.shell.currentWidget.content.model.sharedModel.cells;
  cells.find(cell => cell.cell_type === "code" && cell.source.startsWith(beginning)).setSource(source);
}
"""
RESTART = """
() => {
  window.restarted = false;
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  kernel.restart().then(() => { window.restarted = true; });
}
"""


def write_into(page: Page, beginning: str, source: str) -> None:  # noqa: F811
    """Replace the code cell that begins so, as a learner does by typing."""
    page.evaluate(SET_SOURCE, [beginning, source])


def answer_to(page: Page, beginning: str) -> str:  # noqa: F811
    """Run all cells and return what the cell that begins so has shown."""
    page.wait_for_function(KERNEL_IS_READY)
    page.evaluate(RUN_ALL)
    page.wait_for_function(RAN_ALL)
    page.wait_for_function(KERNEL_IS_READY)
    cells = page.evaluate(CODE_CELLS)
    shown = next(cell["outputs"] for cell in cells if cell["source"].startswith(beginning))
    return "".join(
        "".join(output["text"] if "text" in output else output["data"]["text/plain"]) for output in shown
    )


def test_an_exercise_from_the_first_look_to_the_day_after(
    page: Page,  # noqa: F811
    course: Course,  # noqa: F811
    screenshots: Path,  # noqa: F811
) -> None:
    """Untouched: not attempted. Wrong: a message and a picture. Right: passed, also after a restart."""
    page.goto(f"{course.address}/lab/tree/exercises/02_producer_consumer.ipynb?token={course.token}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    check = 'check("load-balance"'
    assert answer_to(page, check).startswith("Not attempted.")

    write_into(page, "async def load_balance", TWENTY_EACH.strip())
    assert answer_to(page, check).startswith("Not yet.")
    page.locator(".jp-OutputArea-output:has-text('Not yet.') svg.tt").first.scroll_into_view_if_needed()
    page.screenshot(path=screenshots / "exercise_not_yet.png")

    hint = '# hint("load-balance")'
    write_into(page, hint, 'hint("load-balance")')
    assert answer_to(page, hint[2:]).startswith("Hint 1 of 3")

    write_into(page, "async def load_balance", WHO_IS_FREE.strip())
    assert answer_to(page, check).startswith("Passed.")

    page.evaluate(RESTART)
    page.wait_for_function("() => window.restarted")  # it says "idle" before it is connected anew
    write_into(page, "hint(", "from tutorial_lib import progress\nprint(repr(progress()))")
    shown = answer_to(page, "from tutorial_lib import progress")
    assert re.search(r"load-balance +02_producer_consumer +passed", shown)
