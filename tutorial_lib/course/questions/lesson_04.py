"""What lesson 04, heartbeats, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "04-frozen": Outcome(
        "nobody", "this monitor notices that it was asleep itself, and waits for fresh beats."
    ),
}

QUESTIONS: Final = {
    "04-silence": Question(
        "A monitor has heard nothing from w2 for the whole timeout. What does it know?",
        (
            Option("w2 has crashed", "It may be alive and slow, or its beats get lost."),
            Option("w2 was silent for so long, and no more", "Yes. Silence is not death.", right=True),
            Option("w2 has raised an exception", "Then its owner would have learned of it at once."),
        ),
    ),
    "04-interval": Question(
        "The timeout is 6 seconds. How often should a worker beat?",
        (
            Option("Every 6 seconds", "Then a single late beat is an alarm."),
            Option(
                "Every 1.5 to 2 seconds",
                "Yes. Three to five times within the timeout, or nearly.",
                right=True,
            ),
            Option(
                "Every 0.01 seconds", "It would be noticed no sooner, since the timeout stays what it is."
            ),
        ),
    ),
    "04-absent": Question(
        "Why must a monitor be told whom to expect?",
        (
            Option("It could not read the heartbeats otherwise", "It can read all of them by a pattern."),
            Option(
                "Who never beat stands on no list", "Yes. Only an expected name can be missed.", right=True
            ),
            Option("To save time", "Looking at all heartbeats is cheap."),
        ),
    ),
}
