"""Checking: running an answer many times in virtual time, and putting what went wrong into words.

===========  ====================================================================================
exercise     what is asked, in data: an id, a signature, hints, and the function that judges
scenario     one setting that the answer is put into, such as "process takes 0.1 s for every task"
objection    the first thing that a judge has against an answer; no objection is a pass
examination  one check of one answer: it runs the scenarios and remembers the last run
===========  ====================================================================================

A judge is a plain function of an `Examination`. It runs scenario after scenario, looks only at the trace
and the result of each run, and raises an `Objection` at the first broken promise. How fast the machine is
never decides: all time is virtual, and what is said about slow steps is not used.
"""

from __future__ import annotations

import gc
import io
import re
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, Final

from tutorial_lib.course.answers import Answer, WrongKind
from tutorial_lib.course.errors import NotAttempted
from tutorial_lib.course.off_limits import Lookout
from tutorial_lib.course.patches import Originals
from tutorial_lib.course.verdict import Outcome, Verdict, one_line, report
from tutorial_lib.simulation import Fault, Run, Runaway, Stalled, simulate
from tutorial_lib.trace import Trace
from tutorial_lib.whereabouts import place_of_error

__all__ = ["SEEDS", "Examination", "Exercise", "Objection", "clock", "examine"]

SEEDS: Final = range(8)
"""The orders of ready tasks that every scenario is run in, unless a test asks for others."""

WALL_LIMIT: Final = 3.0  # real seconds; a run takes some milliseconds, and more if the answer polls
KEPT_OUTPUT: Final = 2_000  # characters of what an answer prints


@dataclass(frozen=True)
class Exercise:
    """One exercise of the course, as data. Its judge raises `Objection` or returns."""

    id: str
    lesson: str
    """The name of the lesson's folder, such as ``"02_producer_consumer"``."""
    signature: str
    """What the learner writes, as code."""
    task: str
    """What is asked, in a few sentences."""
    why: str
    """Shown with a pass, so that a lucky guess still learns why."""
    hints: tuple[str, ...]
    """From a first question to nearly the answer."""
    judge: Callable[[Examination], None]
    arguments: tuple[str, ...]
    """What the check hands over by position."""
    options: tuple[str, ...] = ()
    """What the check hands over by name."""
    off_limits: tuple[type, ...] = ()
    """The classes of the library that this exercise asks to build."""

    @property
    def form(self) -> str:
        """What the learner writes: "async function", "function" or "class"."""
        return {"async": "async function", "def": "function", "class": "class"}[self.signature.split()[0]]


class Objection(Exception):
    """What a judge has against an answer: the first promise that broke.

    ``promise`` must hold, ``happened`` says what came instead, ``advice`` is one next step; each begins in
    lower case and ends with a full stop. ``at`` is the virtual second of the first wrong moment, None if
    the whole run is meant.
    """

    def __init__(
        self,
        promise: str,
        happened: str,
        advice: str,
        *,
        at: float | None = None,
        outcome: Outcome = "not yet",
    ) -> None:
        super().__init__(f"{promise} {happened}")
        self.promise = promise
        self.happened = happened
        self.advice = advice
        self.at = at
        self.outcome = outcome


def clock(seconds: float) -> str:
    """Write a virtual time or a duration.

    >>> clock(0.1 + 0.2), clock(12), clock(31536000.000001)
    ('0.3 s', '12 s', '31536000.000001 s')
    """
    digits = f"{seconds:.6f}".rstrip("0").rstrip(".")
    return f"{digits} s"


