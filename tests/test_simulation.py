"""The promises of `simulate`: what may be simulated, what comes of it, and how a run ends."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import random
import threading
import weakref
from typing import Any

import pytest
from simulation_help import notes, script, stalled, start

from tutorial_lib import ANY, Trace, TupleSpace, actor, current_actor, note, simulate
from tutorial_lib.faults import crash
from tutorial_lib.trace import current_trace

# ---------------------------------------------------------------------------------------------------
# The run


def test_a_run_tells_what_came_of_the_program() -> None:
    """Result, trace, virtual length, end, seed, faults and errors of a run are there to be read."""

    async def main(price: int, pieces: int) -> int:
        await asyncio.sleep(2.5)
        note("sold")
        return price * pieces

    run = simulate(main, 6, 7, seed=3)

    assert run.result == 42
    assert notes(run) == [(2.5, "main", "sold")]
    assert run.elapsed == 2.5
    assert run.finished is True
    assert run.seed == 3
    assert run.faults == run.unused_faults == ()
    assert run.errors == []
    assert repr(run) == "<Run finished, 2.5 s, 1 events>"


# ---------------------------------------------------------------------------------------------------
# What may be simulated, and from where


@pytest.mark.parametrize("kind", ["function", "method", "callable object", "lambda"])
def test_a_program_is_anything_that_gives_an_awaitable(kind: str) -> None:
    """An async function, a method, an object that can be called, a lambda that returns a coroutine."""

    class Shop:
        async def sell(self, number: int) -> int:
            await asyncio.sleep(1)
            return number

        def __call__(self, number: int) -> Any:
            return self.sell(number)

    async def sell(number: int) -> int:
        return await Shop().sell(number)

    programs: dict[str, Any] = {
        "function": sell,
        "method": Shop().sell,
        "callable object": Shop(),
        "lambda": lambda number: asyncio.gather(sell(number)),
    }
    assert simulate(programs[kind], 5).result in (5, [5])


def test_a_coroutine_instead_of_a_function_is_refused_with_the_cure(
    recwarn: pytest.WarningsRecorder,
) -> None:
    """simulate(main()) says to write simulate(main), and no warning about a lost coroutine follows."""

    async def main() -> None: ...

    with pytest.raises(TypeError, match=r"simulate\(main\), not simulate\(main\(\)\)"):
        simulate(main())  # type: ignore[arg-type]
    gc.collect()
    assert list(recwarn) == []


@pytest.mark.parametrize("program", [None, 5, "main"])
def test_a_program_that_cannot_be_called_is_refused(program: Any) -> None:
    """What is no function is named in the error."""
    with pytest.raises(TypeError, match=f"got {program!r}"):
        simulate(program)


def test_a_plain_function_or_generator_is_refused() -> None:
    """What returns nothing to await is named, with what to write."""

    def plain() -> int:
        return 5

    def generator() -> Any:
        yield 1

    async def async_generator() -> Any:
        yield 1

    for program in (plain, generator, async_generator):
        with pytest.raises(TypeError, match=rf"{program.__name__}\(\) returned .* cannot be awaited"):
            simulate(program)


@pytest.mark.parametrize("name", ["until", "time_limit", "wall_limit"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "5", True])
def test_times_that_make_no_sense_are_refused(name: str, value: Any) -> None:
    """Negative, infinite and not-a-number times, text and truth values are errors that name the argument."""

    async def main() -> None: ...

    with pytest.raises((TypeError, ValueError), match=name):
        simulate(main, **{name: value})


def test_a_seed_is_a_whole_number() -> None:
    """A seed of another kind is refused."""

    async def main() -> None: ...

    for seed in (1.5, "1", None, True):
        with pytest.raises(TypeError, match="seed is a whole number"):
            simulate(main, seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("faults", [5, "crash", [None], [lambda: None]])
def test_faults_that_are_none_are_refused(faults: Any) -> None:
    """What has neither a time nor an action is no fault; the error shows how to write one."""

    async def main() -> None: ...

    with pytest.raises(TypeError, match=r'crash\("w1", at=3\)'):
        simulate(main, faults=faults)


def test_it_works_inside_a_running_loop() -> None:
    """In a notebook cell a loop is running already: simulate does not mind."""

    async def main() -> float:
        await asyncio.sleep(60)
        return asyncio.get_running_loop().time()

    async def cell() -> float:
        return float(simulate(main).result)

    assert asyncio.run(cell()) == 60


def test_it_works_inside_a_simulated_program() -> None:
    """A program under simulate may simulate another; the two clocks and traces are apart."""

    async def inner() -> str:
        await asyncio.sleep(100)
        note("inner")
        return current_actor()

    async def outer() -> Any:
        await asyncio.sleep(1)
        run = simulate(inner, seed=2)
        note("outer")
        return run

    run = simulate(outer, seed=1)

    assert notes(run) == [(1.0, "main", "outer")]
    assert notes(run.result) == [(100.0, "main", "inner")]


def test_name_and_trace_of_the_caller_stay_outside() -> None:
    """Neither the caller's actor name nor its trace leak into the run; other context variables do."""
    lesson = contextvars.ContextVar("lesson", default="")
    lesson.set("02")

    async def main() -> tuple[str, bool, str]:
        note("inside")
        return current_actor(), current_trace() is outside, lesson.get()

    with Trace() as outside, actor("teacher"):
        run = simulate(main)
        note("outside")

    assert run.result == ("main", False, "02")
    assert [event.detail["text"] for event in outside] == ["outside"]


