"""tutorial_lib: a small tuple space that runs in virtual time, and a course built on it."""

from __future__ import annotations

from typing import Any

from tutorial_lib.crew import Crew, work
from tutorial_lib.faults import crash, hang, hire, mute, slow
from tutorial_lib.manager import SpaceManager, connect
from tutorial_lib.master import Master
from tutorial_lib.patterns import ANY, matches, where
from tutorial_lib.resilience import Breaker, BreakerOpen
from tutorial_lib.simulation import Run, Runaway, Stalled, simulate
from tutorial_lib.space import Claim, SpaceClosed, SpaceStats, StaleClaim, TupleSpace
from tutorial_lib.tasks import State, Task
from tutorial_lib.trace import Event, Trace, actor, current_actor, note

__all__ = [
    "ANY",
    "Breaker",
    "BreakerOpen",
    "Claim",
    "Crew",
    "Event",
    "Master",
    "Run",
    "Runaway",
    "SpaceClosed",
    "SpaceManager",
    "SpaceStats",
    "StaleClaim",
    "Stalled",
    "State",
    "Task",
    "Trace",
    "TupleSpace",
    "actor",
    "connect",
    "crash",
    "current_actor",
    "hang",
    "hire",
    "load_ipython_extension",
    "matches",
    "mute",
    "note",
    "simulate",
    "slow",
    "unload_ipython_extension",
    "where",
    "work",
]


def load_ipython_extension(ipython: Any) -> None:
    """Prepare a notebook: ``%load_ext tutorial_lib`` calls this. See `tutorial_lib.notebook`."""
    from tutorial_lib import notebook

    notebook.load_ipython_extension(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Undo `load_ipython_extension`: ``%unload_ext tutorial_lib`` calls this."""
    from tutorial_lib import notebook

    notebook.unload_ipython_extension(ipython)
