"""What lesson 05, recovery, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "05-poison": Outcome(
        "three", "the attempt is counted with the task, so the fourth worker knows and buries it."
    ),
}

QUESTIONS: Final = {
    "05-monitor": Question(
        "The monitor wants to requeue a task that it saw running. What must it check?",
        (
            Option("That the task is old enough", "That was true when it looked. It may be finished by now."),
            Option(
                "That it took away exactly what it saw", "Yes. Who gets nothing must not act.", right=True
            ),
            Option("Nothing, requeueing is harmless", "It undoes work that has just been finished."),
        ),
    ),
    "05-late": Question(
        "A lease lapsed, and the task was done by another. Now the first holder completes it. What happens?",
        (
            Option("The second result replaces the first", "Then a slow worker could undo a good result."),
            Option(
                "It is refused, and nothing changes", "Yes. Its token is an old one: StaleClaim.", right=True
            ),
            Option("Both results are kept", "The task can be completed only once."),
        ),
    ),
    "05-once": Question(
        "A worker sends a mail, then crashes before it completes its claim. How do you avoid a second mail?",
        (
            Option("With a longer lease", "The lease only decides when the second mail is sent."),
            Option(
                "With a mail server that knows the task's number",
                "Yes. The effect has to be idempotent.",
                right=True,
            ),
            Option("With plain take", "Then the task is lost, with everything that was still to be done."),
        ),
    ),
}
