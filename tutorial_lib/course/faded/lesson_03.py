"""What belongs into the gaps of lesson 03, master and worker."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run

__all__ = ["FADED"]


def _hand_on(run: Run) -> str | None:
    """Judge two workers who both want task 7: one moves it on and does it, the other keeps away."""
    moves, starts = run.trace.of("replace"), run.trace.of("start")
    if not moves:
        return (
            'Gap 1: replace found nothing, so nobody got task 7. It was written as "queued". Which state '
            "must the old tuple have?"
        )
    new_state = moves[0].fields[2]
    if new_state == "queued":
        return (
            'Gap 2: the task was still "queued" after somebody had got it, so both workers got it. Which '
            "state tells the other one that it is taken?"
        )
    if new_state != "running":
        return (
            f"Gap 2: the task was {new_state!r} as soon as somebody got it, before any work. The last line "
            "of the worker tells which state comes first."
        )
    if [move.fields[2] for move in moves].count("running") > 1:
        return (
            "Gap 1: both workers got task 7, since your pattern also matches a task that is running. Ask "
            "for the one state in which nobody has it."
        )
    winner = moves[0].actor
    if any(start.actor != winner for start in starts):
        return (
            "Gap 3: a worker did task 7 although replace had answered None. Who gets nothing must not act, "
            "so what tells the two apart?"
        )
    if run.finished and not starts:
        return (
            f"Gap 3: {winner} got task 7, and nobody did it. Whoever gets the old tuple may act, so what "
            "must be true then?"
        )
    return None


FADED: Final = {
    "03-hand-on": FadedExample(
        id="03-hand-on",
        lesson="03_master_worker",
        fillings=('"queued"', '"running"', "got is not None"),
        why="With replace one of the two got the queued task in a single step, and only that one worked.",
        hints=(
            "Read the drawing of the states from left to right. Between which two does a worker begin?",
            'The task waits as "queued", and while somebody is at it, it is "running".',
            "replace answers with the old tuple, or with None if nothing matched. Gap 3 asks which it was.",
        ),
        judge=_hand_on,
    ),
}
