"""The pictures in letters."""

from __future__ import annotations

import pytest

from tests.view_help import busy_run, story
from tutorial_lib import Trace
from tutorial_lib.views.text import load_text, space_text, timeline_text, tuples_text
from tutorial_lib.views.words import display_width

TASK = ("task", 7)


def lines_of(picture: str) -> list[str]:
    return [line.rstrip() for line in picture.splitlines()]


def test_a_timeline_is_drawn_like_this() -> None:
    """A sentence, the axis, a line for each actor, and what happened to them."""
    trace = story(
        (0, "w1", "start", ("task", 1)),
        (0, "w2", "take", ("task", 2), "tasks"),
        (2, "w1", "finish", ("task", 1)),
        (2, "w1", "start", ("task", 3)),
        (4, "w2", "wait", (), "tasks", {"pattern": ("task", int)}),
        (5, "w1", "crash"),
        (8, "main", "note", (), "", {"text": "closing time"}),
    )
    assert lines_of(timeline_text(trace)) == [
        "w1 has crashed; w2 waits; main is idle; 1 task done.",
        "",
        "              0             2             4            6             8 s",
        "w1            1━━━━━━━━━━━━━3╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌x                       crashed · 1 done",
        "w2            2┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄····························  waits · 1 taken",
        "main          ························································  idle",
        "",
        "        5 s  w1: crash",
        "        8 s  main: closing time",
    ]


def test_nothing_is_drawn_behind_the_playhead() -> None:
    """What has not happened yet is blank."""
    trace = story((0, "w1", "start", TASK), (4, "w1", "finish", TASK), (8, "w1", "crash"))
    assert lines_of(timeline_text(trace, at=2))[3] == "w1            7─────────────·" + " " * 43 + "busy: 7"


def test_load_is_drawn_like_this() -> None:
    """A sentence with the fair share, and a bar for each worker."""
    trace = story(*((0, name, "take", TASK, "tasks") for name in ("a", "a", "b")))
    assert lines_of(load_text(trace)) == [
        "3 tuples taken by 2: a fair share is 1.5; a has 2, b 1; fairness 0.90 of 1.",
        "",
        "a                  2  " + "█" * 56,
        "b                  1  " + "█" * 28,
    ]


def test_tuples_over_time_are_drawn_like_this() -> None:
    """A digit for each moment says how many there were."""
    trace = story(
        (0, "main", "write", ("task", 1), "tasks"),
        (2, "main", "write", ("task", 2), "tasks"),
        (4, "w1", "take", ("task", 1), "tasks"),
    )
    assert lines_of(tuples_text(trace)) == [
        "There are 1 × task.",
        "",
        "                          0             1             2            3             4 s",
        "task                      1111111111111111111111111111222222222222222222222222222"
        + "2  1 now, 2 at most",
    ]


def test_a_space_is_written_like_this() -> None:
    """Its tuples, oldest first, and who waits for what."""
    trace = story(
        (0, "main", "write", ("task", 1), "tasks"),
        (0, "main", "write", ("task", 2), "tasks"),
        (1, "w1", "claim", ("task", 1), "tasks", {"token": 1}),
        (2, "w2", "wait", (), "tasks", {"operation": "take", "pattern": ("result", int)}),
        (2, "p", "wait", (), "tasks", {"operation": "write", "pattern": ("task", 3)}),
    )
    assert space_text(trace).splitlines() == [
        "tasks: 1 tuple, 1 claimed, w2 and p wait.",
        "  ('task', 2)  newest",
        "  ('task', 1)  claimed by w1",
        "  w2 waits to take ('result', int)",
        "  p waits for room to write ('task', 3)",
    ]


@pytest.mark.parametrize("draw", [timeline_text, load_text, tuples_text, space_text])
def test_an_empty_trace_is_said_to_be_empty(draw: object) -> None:
    """No picture is not an error."""
    picture = draw(Trace())  # type: ignore[operator]
    assert len(picture.splitlines()) <= 1


def test_columns_are_aligned_whatever_the_names_are() -> None:
    """Wide letters, marks and long names: what stands to the right of the axis begins in one column."""
    names = ["w1", "作業員その一", "n" * 200, "x\u0301" * 30, "<b>", "a\nb"]
    drawn = timeline_text(story(*((0, name, "note") for name in names))).splitlines()[3 : 3 + len(names)]
    assert {display_width(line[: line.index("  idle")]) for line in drawn} == {70}


def test_two_hundred_workers_are_drawn_in_part_and_counted() -> None:
    """The picture says how many it leaves out."""
    drawn = timeline_text(story(*((0, f"w{number}", "hire") for number in range(1, 201))))
    assert "and 140 more, not drawn" in drawn
    assert len(drawn.splitlines()) < 70


def test_the_same_run_gives_the_same_text() -> None:
    """Saved outputs are compared letter by letter."""
    assert timeline_text(busy_run()) == timeline_text(busy_run())


@pytest.mark.parametrize(
    ("takers", "sentence"),
    [
        ("", "Nobody has worked or taken a tuple."),
        ("a", "1 tuple taken by a."),
        ("aab", "3 tuples taken by 2: a fair share is 1.5; a has 2, b 1; fairness 0.90 of 1."),
    ],
)
def test_the_load_in_one_sentence(takers: str, sentence: str) -> None:
    """Nobody, one, and several workers."""
    trace = story(*((0, name, "take", TASK, "tasks") for name in takers))
    assert load_text(trace).splitlines()[0] == sentence
