"""Board: what is true of a class, told by the events of its spaces and by nothing else.

`ClassState` is told one event after the other, and `class_frame` says what there is to see at a moment.
`board_watch` tells the events, and `board_text` and `board_svg` show the frames.

===============  =====================================  ===========================
a machine is     when                                   sign
===============  =====================================  ===========================
working          it has a task in a claim               a solid triangle
idle             it has none                            a ring
quiet            its heartbeat is late                  a diamond
dropped out      its heartbeat has expired              a cross
left             it took its heartbeat away             a dash
===============  =====================================  ===========================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tutorial_lib.classroom.machine import HEARTBEAT_TTL
from tutorial_lib.trace import Event
from tutorial_lib.views.loads import Load, LoadFrame, loads_of
from tutorial_lib.views.thinning import Bar, joined_bars
from tutorial_lib.views.words import name_and_number, shortened

__all__ = [
    "FUSE",
    "KINDS",
    "SHOWN_SECONDS",
    "ClassFrame",
    "ClassState",
    "MachineFrame",
    "class_frame",
]

SHOWN_SECONDS: Final = 60.0  # how much of the past is shown
SLOT: Final = SHOWN_SECONDS / 400  # shorter stretches of work cannot be told apart
FUSE: Final = HEARTBEAT_TTL  # seconds after its last heartbeat until a machine has dropped out
QUIET: Final = FUSE / 2  # seconds of silence after which a heartbeat is late: it comes every second
NEWS_LAST: Final = 8.0  # seconds for which news of a machine is not replaced by "anna did task 13"
MOST_MACHINES: Final = 40  # on one screen
MOST_REMEMBERED: Final = 1000  # machines; more in one class are nonsense that somebody has sent
MOST_STRETCHES: Final = 400  # of work of one machine: more than can be told apart in a minute
LARGEST_NUMBER: Final = 10**9  # of a round, a task or a number of cores; more is nonsense as well
NAME_COLUMNS: Final = 24


class MachineFrame(NamedTuple):
    """What there is to see of one machine."""

    name: str
    about: str
    """Its cores and its system: "8 cores, Linux"."""
    state: str
    """"working", "idle", "quiet", "dropped out" or "left"."""
    words: str
    """The same in more words: "working on task 7", "quiet for 3 s"."""
    task: int | None
    """The number of the task that it works on."""
    bars: list[Bar]
    """What it did in the last minute."""
    done: int
    failed: int
    share: float
    """Its part of all the tasks that were done, from 0 to 1."""
    silence: float | None
    """Seconds since its last heartbeat; None if it is no longer there."""
    lived: tuple[float, float]
    """From when to when it was there."""

    @property
    def is_there(self) -> bool:
        """Whether it takes part now."""
        return self.silence is not None


@dataclass(frozen=True)
class ClassFrame:
    """What there is to see of a class at one moment."""

    time: float
    round: int
    join_line: str
    done: int
    total: int
    waiting: int
    working: int
    machines: list[MachineFrame]
    more: int
    """How many machines have no room on the screen."""
    load: LoadFrame
    latest: str
    """The latest event in words."""
    is_over: bool


class _Stretch(NamedTuple):
    """A stretch of time in which a machine had a task."""

    task: int
    begin: float
    end: float
    how: str  # "done", "cut short", or "running" while it has not ended


@dataclass
class _Machine:
    """What is remembered of one machine."""

    name: str
    about: str
    joined: float
    last_beat: float
    life: str = ""  # "dropped out", "left", or "" while it is there
    past: deque[_Stretch] = field(default_factory=lambda: deque(maxlen=MOST_STRETCHES))
    ended: set[int] = field(default_factory=set)  # ids of the tasks to which it gave an answer


class ClassState:
    """What is true of a class after the events so far. ``join_line`` is what students type to join it.

    >>> state = ClassState("tutorial class join redis://...")
    >>> state.apply(Event(0, 1.0, "anna", "write", "class", ("machine", "anna", 8, "Linux")))
    >>> state.latest
    'anna joined: 8 cores, Linux'
    """

    def __init__(self, join_line: str = "") -> None:
        self.join_line = join_line
        self.round = 0
        self.machines: dict[str, _Machine] = {}
        self.tasks: set[int] = set()  # ids of all tasks of this round; the next three are parts of it
        self.waiting: set[int] = set()
        self.done: set[int] = set()
        self.failed: set[int] = set()  # and these are part of the done
        self.held: dict[int, tuple[str, float]] = {}  # id of a task -> who works on it, since when
        self.latest = ""
        self.is_over = False
        self._came_back: dict[int, str] = {}  # id of a task -> who dropped out with it
        self._news_until = float("-inf")

    def apply(self, event: Event) -> None:
        """Take note of the next event. What is no tuple of a class is ignored: anybody may write anything."""
        if event.space == "class":
            self._apply_to_class(event)
        elif event.space == f"tasks {self.round}" and _is_tuple(event, "task"):
            self._apply_to_task(event, event.fields[1])
        elif event.space == f"results {self.round}" and _is_tuple(event, "result"):
            self._apply_to_result(event, event.fields[1])

    def _say(self, event: Event, words: str, *, is_news: bool = False) -> None:
        """Make this the latest event, unless there is news that everybody should have time to read."""
        if is_news or event.time >= self._news_until:
            self.latest = words
        if is_news:
            self._news_until = event.time + NEWS_LAST

    # ------------------------------------------------------------------------------------------------
    # Rounds and machines

    def _apply_to_class(self, event: Event) -> None:
        if event.kind == "shut":
            self.is_over = True
            self._say(event, "the class is over", is_news=True)
        match event.fields:
            case ("round", number) if event.kind in _ARRIVALS and _is_number(number):
                if number != self.round:
                    self._begin_round(event, number)
            case ("machine", str(name), cores, system) if name and event.kind in _CHANGES_OF_A_MACHINE:
                _CHANGES_OF_A_MACHINE[event.kind](self, event, name, _about(cores, system))

    def _begin_round(self, event: Event, number: int) -> None:
        self.round = number
        self.machines = {name: one for name, one in self.machines.items() if not one.life}
        for machine in self.machines.values():
            machine.past.clear()
            machine.ended.clear()
        for ids in (self.tasks, self.waiting, self.done, self.failed, self.held, self._came_back):
            ids.clear()
        self._say(event, f"round {number} begins", is_news=True)

    def _beat(self, event: Event, name: str, about: str) -> None:
        machine = self.machines.get(name)
        if machine is None:
            if len(self.machines) >= MOST_REMEMBERED:
                return
            machine = self.machines[name] = _Machine(name, about, event.time, event.time)
            self._say(event, f"{_short(name)} joined: {about}", is_news=True)
        elif machine.life:
            machine.joined = event.time
            self._say(event, f"{_short(name)} is back", is_news=True)
        machine.about, machine.last_beat, machine.life = about, event.time, ""

    def _leave(self, event: Event, name: str, about: str) -> None:
        if name in self.machines:
            self.machines[name].life = "left"
            self._say(event, f"{_short(name)} left", is_news=True)

    def _drop_out(self, event: Event, name: str, about: str) -> None:
        if name in self.machines:
            self.machines[name].life = "dropped out"
            tasks = [f"task {id}" for id, (holder, _) in self.held.items() if holder == name]
            returns = f"; {tasks[0]} comes back when its lease is over" if tasks else ""
            self._say(event, f"{_short(name)} dropped out{returns}", is_news=True)

    # ------------------------------------------------------------------------------------------------
    # Tasks and results

    def _apply_to_task(self, event: Event, id: int) -> None:
        change = _CHANGES_OF_A_TASK.get(event.kind)
        if change is not None:
            self.tasks.add(id)
            change(self, event, id)

    def _hand_out(self, event: Event, id: int) -> None:
        if id not in self.done:
            self.waiting.add(id)
            self._say(event, f"{_amount(len(self.tasks), 'task')} handed out")

    def _begin(self, event: Event, id: int) -> None:
        """Note who works on a task; told by every renewal as well, if the board was opened later."""
        self.waiting.discard(id)
        if id not in self.held:
            self.held[id] = (event.actor, event.time)

    def _give_back(self, event: Event, id: int) -> None:
        self._end(event, id, "cut short")
        self.waiting.add(id)
        name, machine = _short(event.actor), self.machines.get(event.actor)
        if event.kind == "release":
            self._say(event, f"{name} gave task {id} back", is_news=True)
        elif machine is not None and machine.life:
            self._came_back[id] = name
            self._say(event, f"{name} {machine.life}; task {id} comes back", is_news=True)
        else:
            self._came_back[id] = name
            self._say(event, f"the lease of {name} is over; task {id} comes back", is_news=True)

    def _complete(self, event: Event, id: int) -> None:
        self._end(event, id, "done")
        self.done.add(id)
        if event.actor not in self.machines:
            return
        self.machines[event.actor].ended.add(id)
        words = f"{_short(event.actor)} did task {id}"
        if id in self._came_back:
            self._say(event, f"{words}, which {self._came_back.pop(id)} had lost", is_news=True)
        else:
            self._say(event, words)

    def _bury(self, event: Event, id: int) -> None:
        self.failed.add(id)
        self._complete(event, id)
        self._say(event, f"{_short(event.actor)} gave task {id} up", is_news=True)

    def _expire(self, event: Event, id: int) -> None:
        if id in self.waiting:
            self.waiting.remove(id)
            self.tasks.remove(id)

    def _end(self, event: Event, id: int, how: str) -> None:
        """Note that a task is in nobody's hands any more."""
        self.waiting.discard(id)
        holder, begin = self.held.pop(id, ("", 0.0))
        if holder in self.machines:
            self.machines[holder].past.append(_Stretch(id, begin, event.time, how))

    def _apply_to_result(self, event: Event, id: int) -> None:
        """Note an answer. It may be told before the end of its task, which happened in another space."""
        if event.kind != "write":
            return
        self.tasks.add(id)
        if id not in self.done:
            self._complete(event, id)
        if event.fields[2:3] == ("failed",):
            self.failed.add(id)
            by = f" on {_short(event.actor)}" if event.actor else ""
            self._say(event, f"task {id} failed{by}", is_news=True)


