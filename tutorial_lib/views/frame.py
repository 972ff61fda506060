"""Frame: everything that is true at one moment of a run, as plain data.

All pictures are drawn from a frame, so they cannot disagree. A frame holds numbers, texts and lists only:
``frame.as_data()`` can be written as JSON.

>>> from tutorial_lib.trace import Event, Trace
>>> trace = Trace()
>>> _ = trace.record("start", actor="w1", fields=("task", 7), time=1.0)
>>> _ = trace.record("finish", actor="w1", fields=("task", 7), time=3.0)
>>> [(lane.name, lane.state, lane.doing) for lane in frame_at(trace, 2.0).lanes]
[('w1', 'busy', '7')]
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from tutorial_lib.simulation import Run
from tutorial_lib.trace import Trace
from tutorial_lib.views.history import Detection, History, Lane
from tutorial_lib.views.loads import Load, LoadFrame, loads_of
from tutorial_lib.views.progress import BoardColumn, BreakerLine, RestartLine
from tutorial_lib.views.state import ActorState, Claimed, Stored, Waiting
from tutorial_lib.views.stays import SpaceHistory
from tutorial_lib.views.thinning import Bar, Mark
from tutorial_lib.views.words import joined, name_and_number, sentence, shortened

__all__ = [
    "CountLine",
    "Frame",
    "LaneFrame",
    "SpaceFrame",
    "frame_at",
    "history_of",
]

SLOTS = 150  # of the time axis: of the beads and the parts of ribbons in one slot, one is drawn
MOST_TUPLES = 60  # tuples of one space that a frame holds; the others are counted


@dataclass(frozen=True)
class LaneFrame:
    """One actor: what it has done, what it does, and how it is."""

    name: str
    state: str
    """"busy", "holds", "waits", "idle", "hangs", "crashed", "dismissed" or "given up"."""
    doing: str
    """The label of what it works on, or the pattern that it waits for."""
    done: int
    failed: int
    refused: int
    """How much it finished too late, so that it did not count."""
    taken: int
    written: int
    is_worker: bool
    bars: list[Bar]
    signs: list[Mark]
    ticks: list[Mark]
    beats: list[Mark]
    silence: float | None
    """Seconds since its last heartbeat; None if it never beat."""
    timeout: float | None
    """Seconds of silence that the monitor takes for a death; None if it suspected nobody in this run."""
    suspicion: str
    """"suspected", "declared dead" or ""."""
    detections: list[Detection]
    lived: list[tuple[float, float]]
    """From when to when it was there."""
    rows: int
    """How many rows its bars need in the whole run."""
    has_signs: bool
    """Whether there are any in the whole run, so that room is kept for them; likewise the next two."""
    has_beats: bool
    has_ticks_only: bool


class CountLine(NamedTuple):
    """How many tuples of one kind are in a space, over the time so far."""

    space: str
    kind: str
    now: int
    most: int
    """The most there are in the whole run."""
    points: list[tuple[float, int]]


@dataclass(frozen=True)
class SpaceFrame:
    """One space: its tuples, oldest first, and who waits for what."""

    name: str
    tuples: list[Stored]
    not_shown: int
    """How many more tuples there are than ``tuples`` holds."""
    latest: int | None
    """The order of the tuple that came last, if it is still there."""
    claimed: list[Claimed]
    waiting: list[Waiting]
    closed: bool
    most: int
    """The most tuples that it holds in the whole run, so that room is kept for them."""


@dataclass(frozen=True)
class Frame:
    """Everything that is true at ``time``, after ``number`` of ``events`` events."""

    time: float
    begin: float
    end: float
    number: int
    events: int
    latest: str
    """The last event as a sentence, or ""."""
    lanes: list[LaneFrame]
    load: LoadFrame
    counts: list[CountLine]
    spaces: list[SpaceFrame]
    board: list[BoardColumn]
    """The tasks by their state; empty where no tuple is a task."""
    restarts: list[RestartLine]
    breakers: list[BreakerLine]
    summary: str
    """The frame in one sentence."""

    def as_data(self) -> dict[str, Any]:
        """Return the frame as dictionaries, lists, texts and numbers."""
        return asdict(self)


def frame_at(run: Run | Trace | History, time: float | None = None, *, number: int | None = None) -> Frame:
    """Return what is true at ``time`` seconds, everything that happens at that moment included.

    Without a time, at the end. ``number`` is how many events have been seen: with it one can stop between
    two events of the same moment. Reading a trace takes time once; after that any moment is found quickly.
    Raises `TypeError` for what is neither a run nor a trace, and `ValueError` for a time that is no number.
    """
    history = run if isinstance(run, History) else history_of(run)
    time = history.end if time is None else _checked(time)
    seen = history.events_until(time) if number is None else max(0, min(number, len(history.trace)))
    time = min(max(time, history.begin), history.end)  # there is nothing to see beyond the ends
    spaces = [_space_frame(space, seen) for _, space in sorted(history.spaces.items())]
    waits = {waiting.actor: waiting.pattern for space in spaces for waiting in space.waiting}
    workers = history.workers
    slot = (history.end - history.begin) / SLOTS
    # Also those who are heard of only later: a picture must not jump when somebody turns up.
    lanes = [
        _lane_frame(history, lane, lane.name in workers, waits.get(lane.name, ""), seen, time)
        for lane in _in_order(list(history.lanes.values()))
    ]
    return Frame(
        time=time,
        begin=history.begin,
        end=history.end,
        number=seen,
        events=len(history.trace),
        latest=sentence(history.trace[seen - 1]) if seen else "",
        lanes=lanes,
        load=_load_frame(lanes, history.has_work, time - history.begin),
        counts=_count_lines(history, seen),
        spaces=spaces,
        board=history.progress.board_after(seen),
        restarts=history.progress.restarts_after(seen, slot),
        breakers=history.progress.breakers_after(seen, history.begin, time, slot),
        summary=_summary(lanes),
    )


def _checked(time: float) -> float:
    if isinstance(time, bool) or not isinstance(time, (int, float)):
        raise TypeError(f"A moment is a number of seconds, got {time!r}. Write at=3.0.")
    if time != time:
        raise ValueError("A moment is a number of seconds, got nan. Write at=3.0.")
    return float(time)


_last_read = History(Trace())


def history_of(run: Run | Trace) -> History:
    """Return the history of a run or trace. The one that was asked for last is kept, and read on."""
    global _last_read
    trace = run if isinstance(run, Trace) else getattr(run, "trace", None)
    if not isinstance(trace, Trace):
        raise TypeError(f"A picture is drawn of a run or a trace, got {run!r}. Write timeline_svg(run).")
    end = run.elapsed if isinstance(run, Run) else None
    if _last_read.trace is not trace or _last_read.given_end != end:
        _last_read = History(trace, end)
    _last_read.catch_up()
    return _last_read


# ---------------------------------------------------------------------------------------------------
# Lanes


def _in_order(lanes: list[Lane]) -> list[Lane]:
    """Sort lanes as they appear, but all of one sort together, and w2 before w10."""
    sorts = list(dict.fromkeys(name_and_number(lane.name)[0] for lane in lanes))

    def place(lane: Lane) -> tuple[int, int]:
        name, number = name_and_number(lane.name)
        return sorts.index(name), number

    return sorted(lanes, key=place)


def _lane_frame(
    history: History, lane: Lane, is_worker: bool, waits_for: str, number: int, time: float
) -> LaneFrame:
    known = history.lane_after(lane.name, number, time)
    actor = history.actor_after(lane.name, number)
    word, doing = _how_it_is(actor, known, waits_for, time)
    return LaneFrame(
        name=lane.name,
        state=word,
        doing=doing,
        done=actor.done,
        failed=actor.failed,
        refused=actor.refused,
        taken=actor.taken,
        written=actor.written,
        is_worker=is_worker,
        bars=known.bars,
        signs=known.signs,
        ticks=known.ticks,
        beats=known.beats,
        silence=time - known.beats[-1].time if known.beats else None,
        timeout=history.timeout,
        suspicion=actor.suspicion,
        detections=known.detections,
        lived=known.lived,
        rows=known.rows,
        has_signs=bool(lane.signs),
        has_beats=bool(lane.beats),
        has_ticks_only=bool(lane.ticks) and not known.rows,
    )


def _how_it_is(actor: ActorState, lane: Lane, waits_for: str, time: float) -> tuple[str, str]:
    """Return how an actor is, in a word, and what it works on or waits for."""
    if actor.life:
        return actor.life, ""
    if time < actor.hangs_until:
        return "hangs", ""
    for word, is_work in (("busy", True), ("holds", False)):
        labels = [bar.label for bar in lane.bars if bar.last is None and bar.is_work == is_work]
        if labels:
            return word, joined(filter(None, labels), most=3)
    return ("waits", waits_for) if waits_for else ("idle", "")


def _summary(lanes: list[LaneFrame]) -> str:
    """Say how everybody is, in one sentence."""
    if not lanes:
        return "Nothing has happened."
    groups: dict[str, list[str]] = {}
    for lane in lanes:
        groups.setdefault(lane.state, []).append(shortened(lane.name, 16))
    parts = [f"{joined(names)} {_VERBS[state][len(names) > 1]}" for state, names in groups.items()]
    done, failed = sum(lane.done for lane in lanes), sum(lane.failed for lane in lanes)
    taken = sum(lane.taken for lane in lanes)
    if done or failed:
        parts.append(
            f"{done} {'task' if done == 1 else 'tasks'} done{f', {failed} failed' if failed else ''}"
        )
    elif taken:
        parts.append(f"{taken} taken")
    return f"{'; '.join(parts)}."


_VERBS = {
    "busy": ("is busy", "are busy"),
    "holds": ("has a tuple in hand", "have a tuple in hand"),
    "waits": ("waits", "wait"),
    "idle": ("is idle", "are idle"),
    "hangs": ("hangs", "hang"),
    "crashed": ("has crashed", "have crashed"),
    "dismissed": ("is dismissed", "are dismissed"),
    "given up": ("has given up", "have given up"),
}


# ---------------------------------------------------------------------------------------------------
# Load


def _load_frame(lanes: list[LaneFrame], have_worked: bool, elapsed: float) -> LoadFrame:
    workers = [lane for lane in lanes if lane.is_worker]
    loads = [
        Load(
            lane.name,
            lane.done if have_worked else lane.taken,
            lane.failed,
            sum(bar.busy for bar in lane.bars if bar.is_work) / elapsed if elapsed > 0 else 0.0,
            lane.state,
        )
        for lane in workers
    ]
    return loads_of("tasks done" if have_worked else "tuples taken", loads)


# ---------------------------------------------------------------------------------------------------
# Tuples


def _count_lines(history: History, number: int) -> list[CountLine]:
    lines = []
    for (space, kind), counts in sorted(history.counts_after(number).items()):
        most = max(count.height for count in history.spaces[space].counts[kind])
        now = counts[-1].height if counts else 0
        lines.append(CountLine(space, kind, now, most, [(count.time, count.height) for count in counts]))
    return lines


def _space_frame(space: SpaceHistory, number: int) -> SpaceFrame:
    shown = space.tuples.after(number, MOST_TUPLES)
    latest = space.tuples.latest(number)
    return SpaceFrame(
        name=space.name,
        tuples=sorted(shown),
        not_shown=space.tuples.size_after(number) - len(shown),
        latest=None if latest is None else latest.order,
        claimed=space.claims.after(number),
        waiting=space.waiting.after(number),
        closed=space.closed is not None and space.closed < number,
        most=space.tuples.most,
    )