def test_threads_take_turns() -> None:
    """Two threads may simulate at the same time: each gets the random numbers of its own seed."""

    async def main() -> list[float]:
        numbers = []
        for _ in range(50):
            await asyncio.sleep(1)
            numbers.append(random.random())
        return numbers

    alone = [simulate(main, seed=seed).result for seed in range(4)]
    together: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda seed=seed: together.update({seed: simulate(main, seed=seed).result}))
        for seed in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [together[seed] for seed in range(4)] == alone


def test_nothing_is_left_behind() -> None:
    """After a run its thread has ended, its loop is closed, and this thread has no running loop."""
    loops = []

    async def main() -> None:
        loops.append(asyncio.get_running_loop())

    threads = threading.active_count()
    simulate(main)

    assert threading.active_count() == threads
    assert loops[0].is_closed()
    assert asyncio._get_running_loop() is None


def test_a_run_keeps_its_history_and_nothing_else() -> None:
    """Whoever collects a thousand runs does not collect a thousand loops."""
    loops = []

    async def main() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))

    run = simulate(main)
    gc.collect()

    assert run.finished
    assert loops[0]() is None


def test_a_space_of_a_run_can_be_used_afterwards() -> None:
    """A space that was made inside a run goes on living in another loop."""

    async def main() -> TupleSpace:
        space = TupleSpace()
        await space.write("left", 1)
        return space

    async def after(space: TupleSpace) -> tuple[Any, ...]:
        return await space.take("left", int)

    assert asyncio.run(after(simulate(main).result)) == ("left", 1)


# ---------------------------------------------------------------------------------------------------
# Actors


def test_the_actor_is_the_name_of_the_task_or_of_its_starter() -> None:
    """An explicit name counts, tasks without one inherit, automatic names never count."""

    async def child() -> None:
        note("child")

    async def worker() -> None:
        note("worker")
        await asyncio.create_task(child())

    async def main() -> None:
        note("main")
        await asyncio.create_task(child())
        await asyncio.create_task(worker(), name="w1")
        async with asyncio.TaskGroup() as group:
            group.create_task(worker(), name="w2")
        await asyncio.create_task(child(), name="Task-7")

    assert [(name, text) for _, name, text in notes(simulate(main))] == [
        ("main", "main"),
        ("main", "child"),
        ("w1", "worker"),
        ("w1", "child"),
        ("w2", "worker"),
        ("w2", "child"),
        ("main", "child"),
    ]


def test_a_name_set_by_actor_holds_for_all_inside() -> None:
    """What `actor` says is stronger than the names of tasks."""

    async def child() -> None:
        note("child")

    async def main() -> None:
        with actor("w1"):
            await asyncio.create_task(child(), name="other")
        await asyncio.create_task(child(), name="other")

    assert [name for _, name, _ in notes(simulate(main))] == ["w1", "other"]


