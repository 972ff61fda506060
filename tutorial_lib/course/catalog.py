"""Catalog: all exercises, questions and faded examples of the course, in the order of the lessons."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from tutorial_lib.course.answers import described
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
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.course.faded import lesson_01 as faded_01
from tutorial_lib.course.faded import lesson_02 as faded_02
from tutorial_lib.course.faded import lesson_03 as faded_03
from tutorial_lib.course.faded import lesson_04 as faded_04
from tutorial_lib.course.faded import lesson_05 as faded_05
from tutorial_lib.course.faded import lesson_06 as faded_06
from tutorial_lib.course.faded import lesson_07 as faded_07
from tutorial_lib.course.faded import lesson_08 as faded_08
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

__all__ = ["EXERCISES", "FADED", "HINTS", "PREDICTIONS", "QUESTIONS", "look_up"]

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

_FADED_LESSONS = (faded_01, faded_02, faded_03, faded_04, faded_05, faded_06, faded_07, faded_08)

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

FADED: Final[Mapping[str, FadedExample]] = {
    id: example for lesson in _FADED_LESSONS for id, example in lesson.FADED.items()
}
"""What ``fill`` can judge, by id."""

Entry = TypeVar("Entry")


def look_up(id: object, kind: str, entries: Mapping[str, Entry]) -> Entry:
    """Return the entry with this id; ``kind`` says in a message what the ``entries`` are.

    Raises `ValueError`, with the nearest id and with all that there are, if there is none.

    >>> look_up("lifts", "engine", {"lift": 1, "belt": 2})
    Traceback (most recent call last):
        ...
    ValueError: There is no engine 'lifts'. Did you mean 'lift'? The engines are: lift, belt.

    Also a beginning is near enough.

    >>> look_up("01", "example", {"01-cubes": 1})
    Traceback (most recent call last):
        ...
    ValueError: There is no example '01'. Did you mean '01-cubes'? The examples are: 01-cubes.
    """
    if isinstance(id, str) and id in entries:
        return entries[id]
    name = id if isinstance(id, str) else getattr(id, "__name__", "")
    close = difflib.get_close_matches(name.replace("_", "-"), entries, n=1)
    close = close or [entry for entry in entries if name and entry.startswith(name)]
    if name in FADED:
        suggestion = f' It is an example with gaps: fill("{name}", its_name).'
    elif name in EXERCISES:
        suggestion = f' It is an exercise: check("{name}", its_name).'
    else:
        suggestion = f" Did you mean {close[0]!r}?" if close else ""
    given = repr(id) if isinstance(id, str) else described(id)
    raise ValueError(f"There is no {kind} {given}.{suggestion} The {kind}s are: {', '.join(entries)}.")
