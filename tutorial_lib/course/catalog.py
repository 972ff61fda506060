"""Catalog: all exercises and questions of the course, in the order of the lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tutorial_lib.course.checking import Exercise
from tutorial_lib.course.checks import (
    breaker,
    dead_letter,
    detector,
    load_balance,
    matching,
    metrics,
    priority,
    progress,
    rate_limit,
    restart_limit,
    retry,
    retry_limit,
)
from tutorial_lib.course.questions import (
    Outcome,
    Question,
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
)

__all__ = ["EXERCISES", "HINTS", "PREDICTIONS", "QUESTIONS"]

_CHECKS = (
    matching,
    load_balance,
    dead_letter,
    rate_limit,
    progress,
    priority,
    detector,
    retry_limit,
    restart_limit,
    retry,
    breaker,
    metrics,
)
_LESSONS = (
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
)

EXERCISES: Final[Mapping[str, Exercise]] = {check.EXERCISE.id: check.EXERCISE for check in _CHECKS}
"""Every exercise, by its id."""

HINTS: Final[Mapping[str, Sequence[str]]] = {id: exercise.hints for id, exercise in EXERCISES.items()}
"""The hints of every exercise, from a first question to nearly the answer."""

QUESTIONS: Final[Mapping[str, Question]] = {
    id: question for lesson in _LESSONS for id, question in lesson.QUESTIONS.items()
}
"""What ``ask`` can ask, by id."""

PREDICTIONS: Final[Mapping[str, Outcome]] = {
    id: outcome for lesson in _LESSONS for id, outcome in lesson.PREDICTIONS.items()
}
"""What really happens after a ``predict``, by id."""
