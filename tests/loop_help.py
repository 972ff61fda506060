"""An event loop in real time whose clock can be put forward, so that a test need not wait for an hour."""

from __future__ import annotations

import asyncio


class MovableLoop(asyncio.SelectorEventLoop):
    """A loop whose clock is ``ahead`` of that of the machine, by so many seconds."""

    ahead = 0.0

    def time(self) -> float:
        """Return the time of the loop."""
        return super().time() + self.ahead
