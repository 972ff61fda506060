"""History: a trace, read once, so that any moment of it can be looked up quickly.

=======  ==================================================================================
bar      a stretch of time in which an actor worked on something, or had something in hand
sign     a moment at which something happened to an actor: a crash, a restart, a suspicion
tick     a moment at which an actor wrote a tuple, or took or read one
stay     the time that a tuple spent in a space, a claim was open, or somebody waited
slot     the shortest time that a picture can show; what is shorter is drawn together
=======  ==================================================================================

How busy an actor was is known for certain where it used ``work``: from start to finish. Elsewhere a trace
shows only when somebody took a tuple, and when it was next heard of. That is drawn as well, but hollow: it
had a tuple in hand. Who claims a tuple has it in hand until the claim ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tutorial_lib.trace import Event, Trace
from tutorial_lib.views.progress import ProgressHistory
from tutorial_lib.views.state import (
    NOT_SIGNS_OF_LIFE,
    ActorState,
    State,
)
from tutorial_lib.views.stays import SpaceHistory
from tutorial_lib.views.thinning import Bar, Count, Mark, in_rows, joined_bars, spread, thinned
from tutorial_lib.views.words import shortened, task_label, task_state, tuple_text

__all__ = ["Detection", "History", "Lane"]

FOR_EVER = float("inf")
MOST_SLOTS, FEWEST_SLOTS = 1000, 150
SLOTS_OF_ALL_LANES = 6000

LIFE_ENDS = frozenset(["crash", "dismiss", "give_up"])
OWN_DOING = frozenset(
    (
        *("wait", "write", "take", "read", "replace", "claim", "renew", "complete", "shut"),
        *("start", "finish", "fail", "note", "retry"),
    )
)
"""What an actor does itself, and what therefore shows that it lives and has turned to something else."""

SIGN_WORDS = {
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
    "note": "",
}
"""The events that are signs, and the word that is written beside each; a note has words of its own."""


class Detection(NamedTuple):
    """How long it took until a crash or a hang was noticed."""

    begin: float
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
    lived: list[tuple[float, float]] = field(default_factory=list)  # from when to when it was there
    states: list[tuple[int, ActorState]] = field(default_factory=list)  # events seen, how it was then
    rows: int = 0  # how many rows its bars need
    refused: int = 0  # how many of its bars are
    worked: bool = False
    hired: bool = False
    took: bool = False
    # what is under way
    working: dict[str, list[Bar]] = field(default_factory=dict)  # by the text of the tuple
    holding: dict[int, Bar] = field(default_factory=dict)  # by the token of the claim
    in_hand: Bar | None = None  # what it took last, until it is next heard of
    silent_since: float | None = None  # the moment of its crash or hang, until that is noticed

    def under_way(self) -> list[Bar]:
        """Return the bars of work and claims that have not ended."""
        return [bar for bars in self.working.values() for bar in bars] + list(self.holding.values())


class History:
    """What a trace tells, ready to be asked for any moment.

    A trace that has grown is read on from where it was left: `catch_up`.
    """

    def __init__(self, trace: Trace, end: float | None = None) -> None:
        self.trace = trace
        self.lanes: dict[str, Lane] = {}
        self.spaces: dict[str, SpaceHistory] = {}
        self.progress = ProgressHistory()
        self.timeout: float | None = None  # the silence in seconds that a monitor takes for a death
        self.given_end = end
        self._times: list[float] = []
        self._state = State()
        self._task_states: dict[tuple[str, str], str] = {}  # the last one of each task, by space and label
        self._drawn: dict[str, Lane] = {}  # the lanes as they are drawn, with what is too short joined
        self._drawn_counts: dict[tuple[str, str], list[Count]] = {}
        self.catch_up()

    def catch_up(self) -> None:
        """Read the events that have come since the last time."""
        new = self.trace[len(self._times) :]
        for event in new:
            self._read(event)
        if new:
            slots = min(MOST_SLOTS, max(FEWEST_SLOTS, SLOTS_OF_ALL_LANES // len(self.lanes)))
            slot = (self.end - self.begin) / slots
            self._drawn = {name: _as_drawn(lane, slot) for name, lane in self.lanes.items()}
            self._drawn_counts = {
                (space.name, kind): thinned(line, slot)
                for space in self.spaces.values()
                for kind, line in space.counts.items()
            }

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
        end = last if self.given_end is None else max(last, self.given_end)
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

    def actor_after(self, name: str, number: int) -> ActorState:
        """Return how an actor was after ``number`` events."""
        states = self.lanes[name].states
        place = bisect_left(states, number, key=lambda state: state[0])
        return states[place - 1][1] if place else ActorState()

    def lane_after(self, name: str, number: int, time: float) -> Lane:
        """Return a lane as it was known after ``number`` events, at ``time``."""
        lane = self._drawn[name]
        bars = lane.bars[: bisect_left(lane.bars, number, key=lambda bar: bar.first)]
        return Lane(
            lane.name,
            bars=[_as_it_was(bar, number, time) for bar in bars],
            signs=_until(lane.signs, number),
            ticks=_until(lane.ticks, number),
            beats=_until(lane.beats, number),
            detections=[found for found in lane.detections if found.number < number],
            lived=[(max(start, self.begin), min(end, time)) for start, end in lane.lived if start <= time],
            rows=lane.rows,
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
        self._times.append(max(event.time, self._times[-1]) if self._times else event.time)
        for change in self._state.apply(event):
            self._space(change.space).note(change, event.time, number)
        self.progress.read(event, number)
        lane = self._lane(event.actor)
        self._note_state(lane, number)
        self._read_life(lane, event)
        if event.kind in OWN_DOING and not _is_heartbeat(event):
            lane.silent_since = None
            self._put_down(lane, event.time, number)
        reader = _READERS.get(event.kind)
        if reader is not None:
            reader(self, lane, event, number)
        if event.kind in SIGN_WORDS:
            self._read_sign(lane, event, number)

    def _lane(self, name: str) -> Lane:
        lane = self.lanes.get(name)
        if lane is None:
            lane = self.lanes[name] = Lane(name)
        return lane

    def _space(self, name: str) -> SpaceHistory:
        space = self.spaces.get(name)
        if space is None:
            space = self.spaces[name] = SpaceHistory(name)
        return space

    def _note_state(self, lane: Lane, number: int) -> None:
        state = self._state.actors[lane.name]
        if not lane.states or lane.states[-1][1] is not state:
            lane.states.append((number, state))

    def _read_life(self, lane: Lane, event: Event) -> None:
        lives = bool(lane.lived) and lane.lived[-1][1] == FOR_EVER
        if lives and event.kind in LIFE_ENDS:
            lane.lived[-1] = (lane.lived[-1][0], event.time)
        elif not lane.lived and event.kind != "hire":
            lane.lived.append((-FOR_EVER, FOR_EVER))  # it was there before anybody heard of it
        elif not lives and event.kind not in NOT_SIGNS_OF_LIFE:
            lane.lived.append((event.time, FOR_EVER))

    def _put_down(self, lane: Lane, time: float, number: int) -> None:
        """End the time in which a taken tuple was in hand: its owner is heard of again."""
        if lane.in_hand is not None and time > lane.in_hand.begin:
            lane.bars.append(_closed(lane.in_hand, time, number, "done"))
        lane.in_hand = None

    def _read_start(self, lane: Lane, event: Event, number: int) -> None:
        lane.worked = True
        lane.working.setdefault(tuple_text(event.fields), []).append(_opened(event, number, is_work=True))

    def _read_end_of_work(self, lane: Lane, event: Event, number: int) -> None:
        begun = lane.working.get(tuple_text(event.fields))
        if begun:
            how = "done" if event.kind == "finish" else "failed"
            if event.detail.get("reason") == "cancelled":
                how = "cut short"
            lane.bars.append(_closed(begun.pop(0), event.time, number, how))

    def _read_note(self, lane: Lane, event: Event, number: int) -> None:
        """If an actor is told that it came too late, show what it had finished as refused."""
        if self._state.actors[lane.name].refused > lane.refused:
            lane.refused += 1
            label = task_label(event.fields)
            of_task = [place for place, bar in enumerate(lane.bars) if bar.is_work and bar.label == label]
            for place in of_task[-1:]:  # none if it was begun before the trace
                lane.bars[place] = lane.bars[place]._replace(how="refused")

    def _read_crash(self, lane: Lane, event: Event, number: int) -> None:
        hand = [lane.in_hand] if lane.in_hand is not None else []
        lane.bars += [_closed(bar, event.time, number, "cut short") for bar in lane.under_way() + hand]
        lane.working, lane.holding, lane.in_hand = {}, {}, None
        lane.silent_since = event.time

    def _read_hang(self, lane: Lane, event: Event, number: int) -> None:
        lane.silent_since = event.time

    def _read_write(self, lane: Lane, event: Event, number: int) -> None:
        lane.ticks.append(Mark(event.time, "out", "", number))
        state = task_state(event.fields)
        if state:
            self._read_task_state(lane, event, state, number)
        if _is_heartbeat(event):
            self._read_beat(self._lane(event.fields[1]), event, number)

    def _read_task_state(self, lane: Lane, event: Event, state: str, number: int) -> None:
        """Note that a task came into a state. Back to the queue is news, from completed it is a fault."""
        label = task_label(event.fields)
        before = self._task_states.get((event.space, label), "")
        self._task_states[event.space, label] = state
        if state == "running" and event.kind == "replace":
            lane.in_hand = _opened(event, number, is_work=False)
        if before == "completed" and state != "completed":
            lane.signs.append(Mark(event.time, "undo", f"undoes {label}", number))
        elif before in ("running", "failed") and state == "queued":
            lane.signs.append(Mark(event.time, "requeue", f"requeues {label}", number))

    def _read_take(self, lane: Lane, event: Event, number: int) -> None:
        lane.ticks.append(Mark(event.time, "in", "", number))
        lane.took = True
        lane.in_hand = _opened(event, number, is_work=False)

    def _read_look(self, lane: Lane, event: Event, number: int) -> None:
        lane.ticks.append(Mark(event.time, "in", "", number))

    def _read_claim(self, lane: Lane, event: Event, number: int) -> None:
        lane.ticks.append(Mark(event.time, "in", "", number))
        lane.took = True
        lane.holding[event.detail.get("token", -1)] = _opened(event, number, is_work=False)

    def _read_end_of_claim(self, lane: Lane, event: Event, number: int) -> None:
        bar = lane.holding.pop(event.detail.get("token", -1), None)
        if bar is not None:
            how = "done" if event.kind == "complete" else "cut short"
            lane.bars.append(_closed(bar, event.time, number, how))

    def _read_beat(self, lane: Lane, event: Event, number: int) -> None:
        lane.silent_since = None
        if not lane.lived:
            lane.lived.append((-FOR_EVER, FOR_EVER))
        lane.beats.append(Mark(event.time, "beat", "", number))

    def _read_suspicion(self, lane: Lane, event: Event, number: int) -> None:
        if "timeout" in event.detail:
            self.timeout = event.detail["timeout"]
        elif event.kind == "dead" and self.timeout is None:
            self.timeout = event.detail.get("silence")  # it has another rule: this much was too much
        if lane.silent_since is not None:
            lane.detections.append(Detection(lane.silent_since, event.time, number))
            lane.silent_since = None

    def _read_shut(self, lane: Lane, event: Event, number: int) -> None:
        self._space(event.space).closed = number

    def _read_sign(self, lane: Lane, event: Event, number: int) -> None:
        word = SIGN_WORDS[event.kind]
        if event.kind == "note":
            word = shortened(str(event.detail.get("text", "")), 32)
        if event.kind == "hire":
            lane.hired = True
            if event.time == self._times[0]:
                return  # who was there from the start is no news
        lane.signs.append(Mark(event.time, event.kind, word, number))


_READERS: dict[str, Callable[[History, Lane, Event, int], None]] = {
    "start": History._read_start,
    "finish": History._read_end_of_work,
    "fail": History._read_end_of_work,
    "note": History._read_note,
    "crash": History._read_crash,
    "hang": History._read_hang,
    "write": History._read_write,
    "replace": History._read_write,
    "take": History._read_take,
    "read": History._read_look,
    "claim": History._read_claim,
    "complete": History._read_end_of_claim,
    "release": History._read_end_of_claim,
    "lapse": History._read_end_of_claim,
    "bury": History._read_end_of_claim,
    "beat": History._read_beat,
    "suspect": History._read_suspicion,
    "dead": History._read_suspicion,
    "shut": History._read_shut,
}


def _is_heartbeat(event: Event) -> bool:
    """Tell whether the tuple of an event is a heartbeat: ("heartbeat", name, ...)."""
    fields = event.fields
    return len(fields) > 1 and fields[0] == "heartbeat" and isinstance(fields[1], str) and fields[1] != ""


def _opened(event: Event, number: int, *, is_work: bool) -> Bar:
    what = tuple_text(event.fields) if event.fields else "work"
    return Bar(
        event.time, event.time, task_label(event.fields), what, "running", is_work, 0.0, 1, number, None
    )


def _closed(bar: Bar, time: float, number: int, how: str) -> Bar:
    return bar._replace(end=time, how=how, busy=time - bar.begin, last=number)


def _as_it_was(bar: Bar, number: int, time: float) -> Bar:
    """Return a bar as it was known after ``number`` events, at ``time``."""
    if bar.last is not None and bar.last < number:
        return bar
    end = max(bar.begin, time)
    return bar._replace(end=end, how="running", busy=end - bar.begin, last=None)


def _until(marks: list[Mark], number: int) -> list[Mark]:
    return marks[: bisect_left(marks, number, key=lambda mark: mark.number)]


def _as_drawn(lane: Lane, slot: float) -> Lane:
    """Return the lane as it is drawn: bars in rows, and what is shorter than ``slot`` seconds joined.

    However long the trace is, what is left for one lane has a limit.
    """
    bars: list[Bar] = []
    for is_work in (False, True):
        own = [bar for bar in lane.bars + lane.under_way() if bar.is_work == is_work]
        bars += joined_bars(in_rows(sorted(own, key=_first)), slot)
    return Lane(
        lane.name,
        bars=sorted(bars, key=_first),
        signs=spread(lane.signs, slot),
        ticks=spread(lane.ticks, slot),
        beats=spread(lane.beats, slot),
        detections=lane.detections,
        lived=lane.lived,
        rows=max((bar.row + 1 for bar in bars), default=0),
    )


def _first(bar: Bar) -> int:
    return bar.first
