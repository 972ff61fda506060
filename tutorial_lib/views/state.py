"""State: what is true after an event.

A state starts empty, is told one event after the other, and knows at any moment which tuples are in which
space, who waits for what, and what every actor has done. It is small, so that it can be copied and kept.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from tutorial_lib.trace import Event
from tutorial_lib.views.words import kind_label, pattern_words, tuple_text

__all__ = ["ActorState", "Claimed", "SpaceState", "State", "Stored", "Waiting", "beat_of"]

LEFT_REMEMBERED = 100
"""How many tuples that left a space last are remembered: a taker that is cancelled puts one of them back."""

NOT_SIGNS_OF_LIFE = frozenset(["leave", "lapse", "expire", "release", "crash", "suspect", "clear", "dead"])
"""Events that are signed with an actor's name, but happen also when it has crashed."""


class Stored(NamedTuple):
    """A tuple in a space."""

    order: int  # the lower, the older
    text: str
    kind: str
    since: float


class Claimed(NamedTuple):
    """A tuple in a claim."""

    stored: Stored
    holder: str


class Waiting(NamedTuple):
    """Somebody who waits in an operation."""

    actor: str
    operation: str
    pattern: str


@dataclass
class SpaceState:
    """What is in one space."""

    name: str
    stored: dict[int, Stored] = field(default_factory=dict)  # by order
    orders: dict[str, list[int]] = field(default_factory=dict)  # text -> the orders of equal tuples
    left: dict[str, int] = field(default_factory=dict)  # text -> order, of the tuples that left last
    claimed: dict[int, Claimed] = field(default_factory=dict)  # by token
    waiting: list[Waiting] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # kind of tuple -> how many
    newest: int = -1  # order of the tuple that was written last
    written: int = 0  # how many tuples in all
    closed: bool = False

    def copy(self) -> SpaceState:
        """Return a copy that does not change with this one."""
        twin = copy.copy(self)
        twin.stored, twin.left = dict(self.stored), dict(self.left)
        twin.orders = {text: list(orders) for text, orders in self.orders.items()}
        twin.claimed, twin.waiting, twin.counts = dict(self.claimed), list(self.waiting), dict(self.counts)
        return twin

    def put(self, item: Stored) -> None:
        """Put a tuple into the space."""
        self.stored[item.order] = item
        self.orders.setdefault(item.text, []).append(item.order)
        self.counts[item.kind] = self.counts.get(item.kind, 0) + 1

    def remove(self, text: str) -> Stored | None:
        """Remove the oldest tuple that is written like this. None if it was there before the trace began."""
        orders = self.orders.get(text)
        if not orders:
            return None
        order = min(orders) if len(orders) > 1 else orders[0]
        orders.remove(order)
        if not orders:
            del self.orders[text]
        item = self.stored.pop(order)
        self.counts[item.kind] -= 1
        self.left[text] = order
        if len(self.left) > LEFT_REMEMBERED:
            del self.left[next(iter(self.left))]
        return item


@dataclass
class ActorState:
    """What one actor has done so far, and how it is."""

    name: str
    done: int = 0  # pieces of work that were finished
    failed: int = 0
    taken: int = 0  # tuples that it took or claimed
    written: int = 0
    life: str = ""  # "crashed", "dismissed", "given up", or "" while it lives
    hangs_until: float = 0.0
    suspicion: str = ""  # "suspected" or "declared dead" by a monitor


