"""What lesson 02, producer and consumer, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "02-who": Outcome(
        "w1 does fewer", "whoever is free takes the next job, so a slow consumer comes back less often."
    ),
    "02-hog": Outcome(
        "100, 0, 0, 0, 0", "try_take finds a job each time, and so the first one never pauses."
    ),
}

QUESTIONS: Final = {
    "02-one-marker": Question(
        'Five consumers wait in take. You write one end marker ("stop",), which each of them would take. How '
        "many consumers end?",
        (
            Option(
                "One", "Yes. Who takes the marker has it alone; the other four go on waiting.", right=True
            ),
            Option(
                "Five", "read would show it to all five. take gives it to one of them, and then it is gone."
            ),
            Option("None", "A waiting take is served by any tuple that matches, and the marker is one."),
        ),
    ),
    "02-the-hog": Question(
        "A consumer loops on try_take and calculates without any pause. A hundred tasks lie there. What do "
        "the other four consumers get?",
        (
            Option("Twenty each", "That would need a step at which the first one lets the others run."),
            Option(
                "Nothing, until the first one finds no more",
                "Yes. try_take lets others run only when it finds nothing. take does so each time.",
                right=True,
            ),
            Option(
                "An error",
                "Nothing is wrong with the code of any single consumer; it is only never their turn.",
            ),
        ),
    ),
    "02-slow-stage": Question(
        "A pipeline has three stages, and the second takes three times as long as the others. Where do you "
        "put two more workers?",
        (
            Option("Into the second stage", "Yes. Only the slowest stage limits what comes out.", right=True),
            Option(
                "One into each of the others", "They wait already, either for work or for room to put it."
            ),
            Option("Into the last stage", "It can only finish what the second stage hands to it."),
        ),
    ),
}
