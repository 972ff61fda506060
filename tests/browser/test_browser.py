"""The course in a real browser: one command, then every lesson runs from its first cell to its last.

These tests need Chromium and the extra ``ui``, so they run only when they are asked for by name:
``python -m pytest tests/browser``. They use the ``tutorial`` command of the environment, in an empty folder.
Set TUTORIAL_SCREENSHOTS to a folder to keep the pictures.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

LESSONS = sorted(path.name for path in (Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
PATIENCE = 180.0
"""Seconds until a server, a page or a kernel that does not answer is given up."""

CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

KERNEL_IS_READY = """
() => {
  const context = jupyterapp.shell.currentWidget?.sessionContext;
  const kernel = context?.session?.kernel;
  return Boolean(context?.isReady && kernel?.connectionStatus === "connected" && kernel?.status === "idle");
}
"""

RUN_ALL = """
() => {
  window.ranAll = false;
  jupyterapp.commands.execute("notebook:run-all-cells").finally(() => { window.ranAll = true; });
}
"""
"""Starts the run and returns at once: handing the command's promise back would hang the call."""

RAN_ALL = "() => window.ranAll"
"""Tells whether all outputs of that run have come. A cell has its number before."""

CODE_CELLS = """
() => jupyterapp.shell.currentWidget.content.model.sharedModel.cells
  .map(cell => cell.toJSON())
  .filter(cell => cell.cell_type === "code")
"""  # from the model, since JupyterLab draws only the cells in view

SCROLL_TO = """
top => {
  const view = document.querySelector(".jp-NotebookPanel .jp-WindowedPanel-outer");
  view.scrollTop = top;
  const bottom = view.scrollTop + view.clientHeight;
  return { bottom, atEnd: bottom >= view.scrollHeight - 1 };
}
"""


@dataclass
class Course:
    """A running JupyterLab with the course in it."""

    address: str
    token: str
    folder: Path

    def ask(self, path: str, method: str = "GET") -> bytes:
        """Send one request to the server and return the body of the answer."""
        request = urllib.request.Request(
            f"{self.address}{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return bytes(answer.read())

    def stop_all_kernels(self) -> None:
        """End every session, or a page would join an old kernel with its old state."""
        for session in json.loads(self.ask("/api/sessions")):
            self.ask(f"/api/sessions/{session['id']}", "DELETE")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Ask again and again until ``condition`` holds, or fail after `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE} seconds for {what}"
        time.sleep(0.2)


def address_of(home: Path) -> str:
    """Return the address that the server has noted, "" before it has; it has chosen its port itself."""
    for note in (home / "runtime").glob("jpserver-*.json"):
        try:
            return str(json.loads(note.read_text(encoding="utf-8"))["url"]).rstrip("/")
        except ValueError:
            return ""  # it is being written
    return ""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    """``tutorial lab`` started in an empty folder, with nothing of this machine's own Jupyter settings."""
    home = tmp_path_factory.mktemp("home")
    settings = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    settings.parent.mkdir(parents=True)  # without it a question about news lies over the page
    settings.write_text('{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8")
    python_folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{python_folder}{os.pathsep}{os.environ['PATH']}",
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
    }
    token = secrets.token_hex(8)
    command = [str(python_folder / "tutorial"), "lab", "--"]
    command += ["--no-browser", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={token}"]
    command += ["--expose-app-in-browser"]
    running = Course("", token, home / "tuplespace-tutorial")

    def answers() -> bool:
        assert server.poll() is None, (home / "log").read_text(encoding="utf-8")
        running.address = address_of(home)
        if not running.address:
            return False
        try:
            return b"version" in running.ask("/api")
        except OSError:  # not yet there, or too busy to answer
            return False

    with (home / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=log)
    try:
        wait_until(answers, "JupyterLab to answer")
        yield running
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of this machine; without one these tests fail, they are not skipped."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = [program for program in map(shutil.which, names) if program]
    assert found, f"no browser found: install one of {', '.join(names)}"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found[0], headless=True, args=CHROMIUM_OPTIONS)
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser, course: Course) -> Iterator[Page]:
    """A fresh page that no earlier kernel hangs on to."""
    course.stop_all_kernels()
    fresh = browser.new_page(viewport={"width": 1280, "height": 1600})
    fresh.set_default_timeout(PATIENCE * 1000)
    yield fresh
    fresh.close()


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pictures go: the folder that TUTORIAL_SCREENSHOTS names, else a temporary one."""
    folder = Path(os.environ.get("TUTORIAL_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_the_command_leads_into_the_first_lesson(page: Page, course: Course, screenshots: Path) -> None:
    """The address that the browser is sent to shows lesson 00, and no question lies over it."""
    page.goto(f"{course.address}/?token={course.token}")
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.wait_for_url(re.compile(r"/lab/tree/notebooks/00_start_here\.ipynb(\?|$)"))
    page.wait_for_function(KERNEL_IS_READY)
    page.screenshot(path=screenshots / "first_lesson.png")
    assert page.locator(".jp-Dialog").count() == 0


def test_there_are_lessons() -> None:
    """Without lessons the test below would prove nothing."""
    assert "00_start_here.ipynb" in LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_run_all_finishes_every_cell(lesson: str, page: Page, course: Course, screenshots: Path) -> None:
    """After Run All each code cell has its number, and none shows an error."""
    page.goto(f"{course.address}/lab/tree/notebooks/{lesson}?token={course.token}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.wait_for_function(KERNEL_IS_READY)
    page.evaluate(RUN_ALL)
    wait_until(lambda: page.evaluate(RAN_ALL), f"Run All of {lesson}")
    page.wait_for_function(KERNEL_IS_READY)
    photograph(page, screenshots / Path(lesson).stem)
    cells = page.evaluate(CODE_CELLS)
    assert [cell["source"] for cell in cells if complaints(cell)] == []
    assert [cell["source"] for cell in cells if cell["execution_count"] is None] == []


def run_in_a_cell(page: Page, course: Course, name: str, source: str) -> None:
    """Open a new notebook of this name with one cell, and let it run."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip())])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (course.folder / f"{name}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    page.goto(f"{course.address}/lab/tree/{name}.ipynb?token={course.token}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.wait_for_function(KERNEL_IS_READY)
    page.evaluate(RUN_ALL)


def complaints(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the outputs of a cell that a learner would take for a fault."""
    expected = "raises-exception" in cell["metadata"].get("tags", [])
    errors = [output for output in cell["outputs"] if output["output_type"] == "error" and not expected]
    return errors + [output for output in cell["outputs"] if output.get("name") == "stderr"]


def photograph(page: Page, name: Path) -> None:
    """Save the whole notebook as a row of pictures, each one screen high."""
    top = 0
    for number in range(1, 50):
        view = page.evaluate(SCROLL_TO, top)
        page.wait_for_timeout(300)  # JupyterLab draws a cell only when it comes into view
        page.screenshot(path=f"{name}_{number}.png")
        if view["atEnd"]:
            break
        top = view["bottom"]
