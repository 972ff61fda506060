"""What lesson 06, supervision, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "06-rest": Outcome(
        "reader and writer", "rest_for_one restarts the one that failed and those started after it."
    ),
}

QUESTIONS: Final = {
    "06-limit": Question(
        "A child fails once an hour. The limit is 3 restarts within 10 seconds. What happens?",
        (
            Option(
                "After four hours the supervisor gives up", "The limit is a rate. Old restarts do not count."
            ),
            Option(
                "It is restarted every hour, for years", "Yes. Within 10 seconds there is one.", right=True
            ),
            Option("It is not restarted at all", "One restart within 10 seconds is allowed."),
        ),
    ),
    "06-transient": Question(
        "A child copies a file once and returns. It should try again if it fails. Which policy?",
        (
            Option("ALWAYS", "Then it would copy the file again and again, for ever."),
            Option("ON_FAILURE", "Yes. A return is the end, a failure is not.", right=True),
            Option("NEVER", "Then nobody would try again."),
        ),
    ),
    "06-memory": Question(
        "A master keeps its running total in a variable, crashes, and is restarted. What is the total?",
        (
            Option("As it was", "The variable died with the task that held it."),
            Option("It begins anew", "Yes. Only what is in a space survives.", right=True),
            Option(
                "The supervisor has kept it", "A supervisor knows how to start a child, not what it knew."
            ),
        ),
    ),
}
