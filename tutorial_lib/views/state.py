"""State: what is true after an event.

A state starts empty and is told one event after the other. At any moment it knows which tuples are in which
space, who waits for what, and what every actor has done. It holds only what is true now, so it stays small
however long it runs: the live view needs nothing else.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from tutorial_lib.claims import REFUSED
from tutorial_lib.trace import Event
from tutorial_lib.views.words import kind_label, pattern_words, task_label, tuple_text

__all__ = ["NOT_SIGNS_OF_LIFE", "ActorState", "Change", "Claimed", "SpaceState", "State", "Stored", "Waiting"]

TAKEN_REMEMBERED = 100
"""How many tuples that were taken last are remembered: a taker that is cancelled puts one of them back."""

NOT_SIGNS_OF_LIFE = frozenset(
    ["leave", "lapse", "expire", "release", "crash", "dismiss", "give_up", "suspect", "clear", "dead"]
)
"""Events that are signed with an actor's name, but do not show that it lives."""


class Stored(NamedTuple):
    """A tuple in a space."""

    order: int  # the lower, the older
    text: str
    kind: str
    since: float


class Claimed(NamedTuple):
    """A tuple in a claim."""

    token: int
    holder: str
    stored: Stored


class Waiting(NamedTuple):
    """Somebody who waits in an operation."""

    number: int  # the order of arrival
    actor: str
    operation: str
    pattern: str


class Change(NamedTuple):
    """A tuple, a claim or a waiter that came to a space or went from it."""

    space: str
    item: Stored | Claimed | Waiting
    came: bool


class ActorState(NamedTuple):
    """What one actor has done so far, and how it is."""

    done: int = 0  # pieces of work that were finished
    failed: int = 0
    refused: int = 0  # finished, but too late
    taken: int = 0  # tuples that it took or claimed
    written: int = 0
    life: str = ""  # "crashed", "dismissed", "given up", or "" while it lives
    hangs_until: float = 0.0
    suspicion: str = ""  # "suspected" or "declared dead" by a monitor
    finished: str = ""  # the label of what it finished last, until it starts something else


