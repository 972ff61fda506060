"""tutorial_lib: a small tuple space that runs in virtual time, and a course built on it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tutorial_lib.crew import Crew, work
from tutorial_lib.faults import crash, hang, hire, mute, slow
from tutorial_lib.flow import RateLimiter
from tutorial_lib.heartbeat import FixedTimeout, MissedBeats, Monitor, PhiAccrual, beat
from tutorial_lib.manager import SpaceManager, connect
from tutorial_lib.master import Master
from tutorial_lib.patterns import ANY, matches, where
from tutorial_lib.recovery import Ledger
from tutorial_lib.resilience import Breaker, BreakerOpen
from tutorial_lib.simulation import Run, Runaway, Stalled, simulate
from tutorial_lib.space import Claim, SpaceClosed, SpaceStats, StaleClaim, TupleSpace
from tutorial_lib.supervisor import Child, Restart, RestartLimitReached, Strategy, SupervisedSystem
from tutorial_lib.tasks import State, Task
from tutorial_lib.trace import Event, Trace, actor, current_actor, note

__all__ = [
    "ANY",
    "Breaker",
    "BreakerOpen",
    "Child",
    "Claim",
    "Crew",
    "Event",
    "FixedTimeout",
    "Ledger",
    "LiveView",
    "Master",
    "MissedBeats",
    "Monitor",
    "NotAttempted",
    "PhiAccrual",
    "Player",
    "RateLimiter",
    "Restart",
    "RestartLimitReached",
    "Run",
    "Runaway",
    "SpaceClosed",
    "SpaceManager",
    "SpaceStats",
    "StaleClaim",
    "Stalled",
    "State",
    "Strategy",
    "SupervisedSystem",
    "Task",
    "Trace",
    "TupleSpace",
    "actor",
    "ask",
    "beat",
    "board_svg",
    "board_text",
    "breaker_svg",
    "breaker_text",
    "check",
    "connect",
    "crash",
    "current_actor",
    "fill",
    "guesses",
    "hang",
    "hint",
    "hire",
    "load_figure",
    "load_ipython_extension",
    "load_svg",
    "load_text",
    "matches",
    "mute",
    "note",
    "predict",
    "progress",
    "reset",
    "restarts_svg",
    "restarts_text",
    "simulate",
    "slow",
    "solution",
    "space_svg",
    "space_text",
    "timeline_figure",
    "timeline_svg",
    "timeline_text",
    "tuples_svg",
    "tuples_text",
    "unload_ipython_extension",
    "where",
    "work",
]


_ON_FIRST_USE = {
    "timeline_text": "views.text",
    "timeline_svg": "views.svg",
    "load_text": "views.text",
    "load_svg": "views.svg",
    "tuples_text": "views.text",
    "tuples_svg": "views.svg",
    "space_text": "views.text",
    "space_svg": "views.svg",
    "board_text": "views.progress_text",
    "board_svg": "views.svg",
    "restarts_text": "views.progress_text",
    "restarts_svg": "views.svg",
    "breaker_text": "views.progress_text",
    "breaker_svg": "views.svg",
    "timeline_figure": "views.figure",
    "load_figure": "views.figure",
    "Player": "views.player",
    "LiveView": "views.live",
    "NotAttempted": "course.errors",
    "check": "course.desk",
    "hint": "course.desk",
    "progress": "course.desk",
    "reset": "course.desk",
    "solution": "course.desk",
    "fill": "course.filling",
    "ask": "course.quiz",
    "guesses": "course.quiz",
    "predict": "course.quiz",
}
"""Where the names stand that the core does without: they need more packages, or take longer to import."""


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'tutorial_lib' has no attribute {name!r}")
    return getattr(import_module(f"tutorial_lib.{_ON_FIRST_USE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """Prepare a notebook: ``%load_ext tutorial_lib`` calls this. See `tutorial_lib.notebook`."""
    from tutorial_lib import notebook

    notebook.load_ipython_extension(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Undo `load_ipython_extension`: ``%unload_ext tutorial_lib`` calls this."""
    from tutorial_lib import notebook

    notebook.unload_ipython_extension(ipython)
