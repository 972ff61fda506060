"""Cells: what a notebook cell made is closed when the cell is run again.

Widgets live in the kernel until they are closed, and the notebook keeps a reference to whatever a cell
returns. Without this, running a cell thirty times would leave thirty players behind.
"""

from __future__ import annotations

from typing import Any, Protocol

from IPython.core.getipython import get_ipython

__all__ = ["Closable", "close_with_cell"]


class Closable(Protocol):
    """Anything that can be closed."""

    def close(self) -> None:
        """Let go of everything. Closing twice does nothing more."""


_made: dict[str, tuple[str, list[Closable]]] = {}
"""By cell: which run of it, and what that run made."""


def close_with_cell(thing: Closable, name: str) -> None:
    """Close ``thing`` as soon as the cell that runs now is run again.

    A front end that does not tell its cells apart is served by ``name``: then a new thing of that name closes
    the old. Outside a notebook this does nothing.
    """
    message = _current_message()
    if message is None:
        return
    run = message["header"]["msg_id"]
    cell = message.get("metadata", {}).get("cellId") or name
    run_before, things = _made.get(cell, (run, []))
    if run_before != run:
        for old in things:
            old.close()
        things = []
    _made[cell] = (run, [*things, thing])


def _current_message() -> dict[str, Any] | None:
    """Return the message by which the notebook asked for the cell that runs now."""
    shell = get_ipython()
    get_parent = getattr(shell, "get_parent", None)  # a plain IPython has no messages
    message = get_parent() if get_parent is not None else None
    return message if message and "msg_id" in message.get("header", {}) else None
