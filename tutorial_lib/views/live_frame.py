"""Live frame: what is true now, where nothing is kept of the past."""

from __future__ import annotations

from tutorial_lib.trace import Event
from tutorial_lib.views.frame import MOST_TUPLES, Frame, SpaceFrame
from tutorial_lib.views.loads import Load, loads_of
from tutorial_lib.views.state import SpaceState, State
from tutorial_lib.views.words import name_and_number, sentence

__all__ = ["live_frame"]


def live_frame(state: State, latest: Event | None) -> Frame:
    """Return the frame of a state alone: who has taken how much, and what is in the spaces.

    It has no lanes, no counts over time and no board. ``latest`` is the last event, if there was one.

    >>> state = State()
    >>> event = Event(0, 1.0, "w1", "take", "tasks", ("task", 7))
    >>> changes = state.apply(event)
    >>> [(load.name, load.amount) for load in live_frame(state, event).load.loads]
    [('w1', 1)]
    """
    time = latest.time if latest is not None else 0.0
    return Frame(
        time=time,
        begin=time,
        end=time,
        number=0,
        events=0,
        latest=sentence(latest) if latest is not None else "",
        lanes=[],
        load=loads_of("tuples taken", _loads(state)),
        counts=[],
        spaces=[_space_frame(space) for _, space in sorted(state.spaces.items())],
        board=[],
        restarts=[],
        breakers=[],
        summary="",
    )


def _loads(state: State) -> list[Load]:
    """Return the loads of all who have taken something or wait for it; of main only where it is alone."""
    waiting = {one.actor for space in state.spaces.values() for one in space.waiting.values()}
    takers = {name for name, actor in state.actors.items() if actor.taken or name in waiting}
    takers = takers - {"main"} or takers
    return [Load(name, state.actors[name].taken, 0, 0.0, "") for name in sorted(takers, key=name_and_number)]


def _space_frame(space: SpaceState) -> SpaceFrame:
    orders = sorted(space.stored)
    return SpaceFrame(
        name=space.name,
        tuples=[space.stored[order] for order in orders[-MOST_TUPLES:]],
        not_shown=max(0, len(orders) - MOST_TUPLES),
        latest=space.latest if space.latest in space.stored else None,
        claimed=list(space.claimed.values()),
        waiting=list(space.waiting.values()),
        closed=space.closed,
        most=len(orders),
    )
