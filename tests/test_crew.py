"""Crew and work: named workers that are hired, dismissed and ended by their owner."""

from __future__ import annotations

import asyncio
import gc

import pytest
from space_help import ended, settle, simulated, started

from tutorial_lib import TupleSpace, simulate
from tutorial_lib.crew import Crew, work
from tutorial_lib.faults import crash, hang, hire, mute, slow
from tutorial_lib.trace import Trace, current_actor, current_trace, note

SEEDS = range(5)


async def idle(name):
    """A worker that does nothing, for ever."""
    await asyncio.Event().wait()


def now():
    return asyncio.get_running_loop().time()


def moments(run, kind, actor=None):
    return [event.time for event in run.trace.of(kind, actor=actor)]


# Hiring and ending


@simulated
async def test_members_are_called_by_prefix_and_number():
    """w1, w2, w3; each gets its name as the argument and signs with it."""
    seen = []

    async def worker(name):
        seen.append((name, current_actor()))

    async with Crew(worker, 3) as crew:
        assert crew.names == ["w1", "w2", "w3"]
        await crew.join()
    async with Crew(worker, 1, prefix="cook") as crew:
        await crew.join()
    assert seen == [("w1", "w1"), ("w2", "w2"), ("w3", "w3"), ("cook1", "cook1")]


@simulated
async def test_everything_a_member_starts_is_signed_with_its_name():
    """Also a task that it starts."""

    async def worker(name):
        await asyncio.create_task(write())

    async def write():
        await TupleSpace().write("x")

    async with Crew(worker, 1) as crew:
        await crew.join()
    assert [event.actor for event in current_trace().of("write")] == ["w1"]


@simulated
async def test_leaving_the_block_ends_all_members():
    """They are cancelled and have tidied up when the block is left."""
    tidied = []

    async def worker(name):
        try:
            await idle(name)
        finally:
            await asyncio.sleep(1)
            tidied.append(name)

    async with Crew(worker, 2) as crew:
        await asyncio.sleep(3)
    assert tidied == ["w1", "w2"]
    assert now() == 4
    assert crew.names == []
    assert len(asyncio.all_tasks()) == 1


@simulated
async def test_a_block_that_is_entered_again_has_its_own_number_of_workers():
    """A cell that is run twice never doubles the workers."""
    crew = Crew(idle, 2)
    for _ in range(2):
        async with crew:
            await settle()
            assert crew.names == ["w1", "w2"]
            assert len(asyncio.all_tasks()) == 3
    assert len(asyncio.all_tasks()) == 1


@simulated
async def test_a_crew_at_work_cannot_be_entered_a_second_time():
    """The second block would double the workers."""
    async with Crew(idle, 1) as crew:
        with pytest.raises(RuntimeError, match="at work already"):
            await crew.__aenter__()


@simulated
async def test_hire_adds_a_worker_under_the_next_free_name():
    """A name that is in use is passed over; the new one works at once."""
    async with Crew(idle, 2) as crew:
        assert crew.hire("w3") == "w3"
        assert crew.hire() == "w4"
        assert crew.names == ["w1", "w2", "w3", "w4"]


@simulated
async def test_a_name_can_be_hired_again_after_its_worker_has_ended():
    """But not while it is at work."""

    async def worker(name):
        await asyncio.sleep(1)

    async with Crew(worker, 1) as crew:
        with pytest.raises(ValueError, match="'w1' is at work already"):
            crew.hire("w1")
        await crew.join()
        crew.hire("w1")
        assert crew.names == ["w1"]


@simulated
async def test_hire_works_only_inside_the_block():
    """Outside, nobody would end the worker."""
    with pytest.raises(RuntimeError, match="inside its block"):
        Crew(idle, 1).hire()


@simulated
async def test_dismiss_ends_one_worker():
    """It has tidied up when dismiss returns, and the others work on."""
    async with Crew(idle, 2) as crew:
        await settle()
        await crew.dismiss("w1")
        assert crew.names == ["w2"]
        await crew.dismiss("w1")  # once more does nothing


@simulated
async def test_a_dismissed_worker_gives_its_claim_back_uncounted():
    """The next one gets the task as attempt 1."""
    space = TupleSpace()
    await space.write("task", 7)

    async def worker(name):
        async with space.claim("task", int, lease=60):
            await idle(name)

    async with Crew(worker, 1) as crew:
        await settle()
        await crew.dismiss("w1")
        async with space.claim("task", int, lease=1, timeout=0) as claim:
            assert claim.attempt == 1