class Examination:
    """One check of one answer."""

    def __init__(self, exercise: Exercise, answer: object, seeds: Sequence[int] = SEEDS) -> None:
        self.exercise = exercise
        self.seeds = seeds
        self.answer = Answer(answer, exercise.id, exercise.form, exercise.arguments, exercise.options)
        self.runs = 0
        self.scenario = ""
        self.last_run: Run | None = None
        self.program: Callable[[], Any] | None = None
        self.output = ""
        self.forgotten: list[str] = []  # what was called and never awaited in the last run
        self._lookout = Lookout(exercise.off_limits)
        self._originals = Originals()

    def run(
        self,
        scenario: str,
        program: Callable[[Answer], Awaitable[Any]],
        *,
        seed: int = 0,
        faults: Sequence[Fault] = (),
        invariants: Callable[[Trace], None] | None = None,
        time_limit: float = 600.0,
    ) -> Run:
        """Run ``program(answer)`` in virtual time and return the run; raises `Objection` if it goes wrong.

        ``program`` makes all it needs anew, so that runs share nothing. ``invariants`` judges what must
        hold at every moment; it is asked about every run, also one that was stopped or raised an error, so
        that the first broken promise is told and not its consequence. ``time_limit`` is the virtual second
        at which the answer counts as stuck.
        """

        async def whole() -> Any:
            return await program(self.answer)

        whole.__name__ = "verdict.program"  # how the player's line of code names it
        self.runs += 1
        self.scenario, self.program, self.last_run = scenario, whole, None
        error: BaseException | None = None
        with _captured(self), self._lookout.watching():
            try:
                run = simulate(whole, seed=seed, faults=faults, time_limit=time_limit, wall_limit=WALL_LIMIT)
            except BaseException as raised:
                if not isinstance(getattr(raised, "run", None), Run):
                    raise  # the stop button, or a mistake of the course itself
                error, run = raised, raised.run  # type: ignore[attr-defined]
            finally:
                self._originals.put_back()
        self.last_run = run
        if isinstance(error, Runaway):
            self.forgotten = []  # a coroutine was stopped on its way to its await
            self.program = None  # it is no pleasure to run this again
        _refuse_the_unattempted(error)
        if invariants is not None:
            invariants(run.trace)
        if error is not None:
            raise _objection_to(error, run, self.answer)
        return run

    def clear_away(self) -> None:
        """Let go of what a run left behind now: a forgotten coroutine would complain in some later cell."""
        output, forgotten = self.output, self.forgotten
        with _captured(self):
            gc.collect()
        self.output, self.forgotten = output, forgotten

    def check_parts(self) -> None:
        """Raise `Objection` if the answer used the very part that it was asked to build."""
        part = self._lookout.seen
        if part:
            raise Objection(
                f"you build this yourself, without {part}.",
                f"the behaviour is right in every run, and {part} did the work.",
                f"keep your tests and replace {part} by code of your own.",
            )

    def verdict(self, objection: Objection) -> Verdict:
        """Put an objection into the five lines of a verdict."""
        run = self.last_run
        happened, advice = objection.happened, objection.advice
        if run is not None:
            unseen = [error for error in run.errors if "nobody awaited it" in error]
            happened += "".join(f" Before that, {error}." for error in unseen[:1])
        if self.forgotten and objection.outcome != "error":
            advice = f"write await before {self.forgotten[0]}(...): it was called and never awaited."
        return Verdict(
            exercise=self.exercise.id,
            outcome=objection.outcome,
            message=report(
                f"{objection.outcome.capitalize()}. Ran {self._what_ran()}.",
                objection.promise,
                happened,
                advice,
                f'check("{self.exercise.id}", {self.answer.name}).show()',
            ),
            run=run,
            moment=objection.at,
            program=self.program,
            output=self.output,
        )

    def _what_ran(self) -> str:
        text = f"{self.exercise.id}: {self.scenario}"
        run = self.last_run
        if run is None:
            return text
        faults = f", faults={list(run.faults)!r}" if run.faults else ""
        return f"{text} (seed {run.seed}{faults})"


def examine(exercise: Exercise, answer: object, seeds: Sequence[int] = SEEDS) -> Verdict:
    """Check ``answer`` and return the verdict. Never hangs, and prints nothing.

    ``seeds`` are the orders of ready tasks in which every scenario is run.
    """
    if answer is None:
        return _not_attempted(exercise)
    try:
        examination = Examination(exercise, answer, seeds)
    except WrongKind as error:
        return _wrong_kind(exercise, error)
    try:
        exercise.judge(examination)
        examination.check_parts()
    except NotAttempted:
        return _not_attempted(exercise)
    except WrongKind as error:
        return _wrong_kind(exercise, error)
    except Objection as objection:
        verdict = examination.verdict(objection)
        examination.clear_away()
        return verdict
    return Verdict(
        exercise=exercise.id,
        outcome="passed",
        message=f"Passed. Ran {exercise.id} {examination.runs} times, in {len(seeds)} orders of events.\n"
        f"Why it works: {exercise.why}",
        run=examination.last_run,
        program=examination.program,
        output=examination.output,
    )


# ---------------------------------------------------------------------------------------------------
# What the answer writes


