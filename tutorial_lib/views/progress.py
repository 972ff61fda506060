"""Progress: how far each task has come, whom supervisors have restarted, and how breakers stand.

=======  ==================================================================================
card     a task on the board: its number, its state and how often it has been started
bead     a restart that a supervisor has made
part     a stretch of time in which a breaker was closed, open or half open
=======  ==================================================================================

A tuple whose first field is "task" is a task, and its second field is what it is known by. Where the third
field is a state, the task is in that state. Where it is not, what happens to the tuple tells the state: it
is queued when it is written, running when it is taken, completed when its result is written.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from tutorial_lib.trace import Event
from tutorial_lib.views.stays import Stays
from tutorial_lib.views.thinning import Mark, spread
from tutorial_lib.views.words import shortened, task_state, tuple_text

__all__ = [
    "TASK_STATES",
    "BoardColumn",
    "BreakerLine",
    "Card",
    "Part",
    "ProgressHistory",
    "RestartLine",
]

TASK_STATES = ("queued", "running", "completed", "failed", "dead")
"""The columns of the board, from left to right."""

MOST_MARKS = 300  # of one line; where there are more, those that stand close together become one
MOST_CARDS = 16  # of one column that a frame holds; the others are counted
LONGEST_LABEL = 7  # letters on a card
FIELDS_OF_A_TASK = 8  # of `tutorial_lib.tasks.Task`, which counts its attempts itself
ATTEMPT = 3  # the place of that number

BREAKER_WORDS = {"open": "open", "half_open": "half open", "close": "closed"}
"""The state that a breaker is in after each kind of event."""

BEFORE = {"open": "closed", "half_open": "open", "close": "half open"}
"""The state that a breaker was in before the first event that is known of it."""


class Card(NamedTuple):
    """A task on the board."""

    label: str
    attempts: int
    """How often it has been started."""
    what: str
    """Its tuple."""
    since: float
    """The moment at which it came into its state."""


class BoardColumn(NamedTuple):
    """The tasks that are in one state, those that came last."""

    state: str
    cards: list[Card]
    size: int
    """How many tasks there are, also those that ``cards`` does not hold."""
    most: int
    """The most there are in the whole run, so that room is kept for them."""


class RestartLine(NamedTuple):
    """The restarts of one supervisor."""

    supervisor: str
    beads: list[Mark]
    """A mark for each restart; its word says who was restarted, its kind is "restart"."""
    size: int
    """How many restarts there were, also those that have no bead because there are too many."""
    gave_up: Mark | None
    """The last time that it gave up; the word says because of whom. None if it never did."""
    limit: int | None
    """How many restarts it had made within its period when it gave up, which is the most it makes."""


class Part(NamedTuple):
    """A stretch of time in which a breaker was in one state: "closed", "open" or "half open"."""

    begin: float
    end: float
    word: str


class BreakerLine(NamedTuple):
    """The states of one breaker over the time so far."""

    name: str
    parts: list[Part]
    now: str
    opened: int
    """How often it has opened."""


class _Seen(NamedTuple):
    """What is known of a task so far."""

    state: str
    card: Card
    space: str
    """Where it was written last. What is done elsewhere with a copy of it does not count."""
    is_stated: bool
    """Whether its tuple names its state."""
    number: int
    """The number of the event that brought it there."""


class ProgressHistory:
    """What a trace tells of tasks, restarts and breakers, ready to be asked for any moment.

    >>> progress = ProgressHistory()
    >>> progress.read(Event(0, 1.0, "main", "write", "tasks", ("task", 7)), 0)
    >>> progress.read(Event(1, 2.0, "w1", "take", "tasks", ("task", 7)), 1)
    >>> [(column.state, column.size) for column in progress.board_after(2) if column.size]
    [('running', 1)]
    """

    def __init__(self) -> None:
        self._tasks: dict[str, _Seen] = {}  # by the text of what they are known by
        self._columns: dict[str, Stays[Card]] = {state: Stays() for state in TASK_STATES}
        self._restarts: dict[str, list[Mark]] = {}  # by supervisor
        self._surrenders: dict[str, list[Mark]] = {}
        self._limits: dict[str, int] = {}
        self._changes: dict[str, list[Mark]] = {}  # by breaker

    def read(self, event: Event, number: int) -> None:
        """Take note of the next event."""
        fields = event.fields
        if event.kind in BREAKER_WORDS:
            name = _name(fields[0]) if fields else event.actor
            self._changes.setdefault(name, []).append(Mark(event.time, event.kind, event.actor, number))
        elif event.kind in ("restart", "give_up"):
            self._read_supervisor(event, number)
        elif len(fields) > 1 and _is_word(fields[0], "task"):
            self._read_task(event, number)
        elif len(fields) > 1 and _is_word(fields[0], "result") and event.kind in ("write", "replace"):
            self._read_result(event, number)

    # ------------------------------------------------------------------------------------------------
    # Questions

    def board_after(self, number: int) -> list[BoardColumn]:
        """Return the columns of the board after ``number`` events; none if there is no task in the run."""
        if not any(stays.most for stays in self._columns.values()):
            return []
        return [
            BoardColumn(state, stays.after(number, MOST_CARDS), stays.size_after(number), stays.most)
            for state, stays in self._columns.items()
        ]

    def restarts_after(self, number: int, slot: float) -> list[RestartLine]:
        """Return the restarts of each supervisor; if they are many, one bead for each ``slot`` seconds."""
        lines = []
        for supervisor, marks in self._restarts.items():
            beads = _until(marks, number)
            surrenders = _until(self._surrenders[supervisor], number)
            gave_up = surrenders[-1] if surrenders else None
            limit = self._limits.get(supervisor) if surrenders else None
            shown = beads if len(beads) <= MOST_MARKS else spread(beads, slot)
            lines.append(RestartLine(supervisor, shown, len(beads), gave_up, limit))
        return lines

    def breakers_after(self, number: int, begin: float, now: float, slot: float) -> list[BreakerLine]:
        """Return the states of each breaker from ``begin`` to ``now``.

        If they are many, only the last of each ``slot`` seconds is kept.
        """
        lines = []
        for name, marks in self._changes.items():
            changes = _until(marks, number)
            opened = sum(change.kind == "open" for change in changes)
            if len(changes) > MOST_MARKS:
                changes = list({int(change.time / slot): change for change in changes}.values())
            words = [BEFORE[marks[0].kind], *(BREAKER_WORDS[change.kind] for change in changes)]
            moments = [begin, *(change.time for change in changes)]
            parts = [
                Part(start, end, word)
                for start, end, word in zip(moments, moments[1:], words, strict=False)
                if start < end
            ]
            parts.append(Part(moments[-1], now, words[-1]))
            lines.append(BreakerLine(name, parts, words[-1], opened))
        return lines

    # ------------------------------------------------------------------------------------------------
    # Reading

    def _read_supervisor(self, event: Event, number: int) -> None:
        if "by" not in event.detail:
            return
        by = _name(event.detail["by"])
        restarts = self._restarts.setdefault(by, [])
        surrenders = self._surrenders.setdefault(by, [])
        marks = restarts if event.kind == "restart" else surrenders
        marks.append(Mark(event.time, event.kind, event.actor, number))
        limit = event.detail.get("restarts")
        if isinstance(limit, int):
            self._limits[by] = limit

    def _read_task(self, event: Event, number: int) -> None:
        key = tuple_text(event.fields[1:2])
        seen = self._tasks.get(key)
        stated = task_state(event.fields[1:3])
        if event.kind in ("write", "replace"):
            is_dead_letter = seen is not None and seen.state == "dead" and seen.number == number - 1
            if stated or not is_dead_letter:  # `bury` writes the letter in the same step
                self._move(key, event, stated or "queued", number)
        elif seen is not None and seen.space != event.space:
            return
        elif event.kind == "expire":
            self._remove(key, number)
        elif event.kind == "take" and stated:
            return  # whoever takes a tuple that names a state writes the next one
        elif event.kind in _STATES_AFTER:
            self._move(key, event, _STATES_AFTER[event.kind], number)

    def _read_result(self, event: Event, number: int) -> None:
        key = tuple_text(event.fields[1:2])
        seen = self._tasks.get(key)
        if seen is not None and not seen.is_stated and seen.state != "dead":
            state = "failed" if task_state(event.fields) == "failed" else "completed"
            card = seen.card._replace(since=event.time)
            self._put(key, seen._replace(state=state, card=card, number=number))

    def _move(self, key: str, event: Event, state: str, number: int) -> None:
        """Move the card of a task to the column of ``state``, or make it."""
        card = Card(
            label=shortened(_name(event.fields[1]), LONGEST_LABEL),
            attempts=_attempts(event, state, self._tasks.get(key)),
            what=tuple_text(event.fields),
            since=event.time,
        )
        is_stated = bool(task_state(event.fields[1:3]))
        self._put(key, _Seen(state, card, event.space, is_stated, number))

    def _put(self, key: str, seen: _Seen) -> None:
        self._remove(key, seen.number)
        self._tasks[key] = seen
        self._columns[seen.state].note(key, seen.card, True, seen.number)

    def _remove(self, key: str, number: int) -> None:
        seen = self._tasks.pop(key, None)
        if seen is not None:
            self._columns[seen.state].note(key, seen.card, False, number)


_STATES_AFTER = {
    "take": "running",
    "claim": "running",
    "complete": "completed",
    "bury": "dead",
    "release": "queued",
    "lapse": "queued",
}
"""The state that a task is in after something has happened to its tuple."""


def _attempts(event: Event, state: str, seen: _Seen | None) -> int:
    """Return how often a task has been started: as its tuple or its claim says, or else counted."""
    told = event.detail.get("attempt")
    if len(event.fields) == FIELDS_OF_A_TASK:
        told = event.fields[ATTEMPT]
    if type(told) is int:
        return max(0, told)
    before = seen.card.attempts if seen is not None else 0
    if event.kind == "release":
        return max(0, before - 1)  # the taker was cancelled before it had the tuple
    is_start = state == "running" and (seen is None or seen.state != "running")
    return before + is_start


def _is_word(field: Any, word: str) -> bool:
    """Tell whether a field is this word; a field may be anything, also what cannot be compared."""
    return isinstance(field, str) and field == word


def _name(field: Any) -> str:
    """Return what a task, a supervisor or a breaker is called; a name may be anything."""
    return field if isinstance(field, str) else tuple_text((field,))[1:-2]


def _until(marks: list[Mark], number: int) -> list[Mark]:
    return marks[: bisect_left(marks, number, key=lambda mark: mark.number)]