@simulated
async def test_dismissing_somebody_unknown_says_who_there_is():
    """A wrong name is no reason to be silent."""
    async with Crew(idle, 2) as crew:
        with pytest.raises(ValueError, match=r"Nobody called 'w9' .* w1, w2"):
            await crew.dismiss("w9")


@simulated
async def test_a_worker_cannot_dismiss_itself():
    """It would wait for its own end."""

    refused = []

    async def worker(name):
        try:
            await crew.dismiss(name)
        except ValueError as error:
            refused.append(str(error))

    async with Crew(worker, 1) as crew:
        await crew.join()
    assert refused == ["'w1' cannot dismiss itself. Let it return instead."]


@simulated
async def test_join_waits_for_all_including_those_hired_meanwhile():
    """It returns when the last has ended."""

    async def worker(name):
        await work(2)
        if name == "w1":
            crew.hire("late")

    async with Crew(worker, 2) as crew:
        await crew.join()
        assert now() == 4


def test_hire_and_dismiss_are_in_the_trace_under_the_workers_name():
    """Each once, at its moment."""

    async def main():
        async with Crew(idle, 1) as crew:
            await asyncio.sleep(1)
            crew.hire()
            await asyncio.sleep(1)
            await crew.dismiss("w1")

    run = simulate(main)
    life = [(event.time, event.actor, event.kind) for event in run.trace.of("hire", "dismiss")]
    assert life == [(0, "w1", "hire"), (1, "w2", "hire"), (2, "w1", "dismiss")]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((idle("w1"), 1), TypeError),
        ((None, 1), TypeError),
        ((idle, -1), ValueError),
        ((idle, True), TypeError),
        ((idle, 1.5), TypeError),
        ((idle, "3"), TypeError),
    ],
)
def test_a_crew_refuses_what_it_cannot_run(arguments, error):
    """At the line that makes the crew."""
    with pytest.raises(error):
        Crew(*arguments)


@pytest.mark.parametrize("prefix", ["", None, 3])
def test_a_crew_needs_a_prefix_of_text(prefix):
    """The names of the members begin with it."""
    with pytest.raises((TypeError, ValueError), match="prefix"):
        Crew(idle, 1, prefix=prefix)


@simulated
async def test_a_plain_function_as_worker_is_named():
    """Its result cannot be awaited; the error says so and who it was."""
    with pytest.raises(TypeError, match=r"w1 cannot run: .* 'async def'"):
        async with Crew(lambda name: 42, 1) as crew:
            await crew.join()


# An error in a member


@pytest.mark.parametrize("seed", SEEDS)
def test_an_error_ends_the_crew_and_leaves_the_block_as_it_is(seed):
    """At once: the others are cancelled, the body is interrupted, and the very error is raised."""
    error = LookupError("no such plate")
    cancelled = []

    async def worker(name):
        try:
            await asyncio.sleep(2 if name == "w2" else 100)
        except asyncio.CancelledError:
            cancelled.append(name)
            raise
        raise error

    async def main():
        with pytest.raises(LookupError) as caught:
            async with Crew(worker, 3):
                await asyncio.sleep(100)
        assert caught.value is error
        assert error.__notes__ == ["Raised by w2."]
        assert error.__context__ is None
        assert asyncio.current_task().cancelling() == 0
        await asyncio.sleep(1)  # a leftover cancellation would strike here
        return now()

    assert simulate(main, seed=seed).result == 3
    assert sorted(cancelled) == ["w1", "w3"]


@simulated
async def test_the_first_error_wins_and_names_the_others():
    """No error is lost, and an except for one of them is enough."""

    async def worker(name):
        try:
            await asyncio.sleep(1 if name == "w1" else 100)
        finally:
            raise ValueError(name)

    with pytest.raises(ValueError, match="w1") as caught:
        async with Crew(worker, 2) as crew:
            await crew.join()
    assert caught.value.__notes__ == ["Raised by w1.", "After that w2 raised ValueError('w2')."]


@simulated
async def test_an_error_of_the_block_itself_goes_first():
    """The error of a member that ends meanwhile is noted in it."""

    async def worker(name):
        try:
            await idle(name)
        finally:
            raise ValueError(name)

    async def owner():
        async with Crew(worker, 1):
            await settle()
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        await owner()
    assert caught.value.__notes__ == ["After that w1 raised ValueError('w1')."]


