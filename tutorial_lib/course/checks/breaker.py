"""breaker: a circuit breaker for asynchronous calls, with one probe at a time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from tutorial_lib.course.answers import Answer, WrongKind, described, dispose
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.errors import NotAttempted
from tutorial_lib.course.instruments import cancel, late_start, now, perform, some_error
from tutorial_lib.resilience import Breaker, BreakerOpen

__all__ = ["EXERCISE"]

RESET: Final = 60.0  # seconds; the default of reset_timeout
EDGE: Final = 0.001  # seconds before the edge, where a breaker must be open, and after it, where it must not
GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond


def judge(examination: Examination) -> None:
    """Play every scenario in every order of events."""
    for seed in examination.seeds:
        for text, scenario in SCENARIOS.items():
            examination.run(
                text, partial(program, late_start(seed), scenario), seed=seed, time_limit=10_000.0
            )


async def program(begin: float, scenario: Callable[[Answer], Awaitable[None]], answer: Answer) -> None:
    """Play one scenario, from the second ``begin`` on."""
    await asyncio.sleep(begin)
    await scenario(answer)


# ---------------------------------------------------------------------------------------------------
# A breaker, and what is expected of it


class Ran(NamedTuple):
    """What came of a call of the breaker: whether the action ran, and the value or the error."""

    has_run: bool
    value: Any
    error: Exception | None


class Guard:
    """A breaker that the answer has made, and calls of it that expect something.

    Each takes the promise that is broken if it comes otherwise.
    """

    def __init__(self, answer: Answer, **options: Any) -> None:
        self._failures = 0
        self._breaker = answer.function(**options)
        if not callable(getattr(self._breaker, "call", None)):
            what = described(self._breaker)
            dispose(self._breaker)
            raise WrongKind(
                f"{answer.name}(...) gave {what}, which has no method call",
                'hand in a class with a method call: check("breaker", Breaker).',
            )

    async def passes(self, promise: str, seconds: float = 0.1, value: Any = "fine") -> None:
        """Call with an action that succeeds, and expect its value."""
        ran = await self.call(seconds, value=value)
        self._expect_run(promise, ran)
        if ran.error is not None or type(ran.value) is not type(value) or ran.value != value:
            came = f"gave {described(ran.value)}" if ran.error is None else f"raised {ran.error!r}"
            dispose(ran.value)
            raise Objection(
                "the value of a call that goes through is returned, whatever it is.",
                f"the action returned {described(value)}, and call {came}.",
                "return what await action() gave you.",
                at=now(),
            )

    async def fails(self, promise: str, seconds: float = 0.1) -> None:
        """Call with an action that fails, and expect its very error."""
        self._failures += 1
        error = some_error(self._failures, f"nobody answers at {clock(now())}")
        ran = await self.call(seconds, error=error)
        self._expect_run(promise, ran)
        if ran.error is not error:
            came = f"gave {described(ran.value)}" if ran.error is None else f"raised {ran.error!r}"
            dispose(ran.value)
            raise Objection(
                "the error of a call that goes through is raised itself, also when it opens the breaker.",
                f"the action raised {error!r}, and call {came}.",
                "catch the error to count it, and let it pass: raise.",
                at=now(),
            )

    async def is_refused(self, promise: str) -> None:
        """Call, and expect to be refused at once."""
        began = now()
        ran = await self.call(0.1)
        if ran.has_run or not isinstance(ran.error, BreakerOpen):
            came = f"raised {ran.error!r}" if ran.error else f"gave {described(ran.value)}"
            dispose(ran.value)
            raise Objection(
                promise,
                f"at {clock(began)} {'the action ran' if ran.has_run else f'the call {came}'}.",
                "raise BreakerOpen, from tutorial_lib, before the action is awaited.",
                at=began,
            )
        if now() > began + GRACE:
            raise Objection(
                "an open breaker answers at once.",
                f"the call of {clock(began)} was refused at {clock(now())}.",
                "do not wait for the breaker to close: raise BreakerOpen.",
                at=began,
            )

    async def call(self, seconds: float, *, value: Any = None, error: Exception | None = None) -> Ran:
        """Call with an action that takes so many seconds, and tell what came of it."""
        has_run = False

        async def action() -> Any:
            nonlocal has_run
            has_run = True
            return await perform("action", seconds, value=value, error=error)

        given = self._breaker.call(action)
        if not inspect.isawaitable(given):
            raise WrongKind(
                f"call(action) gave {described(given)}, which cannot be awaited", "write async def call."
            )
        try:
            returned = await given
        except NotAttempted:
            raise
        except Exception as raised:
            # What the action raised, a refusal, or a class of the learner's own is an answer; else a mistake.
            if (
                raised is error
                or type(raised).__module__ != "builtins"
                or raised.__cause__ is error is not None
            ):
                return Ran(has_run, None, raised)
            raise
        return Ran(has_run, returned, None)

    def _expect_run(self, promise: str, ran: Ran) -> None:
        if not ran.has_run:
            came = f"raised {ran.error!r}" if ran.error else f"gave {described(ran.value)}"
            dispose(ran.value)
            raise Objection(
                promise,
                f"at {clock(now())} the call {came}, and the action did not run.",
                "look at the state the breaker is in at that moment, and at what has led to it.",
                at=now(),
            )


async def opened(answer: Answer, **options: Any) -> Guard:
    """Return a breaker that failures in a row have just opened, at a whole second."""
    guard = Guard(answer, **options)
    limit = options.get("fail_max", 5)
    for number in range(1, limit + 1):
        promise = f"a closed breaker lets calls through: this is failure {number} of {limit} in a row."
        await guard.fails(promise, seconds=1.0)
    return guard


# ---------------------------------------------------------------------------------------------------
# Scenarios


async def counts_in_a_row(answer: Answer) -> None:
    """Four failures, a success, four failures: that never were five in a row."""
    guard = Guard(answer)
    for value in (0, None, ""):
        await guard.passes("a closed breaker lets calls through.", value=value)
    for _ in range(2):
        for _ in range(4):
            await guard.fails("fewer failures in a row than fail_max leave the breaker closed.")
        await guard.passes("a success begins the count anew.")


async def opens_and_closes(answer: Answer) -> None:
    """Five failures open it; a probe at the end of the time closes it and begins the count anew."""
    guard = await opened(answer)
    await guard.is_refused("after fail_max failures in a row the breaker is open: calls are refused.")
    await asyncio.sleep(RESET - EDGE)
    await guard.is_refused(f"the breaker stays open for reset_timeout, here {clock(RESET)}.")
    await asyncio.sleep(EDGE)
    await guard.passes("at reset_timeout after the opening the next call is let through as a probe.")
    for _ in range(4):
        await guard.fails("a probe that succeeds closes the breaker, and the count begins anew.")
    await guard.fails("the fifth failure in a row opens the breaker again, and is let through itself.")
    await guard.is_refused("after fail_max failures in a row the breaker is open: calls are refused.")


async def probe_fails(answer: Answer) -> None:
    """A probe that fails opens it anew, for the whole time, counted from that failure."""
    guard = await opened(answer)
    await asyncio.sleep(RESET + EDGE)
    await guard.fails(
        "at reset_timeout after the opening the next call is let through as a probe.", seconds=3.0
    )
    await guard.is_refused("one failed probe opens the breaker again.")
    await asyncio.sleep(RESET - EDGE)
    await guard.is_refused("after a failed probe the breaker is open for the whole reset_timeout again.")
    await asyncio.sleep(2 * EDGE)
    await guard.passes("reset_timeout after a failed probe the next call is a probe again.")


async def crowd_at_the_probe(answer: Answer) -> None:
    """Ten callers at the moment of the probe: one gets through."""
    guard = await opened(answer)
    await asyncio.sleep(RESET + EDGE)
    promise = "while the probe is on its way, all other calls are refused."
    probe = asyncio.create_task(
        guard.passes("at reset_timeout after the opening the next call is a probe.", seconds=2.0),
        name="probe",
    )
    await asyncio.sleep(0.1)
    async with asyncio.TaskGroup() as group:
        for number in range(1, 10):
            group.create_task(guard.is_refused(promise), name=f"caller {number}")
    await probe
    await guard.passes("a probe that succeeds closes the breaker.")


async def crowd_without_a_first(answer: Answer) -> None:
    """Ten callers at one and the same moment: whichever is the probe, the others are refused."""
    guard = await opened(answer)
    await asyncio.sleep(RESET + EDGE)
    ran = await asyncio.gather(*(guard.call(2.0, value=number) for number in range(10)))
    probes = sum(call.has_run for call in ran)
    if probes != 1 or sum(isinstance(call.error, BreakerOpen) for call in ran) != 9:
        raise Objection(
            "of ten calls at the moment of the probe one is the probe, and nine are refused.",
            f"at {clock(now())} {probes} actions had run.",
            "mark the place of the probe as taken before you await anything.",
            at=now(),
        )


async def latecomers(answer: Answer) -> None:
    """Calls that began while it was closed and end while it is open change nothing."""
    guard = Guard(answer)
    promise = "a closed breaker lets calls through."
    succeeding = asyncio.create_task(guard.passes(promise, seconds=10.0), name="slow success")
    failing = asyncio.create_task(guard.fails(promise, seconds=30.0), name="slow failure")
    await asyncio.sleep(0.1)
    async with asyncio.TaskGroup() as group:
        for number in range(1, 6):
            group.create_task(guard.fails(promise), name=f"caller {number}")
    await succeeding
    await guard.is_refused("a call that began before the opening does not close the breaker.")
    await failing
    await asyncio.sleep(0.2 + RESET - EDGE - 30.0)
    await guard.is_refused(f"the breaker stays open for reset_timeout, here {clock(RESET)}.")
    await asyncio.sleep(2 * EDGE)
    await guard.passes("a late failure does not make an open breaker stay open for longer.")


async def crowd_of_failures(answer: Answer) -> None:
    """Ten calls that fail at the same moment: each gets its own error, and the breaker is open."""
    guard = Guard(answer)
    async with asyncio.TaskGroup() as group:
        for number in range(1, 11):
            group.create_task(guard.fails("a closed breaker lets calls through."), name=f"caller {number}")
    await guard.is_refused("after fail_max failures in a row the breaker is open: calls are refused.")
    await asyncio.sleep(RESET + EDGE)
    await guard.passes("at reset_timeout after the opening the next call is let through as a probe.")


async def cancelled_probe(answer: Answer) -> None:
    """A probe that is cancelled says nothing, and frees its place."""
    guard = await opened(answer)
    await asyncio.sleep(RESET + EDGE)
    promise = "a cancelled probe frees its place: the next call is the probe."
    for _ in range(2):
        probe = asyncio.create_task(guard.passes(promise, seconds=10.0), name="probe")
        await asyncio.sleep(1.0)
        await guard.is_refused("while the probe is on its way, all other calls are refused.")
        await cancel(probe)
    await guard.fails(promise)
    await guard.is_refused("one failed probe opens the breaker again.")


async def cancelled_call(answer: Answer) -> None:
    """A cancelled call is neither a success nor a failure."""
    guard = Guard(answer)
    promise = "a cancelled call counts neither as a failure nor as a success."
    for _ in range(4):
        await guard.fails(promise)
    for _ in range(3):
        call = asyncio.create_task(guard.passes(promise, seconds=10.0), name="call")
        await asyncio.sleep(1.0)
        await cancel(call)
    await guard.fails(promise)
    await guard.is_refused(promise)


async def two_breakers(answer: Answer) -> None:
    """Two breakers have nothing to do with each other."""
    await opened(answer)
    other = Guard(answer)
    await other.passes("each breaker has a state of its own: another one is still closed.")


async def other_parameters(answer: Answer) -> None:
    """fail_max and reset_timeout are obeyed."""
    guard = await opened(answer, fail_max=1, reset_timeout=5.0)
    await guard.is_refused("with fail_max=1 the first failure opens the breaker.")
    await asyncio.sleep(5.0 - EDGE)
    await guard.is_refused("with reset_timeout=5 the breaker stays open for 5 s.")
    await asyncio.sleep(EDGE)
    await guard.passes("with reset_timeout=5 the probe is let through after 5 s.")


SCENARIOS: Final[Mapping[str, Callable[[Answer], Awaitable[None]]]] = {
    "calls that succeed and fail in turn": counts_in_a_row,
    "five failures in a row, and a probe that succeeds": opens_and_closes,
    "five failures in a row, and a probe that fails": probe_fails,
    "nine callers while a probe is on its way": crowd_at_the_probe,
    "ten callers at the moment of the probe": crowd_without_a_first,
    "slow calls that end after the breaker has opened": latecomers,
    "ten calls that fail at the same moment": crowd_of_failures,
    "a probe that is cancelled": cancelled_probe,
    "a call that is cancelled": cancelled_call,
    "two breakers": two_breakers,
    "fail_max=1 and reset_timeout=5": other_parameters,
}


EXERCISE: Final = Exercise(
    id="breaker",
    lesson="07_errors",
    signature="class Breaker: __init__(self, fail_max=5, reset_timeout=60.0); async def call(self, action)",
    task=(
        "Write a circuit breaker. call awaits action() and returns its value. The failure (any Exception) "
        "that is the fail_max-th in a row opens the breaker, and is raised itself. While it is open, call "
        "raises BreakerOpen, from tutorial_lib, at once. When reset_timeout seconds are over, the next call "
        "is the one probe, and all others get BreakerOpen meanwhile: its success closes the breaker and "
        "begins the count anew, its failure opens it again. Calls that began while it was closed and end "
        "while it is open change nothing. A cancelled probe counts neither way, and frees its place."
    ),
    why="a call asks for the state when it begins, and when it ends it changes only that same state.",
    hints=(
        "Which states are there, and which events lead from one to another? Draw it before you write.",
        "What do you have to remember at the beginning of a call, so that its end does no harm when the "
        "breaker has moved on in the meantime?",
        "In call: if open and the time is not over, or a probe is on its way, raise BreakerOpen. If the time "
        "is over, mark this call as the probe before the await. In except Exception and in else, change "
        "something only if this call is the probe or the breaker is still closed; in finally, a probe frees "
        "its place.",
    ),
    judge=judge,
    arguments=(),
    options=("fail_max", "reset_timeout"),
    off_limits=(Breaker,),
)
