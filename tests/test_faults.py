"""The promises of faults: plain data with a time, and a crash that is real."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import Any

import pytest
from simulation_help import notes, script, start

from tutorial_lib import Run, Stalled, TupleSpace, actor, note, simulate
from tutorial_lib.faults import crash, hang, hire, mute, slow
from tutorial_lib.simulation import Control


def loop() -> Any:
    return asyncio.get_running_loop()


async def tick(times: int = 10) -> None:
    """Note the whole seconds that pass."""
    for second in range(1, times + 1):
        await asyncio.sleep(1)
        note(str(second))


async def two_tickers() -> None:
    """Two workers that tick for ten seconds; the program lasts eleven."""
    start(tick(), "w1")
    start(tick(), "w2")
    await asyncio.sleep(11)


def ticks(run: Run, name: str) -> list[float]:
    return [moment for moment, who, _ in notes(run) if who == name]


# ---------------------------------------------------------------------------------------------------
# Faults are data


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (crash("w1", at=3), 'crash("w1", at=3)'),
        (crash("w1", 3), 'crash("w1", at=3)'),
        (hang("w1", at=3), 'hang("w1", at=3)'),
        (hang("w1", 3, 4.5), 'hang("w1", at=3, seconds=4.5)'),
        (slow("w1", at=3, factor=4), 'slow("w1", at=3, factor=4)'),
        (slow("w1", at=3), 'slow("w1", at=3, factor=4)'),
        (slow("w1", 3.25, 0.5), 'slow("w1", at=3.25, factor=0.5)'),
        (mute("w1", at=3), 'mute("w1", at=3)'),
        (mute("w1", at=0, seconds=2), 'mute("w1", at=0, seconds=2)'),
        (hire("w4", at=5), 'hire("w4", at=5)'),
        (crash('a "b"\\\n働く人', at=1), r'crash("a \"b\"\\\n働く人", at=1)'),
    ],
)
def test_a_fault_prints_as_the_code_that_makes_it(fault: Any, code: str) -> None:
    """The repr is exactly the call, and evaluating it gives an equal fault with an equal hash."""
    assert repr(fault) == code
    assert eval(code) == fault
    assert hash(eval(code)) == hash(fault)


def test_faults_differ_by_kind_name_and_time() -> None:
    """A set holds each different fault once."""
    faults = {
        crash("w1", 3),
        crash("w1", 3),
        crash("w2", 3),
        crash("w1", 4),
        hire("w1", 3),
        hang("w1", 3),
        mute("w1", 3),
    }
    assert len(faults) == 6


def test_a_fault_cannot_be_changed() -> None:
    """What is in a list of faults stays what it is."""
    with pytest.raises(AttributeError):
        crash("w1", at=3).at = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    "make",
    [
        lambda: crash(1, at=3),  # type: ignore[arg-type]
        lambda: crash("", at=3),
        lambda: crash("w1", at=-1),
        lambda: crash("w1", at=float("nan")),
        lambda: crash("w1", at=float("inf")),
        lambda: crash("w1", at="3"),  # type: ignore[arg-type]
        lambda: crash("w1", at=True),
        lambda: hang("w1", at=3, seconds=0),
        lambda: hang("w1", at=3, seconds=-1),
        lambda: hang("w1", at=3, seconds=float("inf")),
        lambda: mute("w1", at=3, seconds=True),
        lambda: mute("w1", at=None),  # type: ignore[arg-type]
        lambda: slow("w1", at=3, factor=0),
        lambda: slow("w1", at=3, factor=float("nan")),
        lambda: slow("w1", at=3, factor=None),  # type: ignore[arg-type]
        lambda: hire(None, at=3),  # type: ignore[arg-type]
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(make: Any) -> None:
    """The error shows the fault as it was written and says what was expected."""
    with pytest.raises((TypeError, ValueError), match=r"^(crash|hang|slow|mute|hire)\(.*: "):
        make()


def test_any_object_with_a_time_and_an_action_is_a_fault() -> None:
    """The simulation knows no fault by name: a fault of one's own does what it wants with the control."""

    @dataclass
    class PowerCut:
        at: float

        def apply(self, control: Control) -> None:
            for name in ("w1", "w2", "w3"):
                control.crash(name)

    run = simulate(two_tickers, faults=[PowerCut(at=4)])

    assert ticks(run, "w1") == ticks(run, "w2") == [1, 2, 3, 4]
    assert [event.actor for event in run.trace.of("crash")] == ["w1", "w2"]
    assert run.unused_faults == ()


# ---------------------------------------------------------------------------------------------------
# When a fault strikes


