"""What lesson 01, tuple spaces, asks."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.questions import Option, Outcome, Question

__all__ = ["PREDICTIONS", "QUESTIONS"]

PREDICTIONS: Final = {
    "01-kinds": Outcome(
        "one each", "a tuple space keeps 1, 1.0 and True apart, although Python calls them equal."
    ),
}

QUESTIONS: Final = {
    "01-length": Question(
        'There is ("task", 7, "queued"). Which pattern finds it?',
        (
            Option('("task", 7)', "A pattern of two fields never matches a tuple of three."),
            Option('("task", ANY, ANY)', "Yes. Three fields, and each of them fits.", right=True),
            Option('("task", ANY)', "ANY stands for one field, not for all that remain."),
        ),
    ),
    "01-waiting": Question(
        "Which of these may wait?",
        (
            Option(
                "try_take, when nothing matches", "It answers None. The try_ forms never wait for a tuple."
            ),
            Option(
                "write, when the space is full", "Yes. That is the only time when a write waits.", right=True
            ),
            Option("read_all, when nothing matches", "It answers with an empty list."),
        ),
    ),
    "01-owner": Question(
        "Two tasks call take with the same pattern. One tuple matches. What happens?",
        (
            Option("Both get it", "That would be read. A taken tuple is gone."),
            Option("One gets it, the other waits", "Yes. Taking is the only lock you need.", right=True),
            Option("Neither gets it", "Whoever came first is served first."),
        ),
    ),
}
