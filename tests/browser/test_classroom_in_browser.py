"""A whole class, as its teacher sees it: three machines and the board in a real browser.

Every part is a process of its own, started by the command that people type. Nothing here asks how long
something took.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

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
        """Return the next line that holds ``text``. A program that stays silent is ended."""
        assert self.process.stdout is not None
        patience = threading.Timer(PATIENCE, self.process.kill)
        patience.start()
        try:
            for line in self.process.stdout:
                if text in line:
                    return line.strip()
        finally:
            patience.cancel()
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


def board_alone(programs: dict[str, Program], program: str = BOARD_ALONE) -> str:
    """Start a board without a class as ``programs["board"]``, and return its address."""
    board = programs["board"] = Program("-c", program)
    return board.line_with("The board:").split()[-1]


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


KEEP_ALL_PICTURES = """
window.seen = [];
addEventListener("DOMContentLoaded", () => {
  const board = document.getElementById("board");
  const keep = () => seen.push([...board.querySelectorAll("text")].map((text) => text.textContent));
  new MutationObserver(keep).observe(board, { childList: true });
});
"""
"""Keeps what stands in each picture, for news may be replaced before a busy machine looks."""


def pictures(page: Page) -> list[list[str]]:
    """Return the texts of each picture so far, the latest last."""
    seen: list[list[str]] = page.evaluate("seen")
    return seen


def wait_until_told(page: Page, pattern: str) -> None:
    """Wait until some picture has held a text like this, if only for a moment."""
    told = re.compile(pattern)
    wait_until(lambda: any(told.search(text) for texts in pictures(page) for text in texts), pattern)


def state_of(texts: list[str], name: str) -> str:
    """Return what a picture says of a machine: "working on task 7", "idle", "quiet", "dropped out"."""
    words = "".join(texts[texts.index(name) :]) if name in texts else ""
    found = re.search(r"working on task \d+|idle|quiet|dropped out", words)
    return found.group() if found else ""


def has_worked(page: Page, name: str) -> bool:
    """Tell whether some picture has shown a machine at work."""
    return any(state_of(texts, name).startswith("working") for texts in pictures(page))


def is_held(texts: list[str], name: str) -> bool:
    """Tell whether a silent machine holds a task: more are in work than the others work on."""
    in_work = re.search(r"(\d+) in work", "".join(texts))
    others = [state_of(texts, other) for other in STUDENTS if other != name]
    at_work = sum(state.startswith("working") for state in others)
    return in_work is not None and "quiet" not in others and int(in_work.group(1)) > at_work


def stop_at_work(page: Page, program: Program, name: str) -> None:
    """Stop a machine in the middle of a task; if it was between two, let it go on and stop it again."""
    while True:
        begin = len(pictures(page))
        program.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state_of(pictures(page)[-1], name) in ("quiet", "dropped out"), "silence")
        silent = [texts for texts in pictures(page)[begin:] if state_of(texts, name) == "quiet"]
        if any(is_held(texts, name) for texts in silent):
            return
        program.process.send_signal(signal.SIGCONT)
        page.click("text=Hand out work")
        wait_until(lambda: state_of(pictures(page)[-1], name).startswith("working"), "it to go on")


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
    page = opened(browser, host.line_with("The board:").split()[-1], script=KEEP_ALL_PICTURES)
    for name in STUDENTS:
        programs[name] = tutorial("class", "join", address, "--name", name)
    for name in STUDENTS:
        wait_for(page, name)

    page.select_option("#job", "nap")
    page.click("text=Hand out work")
    page.locator("#reply", has_text="40 tasks are handed out.").wait_for()
    for name in STUDENTS:
        wait_until(partial(has_worked, page, name), f"{name} to work")
    photograph(page, screenshots, "at_work")

    stop_at_work(page, programs["bo"], "bo")
    assert programs["bo"].end(signal.SIGKILL) == -signal.SIGKILL
    wait_for(page, "dropped out")
    photograph(page, screenshots, "dropped_out")
    wait_until_told(page, r"^(anna|chen) did task \d+, which bo had lost$")
    photograph(page, screenshots, "done_by_another")
    all_done = re.compile(r"^(\d+) of \1 tasks done · 0 waiting · 0 in work")
    page.locator("#board text", has_text=all_done).wait_for()

    page.click("text=Reset for the next group")
    wait_for(page, "Round 2")
    wait_for(page, "no tasks yet")
    assert "bo" not in pictures(page)[-1]
    for name in ("anna", "chen"):
        wait_for(page, name)

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
    page = opened(browser, board_alone(programs), script=answers)
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
    page = opened(browser, board_alone(programs, silent_end))
    page.click("text=End the class")
    page.locator("#reply", has_text="The class ends.").wait_for()
    programs["board"].end(signal.SIGKILL)
    page.locator("#reply", has_text="The class is over.").wait_for()
    assert page.locator("button:enabled").count() == 0
    page.close()


def test_no_button_can_be_pressed_before_the_page_is_connected(
    browser: Browser,  # noqa: F811
    programs: dict[str, Program],
) -> None:
    """Nobody would hear it, or its answer would be wiped away by the connection that comes after it."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    held: list[Route] = []
    page.route("**/pictures", lambda route: held.append(route))
    page.goto(board_alone(programs))
    assert page.locator("button:enabled, select:enabled").count() == 0
    while not held:
        page.wait_for_timeout(100)  # lets the request come in
    held[0].continue_()
    wait_for(page, "Round 1")
    assert page.locator("button:enabled, select:enabled").count() == 4
    page.close()


