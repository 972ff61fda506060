"""Errors of the course: what an exercise raises before anybody has worked on it."""

from __future__ import annotations

__all__ = ["NotAttempted"]


class NotAttempted(Exception):
    """The learner has not begun this exercise yet.

    The stub of every exercise raises it, and `check` answers with *not attempted* instead of *not yet*.

    >>> def load_balance(tasks, process):
    ...     raise NotAttempted
    """
