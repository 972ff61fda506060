"""Whereabouts: which line of the learner's own code something is at.

An error message about a stuck or spinning program helps only if it names a line that the learner wrote.
So the frames of this library, of Python's standard library and of installed packages are passed over.

>>> place_of_frame(None)
''
"""

from __future__ import annotations

import linecache
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

__all__ = ["learners_part", "place_of_coroutine", "place_of_error", "place_of_frame"]

_LIBRARIES = (
    str(Path(__file__).parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",  # the parts of the standard library that are built into the interpreter
)


def place_of_frame(frame: FrameType | None) -> str:
    """Return the learner's line that ``frame`` is at or was called from, or ``""`` if there is none."""
    while frame is not None:
        if _is_learners(frame):
            return _place(frame, frame.f_lineno)
        frame = frame.f_back
    return ""


def place_of_coroutine(coroutine: Any) -> str:
    """Return the innermost of the learner's lines at which ``coroutine`` is suspended, or ``""``."""
    places = [_place(frame, frame.f_lineno) for frame in _frames(coroutine) if _is_learners(frame)]
    return places[-1] if places else ""


def place_of_error(error: BaseException) -> str:
    """Return the innermost of the learner's lines that ``error`` came through, or ``""``."""
    place = ""
    trail: TracebackType | None = error.__traceback__
    while trail is not None:
        if _is_learners(trail.tb_frame):
            place = _place(trail.tb_frame, trail.tb_lineno)
        trail = trail.tb_next
    return place


def learners_part(trail: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the library's frames at its beginning."""
    while trail is not None and trail.tb_next is not None and not _is_learners(trail.tb_frame):
        trail = trail.tb_next
    return trail


def _frames(awaited: Any) -> Iterator[FrameType]:
    """Yield the frames of a suspended coroutine, and of what it awaits, from the outermost inwards."""
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is not None:
            yield frame
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _is_learners(frame: FrameType) -> bool:
    file_name, module = frame.f_code.co_filename, frame.f_globals.get("__name__")
    # Methods that named tuples and dataclasses make themselves have no file, as a program after python -c.
    is_generated = file_name == "<string>" and module != "__main__"
    return not is_generated and not file_name.startswith(_LIBRARIES)


def _place(frame: FrameType, line_number: int) -> str:
    file_name = frame.f_code.co_filename
    name = "the cell," if "ipykernel_" in file_name else Path(file_name).name
    source = linecache.getline(file_name, line_number, frame.f_globals).strip()
    return f"{name} line {line_number}" + (f": {source}" if source else "")
