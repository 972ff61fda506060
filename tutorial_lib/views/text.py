"""Text: pictures for the terminal, for tests, and for everybody who listens instead of looking.

Each begins with the whole picture in one sentence. Columns are aligned whatever the names are.
"""

from __future__ import annotations

from tutorial_lib.simulation import Run
from tutorial_lib.trace import Trace
from tutorial_lib.views.frame import CountLine, Frame, LaneFrame, SpaceFrame, frame_at
from tutorial_lib.views.loads import Load, LoadFrame
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.state import Waiting
from tutorial_lib.views.thinning import Bar
from tutorial_lib.views.words import joined, padded, shortened

__all__ = [
    "COLUMNS",
    "MOST_LANES",
    "NAME_COLUMNS",
    "amount_words",
    "axis_line",
    "count_label",
    "counts_lines",
    "counts_summary",
    "lane_lines",
    "load_lines",
    "load_summary",
    "load_text",
    "load_words",
    "silence_words",
    "space_lines",
    "space_summary",
    "space_text",
    "status",
    "timeline_text",
    "tuples_text",
    "waiting_words",
]

COLUMNS = 56  # of the time axis, and of the longest bar
NAME_COLUMNS = 12
LABEL_COLUMNS = 24  # a kind of tuple, and its space
MOST_LANES = 60
BARS = {"done": "━", "failed": "╍", "cut short": "╌", "refused": "╌", "running": "─"}
HELD = "┄"
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
    "requeue": "r",
    "undo": "u",
}


def timeline_text(run: Run | Trace, at: float | None = None) -> str:
    """Draw who did what and when, a line for each actor.

    A bar begins with the number of its task. ``━`` is finished work, ``╍`` failed, ``╌`` cut short or
    refused, ``─`` still running; ``┄`` is a tuple in hand. ``x`` is a crash, ``+`` somebody who was hired.
    ``at`` is the second up to which to draw; without it, the whole run. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> _ = trace.record("start", actor="w1", fields=("task", 7), time=0.0)
    >>> _ = trace.record("finish", actor="w1", fields=("task", 7), time=3.0)
    >>> _ = trace.record("crash", actor="w1", time=4.0)
    >>> print(timeline_text(trace, at=2))
    w1 is busy.
    <BLANKLINE>
                  0             1             2            3             4 s
    w1            7───────────────────────────·                             busy: 7
    """
    return "\n".join(lane_lines(frame_at(run, at)))


def load_text(run: Run | Trace, at: float | None = None) -> str:
    """Draw how much each worker did, with the fair share, as text. ``at`` is as for `timeline_text`.

    >>> trace = Trace()
    >>> for name in ("w1", "w1", "w2"):
    ...     _ = trace.record("take", actor=name, space="tasks", fields=("task", 7))
    >>> print(load_text(trace).splitlines()[0])
    3 tuples taken by 2: a fair share is 1.5; w1 has 2, w2 1; fairness 0.90 of 1.
    """
    return "\n".join(load_lines(frame_at(run, at).load))


def tuples_text(run: Run | Trace, at: float | None = None) -> str:
    """Write how many tuples of each kind there were over time. ``at`` is as for `timeline_text`.

    >>> trace = Trace()
    >>> _ = trace.record("write", actor="main", space="tasks", fields=("task", 7), time=1.0)
    >>> print(tuples_text(trace).splitlines()[0])
    There are 1 × task.
    """
    return "\n".join(counts_lines(frame_at(run, at)))


def space_text(run: Run | Trace, at: float | None = None) -> str:
    """Write what is in each space, and who waits for what. ``at`` is as for `timeline_text`.

    >>> trace = Trace()
    >>> _ = trace.record("write", actor="main", space="tasks", fields=("task", 7), time=1.0)
    >>> print(space_text(trace))
    tasks: 1 tuple.
      ('task', 7)  newest
    """
    return "\n".join(line for space in frame_at(run, at).spaces for line in space_lines(space))


# ---------------------------------------------------------------------------------------------------
# Lanes


def lane_lines(frame: Frame) -> list[str]:
    """Return the worker lanes of a frame, line by line."""
    scale = Scale(frame.begin, frame.end, 0, COLUMNS - 1)
    lanes = frame.lanes[:MOST_LANES]
    lines = [frame.summary]
    if lanes:
        lines += ["", f"{padded(scale.since, NAME_COLUMNS)}  {axis_line(scale)}"]
    for lane in lanes:
        words = " · ".join(filter(None, [status(lane), silence_words(lane, scale)]))
        lines.append(f"{padded(lane.name, NAME_COLUMNS)}  {_lane(lane, scale)}  {words}")
    if len(frame.lanes) > MOST_LANES:
        lines.append(f"and {len(frame.lanes) - MOST_LANES} more, not drawn")
    return lines + _news(frame, lanes)


