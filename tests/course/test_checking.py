"""How an answer is run and judged, whatever the exercise."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import sys
import time
import warnings
from dataclasses import replace

import pytest
from answers import breaker, matching, metrics, retry
from answers import load_balance as answers

from tutorial_lib import TupleSpace
from tutorial_lib.course import NotAttempted
from tutorial_lib.course.catalog import EXERCISES
from tutorial_lib.course.checking import KEPT_OUTPUT, Exercise, Objection, clock, examine
from tutorial_lib.flow import RateLimiter
from tutorial_lib.virtual_loop import VirtualLoop

LOAD_BALANCE = EXERCISES["load-balance"]


def one_run(program, **settings):
    """Make an exercise whose answer takes a space and is run once by ``program``."""

    def judge(examination):
        examination.run("one run", program, **settings)

    return replace(LOAD_BALANCE, id="one-run", judge=judge, arguments=("space",))


async def call_it(answer):
    """Call the answer with a space."""
    return await answer(TupleSpace("space"))


async def right(space):
    """Write a tuple, and take it."""
    await space.write("task", 1)
    await space.take("task", int)


async def sleeps_by_itself(space):
    """Put other functions in the place of those of the library."""
    real_sleep = asyncio.sleep

    async def my_sleep(seconds):
        await real_sleep(seconds)

    asyncio.sleep = asyncio.tasks.sleep = my_sleep
    asyncio.Event.wait = time.sleep = random.random = print
    VirtualLoop.time = lambda loop: 1.0
    raise ZeroDivisionError


def test_what_an_answer_puts_in_the_place_of_library_functions_is_taken_out_again():
    """Also when it fails: the next check and the next cell find everything as it was."""
    before = everything_that_it_replaces()
    assert examine(one_run(call_it), sleeps_by_itself).outcome == "error"
    assert everything_that_it_replaces() == before


def everything_that_it_replaces():
    """Return the functions as they are now."""
    return [
        *(asyncio.sleep, asyncio.tasks.sleep, asyncio.Event.wait),
        *(VirtualLoop.time, time.sleep, random.random),
    ]


# What is handed in -----------------------------------------------------------------------------------


async def main():
    """An async function that somebody has called too early."""


async def generates():
    """An async generator."""
    yield 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: 5, "5 (int) cannot be called"),
        (lambda: main(), "main(...) was called before it was handed in"),
        (lambda: (n for n in ()), "a generator was handed in"),
        (lambda: generates(), "an async generator was handed in"),
        (lambda: lambda tasks, process: 5, "answer(...) gave 5 (int), which cannot be awaited"),
        (lambda: lambda tasks, process: (n for n in ()), "contains yield"),
        (lambda: lambda: None, "does not fit answer()"),
        (lambda: "load_balance", "'load_balance' (str) cannot be called"),
    ],
)
def test_a_wrong_kind_of_answer_is_an_error_told_plainly(make, says):
    """What is no function of the right kind is named, and never run to the end."""
    verdict = examine(LOAD_BALANCE, make())
    assert verdict.outcome == "error"
    assert says in verdict.message
    assert "async def load_balance(tasks, process)" in verdict.message


def test_nothing_handed_in_is_not_attempted():
    """None is what a forgotten name gives."""
    assert examine(LOAD_BALANCE, None).outcome == "not attempted"


@pytest.mark.parametrize(
    ("exercise", "make"),
    [
        ("load-balance", lambda: main()),
        ("load-balance", lambda: generates()),
        ("load-balance", lambda: answers.stub),
        ("load-balance", lambda: answers.forgets_to_await_process),
        ("matching", lambda: matching.without_await),
        ("retry", lambda: retry.forgets_await),
        ("breaker", lambda: breaker.a_function),
        ("metrics", lambda: metrics.async_answer),
    ],
)
def test_nothing_is_complained_about_later(exercise, make):
    """No coroutine is left behind that Python would grumble about in some later cell."""
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        examine(EXERCISES[exercise], make())
        gc.collect()
    assert [str(complaint.message) for complaint in complaints] == []


def test_whatever_gives_something_to_await_is_accepted():
    """A bound method, an object that is called, a plain function that hands on a coroutine."""

    class Worker:
        async def method(self, space):
            await right(space)

        async def __call__(self, space):
            await right(space)

    exercise = one_run(call_it)
    for answer in (Worker().method, Worker(), lambda space: right(space)):
        assert examine(exercise, answer).passed


# What is told ----------------------------------------------------------------------------------------


def test_not_attempted_is_seen_in_a_group_of_errors_too():
    """A stub may be called from a task group."""

    async def half_done(space):
        async def gap():
            raise NotAttempted

        async with asyncio.TaskGroup() as group:
            group.create_task(gap())

    assert examine(one_run(call_it), half_done).outcome == "not attempted"


def test_an_error_of_the_answer_names_the_line_and_the_time():
    """What was raised, when, and where."""

    async def slips(space):
        await asyncio.sleep(3)
        return [][1]

    verdict = examine(one_run(call_it), slips)
    assert verdict.outcome == "error"
    assert "at 3 s it raised IndexError: list index out of range, in test_checking.py line" in verdict.message
    assert "return [][1]" in verdict.message


def test_a_message_keeps_to_its_five_lines():
    """Whatever an answer says, and however much of it."""

    async def says_much(space):
        raise ValueError("line\n" * 1000)

    lines = examine(one_run(call_it), says_much).message.splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) < 550


def test_an_error_that_cannot_be_printed_is_told_by_its_name():
    """The answer's own classes may have faults of their own."""

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    async def raises_it(space):
        raise Mute

    assert "it raised Mute, in" in examine(one_run(call_it), raises_it).message


