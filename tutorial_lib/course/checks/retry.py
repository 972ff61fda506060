"""retry: calling again after a passing failure, with growing waits, and within a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Any, Final

from tutorial_lib.course.answers import Answer, described, dispose
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import now, perform
from tutorial_lib.simulation import Run
from tutorial_lib.trace import Event, Trace

__all__ = ["EXERCISE"]

GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond
HEAD_START: Final = 1000.0  # seconds on the clock before the answer is called: it does not begin at 0
SEEDS_FOR_WAITS: Final = range(40)  # enough to tell growing waits from chance
"""Runs from which the average waits are taken, beside those of each scenario."""


@dataclass(frozen=True)
class Ending:
    """How the answer ended, and when: ``error`` is what it raised, None if it returned ``value``."""

    value: Any
    error: BaseException | None
    time: float


@dataclass(frozen=True)
class Scenario:
    """What comes of call after call: a value, or an error to raise; the last one is for all further calls.

    ``seconds`` is how long a call takes, ``attempts`` and ``budget`` what the answer is called with (None:
    not handed over, so that its own default holds).
    """

    text: str
    outcomes: Callable[[], Sequence[Any]]
    seconds: float = 0.1
    attempts: int | None = None
    budget: float | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that the answer is called with."""
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


def failing() -> Sequence[Any]:
    """Every call fails, with another error object each time."""
    return [ConnectionError(f"no route, call {number}") for number in range(1, 40)]


SCENARIOS: Final = (
    Scenario("the first call returns 0", lambda: [0]),
    Scenario("the first call returns None", lambda: [None]),
    Scenario(
        "two calls fail and the third returns an empty text",
        lambda: [ConnectionResetError("reset"), TimeoutError("too slow"), ""],
    ),
    Scenario("every call fails", failing),
    Scenario("every call fails, attempts=5", failing, attempts=5, budget=1000.0),
    Scenario("every call fails, attempts=1", failing, attempts=1),
    Scenario(
        "four calls fail and the fifth returns False, attempts=6",
        lambda: [*failing()[:4], False],
        attempts=6,
        budget=1000.0,
    ),
    Scenario("the first call raises ValueError", lambda: [ValueError("no such account")]),
    Scenario(
        "the second call raises KeyError", lambda: [ConnectionError("no route"), KeyError("price"), "never"]
    ),
    Scenario("calls of 4 s fail, attempts=50, budget=10", failing, seconds=4.0, attempts=50, budget=10.0),
    Scenario("quick calls fail, attempts=30, budget=20", failing, seconds=0.01, attempts=30, budget=20.0),
    Scenario("a call of 12 s fails, attempts=3, budget=5", failing, seconds=12.0, budget=5.0),
)

GROWING: Final = Scenario("every call fails, attempts=4, budget=1000", failing, attempts=4, budget=1000.0)


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events, and look at the average waits."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = examination.run(
                scenario.text,
                partial(program, scenario),
                seed=seed,
                invariants=partial(check_calls, scenario),
                time_limit=10_000.0,
            )
            check_ending(scenario, run)
        examination.run("it is cancelled during the second call", cancelled_at_call, seed=seed)
        examination.run("it is cancelled while it waits", cancelled_at_wait, seed=seed)
    check_waits_grow(examination)


# ---------------------------------------------------------------------------------------------------
# What is run


async def program(scenario: Scenario, answer: Answer) -> Ending:
    """Call the answer once, and tell how it ended."""
    await asyncio.sleep(HEAD_START)
    call = make_call(scenario.outcomes(), scenario.seconds)
    task = asyncio.create_task(answer(call, **scenario.options), name=answer.name)
    await asyncio.wait([task])
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None and not is_fair_ending(error, task):
        raise error
    return Ending(None if error else task.result(), error, now())


def is_fair_ending(error: BaseException, task: asyncio.Task[Any]) -> bool:
    """Tell whether an error may be meant by the answer, and is no mistake in it."""
    return isinstance(error, (ConnectionError, TimeoutError, ValueError, KeyError)) and not isinstance(
        error, UnicodeError
    )


def make_call(outcomes: Sequence[Any], seconds: float) -> Callable[[], Awaitable[Any]]:
    """Make a ``call`` for one run, whose calls are numbered from 1 in the trace."""
    made = 0

    async def call() -> Any:
        nonlocal made
        made += 1
        outcome = outcomes[min(made, len(outcomes)) - 1]
        if isinstance(outcome, Exception):
            return await perform(made, seconds, error=outcome)
        return await perform(made, seconds, value=outcome)

    return call