# ---------------------------------------------------------------------------------------------------
# The end of a run


def test_until_ends_a_run_quietly() -> None:
    """At `until` the run ends without result: nothing at that moment or later happens."""

    async def main() -> None:
        while True:
            await asyncio.sleep(1)
            note("tick")

    run = simulate(main, until=3)

    assert (run.finished, run.result, run.elapsed) == (False, None, 3.0)
    assert [moment for moment, _, _ in notes(run)] == [1.0, 2.0]
    assert repr(run) == "<Run not finished, 3.0 s, 2 events>"


def test_until_0_ends_before_anything_happens() -> None:
    """Zero is a value: not even the first line of the program runs."""

    async def main() -> None:
        note("never")

    run = simulate(main, until=0)

    assert (len(run.trace), run.elapsed, run.finished) == (0, 0.0, False)


def test_until_also_ends_a_run_in_which_everybody_waits_for_ever() -> None:
    """With an `until` a program that only waits is not stalled: it was asked to go on until then."""

    async def main() -> None:
        await TupleSpace().take("never")

    assert simulate(main, until=50).elapsed == 50


def test_a_program_that_returns_before_until_is_finished() -> None:
    """An earlier return wins."""

    async def main() -> int:
        await asyncio.sleep(2)
        return 1

    run = simulate(main, until=10)

    assert (run.finished, run.result, run.elapsed) == (True, 1, 2.0)


def test_the_time_limit_makes_room_for_a_later_until_only_if_left_alone() -> None:
    """`until` beyond an hour works as it is; a time limit that was given stands."""

    async def main() -> None:
        while True:
            await asyncio.sleep(100)

    assert simulate(main, until=10_000).elapsed == 10_000
    assert "time limit" in str(stalled(main, until=10_000, time_limit=500))


def test_the_trace_is_frozen_and_leftover_tasks_are_cancelled_unrecorded() -> None:
    """What tidies up after the end is no part of the history, but it does tidy up."""
    tidied = []

    async def leftover() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            note("never recorded")
            asyncio.get_running_loop().call_soon(lambda: 1 / 0)
            await asyncio.sleep(0)
            tidied.append(asyncio.get_running_loop().time())

    async def main() -> None:
        start(leftover(), "w1")
        await asyncio.sleep(1)

    run = simulate(main)

    assert tidied == [1.0]
    assert len(run.trace) == 0
    assert run.errors == []


def test_once_the_end_is_noticed_nobody_has_another_turn() -> None:
    """As in asyncio, tasks of the same pass still run; after that there is only tidying up."""
    steps: list[str] = []

    async def other() -> None:
        await asyncio.sleep(1)
        while True:
            steps.append("step")
            await asyncio.sleep(0)

    async def main() -> None:
        start(other())
        await asyncio.sleep(1)
        steps.append("return")

    simulate(main)

    assert steps == ["return", "step"]


def test_the_clock_stands_still_while_leftover_tasks_tidy_up() -> None:
    """A leftover task that wants to sleep on does not keep the run alive."""

    async def leftover() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(100)

    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)

    async def main() -> None:
        start(leftover())
        start(stubborn())
        await asyncio.sleep(0)

    run = simulate(main)

    assert run.elapsed == 0
    assert run.errors == []


def test_async_generators_are_closed_at_the_end() -> None:
    """The `finally` of an async generator that somebody still holds runs at the end of the run."""
    closed = []
    kept = []

    async def numbers() -> Any:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def main() -> None:
        generator = numbers()
        kept.append(generator)
        await anext(generator)

    simulate(main)

    assert closed == [True]


def test_a_task_that_died_unseen_is_named() -> None:
    """Who, of what, where, and that nobody awaited it; what was awaited or cancelled is not named."""

    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError("no paper left")

    async def main() -> None:
        start(fail(), "w1")
        start(asyncio.sleep(1)).cancel()
        seen = asyncio.create_task(fail(), name="w2")
        await asyncio.sleep(2)
        assert isinstance(seen.exception(), ValueError)

    (error,) = simulate(main).errors

    assert "w1" in error
    assert "ValueError('no paper left')" in error
    assert "test_simulation.py line" in error
    assert "nobody awaited it" in error


