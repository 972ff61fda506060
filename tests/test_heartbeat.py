"""beat and Monitor: signs of life, and what silence means."""

from __future__ import annotations

import asyncio
import gc
import math
import time

import pytest
from space_help import REPEATS, settle, simulated

from tutorial_lib import ANY, TupleSpace, actor, simulate
from tutorial_lib.crew import Crew, work
from tutorial_lib.faults import crash, hang, mute, slow
from tutorial_lib.heartbeat import FixedTimeout, MissedBeats, Monitor, PhiAccrual, beat
from tutorial_lib.trace import Trace, current_trace

YEAR = 365 * 24 * 3600.0


def now():
    return asyncio.get_running_loop().time()


def moments(trace, kind, name=None):
    return [event.time for event in trace.of(kind, actor=name)]


def alarms(trace, name=None):
    """What the monitor said: kind and moment."""
    return [(event.kind, event.time) for event in trace.of("suspect", "clear", "dead", actor=name)]


def beating_worker(space, every=1.0, seconds=1000.0):
    """A worker for a crew that works and beats."""

    async def worker(name):
        async with beat(space, name, every):
            await work(seconds)

    return worker


def watched_crew(*, size=1, until=30, timeout=3.0, every=1.0, expect=(), **options):
    """A program with a crew whose members beat every second, and a monitor."""

    async def main():
        space = TupleSpace()
        monitor = Monitor(space, timeout=timeout, every=every, expect=expect, **options)
        async with Crew(beating_worker(space), size), monitor:
            await asyncio.sleep(until)

    return main


# Beating


@simulated
async def test_the_first_beat_comes_at_once_and_then_one_in_each_period():
    """With the name and the moment on the loop's clock."""
    space = TupleSpace()
    await asyncio.sleep(2)
    async with beat(space, "w1", every=1.5):
        await settle()
        assert await space.read_all() == [("heartbeat", "w1", 2.0)]
        await asyncio.sleep(4)
    assert moments(current_trace(), "beat", "w1") == [2, 3.5, 5]


@simulated
async def test_beats_replace_each_other():
    """There is always exactly one heartbeat, for whoever looks at any moment."""
    space = TupleSpace()
    counts = set()
    async with beat(space, "w1", every=1), beat(space, "w2", every=1):
        await settle()
        for _ in range(100):
            counts.add(await space.count("heartbeat", "w1", ANY))
            await asyncio.sleep(0.1)
    assert counts == {1}


@simulated
async def test_beats_stay_on_schedule_while_the_block_works():
    """An hour at a tenth of a second: the last beat is as punctual as the first."""
    async with beat(TupleSpace(), "w1", every=0.1):
        await work(3600)
    beats = moments(current_trace(), "beat")
    assert len(beats) == 36_000
    assert max(abs(moment - number / 10) for number, moment in enumerate(beats)) < 2e-6


@simulated
async def test_beating_ends_when_the_block_is_left():
    """No beat after the worker has ended; the last heartbeat grows old."""
    space = TupleSpace()
    async with beat(space, "w1", every=1):
        await asyncio.sleep(2.5)
    await asyncio.sleep(10)
    assert await space.read_all() == [("heartbeat", "w1", 2.0)]
    assert len(asyncio.all_tasks()) == 1


@simulated
async def test_a_beat_that_cannot_be_written_is_noted_and_the_next_one_comes():
    """One error in the sender must not make a healthy worker look dead."""

    class Unreliable(TupleSpace):
        async def replace(self, *arguments, **options):
            if 0 < now() < 3:
                raise OSError("the cable is loose")
            return await super().replace(*arguments, **options)

    async with beat(Unreliable(), "w1", every=1):
        await asyncio.sleep(4.5)
    trace = current_trace()
    assert moments(trace, "beat", "w1") == [0, 3, 4]
    notes = trace.of("note", actor="w1")
    assert [event.time for event in notes] == [1, 2]
    assert "the cable is loose" in notes[0].detail["text"]


@simulated
async def test_beats_into_a_closed_space_end_quietly():
    """There will never be another, and the block goes on."""
    space = TupleSpace()
    async with beat(space, "w1", every=1):
        await asyncio.sleep(1.5)
        await space.close()
        await asyncio.sleep(5)
    assert moments(current_trace(), "beat") == [0, 1]
    assert current_trace().of("note") == []


@simulated
async def test_beats_survive_the_garbage_collector():
    """Nobody else has to keep a reference."""
    async with beat(TupleSpace(), "w1", every=1):
        for _ in range(3):
            gc.collect()
            await asyncio.sleep(1)
    assert moments(current_trace(), "beat") == [0, 1, 2]


