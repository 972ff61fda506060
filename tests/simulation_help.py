"""What the tests of simulated runs share."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tutorial_lib import Run, Runaway, Stalled, simulate

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = "import asyncio\nfrom tutorial_lib import Runaway, TupleSpace, note, simulate\n"


def start(work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
    """Start a task that nobody needs to hold: the virtual loop does."""
    return asyncio.create_task(work, name=name)


def notes(run: Run) -> list[tuple[float, str, str]]:
    """The remarks of a run: when, who, what."""
    return [(event.time, event.actor, event.detail["text"]) for event in run.trace.of("note")]


def stalled(program: Any, *args: Any, **options: Any) -> Stalled:
    """Simulate a program that must stall, and return the error."""
    with pytest.raises(Stalled) as caught:
        simulate(program, *args, **options)
    return caught.value


def runaway(program: Any, **options: Any) -> Runaway:
    """Simulate a program that must run away, and return the error."""
    with pytest.raises(Runaway) as caught:
        simulate(program, **options)
    return caught.value


def script(
    source: str, *, python: str = sys.executable, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of its own in another process, with this project on its path."""
    return subprocess.run(
        [python, "-c", IMPORTS + textwrap.dedent(source)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
