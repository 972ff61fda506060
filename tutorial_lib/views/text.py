"""Text: pictures for the terminal, for tests, and for everybody who listens instead of looking.

Each begins with the whole picture in one sentence. Columns are aligned whatever the names are.
"""

from __future__ import annotations

from tutorial_lib.simulation import Run
from tutorial_lib.trace import Trace
from tutorial_lib.views.frame import Frame, LaneFrame, LoadFrame, SpaceFrame, frame_at
from tutorial_lib.views.history import Bar
from tutorial_lib.views.scale import Scale, time_text
from tutorial_lib.views.words import display_width, padded, shortened

__all__ = [
    "counts_lines",
    "lane_lines",
    "load_lines",
    "load_text",
    "space_lines",
    "space_text",
    "status",
    "timeline_text",
    "tuples_text",
]

COLUMNS = 56  # of the time axis, and of the longest bar
NAME_COLUMNS = 12
MOST_LANES = 60
BARS = {"done": "━", "failed": "╍", "cut short": "╌", "running": "─"}
HELD = {"done": "┄", "failed": "┄", "cut short": "┄", "running": "┄"}
SIGN_LETTERS = {
    "crash": "x",
    "hang": "h",
    "slow": "s",
    "mute": "m",
    "hire": "+",
    "dismiss": "-",
    "restart": "^",
    "suspect": "?",
    "dead": "!",
}


def timeline_text(run: Run | Trace, at: float | None = None) -> str:
    """Draw who did what and when, a line for each actor.

    A bar begins with the number of its task. ``━`` is finished work, ``╍`` failed, ``╌`` cut short, ``─``
    still running; ``┄`` is a tuple in hand. ``x`` is a crash, ``+`` somebody who was hired. ``at`` is the
    second up to which to draw; without it, the whole run. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> _ = trace.record("start", actor="w1", fields=("task", 7), time=0.0)
    >>> _ = trace.record("finish", actor="w1", fields=("task", 7), time=3.0)
    >>> _ = trace.record("crash", actor="w1", time=4.0)
    >>> print(timeline_text(trace))
    w1 has crashed; 1 task done.
    """
    return "\n".join(lane_lines(frame_at(run, at)))


def load_text(run: Run | Trace, at: float | None = None) -> str:
    """Draw how much each worker did, with the fair share, as text. ``at`` is as for `timeline_text`."""
    return "\n".join(load_lines(frame_at(run, at).load))


def tuples_text(run: Run | Trace, at: float | None = None) -> str:
    """Write how many tuples of each kind there were over time. ``at`` is as for `timeline_text`."""
    return "\n".join(counts_lines(frame_at(run, at)))


def space_text(run: Run | Trace, at: float | None = None) -> str:
    """Write what is in each space, and who waits for what. ``at`` is as for `timeline_text`."""
    return "\n".join(line for space in frame_at(run, at).spaces for line in space_lines(space))


# ---------------------------------------------------------------------------------------------------
# Lanes


def lane_lines(frame: Frame) -> list[str]:
    """Return the worker lanes of a frame, line by line."""
    scale = Scale(frame.begin, frame.end, 0, COLUMNS - 1)
    lanes = frame.lanes[:MOST_LANES]
    lines = [frame.summary]
    if lanes:
        lines += ["", f"{' ' * (NAME_COLUMNS + 2)}{_axis(scale)}"]
    for lane in lanes:
        lines.append(f"{padded(lane.name, NAME_COLUMNS)}  {_lane(lane, scale)}  {status(lane, frame)}")
    if len(frame.lanes) > MOST_LANES:
        lines.append(f"and {len(frame.lanes) - MOST_LANES} more, not drawn")
    return lines + _news(frame, lanes)


def _axis(scale: Scale) -> str:
    line = ""
    for tick in scale.ticks(7):
        line = line.ljust(round(tick.place)) + tick.text
    return line


def _lane(lane: LaneFrame, scale: Scale) -> str:
    """Draw one lane in letters, one for each column of the axis."""
    cells = ["·" if lane.state != "" else " "] * COLUMNS
    for tick in lane.ticks:
        cells[round(scale.place(tick.time))] = ":"
    for bar in lane.bars:
        _draw_bar(cells, bar, scale)
    for sign in lane.signs:
        letter = SIGN_LETTERS.get(sign.kind)
        if letter is not None:
            cells[round(scale.place(sign.time))] = letter
    return "".join(cells)


def _draw_bar(cells: list[str], bar: Bar, scale: Scale) -> None:
    left, right = round(scale.place(bar.begin)), round(scale.place(bar.end))
    for column in range(left, max(right, left + 1)):
        cells[column] = (BARS if bar.is_work else HELD)[bar.how]
    if display_width(bar.label) == len(bar.label) <= right - left - 1:
        cells[left : left + len(bar.label)] = bar.label


def status(lane: LaneFrame, frame: Frame) -> str:
    """Say in a few words how an actor is and what it has done."""
    words = [lane.state if lane.state != "holds" else "in hand"]
    if lane.state in ("busy", "holds") and lane.doing:
        words[0] += f": {lane.doing}"
    if lane.suspicion:
        words.append(lane.suspicion)
    if lane.done or lane.failed:
        words.append(f"{lane.done} done")
    if lane.failed:
        words.append(f"{lane.failed} failed")
    if not lane.done and not lane.failed and lane.taken:
        words.append(f"{lane.taken} taken")
    elif not lane.done and not lane.failed and lane.written:
        words.append(f"{lane.written} written")
    return " · ".join(words)


def _news(frame: Frame, lanes: list[LaneFrame]) -> list[str]:
    """List what happened to the actors, in order."""
    span = frame.end - frame.begin
    signs = sorted((sign.number, lane.name, sign) for lane in lanes for sign in lane.signs)
    lines = [
        f"  {time_text(sign.time, span):>9}  {shortened(name, 24)}: {sign.word}" for _, name, sign in signs
    ]
    return ["", *lines] if lines else []
