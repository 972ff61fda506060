"""Breaker: stop calling what does not answer, and try again after a while.

=========  ===================================================================================
closed     calls pass; ``fail_max`` failures in a row open the breaker
open       calls are refused at once, so nobody waits in vain and the other side can recover
half open  one call passes as a probe; it decides whether the breaker closes or opens again
=========  ===================================================================================

Each state is a class below. A call reports its end to the state in which it began, and only the present
state acts on that: a slow call that began long ago cannot disturb it.

>>> import asyncio
>>> from tutorial_lib.simulation import simulate
>>> async def send():
...     raise ConnectionError("no answer")
>>> async def main():
...     breaker = Breaker(fail_max=2, reset_timeout=60)
...     for pause in [0, 1, 1, 60]:
...         await asyncio.sleep(pause)
...         try:
...             await breaker.call(send)
...         except (ConnectionError, BreakerOpen) as error:
...             print(error)
>>> run = simulate(main)
no answer
no answer
The breaker is open for another 59 s. Do without, or try again then.
no answer
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from tutorial_lib.arguments import check_count, check_period
from tutorial_lib.members import check_async_function, loop_and_shift, record
from tutorial_lib.trace import Life, current_life

__all__ = ["Breaker", "BreakerOpen"]

HALF_A_TICK = 5e-7  # seconds; moments nearer to each other than this are the same moment

Result = TypeVar("Result")
Action = Callable[[], Awaitable[Result]]


class BreakerOpen(Exception):
    """The breaker is open, so the call was not made."""


class Breaker:
    """A circuit breaker for async functions: ``await breaker.call(action)``.

    The ``fail_max``-th failure in a row opens it. After ``reset_timeout`` seconds the next call is the
    probe. A failure is any `Exception`, and it reaches the caller as it is. A cancelled call counts neither
    way. Each change is recorded as ``open``, ``half_open`` or ``close`` with the ``name`` of the breaker.

    Raises `TypeError` or `ValueError` unless ``fail_max`` is a whole number of at least 1 and
    ``reset_timeout`` a positive number of seconds.

    Source: Michael Nygard, "Release It!", 2007.

    >>> Breaker(fail_max=5, reset_timeout=60.0)
    <Breaker, closed>
    """

    def __init__(self, fail_max: int = 5, reset_timeout: float = 60.0, *, name: str = "breaker") -> None:
        check_count("fail_max", fail_max, least=1)
        check_period("reset_timeout", reset_timeout)
        self.fail_max = fail_max
        self.reset_timeout = reset_timeout
        self.name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._state: _State = _Closed(self)

    def __repr__(self) -> str:
        return f"<Breaker, {self.state.replace('_', ' ')}>"

    @property
    def state(self) -> str:
        """The state: "closed", "open" or "half_open"."""
        return self._state.word

    async def call(self, action: Action[Result]) -> Result:
        """Await ``action()`` and return its result, unless the breaker is open.

        Raises `BreakerOpen` without calling ``action`` while it is open, or while another call is the
        probe; whatever ``action`` raises; `TypeError` if it cannot be called; and `RuntimeError` if the
        breaker belongs to another event loop that is still open.

        >>> async def send():
        ...     return "sent"
        >>> asyncio.run(Breaker().call(send))
        'sent'
        """
        check_async_function(action, "Breaker.call() needs an async function, as in breaker.call(send)")
        self._loop, shift = loop_and_shift("This breaker", self._loop)
        if isinstance(self._state, _Open):
            self._state.until += shift
            if self._state.left() <= HALF_A_TICK:
                self._change(_HalfOpen(self), "half_open")
        return await self._state.call(action)

    def _change(self, state: _State, kind: str) -> None:
        self._state = state
        record(kind, fields=(self.name,))


class _State(Protocol):
    """What every state can do."""

    word: str

    async def call(self, action: Action[Result]) -> Result:
        """Make the call, or refuse it."""


class _Closed:
    word = "closed"

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker
        self._failures = 0  # in a row

    async def call(self, action: Action[Result]) -> Result:
        try:
            result = await action()
        except Exception:
            self._failures += 1
            if self._failures == self._breaker.fail_max and self._breaker._state is self:
                self._breaker._change(_Open(self._breaker), "open")
            raise
        self._failures = 0
        return result


class _Open:
    word = "open"

    def __init__(self, breaker: Breaker) -> None:
        self.until = asyncio.get_running_loop().time() + breaker.reset_timeout

    def left(self) -> float:
        """Return for how many seconds it stays open."""
        return self.until - asyncio.get_running_loop().time()

    async def call(self, action: Action[Result]) -> Result:
        raise BreakerOpen(
            f"The breaker is open for another {self.left():.3g} s. Do without, or try again then."
        )


class _HalfOpen:
    word = "half_open"

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker
        self._prober: Life | None = None

    async def call(self, action: Action[Result]) -> Result:
        if self._prober is not None and self._prober.alive:
            raise BreakerOpen(
                "The breaker is trying out one call. Do without, or try again when that is over."
            )
        self._prober = current_life()  # if it crashes, the next call is the probe
        try:
            result = await action()
        except Exception:
            self._breaker._change(_Open(self._breaker), "open")
            raise
        except BaseException:
            self._prober = None
            raise
        self._breaker._change(_Closed(self._breaker), "close")
        return result
