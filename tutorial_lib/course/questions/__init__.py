"""Questions: what the lessons ask, one module for each lesson.

``lesson_NN.py`` has two dictionaries. ``QUESTIONS`` maps an id to a `Question` for ``ask(id)``; each option
has a reply of its own, since each wrong one shows another misunderstanding. ``PREDICTIONS`` maps an id to an
`Outcome` for ``predict(id, options)``: what really happens, and why, told at the end of the lesson by
``guesses()``. An id begins with the number of its lesson. A new module is entered in
`tutorial_lib.course.catalog`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Option", "Outcome", "Question"]


@dataclass(frozen=True)
class Option:
    """One option of a question, and what is said to whoever chooses it."""

    text: str
    reply: str
    right: bool = False


@dataclass(frozen=True)
class Question:
    """A question with two options or more, of which at least one is right.

    Raises `ValueError` for fewer options, for the same option twice, and if no option is right.
    """

    text: str
    options: tuple[Option, ...]

    def __post_init__(self) -> None:
        texts = [option.text for option in self.options]
        if len(texts) < 2 or len(set(texts)) < len(texts) or not any(option.right for option in self.options):
            raise ValueError(
                f"The question {self.text!r} needs two different options or more, one of them right; it has "
                f"{texts}."
            )


@dataclass(frozen=True)
class Outcome:
    """What really happens after a prediction: one of the options that the lesson offers, and the reason."""

    happens: str
    because: str