def axis_line(scale: Scale) -> str:
    """Return the numbers of the time axis."""
    line = ""
    for tick in scale.ticks(7):
        line = line.ljust(round(tick.place)) + tick.text
    return line


def _lane(lane: LaneFrame, scale: Scale) -> str:
    """Draw one lane in letters, one for each column of the axis."""
    cells = [" "] * COLUMNS
    for begin, end in lane.lived:
        for column in range(round(scale.place(begin)), round(scale.place(end)) + 1):
            cells[column] = "·"
    for tick in lane.ticks:
        cells[round(scale.place(tick.time))] = ":"
    for bar in lane.bars:
        left, right = _columns(bar, scale)
        cells[left:right] = (BARS[bar.how] if bar.is_work else HELD) * (right - left)
    taken = set()
    for sign in lane.signs:
        if sign.kind in SIGN_LETTERS:
            column = round(scale.place(sign.time))
            cells[column] = SIGN_LETTERS[sign.kind]
            taken.add(column)
    for bar in lane.bars:
        left, right = _columns(bar, scale)
        left += left in taken  # the label gives way to a sign
        if bar.label.isascii() and len(bar.label) < right - left:
            cells[left : left + len(bar.label)] = bar.label
    return "".join(cells)


def _columns(bar: Bar, scale: Scale) -> tuple[int, int]:
    left, right = round(scale.place(bar.begin)), round(scale.place(bar.end))
    return left, max(right, left + 1)


def status(lane: LaneFrame) -> str:
    """Say in a few words how an actor is and what it has done."""
    words = [lane.state if lane.state != "holds" else "in hand"]
    if lane.state in ("busy", "holds") and lane.doing:
        words[0] += f": {lane.doing}"
    if lane.done or lane.failed:
        words.append(f"{lane.done} done")
    if lane.failed:
        words.append(f"{lane.failed} failed")
    if lane.refused:
        words.append(f"{lane.refused} refused")
    if len(words) == 1 and lane.taken:
        words.append(f"{lane.taken} taken")
    elif len(words) == 1 and lane.written:
        words.append(f"{lane.written} written")
    return " · ".join(words)


def silence_words(lane: LaneFrame, scale: Scale) -> str:
    """Say how long an actor has been silent, and what a monitor thinks of it; "" if it never beat."""
    if lane.silence is None:
        return lane.suspicion
    silence = f"silent {scale.length(lane.silence)}"
    if lane.suspicion:
        return f"{lane.suspicion}, {silence}"
    return silence if lane.timeout is None else f"{silence} of {scale.length(lane.timeout)}"


def _news(frame: Frame, lanes: list[LaneFrame]) -> list[str]:
    """List what happened to the actors, in order."""
    scale = Scale(frame.begin, frame.end)
    signs = sorted((sign.number, lane.name, sign) for lane in lanes for sign in lane.signs)
    lines = [f"  {scale.moment(sign.time):>9}  {shortened(name, 24)}: {sign.word}" for _, name, sign in signs]
    return ["", *lines] if lines else []


# ---------------------------------------------------------------------------------------------------
# Load


def load_lines(load: LoadFrame) -> list[str]:
    """Return the load of each worker, line by line."""
    most = max([one.amount for one in load.loads], default=0)
    lines = [load_summary(load), ""]
    for one in load.loads[:MOST_LANES]:
        bar = "█" * round(one.amount / most * COLUMNS) if most else ""
        lines.append(
            f"{padded(one.name, NAME_COLUMNS)}  {one.amount:>6}  {bar:<{COLUMNS}}  {load_words(one)}".rstrip()
        )
    if len(load.loads) > MOST_LANES:
        lines.append(f"and {len(load.loads) - MOST_LANES} more, not drawn")
    return lines


def load_summary(load: LoadFrame) -> str:
    """Say how evenly the work is spread, in one sentence."""
    if not load.loads:
        return "Nobody has worked or taken a tuple."
    if load.fairness is None or len(load.loads) == 1:
        names = joined(shortened(one.name, 16) for one in load.loads)
        return f"{amount_words(load.total, load.unit)} by {names}."
    least, most = min(load.loads, key=_amount), max(load.loads, key=_amount)
    return (
        f"{amount_words(load.total, load.unit)} by {len(load.loads)}: a fair share is {load.fair_share:.4g}; "
        f"{shortened(most.name, 16)} has {most.amount}, {shortened(least.name, 16)} {least.amount}; "
        f"fairness {load.fairness:.2f} of 1."
    )


