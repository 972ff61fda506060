"""What lesson 03, master and worker, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "03-speed-up": Outcome(
        "about 7 times as fast",
        "the master's six seconds remain, however many help: 66 seconds become 9, not 3.",
    ),
}

QUESTIONS: Final = {
    "03-replace": Question(
        'replace(("state", 7, "queued"), ...) answers None. What does that tell you?',
        (
            Option("The state is changed now", "Then you would have got the old tuple."),
            Option(
                "Task 7 is not queued any more, so keep away",
                "Yes. Who gets nothing must not act.",
                right=True,
            ),
            Option("Try again until it works", "Somebody else has moved the task on. It is theirs."),
        ),
    ),
    "03-done": Question(
        "Ten tasks, one has failed, nine are completed. What does progress show?",
        (
            Option("9 of 10", "Then it would stand at 9 for ever, and nobody would know that it is over."),
            Option("10 of 10", "Yes. A failed task is done; the failure is reported apart.", right=True),
            Option("9 of 9", "Ten were submitted, and the total does not shrink."),
        ),
    ),
    "03-two-spaces": Question(
        "Why do tasks and results live in two spaces?",
        (
            Option("It is faster", "The space finds a tuple by its fields, also among many others."),
            Option(
                "A wide pattern cannot take a result for a task",
                "Yes. The mistake cannot be made.",
                right=True,
            ),
            Option("A space holds only one kind of tuple", "It holds any tuples side by side."),
        ),
    ),
}
