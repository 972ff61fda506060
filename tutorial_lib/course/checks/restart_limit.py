"""restart-limit: a supervisor that restarts a failing child, but not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tutorial_lib.course.answers import Answer
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import cancel, late_start, now, perform, raised_by_calls, some_error
from tutorial_lib.simulation import Run
from tutorial_lib.supervisor import RestartLimitReached, SupervisedSystem
from tutorial_lib.trace import Trace, current_trace

__all__ = ["EXERCISE"]

AT_ONCE: Final = 0.1  # seconds in which a restart must come
FIRST_RUN: Final = 1.7  # seconds until the first failure where the period is checked; no whole number
EDGE: Final = 0.001  # seconds off the edge at which the period is checked
GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond
LENGTH: Final = 200.0  # seconds that a scenario may take

RETURNS: Final = "returns"
LIMIT: Final = "raises RestartLimitReached"


class Child:
    """A child whose runs end as planned. ``starts`` and ``ends`` hold the seconds of all of them."""

    def __init__(self, plan: Callable[[Child], float | None]) -> None:
        self._plan = plan
        self.starts: list[float] = []
        self.ends: list[float] = []

    async def child(self) -> None:
        """Be the child, once."""
        self.starts.append(now())
        number = len(self.starts)
        seconds = self._plan(self)
        try:
            if seconds is None:
                await perform(number, 0.5)
            else:
                await perform(number, seconds, error=some_error(number, f"failure {number}"))
        finally:
            self.ends.append(now())

    @property
    def delay(self) -> float:
        """How long the restarts so far came after the failures, at most."""
        return max([later - end for end, later in zip(self.ends, self.starts[1:], strict=False)], default=0.0)


@dataclass(frozen=True)
class Scenario:
    """How long each run takes until it fails, or None for a normal return; and what must come of it."""

    text: str
    plan: Callable[[Child], float | None]
    starts: int
    ending: str
    options: Mapping[str, Any]


def at_the_edge(limit: int, period: float, sign: int) -> Scenario:
    """Make a scenario in which one restart too many would come just before or just after the period's end.

    The last failure is timed so that the restart after it would come ``period`` after the first restart,
    less or more a millisecond; for an answer that pauses before a restart, a little more.
    """

    def plan(child: Child) -> float | None:
        number = len(child.starts)
        if number == 1:
            return FIRST_RUN
        if number <= limit:
            return period / (2 * limit)
        if number == limit + 1:
            margin = EDGE + 2 * child.delay
            return child.starts[1] + period + sign * margin - child.delay - now()
        return None

    where = "before" if sign < 0 else "after"
    return Scenario(
        f"the failure that is one too many comes 1 ms {where} the period of {period:g} s is over, "
        f"limit={limit}",
        plan,
        starts=limit + 1 if sign < 0 else limit + 2,
        ending=LIMIT if sign < 0 else RETURNS,
        options={} if (limit, period) == (3, 10.0) else {"limit": limit, "period": period},
    )


def fails(times: int, seconds: float) -> Callable[[Child], float | None]:
    """Plan so many failures, each after so many seconds, and then a normal return."""
    return lambda child: seconds if len(child.starts) <= times else None


def across_the_period(child: Child) -> float | None:
    """Plan one failure early, and all others around the moment at which it no longer counts."""
    lengths = (1.0, 8.5, 0.5, 1.2, 0.3)
    number = len(child.starts)
    return lengths[number - 1] if number <= len(lengths) else None


SCENARIOS: Final = (
    Scenario("the child returns", fails(0, 0.0), 1, RETURNS, {}),
    Scenario("the child fails twice and then returns", fails(2, 1.0), 3, RETURNS, {}),
    Scenario("the child fails at once, again and again", fails(99, 0.0), 4, LIMIT, {}),
    Scenario("the child fails every second", fails(99, 1.0), 4, LIMIT, {}),
    Scenario("the child fails every 4 s, eight times", fails(8, 4.0), 9, RETURNS, {}),
    Scenario("the child fails every 30 s, three times", fails(3, 30.0), 4, RETURNS, {}),
    at_the_edge(3, 10.0, -1),
    at_the_edge(3, 10.0, +1),
    Scenario("the child fails at once, limit=5", fails(99, 0.0), 6, LIMIT, {"limit": 5, "period": 2.0}),
    at_the_edge(1, 5.0, -1),
    at_the_edge(1, 5.0, +1),
    at_the_edge(2, 3.0, -1),
    at_the_edge(2, 3.0, +1),
    Scenario("the child fails once, and often 10 s later", across_the_period, 5, LIMIT, {}),
)


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = examination.run(
                scenario.text,
                partial(program, late_start(seed), scenario),
                seed=seed,
                invariants=check_restarts,
                time_limit=10_000.0,
            )
            check_ending(scenario, run)
        examination.run(
            "it is cancelled while the child runs", cancelled, seed=seed, invariants=check_restarts
        )
        examination.run("two of them at once, each with its own child", two_at_once, seed=seed)


# ---------------------------------------------------------------------------------------------------
# What is run


@dataclass(frozen=True)
class Ending:
    """How the answer ended, and when: what it raised, None if it returned; ``is_over`` if it ended at all."""

    error: BaseException | None
    time: float
    is_over: bool = True


async def program(begin: float, scenario: Scenario, answer: Answer) -> Ending:
    """Let the answer supervise one child, and tell how it ended. A mistake in the answer is raised."""
    await asyncio.sleep(begin)
    task = asyncio.create_task(answer(Child(scenario.plan).child, **scenario.options), name=answer.name)
    return await ending_of(task)


async def ending_of(task: asyncio.Task[Any]) -> Ending:
    """Wait for the end of the answer."""
    await asyncio.wait([task], timeout=LENGTH)
    if not task.done():
        return Ending(None, now(), is_over=False)
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None:
        return Ending(None, now())
    causes = [error, error.__cause__]
    is_the_childs = any(known in causes for known in raised_by_calls(current_trace()))
    if not is_the_childs and not isinstance(error, RestartLimitReached):
        raise error
    return Ending(error, now())


async def cancelled(answer: Answer) -> None:
    """Cancel the answer while its child runs: both end, and nothing is restarted."""
    child = Child(fails(1, 50.0))
    task = asyncio.create_task(answer(child.child), name=answer.name)
    await asyncio.sleep(5.0)
    await cancel(task)
    await asyncio.sleep(1.0)
    if len(child.ends) < len(child.starts) or len(child.starts) > 1:
        raise Objection(
            "when you are cancelled, the child is cancelled with you, and not started again.",
            f"the answer was cancelled at 5 s, and at {clock(now())} a child still ran.",
            "await child() itself; a task that you make of it goes on without you.",
            at=5.0,
        )


async def two_at_once(answer: Answer) -> None:
    """Two supervisors do not share a count."""
    first, second = Child(fails(3, 1.0)), Child(fails(3, 1.2))
    tasks = [asyncio.create_task(answer(child.child), name=answer.name) for child in (first, second)]
    for task, child in zip(tasks, (first, second), strict=True):
        ending = await ending_of(task)
        if ending.error is not None:
            raise Objection(
                "each call has a count of its own.",
                f"two children failed three times each, and after start {len(child.starts)} one supervisor "
                f"raised {ending.error!r}.",
                "keep the moments of the restarts in a local variable.",
                at=ending.time,
            )


# ---------------------------------------------------------------------------------------------------
# The promises


def check_restarts(trace: Trace) -> None:
    """A child is started again after a failure, at once, and never beside itself."""
    running = 0
    last = None
    for event in trace.of("start", "finish", "fail"):
        if event.kind != "start":
            running -= 1
            last = event
            continue
        began = f"at {clock(event.time)} the child was started"
        if running:
            raise Objection(
                "there is one child at a time.",
                f"{began} while it was still running.",
                "await child(), and start it again only after that has ended.",
                at=event.time,
            )
        if last is not None and last.kind == "finish":
            raise Objection(
                "a normal return ends the supervision.",
                f"{began} again, and it had returned at {clock(last.time)}.",
                "return as soon as await child() comes back without an error.",
                at=event.time,
            )
        if last is not None and event.time - last.time > AT_ONCE + GRACE:
            raise Objection(
                f"after an exception the child is started again at once, within {clock(AT_ONCE)}.",
                f"{began} again, and it had failed at {clock(last.time)}.",
                "restart without a pause, or with a very short one.",
                at=last.time + AT_ONCE,
            )
        running += 1


def check_ending(scenario: Scenario, run: Run) -> None:
    """The supervision ends when it must, as it must, and after the right number of starts."""
    check_child(run.trace)
    ending: Ending = run.result
    starts, ends = run.trace.of("start"), run.trace.of("finish", "fail")
    came = f"after start {len(starts)}, at {clock(ending.time)}, the answer {_how(ending)}"
    if len(starts) != scenario.starts or _how(ending) != scenario.ending:
        limit = scenario.options.get("limit", 3)
        restarts = ", ".join(clock(event.time) for event in starts[1:][-limit - 1 :])
        raise Objection(
            _promise(scenario, ending),
            f"{came}{f'; the last restarts were at {restarts}' if restarts else ''}.",
            "keep the moments of the restarts, forget those that are period or longer ago, and count the "
            "rest before you restart.",
            at=ending.time,
        )
    if ends and ending.time - ends[-1].time > AT_ONCE + GRACE:
        raise Objection(
            "the supervision ends as soon as it is decided.",
            f"{came}, and the child had ended at {clock(ends[-1].time)}.",
            "decide before you pause.",
            at=ends[-1].time,
        )


def check_child(trace: Trace) -> None:
    """The child was started, and was left alone."""
    if not trace.of("start"):
        raise Objection(
            "child() is awaited.",
            "the child was never started.",
            "begin with await child().",
            outcome="proved nothing",
        )
    cut = [event for event in trace.of("finish", "fail") if event.detail.get("reason") == "cancelled"]
    if cut:
        raise Objection(
            "a child may run for as long as it likes.",
            f"at {clock(cut[0].time)} the child was cancelled, and you were not.",
            "await child() without a time limit of your own.",
            at=cut[0].time,
        )


def _how(ending: Ending) -> str:
    """Say how the answer ended."""
    if not ending.is_over:
        return "still runs"
    if ending.error is None:
        return RETURNS
    return LIMIT if isinstance(ending.error, RestartLimitReached) else f"raises {ending.error!r}"


def _promise(scenario: Scenario, ending: Ending) -> str:
    """Return the promise that is broken: of the limit, or, where none was in play, of the restarts."""
    if scenario.ending == LIMIT or isinstance(ending.error, RestartLimitReached):
        limit, period = scenario.options.get("limit", 3), scenario.options.get("period", 10.0)
        return (
            f"more than {limit} restarts within any {clock(period)} raise RestartLimitReached, and fewer do "
            "not; the first start is no restart."
        )
    if ending.error is not None:
        return "an exception of the child restarts it, and does not come out."
    return "an exception restarts the child, and a normal return ends the supervision."


EXERCISE: Final = Exercise(
    id="restart-limit",
    lesson="06_supervision",
    signature="async def supervise(child, *, limit=3, period=10.0)",
    task=(
        "Await child(). If it returns, you are done. If it raises an Exception, start it again at once, or "
        "within 0.1 s. If that would be more than limit restarts within any period seconds, raise "
        "RestartLimitReached, from tutorial_lib, instead. The first start is no restart, and old restarts "
        "expire. When you are cancelled, the child is cancelled with you."
    ),
    why="only the restarts of the last period count, so a child that fails rarely may live for ever.",
    hints=(
        "What has to be remembered about a restart, so that later you know whether it still counts?",
        "Three restarts in 10 s are allowed. When the fourth is due, which of the earlier ones decides?",
        "Keep a list of the moments of restarts. At an Exception: keep those less than period ago; if there "
        "are limit of them, raise RestartLimitReached; else append the present moment and go round the loop.",
    ),
    judge=judge,
    arguments=("child",),
    options=("limit", "period"),
    off_limits=(SupervisedSystem,),
)
