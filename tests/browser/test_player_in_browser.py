"""The player in a real JupyterLab: it plays, pauses, steps, scrubs, and a click changes the future only."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.test_browser import (  # noqa: F401  (fixtures are found by their names)
    Course,
    browser,
    course,
    page,
    run_in_a_cell,
    wait_until,
)
from tutorial_lib.views.player import POSITIONS_PER_SECOND

PROGRAM = """
import asyncio
from tutorial_lib import Crew, Player, TupleSpace, crash, simulate, work


async def main():
    tasks = TupleSpace("tasks")
    await tasks.write_many([("task", number) for number in range(1, 13)])

    async def worker(name):
        while task := await tasks.try_take("task", int):
            await work(2, task)

    async with Crew(worker, 3) as crew:
        await crew.join()


player = Player(main)
player
"""
EVENTS_AT = (2, 4, 6, 8)  # seconds, after the beginning
PLAY = ".widget-play button >> nth=0"
HANDLE = ".noUi-handle"


@pytest.fixture
def player(page: Page, course: Course) -> Page:  # noqa: F811
    """A page with a notebook that has shown its player."""
    run_in_a_cell(page, course, "player", PROGRAM)
    page.wait_for_selector("button:has-text('Crash')")
    page.wait_for_function("() => document.body.innerText.includes('event 21 of')")
    return page


def caption(page: Page) -> str:  # noqa: F811
    """Return the line that says where the playhead is and what has just happened."""
    return page.locator(".widget-html-content:has-text('event ')").last.inner_text()


def moment(page: Page) -> float:  # noqa: F811
    return float(caption(page).split()[0])


def has_caught_up(page: Page) -> bool:  # noqa: F811
    """Tell whether the picture shows the moment of the slider: the kernel has heard all that it has to."""
    before = handle_at(page)
    return moment(page) == round(before / POSITIONS_PER_SECOND, 2) and handle_at(page) == before


def handle_at(page: Page) -> float:  # noqa: F811
    """Return the position of the slider."""
    return float(page.locator(HANDLE).get_attribute("aria-valuenow") or "nan")


def after(page: Page, act: Callable[[], None]) -> str:  # noqa: F811
    """Do something and return the caption as soon as it is another one."""
    before = caption(page)
    act()
    wait_until(lambda: caption(page) != before, "the picture to change")
    return caption(page)


def test_it_plays_and_pauses(player: Page) -> None:
    """Time goes on until the same button is clicked again, and rests then."""
    player.click(PLAY)
    wait_until(lambda: moment(player) > 0.5, "time to go on")
    player.click(PLAY)
    wait_until(lambda: has_caught_up(player), "the picture to catch up with the slider")
    rests_at = moment(player)
    player.wait_for_timeout(1000)
    assert moment(player) == rests_at


def test_it_steps_both_ways(player: Page) -> None:
    """One event later and one earlier is where it was."""
    start = caption(player)
    later = after(player, lambda: player.click("button:has-text('Next')"))
    assert "event 22 of" in later
    assert after(player, lambda: player.click("button:has-text('Back')")) == start


def test_a_step_while_it_plays_is_not_undone(player: Page) -> None:
    """It stops at an event, though moments from before were still on their way to the kernel."""
    player.click(PLAY)
    wait_until(lambda: moment(player) > 0.5, "time to go on")
    player.click("button:has-text('Next')")
    player.wait_for_selector(".widget-play .fa-play")  # the page has stopped to play
    wait_until(lambda: moment(player) in EVENTS_AT, "the step")
    wait_until(lambda: has_caught_up(player), "the slider to follow")
    player.wait_for_timeout(500)
    assert moment(player) in EVENTS_AT


def test_the_slider_scrubs(player: Page) -> None:
    """Dragging its handle moves the playhead, and dragging it back rewinds."""
    player.hover(HANDLE)  # which waits until the page has come to rest
    box = player.locator(HANDLE).bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    player.mouse.move(box["x"] + box["width"] / 2, y)
    player.mouse.down()
    player.mouse.move(box["x"] + 150, y, steps=10)
    wait_until(lambda: moment(player) > 1, "the playhead to follow the slider")
    player.mouse.move(box["x"], y, steps=10)
    player.mouse.up()
    wait_until(lambda: moment(player) < 0.5, "the playhead to come back")


def test_a_crash_changes_the_future_and_the_line_of_code_makes_the_same_run(player: Page) -> None:
    """The line, run in a cell, gives the trace of the player, and no warning about the past."""
    for _ in range(4):
        after(player, lambda: player.click("button:has-text('Next')"))
    after(player, lambda: player.click("button:has-text('Crash')"))
    code = player.locator("code[title]").inner_text()
    assert code == 'simulate(main, faults=[crash("w1", at=2.0)])'
    assert player.locator("[role=alert]").count() == 0
    source = f"{code}.trace == player.run.trace"
    player.evaluate(
        "source => { const model = jupyterapp.shell.currentWidget.content.model.sharedModel;"
        " model.insertCell(1, {cell_type: 'code', source});"
        " jupyterapp.shell.currentWidget.content.activeCellIndex = 1;"
        " jupyterapp.commands.execute('notebook:run-cell'); }",
        source,
    )
    player.wait_for_selector(".jp-OutputArea-executeResult:has-text('True')")