_ARRIVALS = ("write", "replace", "release", "lapse")
"""The kinds of events after which a tuple is there."""

_CHANGES_OF_A_MACHINE: dict[str, Callable[[ClassState, Event, str, str], None]] = {
    "write": ClassState._beat,
    "replace": ClassState._beat,
    "take": ClassState._leave,
    "expire": ClassState._drop_out,
}

_CHANGES_OF_A_TASK: dict[str, Callable[[ClassState, Event, int], None]] = {
    "write": ClassState._hand_out,
    "claim": ClassState._begin,
    "take": ClassState._begin,
    "renew": ClassState._begin,
    "release": ClassState._give_back,
    "lapse": ClassState._give_back,
    "complete": ClassState._complete,
    "bury": ClassState._bury,
    "expire": ClassState._expire,
}

KINDS = frozenset({"shut", *_ARRIVALS, *_CHANGES_OF_A_MACHINE, *_CHANGES_OF_A_TASK})
"""The kinds of events that change anything here."""


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_NUMBER


def _is_tuple(event: Event, kind: str) -> bool:
    """Tell whether the event is about a tuple that begins like a task or a result: its kind, its id."""
    fields = event.fields
    return len(fields) >= 3 and type(fields[0]) is str and fields[0] == kind and _is_number(fields[1])


