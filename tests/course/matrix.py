"""The matrix of exercises, answers and seeds, as data for the tests."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest

from tutorial_lib.course.catalog import EXERCISES

REPEATS = int(os.environ.get("TUTORIAL_REPEATS", "1"))

SEED_BLOCKS = [range(100 * block, 100 * block + 4) for block in range(1, REPEATS + 1)]
"""Orders of events that a check does not use by itself."""


def answers_to(exercise: str) -> ModuleType:
    """Return the module of answers to an exercise."""
    return importlib.import_module(f"answers.{exercise.replace('-', '_')}")


def right_answers() -> list:
    """Return the id of each exercise with each of its right answers."""
    return [
        pytest.param(exercise, answer, id=f"{exercise}-{answer.__name__}")
        for exercise in EXERCISES
        for answer in answers_to(exercise).RIGHT
    ]


def wrong_answers() -> list:
    """Return the id of each exercise with each of its wrong answers, its outcome and a part of its "
    "message."""
    return [
        pytest.param(exercise, *wrong, id=f"{exercise}-{wrong.answer.__name__}")
        for exercise in EXERCISES
        for wrong in answers_to(exercise).WRONG
    ]