class State:
    """What is true after the events so far.

    >>> state = State()
    >>> state.apply(Event(0, 1.0, "main", "write", "tasks", ("task", 7)))
    >>> [item.text for item in state.spaces["tasks"].stored.values()]
    ["('task', 7)"]
    """

    def __init__(self) -> None:
        self.spaces: dict[str, SpaceState] = {}
        self.actors: dict[str, ActorState] = {}
        self.touched: SpaceState | None = None  # the space whose tuples the last event changed
        self._orders = count()

    def copy(self) -> State:
        """Return a copy that does not change with this one."""
        twin = State()
        twin.spaces = {name: space.copy() for name, space in self.spaces.items()}
        twin.actors = {name: copy.copy(actor) for name, actor in self.actors.items()}
        twin._orders = count(next(copy.copy(self._orders)))
        return twin

    def size(self) -> int:
        """Return how much there is to copy."""
        return len(self.actors) + sum(len(space.stored) + len(space.left) for space in self.spaces.values())

    def actor(self, name: str) -> ActorState:
        """Return what is known of this actor."""
        if name not in self.actors:
            self.actors[name] = ActorState(name)
        return self.actors[name]

    def space(self, name: str) -> SpaceState:
        """Return what is known of this space."""
        if name not in self.spaces:
            self.spaces[name] = SpaceState(name)
        return self.spaces[name]

    def apply(self, event: Event) -> None:
        """Take note of the next event."""
        self.touched = None
        change = _CHANGES.get(event.kind)
        if change is not None:
            change(self, event)
        actor = self.actor(event.actor)
        if actor.life and event.kind not in NOT_SIGNS_OF_LIFE and event.kind not in ("dismiss", "give_up"):
            actor.life = ""  # somebody has started it again
        member = beat_of(event)
        if member is not None:
            self.actor(member).suspicion = ""

    # ------------------------------------------------------------------------------------------------
    # Tuples

    def _write(self, event: Event) -> None:
        self.actor(event.actor).written += 1
        self._put_new(event)

    def _put_new(self, event: Event) -> None:
        space = self.touched = self.space(event.space)
        space.newest = next(self._orders)
        space.written += 1
        space.put(Stored(space.newest, tuple_text(event.fields), kind_label(event.fields), event.time))

    def _take(self, event: Event) -> None:
        self.actor(event.actor).taken += 1
        self._remove(event)

    def _remove(self, event: Event) -> None:
        self.touched = self.space(event.space)
        self.touched.remove(tuple_text(event.fields))

    def _replace(self, event: Event) -> None:
        self.actor(event.actor).written += 1
        self.space(event.space).remove(tuple_text(tuple(event.detail.get("old", ()))))
        self._put_new(event)

    def _claim(self, event: Event) -> None:
        self.actor(event.actor).taken += 1
        space = self.touched = self.space(event.space)
        item = space.remove(tuple_text(event.fields)) or self._unknown(event)
        space.claimed[event.detail.get("token", 0)] = Claimed(item, event.actor)

    def _end_claim(self, event: Event) -> None:
        self.space(event.space).claimed.pop(event.detail.get("token", 0), None)

    def _give_back(self, event: Event) -> None:
        space = self.touched = self.space(event.space)
        claimed = space.claimed.pop(event.detail["token"], None) if "token" in event.detail else None
        if claimed is not None:
            space.put(claimed.stored)
            return
        self.actor(event.actor).taken -= 1  # it was cancelled before it had the tuple
        item = self._unknown(event)
        space.put(item._replace(order=space.left.pop(item.text, item.order)))

    def _unknown(self, event: Event) -> Stored:
        """Return a tuple that was in the space before the trace began."""
        return Stored(next(self._orders), tuple_text(event.fields), kind_label(event.fields), event.time)

    def _wait(self, event: Event) -> None:
        self.space(event.space).waiting.append(_waiting(event))

    def _leave(self, event: Event) -> None:
        waiting = self.space(event.space).waiting
        if (one := _waiting(event)) in waiting:
            waiting.remove(one)

    def _shut(self, event: Event) -> None:
        self.space(event.space).closed = True

    # ------------------------------------------------------------------------------------------------
    # Actors

    def _finish(self, event: Event) -> None:
        self.actor(event.actor).done += 1

    def _fail(self, event: Event) -> None:
        if event.detail.get("reason") != "cancelled":
            self.actor(event.actor).failed += 1

    def _hang(self, event: Event) -> None:
        self.actor(event.actor).hangs_until = event.time + event.detail.get("seconds", float("inf"))

    def _end_life(self, event: Event) -> None:
        self.actor(event.actor).life = _LIFE_WORDS[event.kind]

    def _suspect(self, event: Event) -> None:
        self.actor(event.actor).suspicion = _SUSPICIONS[event.kind]


_CHANGES: dict[str, Any] = {
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
    "finish": State._finish,
    "fail": State._fail,
    "hang": State._hang,
    "crash": State._end_life,
    "dismiss": State._end_life,
    "give_up": State._end_life,
    "suspect": State._suspect,
    "dead": State._suspect,
    "clear": State._suspect,
}
_LIFE_WORDS = {"crash": "crashed", "dismiss": "dismissed", "give_up": "given up"}
_SUSPICIONS = {"suspect": "suspected", "dead": "declared dead", "clear": ""}


def _waiting(event: Event) -> Waiting:
    detail = event.detail
    return Waiting(
        event.actor, detail.get("operation", "take"), pattern_words(tuple(detail.get("pattern", ())))
    )


def beat_of(event: Event) -> str | None:
    """Return whose heartbeat an event is, or None.

    A heartbeat is an event of its own, or a tuple ``("heartbeat", name, ...)`` that somebody writes.
    """
    if event.kind == "beat":
        return event.actor
    if event.kind in ("write", "replace") and len(event.fields) > 1 and event.fields[0] == "heartbeat":
        name = event.fields[1]
        return name if isinstance(name, str) and name else None
    return None