def test_leaving_the_interpreter_is_an_error_like_others():
    """sys.exit in an answer ends the answer, and not the notebook."""

    async def exits(space):
        sys.exit("bye")

    verdict = examine(one_run(call_it), exits)
    assert verdict.outcome == "error"
    assert "SystemExit: bye" in verdict.message


def test_the_first_broken_promise_is_told_before_its_consequence():
    """If an invariant broke, it does not matter that the run ended by an error later."""

    def nothing_is_written(trace):
        for event in trace.of("write"):
            raise Objection("nothing is written.", f"{event.fields} was.", "do not.", at=event.time)

    async def writes_and_fails(space):
        await space.write("task", 1)
        raise ValueError("too late")

    verdict = examine(one_run(call_it, invariants=nothing_is_written), writes_and_fails)
    assert verdict.outcome == "not yet"
    assert "('task', 1) was." in verdict.message


def test_a_task_that_died_unseen_is_mentioned():
    """When something is missing, the task that should have done it may have died long before."""

    def something_is_written(examination):
        examination.run("one run", call_it)
        raise Objection("something is written.", "nothing was.", "do.")

    async def starts_a_task(space):
        async def dies():
            raise KeyError("price")

        asyncio.create_task(dies(), name="helper")  # noqa: RUF006
        await asyncio.sleep(1)

    exercise = replace(one_run(call_it), judge=something_is_written)
    assert "Before that, helper died of KeyError('price')" in examine(exercise, starts_a_task).message


def test_a_verdict_has_what_is_needed_to_look_closer():
    """The run, its seed, the first wrong moment, and what the answer printed."""
    verdict = examine(LOAD_BALANCE, answers.static_split)
    assert not verdict.passed
    assert verdict.run is not None
    assert verdict.run.trace.of("start", actor="ann")
    assert verdict.moment == 2.5
    assert "(seed 0)" in verdict.message
    assert 'Replay: check("load-balance", static_split).show()' in verdict.message


def test_times_are_written_exactly():
    """Microseconds count at the edge of a window, and a year is still a number of seconds."""
    assert [clock(0.000001), clock(1.5), clock(31_536_000.25)] == ["0.000001 s", "1.5 s", "31536000.25 s"]


# What stays apart ------------------------------------------------------------------------------------


def test_what_an_answer_prints_is_kept_and_not_shown(capsys):
    """Extra prints do not matter, and an endless one does not fill the memory."""

    async def talks(space):
        for number in range(10_000):
            print("line", number)
            print("complaint", number, file=sys.stderr)
        await right(space)

    verdict = examine(one_run(call_it), talks)
    assert verdict.passed
    assert verdict.output.startswith("line 0\ncomplaint 0\n")
    assert len(verdict.output) == KEPT_OUTPUT
    assert capsys.readouterr() == ("", "")


def test_runs_share_nothing_that_the_check_hands_out():
    """What an answer does to its arguments in one run is not there in the next."""
    progress = EXERCISES["progress"]

    async def empties_its_jobs(tasks, results, jobs, show):
        total = len(jobs)
        show(0, total)
        await tasks.write_many([("task", jobs.pop()) for _ in range(total)])
        done = 0
        completed = []
        while done < total:
            *_, status, value = await results.take("result", int, str, int)
            completed += [value] if status == "completed" else []
            done += 1
            show(done, total)
        return sum(completed)

    assert examine(progress, empties_its_jobs).passed


def test_a_slow_machine_is_never_blamed():
    """A step that holds up the real clock is noted in the run, and decides nothing."""

    async def calculates(space):
        time.sleep(0.3)
        await right(space)

    verdict = examine(one_run(call_it), calculates)
    assert verdict.passed
    assert any("Held the loop" in error for error in verdict.run.errors)


