"""SupervisedSystem: start in order, notice every end, restart within limits, stop in reverse."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from space_help import REPEATS, ended, settle, simulated, started

from tutorial_lib import TupleSpace, simulate
from tutorial_lib.crew import work
from tutorial_lib.faults import crash, hang, mute
from tutorial_lib.supervisor import Child, Restart, RestartLimitReached, Strategy, SupervisedSystem
from tutorial_lib.tasks import Task
from tutorial_lib.trace import Trace, current_actor, current_trace, note


def now():
    return asyncio.get_running_loop().time()


def moments(trace, kind, name=None):
    return [round(event.time, 3) for event in trace.of(kind, actor=name)]


def lives(trace):
    """Who began and ended when, as the children noted it."""
    return [(event.actor, event.detail["text"], round(event.time, 3)) for event in trace.of("note")]


async def steady():
    """A child that works for ever, and notes its beginning and end."""
    note("begins")
    try:
        await asyncio.Event().wait()
    finally:
        note("ends")


async def fails_after(seconds):
    await asyncio.sleep(seconds)
    raise OSError("no such printer")


async def returns_after(seconds):
    await asyncio.sleep(seconds)


async def cancels_itself_after(seconds):
    await asyncio.sleep(seconds)
    raise asyncio.CancelledError


def system_of(*children, **options):
    system = SupervisedSystem(TupleSpace(), **options)
    for child in children:
        system.add(child)
    return system


def supervised(*children, until=30, **options):
    """A program that keeps these children running for a while, and returns their last status."""

    async def main():
        async with system_of(*children, **options) as system:
            await asyncio.sleep(until)
            return system.status()

    return main


def steady_children(*names, **options):
    return [Child(name, steady, **options) for name in names]


# Starting and stopping


@pytest.mark.parametrize("seed", range(5 * REPEATS))
def test_children_start_in_order_and_stop_in_reverse(seed):
    """The first step of each comes before the start of the next; so with the ends, the other way round."""
    run = simulate(supervised(*steady_children("a", "b", "c"), until=1), seed=seed)
    assert lives(run.trace) == [
        *[("a", "begins", 0), ("b", "begins", 0), ("c", "begins", 0)],
        *[("c", "ends", 1), ("b", "ends", 1), ("a", "ends", 1)],
    ]


@simulated
async def test_everything_a_child_does_is_signed_with_its_name():
    """And it is hired under it, once."""
    seen = []

    async def child():
        seen.append(current_actor())

    async with system_of(Child("w1", child, Restart.NEVER)) as system:
        await system.join()
    assert seen == ["w1"]
    assert moments(current_trace(), "hire", "w1") == [0]


@simulated
async def test_a_child_added_later_starts_at_once():
    """Without touching those that run: scaling out is one line."""
    async with system_of(*steady_children("w1")) as system:
        await asyncio.sleep(5)
        system.add(Child("w2", steady))
        await asyncio.sleep(1)
        assert [row.name for row in system.status()] == ["w1", "w2"]
    assert lives(current_trace())[:2] == [("w1", "begins", 0), ("w2", "begins", 5)]


@simulated
async def test_arguments_of_a_child_are_bound_with_partial():
    """A child is started without arguments."""
    async with system_of(Child("w1", partial(returns_after, 2), Restart.NEVER)) as system:
        await system.join()
    assert now() == 2


@simulated
async def test_children_beat_while_they_run():
    """Nothing has to be done for it; after the end there is no more beat."""
    space = TupleSpace()
    async with SupervisedSystem(space, every=0.5) as system:
        system.add(Child("w1", partial(work, 1.2), Restart.NEVER))
        await asyncio.sleep(5)
    assert moments(current_trace(), "beat", "w1") == [0, 0.5, 1]
    assert current_trace().of("suspect", "dead") == []  # it has ended in good order
    assert await space.read_all() == [("heartbeat", "w1", 1.0)]


@simulated
async def test_a_block_that_is_entered_again_has_each_child_once():
    """A cell that is run twice never doubles them, and old restarts are forgotten."""
    system = system_of(*steady_children("a", "b"))
    for _ in range(2):
        async with system:
            with pytest.raises(RuntimeError, match="at work already"):
                await system.__aenter__()
            await settle()
            assert [row.state for row in system.status()] == ["running", "running"]
    assert len(asyncio.all_tasks()) == 1
    assert [name for name, text, _ in lives(current_trace()) if text == "begins"] == ["a", "b", "a", "b"]


@simulated
async def test_restarts_of_an_earlier_block_do_not_count():
    """The limit begins anew with each block."""
    system = system_of(Child("w1", partial(fails_after, 1)), max_restarts=1, within=60)
    for _ in range(3):
        async with system:
            await asyncio.sleep(1.5)
            assert system.status()[0].restarts == 1


@simulated
async def test_heartbeats_of_others_in_the_same_space_are_left_alone():
    """A supervisor suspects its own children only."""
    space = TupleSpace()
    await space.write("heartbeat", "stranger", 0.0)
    async with SupervisedSystem(space) as system:
        system.add(Child("w1", steady))
        await asyncio.sleep(10)
    assert current_trace().of("suspect", "dead") == []


@simulated
async def test_stop_ends_everything_and_starts_nothing():
    """No restart, no restart counted, no task left; stopping again does nothing more."""
    async with system_of(*steady_children("a", "b")) as system:
        await asyncio.sleep(1)
        assert await system.stop() == []
        assert [row[1:3] for row in system.status()] == [("stopped", 0)] * 2
        assert len(asyncio.all_tasks()) == 1
        assert await system.stop() == []
        await system.join()
    assert current_trace().of("restart", "give_up") == []


@simulated
async def test_stop_names_those_that_do_not_stop_and_returns_within_its_limit():
    """They are left behind; all others have ended."""

    async def stubborn():
        while True:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                note("never mind")

    async with system_of(*steady_children("a"), Child("b", stubborn), *steady_children("c")) as system:
        await asyncio.sleep(1)
        assert await system.stop() == ["b"]
        assert now() <= 1 + 5
    assert lives(current_trace())[-1][:2] == ("a", "ends")


@pytest.mark.parametrize("size", [1, 4, 20])
def test_stop_returns_within_its_limit_however_many_hang(size):
    """The limit is shared among them, and the run names each one."""
    names = [f"w{number}" for number in range(size)]

    async def main():
        async with system_of(*steady_children(*names), timeout=100, stop_within=2):
            await asyncio.sleep(5)
        return now()

    run = simulate(main, faults=[hang(name, at=1) for name in names])
    assert 5 < run.result <= 7
    assert [error for error in run.errors if "did not end" not in error] == []
    assert len(run.errors) == size


def test_a_crash_during_the_stop_does_not_hold_it_up():
    """Nobody waits for the dead."""

    async def slow_to_end():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)

    async def main():
        async with system_of(Child("a", slow_to_end), Child("b", slow_to_end)):
            await asyncio.sleep(2)
        return now()

    run = simulate(main, faults=[crash("b", at=2.5)])
    assert run.result == 3.5
    assert run.errors == []
    assert run.trace.of("restart") == []


@simulated
async def test_an_error_during_the_stop_is_no_reason_to_restart():
    """The child was to end, and it has."""

    async def fails_at_the_end():
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("the printer fell down")

    async with system_of(Child("a", fails_at_the_end), *steady_children("b")):
        await asyncio.sleep(1)
    assert current_trace().of("restart") == []


@simulated
async def test_tasks_in_hand_go_back_uncounted_when_the_system_stops():
    """With states and with claims: being stopped is no failure of the task."""
    space = TupleSpace()
    await space.write(*Task.new(1))
    await space.write("job", 2)

    async def performer():
        await Task.perform_next(space, lambda task: work(60))

    async def claimer():
        async with space.claim("job", int, lease=100):
            await work(60)

    async with system_of(Child("performer", performer), Child("claimer", claimer)):
        await asyncio.sleep(1)
    assert (await space.take(*Task.pattern()))[2:4] == ("queued", 0)
    async with space.claim("job", int, lease=1, timeout=0) as claim:
        assert claim.attempt == 1


@simulated
async def test_a_cancelled_owner_stops_its_system():
    """The cancellation passes, and no child is left."""

    async def owner():
        async with system_of(*steady_children("a", "b", "c")) as system:
            await system.join()

    task = await started(owner())
    await asyncio.sleep(3)
    task.cancel()
    assert isinstance(await ended(task), asyncio.CancelledError)
    assert len(asyncio.all_tasks()) == 1


@simulated
async def test_a_second_cancellation_during_the_stop_leaves_nobody_behind():
    """The stop goes on to the first child all the same."""

    async def slow_to_end():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.5)
            note("ends")

    async def owner():
        async with system_of(*[Child(name, slow_to_end) for name in "abc"]):
            await asyncio.sleep(100)

    task = await started(owner())
    task.cancel()
    await asyncio.sleep(0.7)
    task.cancel()
    assert isinstance(await ended(task), asyncio.CancelledError)
    assert lives(current_trace()) == [("c", "ends", 0.5), ("b", "ends", 1), ("a", "ends", 1.5)]


# When a child is restarted


ENDINGS = {
    "returns": returns_after,
    "cancels itself": cancels_itself_after,
    "fails": fails_after,
    "is stopped": lambda seconds: asyncio.Event().wait(),
    "crashes": lambda seconds: asyncio.Event().wait(),
}


@pytest.mark.parametrize(
    ("restart", "restarted"),
    [
        (Restart.ALWAYS, {"returns", "cancels itself", "fails", "crashes"}),
        (Restart.ON_FAILURE, {"fails", "crashes"}),
        (Restart.NEVER, set()),
    ],
)
@pytest.mark.parametrize("ending", list(ENDINGS))
def test_the_table_of_restarts(ending, restart, restarted):
    """Three rules and five ways to end, as in the table of the module."""
    begun = []

    async def child():
        begun.append(now())
        if len(begun) == 1:
            await ENDINGS[ending](2)
        else:
            await asyncio.Event().wait()

    faults = [crash("w1", at=2)] if ending == "crashes" else []
    until = 2 if ending == "is stopped" else 10
    run = simulate(supervised(Child("w1", child, restart), until=until), faults=faults)
    assert len(begun) == (2 if ending in restarted else 1)
    assert len(run.trace.of("restart")) == len(begun) - 1
    (row,) = run.result
    assert row.state == ("running" if ending in restarted or ending == "is stopped" else "resting")


def test_an_error_is_seen_at_once_and_a_crash_by_silence():
    """The two kinds of death are told apart by when and how they are noticed."""
    error = simulate(supervised(Child("w1", partial(fails_after, 4.2)), until=6))
    assert moments(error.trace, "restart") == [4.3]
    assert error.trace.of("dead") == []
    silence = simulate(supervised(*steady_children("w1")), faults=[crash("w1", at=4.2)])
    assert moments(silence.trace, "dead") == [7]  # three seconds after the last beat
    assert moments(silence.trace, "restart") == [7.1]


def test_a_child_that_crashes_before_its_first_beat_is_noticed_too():
    """It was expected. Here it crashes in the very moment of its restart."""
    faults = [crash("w1", at=0), crash("w1", at=3.1)]
    run = simulate(supervised(*steady_children("w1")), faults=faults)
    assert run.unused_faults == ()
    assert moments(run.trace, "restart") == [3.1, 7.2]
    assert run.result[0].state == "running"


def test_a_silent_child_that_is_still_alive_is_ended_before_it_is_started_again():
    """A muted one is cancelled; there are never two of a name."""
    run = simulate(supervised(*steady_children("w1"), until=20), faults=[mute("w1", at=2.5, seconds=5)])
    assert lives(run.trace)[:3] == [("w1", "begins", 0), ("w1", "ends", 5), ("w1", "begins", 5.1)]


def test_a_hanging_child_is_replaced_and_ends_when_it_wakes():
    """It finds itself cancelled, so it does no work beside the new one."""
    run = simulate(supervised(*steady_children("w1"), until=40), faults=[hang("w1", at=2.5, seconds=20)])
    assert [text for _, text, _ in lives(run.trace)[:3]] == ["begins", "begins", "ends"]
    assert lives(run.trace)[2] == ("w1", "ends", 22.5)
    assert run.result[0][1:3] == ("running", 1)


def test_a_restart_is_in_the_trace_with_its_cause():
    """Under the name of the child, and by whom."""
    run = simulate(supervised(Child("w1", partial(fails_after, 2)), until=3, name="boss"))
    (event,) = run.trace.of("restart")
    assert event.actor == "w1"
    assert event.detail == {"by": "boss", "cause": "raised OSError('no such printer')", "after": 0.1}


@simulated
async def test_a_child_that_never_fails_costs_nothing():
    """Nobody is suspected or restarted in an hour."""
    async with system_of(*steady_children("a", "b")):
        await asyncio.sleep(3600)
    assert current_trace().of("suspect", "dead", "restart") == []


# Strategies


@pytest.mark.parametrize(
    ("strategy", "restarted", "ended"),
    [
        ("one_for_one", ["b"], []),
        ("one_for_all", ["a", "b", "c"], ["c", "a"]),
        ("rest_for_one", ["b", "c"], ["c"]),
    ],
)
@pytest.mark.parametrize("how", ["fails", "crashes"])
def test_the_strategy_says_who_is_restarted_together(strategy, restarted, ended, how):
    """The others end in reverse order before any is started, and all start in order."""
    begun = []

    async def weak():
        begun.append(now())
        await (fails_after(3) if how == "fails" and len(begun) == 1 else asyncio.Event().wait())

    children = [Child("a", steady), Child("b", weak), Child("c", steady)]
    faults = [crash("b", at=3)] if how == "crashes" else []
    run = simulate(supervised(*children, until=9, strategy=strategy), faults=faults)
    assert [event.actor for event in run.trace.of("restart")] == restarted
    before_the_stop = [(name, text) for name, text, moment in lives(run.trace) if 0 < moment < 9]
    assert before_the_stop == [
        *[(name, "ends") for name in ended],
        *[(name, "begins") for name in restarted if name != "b"],
    ]
    assert [row.restarts for row in run.result] == [int(name in restarted) for name in "abc"]


def test_a_child_that_is_never_restarted_rests_when_it_is_ended_with_others():
    """And one that has ended in good order is not woken."""
    children = [
        Child("never", steady, Restart.NEVER),
        Child("done", partial(returns_after, 1), Restart.ON_FAILURE),
        Child("weak", partial(fails_after, 5)),
    ]
    run = simulate(supervised(*children, until=8, strategy=Strategy.ONE_FOR_ALL))
    assert [row.state for row in run.result] == ["resting", "resting", "running"]
    assert {event.actor for event in run.trace.of("restart")} == {"weak"}


def test_children_that_fail_together_are_restarted_one_after_the_other():
    """Each once, although they fail in the same moment."""
    for strategy, expected in (("one_for_one", ["a", "b"]), ("one_for_all", ["a", "b"])):
        children = [Child(name, partial(fails_after, 3)) for name in "ab"]
        run = simulate(supervised(*children, until=4, strategy=strategy))
        assert [event.actor for event in run.trace.of("restart")] == expected


# The limit


@pytest.mark.parametrize("max_restarts", [0, 1, 3, 10, 50])
def test_a_child_that_fails_at_once_is_started_once_more_than_the_limit(max_restarts):
    """Then the system gives up: it stops all children, and the error leaves the block."""
    begun = []

    async def broken():
        begun.append(now())
        raise OSError("no such printer")

    async def main():
        with pytest.raises(RestartLimitReached, match="printer raised OSError") as caught:
            async with system_of(
                *steady_children("a"), Child("printer", broken), max_restarts=max_restarts, within=60
            ) as system:
                await system.join()
        assert isinstance(caught.value.__cause__, OSError)
        assert len(asyncio.all_tasks()) == 1
        return now()

    run = simulate(main)
    assert len(begun) == max_restarts + 1
    assert run.result < 60
    assert [event.actor for event in run.trace.of("give_up")] == ["printer"]
    assert lives(run.trace)[-1][:2] == ("a", "ends")


@simulated
async def test_when_the_limit_is_reached_the_children_stop_at_once():
    """Even while the block itself takes its time to tidy up."""

    async def owner():
        async with system_of(*steady_children("a"), Child("b", partial(fails_after, 1)), max_restarts=0):
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(10)

    with pytest.raises(RestartLimitReached):
        await owner()
    assert lives(current_trace()) == [("a", "begins", 0), ("a", "ends", 1)]


def test_a_child_that_crashes_again_and_again_reaches_the_limit():
    """Silence counts as an error does."""
    with pytest.raises(RestartLimitReached, match="w1 fell silent after 2 restarts"):
        simulate(
            supervised(*steady_children("w1"), max_restarts=2, within=100),
            faults=[crash("w1", at=moment) for moment in (1, 10, 20)],
        )


@pytest.mark.parametrize(("pause", "gives_up"), [(9.999, True), (10.0, False), (11.0, False)])
def test_old_restarts_are_forgotten(pause, gives_up):
    """Two failures within the period are too many; when the period has passed the count begins anew."""
    failures = [1.0, 1.0 + pause]

    async def weak():
        for moment in failures:
            if moment > now():
                await asyncio.sleep(moment - now())
                raise OSError
        await asyncio.Event().wait()

    program = supervised(Child("w1", weak), until=100, max_restarts=1, within=10)
    if gives_up:
        with pytest.raises(RestartLimitReached):
            simulate(program)
    else:
        assert simulate(program).result[0].restarts == 2


def test_the_limit_holds_for_all_children_together():
    """As in Erlang/OTP: it tells how troubled the system is, not one child."""
    children = [Child("a", partial(fails_after, 2)), Child("b", partial(fails_after, 3))]
    with pytest.raises(RestartLimitReached, match="b raised"):
        simulate(supervised(*children, max_restarts=1, within=10))


def test_restarts_of_siblings_do_not_count_towards_the_limit():
    """One trouble is one restart, however many it takes along."""
    children = [*steady_children(*"abcdef"), Child("weak", partial(fails_after, 5))]
    run = simulate(supervised(*children, until=12, strategy="one_for_all", max_restarts=3, within=10))
    assert len(run.trace.of("restart")) == 14


def test_the_pauses_before_restarts_grow():
    """They double while the trouble goes on, and begin anew after a quiet period."""

    async def main():
        async with system_of(Child("w1", weak), max_restarts=5, within=30):
            await asyncio.sleep(200)

    failures = iter([0, 0, 0, 0, 100, 0])

    async def weak():
        pause = next(failures, None)
        if pause is None:
            await asyncio.Event().wait()
        await asyncio.sleep(pause)
        raise OSError

    run = simulate(main)
    assert [event.detail["after"] for event in run.trace.of("restart")] == [0.1, 0.2, 0.4, 0.8, 0.1, 0.2]
    assert moments(run.trace, "restart") == [0.1, 0.3, 0.7, 1.5, 101.6, 101.8]


def test_the_limit_of_a_supervised_supervisor_is_the_failure_of_a_child():
    """Escalation: the upper one restarts the lower one, until it gives up as well."""
    begun = []

    async def broken():
        begun.append(now())
        raise OSError("no such printer")

    async def lower():
        async with system_of(Child("printer", broken), max_restarts=2, within=10, name="lower") as system:
            await system.join()

    with pytest.raises(RestartLimitReached, match="office raised RestartLimitReached"):
        simulate(supervised(Child("office", lower), max_restarts=1, within=60, name="upper"))
    assert len(begun) == 3 * 2  # limits multiply over levels


@simulated
async def test_an_error_of_the_block_itself_passes():
    """And the children are stopped."""

    async def owner():
        async with system_of(*steady_children("a")):
            await settle()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await owner()
    assert len(asyncio.all_tasks()) == 1


# join and status


@simulated
async def test_join_waits_until_every_child_rests():
    """One that is restarted is still to come to its end."""
    lengths = iter([2, 3])

    async def twice():
        await asyncio.sleep(next(lengths))
        if now() < 5:
            raise OSError

    children = [Child("once", partial(returns_after, 1), "never"), Child("twice", twice, "on_failure")]
    async with system_of(*children) as system:
        await system.join()
    assert now() == 5.1


@simulated
async def test_join_without_children_returns_at_once():
    """There is nobody to wait for, until somebody is added."""
    async with system_of() as system:
        await system.join()
        system.add(Child("w1", partial(returns_after, 1), "never"))
        await system.join()
    assert now() == 1


def test_status_tells_each_state():
    """As a record for programs, and as a table for people."""
    seen = []
    children = [
        *steady_children("steady", "suspect"),
        Child("weak", partial(fails_after, 4.95)),
        Child("done", partial(returns_after, 1), "never"),
    ]

    async def main():
        async with system_of(*children) as system:
            seen.append(system.status())
            await asyncio.sleep(5.02)
            seen.append(system.status())
        seen.append(system.status())

    simulate(main, faults=[crash("suspect", at=3)])
    assert [[row.state for row in status] for status in seen] == [
        ["new"] * 4,
        ["running", "suspect", "restarting", "resting"],
        ["stopped", "stopped", "stopped", "resting"],
    ]
    assert repr(seen[1]).splitlines() == [
        "name     state       restarts  cause",
        "steady   running            0",
        "suspect  suspect            0",
        "weak     restarting         0  raised OSError('no such printer')",
        "done     resting            0  returned",
    ]


# What is refused


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"strategy": "all_for_one"}, ValueError),
        ({"max_restarts": -1}, ValueError),
        ({"max_restarts": 1.5}, TypeError),
        ({"max_restarts": True}, TypeError),
        ({"within": 0}, ValueError),
        ({"within": None}, TypeError),
        ({"every": 0}, ValueError),
        ({"timeout": -1}, ValueError),
        ({"timeout": None}, TypeError),
        ({"stop_within": "5"}, TypeError),
    ],
)
def test_a_system_refuses_what_makes_no_sense(options, error):
    """At the line that makes it, naming the argument."""
    with pytest.raises(error, match=next(iter(options))):
        SupervisedSystem(TupleSpace(), **options)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("", steady), ValueError),
        ((1, steady), TypeError),
        (("w1", None), TypeError),
        (("w1", steady()), TypeError),
        (("w1", steady, "sometimes"), ValueError),
    ],
)
def test_a_child_that_makes_no_sense_is_refused(arguments, error):
    """At the line that describes it."""
    with pytest.raises(error):
        Child(*arguments)


def test_a_name_is_given_once():
    """Heartbeats and faults know a child by its name."""
    system = system_of(*steady_children("w1"))
    with pytest.raises(ValueError, match="'w1' already"):
        system.add(Child("w1", steady))
    with pytest.raises(TypeError, match="needs a Child"):
        system.add(steady)


def test_a_plain_function_as_child_is_named():
    """It cannot be awaited, so it fails each time, and the limit says why."""
    with pytest.raises(RestartLimitReached, match="cannot be awaited"):
        simulate(supervised(Child("w1", lambda: 42), max_restarts=1))


def test_a_system_works_on_an_ordinary_loop():
    """The same program, in real time."""

    async def main():
        async with SupervisedSystem(TupleSpace(), every=0.01, timeout=1) as system:
            system.add(Child("w1", partial(returns_after, 0.03), Restart.NEVER))
            await system.join()
            return system.status()

    with Trace() as trace:
        assert asyncio.run(main())[0].state == "resting"
    assert trace.of("beat", actor="w1")
