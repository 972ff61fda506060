"""A whole class, as its teacher sees it: three machines and the board in a real browser.

Every part is a process of its own, started by the command that people type. Nothing here asks how long
something took.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.test_browser import (  # noqa: F401  (fixtures are found by their names)
    PATIENCE,
    browser,
    screenshots,
    wait_until,
)

STUDENTS = ("anna", "bo", "chen")
SCREENS = [("light", 1280, 720), ("dark", 1280, 720), ("light", 1920, 1080), ("dark", 1920, 1080)]

BOARD_ALONE = """
import asyncio
from tutorial_lib import connect
from tutorial_lib.classroom.host import Classroom
from tutorial_lib.classroom.page import BoardPage

async def main():
    async with connect("memory://") as manager:
        room = Classroom(manager, "redis://student:secret@127.0.0.1:6379/0")
        await room.open()
        async with BoardPage(room) as page:
            print("The board:", page.url, flush=True)
            await room.over.wait()

asyncio.run(main())
"""


class Program:
    """A program that runs beside the test. What it prints is read a line at a time."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)

    def line_with(self, text: str) -> str:
        """Return the next line that holds ``text``."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if text in line:
                return line.strip()
        raise AssertionError(f"the program ended and never printed {text!r}")

    def end(self, how: int = signal.SIGINT) -> int:
        """Send it a signal and return its exit status."""
        self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE)


def tutorial(*arguments: str) -> Program:
    """Start the command ``tutorial``."""
    return Program(str(Path(sys.executable).parent / "tutorial"), *arguments)


@pytest.fixture
def programs() -> Iterator[dict[str, Program]]:
    """The programs of a test by name, all of them ended with it."""
    running: dict[str, Program] = {}
    yield running
    for program in reversed(running.values()):
        if program.process.poll() is None:
            program.end()


def opened(browser: Browser, url: str, script: str = "") -> Page:  # noqa: F811
    """Open the board as on a projector, and fail on anything that the browser complains of.

    ``script`` runs before the program of the page.
    """
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.add_init_script(script)
    page.set_default_timeout(PATIENCE * 1000)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(url)
    wait_for(page, "Round 1")
    assert complaints == []
    return page


def wait_for(page: Page, text: str) -> None:
    """Wait until the picture holds a text that begins like this."""
    page.locator("#board text", has_text=re.compile(f"^{re.escape(text)}")).first.wait_for()


def texts(page: Page) -> list[str]:
    """Return all that stands in the picture now."""
    return page.locator("#board text").all_text_contents()


def task_of(page: Page, name: str) -> int | None:
    """Return the number of the task that a machine works on now."""
    found = texts(page)
    words = "".join(found[found.index(name) :][:99])
    state = re.search(r"working on task (\d+)|idle|quiet|dropped out", words)
    return int(state.group(1)) if state and state.group(1) else None


def photograph(page: Page, folder: Path, what: str) -> None:
    """Save the board in light and dark, on both kinds of projector."""
    for scheme, width, height in SCREENS:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": height})
        page.screenshot(path=folder / f"class_{what}_{scheme}_{width}.png")
        sizes = page.evaluate("[document.documentElement.scrollHeight, innerHeight]")
        assert sizes[0] <= sizes[1], "the page has to be scrolled"


def test_a_class_from_joining_to_its_end(
    browser: Browser,  # noqa: F811
    programs: dict[str, Program],
    screenshots: Path,  # noqa: F811
) -> None:
    """Three join and share the work; one is killed, another does its task; reset clears; the end is told."""
    host = programs["host"] = tutorial("class", "host", "--no-browser")
    address = host.line_with("tutorial class join").split()[-1]
    page = opened(browser, host.line_with("The board:").split()[-1])
    for name in STUDENTS:
        programs[name] = tutorial("class", "join", address, "--name", name)
    for name in STUDENTS:
        wait_for(page, name)

    page.select_option("#job", "nap")
    page.click("text=Hand out work")
    page.locator("#reply", has_text="40 tasks are handed out.").wait_for()
    for name in STUDENTS:
        wait_until(lambda name=name: task_of(page, name) is not None, f"{name} to work")
    photograph(page, screenshots, "at_work")

    first = task_of(page, "bo")
    wait_until(lambda: task_of(page, "bo") not in (first, None), "bo to begin another task")
    assert programs["bo"].end(signal.SIGKILL) == -signal.SIGKILL  # in the middle of it
    wait_for(page, "dropped out")
    photograph(page, screenshots, "dropped_out")
    lost = page.locator("#board text", has_text=re.compile(r"^(anna|chen) did task \d+, which bo had lost$"))
    lost.wait_for()
    photograph(page, screenshots, "done_by_another")
    wait_for(page, "40 of 40 tasks done · 0 waiting · 0 in work")

    page.click("text=Reset for the next group")
    wait_for(page, "Round 2")
    wait_for(page, "no tasks yet")
    assert "bo" not in texts(page)
    assert {"anna", "chen"} <= set(texts(page))

    page.click("text=End the class")
    page.locator("#reply", has_text="The class is over.").wait_for()
    assert page.locator("button:enabled").count() == 0
    assert host.process.wait(timeout=PATIENCE) == 0
    assert [programs[name].process.wait(timeout=PATIENCE) for name in ("anna", "chen")] == [0, 0]
    page.close()


HELD_ANSWERS = """
const send = window.fetch;
window.fetch = async (...order) => {
  const answer = await send(...order);
  const text = await answer.text();
  return await new Promise((resolve) => {
    window.release = () => resolve(new Response(text, { status: answer.status }));
  });
};
"""
"""Holds the answer to a button until ``release()`` is called."""

LOST_ANSWERS = """
const send = window.fetch;
window.fetch = async (...order) => {
  await send(...order);
  return await new Promise((resolve, reject) => {
    window.release = () => reject(new TypeError("Failed to fetch"));
  });
};
"""
"""Likewise, and then the answer is lost, as when the host closes the connection."""


@pytest.mark.parametrize("answers", [HELD_ANSWERS, LOST_ANSWERS], ids=["late", "lost"])
def test_the_end_is_the_last_word_when_the_answer_to_the_button_is(
    browser: Browser,  # noqa: F811
    programs: dict[str, Program],
    answers: str,
) -> None:
    """The last picture and the answer come on two connections, in either order."""
    board = programs["board"] = Program("-c", textwrap.dedent(BOARD_ALONE))
    page = opened(browser, board.line_with("The board:").split()[-1], script=answers)
    page.click("text=End the class")
    page.locator("#reply", has_text="The class is over.").wait_for()
    wait_until(lambda: page.evaluate("'release' in window"), "the answer to the button")
    page.evaluate("release(), new Promise((resolve) => setTimeout(resolve))")
    assert page.locator("#reply").text_content() == "The class is over."
    assert page.locator("button:enabled").count() == 0
    page.close()


def test_a_last_picture_that_is_lost_is_not_missed(
    browser: Browser,  # noqa: F811
    programs: dict[str, Program],
) -> None:
    """Who was told that the class ends, and then finds nobody there, knows that it is over."""
    silent_end = BOARD_ALONE.replace("await room.over.wait()", "await asyncio.Event().wait()")
    board = programs["board"] = Program("-c", textwrap.dedent(silent_end))
    page = opened(browser, board.line_with("The board:").split()[-1])
    page.click("text=End the class")
    page.locator("#reply", has_text="The class ends.").wait_for()
    board.end(signal.SIGKILL)
    page.locator("#reply", has_text="The class is over.").wait_for()
    assert page.locator("button:enabled").count() == 0
    page.close()


def test_a_host_that_is_killed_is_missed(browser: Browser, programs: dict[str, Program]) -> None:  # noqa: F811
    """The page says so, and its buttons rest."""
    board = programs["board"] = Program("-c", textwrap.dedent(BOARD_ALONE))
    page = opened(browser, board.line_with("The board:").split()[-1])
    board.end(signal.SIGKILL)
    page.locator("#reply", has_text="The class is over: the host has gone.").wait_for()
    assert page.locator("button:enabled").count() == 0
    page.close()


def test_a_name_with_markup_is_shown_as_it_is(browser: Browser, programs: dict[str, Program]) -> None:  # noqa: F811
    """It neither runs nor breaks the picture."""
    program = BOARD_ALONE.replace(
        "await room.over.wait()",
        "await room.manager.space('class').write('machine', '<img src=x onerror=alert(1)>', 8, '<b>')\n"
        "            await room.over.wait()",
    )
    board = programs["board"] = Program("-c", program)
    page = opened(browser, board.line_with("The board:").split()[-1])
    wait_for(page, "<img src=x")
    wait_for(page, "8 cores, <b>")
    assert page.locator("#board img, #board b").count() == 0
    page.close()