def test_the_same_answer_gets_the_same_verdict_every_time():
    """A check has no luck: all that is left to chance is drawn from seeds."""
    first, second = (examine(EXERCISES["retry"], jittery) for _ in range(2))
    assert first.message == second.message
    assert first.run.trace.text() == second.run.trace.text()


async def jittery(call, *, attempts=3, budget=30.0):
    """Waits by chance, from the global generator that every run seeds anew."""
    import random

    for _ in range(attempts):
        try:
            return await call()
        except ConnectionError:
            await asyncio.sleep(random.random())
    return None


# Endless answers -------------------------------------------------------------------------------------


async def polls(space):
    """Without a pause."""
    while True:
        await space.try_take("task")


async def waits(space):
    """For what never comes."""
    await space.take("task", int)


async def catches_everything(space):
    """Also what is meant to stop it."""
    while True:
        with contextlib.suppress(BaseException):
            await asyncio.sleep(0)


async def writes_without_end(space):
    """Never lets anybody else run."""
    while True:
        await space.write("task", 1)


async def hurries(space):
    """Lets time pass, but never ends."""
    while True:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (polls, "polls lets time go on"),
        (waits, "waits in take for ('task', int) in space"),
        (catches_everything, "catches_everything lets time go on"),
        (writes_without_end, "writes_without_end lets time go on"),
        (hurries, "the time limit is over at 60 s"),
    ],
)
def test_an_answer_without_an_end_is_stopped_and_named(answer, says):
    """It is *not yet*, with who did what, and without advice that is meant for others."""
    verdict = examine(one_run(call_it, time_limit=60.0), answer)
    assert verdict.outcome == "not yet"
    assert says in verdict.message
    assert "wall_limit" not in verdict.message


def test_a_stopped_answer_is_not_told_of_an_await():
    """It may have been stopped just between a coroutine and its await, which is no fault of its own."""

    async def forgets_and_spins(space):
        space.write("task", 1)
        while True:
            await asyncio.sleep(0)

    assert "write await before" not in examine(one_run(call_it), forgets_and_spins).message


def test_the_stop_button_stops_the_check():
    """Ctrl-C is not an answer's error."""

    async def interrupted(answer):
        raise AssertionError("the check itself is broken")

    def judge(examination):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        examine(replace(one_run(interrupted), judge=judge), right)


# Off limits ------------------------------------------------------------------------------------------


def limited(part):
    """Make an exercise in which ``part`` is off limits."""
    return replace(one_run(call_it), off_limits=(part,))


def test_the_part_to_build_is_known_by_any_name():
    """An alias and a subclass are the same part."""

    class Mine(RateLimiter):
        pass

    alias = RateLimiter

    async def by_alias(space):
        await alias(10, 1.0).acquire()

    async def by_subclass(space):
        await Mine(10, 1.0).acquire()

    for answer in (by_alias, by_subclass):
        verdict = examine(limited(RateLimiter), answer)
        assert verdict.outcome == "not yet"
        assert "RateLimiter did the work" in verdict.message


def test_a_part_of_the_same_name_is_fair():
    """Who builds it may call it as it is called."""

    class RateLimiter:
        async def acquire(self):
            await asyncio.sleep(0)

    async def answer(space):
        await RateLimiter().acquire()

    assert examine(limited(globals()["RateLimiter"]), answer).passed


def test_the_library_is_as_it_was_after_a_check():
    """Watching for a part leaves no trace in it."""
    before = dict(vars(RateLimiter))
    examine(limited(RateLimiter), right)
    assert dict(vars(RateLimiter)) == before


# The exercises themselves ----------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_every_exercise_has_its_text(exercise: Exercise):
    """Three hints from a question to nearly the answer, a task, and a line of explanation for a pass."""
    assert len(exercise.hints) == 3
    assert "?" in exercise.hints[0]
    assert all(text.endswith(("?", ".")) for text in (*exercise.hints, exercise.task, exercise.why))
    assert exercise.form in ("async function", "function", "class")


def test_the_ids_are_those_that_were_published():
    """Ids do not change once they are in somebody's notebook."""
    assert set(EXERCISES) == {
        *("matching", "load-balance", "dead-letter", "rate-limit", "progress", "priority"),
        *("detector", "retry-limit", "restart-limit", "retry", "breaker", "metrics"),
    }


class UnprintableError(Exception):
    """An error whose text cannot be made."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("error", [ValueError("many\n\n\nlines\n" * 200), UnprintableError()])
def test_whatever_an_error_says_a_verdict_has_five_lines(error):
    """Long texts are cut, line breaks go, and an error that has no text is told by its class."""

    async def matching(space):
        raise error

    message = examine(EXERCISES["matching"], matching).message
    assert type(error).__name__ in message
    assert len(message.splitlines()) == 5
    assert len(message) < 1500
