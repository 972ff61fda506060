"""History: a trace, read once, so that any moment of it can be looked up quickly.

=======  ==================================================================================
bar      a stretch of time in which an actor worked on something, or had something in hand
sign     a moment at which something happened to an actor: a crash, a restart, a suspicion
tick     a moment at which an actor put a tuple into a space, or took or read one
slot     the shortest time that a picture can show; what is shorter is drawn together
=======  ==================================================================================

How busy an actor was is known for certain where it used ``work``: from start to finish. Elsewhere a trace
shows only when somebody took a tuple and when it was next heard of. That is drawn as well, but hollow: it
had a tuple in hand. Who claims a tuple has it in hand until the claim ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from tutorial_lib.trace import Event, Trace
from tutorial_lib.views.state import NOT_SIGNS_OF_LIFE, State, beat_of
from tutorial_lib.views.words import kind_label, shortened, task_label, tuple_text

__all__ = ["Bar", "Count", "Detection", "History", "Lane", "Mark"]

SLOTS = 1000  # a picture is at most so many slots wide
CHECKPOINT = 500  # events at least between two states that are kept

FOR_EVER = float("inf")

LIFE_ENDS = frozenset(["crash", "dismiss", "give_up"])
GOING_OUT = frozenset(["write", "replace"])
COMING_IN = frozenset(["take", "read", "claim"])
CLAIM_ENDS = frozenset(["complete", "release", "lapse", "bury"])
SIGNS = {
    "crash": "crash",
    "hang": "hang",
    "slow": "slow",
    "mute": "mute",
    "hire": "hired",
    "dismiss": "dismissed",
    "restart": "restart",
    "give_up": "gives up",
    "suspect": "suspected",
    "clear": "cleared",
    "dead": "declared dead",
    "lapse": "lease over",
    "retry": "retry",
    "open": "opens",
    "half_open": "half open",
    "close": "closes",
}
"""The events that are signs, and the word that is written beside each."""


class Bar(NamedTuple):
    """A stretch of time in which an actor worked, or had a tuple in hand."""

    begin: float
    end: float
    label: str  # what the task is called
    what: str  # its tuple
    how: str  # "done", "failed", "cut short", or "running" while it has not ended
    is_work: bool  # False: it is only known that the actor had the tuple in hand
    busy: float  # seconds; less than end - begin where several bars are drawn as one
    count: int  # how many bars are drawn as one
    first: int  # number of the event that began it
    last: int | None  # number of the event that ended it
    row: int = 0  # bars of one actor that overlap stand in rows of their own


class Mark(NamedTuple):
    """A moment: of a sign, of a tick (``kind`` is "in" or "out"), or of a heartbeat."""

    time: float
    kind: str
    word: str
    number: int  # of its event


class Count(NamedTuple):
    """How many tuples of one kind there were from ``time`` on."""

    time: float
    count: int
    number: int


class Detection(NamedTuple):
    """How long it took until a crash was noticed."""

    crash: float
    noticed: float
    number: int


@dataclass
class Lane:
    """All that is known of one actor, over the whole trace."""

    name: str
    bars: list[Bar] = field(default_factory=list)
    signs: list[Mark] = field(default_factory=list)
    ticks: list[Mark] = field(default_factory=list)
    beats: list[Mark] = field(default_factory=list)
    detections: list[Detection] = field(default_factory=list)
    lived: list[tuple[float, float]] = field(default_factory=list)  # from, to; the last may have no end yet
    rows: int = 0  # how many rows its bars need
    worked: bool = False
    hired: bool = False
    took: bool = False
    silent_since: float | None = None  # the moment of its crash or hang, until it is noticed
    working: dict[str, list[Bar]] = field(default_factory=dict)  # open bars, by the text of their tuple
    holding: dict[int, Bar] = field(default_factory=dict)  # open claims, by token
    in_hand: Bar | None = None  # what it took last, until it is next heard of


class History:
    """What a trace tells, ready to be asked for any moment.

    A trace that has grown is read on from where it was left: `catch_up`.
    """

    def __init__(self, trace: Trace, end: float | None = None) -> None:
        self.trace = trace
        self.lanes: dict[str, Lane] = {}
        self.counts: dict[tuple[str, str], list[Count]] = {}  # by space and kind of tuple
        self.most_tuples: dict[str, int] = {}  # the most that each space ever held
        self.timeout: float | None = None  # the silence in seconds that a monitor first called a death
        self._given_end = end
        self._times: list[float] = []
        self._state = State()
        self._kept: list[tuple[int, State]] = [(0, State())]  # events before it, state
        self._drawn: dict[str, Lane] = {}  # lanes as they are drawn: with what is too short for a slot joined
        self._drawn_counts: dict[tuple[str, str], list[Count]] = {}
        self.catch_up()

    def catch_up(self) -> None:
        """Read the events that have come since the last time."""
        new = self.trace[len(self._times) :]
        if not new and self._drawn:
            return
        for event in new:
            self._read(event)
        slot = (self.end - self.begin) / SLOTS
        self._drawn = {name: drawn(lane, slot) for name, lane in self.lanes.items()}
        self._drawn_counts = {key: _thinned(line, slot) for key, line in self.counts.items()}

    # ------------------------------------------------------------------------------------------------
    # Questions

    @property
    def begin(self) -> float:
        """The first moment of the time axis: 0, or the first event of a clock that began long before."""
        first, last = (self._times[0], self._times[-1]) if self._times else (0.0, 0.0)
        return first if first < 0 or 0.9 * last < first < last else 0.0

    @property
    def end(self) -> float:
        """The last moment of the time axis: the end of the run, or the last event."""
        last = self._times[-1] if self._times else 0.0
        end = last if self._given_end is None else max(last, self._given_end)
        return end if end > self.begin else self.begin + 1.0

    @property
    def has_work(self) -> bool:
        """Whether anybody used ``work``."""
        return any(lane.worked for lane in self.lanes.values())

    @property
    def workers(self) -> set[str]:
        """The names of those who did work or were hired; or else of those who took tuples."""
        workers = {lane.name for lane in self.lanes.values() if lane.worked or lane.hired}
        takers = {lane.name for lane in self.lanes.values() if lane.took}
        return workers or takers - {"main"} or takers

    def events_until(self, time: float) -> int:
        """Return how many events there were by ``time``, that moment included."""
        return bisect_right(self._times, time)

    def state_after(self, number: int) -> State:
        """Return what was true after the first ``number`` events."""
        place = bisect_right(self._kept, number, key=lambda kept: kept[0]) - 1
        start, kept = self._kept[place]
        state = kept.copy()
        for event in self.trace[start:number]:
            state.apply(event)
        return state

    def lane_after(self, lane: Lane, number: int, time: float) -> Lane:
        """Return a lane as it was known after ``number`` events, at ``time``."""
        known = self._drawn[lane.name]
        bars = known.bars[: bisect_left(known.bars, number, key=lambda bar: bar.first)]
        return Lane(
            lane.name,
            bars=[bar if bar.last is not None and bar.last < number else _opened(bar, time) for bar in bars],
            signs=_marks_until(known.signs, number),
            ticks=_marks_until(known.ticks, number),
            beats=_marks_until(known.beats, number),
            detections=[found for found in known.detections if found.number < number],
            lived=[(max(start, self.begin), min(end, time)) for start, end in known.lived if start <= time],
            rows=known.rows,
        )

    def counts_after(self, number: int) -> dict[tuple[str, str], list[Count]]:
        """Return, by space and kind, how many tuples there were up to then."""
        return {
            key: line[: bisect_left(line, number, key=lambda count: count.number)]
            for key, line in self._drawn_counts.items()
        }

    # ------------------------------------------------------------------------------------------------
    # Reading

    def _read(self, event: Event) -> None:
        number = len(self._times)
        self._state.apply(event)
        self._times.append(max(event.time, self._times[-1]) if self._times else event.time)
        lane = self._lane(event.actor)
        self._read_life(lane, event)
        if event.kind not in NOT_SIGNS_OF_LIFE:
            self._put_down(lane, event, number)
        self._read_work(lane, event, number)
        self._read_tuples(lane, event, number)
        self._read_signs(lane, event, number)
        self._count_tuples(event, number)
        if number - self._kept[-1][0] >= max(CHECKPOINT, self._state.size()):
            self._kept.append((number + 1, self._state.copy()))

    def _lane(self, name: str) -> Lane:
        if name not in self.lanes:
            self.lanes[name] = Lane(name)
        return self.lanes[name]

    def _read_life(self, lane: Lane, event: Event) -> None:
        lives = bool(lane.lived) and lane.lived[-1][1] == FOR_EVER
        if event.kind in LIFE_ENDS:
            if lives:
                lane.lived[-1] = (lane.lived[-1][0], event.time)
        elif not lives and (event.kind not in NOT_SIGNS_OF_LIFE or not lane.lived):
            was_there_before = not lane.lived and event.kind != "hire"
            lane.lived.append((-FOR_EVER if was_there_before else event.time, FOR_EVER))

    def _put_down(self, lane: Lane, event: Event, number: int) -> None:
        """End the time in which a taken tuple was in hand: its owner is heard of again."""
        if lane.in_hand is not None:
            if event.time > lane.in_hand.begin:
                lane.bars.append(_closed(lane.in_hand, event.time, number, "done"))
            lane.in_hand = None

    def _read_work(self, lane: Lane, event: Event, number: int) -> None:
        if event.kind == "start":
            lane.worked = True
            lane.working.setdefault(tuple_text(event.fields), []).append(_open_bar(event, number, True))
        elif event.kind in ("finish", "fail"):
            begun = lane.working.get(tuple_text(event.fields))
            if begun:
                how = "done" if event.kind == "finish" else "failed"
                if event.detail.get("reason") == "cancelled":
                    how = "cut short"
                lane.bars.append(_closed(begun.pop(0), event.time, number, how))
        elif event.kind == "crash":
            for bar in _all_open(lane):
                lane.bars.append(_closed(bar, event.time, number, "cut short"))
            lane.working, lane.holding, lane.in_hand = {}, {}, None

    def _read_tuples(self, lane: Lane, event: Event, number: int) -> None:
        if event.kind in COMING_IN or event.kind in GOING_OUT:
            lane.ticks.append(Mark(event.time, "out" if event.kind in GOING_OUT else "in", "", number))
        if event.kind == "claim":
            lane.holding[event.detail.get("token", 0)] = _open_bar(event, number, False)
        elif event.kind in CLAIM_ENDS and "token" in event.detail:
            bar = lane.holding.pop(event.detail["token"], None)
            if bar is not None:
                how = "done" if event.kind == "complete" else "cut short"
                lane.bars.append(_closed(bar, event.time, number, how))
        elif event.kind == "take" or (
            event.kind == "replace" and kind_label(event.fields).endswith(" running")
        ):
            lane.in_hand = _open_bar(event, number, False)
        lane.took = lane.took or event.kind in ("take", "claim")

    def _read_signs(self, lane: Lane, event: Event, number: int) -> None:
        member = beat_of(event)
        if member is not None:
            whose = self._lane(member)
            if not whose.beats or whose.beats[-1].time < event.time:  # an event and its tuple are one beat
                if not whose.lived:
                    whose.lived.append((-FOR_EVER, FOR_EVER))
                whose.beats.append(Mark(event.time, "beat", "", number))
        word = SIGNS.get(event.kind)
        if event.kind == "note":
            word = shortened(str(event.detail.get("text", "")), 28)
        if event.kind == "hire":
            lane.hired = True
            if event.time == self._times[0]:
                word = None  # who was there from the start is no news
        if word is not None:
            lane.signs.append(Mark(event.time, event.kind, word, number))
        if event.kind in ("crash", "hang"):
            lane.silent_since = event.time
        elif event.kind in ("suspect", "dead"):
            if event.kind == "dead" and self.timeout is None:
                self.timeout = event.detail.get("silence")
            if lane.silent_since is not None:
                lane.detections.append(Detection(lane.silent_since, event.time, number))
                lane.silent_since = None
        elif event.kind not in NOT_SIGNS_OF_LIFE:
            lane.silent_since = None

    def _count_tuples(self, event: Event, number: int) -> None:
        space = self._state.touched
        if space is None:
            return
        self.most_tuples[space.name] = max(self.most_tuples.get(space.name, 0), len(space.stored))
        kinds = {kind_label(event.fields)}
        if event.kind == "replace":
            kinds.add(kind_label(tuple(event.detail.get("old", ()))))
        for kind in sorted(kinds):
            line = self.counts.setdefault((space.name, kind), [])
            now = space.counts.get(kind, 0)
            if not line or line[-1].count != now:
                line.append(Count(event.time, now, number))


def _open_bar(event: Event, number: int, is_work: bool) -> Bar:
    return Bar(
        event.time,
        event.time,
        task_label(event.fields),
        tuple_text(event.fields) if event.fields else "",
        "running",
        is_work,
        busy=0.0,
        count=1,
        first=number,
        last=None,
    )


def _closed(bar: Bar, time: float, number: int, how: str) -> Bar:
    return bar._replace(end=time, how=how, busy=time - bar.begin, last=number)


def _opened(bar: Bar, time: float) -> Bar:
    """Return a bar as it was while it had not ended."""
    end = max(bar.begin, time)
    return bar._replace(end=end, how="running", busy=end - bar.begin, last=None)


def _marks_until(marks: list[Mark], number: int) -> list[Mark]:
    return marks[: bisect_left(marks, number, key=lambda mark: mark.number)]


def _all_open(lane: Lane) -> list[Bar]:
    hand = [lane.in_hand] if lane.in_hand is not None else []
    return [bar for bars in lane.working.values() for bar in bars] + list(lane.holding.values()) + hand


# ---------------------------------------------------------------------------------------------------
# From what is known to what can be drawn


def drawn(lane: Lane, slot: float) -> Lane:
    """Return the lane as it is drawn: in rows, and with bars and ticks that are too close joined.

    ``slot`` is in seconds. However long the trace, what is left for one lane has a limit.
    """
    open_bars = [bar for bars in lane.working.values() for bar in bars] + list(lane.holding.values())
    bars: list[Bar] = []
    for is_work in (False, True):
        own = sorted((bar for bar in [*lane.bars, *open_bars] if bar.is_work == is_work), key=_by_begin)
        bars += _joined(_in_rows(own), slot)
    return Lane(
        lane.name,
        bars=sorted(bars, key=_by_begin),
        signs=_spread(lane.signs, slot),
        ticks=_spread(lane.ticks, slot),
        beats=_spread(lane.beats, slot),
        detections=lane.detections,
        lived=lane.lived,
        rows=max((bar.row + 1 for bar in bars), default=0),
    )


def _by_begin(bar: Bar) -> int:
    return bar.first


def _in_rows(bars: list[Bar]) -> list[Bar]:
    """Give bars that overlap rows of their own: each the first that is free."""
    ends: list[float] = []  # of the last bar in each row
    placed = []
    for bar in bars:
        end = FOR_EVER if bar.last is None else bar.end
        row = next((row for row, taken in enumerate(ends) if taken <= bar.begin), len(ends))
        ends[row : row + 1] = [end]
        placed.append(bar._replace(row=row))
    return placed


def _joined(bars: list[Bar], slot: float) -> list[Bar]:
    """Draw neighbours as one bar that are too short to be told apart."""
    latest: dict[int, Bar] = {}  # the last bar in each row
    joined = []
    for bar in bars:
        before = latest.get(bar.row)
        if before is not None and _are_one(before, bar, slot):
            bar = before._replace(
                end=bar.end,
                label="",
                what=f"{before.count + bar.count} tasks",
                busy=before.busy + bar.busy,
                count=before.count + bar.count,
                last=bar.last,
            )
        elif before is not None:
            joined.append(before)
        latest[bar.row] = bar
    return joined + list(latest.values())


def _are_one(before: Bar, bar: Bar, slot: float) -> bool:
    are_short = (before.count > 1 or before.end - before.begin < 2 * slot) and bar.end - bar.begin < 2 * slot
    return are_short and before.how == bar.how and bar.begin - before.end < slot and bar.last is not None


def _spread(marks: list[Mark], slot: float) -> list[Mark]:
    """Keep one mark of each kind for each slot."""
    latest: dict[str, float] = {}
    kept = []
    for mark in marks:
        if mark.kind not in latest or mark.time - latest[mark.kind] >= slot:
            latest[mark.kind] = mark.time
            kept.append(mark)
    return kept


def _thinned(line: list[Count], slot: float) -> list[Count]:
    """Keep of each slot the last count, and the highest and the lowest."""
    slots: dict[int, list[Count]] = {}
    for count in line:
        slots.setdefault(int(count.time / slot), []).append(count)
    kept = []
    for group in slots.values():
        extremes = {max(group, key=_height), min(group, key=_height), group[-1]}
        kept += sorted(extremes, key=lambda count: count.number)
    return kept


def _height(count: Count) -> int:
    return count.count
