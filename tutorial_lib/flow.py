"""Flow: a limit on how often something may happen, kept exactly.

A counter that starts afresh every second lets twice the limit through around its edge. This limiter keeps
the moments of the last permits instead: no window of the given length, wherever it begins, holds more than
the limit.

>>> import asyncio
>>> from tutorial_lib.simulation import simulate
>>> async def main():
...     limiter = RateLimiter(2, window=1.0)
...     moments = []
...     for _ in range(5):
...         await limiter.acquire()
...         moments.append(asyncio.get_running_loop().time())
...     return moments
>>> simulate(main).result
[0.0, 0.0, 1.0, 1.0, 2.0]
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context

from tutorial_lib.arguments import check_count, check_period
from tutorial_lib.members import loop_and_shift
from tutorial_lib.trace import current_life

__all__ = ["RateLimiter"]

_TICK = 1e-6  # seconds; the least by which the clock moves on


class _Permit:
    """What one caller asked for: the call that wakes it, and the moment at which it was granted."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.call: asyncio.Future[None] = loop.create_future()
        self.moment: float | None = None
        self._life = current_life()

    def is_wanted(self) -> bool:
        """Tell whether its caller still waits: it has neither been cancelled nor crashed."""
        return self._life.alive and not self.call.done()


class RateLimiter:
    """Grants at most ``limit`` permits in any ``window`` seconds: ``await limiter.acquire()``.

    A window is half open, [t, t + window), and may begin at any t. Permits are granted in the order of
    asking, each as early as the limit allows. A caller that is cancelled gives its turn to the next.

    Raises `TypeError` or `ValueError` unless ``limit`` is a whole number of at least 1 and ``window`` a
    positive number of seconds.

    >>> RateLimiter(10, window=1.0)
    <RateLimiter, 10 in 1 s, 0 waiting>
    """

    def __init__(self, limit: int, window: float) -> None:
        check_count("limit", limit, least=1)
        check_period("window", window)
        self._limit = limit
        self._window = window
        self._granted: deque[float] = deque()  # the moments of the permits that still count, oldest first
        self._waiting: deque[_Permit] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        waiting = sum(permit.is_wanted() for permit in self._waiting)
        return f"<RateLimiter, {self._limit} in {self._window:g} s, {waiting} waiting>"

    async def acquire(self) -> None:
        """Wait for a permit. Whoever gets one without waiting does not pause.

        Raises `RuntimeError` if the limiter belongs to another event loop that is still open.
        """
        loop, shift = loop_and_shift("This rate limiter", self._loop)
        if loop is not self._loop:
            self._move_to(loop, shift)
        permit = _Permit(loop)
        self._waiting.append(permit)
        self._grant(loop)
        if permit.moment is not None:
            return
        try:
            await permit.call
        except asyncio.CancelledError:
            if permit.moment is not None:  # it was granted in the very moment of the cancellation
                self._granted.remove(permit.moment)
                self._grant(loop)
            raise

    def _move_to(self, loop: asyncio.AbstractEventLoop, shift: float) -> None:
        """Belong to ``loop`` from now on. Nobody waits any more on the loop before, which is closed."""
        self._loop = loop
        self._granted = deque(moment + shift for moment in self._granted)
        self._waiting.clear()
        self._timer = None

    def _grant(self, loop: asyncio.AbstractEventLoop) -> None:
        """Grant what the limit allows now, and set the timer for the next."""
        now = loop.time()
        while self._granted and now - self._granted[0] >= self._window:
            self._granted.popleft()
        while self._waiting and len(self._granted) < self._limit:
            permit = self._waiting.popleft()
            if permit.is_wanted():
                permit.moment = now
                permit.call.set_result(None)
                self._granted.append(now)
        if self._waiting and self._timer is None:
            left = self._window - (now - self._granted[0])
            # In an empty context: the timer belongs to the limiter, and outlives a caller that crashes.
            self._timer = loop.call_later(max(left, _TICK), self._on_timer, loop, context=Context())

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._grant(loop)
