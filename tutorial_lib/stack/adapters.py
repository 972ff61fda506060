"""Adapters: tenacity and pybreaker on the clock of the running event loop, and their events in the trace.

Both libraries read a clock of their own. Under `simulate` an hour passes in a millisecond, and a budget of
30 seconds or a breaker that opens for a minute would never notice. These small parts tell them the time.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

import pybreaker
from tenacity import RetryCallState
from tenacity.stop import stop_base

from tutorial_lib.arguments import check_duration
from tutorial_lib.members import record

__all__ = ["LoopClockStorage", "TraceListener", "record_retry", "stop_before"]


class stop_before(stop_base):
    """Tells tenacity to stop when the next try would begin ``seconds`` or more after the first.

    Does what ``tenacity.stop_before_delay`` does, on the clock of the running loop. The budget begins when
    this object is made, so make one inside each call:

    >>> from tenacity import AsyncRetrying, stop_after_attempt, wait_fixed
    >>> from tutorial_lib.simulation import simulate
    >>> async def call():
    ...     print("try at", asyncio.get_running_loop().time())
    ...     raise ConnectionError("nobody answers")
    >>> async def main():
    ...     retrying = AsyncRetrying(stop=stop_before(30), wait=wait_fixed(14), reraise=True)
    ...     try:
    ...         await retrying(call)
    ...     except ConnectionError as error:
    ...         print(error)
    >>> run = simulate(main)
    try at 0.0
    try at 14.0
    try at 28.0
    nobody answers

    Raises `RuntimeError` if it is used for a second call, and `TypeError` or `ValueError` unless ``seconds``
    is a number of 0 or more.
    """

    def __init__(self, seconds: float) -> None:
        if seconds is None:
            raise TypeError("stop_before needs a number of seconds, got None. Write stop_before(30).")
        check_duration("seconds", seconds)
        self._deadline = _now() + seconds
        self._call: RetryCallState | None = None

    def __call__(self, retry_state: RetryCallState) -> bool:
        """Tell whether the wait that tenacity has in mind would end too late."""
        if self._call is None:
            self._call = retry_state
        if self._call is not retry_state:
            raise RuntimeError("A stop_before is the budget of one call. Make a new one inside each call.")
        return _now() + retry_state.upcoming_sleep >= self._deadline


def record_retry(retry_state: RetryCallState) -> None:
    """Record the event ``retry`` in the trace. Give it to tenacity: ``before_sleep=record_retry``.

    The event's detail holds ``attempt``, the number of the try that failed, ``wait``, the seconds until the
    next, and ``error``, why it failed.
    """
    error = retry_state.outcome.exception() if retry_state.outcome else None
    record("retry", attempt=retry_state.attempt_number, wait=retry_state.upcoming_sleep, error=repr(error))


_FAR_AHEAD: Final = datetime(9000, 1, 1, tzinfo=UTC)


class LoopClockStorage(pybreaker.CircuitMemoryStorage):
    """Keeps the state of a pybreaker in memory, on the clock of the running loop.

    Give ``reset_timeout`` in seconds, to the storage and to the breaker:
    ``CircuitBreaker(reset_timeout=60, state_storage=LoopClockStorage(60))``.

    pybreaker compares the time of day with ``opened_at`` plus its timeout. So while the loop's clock says
    that the breaker is to stay open, ``opened_at`` lies far ahead; afterwards it is None, which pybreaker
    takes for long ago.
    """

    def __init__(self, reset_timeout: float) -> None:
        check_duration("reset_timeout", reset_timeout)
        super().__init__(pybreaker.STATE_CLOSED)
        self._open_for = reset_timeout
        self._open_until = 0.0

    @property
    def opened_at(self) -> datetime | None:
        """A moment far ahead while the breaker is to stay open, then None."""
        return _FAR_AHEAD if _now() < self._open_until else None

    @opened_at.setter
    def opened_at(self, time_of_day: datetime) -> None:
        self._open_until = round(_now() + self._open_for, 6)  # as fine as the virtual clock


class TraceListener(pybreaker.CircuitBreakerListener):
    """Records each change of a pybreaker as ``open``, ``half_open`` or ``close`` in the trace."""

    def state_change(
        self,
        cb: pybreaker.CircuitBreaker,
        old_state: pybreaker.CircuitBreakerState | None,
        new_state: pybreaker.CircuitBreakerState,
    ) -> None:
        """Record the change; pybreaker calls this."""
        events = {
            pybreaker.STATE_OPEN: "open",
            pybreaker.STATE_HALF_OPEN: "half_open",
            pybreaker.STATE_CLOSED: "close",
        }
        record(events[new_state.name], fields=(cb.name,))


def _now() -> float:
    return asyncio.get_running_loop().time()
