"""SVG: the pictures that a notebook shows.

Each function returns a `Picture`: SVG code as text, which a notebook shows drawn, together with the same
picture in words. ``at`` is the second up to which to draw; without it, the whole run is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable

from tutorial_lib.simulation import Run
from tutorial_lib.trace import Trace
from tutorial_lib.views.drawing import Drawing, Picture
from tutorial_lib.views.frame import Frame, frame_at
from tutorial_lib.views.lanes import WIDTH, draw_lanes
from tutorial_lib.views.panels import draw_counts, draw_load, draw_space
from tutorial_lib.views.progress_panels import draw_board, draw_breakers, draw_restarts
from tutorial_lib.views.progress_text import (
    board_lines,
    board_summary,
    breaker_lines,
    breaker_summary,
    restarts_lines,
    restarts_summary,
)
from tutorial_lib.views.text import (
    counts_lines,
    counts_summary,
    lane_lines,
    load_lines,
    load_summary,
    space_lines,
    space_summary,
)

__all__ = [
    "VIEWS",
    "board_svg",
    "breaker_svg",
    "load_svg",
    "picture_of",
    "restarts_svg",
    "space_svg",
    "timeline_svg",
    "tuples_svg",
]

VIEWS = ("lanes", "load", "tuples", "space", "board", "restarts", "breaker")
"""What can be drawn of a frame."""


def timeline_svg(run: Run | Trace, at: float | None = None) -> Picture:
    """Draw who did what and when, a lane for each actor.

    Solid bars are work, with the number of the task; outlined ones a tuple in hand. A dashed outline was
    cut short, or refused since it came too late. A pale track is somebody who is idle, no track somebody
    who is not there. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> _ = trace.record("start", actor="w1", fields=("task", 7), time=0.0)
    >>> _ = trace.record("finish", actor="w1", fields=("task", 7), time=3.0)
    >>> timeline_svg(trace)[:4], timeline_svg(trace).words.splitlines()[0]
    ('<svg', 'w1 is idle; 1 task done.')
    """
    return picture_of(frame_at(run, at), ["lanes"], shows_playhead=at is not None)


def load_svg(run: Run | Trace, at: float | None = None) -> Picture:
    """Draw how much each worker did, with the fair share as a line. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> for name in ("w1", "w1", "w2"):
    ...     _ = trace.record("take", actor=name, space="tasks", fields=("task", 7))
    >>> load_svg(trace).words.splitlines()[0]
    '3 tuples taken by 2: a fair share is 1.5; w1 has 2, w2 1; fairness 0.90 of 1.'
    """
    return picture_of(frame_at(run, at), ["load"])


def tuples_svg(run: Run | Trace, at: float | None = None) -> Picture:
    """Draw how many tuples of each kind there were over time. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> _ = trace.record("write", actor="main", space="tasks", fields=("task", 7), time=1.0)
    >>> tuples_svg(trace).words.splitlines()[0]
    'There are 1 × task.'
    """
    return picture_of(frame_at(run, at), ["tuples"], shows_playhead=at is not None)


def space_svg(run: Run | Trace, at: float | None = None) -> Picture:
    """Draw what is in each space, and who waits for what. Raises what `frame_at` raises.

    A tuple is a note on the board, the newest with a thick edge. Whoever waits has an empty place, dashed,
    with the pattern that would fill it.

    >>> trace = Trace()
    >>> _ = trace.record("write", actor="main", space="tasks", fields=("task", 7), time=1.0)
    >>> space_svg(trace).words.splitlines()[0]
    'tasks: 1 tuple.'
    """
    return picture_of(frame_at(run, at), ["space"])


def board_svg(run: Run | Trace, at: float | None = None) -> Picture:
    """Draw which task is queued, running, completed, failed or dead. Raises what `frame_at` raises.

    Each task is a card with its number, and a dot for each attempt. A task is a tuple whose first field is
    "task"; where its third field is a state, that is its state.

    >>> trace = Trace()
    >>> _ = trace.record("write", actor="main", space="tasks", fields=("task", 7), time=1.0)
    >>> board_svg(trace).words.splitlines()[0]
    '1 task: 1 queued.'
    """
    return picture_of(frame_at(run, at), ["board"])


def restarts_svg(run: Run | Trace, at: float | None = None) -> Picture:
    """Draw the restarts of each supervisor as beads. Raises what `frame_at` raises.

    A bead is a ring; it turns solid when the supervisor gives up, which a square marks.

    >>> trace = Trace()
    >>> _ = trace.record("restart", actor="w1", detail={"by": "boss"}, time=1.0)
    >>> restarts_svg(trace).words.splitlines()[0]
    'boss has made 1 restart.'
    """
    return picture_of(frame_at(run, at), ["restarts"], shows_playhead=at is not None)


def breaker_svg(run: Run | Trace, at: float | None = None) -> Picture:
    """Draw when each breaker was closed, open and half open, as a ribbon. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> _ = trace.record("open", actor="w1", fields=("printer",), time=2.0)
    >>> breaker_svg(trace).words.splitlines()[0]
    'printer is open.'
    """
    return picture_of(frame_at(run, at), ["breaker"], shows_playhead=at is not None)


def picture_of(frame: Frame, views: Iterable[str], *, shows_playhead: bool = False) -> Picture:
    """Draw some of `VIEWS` of one frame, one below the other on the same time axis."""
    drawing = Drawing(WIDTH)
    titles: list[str] = []
    summaries: list[str] = []
    lines: list[str] = []
    for view in views:
        title, summary, new_lines = _draw_view(view, drawing, frame, shows_playhead)
        titles.append(title)
        summaries.append(summary)
        lines += ["", *new_lines] if lines else new_lines
    return Picture(drawing.svg(" and ".join(titles), " ".join(summaries)), "\n".join(lines))


def _draw_view(view: str, drawing: Drawing, frame: Frame, shows_playhead: bool) -> tuple[str, str, list[str]]:
    """Draw one view below what is there already. Return its title, its summary, and its lines in words."""
    match view:
        case "lanes":
            draw_lanes(drawing, frame, shows_playhead=shows_playhead)
            return "Worker lanes", frame.summary, lane_lines(frame)
        case "load":
            draw_load(drawing, frame.load)
            return "Load", load_summary(frame.load), load_lines(frame.load)
        case "tuples":
            draw_counts(drawing, frame, shows_playhead=shows_playhead)
            return "Tuples over time", counts_summary(frame), counts_lines(frame)
        case "board":
            draw_board(drawing, frame)
            return "Task board", board_summary(frame), board_lines(frame)
        case "restarts":
            draw_restarts(drawing, frame, shows_playhead=shows_playhead)
            return "Restarts", restarts_summary(frame), restarts_lines(frame)
        case "breaker":
            draw_breakers(drawing, frame, shows_playhead=shows_playhead)
            return "Breakers", breaker_summary(frame), breaker_lines(frame)
        case _:
            for space in frame.spaces:
                draw_space(drawing, space)
            lines = [line for space in frame.spaces for line in space_lines(space)]
            return "Spaces", " ".join(map(space_summary, frame.spaces)), lines