class _Sink(io.TextIOBase):
    """Takes in what an answer prints, and keeps the beginning: an endless loop may print for seconds."""

    def __init__(self) -> None:
        self.kept = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if len(self.kept) < KEPT_OUTPUT:
            self.kept += text[: KEPT_OUTPUT - len(self.kept)]
        return len(text)


@contextmanager
def _captured(examination: Examination) -> Iterator[None]:
    """Keep what the answer prints off the screen, and note the coroutines that it forgot to await."""
    sink = _Sink()
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(sink), redirect_stderr(sink):
        warnings.simplefilter("default")  # each one once: an endless loop may forget many
        yield
    found = [
        re.search(r"coroutine '(?:[^']*\.)?(\w+)' was never awaited", str(item.message)) for item in caught
    ]
    examination.output = sink.kept
    examination.forgotten = [match[1] for match in found if match]


# ---------------------------------------------------------------------------------------------------
# What went wrong


def _leaves(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error itself, or those inside an exception group."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    elif error is not None:
        yield error


def _refuse_the_unattempted(error: BaseException | None) -> None:
    """Raise what decides before any promise: a stub that is still there, a function of the wrong kind."""
    for leaf in _leaves(error):
        if isinstance(leaf, (NotAttempted, WrongKind)):
            raise leaf


def _objection_to(error: BaseException, run: Run, answer: Answer) -> Objection:
    """Say what it means that a run ended with ``error``."""
    supplied = [event.detail["error"] for event in run.trace.of("fail") if "error" in event.detail]
    for leaf in _leaves(error):
        if isinstance(leaf, Objection):
            return leaf
        if isinstance(leaf, (Stalled, Runaway)):
            return _objection_to_endless(leaf, run, answer)
        if any(leaf is known for known in supplied):
            return Objection(
                f"an error that a task raises does not end {answer.name}.",
                f"at {clock(run.elapsed)} {answer.name} ended with {_error_text(leaf)}.",
                "catch what the task may raise where you await it, and go on.",
                at=run.elapsed,
            )
    leaf = next(_leaves(error))
    place = place_of_error(leaf)
    what = f"{_error_text(leaf).rstrip('.')}, in {place}" if place else _error_text(leaf)
    return Objection(
        f"{answer.name} raises no error of its own.",
        f"at {clock(run.elapsed)} it raised {what.rstrip('.')}.",
        "read the line above, and mend it before anything else; verdict.run.trace tells what came before.",
        at=run.elapsed,
        outcome="error",
    )


def _objection_to_endless(error: Stalled | Runaway, run: Run, answer: Answer) -> Objection:
    first, *others = (line.strip() for line in str(error).splitlines())
    if isinstance(error, Stalled):
        waiting = list(dict.fromkeys(others))[:2]
        return Objection(
            f"{answer.name} comes to its end.",
            " ".join([first[0].lower() + first[1:], *waiting]),
            "look at who waits: which write would end that wait, and who was to make it?",
            at=run.elapsed,
        )
    for said, meant in _FOR_CALLERS_OF_SIMULATE.items():
        first = re.sub(said, meant, first)
    return Objection(
        f"{answer.name} lets time go on: every loop in it waits somewhere.",
        first,
        "give the loop something to wait for: a take, or await asyncio.sleep(...). time.sleep(...) stops the "
        "clock for everybody.",
        at=run.elapsed,
    )


_FOR_CALLERS_OF_SIMULATE: Final = {
    r"^The run took longer than wall_limit=[\d.]+ s": f"it did not end within {WALL_LIMIT:g} s",
    r"(never paused, so virtual time stands still\.).*": r"\1",
}
"""What `Runaway` says to whoever calls simulate, and what it means for somebody who handed in an answer."""


def _error_text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # a learner's own error may be unable to say what it is
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _not_attempted(exercise: Exercise) -> Verdict:
    return Verdict(
        exercise=exercise.id,
        outcome="not attempted",
        message=f"Not attempted. {exercise.id} waits for your function: {exercise.signature}\n"
        f'Next step: put your code in the place of raise NotAttempted. hint("{exercise.id}") asks a first '
        "question.",
    )


def _wrong_kind(exercise: Exercise, error: WrongKind) -> Verdict:
    return Verdict(
        exercise=exercise.id,
        outcome="error",
        message=f"Error. {exercise.id} could not be run: {one_line(str(error))}.\n"
        f"Must hold: the answer has this form: {exercise.signature}\n"
        f"Next step: {error.advice}",
    )
