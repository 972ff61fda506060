"""The promises of `Runaway`: whatever a program does, its run ends, and the line is named."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pytest
from simulation_help import runaway, script, start

from tutorial_lib import Child, TupleSpace, note, simulate, watchdog
from tutorial_lib.whereabouts import place_of_error, place_of_frame

PATIENCE = 120.0  # seconds: a wall limit that only a run that hangs exceeds


class LateClock:
    """A clock for the wall limit: it stands at 0 until the program has come to what it is about."""

    def __init__(self) -> None:
        self._zero: float | None = None

    def begin(self) -> None:
        """Let it run from now on."""
        self._zero = time.monotonic()

    def monotonic(self) -> float:
        """Return the time on this clock."""
        return 0.0 if self._zero is None else time.monotonic() - self._zero


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> LateClock:
    """Without it a machine that stumbles could reach a short wall limit before the program has begun."""
    late = LateClock()
    monkeypatch.setattr("tutorial_lib.simulation.time", late)
    return late


def test_a_poller_that_never_pauses_is_named_with_its_line_and_the_cure() -> None:
    """Virtual time stands still while it asks: after a fixed number of passes the run ends."""

    async def poll(space: TupleSpace) -> None:
        while await space.try_take("task") is None:
            pass

    async def main() -> None:
        await asyncio.sleep(2)
        await asyncio.create_task(poll(TupleSpace()), name="w1")

    error = runaway(main, wall_limit=PATIENCE)

    assert "w1 asked 100,000 times at 2 s" in str(error)
    assert "test_watchdog.py line" in str(error)
    assert "try_take" in str(error)
    assert "never paused" in str(error)
    assert "await asyncio.sleep" in str(error)
    assert error.run.elapsed == 2


def test_polling_with_a_timeout_of_zero_is_stopped_as_soon_among_many_tuples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A miss that was asked for without waiting costs as much as in an empty space: no tuple is looked at."""
    looked_at = []
    monkeypatch.setattr("tutorial_lib.board.near_miss", lambda pattern, there: looked_at.extend(there))

    async def main() -> None:
        space = TupleSpace()
        await space.write_many([("job", number) for number in range(100)])
        while True:
            with contextlib.suppress(TimeoutError):
                await space.take("task", timeout=0)

    assert "main asked 100,000 times at 0 s" in str(runaway(main, wall_limit=PATIENCE))
    assert looked_at == []


def test_the_line_is_never_one_of_code_that_python_made_itself() -> None:
    """The learner never wrote what makes a named tuple; the line that called it is named."""
    made = namedtuple("made", "x").__new__.__globals__
    source = "place_of_frame(here())"

    place = eval(source, {**made, "place_of_frame": place_of_frame, "here": sys._getframe})

    assert place.startswith("test_watchdog.py line")
    assert "eval(source" in place


def test_the_line_of_an_error_is_never_one_of_a_dataclass() -> None:
    """Its own methods have no file either; the line that made the object is named."""
    with pytest.raises(ValueError, match="restart") as caught:
        Child("w1", asyncio.sleep, "sometimes")  # type: ignore[arg-type]

    assert "Child(" in place_of_error(caught.value)


def test_many_pollers_are_stopped_as_soon_as_one() -> None:
    """What counts is how often they had their turn together, so twenty take no longer than one."""

    async def poll(space: TupleSpace) -> None:
        while await space.try_take("task") is None:
            pass

    async def main() -> None:
        space = TupleSpace()
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(poll(space), name=f"w{number}")

    assert "w0 asked 5,00" in str(runaway(main, wall_limit=PATIENCE))


def test_a_crowd_of_tasks_is_no_runaway() -> None:
    """Many tasks with a few turns each at one moment: that is a lot, but it comes to an end."""

    async def main() -> int:
        async def few_turns() -> None:
            for _ in range(30):
                await asyncio.sleep(0)

        await asyncio.gather(*(few_turns() for _ in range(5000)))
        return 1

    assert simulate(main, wall_limit=PATIENCE).result == 1


def test_a_loop_that_records_without_end_is_stopped() -> None:
    """Also a loop that never lets others run: recording itself stops it, at the same place always."""
    rounds = []

    async def main() -> None:
        while True:
            note("again")
            rounds.append(1)

    error = runaway(main, wall_limit=PATIENCE)

    assert len(rounds) == 250_000
    assert "main did 250,000 things at 0 s" in str(error)
    assert "test_watchdog.py line" in str(error)
    assert len(error.run.trace) == 250_001


def test_swallowing_everything_does_not_help_a_loop_that_records_without_end() -> None:
    """What the recording throws may be caught; the run is over all the same, and soon."""

    async def main() -> None:
        while True:
            with contextlib.suppress(BaseException):
                note("again")

    assert len(runaway(main, wall_limit=PATIENCE).run.trace) == 250_001


