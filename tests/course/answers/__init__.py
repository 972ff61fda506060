"""Answers to the exercises, right and wrong: one module for each exercise.

Each module has a list ``RIGHT`` of answers of different build, and a list ``WRONG`` that says for every wrong
answer how it must be told: the outcome, and a part of the message.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Wrong(NamedTuple):
    """A wrong answer, and what the learner must be told."""

    answer: Any
    outcome: str
    says: str