def test_a_crash_silences_the_beats_of_that_name():
    """Also when the beating was started by somebody else."""

    async def main():
        space = TupleSpace()
        async with beat(space, "w1", every=1), beat(space, "w2", every=1):
            await asyncio.sleep(5.5)

    run = simulate(main, faults=[crash("w1", at=2)])
    assert moments(run.trace, "beat", "w1") == [0, 1, 2]
    assert moments(run.trace, "beat", "w2") == [0, 1, 2, 3, 4, 5]


def test_a_muted_worker_works_but_is_not_heard():
    """For as long as the fault says."""
    run = simulate(watched_crew(until=8.5, timeout=100), faults=[mute("w1", at=2, seconds=3)])
    assert moments(run.trace, "beat", "w1") == [0, 1, 2, 5, 6, 7, 8]


def test_after_a_stop_missed_beats_are_not_made_up_for():
    """One at once, and then a new rhythm."""
    run = simulate(watched_crew(until=9, timeout=100), faults=[hang("w1", at=2, seconds=3.5)])
    assert moments(run.trace, "beat", "w1") == [0, 1, 2, 5.5, 6.5, 7.5, 8.5]


def test_a_slow_worker_beats_on_time():
    """It works slowly, but it lives."""
    run = simulate(watched_crew(until=3.5), faults=[slow("w1", at=0, factor=10)])
    assert moments(run.trace, "beat", "w1") == [0, 1, 2, 3]


@pytest.mark.parametrize("every", [0, -1, None, "1", True, math.inf, math.nan])
def test_beat_and_monitor_refuse_what_is_no_period(every):
    """At the line that calls them."""
    with pytest.raises((TypeError, ValueError), match="every"):
        beat(TupleSpace(), "w1", every=every)
    with pytest.raises((TypeError, ValueError), match="every"):
        Monitor(TupleSpace(), timeout=1, every=every)


def test_beat_needs_a_name():
    """A number is none: faults and monitors look for text."""
    with pytest.raises(TypeError, match="beat\\(\\) needs the name"):
        beat(TupleSpace(), 1, every=1)


# What the monitor sees


@pytest.mark.parametrize("seed", range(5 * REPEATS))
def test_a_healthy_worker_is_never_suspected(seed):
    """Whatever the order of things that happen at the same moment."""
    run = simulate(watched_crew(size=3, until=100), seed=seed)
    assert alarms(run.trace) == []


@pytest.mark.parametrize("seed", range(5 * REPEATS))
def test_a_crashed_worker_is_suspect_first_and_dead_within_timeout_and_one_look(seed):
    """Suspect at half the timeout, dead at all of it, each at the first look after that."""
    for at in (7, 7.4, 7.6):
        run = simulate(watched_crew(size=2, every=0.7, timeout=3), seed=seed, faults=[crash("w2", at=at)])
        (suspect, suspect_at), (dead, dead_at) = alarms(run.trace)
        assert (suspect, dead) == ("suspect", "dead")
        assert 8.5 <= suspect_at <= 8.5 + 0.7
        assert 10 <= dead_at <= 10 + 0.7
        assert {event.actor for event in run.trace.of("suspect", "dead")} == {"w2"}


def test_an_alarm_tells_about_whom_by_whom_and_how_long_there_was_silence():
    """All that a picture needs."""
    run = simulate(watched_crew(name="watch"), faults=[crash("w1", at=10)])
    (dead,) = run.trace.of("dead")
    assert (dead.actor, dead.fields, dead.space) == ("w1", ("w1",), "space")
    assert dead.detail == {"by": "watch", "silence": 3.0, "timeout": 3.0}


def test_an_expected_member_that_never_beats_is_missed():
    """Its silence counts from the moment at which the monitor began."""
    run = simulate(watched_crew(expect=["w1", "w9"]))
    assert alarms(run.trace, "w9") == [("suspect", 2), ("dead", 3)]
    assert alarms(run.trace, "w1") == []


def test_a_worker_that_crashes_before_its_first_beat_is_missed_if_expected():
    """Nobody else could know that it ever was."""

    async def main():
        space = TupleSpace()

        async def worker(name):
            await asyncio.sleep(1)
            await beating_worker(space)(name)

        async with Crew(worker, 1), Monitor(space, timeout=3, every=1, expect=["w1"]):
            await asyncio.sleep(10)

    assert alarms(simulate(main, faults=[crash("w1", at=0.5)]).trace) == [("suspect", 2), ("dead", 3)]


