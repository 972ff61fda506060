"""retry: growing waits, within a budget."""

from __future__ import annotations

import asyncio
import random

from answers import Wrong
from tutorial_lib.course import NotAttempted


async def stub(call, *, attempts=3, budget=30.0):
    """Try again after ConnectionError and TimeoutError."""
    raise NotAttempted


def now():
    """The running loop is the clock."""
    return asyncio.get_running_loop().time()


# Right answers ---------------------------------------------------------------------------------------


async def doubling(call, *, attempts=3, budget=30.0):
    """Wait 1, 2, 4, ... seconds."""
    end = now() + budget
    wait = 1.0
    for attempt in range(1, attempts + 1):
        try:
            return await call()
        except (ConnectionError, TimeoutError) as error:
            print("attempt", attempt, "failed:", error)
            if attempt == attempts or now() + wait > end:
                raise
        await asyncio.sleep(wait)
        wait *= 2
    return None


async def with_full_jitter(call, *, attempts=3, budget=30.0):
    """A random part of a doubling bound; and a call is cut where the budget ends."""
    began = now()
    bound = 0.5
    async with asyncio.timeout(budget):
        while True:
            attempts -= 1
            try:
                return await call()
            except (ConnectionError, TimeoutError):
                wait = random.uniform(0, bound)
                if not attempts or now() - began + wait > budget:
                    raise
            await asyncio.sleep(wait)
            bound *= 2


class Patience:
    """Linear waits with a little jitter, from a generator of its own, as a class."""

    def __init__(self, step):
        self.step = step

    async def __call__(self, call, *, attempts=3, budget=30.0):
        """Call and call again."""
        chance = random.Random(len(self.__class__.__name__))
        end = now() + budget
        return await self._try(call, attempts, 1, end, chance)

    async def _try(self, call, attempts, number, end, chance):
        try:
            return await call()
        except (ConnectionError, TimeoutError):
            wait = number * self.step + chance.uniform(0, 0.1)
            if number >= attempts or now() + wait > end:
                raise
        await asyncio.sleep(wait)
        return await self._try(call, attempts, number + 1, end, chance)


patience = Patience(0.7)
patience.__name__ = "patience"

RIGHT = [doubling, with_full_jitter, patience]


# Wrong answers ---------------------------------------------------------------------------------------


def variant(
    *,
    catches=(ConnectionError, TimeoutError),
    growth=2.0,
    extra=0,
    asks_budget=True,
    waits_first=False,
    is_good=lambda value: True,
    gives_up=None,
):
    """Make an answer that is right but for what is said."""

    async def answer(call, *, attempts=3, budget=30.0):
        end = now() + budget
        wait = 1.0
        for attempt in range(1, attempts + extra + 1):
            try:
                value = await call()
                if is_good(value):
                    return value
            except catches as error:
                if waits_first:
                    await asyncio.sleep(wait)
                if attempt == attempts + extra or (asks_budget and now() + wait > end):
                    if gives_up is None:
                        raise
                    return gives_up(error)
            await asyncio.sleep(wait)
            wait *= growth
        return None

    return answer


def named(name, answer):
    """Give an answer a name."""
    answer.__name__ = name
    return answer


def raise_wrapped(error):
    """Raise another error in place of the last one."""
    raise ConnectionError("gave up") from error


async def raises_the_first_error(call, *, attempts=3, budget=30.0):
    """The oldest error in place of the newest."""
    errors = []
    for attempt in range(attempts):
        try:
            return await call()
        except (ConnectionError, TimeoutError) as error:
            errors.append(error)
        if attempt + 1 < attempts:
            await asyncio.sleep(2**attempt)
    raise errors[0]


async def cuts_its_wait(call, *, attempts=3, budget=30.0):
    """The budget ends in the middle of a wait."""
    async with asyncio.timeout(budget):
        for attempt in range(attempts):
            try:
                return await call()
            except (ConnectionError, TimeoutError):
                if attempt + 1 == attempts:
                    raise
            await asyncio.sleep(2**attempt)
    return None