def _about(cores: Any, system: Any) -> str:
    machine = _amount(cores, "core") if _is_number(cores) else "unknown cores"
    return f"{machine}, {shortened(system, 12)}" if isinstance(system, str) and system else machine


def _amount(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _short(name: str) -> str:
    return shortened(name, NAME_COLUMNS)


# ---------------------------------------------------------------------------------------------------
# The frame of a moment


def class_frame(state: ClassState, now: float) -> ClassFrame:
    """Return what there is to see at ``now``, on the clock of the events.

    Machines stand in the order of their names. Where there are more than 40, those that are there come first.

    >>> state = ClassState()
    >>> state.apply(Event(0, 1.0, "bo", "write", "class", ("machine", "bo", 4, "Windows")))
    >>> state.apply(Event(1, 9.0, "bo", "expire", "class", ("machine", "bo", 4, "Windows")))
    >>> frame = class_frame(state, 10.0)
    >>> [(machine.name, machine.about, machine.words) for machine in frame.machines], frame.latest
    ([('bo', '4 cores, Windows', 'dropped out')], 'bo dropped out')
    """
    in_order = sorted(state.machines.values(), key=lambda one: name_and_number(one.name))
    shown = {one.name for one in sorted(in_order, key=lambda one: one.life != "")[:MOST_MACHINES]}
    held: dict[str, list[_Stretch]] = {}
    for id, (holder, begin) in state.held.items():
        held.setdefault(holder, []).append(_Stretch(id, begin, now, "running"))
    load = loads_of("tasks done", [_load(machine, state.failed) for machine in in_order])
    return ClassFrame(
        time=now,
        round=state.round,
        join_line=state.join_line,
        done=len(state.done),
        total=len(state.tasks),
        waiting=len(state.waiting),
        working=len(state.held),
        machines=[
            _machine_frame(machine, one_load, load.total, held.get(machine.name, []), state.failed, now)
            for machine, one_load in zip(in_order, load.loads, strict=True)
            if machine.name in shown
        ],
        more=len(in_order) - len(shown),
        load=load,
        latest=state.latest,
        is_over=state.is_over,
    )


def _load(machine: _Machine, failed: set[int]) -> Load:
    failures = len(machine.ended & failed)
    return Load(machine.name, len(machine.ended) - failures, failures, 0.0, machine.life)


def _machine_frame(
    machine: _Machine, load: Load, all_done: int, held: list[_Stretch], failed: set[int], now: float
) -> MachineFrame:
    silence = max(0.0, now - machine.last_beat)
    task = held[0].task if held else None
    state = machine.life or ("quiet" if silence >= QUIET else "idle" if task is None else "working")
    words = {"quiet": f"quiet for {silence:.0f} s", "working": f"working on task {task}"}
    if machine.life:
        held = [stretch._replace(how="cut short") for stretch in held]
    shown = [stretch for stretch in [*machine.past, *held] if stretch.end > now - SHOWN_SECONDS]
    return MachineFrame(
        name=machine.name,
        about=machine.about,
        state=state,
        words=words.get(state, state),
        task=task,
        bars=joined_bars([_bar(stretch, failed) for stretch in shown], SLOT),
        done=load.amount,
        failed=load.failed,
        share=load.amount / all_done if all_done else 0.0,
        silence=None if machine.life else silence,
        lived=(machine.joined, machine.last_beat if machine.life else now),
    )


def _bar(stretch: _Stretch, failed: set[int]) -> Bar:
    id, begin, end, how = stretch
    how = "failed" if how == "done" and id in failed else how
    return Bar(
        begin, end, str(id), f"task {id}", how, True, end - begin, 1, 0, None if how == "running" else 0
    )
