"""Faded examples: small programs with gaps, one module for each lesson.

The program itself stands in the lesson: a complete async function in which each gap is a ``...``, and the
next cell calls ``fill(id, program)``. ``lesson_NN.py`` has one dictionary, ``FADED``. It maps an id, which
begins with the number of its lesson, to a `FadedExample`: what belongs into the gaps, and a judge of what
comes of a filling. A new module is entered in `tutorial_lib.course.catalog`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tutorial_lib.simulation import Run

__all__ = ["FadedExample"]


@dataclass(frozen=True)
class FadedExample:
    """What is known about one program with gaps."""

    id: str
    lesson: str
    """The name of the lesson's folder, such as ``"03_master_worker"``."""
    fillings: tuple[str, ...]
    """The code for each gap in the worked solution, in the order of the gaps."""
    why: str
    """One sentence: why a right filling is right."""
    hints: tuple[str, ...]
    """From a first question to nearly the answer."""
    judge: Callable[[Run], str | None]
    """Says what is wrong with a run of the filled program and what to think of; None if it finds nothing.

    It is also asked about a run that stalled or was stopped (``run.finished`` is False), and may leave that
    to the general words for it. It is not asked if the program raised an error of its own.
    """
    errors: Mapping[str, str] = field(default_factory=dict)
    """What to say in place of an error that a likely filling raises: by a part of the error's text, such as
    ``"'coroutine' object is not callable"``. Any other error is told as it is, with its line."""
