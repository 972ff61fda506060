"""The doctor: does everything work on this machine, and if not, what is to be done?

Each check is a function that returns a state and a sentence. `examine` runs them all; a check that fails in
a way nobody foresaw becomes a finding too, so the doctor always ends with a full list.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tutorial_lib.course.workspace import FIRST_LESSON, requirements, version

__all__ = ["Finding", "examine"]

_OLDEST_PYTHON: Final = (3, 11)
_KERNEL_SECONDS: Final = 60.0
_JAPANESE_FONTS: Final = (
    *("CJK", "Noto Sans JP", "Noto Serif JP", "IPA", "Takao", "VL Gothic"),  # free ones
    *("MS Gothic", "MS Mincho", "Yu Gothic", "Yu Mincho", "Meiryo", "Hiragino"),  # Windows and macOS
)
_PIP: Final = f"{sys.executable} -m pip install"
_AGAIN: Final = "Install the course again, as its README says."

State = Literal["ok", "to do", "note"]
Outcome = tuple[State, str]


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    ``state`` is "ok", "to do" (something must be mended, and ``text`` says how) or "note" (nothing must be
    done, but it is good to know).

    >>> print(Finding("Python", "ok", "3.12.1"))
    ok     Python: 3.12.1
    """

    check: str
    state: State
    text: str

    def __str__(self) -> str:
        return f"{self.state:<6} {self.check}: {self.text}"


def examine(folder: Path) -> Iterator[Finding]:
    """Run every check, in order, and yield each finding as soon as it is known.

    ``folder`` is the working folder to look at; it need not exist.
    """
    checks: dict[str, Callable[[], Outcome]] = {
        "Python": check_python,
        "packages": check_packages,
        "virtual time": check_virtual_time,
        "kernel": check_kernel,
        "widgets": check_widgets,
        "fonts": check_fonts,
        "working folder": lambda: check_working_folder(folder),
    }
    for name, check in checks.items():
        try:
            state, text = check()
            yield Finding(name, state, text)
        except Exception as error:
            yield Finding(name, "to do", f"the check ended with {type(error).__name__}: {error}. {_AGAIN}")


def check_python() -> Outcome:
    """Look at the Python that runs the course."""
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < _OLDEST_PYTHON:
        return "to do", f"this is {found}, and the course needs 3.11 or later. Install a newer Python."
    return "ok", f"{found}, in {sys.prefix}"


def check_packages() -> Outcome:
    """Compare the installed packages with what the course needs."""
    from packaging.requirements import Requirement  # comes with JupyterLab, so it may be missing

    wrong, wanted, right = [], [], [f"tuplespace-tutorial {version()}"]
    for requirement in map(Requirement, requirements()):
        try:
            found = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            found = "missing"
        if found != "missing" and requirement.specifier.contains(found, prereleases=True):
            right.append(f"{requirement.name} {found}")
        else:
            wrong.append(f"{requirement.name} is {found}")
            wanted.append(f'"{requirement}"')
    if wrong:
        return "to do", f"{', '.join(wrong)}. Run: {_PIP} {' '.join(wanted)}"
    return "ok", ", ".join(right)


def check_virtual_time() -> Outcome:
    """Let one actor wait an hour for another in virtual time, as every lesson does."""
    from tutorial_lib import TupleSpace, simulate

    async def main() -> tuple[object, ...]:
        space = TupleSpace()

        async def writer() -> None:
            await asyncio.sleep(3600)
            await space.write("done", 1)

        async with asyncio.TaskGroup() as group:
            group.create_task(writer())
            return await space.take("done", int)

    run = simulate(main)
    if run.result != ("done", 1) or run.elapsed != 3600.0:
        return "to do", f"an hour of waiting gave {run.result!r} after {run.elapsed} seconds. {_AGAIN}"
    return "ok", "an hour of waiting passed at once, and the tuple arrived"


def check_kernel() -> Outcome:
    """Start the kernel that the notebooks ask for, and let it answer a tiny cell."""
    from jupyter_client.manager import start_new_kernel

    cell = f"import sys; assert sys.prefix == {sys.prefix!r}, sys.prefix + ' runs it'; import tutorial_lib"
    manager, client = start_new_kernel(
        startup_timeout=_KERNEL_SECONDS, kernel_name="python3", stderr=subprocess.DEVNULL
    )
    try:
        answer = client.execute(cell, reply=True, timeout=_KERNEL_SECONDS)["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    if answer["status"] == "ok":
        return "ok", "it starts, imports the course and answers"
    if answer["ename"] == "AssertionError":
        cure = f"Run: {sys.executable} -m ipykernel install --sys-prefix"
        return "to do", f"it belongs to another Python: {answer['evalue']}, not {sys.prefix}. {cure}"
    return "to do", f"it starts, but ends with {answer['ename']}: {answer['evalue']}. {_AGAIN}"


def check_widgets() -> Outcome:
    """Look for the widgets of the player, on the Python side and on the JupyterLab side."""
    for module in ("ipywidgets", "jupyterlab_widgets", "matplotlib"):
        importlib.import_module(module)
    return "ok", "ipywidgets, its part in JupyterLab and matplotlib can be imported"


def check_fonts() -> Outcome:
    """Look for a font with Japanese letters. Only Japanese text needs one, so it is never an error."""
    from matplotlib.font_manager import fontManager

    families = sorted({font.name for font in fontManager.ttflist})
    japanese = [name for name in families if any(mark in name for mark in _JAPANESE_FONTS)]
    if not japanese:
        return "note", "none has Japanese letters, which only Japanese text needs (on Debian: fonts-noto-cjk)"
    return "ok", f"{len(families)} families, with Japanese letters for example in {japanese[0]}"


def check_working_folder(folder: Path) -> Outcome:
    """See whether the lessons are in ``folder`` and whether answers can be saved there."""
    if not folder.exists():
        return "note", f"{folder} is not there yet. tutorial lab makes it and opens it."
    if not os.access(folder, os.W_OK):
        cure = "Choose another one: tutorial lab FOLDER"
        return "to do", f"answers cannot be saved in {folder}: writing is not allowed. {cure}"
    if not (folder / FIRST_LESSON).exists():
        return "to do", f"{folder} holds no lessons. Run: tutorial lab {folder}"
    return "ok", f"{folder.resolve()}"
