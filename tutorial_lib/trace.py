"""Trace: the diary of a run, and who wrote into it.

Every component appends what it does to the current trace; pictures, checks and metrics read only that.

=======  ==================================================================================
event    one thing that happened: when, who did it, what kind, in which space, to which tuple
trace    the list of events, in the order in which they happened
actor    the name that an event is signed with: ``w1``, ``monitor``, ``main``
life     one stretch of an actor's existence; a crash ends the life, a restart begins another
=======  ==================================================================================

>>> with Trace() as trace:
...     note("the shop opens")
>>> [(event.kind, event.actor, event.detail["text"]) for event in trace]
[('note', 'main', 'the shop opens')]
"""

from __future__ import annotations

import asyncio
import json
from asyncio import current_task  # by its bare name, as most operations call it
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, Token
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, overload

from tutorial_lib.patterns import pattern_text, safe_repr, shown

__all__ = ["Event", "Trace", "actor", "current_actor", "current_trace", "note"]


class Event(NamedTuple):
    """One thing that happened.

    ``time`` is the running loop's clock in seconds: virtual time under `simulate`. ``space`` is the name
    of the space, or ``""`` where none is concerned. ``fields`` is the tuple concerned, ``()`` if none.
    ``detail`` holds what only this kind of event has; never change it.
    """

    seq: int
    time: float
    actor: str
    kind: str
    space: str = ""
    fields: tuple[Any, ...] = ()
    detail: dict[str, Any] = {}  # noqa: RUF012  (shared by all events without details, and never written to)

    def __str__(self) -> str:
        """Return the event as one line, the way a learner writes tuples and patterns."""
        parts = [shown(self.fields)] if self.fields else []
        for key, value in self.detail.items():
            if key == "pattern" and isinstance(value, tuple):  # in a note it may be anything
                parts.append(pattern_text(value))
            elif key in ("operation", "why") and isinstance(value, str):
                parts.append(value)
            else:
                parts.append(f"{key}={shown(value)}")
        what = " ".join(parts)
        where = f"  in {self.space}" if self.space else ""
        return f"{self.time:10.3f}  {self.actor:<10} {self.kind:<8} {what}{where}".rstrip()


# ---------------------------------------------------------------------------------------------------
# Who: the actor of an event


class Life:
    """One stretch of an actor's existence.

    Everything an actor starts inherits its life through the context. A crash sets ``alive`` to False, and
    the virtual loop then drops whatever belongs to that life. ``chosen`` tells a name set with `actor`,
    which holds for everything started inside, from a task's own name, which the next named task replaces.
    """

    __slots__ = ("alive", "chosen", "mourners", "name")

    def __init__(self, name: str, *, chosen: bool = False) -> None:
        self.name = name
        self.chosen = chosen
        self.alive = True
        self.mourners: list[Callable[[], object]] = []  # called when a crash ends this life

    def __repr__(self) -> str:
        return f"<Life {self.name}{'' if self.alive else ', over'}>"

    def end(self) -> None:
        """Crash. Its owner is told here, since nothing that belongs to this life ever runs again."""
        self.alive = False
        for mourner in self.mourners:
            mourner()


class NamesItself:
    """Marks the tasks of a loop that gives each named task its life when it is made."""


life_variable: ContextVar[Life | None] = ContextVar("life", default=None)
life_now = life_variable.get  # bound once: to look it up each time takes longer than the call itself


@contextmanager
def actor(name: str) -> Iterator[None]:
    """Sign everything inside, and every task started inside, with ``name``.

    Raises `TypeError` unless ``name`` is text, and `ValueError` if it is empty.

    >>> with actor("w1"):
    ...     current_actor()
    'w1'
    """
    if not isinstance(name, str):
        raise TypeError(f"actor() needs a name as text, got {name!r}. Write actor('w1').")
    if not name:
        raise ValueError("actor() needs a name of at least one letter. Write actor('w1').")
    token = life_variable.set(Life(name, chosen=True))
    try:
        yield
    finally:
        life_variable.reset(token)


def current_actor() -> str:
    """Return the name that an event recorded now is signed with.

    It is what `actor` or a crew set; else the explicit ``name=`` of the current task; else that of the
    task that started it; else ``main``. Automatic names such as ``Task-7`` never count.

    >>> current_actor()
    'main'
    """
    return current_life().name


_main = Life("main")


def current_life(loop: asyncio.AbstractEventLoop | None = None) -> Life:
    """Return the life that whatever runs now belongs to. It is found sooner if the running loop is given."""
    life = life_now()
    if life is not None and life.chosen:
        return life
    try:
        task = current_task(loop)
    except RuntimeError:  # no loop runs in this thread
        task = None
    if task is not None and not isinstance(task, NamesItself):
        name = task.get_name()
        if (life is None or life.name != name) and not _is_automatic(name):
            # An ordinary loop tells nobody when a task gets its name. Remembered here, so that the tasks
            # that this one starts inherit it.
            life = Life(name)
            life_variable.set(life)
    return life or _main


@lru_cache  # asked for every event
def _is_automatic(name: str) -> bool:
    return name.startswith("Task-") and name[5:].isdigit()


def life_in(context: Context) -> Life | None:
    """Return the life that code running in ``context`` belongs to, or None."""
    return context.get(life_variable)


def begin_life(name: str) -> None:
    """Give the current context a life of its own, unless a chosen name holds already.

    Called in the context of a new task that was given a name.
    """
    life = life_variable.get()
    if not (life is not None and life.chosen) and not _is_automatic(name):
        life_variable.set(Life(name))


