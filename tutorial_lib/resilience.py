"""Resilience: a circuit breaker for asynchronous calls.

Calling a service that is down helps nobody: the caller waits in vain, and the service is given no rest. A
breaker counts the failures. After too many in a row it refuses further calls at once, and after a pause it
lets a single call through, to see whether the service is back.

=========  =====================================================================================
closed     every call goes through; failures in a row are counted
open       no call goes through
half open  one call, the probe, goes through: its success closes the breaker, its failure opens it
=========  =====================================================================================

There is one class for each state, and a fresh object each time a state begins. A call reports its end to the
state in which it began. If the breaker has moved on since, that state is past, and nobody listens to it.

>>> import asyncio
>>> from tutorial_lib.simulation import simulate
>>> async def broken_service():
...     raise ConnectionError("nobody answers")
>>> async def main():
...     breaker = Breaker(fail_max=2, reset_timeout=60.0)
...     for _ in range(3):
...         try:
...             await breaker.call(broken_service)
...         except (ConnectionError, BreakerOpen) as error:
...             print(error)
>>> run = simulate(main)
nobody answers
nobody answers
The breaker is open after 2 failures in a row, so nothing was called. It lets one call try in 60 s.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import ClassVar, TypeVar

from tutorial_lib.arguments import check_duration
from tutorial_lib.members import check_async_function, record, same_loop
from tutorial_lib.trace import Life, current_life

__all__ = ["Breaker", "BreakerOpen"]

T = TypeVar("T")


class BreakerOpen(Exception):
    """A breaker refused a call, and nothing was called. ``retry_after`` says for how many seconds it will.

    ``retry_after`` is 0 while a probe is on its way: the breaker may close at any moment.
    """

    def __init__(self, message: str = "The breaker is open.", retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Breaker:
    """Guards calls of one service: ``await breaker.call(action)``.

    The breaker opens when ``fail_max`` calls in a row have failed, which means: have raised an `Exception`.
    ``reset_timeout`` seconds later the next call is let through as a probe. All other calls are refused with
    `BreakerOpen` until the probe has ended. Success closes the breaker, failure opens it once more.

    A cancelled call says nothing about the service, so it counts neither way; a cancelled or crashed probe
    makes room for another. A call that began while the breaker was closed and ends when it is not changes
    nothing. Each change is an event in the trace: ``open``, ``half_open`` or ``close``, with the name of the
    breaker.

    Make one breaker for each service, and share it between all its callers. Raises `TypeError` or
    `ValueError` unless ``fail_max`` is a whole number of at least 1 and ``reset_timeout`` a number of
    seconds, 0 or more. The pattern is Michael Nygard's, from the book "Release It!".

    >>> Breaker()
    <Breaker breaker, closed, 0 of 5 failures>
    """

    def __init__(self, fail_max: int = 5, reset_timeout: float = 60.0, *, name: str = "breaker") -> None:
        if not isinstance(fail_max, int) or isinstance(fail_max, bool):
            raise TypeError(f"fail_max is a whole number of failures, got {fail_max!r}. Write fail_max=5.")
        if fail_max < 1:
            raise ValueError(f"fail_max is at least 1, got {fail_max!r}: with less it would never be closed.")
        if reset_timeout is None:
            raise TypeError("reset_timeout is a number of seconds, got None: it would stay open for ever.")
        check_duration("reset_timeout", reset_timeout)
        self.fail_max = fail_max
        self.reset_timeout = reset_timeout
        self.name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._state: _State = _Closed(self)

    def __repr__(self) -> str:
        return f"<Breaker {self.name}, {self._state}>"

    @property
    def state(self) -> str:
        """``"closed"``, ``"open"`` or ``"half_open"``. An open breaker stays open until it is called."""
        return self._state.name

    async def call(self, action: Callable[[], Awaitable[T]]) -> T:
        """Await ``action()`` and return what it returns, or raise what it raises.

        ``action`` takes no arguments: write ``breaker.call(lambda: send(mail))`` to give it some.

        Raises `BreakerOpen`, without calling ``action``, while the breaker is open or a probe is on its way;
        `TypeError` if ``action`` is no asynchronous function; and `RuntimeError` if the breaker was used in
        another event loop before.
        """
        check_async_function(action, "Breaker.call() needs an async function without arguments")
        self._loop = same_loop("This breaker", self._loop)
        state = self._state.admit()
        try:
            result = await _awaitable(action)
        except Exception:
            if state is self._state:
                state.call_failed()
            raise
        except BaseException:  # a cancellation, which is no fault of the service
            state.call_abandoned()
            raise
        if state is self._state:
            state.call_succeeded()
        return result

    def begin(self, state: _State, event: str) -> None:
        """Leave the present state for ``state``, and record ``event``."""
        self._state = state
        record(event, breaker=self.name)


def _awaitable(action: Callable[[], Awaitable[T]]) -> Awaitable[T]:
    awaitable = action()
    if not inspect.isawaitable(awaitable):
        raise TypeError(
            f"Breaker.call() needs an async function, but the call returned {awaitable!r}, "
            "which cannot be awaited. Write 'async def'."
        )
    return awaitable


# ---------------------------------------------------------------------------------------------------
# The three states


class _State:
    """What becomes of a call that begins now, and what the end of a call means that began here."""

    name: ClassVar[str]

    def __init__(self, breaker: Breaker) -> None:
        self.breaker = breaker

    def admit(self) -> _State:
        """Let a call begin, and return the state that it belongs to. Raises `BreakerOpen` to refuse it."""
        return self

    def call_succeeded(self) -> None:
        """Learn that a call has returned."""

    def call_failed(self) -> None:
        """Learn that a call has raised an exception."""

    def call_abandoned(self) -> None:
        """Learn that a call was cancelled."""


class _Closed(_State):
    """Every call goes through, and failures in a row are counted."""

    name = "closed"

    def __init__(self, breaker: Breaker) -> None:
        super().__init__(breaker)
        self._failures = 0

    def __str__(self) -> str:
        return f"closed, {self._failures} of {self.breaker.fail_max} failures"

    def call_succeeded(self) -> None:
        self._failures = 0

    def call_failed(self) -> None:
        self._failures += 1
        if self._failures == self.breaker.fail_max:
            cause = "1 failure" if self._failures == 1 else f"{self._failures} failures in a row"
            self.breaker.begin(_Open(self.breaker, cause), "open")


class _Open(_State):
    """No call goes through before the time is over. The first one after that is the probe."""

    name = "open"

    def __init__(self, breaker: Breaker, cause: str) -> None:
        super().__init__(breaker)
        self._cause = cause
        # The virtual clock counts whole microseconds. Rounded, 0.1 + 0.2 is over at 0.3 and not just after.
        self._until = round(_now() + breaker.reset_timeout, 6)

    def __str__(self) -> str:
        return "open"

    def admit(self) -> _State:
        left = self._until - _now()
        if left > 0:
            raise BreakerOpen(
                f"The {self.breaker.name} is open after {self._cause}, so nothing was called. "
                f"It lets one call try in {left:g} s.",
                retry_after=left,
            )
        half_open = _HalfOpen(self.breaker)
        self.breaker.begin(half_open, "half_open")
        return half_open.admit()


class _HalfOpen(_State):
    """One call goes through, the probe. Its end decides."""

    name = "half_open"

    def __init__(self, breaker: Breaker) -> None:
        super().__init__(breaker)
        self._prober: Life | None = None

    def __str__(self) -> str:
        return "half open"

    def admit(self) -> _State:
        if self._prober is not None and self._prober.alive:  # a crashed one will never report
            raise BreakerOpen(
                f"The {self.breaker.name} is half open and its probe is on its way, so nothing was called. "
                "Try again when that has ended."
            )
        self._prober = current_life()
        return self

    def call_succeeded(self) -> None:
        self.breaker.begin(_Closed(self.breaker), "close")

    def call_failed(self) -> None:
        self.breaker.begin(_Open(self.breaker, "a failed probe"), "open")

    def call_abandoned(self) -> None:
        self._prober = None


def _now() -> float:
    return asyncio.get_running_loop().time()
