"""What lesson 08, the whole stack, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "08-stopped": Outcome(
        "it is told at once", "the first two requests made five failures, so the breaker is open."
    ),
}

QUESTIONS: Final = {
    "08-accepted": Question(
        "The front answers 202. What does the caller know?",
        (
            Option("The result will be right", "The work has not begun yet, and may fail."),
            Option("The task is in the queue", "Yes, and nothing more.", right=True),
            Option("A worker has begun", "It may be that no worker is there."),
        ),
    ),
    "08-shared": Question(
        "Why is the state of the breaker kept in Redis when there are several workers?",
        (
            Option("Redis is faster than memory", "It is slower. Something else is gained by it."),
            Option(
                "Otherwise each worker finds out by itself",
                "Yes, with five failures each.",
                right=True,
            ),
            Option("Celery needs it there", "Celery knows nothing of the breaker."),
        ),
    ),
    "08-twice": Question(
        "A task was delivered twice. Is that an error?",
        (
            Option("Yes, of the queue", "A queue with late acknowledgement promises at least once."),
            Option("Yes, of the worker that died", "Dying is nothing that one can forbid."),
            Option(
                "No, if the task is idempotent",
                "Yes. At least once and a request id make exactly once.",
                right=True,
            ),
        ),
    ),
}