def test_a_suspect_that_beats_again_is_cleared():
    """Nothing worse happened than a short silence."""
    run = simulate(watched_crew(), faults=[hang("w1", at=10, seconds=2.5)])
    assert alarms(run.trace) == [("suspect", 12), ("clear", 13)]


def test_the_dead_that_beat_again_are_cleared_and_can_die_again():
    """A false alarm, a truth, and both were reported."""
    reported = []

    async def report(name):
        reported.append((name, now()))

    faults = [mute("w1", at=10, seconds=5), crash("w1", at=20)]
    run = simulate(watched_crew(on_dead=report), faults=faults)
    assert alarms(run.trace) == [("suspect", 12), ("dead", 13), ("clear", 15), ("suspect", 22), ("dead", 23)]
    assert reported == [("w1", 13), ("w1", 23)]


def test_each_death_is_reported_once():
    """Even if the report takes long, or fails: then it is noted, and the monitor goes on."""
    reported = []

    async def report(name):
        reported.append(name)
        await asyncio.sleep(0.5)
        raise OSError("nobody answers the telephone")

    run = simulate(watched_crew(size=2, on_dead=report), faults=[crash("w1", at=5), crash("w2", at=10)])
    assert reported == ["w1", "w2"]
    assert "nobody answers" in run.trace.of("note")[0].detail["text"]


@simulated
async def test_beats_late_early_twice_and_out_of_order_are_understood():
    """Only the newest moment counts, and one from the future counts as now."""
    space = TupleSpace()
    await asyncio.sleep(10)
    await space.write_many([("heartbeat", "w1", moment) for moment in (9.0, 7.0, 9.0, 8.0)])
    await space.write("heartbeat", "w2", 1e9)
    seen = []
    async with Monitor(space, timeout=4, every=1) as monitor:
        for _ in range(4):
            await asyncio.sleep(1.1)
            seen.append(tuple(monitor.status().values()))
    assert seen == [("suspect", "alive"), ("suspect", "suspect"), ("dead", "suspect"), ("dead", "dead")]


@simulated
async def test_a_monitor_reads_heartbeats_and_nothing_else():
    """It leaves them there, and strange tuples do not disturb it."""
    space = TupleSpace()
    strange = [
        ("heartbeat", "w1"),
        ("heartbeat", ["w1"], 1.0),
        ("heartbeat", "w1", "now"),
        ("task", "w1", 0.0),
    ]
    strange += [("heartbeat", "w1", math.nan), ("heartbeat", "w1", math.inf)]
    await space.write_many([*strange, ("heartbeat", "w2", 0)])
    async with Monitor(space, timeout=100, every=1) as monitor:
        await asyncio.sleep(2)
        assert monitor.status() == {"w2": "alive"}
    assert await space.count() == len(strange) + 1


@pytest.mark.parametrize("start", [0.0, YEAR])
def test_the_age_of_the_clock_makes_no_difference(start):
    """Near zero and after a year."""

    async def main():
        await asyncio.sleep(start)
        await watched_crew(size=2)()

    run = simulate(main, time_limit=None, faults=[crash("w2", at=start + 10)])
    assert alarms(run.trace) == [("suspect", start + 12), ("dead", start + 13)]


# A monitor in trouble


@pytest.mark.parametrize("seed", range(5 * REPEATS))
@pytest.mark.parametrize("at", [10, 10.5])
def test_a_monitor_that_was_frozen_allows_a_fresh_beat_before_it_judges(at, seed):
    """After a minute it does not declare everybody dead on waking."""
    faults = [hang("monitor", at=at, seconds=60), hang("w1", at=at, seconds=60)]
    run = simulate(watched_crew(size=3, until=100), seed=seed, faults=faults)
    assert alarms(run.trace) == []


def test_who_died_while_the_monitor_was_frozen_is_found_later():
    """One timeout after it woke."""
    faults = [hang("monitor", at=10, seconds=60), crash("w1", at=20)]
    run = simulate(watched_crew(size=2, until=100), faults=faults)
    assert alarms(run.trace) == [("suspect", 72), ("dead", 73)]


def test_the_dead_stay_dead_when_the_monitor_was_frozen():
    """Waking up is no sign of life of others."""
    faults = [crash("w1", at=5), hang("monitor", at=20, seconds=60)]
    run = simulate(watched_crew(until=100), faults=faults)
    assert alarms(run.trace) == [("suspect", 7), ("dead", 8)]