def test_many_events_at_many_moments_are_no_runaway(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits count what happens at one moment, not in the whole run."""
    monkeypatch.setattr("tutorial_lib.virtual_loop.EVENTS_IN_A_MOMENT", 500)
    monkeypatch.setattr("tutorial_lib.virtual_loop.QUIET_TURNS", 200)
    monkeypatch.setattr("tutorial_lib.virtual_loop.QUIET_PASSES", 0)

    async def main() -> None:
        for _ in range(60):
            for _ in range(500):
                note("busy")
            await asyncio.sleep(1)
            for _ in range(190):
                await asyncio.sleep(0)
            await asyncio.sleep(1)
            for _ in range(190):
                await asyncio.sleep(0)

    assert len(simulate(main, wall_limit=PATIENCE).trace) == 30_000


def spin() -> None:
    while True:
        pass


def swallow_everything() -> None:
    while True:
        try:  # noqa: SIM105  (contextlib.suppress would be another loop)
            spin()
        except BaseException:
            pass


def swallow_in_two_rooms() -> None:
    while True:
        try:
            while True:
                try:
                    spin()
                except BaseException:
                    continue
        except BaseException:
            continue


def call_many_functions() -> None:
    while True:
        try:
            print(file=sys.stdout)
            sorted([3, 2, 1], key=lambda number: -number)
        except:  # noqa: E722  (just what a learner may write)
            pass


@pytest.mark.parametrize("loop", [spin, swallow_everything, swallow_in_two_rooms, call_many_functions])
def test_no_loop_outlives_the_wall_limit(loop: Any, clock: LateClock) -> None:
    """Not even one that swallows every exception; its thread is gone, and the line is named."""

    async def main() -> None:
        clock.begin()
        loop()

    threads = threading.active_count()
    error = runaway(main, wall_limit=0.1)

    assert "wall_limit=0.1" in str(error)
    assert "main at test_watchdog.py line" in str(error)
    assert threading.active_count() == threads


def test_what_stops_a_program_leaves_nothing_on_the_screen() -> None:
    """Not between a coroutine and its await, and not in a place whose exceptions Python only prints."""
    source = """
        async def nothing(): pass
        async def between():
            while True:
                coroutine = nothing()
                sum(n for n in range(100_000))
                await coroutine
        class Heavy:
            def __del__(self):
                for _ in range(100_000): pass
        async def in_a_place_that_python_only_prints():
            while True:
                Heavy()
        for program in (between, in_a_place_that_python_only_prints):
            try:
                simulate(program, wall_limit=0.05)
            except Runaway:
                print("stopped")
    """
    ended = script(source, PYTHONWARNINGS="default")
    assert (ended.stdout.split(), ended.stderr) == (["stopped"] * 2, "")


def test_a_pausing_loop_that_swallows_everything_ends_as_well() -> None:
    """asyncio and the learner may swallow what is thrown; the decision stands all the same."""

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(1)
                time.sleep(0.001)
            except BaseException:
                pass

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(stubborn())

    assert "wall_limit" in str(runaway(main, wall_limit=0.1, time_limit=None))


def test_a_leftover_task_that_will_not_end_is_stopped_and_named() -> None:
    """The result of the run stands; the task is named in the errors."""

    async def leftover() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            swallow_everything()

    async def main() -> int:
        start(leftover(), "w1")
        await asyncio.sleep(1)
        return 5

    run = simulate(main)

    assert run.result == 5
    assert "w1" in run.errors[0]
    assert "did not end" in run.errors[0]


def test_a_blocking_call_is_left_behind_and_its_spaces_refuse(clock: LateClock) -> None:
    """What blocks outside Python cannot be stopped: `Runaway` says so, and the thread can do no harm."""
    outcome = []
    spaces = []

    async def main() -> None:
        space = TupleSpace()
        spaces.append(space)
        await space.write("task", 1)
        clock.begin()
        os.read(reading_end, 1)
        outcome.append("went on")

    reading_end, writing_end = os.pipe()
    error = runaway(main, wall_limit=0.1)
    try:
        assert "cannot stop" in str(error)
        assert len(error.run.trace) == 1
        with pytest.raises(RuntimeError, match="had to be stopped"):
            asyncio.run(spaces[0].take("task", 1))
    finally:
        os.write(writing_end, b"x")
        for thread in threading.enumerate():
            if thread.name == "simulate":
                thread.join()
        os.close(reading_end)
        os.close(writing_end)
    assert outcome == []
    assert len(error.run.trace) == 1


def test_a_run_inside_a_run_is_stopped_with_it(clock: LateClock) -> None:
    """The wall limit of the outer run ends both, and neither thread stays behind."""

    async def inner() -> None:
        clock.begin()
        swallow_everything()

    async def outer() -> None:
        simulate(inner)

    threads = threading.active_count()
    error = runaway(outer, wall_limit=0.1)

    assert "wall_limit=0.1" in str(error)
    assert "simulate(inner)" in str(error)
    assert threading.active_count() == threads


@pytest.mark.parametrize("depth", [2, 3])
def test_runs_inside_each_other_end_from_the_innermost_on(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is thrown into a run that still has another to end, whenever that comes."""
    running: list[int] = []
    throw = watchdog._throw

    def note_and_throw(error: type[BaseException], thread: threading.Thread) -> None:
        runs = [other for other in threading.enumerate() if other.name == "simulate"]
        running.append(len(runs) - runs.index(thread))  # threads are listed in the order of their start
        throw(error, thread)

    monkeypatch.setattr(watchdog, "_throw", note_and_throw)

    async def swallow() -> None:
        swallow_everything()

    def around(program: Any) -> Any:
        async def main() -> None:
            simulate(program)

        return main

    program: Any = swallow
    for _ in range(depth - 1):
        program = around(program)

    for moment in range(6):
        runaway(program, wall_limit=0.02 + 0.005 * moment)

        assert all(thread.name != "simulate" for thread in threading.enumerate())
    assert set(running) == {1}


def test_a_run_inside_a_run_that_cannot_be_stopped_is_waited_for_and_left_behind(clock: LateClock) -> None:
    """The run around it ends all the same, with all the time that it needs for giving up."""
    reading_end, writing_end = os.pipe()

    async def inner() -> None:
        clock.begin()
        os.read(reading_end, 1)

    async def outer() -> None:
        simulate(inner)

    error = runaway(outer, wall_limit=0.05)
    left = [thread for thread in threading.enumerate() if thread.name == "simulate"]
    os.write(writing_end, b"x")
    for thread in left:
        thread.join()
    os.close(reading_end)
    os.close(writing_end)

    assert len(left) == 1
    assert "cannot stop" not in str(error)


def test_a_run_inside_a_run_does_not_count_as_a_long_step() -> None:
    """The inner run names its own long steps; the outer one has nothing to be blamed for."""

    async def inner() -> None:
        time.sleep(0.3)

    async def outer() -> list[str]:
        return simulate(inner).errors

    run = simulate(outer)

    assert "time.sleep(0.3)" in run.result[0]
    assert run.errors == []


def test_a_step_that_holds_the_loop_is_named() -> None:
    """time.sleep in a coroutine stops everybody: the step is named once, with its line and the cure."""

    async def worker() -> None:
        await asyncio.sleep(1)
        time.sleep(0.3)

    async def main() -> None:
        await asyncio.create_task(worker(), name="w1")

    (error,) = simulate(main).errors

    assert "w1" in error
    assert "time.sleep(0.3)" in error
    assert "0.1 s" in error
    assert "asyncio.sleep" in error


@pytest.fixture
def a_stop_button() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, as in a notebook; a process in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("a_stop_button")
def test_an_interrupt_of_the_caller_stops_the_run() -> None:
    """The stop button of a notebook: the interrupt arrives at the caller, and no thread stays behind."""

    async def main() -> None:
        threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        swallow_everything()

    with pytest.raises(KeyboardInterrupt):
        simulate(main)

    assert all(thread.name != "simulate" for thread in threading.enumerate())


@pytest.mark.usefixtures("a_stop_button")
def test_a_second_press_of_the_stop_button_leaves_no_thread_behind_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever is impatient presses again while the run is being stopped; it is stopped all the same."""
    presses = iter(range(3))
    throw = watchdog._throw

    def press_and_throw(error: type[BaseException], thread: threading.Thread) -> None:
        if thread is not threading.current_thread() and next(presses, None) is not None:
            signal.raise_signal(signal.SIGINT)
        throw(error, thread)

    async def main() -> None:
        threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        swallow_everything()

    monkeypatch.setattr(watchdog, "_throw", press_and_throw)
    with pytest.raises(KeyboardInterrupt):
        simulate(main)

    assert next(presses, None) is None
    assert all(thread.name != "simulate" for thread in threading.enumerate())


@pytest.mark.parametrize("program", ["asyncio.sleep", "spin"])
def test_a_run_leaves_the_interpreter_as_it_was(program: str) -> None:
    """Nothing stays on its way into a thread that has ended: a profiler would hang, and all be slower."""
    ended = script(
        f"""
        import cProfile
        from collections import namedtuple

        async def spin(seconds):
            while True:
                pass

        try:
            simulate({program}, 1, wall_limit=0.5)
        except Runaway:
            pass
        cProfile.run("namedtuple('Point', 'x')(1)")
        """
    )
    assert "function calls" in ended.stdout, ended.stderr