def test_a_task_that_died_in_the_very_last_pass_is_named_too() -> None:
    """Also if the program returns before anybody could hear of it."""

    async def fail() -> None:
        raise ValueError("at the last moment")

    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: start(fail(), "w1"))
        await asyncio.sleep(0)

    (error,) = simulate(main).errors

    assert "at the last moment" in error


def test_a_callback_that_fails_is_named() -> None:
    """asyncio would print it; here it stands in the errors of the run."""

    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    (error,) = simulate(main).errors

    assert "ZeroDivisionError" in error


def test_after_the_run_nothing_is_reported_any_more() -> None:
    """A handler that the program set is not called for what is thrown away later."""
    reported: list[Any] = []
    kept: list[Any] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: reported.append(context["message"]))
        loop.call_soon(lambda: 1 / 0)
        kept.append(loop.create_future())
        kept[0].set_exception(ValueError("late"))
        await asyncio.sleep(1)

    simulate(main)
    kept.clear()
    gc.collect()

    assert len(reported) == 1
    assert "Exception in callback" in reported[0]


def test_an_error_of_the_program_is_raised_with_the_run() -> None:
    """The same exception object comes out, with the trace up to there, and its traceback begins in main."""
    error = LookupError("gone")

    async def main() -> None:
        await asyncio.sleep(3)
        note("before")
        raise error

    with pytest.raises(LookupError) as caught:
        simulate(main)

    assert caught.value is error
    assert error.run.elapsed == 3  # type: ignore[attr-defined]
    assert notes(error.run) == [(3.0, "main", "before")]  # type: ignore[attr-defined]
    assert error.run.finished is False  # type: ignore[attr-defined]
    assert [entry.name for entry in caught.traceback][-2:] == ["simulate", "main"]


def test_an_exception_group_is_raised_as_it_is() -> None:
    """What a task group raises arrives unchanged."""

    async def fail() -> None:
        raise LookupError

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    with pytest.raises(ExceptionGroup) as caught:
        simulate(main)

    assert isinstance(caught.value.exceptions[0], LookupError)


def test_an_error_that_takes_no_attributes_is_raised_all_the_same() -> None:
    """If the run cannot be attached, the error itself still arrives."""

    class Sealed(Exception):
        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    async def main() -> None:
        raise Sealed("closed")

    with pytest.raises(Sealed, match="closed"):
        simulate(main)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("in_a_task", [False, True])
def test_leaving_the_program_passes_through(error: BaseException, in_a_task: bool) -> None:
    """sys.exit() and an interrupt end the run, from wherever they come, and arrive at the caller."""

    async def leave() -> None:
        raise error

    async def main() -> None:
        if in_a_task:
            start(leave())
            await asyncio.sleep(10)
        await leave()

    with pytest.raises(type(error)) as caught:
        simulate(main)

    assert caught.value is error


def test_nothing_reaches_the_screen() -> None:
    """Leftover tasks, unseen deaths, crashes and lost coroutines print nothing, also in debug mode."""
    source = """
        async def fail(): raise ValueError
        async def wait():
            try:
                await asyncio.sleep(100)
            finally:
                raise LookupError
        async def main():
            tasks = [asyncio.create_task(work) for work in (fail(), wait(), wait())]
            await asyncio.sleep(1)
            tasks += [asyncio.create_task(wait())]
        simulate(main)
        simulate(main, until=0)
        import gc; gc.collect()
    """
    for debug in ("", "1"):
        ended = script(source, PYTHONASYNCIODEBUG=debug, PYTHONWARNINGS="default")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


# ---------------------------------------------------------------------------------------------------
# Stalled


def test_stalled_names_who_waits_for_what_and_what_comes_closest() -> None:
    """The message holds the actor, the pattern, the space and the nearest miss; the run is attached."""

    async def wait(space: TupleSpace) -> None:
        await space.take("task", int)

    async def main() -> None:
        space = TupleSpace("jobs")
        await asyncio.sleep(4)
        await space.write("task", 3, "queued")
        await asyncio.create_task(wait(space), name="w1")

    error = stalled(main)

    assert "4 s" in str(error)
    assert "w1 waits" in str(error)
    assert "('task', int)" in str(error)
    assert "jobs" in str(error)
    assert "('task', 3, 'queued'): 3 fields, 2 asked" in str(error)
    assert (error.run.elapsed, error.run.finished) == (4.0, False)