def test_a_step_that_blocks_the_whole_loop_makes_no_false_alarm():
    """In real time: for three timeouts neither the worker could beat nor the monitor look."""

    async def main():
        space = TupleSpace()
        async with beat(space, "w1", every=0.02), Monitor(space, timeout=0.1, every=0.02):
            await asyncio.sleep(0.05)
            time.sleep(0.3)
            await asyncio.sleep(0.05)

    with Trace() as trace:
        asyncio.run(main())
    assert alarms(trace) == []
    assert len(trace.of("beat")) >= 2


def test_a_crashed_monitor_says_nothing_more():
    """It has a name of its own, by which a fault finds it, and leaving its block does not wait for it."""
    run = simulate(watched_crew(name="watch"), faults=[crash("watch", at=5), crash("w1", at=10)])
    assert run.finished
    assert alarms(run.trace) == []


def test_a_monitor_that_begins_late_knows_the_dead_by_their_old_beats():
    """What is in the space survives the monitor."""

    async def main():
        space = TupleSpace()
        async with Crew(beating_worker(space), 2):
            await asyncio.sleep(20)
            async with Monitor(space, timeout=3, every=1):
                await asyncio.sleep(2)

    run = simulate(main, faults=[crash("w1", at=5)])
    assert alarms(run.trace) == [("suspect", 20), ("dead", 20)]


@simulated
async def test_a_monitor_may_watch_only_those_it_expects():
    """Heartbeats of others are none of its business."""
    space = TupleSpace()
    await space.write("heartbeat", "stranger", 0.0)
    async with Monitor(space, timeout=3, every=1, expect=["w1"], only_expected=True) as monitor:
        await asyncio.sleep(5)
        assert monitor.status() == {"w1": "dead"}


@simulated
async def test_leaving_the_block_ends_the_looking():
    """No task is left, and the next block begins with what it sees then."""
    space = TupleSpace()
    monitor = Monitor(space, timeout=3, every=1, expect=["w1"])
    for _ in range(2):
        async with monitor:
            with pytest.raises(RuntimeError, match="at work already"):
                await monitor.__aenter__()
            await asyncio.sleep(1.2)
            assert monitor.status() == {"w1": "alive"}
    assert len(asyncio.all_tasks()) == 1


def test_a_monitor_that_was_frozen_in_an_earlier_run_watches_as_well_in_the_next():
    """Nothing of the old clock is left in it."""
    space = TupleSpace()
    monitor = Monitor(space, timeout=3, every=1, expect=["w1"])

    async def main():
        async with monitor:
            await asyncio.sleep(20)

    simulate(main, faults=[hang("monitor", at=1, seconds=10)])
    assert alarms(simulate(main).trace) == [("suspect", 2), ("dead", 3)]


@simulated
async def test_an_error_in_a_detector_ends_the_block():
    """A monitor that cannot judge must not go on as if all were well."""

    class Broken:
        def suspicion(self, silence, gaps):
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        async with Monitor(TupleSpace(), detector=Broken(), every=1, expect=["w1"]):
            await asyncio.sleep(10)
    assert now() == 0


@simulated
async def test_who_has_left_in_good_order_is_forgotten():
    """Its old heartbeat causes no alarm; a new one brings it back."""
    space = TupleSpace()
    async with Monitor(space, timeout=3, every=1) as monitor:
        async with beat(space, "w1", every=1):
            await asyncio.sleep(2.5)
        monitor.forget("w1")
        monitor.forget("nobody")
        await asyncio.sleep(10)
        assert (monitor.status(), alarms(current_trace())) == ({}, [])
        async with beat(space, "w1", every=1):
            await asyncio.sleep(1.5)
            assert monitor.status() == {"w1": "alive"}
        await asyncio.sleep(10)
        assert monitor.status() == {"w1": "dead"}


@simulated
async def test_expect_gives_the_dead_a_new_chance():
    """As for one that was just restarted: cleared, and watched from now on, whatever its old beat says."""
    space = TupleSpace()
    await space.write("heartbeat", "w1", 0.0)
    async with Monitor(space, timeout=3, every=1) as monitor:
        await asyncio.sleep(10.5)
        monitor.expect("w1")
        await asyncio.sleep(1)
        assert monitor.status() == {"w1": "alive"}
        await asyncio.sleep(3)
    assert alarms(current_trace()) == [
        *[("suspect", 2), ("dead", 3)],
        *[("clear", 10.5), ("suspect", 12), ("dead", 14)],
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": "3"},
        {"timeout": True},
        {"timeout": 3, "detector": FixedTimeout(3)},
        {"timeout": 3, "expect": "w1"},
    ],
)
def test_a_monitor_refuses_what_it_cannot_judge_by(options):
    """At the line that makes it."""
    with pytest.raises((TypeError, ValueError)):
        Monitor(TupleSpace(), every=1, **options)


