"""Logs: one line, one event, as JSON, with the id of the request that it belongs to.

The front gives each request an id. It travels with the task and with the remote call, and every service binds
it for as long as it works for that request. So a search for one id finds the whole story, across processes.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

import structlog

__all__ = ["LogBook", "make_log", "open_log", "working_for"]


class LogBook(io.TextIOBase):
    """A file for log lines that keeps them as dictionaries, in ``entries``.

    >>> book = LogBook()
    >>> make_log("web", book).info("accepted", number=5)
    >>> book.entries[0]["event"], book.entries[0]["number"]
    ('accepted', 5)
    """

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def write(self, text: str) -> int:
        """Keep one line."""
        self.entries.append(json.loads(text))
        return len(text)


def make_log(service: str, file: TextIO | LogBook) -> Any:
    """Return a structlog logger that writes JSON lines into ``file``, each with the name of the service."""

    def add_service(logger: Any, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
        return {"service": service, **event}

    return structlog.wrap_logger(
        structlog.WriteLogger(file),  # type: ignore[arg-type]  # a LogBook is enough of a file
        processors=[
            structlog.contextvars.merge_contextvars,
            add_service,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            # not ensure_ascii, which would turn Japanese text into numbers
            structlog.processors.JSONRenderer(
                serializer=partial(json.dumps, ensure_ascii=False, default=repr)
            ),
        ],
        wrapper_class=structlog.BoundLogger,
    )


def open_log(path: str) -> TextIO:
    """Open the log file ``path``, or standard output if it is empty.

    Several processes may append to one file: each line is written in one piece.
    """
    return open(path, "a", encoding="utf-8", buffering=1) if path else sys.stdout


@contextmanager
def working_for(request_id: str) -> Iterator[None]:
    """Write ``request_id`` into every log line of this thread inside the block."""
    with structlog.contextvars.bound_contextvars(request_id=request_id):
        yield