@simulated
async def test_a_cancellation_from_outside_passes_and_ends_the_members():
    """It is not mistaken for an interruption by a member, and no task is left."""

    async def owner():
        async with Crew(idle, 2):
            await idle("owner")

    task = await started(owner())
    task.cancel()
    assert isinstance(await ended(task), asyncio.CancelledError)
    assert len(asyncio.all_tasks()) == 1


@simulated
async def test_a_cancellation_while_the_members_tidy_up_does_not_leave_them_behind():
    """The block is left when they have ended, and then the cancellation passes."""
    tidied = []

    async def worker(name):
        try:
            await idle(name)
        finally:
            await asyncio.sleep(2)
            tidied.append(name)

    async def owner():
        async with Crew(worker, 1):
            await asyncio.sleep(1)

    task = await started(owner())
    await asyncio.sleep(2)
    task.cancel()
    assert isinstance(await ended(task), asyncio.CancelledError)
    assert tidied == ["w1"]


@simulated
async def test_a_timeout_around_the_block_still_works_when_a_member_fails():
    """Both cancel the owner; the timeout passes as what it is."""

    async def worker(name):
        try:
            await idle(name)
        finally:
            await asyncio.sleep(3)

    async def failing(name):
        await asyncio.sleep(1)
        raise ValueError(name)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2), Crew(worker, 1):
            await idle("owner")
    with pytest.raises(ValueError, match="w1"):
        async with asyncio.timeout(2), Crew(failing, 1):
            await idle("owner")


@simulated
async def test_a_member_that_cancels_itself_has_simply_ended():
    """That is no error."""

    async def worker(name):
        raise asyncio.CancelledError

    async with Crew(worker, 1) as crew:
        await crew.join()


# Crashed and hanging members


@pytest.mark.parametrize("seed", SEEDS)
def test_leaving_does_not_wait_for_a_crashed_member(seed):
    """Its task never ends, and none of its finally blocks runs."""
    tidied = []

    async def worker(name):
        try:
            await idle(name)
        finally:
            tidied.append(name)

    async def main():
        async with Crew(worker, 2) as crew:
            await asyncio.sleep(3)
            assert crew.names == ["w2"]
        return now()

    run = simulate(main, seed=seed, faults=[crash("w1", at=1)])
    assert run.result == 3
    assert tidied == ["w2"]
    assert run.errors == []


@pytest.mark.parametrize("at", [0, 1, 2])
def test_join_does_not_wait_for_a_crashed_member(at):
    """Also if the crash is the last thing that happens to the crew."""

    async def worker(name):
        await work(2 if name == "w1" else 1)

    async def main():
        async with Crew(worker, 2) as crew:
            await crew.join()
        return now()

    assert simulate(main, faults=[crash("w1", at=at)]).result == max(at, 1)


def test_a_crashed_name_can_be_hired_again():
    """The new worker has a new life, and leaves as any other."""

    async def main():
        async with Crew(idle, 1) as crew:
            await asyncio.sleep(2)
            crew.hire("w1")
            await asyncio.sleep(2)
            return crew.names

    assert simulate(main, faults=[crash("w1", at=1)]).result == ["w1"]


def test_a_member_that_hangs_is_left_behind_and_named():
    """After 5 seconds of patience; the program goes on."""

    async def main():
        async with Crew(idle, 2):
            await asyncio.sleep(2)
        return now()

    run = simulate(main, faults=[hang("w1", at=1)])
    assert run.result == 7
    assert len(run.errors) == 1
    assert "w1 did not end within 5 s" in run.errors[0]


def test_a_member_that_ignores_cancellation_is_left_behind_and_named():
    """It is told what to do about it."""

    async def stubborn(name):
        while True:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                note("never mind")

    async def main():
        async with Crew(stubborn, 1):
            await asyncio.sleep(1)
        return now()

    run = simulate(main)
    assert run.result == 6
    assert "catches asyncio.CancelledError" in run.errors[0]


def test_a_member_left_behind_does_no_harm_to_a_later_block():
    """It fails when the same crew is at work again, with other members."""

    async def late_to_fail(name):
        try:
            await idle(name)
        except asyncio.CancelledError:
            await asyncio.sleep(8)
            raise ValueError(name) from None

    behaviours = [late_to_fail, idle]

    async def main():
        crew = Crew(lambda name: behaviours.pop(0)(name), 1)
        for _ in range(2):
            async with crew:
                await asyncio.sleep(10)
        return now()

    assert simulate(main).result == 25


