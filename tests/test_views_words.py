"""How names, tuples, times and events are written in pictures."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.view_help import story
from tutorial_lib import ANY, Event, Trace, where
from tutorial_lib.tasks import State, Task
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.words import (
    display_width,
    kind_label,
    padded,
    pattern_words,
    printable,
    sentence,
    shortened,
    task_label,
    task_state,
    tuple_text,
)


@pytest.mark.parametrize(
    "name", ["w1", "作業員その一", "a" * 200, "x\u0301" * 30, "👩‍🚀 pilot", "a\nb\x00", ""]
)
def test_a_padded_name_takes_exactly_its_columns(name: str) -> None:
    """Tables stay aligned with wide letters, marks that take no column, and names that are too long."""
    assert display_width(padded(name, 12)) == 12


def test_a_shortened_text_ends_with_an_ellipsis() -> None:
    """It shows that something is missing; what fits is left alone."""
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"


def test_what_cannot_be_shown_becomes_a_dot() -> None:
    """Control characters, half emoji and marks that turn the direction of writing never reach a picture."""
    assert printable("a\x1b[31m\ud800\u202eb") == "a·[31m··b"


class Unspeakable:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_a_tuple_is_always_written_short_and_the_same() -> None:
    """A megabyte of text, an object without words, an address in memory: none of it gets into a picture."""
    assert len(tuple_text(("data", "x" * 1_000_000))) < 60
    assert len(tuple_text(tuple(range(1_000)))) < 60
    assert "0x" not in tuple_text(("object", object()))
    assert tuple_text(("bad", Unspeakable())) == "('bad', <Unspeakable instance>)"


def test_a_task_is_written_as_the_tuple_that_it_is() -> None:
    """Named tuples and states look like what a learner would type."""
    task = Task("task", 7, State.QUEUED, 0, "", 0.0, ("photo.png",), None)
    assert tuple_text(task) == "('task', 7, 'queued', 0, '', 0.0, ('photo.png',), None)"


def test_a_pattern_of_a_saved_trace_is_written_like_a_fresh_one(tmp_path: Path) -> None:
    """A class comes back as text, and looks like the class in the picture."""
    story((0, "w1", "wait", (), "tasks", {"pattern": ("task", int)})).save(tmp_path / "trace")
    loaded = Trace.load(tmp_path / "trace")[0].detail["pattern"]
    assert loaded == ("task", "<class 'int'>")
    assert pattern_words(loaded) == pattern_words(("task", int)) == "('task', int)"


def test_a_pattern_is_written_as_a_learner_types_it() -> None:
    """Classes by their names, the wildcard as ANY, a test by its words."""
    assert pattern_words(("task", int, ANY, where(bool, "true"))) == "('task', int, ANY, where(true))"


@pytest.mark.parametrize(
    ("fields", "label", "kind", "state"),
    [
        (("task", 7), "7", "task", ""),
        (("task", 7, "queued", 0.0), "7", "task queued", "queued"),
        (("task", 7, State.DEAD), "7", "task dead", "dead"),
        (("mail", "ann@example.org"), "ann@exa…", "mail", ""),
        (("flag", True), "True", "flag", ""),
        ((3.5,), "3.5", "float", ""),
        ((), "", "", ""),
    ],
)
def test_a_tuple_says_what_its_task_is_called(
    fields: tuple[object, ...], label: str, kind: str, state: str
) -> None:
    """Its number, or else its second field; its kind is the first field, with the state if it has one."""
    assert (task_label(fields), kind_label(fields), task_state(fields)) == (label, kind, state)


KINDS = [
    *("wait", "leave", "write", "take", "read", "replace", "expire"),
    *("claim", "renew", "complete", "release", "lapse", "bury", "shut"),
    *("start", "finish", "fail", "beat", "suspect", "clear", "dead"),
    *("crash", "hang", "slow", "mute", "hire", "dismiss", "restart", "give_up"),
    *("retry", "open", "half_open", "close", "note"),
]


@pytest.mark.parametrize("kind", [*KINDS, "something_new"])
def test_every_event_can_be_said(kind: str) -> None:
    """Each kind of event gives a sentence that begins with the actor, with and without details."""
    assert sentence(Event(0, 1.0, "w1", kind, "tasks", ("task", 7))).startswith("w1 ")
    assert sentence(Event(0, 1.0, "w1", kind)).startswith("w1 ")


def test_whoever_is_told_to_stop_is_not_said_to_fail() -> None:
    """A crew ends with work under way; that is no error of its workers."""
    stopped = Event(0, 1.0, "w1", "fail", "", ("task", 7), {"reason": "cancelled"})
    failed = Event(0, 1.0, "w1", "fail", "", ("task", 7), {"error": "OSError: no paper"})

    assert sentence(stopped) == "w1 stops ('task', 7): cancelled"
    assert sentence(failed) == "w1 fails at ('task', 7)"


@pytest.mark.parametrize(
    ("span", "time", "text"),
    [
        (5e-6, 2e-6, "2 µs"),
        (0.02, 0.0125, "12.5 ms"),
        (12.0, 3.14159, "3.14 s"),
        (1800.0, 90.0, "1.5 min"),
        (86_400.0, 3_600.0, "1 h"),
        (30 * 86_400.0, 86_400.0, "1 d"),
    ],
)
def test_a_moment_is_written_in_the_unit_of_its_axis(span: float, time: float, text: str) -> None:
    """From microseconds to days, with as many digits as can be seen."""
    assert Scale(0, span).moment(time) == text


@pytest.mark.parametrize("span", [3e-6, 0.004, 1.0, 7.3, 59.0, 601.0, 5_000.0, 86_400.0, 1e7])
def test_an_axis_has_a_few_round_numbers(span: float) -> None:
    """Two to eight ticks, evenly spaced, the last with the unit."""
    ticks = Scale(0, span, 0, 600).ticks(8)
    gaps = [after.place - before.place for before, after in pairwise(ticks)]
    assert 2 <= len(ticks) <= 9
    assert max(gaps) - min(gaps) < 1e-6
    assert " " in ticks[-1].text


def test_nothing_is_placed_beyond_the_ends_of_an_axis() -> None:
    """What lies outside stands at the end."""
    assert [Scale(0, 10, 100, 200).place(time) for time in (-5, 0, 5, 10, 1e9)] == [100, 100, 150, 200, 200]


def test_an_axis_of_a_clock_that_began_long_ago_counts_from_its_beginning() -> None:
    """A year in seconds before every number would hide the numbers."""
    scale = Scale(365 * 86_400.0, 365 * 86_400.0 + 10)
    assert scale.since == "after 365 d"
    assert scale.moment(365 * 86_400.0 + 2.5) == "2.5 s"