# ---------------------------------------------------------------------------------------------------
# What: the trace


class Trace:
    """A list of events. ``with Trace() as trace:`` makes it the current one.

    Reads like a list: ``len(trace)``, ``trace[3]``, ``for event in trace``.

    >>> trace = Trace()
    >>> trace.record("note", actor="w1", time=2.0)
    Event(seq=0, time=2.0, actor='w1', kind='note', space='', fields=(), detail={})
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)
        self._frozen = False
        self._tokens: list[Token[Trace | None]] = []
        self.on_event: Callable[[Event], None] | None = None

    def __enter__(self) -> Trace:
        self._tokens.append(trace_variable.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        trace_variable.reset(self._tokens.pop())

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        return self._events[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self._events == other._events

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Trace, {len(self)} events>"

    def record(
        self,
        kind: str,
        *,
        actor: str | None = None,
        space: str = "",
        fields: tuple[Any, ...] = (),
        detail: dict[str, Any] | None = None,
        time: float | None = None,
    ) -> Event:
        """Append an event and return it.

        ``actor`` is the current actor if left out, ``time`` the running loop's clock in seconds (0 where
        no loop runs). A frozen trace stays as it is: the event is returned, but not kept.
        """
        event = Event(
            len(self._events),
            _now() if time is None else time,
            current_actor() if actor is None else actor,
            kind,
            space,
            fields,
            {} if detail is None else detail,
        )
        if not self._frozen:
            self._events.append(event)
            if self.on_event is not None:
                self.on_event(event)
        return event

    def freeze(self) -> None:
        """Keep no further events: the run is over, and what is tidied up now is no part of it."""
        self._frozen = True

    def of(self, *kinds: str, actor: str | None = None, space: str | None = None) -> list[Event]:
        """Return the events of these kinds (all, if none is given), of this actor, in this space."""
        return [
            event
            for event in self._events
            if (not kinds or event.kind in kinds)
            and (actor is None or event.actor == actor)
            and (space is None or event.space == space)
        ]

    def text(self) -> str:
        """Return the trace as text, an event a line."""
        return "\n".join(str(event) for event in self._events)

    def save(self, path: str | Path) -> None:
        """Write the trace to ``path`` as JSON lines, UTF-8. What JSON cannot hold is kept as its repr."""
        # errors=...: half of a surrogate pair may stand in a text, and is a value like any other
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            for event in self._events:
                file.write(json.dumps(_to_json(list(event)), ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace that `save` wrote. Tuples come back as tuples.

        Raises `ValueError` naming the line that is not an event.
        """
        events = []
        with open(path, encoding="utf-8", errors="surrogatepass") as file:
            for number, line in enumerate(file, start=1):
                try:
                    event = _from_json(json.loads(line))
                except (ValueError, TypeError, RecursionError):
                    event = None
                if not _is_event(event):
                    raise ValueError(
                        f"{path}, line {number} is not an event that Trace.save wrote: {shown(line)}"
                    )
                events.append(Event(*event))
        return cls(events)


trace_variable: ContextVar[Trace | None] = ContextVar("trace", default=None)

trace_now = trace_variable.get
"""`current_trace` for the operations of a space, each of which asks: bound once, as `life_now` is."""


def current_trace() -> Trace | None:
    """Return the trace that events go to now, or None if nothing is recorded."""
    return trace_variable.get()


def note(text: str, **detail: Any) -> None:
    """Write a remark of your own into the current trace. Without a current trace this does nothing.

    >>> with Trace() as trace:
    ...     note("the lift is stuck", floor=3)
    >>> trace[0].detail
    {'text': 'the lift is stuck', 'floor': 3}
    """
    trace = trace_variable.get()
    if trace is not None:
        trace.record("note", detail={"text": text, **detail})


def _now() -> float:
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return 0.0


# JSON has no tuples, and no nan or infinity. A tuple is written as {"tuple": [...]}, such a number as
# {"float": "nan"}, and a dictionary whose keys are not all text, or that could be taken for such a mark, as
# {"dict": [[key, value], ...]}.

_MARKS = ({"tuple"}, {"float"}, {"dict"})

LONGEST_NUMBER = 1024  # bits; Python refuses to write much longer numbers in decimal


def _to_json(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value) is int and value.bit_length() <= LONGEST_NUMBER:
        return value
    if type(value) is float:
        return value if isfinite(value) else {"float": repr(value)}
    if isinstance(value, tuple):
        return {"tuple": [_to_json(item) for item in value]}
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and set(value) not in _MARKS:
            return {key: _to_json(item) for key, item in value.items()}
        return {"dict": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    return safe_repr(value)


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"tuple"}:
            return tuple(_from_json(item) for item in value["tuple"])
        if set(value) == {"float"}:
            return float(value["float"])
        if set(value) == {"dict"}:
            return {_from_json(key): _from_json(item) for key, item in value["dict"]}
        return {key: _from_json(item) for key, item in value.items()}
    return value


def _is_event(value: Any) -> bool:
    """Tell whether this is the list of an event's parts, as far as their kinds show it."""
    kinds: tuple[Any, ...] = (int, (int, float), str, str, str, tuple, dict)
    return (
        isinstance(value, list)
        and len(value) == len(kinds)
        and all(isinstance(part, kind) for part, kind in zip(value, kinds, strict=True))
    )
