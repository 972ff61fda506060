"""The demo that everything is built towards: a monitor undoes a task that had just finished."""

from __future__ import annotations

from pathlib import Path

from tests.programs import undoing_monitor
from tutorial_lib.simulation import simulate
from tutorial_lib.views.frame import frame_at
from tutorial_lib.views.player import Player
from tutorial_lib.views.svg import picture_of

PICTURE = Path(__file__).parents[1] / "docs" / "undoing_monitor.svg"


def test_the_trace_shows_how_finished_work_is_undone() -> None:
    """The worker completes task 2 at 3.1 s; at 3.2 s the monitor takes it as it is, and queues it again."""
    run = simulate(undoing_monitor.main)
    steps = [
        (event.time, event.actor, event.kind, event.fields[2])
        for event in run.trace.of("write", "take", "replace")
        if event.fields[1] == 2 and 3 < event.time < 3.3
    ]
    assert steps == [
        (3.1, "w2", "replace", "completed"),
        (3.2, "monitor", "take", "completed"),
        (3.2, "monitor", "write", "queued"),
        (3.2, "w2", "take", "queued"),
        (3.2, "w2", "write", "running"),
    ]
    assert [event.time for event in run.trace.of("finish") if event.fields == ("task", 2)] == [3.1, 6.3]


def test_the_picture_shows_it_at_a_glance() -> None:
    """The monitor's lane says what it undoes, and the picture that is kept in the project is this one."""
    frame = frame_at(simulate(undoing_monitor.main))
    picture = picture_of(frame, ["lanes"])
    assert "undoes 2" in picture
    assert PICTURE.read_text(encoding="utf-8").strip() == str(picture)


def test_the_player_rewinds_to_the_moment_at_which_it_went_wrong() -> None:
    """Step by step: the task is completed, then it is gone, then it is queued once more."""
    playback = Player(undoing_monitor.main).playback
    playback.go_to(3.1)
    steps = []
    for _ in range(3):
        frame = playback.frame()
        task = [stored.kind for stored in frame.spaces[0].tuples if "'task', 2," in stored.text]
        steps.append((frame.latest.split()[0], task))
        playback.step(1)
    assert steps == [("w2", ["task completed"]), ("monitor", []), ("monitor", ["task queued"])]
