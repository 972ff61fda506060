"""retry: calling again after a passing failure, with growing waits, and within a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import sqrt
from statistics import mean, pvariance
from typing import Any, Final

from tutorial_lib.course.answers import Answer, described, dispose
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import cancel, late_start, now, perform, raised_by_calls
from tutorial_lib.simulation import Run
from tutorial_lib.trace import Event, Trace, current_trace

__all__ = ["EXERCISE"]

GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond
AMPLE: Final = 1000.0  # seconds; a budget that is no reason to give up
LONGEST_CALL: Final = 20.0  # seconds for which a call may go on after the budget
RUNS_FOR_WAITS: Final = 100  # so many runs tell waits that grow from chance
CERTAINTY: Final = 1.5  # standard errors by which a wait must be longer on average


@dataclass(frozen=True)
class Scenario:
    """What comes of call after call: a value, or an error to raise; the last one is for all further calls.

    ``seconds`` is how long a call takes. ``attempts`` and ``budget`` are handed over where they are not None;
    else the defaults of the answer must be these: 3 and 30 s.
    """

    text: str
    outcomes: Callable[[], Sequence[Any]]
    seconds: float = 0.1
    attempts: int | None = None
    budget: float | None = None
    begin: float = 0.0
    """The second at which the answer is called."""

    @property
    def options(self) -> dict[str, Any]:
        """What the answer is called with."""
        given = {"attempts": self.attempts, "budget": self.budget}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def most_calls(self) -> int:
        """How many calls the answer may make."""
        return 3 if self.attempts is None else self.attempts

    @property
    def time_to_spend(self) -> float:
        """The budget, in seconds."""
        return 30.0 if self.budget is None else self.budget

    @property
    def end(self) -> float:
        """When the budget is over, on the clock."""
        return self.begin + self.time_to_spend


@dataclass(frozen=True)
class Call:
    """One call that the answer made. ``error`` is what it raised; a call that was cut has ``is_cut``."""

    number: int
    start: float
    end: float
    error: Exception | None
    is_cut: bool
    value: Any

    @property
    def may_be_repeated(self) -> bool:
        """Tell whether the call failed in a way that may pass."""
        return isinstance(self.error, (ConnectionError, TimeoutError))


@dataclass(frozen=True)
class Ending:
    """How the answer ended, and when: ``error`` is what it raised, None if it returned ``value``."""

    value: Any
    error: BaseException | None
    time: float


def failing() -> Sequence[Any]:
    """Every call fails, each with an error object of its own."""
    return [ConnectionError(f"no route, call {number}") for number in range(1, 60)]


GROWING: Final = Scenario("every call fails, attempts=4, budget=1000", failing, attempts=4, budget=AMPLE)

SCENARIOS: Final = (
    Scenario("the first call returns 0", lambda: [0]),
    Scenario("the first call returns None", lambda: [None]),
    Scenario(
        "two calls fail and the third returns an empty text",
        lambda: [ConnectionResetError("reset"), TimeoutError("too slow"), ""],
    ),
    Scenario("every call fails", failing),
    Scenario("every call fails, attempts=1", failing, attempts=1),
    Scenario("every call fails, attempts=6", failing, attempts=6, budget=AMPLE),
    Scenario(
        "four calls fail and the fifth returns False, attempts=6",
        lambda: [*failing()[:4], False],
        attempts=6,
        budget=AMPLE,
    ),
    Scenario("the first call raises ValueError", lambda: [ValueError("no such account"), "never"]),
    Scenario("the first call raises PermissionError", lambda: [PermissionError("not yours"), "never"]),
    Scenario(
        "the second call raises KeyError", lambda: [ConnectionError("no route"), KeyError("price"), "never"]
    ),
    Scenario("calls of 4 s fail, attempts=50, budget=10", failing, seconds=4.0, attempts=50, budget=10.0),
    Scenario("quick calls fail, attempts=50, budget=20", failing, seconds=0.01, attempts=50, budget=20.0),
    Scenario("a call of 12 s fails, budget=5", failing, seconds=12.0, budget=5.0),
)


def judge(examination: Examination) -> None:
    """Measure the waits, then run every scenario in every order of events."""
    waits = [waits_of_one_run(examination, seed) for seed in range(RUNS_FOR_WAITS)]
    check_waits_grow(waits)
    longest = [max(column) for column in zip(*waits, strict=True)]
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = run_scenario(examination, scenario, seed)
            check_ending(scenario, run, longest)
        examination.run("the call is cancelled", partial(cancelled, 2.0), seed=seed)
        examination.run("the wait after a failure is cancelled", partial(cancelled, 5.01), seed=seed)


# ---------------------------------------------------------------------------------------------------
# What is run


def run_scenario(examination: Examination, scenario: Scenario, seed: int) -> Run:
    """Run one scenario in one order of events."""
    begun = replace(scenario, begin=late_start(seed))
    return examination.run(
        scenario.text,
        partial(program, begun),
        seed=seed,
        invariants=partial(check_calls, begun),
        time_limit=10_000.0,
    )


async def program(scenario: Scenario, answer: Answer) -> Ending:
    """Call the answer once, and tell how it ended. A mistake in the answer is raised."""
    await asyncio.sleep(scenario.begin)
    enough = asyncio.Event()
    call = make_call(scenario.outcomes(), scenario.seconds, scenario.most_calls + 1, enough)
    task = asyncio.create_task(answer(call, **scenario.options), name=answer.name)
    until = asyncio.create_task(enough.wait())
    await asyncio.wait(
        [task, until], timeout=scenario.end + LONGEST_CALL - now(), return_when=asyncio.FIRST_COMPLETED
    )
    if not task.done():
        return Ending(None, None, now())  # what it did too much is seen in its calls
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None:
        return Ending(task.result(), None, now())
    is_meant = isinstance(error, (ConnectionError, TimeoutError, asyncio.CancelledError)) or any(
        known in (error, error.__cause__) for known in raised_by_calls(current_trace())
    )
    if not is_meant:
        raise error
    return Ending(None, error, now())


async def cancelled(after: float, answer: Answer) -> None:
    """Call the answer and cancel it after so many seconds. The first call takes 5 s and fails."""
    call = make_call([ConnectionError("no route")], 5.0, 10, asyncio.Event())
    task = asyncio.create_task(answer(call), name=answer.name)
    await asyncio.sleep(after)
    await cancel(task)


def make_call(
    outcomes: Sequence[Any], seconds: float, most: int, enough: asyncio.Event
) -> Callable[[], Awaitable[Any]]:
    """Make a ``call`` for one run; the calls are numbered from 1 in the trace. ``most`` calls are enough."""
    made = 0

    async def call() -> Any:
        nonlocal made
        made += 1
        if made >= most:
            enough.set()
        outcome = outcomes[min(made, len(outcomes)) - 1]
        if isinstance(outcome, Exception):
            return await perform(made, seconds, error=outcome)
        return await perform(made, seconds, value=outcome)

    return call


def calls_in(trace: Trace) -> list[Call]:
    """Return the calls that have ended, in order."""
    begun = {event.fields[0]: event.time for event in trace.of("start")}
    return [
        Call(
            event.fields[0],
            begun[event.fields[0]],
            event.time,
            event.detail.get("error"),
            "reason" in event.detail,
            event.detail.get("value"),
        )
        for event in trace.of("finish", "fail")
    ]


# ---------------------------------------------------------------------------------------------------
# The promises


def waits_of_one_run(examination: Examination, seed: int) -> list[float]:
    """Return how long the answer waited between its calls when every call fails."""
    run = run_scenario(examination, GROWING, seed)
    check_ending(GROWING, run, [])
    calls = calls_in(run.trace)
    return [later.start - earlier.end for earlier, later in pairwise(calls)]


def check_waits_grow(runs: Sequence[Sequence[float]]) -> None:
    """On average each wait is longer than the one before, by more than chance."""
    columns = list(zip(*runs, strict=True))
    for number, (wait, following) in enumerate(pairwise(columns), start=1):
        error = sqrt((pvariance(wait) + pvariance(following)) / len(runs))
        if mean(following) - mean(wait) <= max(CERTAINTY * error, GRACE):
            raise Objection(
                "each wait is longer than the one before, on average if chance has a part in it.",
                f"in {len(runs)} runs wait {number} took {clock(mean(wait))} and wait {number + 1} "
                f"{clock(mean(following))} on average.",
                "multiply the wait after each failure, for example by two: whoever is overloaded needs more "
                "and more time.",
            )


def check_calls(scenario: Scenario, trace: Trace) -> None:
    """No call is made that must not be made."""
    ended = {call.number: call for call in calls_in(trace)}
    for call in ended.values():
        check_not_cut(scenario, call)
    for event in trace.of("start"):
        number = event.fields[0]
        began = f"call {number} began at {clock(event.time)}"
        if number > scenario.most_calls:
            raise Objection(
                f"there are {scenario.most_calls} calls at most, the first one included.",
                f"{began} of the answer's time.",
                "count calls, and not repetitions: attempts=3 is one call and two more.",
                at=event.time,
            )
        if number > 1:
            check_repetition(event, began, ended.get(number - 1))
        if event.time > scenario.end + GRACE:
            raise Objection(
                f"no call begins after the budget, here {clock(scenario.time_to_spend)}.",
                f"{began}.",
                "before you wait, ask: is now plus the wait still within the budget? If not, raise at once.",
                at=event.time,
            )


def check_not_cut(scenario: Scenario, call: Call) -> None:
    """No call is cut before the end of the budget."""
    if call.is_cut and call.end < scenario.end - GRACE:
        raise Objection(
            "a call may take its time, as long as the budget lasts.",
            f"call {call.number} was cut at {clock(call.end)}; the budget lasts until {clock(scenario.end)}.",
            "the budget is for the whole, not for a single call.",
            at=call.end,
        )


def check_repetition(event: Event, began: str, before: Call | None) -> None:
    """A call that is not the first follows one that has ended and may be repeated."""
    if before is None or before.end > event.time:
        raise Objection(
            "one call at a time.",
            f"{began}, and call {event.fields[0] - 1} was still running.",
            "await each call before you think of the next.",
            at=event.time,
        )
    if not before.is_cut and before.error is None:
        raise Objection(
            "the first call that succeeds is the last one, whatever it returns.",
            f"{began}, after call {before.number} had returned {before.value!r}.",
            "return what the call gave; 0, None and empty text are results like others.",
            at=event.time,
        )
    if before.error is not None and not before.may_be_repeated:
        raise Objection(
            "only ConnectionError and TimeoutError are tried again.",
            f"{began}, after call {before.number} had raised {before.error!r}.",
            "name the two in except; any other error passes on its own.",
            at=event.time,
        )


def check_ending(scenario: Scenario, run: Run, longest: Sequence[float]) -> None:
    """The answer ends at the right moment, with the right value or the very error of the last call.

    ``longest`` holds the longest first, second, third wait that was seen.
    """
    ending: Ending = run.result
    calls = calls_in(run.trace)
    if not calls:
        came = f"raised {ending.error!r}" if ending.error else f"returned {described(ending.value)}"
        dispose(ending.value)
        raise Objection(
            "call() is awaited.",
            f"the answer {came}, and call had not been awaited once.",
            "begin with value = await call().",
            outcome="proved nothing",
        )
    last = calls[-1]
    if last.is_cut:
        check_cut(last, calls, ending)
    elif last.error is None:
        check_value(last, ending)
    else:
        check_error(last, ending)
        check_not_too_soon(scenario, calls, longest)


def check_value(last: Call, ending: Ending) -> None:
    """The value of the call that succeeded is returned, at once."""
    if ending.error is None and type(ending.value) is type(last.value) and ending.value == last.value:
        return
    came = described(ending.value) if ending.error is None else f"raised {ending.error!r}"
    dispose(ending.value)
    raise Objection(
        "the value of the call that succeeds is returned, whatever it is.",
        f"call {last.number} returned {described(last.value)}; the answer gave {came}.",
        "return what await call() gave you; do not ask whether it is true.",
        at=last.end,
    )


def check_error(last: Call, ending: Ending) -> None:
    """The error of the last call is raised itself, and nobody waits for it."""
    if ending.error is None:
        dispose(ending.value)
        raise Objection(
            "when all is in vain, the error of the last call is raised.",
            f"call {last.number} raised {last.error!r}, and the answer returned {described(ending.value)}.",
            "after the last attempt let the error pass: raise.",
            at=last.end,
        )
    if ending.error is not last.error:
        raise Objection(
            "the error of the last call is raised itself, the same object.",
            f"call {last.number} raised {last.error!r}, and the answer raised {ending.error!r}.",
            "raise what you caught, without a wrapper and not the first of many; tenacity needs "
            "reraise=True.",
            at=last.end,
        )
    if ending.time > last.end + GRACE:
        raise Objection(
            "nobody waits after the last call: if no other follows, the error is raised at once.",
            f"call {last.number} failed at {clock(last.end)}, and its error came out at "
            f"{clock(ending.time)}.",
            "first ask whether there is another attempt and whether the wait fits into the budget, then "
            "wait.",
            at=last.end,
        )


def check_not_too_soon(scenario: Scenario, calls: Sequence[Call], longest: Sequence[float]) -> None:
    """Nobody gives up while there are attempts left and the next wait fits."""
    last = calls[-1]
    if scenario.budget == AMPLE:
        wait = 0.0
    elif last.number <= len(longest):
        wait = longest[last.number - 1]
    else:
        return  # a wait that was never measured may have been too long for the budget
    is_given_up = last.may_be_repeated and last.number < scenario.most_calls
    if is_given_up and last.end - calls[0].start + wait <= scenario.time_to_spend:
        raise Objection(
            f"there are {scenario.most_calls} calls, as long as they fail and the waits fit into the budget.",
            f"after call {last.number}, at {clock(last.end)}, the answer gave up; the budget lasts for "
            f"{clock(scenario.time_to_spend)}.",
            "count again: how many calls are made with attempts=3?",
            at=last.end,
        )


def check_cut(last: Call, calls: Sequence[Call], ending: Ending) -> None:
    """A call that was cut ends the answer, with a fair error."""
    causes = [call.error for call in calls if call.error is not None]
    is_fair = isinstance(ending.error, TimeoutError) or (causes and ending.error is causes[-1])
    if not is_fair or ending.time > last.end + GRACE:
        came = f"raised {ending.error!r}" if ending.error else f"returned {described(ending.value)}"
        dispose(ending.value)
        raise Objection(
            "a call that the budget cuts off ends in TimeoutError, or in the error before it.",
            f"at {clock(ending.time)} the answer {came}.",
            "let the TimeoutError of asyncio.timeout pass.",
            at=last.end,
        )


EXERCISE: Final = Exercise(
    id="retry",
    lesson="07_errors",
    signature="async def call_with_retry(call, *, attempts=3, budget=30.0)",
    task=(
        "Await call() and return its value. If it raises ConnectionError or TimeoutError, wait and try "
        "again, with attempts calls in all; the waits grow. Any other error passes at once. No call begins "
        "later than budget seconds after the start, and nobody waits in vain: if there is no attempt left, "
        "or the next wait does not fit into the budget, raise the error of the last call, the same object, "
        "at once."
    ),
    why="only what may pass is tried again, each time with more patience, and never past the budget.",
    hints=(
        "Which questions must be answered before you wait, so that no wait is in vain?",
        "What is the difference between raise and raise MyError(...) for whoever catches it? Which clock do "
        "you ask about the budget?",
        "For each attempt: in try, return await call(). In except (ConnectionError, TimeoutError): if this "
        "was the last attempt, or loop.time() plus the wait is beyond the end of the budget, raise; else "
        "sleep, and double the wait.",
    ),
    judge=judge,
    arguments=("call",),
    options=("attempts", "budget"),
)
