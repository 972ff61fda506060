"""What belongs into the gaps of lesson 04, heartbeats."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from tutorial_lib.course.checking import clock
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run

__all__ = ["FADED"]

TIMEOUT: Final = 6.0  # seconds, as in the lesson's cell
SILENT_AT: Final = 21.0  # seconds: the moment at which w2 stops
LATEST: Final = 8.0  # seconds of silence in which a death must be noticed
MOST_BEATS: Final = 6  # in one timeout; more change nothing


def _ward(run: Run) -> str | None:
    """Judge a ward in which w2 falls silent, w4 never comes, and nobody else has anything wrong."""
    if not run.finished:
        return (
            "Gaps 1 and 2: this had to be stopped long before it was over, because somebody beats or looks "
            "thousands of times in a second. What does the rule of thumb say?"
        )
    return _beats(run) or _looks(run)


def _beats(run: Run) -> str | None:
    """Say what is wrong with how often the workers beat."""
    beats = [event.time for event in run.trace.of("beat") if event.actor == "w1"]
    longest = max((later - earlier for earlier, later in pairwise(beats)), default=run.elapsed)
    accused = [event for event in run.trace.of("dead") if event.fields == ("w1",)]
    if accused:
        return (
            f"Gap 1: at {clock(accused[0].time)} w1 was declared dead, and it was well. Its beats are "
            f"{clock(longest)} apart. How many must fit into a timeout of {clock(TIMEOUT)}?"
        )
    if longest > TIMEOUT / 3:
        return (
            f"Gap 1: the beats are {clock(longest)} apart. If one is lost, the silence is "
            f"{clock(2 * longest)}, and the next one may be late. How many beats should fit into a timeout "
            f"of {clock(TIMEOUT)}?"
        )
    if longest < TIMEOUT / MOST_BEATS:
        return (
            f"Gap 1: {TIMEOUT / longest:.0f} beats fit into one timeout. The dead are noticed no sooner, "
            "since the timeout is as long as before. How many are enough?"
        )
    return None


def _looks(run: Run) -> str | None:
    """Say what is wrong with whom the monitor misses, and when."""
    silence = {event.fields[0]: event.detail["silence"] for event in run.trace.of("dead")}
    if "w2" in silence and "w4" not in silence:
        return (
            "Gap 3: nobody has missed w4. It never beat, so no heartbeat bears its name. From where can "
            "the monitor know of it?"
        )
    if "w2" not in silence:
        return (
            f"Gap 2: w2 has been silent since {clock(SILENT_AT)}, and nobody knows at {clock(run.elapsed)}. "
            "A monitor notices only when it looks. How often do the others beat?"
        )
    late = [name for name, seconds in silence.items() if seconds >= LATEST]
    if late:
        return (
            f"Gap 2: {late[0]} was declared dead after {clock(silence[late[0]])} of silence. The timeout is "
            f"{clock(TIMEOUT)}; the rest is the wait for the next look. How often should the monitor look?"
        )
    return None


FADED: Final = {
    "04-ward": FadedExample(
        id="04-ward",
        lesson="04_heartbeats",
        fillings=("2", "2", '["w1", "w2", "w3", "w4"]'),
        why=(
            "One beat may be lost without an alarm, the monitor looks about as often as the others beat, "
            "and w4 is missed because somebody was told to expect it."
        ),
        hints=(
            "Beat three to five times within the timeout. What is 6 divided by 3, and by 5?",
            "The monitor looks about as often as the others beat, so gap 2 is like gap 1.",
            "Gap 3 is a list of names. One of them must be the name of the worker who never beats.",
        ),
        judge=_ward,
    ),
}
