"""Words: how values, tuples, times and events are written in a picture.

Names and tuples come from learners, so anything can be in them: markup, control characters, a megabyte of
text, an object whose ``repr`` raises. What leaves this module is short, printable and the same every time.
"""

from __future__ import annotations

import re
import reprlib
import unicodedata
from collections.abc import Iterable
from enum import Enum
from typing import Any

from tutorial_lib.trace import Event

__all__ = [
    "display_width",
    "joined",
    "kind_label",
    "name_and_number",
    "padded",
    "pattern_words",
    "printable",
    "sentence",
    "shortened",
    "task_label",
    "task_state",
    "tuple_text",
]

STATE_WORDS = frozenset(["queued", "running", "completed", "failed", "dead"])
"""The states of a task, which stand in its tuple."""

LONGEST_TEXT = 40  # letters of one field
LONGEST_TUPLE = 8  # fields: as many as a Task has
ATOMS = frozenset([int, float, bool, type(None)])
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
CLASS_IN_QUOTES = re.compile(r"\"?<class '(?:[\w.]*\.)?(\w+)'>\"?")


def printable(text: str) -> str:
    """Replace what cannot be shown, such as control characters and half emoji, by a dot.

    >>> printable("tab\\there")
    'tab·here'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)


def display_width(text: str) -> int:
    """Return how many columns ``text`` takes in a terminal: Japanese letters take two each.

    >>> display_width("w1"), display_width("作業")
    (2, 4)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    marks = sum(unicodedata.combining(c) != 0 or unicodedata.category(c) == "Mn" for c in text)
    return len(text) + wide - marks


def shortened(text: str, columns: int) -> str:
    """Cut ``text`` to ``columns``, with an ellipsis in place of the rest.

    >>> shortened("a very long name", 7)
    'a very…'
    """
    text = printable(text[: 4 * columns + 4])  # no more than can ever be shown, however long it is
    if display_width(text) <= columns:
        return text
    while text and display_width(text) > columns - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def name_and_number(name: str) -> tuple[str, int]:
    """Split a name from the number at its end, to sort by; -1 if there is none.

    >>> sorted(["w10", "w2", "main"], key=name_and_number)
    ['main', 'w2', 'w10']
    """
    digits = re.search(r"[0-9]{1,15}$", name)
    return (name[: digits.start()], int(digits.group())) if digits else (name, -1)


def padded(text: str, columns: int) -> str:
    """Fill ``text`` with spaces on the right, or shorten it, to exactly ``columns``."""
    text = shortened(text, columns)
    return text + " " * (columns - display_width(text))