def amount_words(amount: int, unit: str) -> str:
    """Write an amount with its unit: "3 tasks done", "1 task done"."""
    return f"{amount} {unit.replace('s ', ' ', 1) if amount == 1 else unit}"


def _amount(load: Load) -> int:
    return load.amount


def load_words(load: Load) -> str:
    """Say how a worker is and how busy it was."""
    words = [] if load.state in ("", "idle", "waits", "busy", "holds") else [load.state]
    if load.busy:
        words.append(f"{load.busy:.0%} busy")
    if load.failed:
        words.append(f"{load.failed} failed")
    return " · ".join(words)


# ---------------------------------------------------------------------------------------------------
# Tuples


def counts_lines(frame: Frame) -> list[str]:
    """Return how many tuples of each kind there were over time, a line of digits for each kind."""
    scale = Scale(frame.begin, frame.end, 0, COLUMNS - 1)
    lines = [counts_summary(frame)]
    if frame.counts:
        lines += ["", f"{padded(scale.since, LABEL_COLUMNS)}  {axis_line(scale)}"]
    for line in frame.counts[:MOST_LANES]:
        label = padded(count_label(line, frame), LABEL_COLUMNS)
        lines.append(f"{label}  {_heights(line, scale, frame.time)}  {line.now} now, {line.most} at most")
    if len(frame.counts) > MOST_LANES:
        lines.append(f"and {len(frame.counts) - MOST_LANES} more kinds, not drawn")
    return lines


def counts_summary(frame: Frame) -> str:
    """Say how many tuples of each kind there are, in one sentence."""
    now = [f"{line.now} × {count_label(line, frame)}" for line in frame.counts if line.now]
    return f"There are {joined(now, most=6)}." if now else "There are no tuples."


def count_label(line: CountLine, frame: Frame) -> str:
    """Return the kind of tuple, and the space if there are several."""
    return f"{line.kind} in {line.space}" if len(frame.spaces) > 1 else line.kind


def _heights(line: CountLine, scale: Scale, now: float) -> str:
    """Write the most tuples that there were in each column as one digit; ``+`` is ten or more."""
    most = [0] * COLUMNS
    count, column = 0, 0
    for time, following in [*line.points, (now, line.now)]:
        end = round(scale.place(time))
        most[column : end + 1] = [max(old, count) for old in most[column : end + 1]]
        count, column = following, end
    shown = round(scale.place(now)) + 1
    digits = ("·" if height == 0 else str(height) if height < 10 else "+" for height in most[:shown])
    return "".join(digits).ljust(COLUMNS)


def space_lines(space: SpaceFrame) -> list[str]:
    """Return what is in a space, oldest first, and who waits for what."""
    lines = [space_summary(space)]
    if space.not_shown:
        lines.append(f"  {space.not_shown} older tuples, not shown")
    for stored in space.tuples:
        lines.append(f"  {shortened(stored.text, 70)}{'  newest' if stored.order == space.latest else ''}")
    for claimed in space.claimed:
        lines.append(f"  {shortened(claimed.stored.text, 60)}  claimed by {shortened(claimed.holder, 24)}")
    for waiting in space.waiting:
        lines.append(f"  {waiting_words(waiting)}")
    return lines


def waiting_words(waiting: Waiting) -> str:
    """Say who waits for what."""
    pattern = shortened(waiting.pattern, 60)
    if waiting.operation in ("take", "read", "claim"):
        return f"{shortened(waiting.actor, 24)} waits to {waiting.operation} {pattern}"
    return f"{shortened(waiting.actor, 24)} waits for room to write {pattern}"


def space_summary(space: SpaceFrame) -> str:
    """Say what a space holds, in one sentence."""
    size = len(space.tuples) + space.not_shown
    parts = [f"{size} {'tuple' if size == 1 else 'tuples'}"]
    if space.claimed:
        parts.append(f"{len(space.claimed)} claimed")
    if space.waiting:
        names = dict.fromkeys(shortened(waiting.actor, 16) for waiting in space.waiting)
        parts.append(f"{joined(names)} {'waits' if len(names) == 1 else 'wait'}")
    return f"{shortened(space.name, 24)}: {', '.join(parts)}{', closed' if space.closed else ''}."