def test_a_fault_strikes_when_everything_of_its_moment_has_happened() -> None:
    """At its own moment the victim still acts, and the crash is the last event of the moment."""
    run = simulate(two_tickers, faults=[crash("w1", at=3)])

    at_three = [(event.actor, event.kind) for event in run.trace if event.time == 3]

    assert at_three == [("w1", "note"), ("w2", "note"), ("w1", "crash")]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_fault_never_changes_the_past(seed: int) -> None:
    """Up to and including its moment a run with a fault is the run without it, at each recorded moment."""

    async def main() -> None:
        space = TupleSpace()

        async def work() -> None:
            while True:
                _, number = await space.take("task", int)
                await asyncio.sleep(0.3 + number / 7)
                await space.write("result", number)

        for number in range(3):
            start(work(), f"w{number}")
        for number in range(12):
            await space.write("task", number)
            await asyncio.sleep(0.25)
        await asyncio.sleep(10)

    plain = simulate(main, seed=seed).trace
    for moment in dict.fromkeys(event.time for event in plain):
        past = [event for event in plain if event.time <= moment]
        for fault in (crash("w1", at=moment), hang("w2", at=moment, seconds=1)):
            assert simulate(main, seed=seed, faults=[fault]).trace[: len(past)] == past


def test_faults_of_one_moment_strike_in_the_order_of_the_list() -> None:
    """A list of faults is read from left to right where the times are equal."""
    run = simulate(
        two_tickers, faults=[crash("w2", at=3), slow("w1", at=3, factor=2), hang("w1", at=2), crash("w1", 3)]
    )

    kinds = [(event.time, event.kind) for event in run.trace.of("crash", "slow", "hang")]

    assert kinds == [(2, "hang"), (3, "crash"), (3, "slow"), (3, "crash")]


def test_what_meets_nobody_is_listed_as_unused() -> None:
    """Absent, ended and dead actors, and times after the end; nothing is recorded for them."""
    faults = [
        crash("w9", at=1),
        crash("w1", at=2),
        crash("w1", at=3),
        hang("w1", at=4),
        slow("w1", at=4, factor=2),
        mute("w1", at=4),
        hire("w4", at=4),
        crash("w2", at=10.5),
        crash("main", at=11.5),
    ]

    run = simulate(two_tickers, faults=faults)

    assert run.faults == tuple(faults)
    assert run.unused_faults == (faults[0], *faults[2:])
    assert [event.kind for event in run.trace if event.kind != "note"] == ["crash"]


def test_a_fault_at_or_after_until_does_not_strike() -> None:
    """At `until` nothing happens any more, no fault either."""
    faults = [crash("w1", at=5)]
    assert simulate(two_tickers, faults=faults, until=5).unused_faults == tuple(faults)


def test_an_error_in_a_fault_is_raised_with_the_run() -> None:
    """A fault of one's own that fails ends the run like an error of the program."""

    class Broken:
        at = 2

        def apply(self, control: Control) -> None:
            raise LookupError("broken fault")

    with pytest.raises(LookupError, match="broken fault") as caught:
        simulate(two_tickers, faults=[Broken()])

    assert caught.value.run.elapsed == 2  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------
# Crash


def test_a_crash_is_recorded_under_the_name_of_the_victim() -> None:
    """The event has the moment, the actor and the kind `crash`."""
    run = simulate(two_tickers, faults=[crash("w1", at=3.5)])
    assert [(event.time, event.actor, event.kind) for event in run.trace.of("crash")] == [
        (3.5, "w1", "crash")
    ]


def test_a_crashed_actor_never_resumes() -> None:
    """Its ticks end, those of others go on."""
    run = simulate(two_tickers, faults=[crash("w1", at=3.5)])
    assert ticks(run, "w1") == [1, 2, 3]
    assert ticks(run, "w2") == list(range(1, 11))


def test_a_crash_takes_along_everything_that_the_actor_started() -> None:
    """Children without a name of their own, timers and callbacks are parts of the actor."""

    async def worker() -> None:
        start(tick())
        loop().call_later(5, note, "timer")
        await tick()

    async def main() -> None:
        start(worker(), "w1")
        await asyncio.sleep(11)

    assert notes(simulate(main, faults=[crash("w1", at=1.5)])) == [(1.0, "w1", "1"), (1.0, "w1", "1")]


def test_an_actor_may_crash_before_its_first_step(recwarn: pytest.WarningsRecorder) -> None:
    """A worker that hangs as soon as it is created and then crashes never begins, without a warning."""

    async def main() -> None:
        def start_worker(name: str) -> bool:
            start(tick(), name)
            return True

        loop().hirers.append(start_worker)
        await asyncio.sleep(5)

    run = simulate(main, faults=[hire("w1", at=2), hang("w1", at=2), crash("w1", at=3)])
    gc.collect()

    assert ticks(run, "w1") == []
    assert run.unused_faults == ()
    assert list(recwarn) == []