HELD_FIRST_ANSWER = """
const send = window.fetch;
window.fetch = async (...order) => {
  const isFirst = !("release" in window);
  if (isFirst) window.release = null;
  const answer = await send(...order);
  if (isFirst) await new Promise((resolve) => { window.release = resolve; });
  return answer;
};
"""
"""Holds the answer to the first order only."""


def test_a_late_answer_does_not_replace_that_to_a_later_order(
    browser: Browser,  # noqa: F811
    programs: dict[str, Program],
) -> None:
    """Each answer comes on a connection of its own, in any order."""
    page = opened(browser, board_alone(programs), script=HELD_FIRST_ANSWER)
    page.click("text=Hand out work")
    wait_until(lambda: page.evaluate("typeof window.release === 'function'"), "the first answer")
    page.click("text=Reset for the next group")
    page.locator("#reply", has_text="Round 2 begins.").wait_for()
    page.evaluate("release(), new Promise((resolve) => setTimeout(resolve, 100))")
    assert page.locator("#reply").text_content() == "Round 2 begins."
    page.close()


def test_an_answer_outlives_a_new_connection_for_pictures(
    browser: Browser,  # noqa: F811
    programs: dict[str, Program],
) -> None:
    """Only the word about the host, which was gone for a moment, is wiped away."""
    page = opened(browser, board_alone(programs))
    page.click("text=Hand out work")
    page.locator("#reply", has_text="tasks are handed out.").wait_for()
    page.evaluate("pictures.onopen()")
    assert "tasks are handed out." in (page.locator("#reply").text_content() or "")
    page.evaluate("pictures.onerror(), pictures.onopen()")
    assert page.locator("#reply").text_content() == ""
    page.close()


def test_a_host_that_is_killed_is_missed(browser: Browser, programs: dict[str, Program]) -> None:  # noqa: F811
    """The page says so, and its buttons rest."""
    page = opened(browser, board_alone(programs))
    programs["board"].end(signal.SIGKILL)
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
    page = opened(browser, board_alone(programs, program))
    wait_for(page, "<img src=x")
    wait_for(page, "8 cores, <b>")
    assert page.locator("#board img, #board b").count() == 0
    page.close()
