"""Gaps: the places in a program where a learner is to write, each of them a ``...``.

A ``...`` inside a text or a comment is no gap.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence

__all__ = ["count_gaps", "filled"]


def count_gaps(source: str) -> int:
    """Return how many gaps there are in the code ``source``.

    >>> count_gaps('await space.take("task", ...)  # any task...')
    1
    """
    return len(_gaps(source))


def filled(source: str, fillings: Sequence[str]) -> str:
    """Return the code ``source`` with one of the ``fillings``, code as well, in each gap.

    Raises `ValueError` if there are more or fewer fillings than gaps.

    >>> filled('await space.take(..., ...)', ['"task"', "int"])
    'await space.take("task", int)'
    """
    lines = source.splitlines()
    for (row, column), filling in reversed(list(zip(_gaps(source), fillings, strict=True))):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + filling + line[column + len("...") :]
    return "\n".join(lines)


def _gaps(source: str) -> list[tuple[int, int]]:
    """Return where the gaps begin: the row, from 1, and the column, from 0."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.start for token in tokens if token.string == "..."]