def test_no_finally_of_a_crashed_actor_tidies_up() -> None:
    """Not in the run, not at its end, and not when the garbage collector comes."""
    log: list[str] = []

    async def worker() -> None:
        async def numbers(pause: float) -> Any:
            try:
                yield 1
                await asyncio.sleep(pause)
                yield 2
            finally:
                log.append("generator")

        at_its_yield = numbers(0)
        await anext(at_its_yield)
        try:
            try:
                async for _ in numbers(100):
                    pass
            except BaseException:
                log.append("except")
                raise
        finally:
            log.append("finally")

    async def main() -> None:
        task = asyncio.create_task(worker(), name="w1")
        await asyncio.sleep(5)
        task.cancel()
        await asyncio.sleep(5)

    for _ in range(3):
        simulate(main, faults=[crash("w1", at=1)])
        gc.collect()

    assert log == []


def test_no_finally_of_what_crashed_or_hangs_runs_at_the_end_of_the_interpreter() -> None:
    """A process that simulated a crash and a hang ends without a word of the victims."""
    source = """
        from tutorial_lib.faults import crash, hang
        async def worker(name):
            try:
                await asyncio.sleep(100)
            finally:
                print("tidied up", name)
        async def main():
            tasks = [asyncio.create_task(worker(name), name=name) for name in ("w1", "w2", "w3")]
            await asyncio.sleep(3)
        simulate(main, faults=[crash("w1", at=1), hang("w2", at=1)])
        print("end")
    """
    ended = script(source, PYTHONDEVMODE="1")
    assert (ended.stdout, ended.stderr) == ("tidied up w3\nend\n", "")


def test_to_whoever_awaits_it_a_crashed_task_stays_pending() -> None:
    """A crash is silence: a task group waits for ever, and `Stalled` says for whom."""

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(tick(), name="w1")

    with pytest.raises(Stalled) as caught:
        simulate(main, faults=[crash("w1", at=3.5)])

    assert "w1 crashed and will never answer" in str(caught.value)
    assert "main waits" in str(caught.value)


def test_main_may_crash_too() -> None:
    """Without its master the run goes on as long as anything happens, then stalls or meets `until`."""
    with pytest.raises(Stalled, match="main crashed") as caught:
        simulate(two_tickers, faults=[crash("main", at=3)])

    assert caught.value.run.elapsed == 10
    assert simulate(two_tickers, faults=[crash("main", at=3)], until=20).elapsed == 20


def test_a_crash_withdraws_the_waiters_of_the_actor() -> None:
    """A tuple that comes later goes to somebody who lives."""

    async def wait(space: TupleSpace) -> None:
        note(f"took {await space.take('task', int)}")

    async def main() -> None:
        space = TupleSpace()
        start(wait(space), "w1")
        start(wait(space), "w2")
        await asyncio.sleep(2)
        await space.write("task", 1)
        await asyncio.sleep(1)

    assert notes(simulate(main, faults=[crash("w1", at=1)])) == [(2.0, "w2", "took ('task', 1)")]


def test_a_restarted_actor_of_the_same_name_lives() -> None:
    """The dead life stays dead, the new one runs, at normal pace and heard, and may crash again."""

    async def main() -> list[Any]:
        start(tick(), "w1")
        await asyncio.sleep(5)
        start(tick(), "w1")
        await asyncio.sleep(10)
        return [loop().pace_of("w1"), loop().is_muted("w1")]

    faults = [slow("w1", at=1, factor=4), mute("w1", at=1), crash("w1", at=2.5), crash("w1", at=7.5)]
    run = simulate(main, faults=faults)

    assert ticks(run, "w1") == [1, 2, 6, 7]
    assert run.result == [1.0, False]
    assert run.unused_faults == ()


def test_an_actor_is_known_by_the_name_that_actor_sets() -> None:
    """Faults name actors as the trace does: a chosen name is stronger than that of the task."""

    async def main() -> None:
        with actor("w1"):
            start(tick(), "other")
        await asyncio.sleep(11)

    run = simulate(main, faults=[crash("other", at=2.5), crash("w1", at=3.5)])

    assert ticks(run, "w1") == [1, 2, 3]
    assert run.unused_faults == (crash("other", at=2.5),)


# ---------------------------------------------------------------------------------------------------
# Hang


def test_a_hanging_actor_does_later_what_it_would_have_done() -> None:
    """For some seconds it does nothing; then it goes on, in the same order."""

    async def worker() -> None:
        for number in range(1, 4):
            loop().call_later(number, note, f"timer {number}")
        await tick(4)

    async def main() -> None:
        start(worker(), "w1")
        await asyncio.sleep(20)

    run = simulate(main, faults=[hang("w1", at=1.5, seconds=5)])

    assert notes(run) == [
        (1.0, "w1", "timer 1"),
        (1.0, "w1", "1"),
        (6.5, "w1", "timer 2"),
        (6.5, "w1", "timer 3"),
        (6.5, "w1", "2"),
        (7.5, "w1", "3"),
        (8.5, "w1", "4"),
    ]
    assert run.trace.of("hang")[0].detail == {"seconds": 5}