def test_stalled_names_tasks_and_lines_where_no_space_is_concerned() -> None:
    """Whoever waits for something that is no tuple is named with the innermost line of its own."""

    async def wait_for_the_bell() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await wait_for_the_bell()

    assert "main waits at test_simulation.py line" in str(stalled(main))
    assert "await asyncio.Event().wait()" in str(stalled(main))


def test_stalled_does_not_name_what_has_ended() -> None:
    """Not even a task whose starter crashed before its end."""

    async def starter() -> None:
        start(asyncio.sleep(2), "w2")
        await asyncio.sleep(5)

    async def main() -> None:
        start(starter(), "w1")
        await asyncio.Event().wait()

    text = str(stalled(main, faults=[crash("w1", at=1)]))

    assert "w1 crashed" in text
    assert "w2" not in text


def test_an_infinite_sleep_keeps_nothing_alive() -> None:
    """A timer that never fires is nothing to wait for."""

    async def main() -> None:
        await asyncio.sleep(float("inf"))

    assert "Nothing can ever happen again" in str(stalled(main))


def test_a_cancelled_timer_keeps_nothing_alive() -> None:
    """The clock does not run on to the moment of a timer that was cancelled."""

    async def main() -> None:
        asyncio.get_running_loop().call_later(2000, print).cancel()
        await asyncio.Event().wait()

    assert stalled(main).run.elapsed == 0


def test_the_time_limit_stops_what_only_heartbeats_keep_alive() -> None:
    """Heartbeats would keep a stuck master alive for ever: after an hour the run counts as stalled."""

    async def beat(space: TupleSpace) -> None:
        while True:
            await asyncio.sleep(60)
            await space.replace(("beat", ANY), ("beat", asyncio.get_running_loop().time()), insert=True)

    async def main() -> None:
        space = TupleSpace()
        start(beat(space), "w1")
        await space.take("result", ANY)

    error = stalled(main)

    assert "The time limit is over at 3600 s" in str(error)
    assert "main waits" in str(error)
    assert "('result', ANY)" in str(error)
    assert len(error.run.trace.of("replace", "write")) >= 59


def test_the_moment_of_the_time_limit_itself_still_happens() -> None:
    """Only a moment after the limit is too late; zero allows the first moment, None everything."""

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)

    assert simulate(sleep, 5, time_limit=5).finished
    assert simulate(sleep, 0, time_limit=0).finished
    assert simulate(sleep, 1e6, time_limit=None).finished
    stalled(sleep, 5.000001, time_limit=5)


def test_a_long_list_of_waiting_tasks_is_cut() -> None:
    """A hundred stuck workers do not fill the screen."""

    async def main() -> None:
        space = TupleSpace()
        await asyncio.gather(*(space.take("task", number) for number in range(100)))

    text = str(stalled(main))

    assert len(text.splitlines()) < 15
    assert "more" in text


class Unprintable(Exception):
    """An error whose text cannot be made."""

    def __repr__(self) -> str:
        raise ZeroDivisionError


def test_an_unseen_error_that_cannot_be_printed_is_still_named(capfd):
    """It stands in ``errors`` by its class, and nothing reaches stderr."""

    async def fail():
        raise Unprintable

    async def main():
        task = asyncio.create_task(fail(), name="w1")
        await asyncio.sleep(1)
        return task.done()

    run = simulate(main)
    assert run.result
    assert any(error.startswith("w1 died of <Unprintable>") for error in run.errors)
    assert capfd.readouterr().err == ""


def test_the_exit_that_ends_a_run_was_not_unseen():
    """What simulate raises is not told a second time in ``errors``."""

    async def main():
        raise SystemExit(3)

    with pytest.raises(SystemExit) as caught:
        simulate(main)
    assert caught.value.run.errors == []
