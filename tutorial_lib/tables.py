"""Tables in plain text, for accounts and states that print themselves."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["text_table"]


def text_table(rows: Sequence[Sequence[object]]) -> str:
    """Return ``rows`` as lines with aligned columns; the first row is the head. Numbers stand to the right.

    >>> print(text_table([("name", "restarts"), ("w1", 0), ("monitor", 12)]))
    name     restarts
    w1              0
    monitor        12
    """
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    is_number = [isinstance(cell, (int, float)) for cell in rows[-1]]
    lines = []
    for row in rows:
        cells = [
            str(cell).rjust(width) if right else str(cell).ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