def test_an_actor_may_hang_for_ever() -> None:
    """Without seconds it never goes on; `Stalled` names it, and a crash still reaches it."""

    async def main() -> None:
        await asyncio.create_task(tick(), name="w1")

    with pytest.raises(Stalled, match="w1 hangs") as caught:
        simulate(main, faults=[hang("w1", at=3.5)])
    assert caught.value.run.trace.of("hang")[0].detail == {}

    with pytest.raises(Stalled, match="w1 crashed"):
        simulate(main, faults=[hang("w1", at=3.5), crash("w1", at=4)])


def test_hangs_that_overlap_last_as_long_as_the_longest() -> None:
    """The end of one does not wake an actor that another still holds."""
    faults = [hang("w1", at=1.5, seconds=8), hang("w1", at=2, seconds=2), hang("w2", at=1.5, seconds=2)]
    run = simulate(two_tickers, faults=faults)

    assert ticks(run, "w1") == [1, 9.5, 10.5]
    assert ticks(run, "w2")[:3] == [1, 3.5, 4.5]


def test_a_hanging_actor_keeps_what_it_was_given() -> None:
    """A tuple handed to a taker that hangs is with it, and nobody else gets it."""

    async def wait(space: TupleSpace) -> None:
        note(f"took {await space.take('task', int)}")

    async def main() -> int:
        space = TupleSpace()
        start(wait(space), "w1")
        await asyncio.sleep(2)
        await space.write("task", 1)
        await asyncio.sleep(1)
        left = await space.count()
        await asyncio.sleep(10)
        return left

    run = simulate(main, faults=[hang("w1", at=1, seconds=6)])

    assert run.result == 0
    assert notes(run) == [(7.0, "w1", "took ('task', 1)")]


# ---------------------------------------------------------------------------------------------------
# Slow, mute, hire


def test_slow_sets_the_pace_of_the_actor() -> None:
    """The loop tells the factor, and wakes whoever waits for a change of it."""

    async def worker() -> None:
        for _ in range(2):
            await loop().pace_changed("w1")
            note(f"pace {loop().pace_of('w1')}")

    async def main() -> tuple[float, float]:
        before = loop().pace_of("w1")
        impatient = asyncio.create_task(worker(), name="w1")
        start(worker(), "w1")
        await asyncio.sleep(2)
        impatient.cancel()
        await asyncio.sleep(8)
        return before, loop().pace_of("w2")

    run = simulate(main, faults=[slow("w1", at=3, factor=4), slow("w1", at=5, factor=1)])

    assert notes(run) == [(3.0, "w1", "pace 4"), (5.0, "w1", "pace 1")]
    assert run.result == (1.0, 1.0)
    assert [event.detail for event in run.trace.of("slow")] == [{"factor": 4}, {"factor": 1}]


def test_mute_lasts_for_its_seconds() -> None:
    """The loop tells whether an actor is muted; a moment that is its end is over."""

    async def main() -> list[bool]:
        start(tick(20), "w1")
        heard = []
        for _ in range(10):
            heard.append(not loop().is_muted("w1"))
            await asyncio.sleep(1)
        return heard

    for_a_while = simulate(main, faults=[mute("w1", at=2, seconds=3)])
    for_ever = simulate(main, faults=[mute("w1", at=2)])
    twice = simulate(main, faults=[mute("w1", at=2, seconds=3), mute("w1", at=3, seconds=1)])

    assert for_a_while.result == [True] * 3 + [False] * 2 + [True] * 5
    assert twice.result == for_a_while.result
    assert for_ever.result == [True] * 3 + [False] * 7
    assert [event.detail for event in for_a_while.trace.of("mute")] == [{"seconds": 3}]


def test_hire_asks_the_crews_in_turn() -> None:
    """The first that is willing hires the worker, which is recorded under the new name."""

    async def main() -> None:
        def refuse(name: str) -> bool:
            note(f"no place for {name}")
            return False

        def accept(name: str) -> bool:
            start(tick(2), name)
            return True

        loop().hirers += [refuse, accept, refuse]
        await asyncio.sleep(10)

    run = simulate(main, faults=[hire("w4", at=5)])

    assert notes(run) == [(5.0, "main", "no place for w4"), (6.0, "w4", "1"), (7.0, "w4", "2")]
    assert [(event.time, event.actor) for event in run.trace.of("hire")] == [(5.0, "w4")]
    assert run.unused_faults == ()