# Detectors


@pytest.mark.parametrize("detector", [FixedTimeout(4), MissedBeats(3, every=1), PhiAccrual()])
@pytest.mark.parametrize("seed", range(3 * REPEATS))
def test_every_detector_finds_the_crash_and_raises_no_false_alarm(detector, seed):
    """With beats every second: suspect before dead, within five seconds of the last beat."""
    run = simulate(
        watched_crew(size=3, timeout=None, detector=detector, every=0.5),
        seed=seed,
        faults=[crash("w1", at=10.3)],
    )
    (suspect, _), (dead, dead_at) = alarms(run.trace)
    assert (suspect, dead) == ("suspect", "dead")
    assert 11 < dead_at <= 15
    assert {event.actor for event in run.trace.of("suspect", "dead")} == {"w1"}


@pytest.mark.parametrize("detector", [FixedTimeout(2), MissedBeats(2, every=1), PhiAccrual()])
def test_every_detector_grows_more_certain_with_silence(detector):
    """From nothing right after a beat, without ever going back, to certainty."""
    levels = [detector.suspicion(silence / 10, [1.0] * 20) for silence in range(100)]
    assert levels == sorted(levels)
    assert levels[0] < 0.01
    assert levels[-1] >= 1


def test_the_time_before_the_first_beat_is_no_gap():
    """A detector that learns from gaps must not think that a late starter beats once a minute."""

    async def main():
        space = TupleSpace()

        async def worker(name):
            await asyncio.sleep(60)
            await beating_worker(space)(name)

        monitor = Monitor(space, detector=PhiAccrual(), every=0.5, expect=["w1"])
        async with Crew(worker, 1), monitor:
            await asyncio.sleep(100)

    run = simulate(main, faults=[crash("w1", at=80.5)])
    assert alarms(run.trace)[-1][0] == "dead"
    assert 80.5 < alarms(run.trace)[-1][1] < 85


def test_missed_beats_counts_whole_beats():
    """One that is late by less than half a period is not missed yet."""
    detector = MissedBeats(2, every=1)
    assert [detector.suspicion(silence, []) for silence in (1.0, 1.49, 1.5, 2.49, 2.5)] == [0, 0, 0.5, 0.5, 1]


def test_phi_is_the_improbability_of_an_even_later_beat():
    """A silence as long as the mean gap is as likely as not: phi is log10(2)."""
    assert PhiAccrual(threshold=1).suspicion(1.0, [0.5, 1.5]) == pytest.approx(math.log10(2))
    two_deviations = PhiAccrual(threshold=1).suspicion(2.0, [0.5, 1.5])
    assert two_deviations == pytest.approx(-math.log10(0.0227501319))
    assert PhiAccrual().suspicion(1e6, [1.0]) == math.inf


def test_phi_is_more_patient_with_uneven_beats():
    """The same silence says less about somebody who was never punctual."""
    even, uneven = [1.0] * 20, [0.2, 1.8] * 10
    assert PhiAccrual().suspicion(2.5, even) > PhiAccrual().suspicion(2.5, uneven)


@pytest.mark.parametrize(
    ("detector", "arguments"),
    [
        (FixedTimeout, {"timeout": 0}),
        (FixedTimeout, {"timeout": None}),
        (MissedBeats, {"count": 0, "every": 1}),
        (MissedBeats, {"count": 1.5, "every": 1}),
        (MissedBeats, {"count": True, "every": 1}),
        (MissedBeats, {"count": 1, "every": 0}),
        (PhiAccrual, {"threshold": 0}),
        (PhiAccrual, {"every": None}),
        (PhiAccrual, {"least_deviation": -1}),
    ],
)
def test_detectors_refuse_what_makes_no_sense(detector, arguments):
    """At the line that makes them."""
    with pytest.raises((TypeError, ValueError)):
        detector(**arguments)


@simulated
async def test_any_object_with_the_one_method_is_a_detector():
    """Here one that knows no doubt."""

    class Impatient:
        def suspicion(self, silence, gaps):
            return 1.0 if silence > 1 else 0.0

    async with Monitor(TupleSpace(), detector=Impatient(), every=0.5, expect=["w1"]):
        await asyncio.sleep(3)
    assert alarms(current_trace()) == [("suspect", 1.5), ("dead", 1.5)]
    with actor("w1"):
        assert current_trace().of("dead", actor="w1")
