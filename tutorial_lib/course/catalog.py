"""Catalog: all exercises of the course, in the order of the lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tutorial_lib.course.checking import Exercise
from tutorial_lib.course.checks import dead_letter, load_balance, matching, priority, progress, rate_limit

__all__ = ["EXERCISES", "HINTS"]

EXERCISES: Final[Mapping[str, Exercise]] = {
    module.EXERCISE.id: module.EXERCISE
    for module in (matching, load_balance, dead_letter, rate_limit, progress, priority)
}
"""Every exercise, by its id."""

HINTS: Final[Mapping[str, Sequence[str]]] = {id: exercise.hints for id, exercise in EXERCISES.items()}
"""The hints of every exercise, from a first question to nearly the answer."""