async def copies_the_error(call, *, attempts=3, budget=30.0):
    """An error like the last one, and another object."""
    try:
        return await doubling(call, attempts=attempts, budget=budget)
    except ConnectionError as error:
        raise type(error)(*error.args) from None


async def cuts_every_call(call, *, attempts=3, budget=30.0):
    """A second for each call."""

    async def short_call():
        async with asyncio.timeout(1):
            return await call()

    return await doubling(short_call, attempts=attempts, budget=budget)


async def retries_cancellation(call, *, attempts=3, budget=30.0):
    """A cancelled call is tried again."""

    async def call_that_cannot_be_cancelled():
        try:
            return await call()
        except asyncio.CancelledError:
            raise TimeoutError("took too long") from None

    return await doubling(call_that_cannot_be_cancelled, attempts=attempts, budget=budget)


async def all_at_once(call, *, attempts=3, budget=30.0):
    """All attempts side by side."""
    return (await asyncio.gather(*(call() for _ in range(attempts))))[0]


async def forgets_await(call, *, attempts=3, budget=30.0):
    """A coroutine in place of its value."""
    return call()


async def never_calls(call, *, attempts=3, budget=30.0):
    """Nothing is tried."""
    return


async def for_ever(call, *, attempts=3, budget=30.0):
    """No limit, no wait."""
    while True:
        try:
            return await call()
        except Exception:
            continue


async def trips_over_its_own_feet(call, *, attempts=3, budget=30.0):
    """A mistake in the answer itself."""
    try:
        return await call()
    except ConnectionError as error:
        return error.message


async def without_options(call):
    """attempts and budget cannot be handed over."""
    return await call()


WRONG = [
    Wrong(named("equal_waits", variant(growth=1.0)), "not yet", "wait 1 took 1 s and wait 2 1 s on average"),
    Wrong(named("shrinking_waits", variant(growth=0.5)), "not yet", "wait 1 took 1 s and wait 2 0.5 s"),
    Wrong(named("one_call_too_many", variant(extra=1)), "not yet", "call 5 began at 15.4 s"),
    Wrong(
        named("one_call_too_few", variant(extra=-1)), "not yet", "after call 3, at 3.3 s, the answer gave up"
    ),
    Wrong(
        named("ignores_the_budget", variant(asks_budget=False)), "not yet", "no call begins after the budget"
    ),
    Wrong(named("waits_in_vain", variant(waits_first=True)), "not yet", "and its error came out at"),
    Wrong(named("catches_everything", variant(catches=Exception)), "not yet", "had raised ValueError"),
    Wrong(named("catches_os_errors", variant(catches=OSError)), "not yet", "had raised PermissionError"),
    Wrong(copies_the_error, "not yet", "the error of the last call is raised itself, the same object"),
    Wrong(named("catches_too_little", variant(catches=ConnectionError)), "not yet", "gave up"),
    Wrong(named("asks_for_truth", variant(is_good=bool)), "not yet", "after call 1 had returned 0"),
    Wrong(
        named("returns_the_error", variant(gives_up=lambda error: error)), "not yet", "the answer returned"
    ),
    Wrong(
        named("wraps_the_error", variant(gives_up=raise_wrapped)),
        "not yet",
        "raised ConnectionError('gave up')",
    ),
    Wrong(raises_the_first_error, "not yet", "the answer raised ConnectionError('no route, call 1')"),
    Wrong(cuts_its_wait, "not yet", "the answer raised TimeoutError()"),
    Wrong(cuts_every_call, "not yet", "call 1 was cut at 1 s"),
    Wrong(retries_cancellation, "not yet", "CancelledError passes through retries_cancellation"),
    Wrong(all_at_once, "not yet", "call 2 began at 0 s, and call 1 was still running"),
    Wrong(
        forgets_await, "proved nothing", "returned a coroutine (an await is missing), and call had not been"
    ),
    Wrong(never_calls, "proved nothing", "call had not been awaited once"),
    Wrong(for_ever, "not yet", "call 5 began at 0.4 s"),
    Wrong(
        trips_over_its_own_feet,
        "error",
        "AttributeError: 'ConnectionError' object has no attribute 'message'",
    ),
    Wrong(without_options, "error", "give without_options these parameters: (call, attempts, budget)"),
]
