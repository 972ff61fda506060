"""The drills of lesson 09 for tests: a task is in work until the test says so, not for half a second.

A process imports this module by its name, so it needs this folder on its path: see the fixture ``held``.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from tutorial_lib import SpaceManager, TupleSpace
from tutorial_lib.classroom import drills
from tutorial_lib.engine.space import EngineSpace

GO_ON = "TUTORIAL_DRILLS_GO_ON"  # names the file that tells the workers to go on
LEASE = 4.0  # seconds: as short as a test can wait for, and long enough for a worker that is told to go on


class HeldDrills:
    """Workers that have begun a task hold it until `go_on`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def go_on(self) -> None:
        """Let the work end, also all that begins later."""
        self._file.touch()


async def by_take(manager: SpaceManager, name: str) -> None:
    """Do what the drill of this name does, and hold each task."""
    hold_tasks()
    await drills.by_take(manager, name)


async def by_claim(manager: SpaceManager, name: str) -> None:
    """Do what the drill of this name does, and hold each task."""
    hold_tasks()
    await drills.by_claim(manager, name)


def hold_tasks() -> None:
    """Let the drills of this process wait for the word, and have leases of `LEASE`."""
    drills.work = until_told
    EngineSpace.claim = claim_for_longer  # type: ignore[method-assign]


async def until_told(*_: Any) -> None:
    """Work until the test says so."""
    while not Path(os.environ[GO_ON]).exists():
        await asyncio.sleep(0.01)


def claim_for_longer(space: TupleSpace, *pattern: Any, lease: float, timeout: float | None = None) -> Any:
    """Claim for `LEASE`."""
    return TupleSpace.claim(space, *pattern, lease=LEASE, timeout=timeout)
