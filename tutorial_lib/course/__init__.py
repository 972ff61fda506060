"""The course: lessons, exercises and what checks them."""

from __future__ import annotations

from tutorial_lib.course.errors import NotAttempted

__all__ = ["NotAttempted"]