class SpaceState:
    """What is in one space."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stored: dict[int, Stored] = {}  # by order
        self.claimed: dict[int, Claimed] = {}  # by token
        self.waiting: dict[int, Waiting] = {}  # by number
        self.latest = -1  # order of the tuple that came last
        self.closed = False
        self._orders: dict[str, list[int]] = {}  # text -> the orders of the tuples written so, a heap
        self._taken: dict[tuple[str, str], int] = {}  # taker, text -> order, of what was taken last

    def put(self, stored: Stored) -> None:
        """Put a tuple into the space."""
        self.stored[stored.order] = stored
        self.latest = stored.order
        heapq.heappush(self._orders.setdefault(stored.text, []), stored.order)

    def remove(self, text: str, taker: str = "") -> Stored | None:
        """Remove the oldest tuple that is written like this. None if it was there before the trace began."""
        orders = self._orders.get(text)
        if orders is None:
            return None
        order = heapq.heappop(orders)
        if not orders:
            del self._orders[text]
        self._taken[taker, text] = order
        if len(self._taken) > TAKEN_REMEMBERED:
            del self._taken[next(iter(self._taken))]
        return self.stored.pop(order)

    def old_place(self, text: str, taker: str) -> int | None:
        """Return the order of a tuple that ``taker`` has just taken, or None if that is not known."""
        return self._taken.pop((taker, text), None)


class State:
    """What is true after the events so far.

    >>> state = State()
    >>> changes = state.apply(Event(0, 1.0, "main", "write", "tasks", ("task", 7)))
    >>> [stored.text for stored in state.spaces["tasks"].stored.values()]
    ["('task', 7)"]
    """

    def __init__(self) -> None:
        self.spaces: dict[str, SpaceState] = {}
        self.actors: dict[str, ActorState] = {}
        self._numbers = count()

    def apply(self, event: Event) -> list[Change]:
        """Take note of the next event. Return what came to a space or went from it."""
        actor = self.actors.get(event.actor)
        if actor is None:
            actor = self.actors[event.actor] = ActorState()
        if actor.life and event.kind not in NOT_SIGNS_OF_LIFE:
            self.actors[event.actor] = actor._replace(life="", suspicion="")  # it was started again
        change = _CHANGES.get(event.kind)
        return [] if change is None else change(self, event)

    def space(self, name: str) -> SpaceState:
        """Return what is known of this space."""
        space = self.spaces.get(name)
        if space is None:
            space = self.spaces[name] = SpaceState(name)
        return space

    # ------------------------------------------------------------------------------------------------
    # Tuples

    def _write(self, event: Event) -> list[Change]:
        actor = self.actors[event.actor]
        self.actors[event.actor] = actor._replace(written=actor.written + 1)
        stored = self._new(event)
        self.space(event.space).put(stored)
        return [Change(event.space, stored, True)]

    def _new(self, event: Event) -> Stored:
        return Stored(next(self._numbers), tuple_text(event.fields), kind_label(event.fields), event.time)

    def _replace(self, event: Event) -> list[Change]:
        old = self.space(event.space).remove(tuple_text(tuple(event.detail.get("old", ()))))
        gone = [Change(event.space, old, False)] if old is not None else []
        return gone + self._write(event)

    def _take(self, event: Event) -> list[Change]:
        actor = self.actors[event.actor]
        self.actors[event.actor] = actor._replace(taken=actor.taken + 1)
        return self._remove(event)

    def _remove(self, event: Event) -> list[Change]:
        stored = self.space(event.space).remove(tuple_text(event.fields), event.actor)
        return [Change(event.space, stored, False)] if stored is not None else []

    def _claim(self, event: Event) -> list[Change]:
        gone = self._take(event)
        stored = gone[0].item if gone else None
        if not isinstance(stored, Stored):
            stored = self._new(event)  # it was there before the trace began
        claimed = Claimed(event.detail.get("token", -1), event.actor, stored)
        self.space(event.space).claimed[claimed.token] = claimed
        return [*gone, Change(event.space, claimed, True)]

    def _end_claim(self, event: Event) -> list[Change]:
        claimed = self.space(event.space).claimed.pop(event.detail.get("token", -1), None)
        return [Change(event.space, claimed, False)] if claimed is not None else []

    def _give_back(self, event: Event) -> list[Change]:
        space = self.space(event.space)
        gone = self._end_claim(event)
        claimed = gone[0].item if gone else None
        if isinstance(claimed, Claimed):
            stored = claimed.stored
        else:  # a take that was cancelled before it had the tuple
            actor = self.actors[event.actor]
            self.actors[event.actor] = actor._replace(taken=max(0, actor.taken - 1))
            stored = self._new(event)
            order = space.old_place(stored.text, event.actor)
            stored = stored if order is None else stored._replace(order=order)
        space.put(stored)
        return [*gone, Change(event.space, stored, True)]

    def _wait(self, event: Event) -> list[Change]:
        waiting = _waiting(event, next(self._numbers))
        self.space(event.space).waiting[waiting.number] = waiting
        return [Change(event.space, waiting, True)]

    def _leave(self, event: Event) -> list[Change]:
        waiting = self.space(event.space).waiting
        leaver = _waiting(event, 0)[1:]
        gone = next((one for one in waiting.values() if one[1:] == leaver), None)
        if gone is None:
            return []
        del waiting[gone.number]
        return [Change(event.space, gone, False)]

    def _shut(self, event: Event) -> list[Change]:
        self.space(event.space).closed = True
        return []

    # ------------------------------------------------------------------------------------------------
    # Actors

    def _start(self, event: Event) -> list[Change]:
        self.actors[event.actor] = self.actors[event.actor]._replace(finished="")
        return []

    def _finish(self, event: Event) -> list[Change]:
        actor = self.actors[event.actor]
        self.actors[event.actor] = actor._replace(done=actor.done + 1, finished=task_label(event.fields))
        return []

    def _note(self, event: Event) -> list[Change]:
        """Take back what an actor has done if it is told that it came too late."""
        actor = self.actors[event.actor]
        is_refusal = event.detail.get("text") == REFUSED and actor.finished != ""
        if is_refusal and actor.finished == task_label(event.fields):
            self.actors[event.actor] = actor._replace(
                done=actor.done - 1, refused=actor.refused + 1, finished=""
            )
        return []

    def _fail(self, event: Event) -> list[Change]:
        if event.detail.get("reason") != "cancelled":
            actor = self.actors[event.actor]
            self.actors[event.actor] = actor._replace(failed=actor.failed + 1)
        return []

    def _hang(self, event: Event) -> list[Change]:
        until = event.time + event.detail.get("seconds", float("inf"))
        self.actors[event.actor] = self.actors[event.actor]._replace(hangs_until=until)
        return []

    def _end_life(self, event: Event) -> list[Change]:
        life = {"crash": "crashed", "dismiss": "dismissed", "give_up": "given up"}[event.kind]
        self.actors[event.actor] = self.actors[event.actor]._replace(life=life)
        return []

    def _begin_life(self, event: Event) -> list[Change]:
        self.actors[event.actor] = self.actors[event.actor]._replace(suspicion="")
        return []

    def _suspect(self, event: Event) -> list[Change]:
        suspicion = {"suspect": "suspected", "dead": "declared dead", "clear": ""}[event.kind]
        self.actors[event.actor] = self.actors[event.actor]._replace(suspicion=suspicion)
        return []


def _waiting(event: Event, number: int) -> Waiting:
    pattern = pattern_words(tuple(event.detail.get("pattern", ())))
    return Waiting(number, event.actor, event.detail.get("operation", "take"), pattern)


_CHANGES: dict[str, Callable[[State, Event], list[Change]]] = {
    "write": State._write,
    "take": State._take,
    "replace": State._replace,
    "expire": State._remove,
    "claim": State._claim,
    "complete": State._end_claim,
    "bury": State._end_claim,
    "release": State._give_back,
    "lapse": State._give_back,
    "wait": State._wait,
    "leave": State._leave,
    "shut": State._shut,
    "start": State._start,
    "finish": State._finish,
    "fail": State._fail,
    "note": State._note,
    "hang": State._hang,
    "crash": State._end_life,
    "dismiss": State._end_life,
    "give_up": State._end_life,
    "hire": State._begin_life,
    "restart": State._begin_life,
    "suspect": State._suspect,
    "dead": State._suspect,
    "clear": State._suspect,
}
