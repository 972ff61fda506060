"""What belongs into the gaps of lesson 01, tuple spaces."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.answers import described
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run

__all__ = ["FADED"]

QUESTIONS: Final = [("cube", 2), ("cube", 3)]


def _cubes(run: Run) -> str | None:
    """Judge two strangers: one asks for the cubes of 2 and 3, the other answers."""
    taken = [event.fields for event in run.trace.of("take")]
    unseen = [question for question in QUESTIONS if question not in taken]
    if unseen:
        return (
            f"Gap 2: solver did not take the question {unseen[0]}, since your pattern does not match it. "
            "What stands for any whole number?"
        )
    answers = [event.fields for event in run.trace.of("write") if event.fields[0] == "answer"]
    if not answers or type(answers[0][1]) is not int or answers[0][1] != QUESTIONS[0][1]:
        given = described(answers[0][1]) if answers else "nothing"
        return (
            f"Gap 3: the first answer carries {given} as its number, and asker looks for 2. Where does "
            "solver know the number of the question from?"
        )
    if answers[0] not in taken:
        return (
            f"Gap 1: the answer {answers[0]} lies on the board, and the pattern of asker does not match it. "
            "What matches a number that nobody knows yet?"
        )
    if run.finished and run.result is None:
        return "The program returned nothing. Its last line, return answers.result(), belongs to it."
    return None


FADED: Final = {
    "01-cubes": FadedExample(
        id="01-cubes",
        lesson="01_tuple_spaces",
        fillings=("int", "int", "number"),
        why="Each pattern fixes what its owner knows, and leaves open what it does not know.",
        hints=(
            "For each gap: does the one who writes this line know the value already?",
            "Gaps 1 and 2 are in patterns. A value that is not known yet is matched by its class.",
            "Gap 3 is in a tuple that is written, so it is a value: the number that solver has just taken.",
        ),
        judge=_cubes,
    ),
}