def test_the_fault_hire_adds_a_worker():
    """It is at work from that moment on, in the trace once, and ended with the others."""

    async def main():
        async with Crew(idle, 1) as crew:
            await asyncio.sleep(10)
            return crew.names

    run = simulate(main, faults=[hire("w4", at=5)])
    assert run.result == ["w1", "w4"]
    assert moments(run, "hire") == [0, 5]
    assert run.unused_faults == ()


@pytest.mark.parametrize(("name", "at"), [("w1", 5), ("w4", 20)])
def test_the_fault_hire_is_unused_if_nobody_can_hire(name, at):
    """The name is in use, or the crew has gone home."""

    async def main():
        async with Crew(idle, 1):
            await asyncio.sleep(10)
        await asyncio.sleep(20)

    fault = hire(name, at=at)
    assert simulate(main, faults=[fault]).unused_faults == (fault,)


def test_a_crew_works_on_an_ordinary_loop():
    """The same program, in real time."""

    async def worker(name):
        await work(0.001, name)

    async def main():
        async with Crew(worker, 2) as crew:
            await crew.join()
            assert crew.names == []
        async with Crew(idle, 1):
            pass

    with Trace() as trace:
        asyncio.run(main())
    kinds = [event.kind for event in trace.of(actor="w2")]
    assert kinds == ["hire", "start", "finish"]


# work


def test_work_records_start_and_finish():
    """With the task as fields: a tuple as it is, anything else as the only field."""

    async def main():
        await work(2, ("task", 7))
        await work(0, 8)
        await work(1)

    run = simulate(main)
    seen = [(event.time, event.kind, event.fields) for event in run.trace]
    assert seen == [
        (0, "start", ("task", 7)),
        (2, "finish", ("task", 7)),
        (2, "start", (8,)),
        (2, "finish", (8,)),
        (2, "start", ()),
        (3, "finish", ()),
    ]


def test_cancelled_work_records_fail():
    """At the moment of the cancellation, with the reason; it did not finish."""

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await work(2, 7)

    run = simulate(main)
    assert [(event.time, event.kind, event.fields) for event in run.trace] == [
        (0, "start", (7,)),
        (1, "fail", (7,)),
    ]
    assert run.trace[1].detail == {"reason": "cancelled"}


def test_crashed_work_records_nothing_more():
    """Its start stays without an end."""

    async def main():
        async with Crew(lambda name: work(5, 1), 1) as crew:
            await crew.join()

    run = simulate(main, faults=[crash("w1", at=2)])
    assert [event.kind for event in run.trace.of(actor="w1")] == ["hire", "start", "crash"]


@pytest.mark.parametrize(
    ("faults", "end"),
    [
        ([], 4),
        ([slow("w1", at=0, factor=3)], 12),
        ([slow("w1", at=1, factor=4)], 13),  # 1 done, 3 left, each takes 4
        ([slow("w1", at=1, factor=0.5)], 2.5),
        ([slow("w1", at=1, factor=4), slow("w1", at=5, factor=1)], 7),
        ([slow("w2", at=1, factor=4)], 4),
        ([hang("w1", at=1, seconds=10)], 11),
        ([mute("w1", at=1)], 4),
    ],
)
def test_work_obeys_the_pace_of_its_actor(faults, end):
    """What is left of it stretches at the moment of the fault."""

    async def main():
        async with Crew(lambda name: work(4), 2) as crew:
            await crew.join()

    run = simulate(main, faults=faults)
    assert moments(run, "finish", "w1") == [end]


def test_a_worker_hired_under_the_name_of_a_crashed_one_works_at_normal_pace():
    """Slowness ends with the life that it befell."""

    async def main():
        async with Crew(lambda name: work(2), 1) as crew:
            await asyncio.sleep(5)
            crew.hire("w1")
            await crew.join()

    run = simulate(main, faults=[slow("w1", at=0, factor=9), crash("w1", at=1)])
    assert moments(run, "finish") == [7]


@simulated
async def test_work_leaves_nothing_behind():
    """However often it is called, no future waits for a change of pace that never comes."""

    def futures():
        gc.collect()
        return sum(type(thing) is asyncio.Future for thing in gc.get_objects())

    before = futures()
    for _ in range(50):
        await work(1)
    assert futures() < before + 10


@pytest.mark.parametrize("seconds", [-1, None, True, "1", float("nan"), float("inf")])
def test_work_refuses_what_is_no_length_of_time(seconds):
    """Before anything is recorded."""

    async def main():
        with pytest.raises((TypeError, ValueError)):
            await work(seconds)

    assert len(simulate(main).trace) == 0