def joined(parts: Iterable[str], most: int = 4) -> str:
    """List ``parts`` in a sentence; those beyond the first few are only counted.

    >>> joined(["w1", "w2", "w3"]), joined(["a", "b", "c", "d"], most=2)
    ('w1, w2 and w3', 'a, b and 2 more')
    """
    parts = list(parts)
    if len(parts) > most:
        parts = [*parts[:most], f"{len(parts) - most} more"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def tuple_text(fields: tuple[Any, ...]) -> str:
    """Write a tuple as Python does, but shortened, and without addresses in memory.

    >>> tuple_text(("task", 7)), tuple_text(("data", "x" * 1000))
    ("('task', 7)", "('data', 'xxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxx')")
    """
    fields = tuple(fields)  # a named tuple is written like any other
    is_plain = len(fields) <= LONGEST_TUPLE and all(
        type(field) in ATOMS or (type(field) is str and len(field) <= LONGEST_TEXT) for field in fields
    )
    try:
        # The first gives the same text where all is plain, but ten times as fast.
        return repr(fields) if is_plain else printable(ADDRESS.sub("", _brief.repr(fields)))
    except Exception:  # a learner's own __repr__ may raise, and that of a number of over 4,300 digits does
        return f"<a tuple of {len(fields)} fields>"


class _Brief(reprlib.Repr):
    """`repr` within limits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = LONGEST_TEXT
        self.maxtuple = LONGEST_TUPLE
        self.maxlevel = 4

    def repr1(self, x: Any, level: int) -> str:
        return super().repr1(x.value if isinstance(x, Enum) else x, level)


_brief = _Brief()


def pattern_words(pattern: tuple[Any, ...]) -> str:
    """Write a pattern the way a learner types it; one that comes from a saved trace, too.

    >>> from tutorial_lib.patterns import ANY
    >>> pattern_words(("task", int, ANY)), pattern_words(("task", "<class 'int'>"))
    ("('task', int, ANY)", "('task', int)")
    """
    return CLASS_IN_QUOTES.sub(r"\1", tuple_text(pattern))


def task_label(fields: tuple[Any, ...]) -> str:
    """Return what a task is called on its bar: its number, or else its second field, or its first.

    >>> task_label(("task", 7, "queued")), task_label(("mail", "ann")), task_label(("stop",))
    ('7', 'ann', 'stop')
    """
    for field in fields:
        if type(field) is int:
            return shortened(str(field), 8)
    if not fields:
        return ""
    field = fields[1] if len(fields) > 1 else fields[0]
    return shortened(field if isinstance(field, str) else tuple_text((field,))[1:-2], 8)


def kind_label(fields: tuple[Any, ...]) -> str:
    """Return the sort of a tuple: its first field, and its state if it has one.

    >>> kind_label(("task", 7)), kind_label(("task", 7, "queued")), kind_label((3.5,))
    ('task', 'task queued', 'float')
    """
    first = fields[0] if fields else ""
    label = shortened(first, 16) if isinstance(first, str) else type(first).__name__
    return f"{label} {task_state(fields)}".rstrip()


def task_state(fields: tuple[Any, ...]) -> str:
    """Return the state that a tuple says a task is in, or "".

    >>> task_state(("task", 7, "queued")), task_state(("task", 7))
    ('queued', '')
    """
    for field in fields[1:]:
        if isinstance(field, str) and field in STATE_WORDS:
            return str(field.value if isinstance(field, Enum) else field)
    return ""


_SENTENCES = {
    "wait": "waits in {operation} for {pattern} in {space}",
    "leave": "stops waiting for {pattern} in {space}: {why}",
    "write": "writes {tuple} into {space}",
    "take": "takes {tuple} from {space}",
    "read": "reads {tuple} in {space}",
    "replace": "replaces {old} by {tuple} in {space}",
    "expire": "wrote {tuple} in {space}, which expires",
    "claim": "claims {tuple} in {space}",
    "renew": "renews the claim on {tuple} in {space}",
    "complete": "completes {tuple} in {space}",
    "release": "gives {tuple} back to {space}",
    "lapse": "loses the claim on {tuple}: its lease is over",
    "bury": "buries {tuple}",
    "shut": "closes {space}",
    "start": "starts {tuple}",
    "finish": "finishes {tuple}",
    "fail": "fails at {tuple}",
    "fail, cancelled": "stops {tuple}: cancelled",
    "beat": "sends a heartbeat",
    "crash": "crashes",
    "hang": "hangs",
    "slow": "slows down",
    "mute": "is muted: its heartbeats get lost",
    "hire": "is hired",
    "dismiss": "is dismissed",
    "restart": "is restarted",
    "give_up": "gives up",
    "note": "notes: {text}",
}


def sentence(event: Event) -> str:
    """Say an event as a sentence, without its time.

    >>> sentence(Event(0, 2.0, "w1", "take", "tasks", ("task", 7)))
    "w1 takes ('task', 7) from tasks"
    """
    kind, detail = event.kind, event.detail
    if kind == "fail" and detail.get("reason") == "cancelled":
        kind = "fail, cancelled"  # whoever is told to stop has not failed
    template = _SENTENCES.get(kind, f"{kind} {{tuple}}" if event.fields else kind)
    what = template.format(
        tuple=tuple_text(event.fields) if event.fields else "its work",
        space=shortened(event.space, 24),
        operation=detail.get("operation", "take"),
        pattern=pattern_words(_tuple_in(detail, "pattern")),
        old=tuple_text(_tuple_in(detail, "old")),
        why=detail.get("why", ""),
        text=shortened(str(detail.get("text", "")), 60),
    )
    return printable(f"{shortened(event.actor, 24)} {what}")


def _tuple_in(detail: dict[str, Any], key: str) -> tuple[Any, ...]:
    """Return the tuple under this key, or an empty one: in a note the key may stand for anything."""
    value = detail.get(key)
    return tuple(value) if isinstance(value, (tuple, list)) else ()
