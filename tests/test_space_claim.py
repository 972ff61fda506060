"""claim: hold a tuple for a while, and finish it or give it back."""

from __future__ import annotations

import asyncio

import pytest
from space_help import claimed, ended, settle, simulated, simulated_twice, started

from tutorial_lib import ANY, SpaceClosed, StaleClaim, TupleSpace, connect
from tutorial_lib.trace import current_trace


async def lapsed_claim(space):
    """Return a claim on ("task", 1) whose lease of 1 second is over; the tuple is back in the space."""
    await space.write("task", 1)
    claim = await claimed(space, "task", int, lease=1)
    await asyncio.sleep(1)
    return claim


async def end(claim, ending, to):
    """End a claim with a tuple written to another space, in one of the two ways that there are."""
    if ending == "complete":
        await claim.complete("result", to=to)
    else:
        await claim.bury(to, "why")


# What a claim is


@simulated_twice
async def test_a_claim_tells_its_fields_attempt_token_and_deadline():
    """The first delivery is attempt 1; the deadline is on the loop's clock."""
    space = TupleSpace()
    await space.write("task", 7)
    await asyncio.sleep(2)
    async with space.claim("task", int, lease=5) as claim:
        assert claim.fields == ("task", 7)
        assert claim.attempt == 1
        assert isinstance(claim.token, int)
        assert claim.deadline == 7


@simulated_twice
async def test_a_claim_waits_for_its_tuple():
    """Its lease begins when the tuple is delivered, not when the waiting began."""
    space = TupleSpace()

    async def claim() -> float:
        async with space.claim("task", lease=5) as claim:
            return claim.deadline

    claimer = await started(claim())
    await asyncio.sleep(3)
    await space.write("task")
    assert await claimer == 8


@simulated_twice
async def test_a_claim_that_waits_ends_at_its_timeout():
    """On entering, with the builtin error."""
    space = TupleSpace()
    with pytest.raises(TimeoutError):
        async with space.claim("task", lease=5, timeout=2):
            pass
    assert asyncio.get_running_loop().time() == 2
    assert await space.waiters() == []


@simulated_twice
async def test_claim_validates_its_arguments_when_it_is_called():
    """Before anything is entered, so the error points at the line of the call."""
    space = TupleSpace()
    for wrong in [
        {"lease": 0},
        {"lease": -1},
        {"lease": None},
        {"lease": "5"},
        {"lease": float("inf")},
        {"lease": 1, "timeout": -1},
    ]:
        with pytest.raises((TypeError, ValueError)):
            space.claim("task", **wrong)


@simulated_twice
async def test_a_claim_needs_a_lease():
    """There is no claim for ever, and no lease by default."""
    with pytest.raises(TypeError, match="lease"):
        TupleSpace().claim("task")


@simulated_twice
async def test_the_token_rises_with_every_delivery():
    """Also from tuple to tuple: a younger delivery always has the higher token."""
    space = TupleSpace()
    await space.write_many([("task", 1), ("task", 2)])
    tokens = []
    async with space.claim("task", 1, lease=5) as one, space.claim("task", 2, lease=5) as two:
        tokens += [one.token, two.token]
        await one.release()
        await two.release()
    async with space.claim("task", 2, lease=5) as two, space.claim("task", 1, lease=5) as one:
        tokens += [two.token, one.token]
    assert tokens == sorted(set(tokens))


# Attempts


@simulated_twice
async def test_attempts_count_deliveries_that_ended_by_error_release_or_lapse():
    """The count lives with the tuple, whatever ended the delivery before."""
    space = TupleSpace()
    await space.write("task")
    attempts = []

    async def fail() -> None:
        async with space.claim("task", lease=5) as claim:
            attempts.append(claim.attempt)
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    async with space.claim("task", lease=5) as claim:
        attempts.append(claim.attempt)
        await claim.release()
    attempts.append((await claimed(space, "task", lease=5)).attempt)
    await asyncio.sleep(5)
    attempts.append((await claimed(space, "task", lease=5)).attempt)
    assert attempts == [1, 2, 3, 4]


@simulated_twice
async def test_a_delivery_ended_by_cancellation_does_not_count():
    """A worker that is sent home did not fail."""
    space = TupleSpace()
    await space.write("task")

    async def work() -> None:
        async with space.claim("task", lease=50):
            await asyncio.sleep(20)

    for _ in range(3):
        worker = await started(work())
        assert (await space.stats()).claimed == 1
        worker.cancel()
        await ended(worker)
    async with space.claim("task", lease=5) as claim:
        assert claim.attempt == 1


@simulated_twice
async def test_a_timeout_inside_counts_as_an_error():
    """Work that took too long failed: the claim leaves with `TimeoutError`, not with a cancellation."""
    space = TupleSpace()
    await space.write("task")
    with pytest.raises(TimeoutError):
        async with space.claim("task", lease=50), asyncio.timeout(1):
            await asyncio.sleep(20)
    async with space.claim("task", lease=5) as claim:
        assert claim.attempt == 2


@simulated_twice
async def test_a_waiting_claimer_sees_the_attempt_that_a_give_back_made():
    """The tuple goes from hand to hand with its count."""
    space = TupleSpace()
    await space.write("task")
    attempts = []

    async def work() -> None:
        async with space.claim("task", lease=50) as claim:
            attempts.append(claim.attempt)
            if claim.attempt < 3:
                await claim.release()

    workers = [await started(work()) for _ in range(3)]
    await asyncio.gather(*workers)
    assert attempts == [1, 2, 3]


@simulated_twice
async def test_a_tuple_written_anew_begins_with_attempt_one():
    """A requeue by take and write loses the count; that is why claims exist."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await claim.release()
    await space.write(*await space.take("task"))
    async with space.claim("task", lease=5) as claim:
        assert claim.attempt == 1


# Ending a claim


@simulated_twice
async def test_complete_without_a_result_only_removes():
    """The task is gone, and nothing is written."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await claim.complete()
        stats = await space.stats()
        assert (stats.tuples, stats.claimed) == (0, 0)


@simulated_twice
async def test_complete_writes_the_result_into_the_same_space():
    """The fields of the result are plain arguments, as in a write."""
    space = TupleSpace()
    await space.write("task", 1)
    async with space.claim("task", int, lease=5) as claim:
        await claim.complete("result", 1, 10)
    assert await space.read_all() == [("result", 1, 10)]


@simulated_twice
async def test_complete_writes_the_result_into_another_space():
    """``to`` names it."""
    tasks, results = TupleSpace("tasks"), TupleSpace("results")
    await tasks.write("task", 1)
    async with tasks.claim("task", int, lease=5) as claim:
        await claim.complete("result", 1, to=results)
    assert (await tasks.count(), await results.read_all()) == (0, [("result", 1)])


@simulated_twice
async def test_complete_is_one_step():
    """Nobody ever sees neither task nor result, or both."""
    tasks, results = TupleSpace("tasks"), TupleSpace("results")
    await tasks.write("task")
    seen = []

    async def look() -> None:
        while True:
            stats = await tasks.stats()
            seen.append(stats.tuples + stats.claimed + (await results.stats()).tuples)
            await asyncio.sleep(0)

    looker = asyncio.create_task(look())
    async with tasks.claim("task", lease=5) as claim:
        await settle()
        await claim.complete("result", to=results)
        await settle()
    looker.cancel()
    assert set(seen) == {1}


@simulated_twice
async def test_a_result_is_offered_to_waiters():
    """The master that waits for it gets it at once, also past a full space."""
    tasks, results = TupleSpace("tasks"), TupleSpace("results", capacity=1)
    await results.write("full")
    await tasks.write("task")
    master = await started(results.take("result"))
    async with tasks.claim("task", lease=5) as claim:
        await claim.complete("result", to=results)
    assert await master == ("result",)


@simulated_twice
async def test_a_result_takes_the_place_of_its_task():
    """In a full space of its own a claim completes without waiting: one goes, one comes."""
    space = TupleSpace(capacity=1)
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await claim.complete("result")
        assert await space.read_all() == [("result",)]
    assert asyncio.get_running_loop().time() == 0


@simulated_twice
async def test_release_gives_the_tuple_back():
    """At once, for the next one."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await claim.release()
        assert await space.read_all() == [("task",)]


@simulated_twice
async def test_bury_writes_the_fields_and_the_reason():
    """The dead letter says what it was and why."""
    tasks, dead = TupleSpace("tasks"), TupleSpace("dead")
    await tasks.write("task", 7)
    async with tasks.claim("task", int, lease=5) as claim:
        await claim.bury(dead, "no such customer")
    assert await dead.read_all() == [("task", 7, "no such customer")]
    assert (await tasks.stats()).claimed == await tasks.count() == 0


@simulated_twice
async def test_bury_needs_a_space():
    """``None`` is no space for dead letters: the next worker would take the dead task for a new one."""
    tasks = TupleSpace("tasks")
    await tasks.write("task", 7)
    async with tasks.claim("task", int, lease=5) as claim:
        with pytest.raises(ValueError, match=r"bury\(\) needs the space for dead letters"):
            await claim.bury(None, "no such customer")
        await claim.release()
    assert await tasks.read_all() == [("task", 7)]


@simulated_twice
async def test_leaving_without_an_error_completes():
    """The quiet end is the good end."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5):
        pass
    stats = await space.stats()
    assert (stats.tuples, stats.claimed) == (0, 0)


@simulated_twice
async def test_leaving_with_an_error_releases_and_the_error_propagates():
    """The very same exception object reaches the caller."""
    space = TupleSpace()
    await space.write("task")
    original = KeyError("original")
    with pytest.raises(KeyError) as raised:
        async with space.claim("task", lease=5):
            raise original
    assert raised.value is original
    assert await space.read_all() == [("task",)]


@pytest.mark.parametrize("ending", ["complete", "release", "bury"])
@simulated_twice
async def test_after_an_ending_leaving_does_nothing_more(ending):
    """Neither without an error nor with one."""
    space, dead = TupleSpace(), TupleSpace("dead")
    arguments = (dead, "why") if ending == "bury" else ()

    async def work(error: Exception | None) -> None:
        async with space.claim("task", lease=5) as claim:
            await getattr(claim, ending)(*arguments)
            if error is not None:
                raise error

    for error in (None, KeyError("late")):
        await space.write("task")
        outcome = await ended(asyncio.create_task(work(error)))
        assert outcome is error
        assert (await space.stats()).claimed == 0
        left = await space.take_all() + await dead.take_all()
        assert left == {"complete": [], "release": [("task",)], "bury": [("task", "why")]}[ending]


@pytest.mark.parametrize("first", ["complete", "release", "bury"])
@pytest.mark.parametrize("second", ["complete", "release", "bury", "renew"])
@simulated_twice
async def test_a_second_ending_is_refused(first, second):
    """A claim ends once; what comes after changes nothing."""
    space, dead = TupleSpace(), TupleSpace("dead")
    arguments = {"complete": (), "release": (), "bury": (dead, "why"), "renew": (5,)}
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await getattr(claim, first)(*arguments[first])
        before = await space.read_all() + await dead.read_all()
        with pytest.raises(StaleClaim):
            await getattr(claim, second)(*arguments[second])
        assert await space.read_all() + await dead.read_all() == before


# The lease


@simulated_twice
async def test_a_lapsed_tuple_is_back_at_the_deadline():
    """Not a microsecond earlier, and without anyone looking."""
    space = TupleSpace()
    await space.write("task")
    taker_got = []

    async def take() -> None:
        await space.take("task")
        taker_got.append(asyncio.get_running_loop().time())

    await claimed(space, "task", lease=3)
    taker = await started(take())
    await asyncio.sleep(2.999999)
    assert taker_got == []
    await taker
    assert taker_got == [3.0]


@simulated_twice
async def test_a_lease_is_never_renewed_by_itself():
    """A worker that is alive but slow loses its claim like any other."""
    space = TupleSpace()
    await space.write("task")
    await claimed(space, "task", lease=1)
    for _ in range(15):
        await asyncio.sleep(0.1)
    assert await space.count() == 1


@simulated_twice
async def test_renew_sets_a_new_lease_from_now_on():
    """The deadline moves to now plus the lease, later or earlier."""
    space = TupleSpace()
    await space.write("task")
    claim = await claimed(space, "task", lease=2)
    await asyncio.sleep(1.5)
    await claim.renew(2)
    assert claim.deadline == 3.5
    await asyncio.sleep(1.5)
    assert await space.count() == 0
    await claim.renew(0.25)
    assert claim.deadline == 3.25
    await asyncio.sleep(0.25)
    assert await space.count() == 1
    with pytest.raises(StaleClaim):
        await claim.renew(5)


@simulated_twice
async def test_renewing_at_the_very_deadline_is_stale():
    """A deadline is reached when now is no earlier than it."""
    space = TupleSpace()
    await space.write("task")
    wake_before_the_lapse = asyncio.create_task(asyncio.sleep(1))
    await settle()
    claim = await claimed(space, "task", lease=1)
    await wake_before_the_lapse
    for ending in (claim.renew(5), claim.complete("result"), claim.release(), claim.bury(space, "why")):
        with pytest.raises(StaleClaim):
            await ending
    assert await space.read_all() == [("task",)]


@pytest.mark.parametrize("late", ["complete", "release", "bury", "renew"])
@simulated_twice
async def test_anything_done_after_the_lease_was_lost_is_stale_and_changes_nothing(late):
    """The text says that the lease is over."""
    space, dead = TupleSpace(), TupleSpace("dead")
    claim = await lapsed_claim(space)
    arguments = {"complete": ("result", 1), "release": (), "bury": (dead, "why"), "renew": (5,)}
    with pytest.raises(StaleClaim, match="lease"):
        await getattr(claim, late)(*arguments[late])
    assert await space.read_all() == [("task", 1)]
    assert await dead.count() == 0


@pytest.mark.parametrize("late", ["complete", "release", "bury", "renew"])
@simulated_twice
async def test_a_late_holder_cannot_touch_the_next_holders_claim(late):
    """A has lost its lease, B holds the tuple: whatever A does, B still holds it."""
    space, dead = TupleSpace(), TupleSpace("dead")
    a = await lapsed_claim(space)
    arguments = {"complete": ("result", 1), "release": (), "bury": (dead, "why"), "renew": (5,)}
    async with space.claim("task", int, lease=5) as b:
        with pytest.raises(StaleClaim):
            await getattr(a, late)(*arguments[late])
        assert b.token > a.token
        assert await space.count() == await dead.count() == 0
        with pytest.raises(TimeoutError):
            await space.take("task", ANY, timeout=1)
        await b.complete("result", 1)
    assert await space.read_all() == [("result", 1)]


@simulated_twice
async def test_leaving_after_the_lease_was_lost_says_so():
    """The quiet end would have completed, and it cannot: that must not pass unnoticed."""
    space = TupleSpace()
    await space.write("task")
    with pytest.raises(StaleClaim):
        async with space.claim("task", lease=1):
            await asyncio.sleep(2)
    assert await space.count() == 1


@simulated_twice
async def test_who_was_told_that_the_lease_is_lost_may_leave_in_peace():
    """The error was raised once, where the holder could deal with it; leaving does not raise it again."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=1) as claim:
        await asyncio.sleep(2)
        with pytest.raises(StaleClaim):
            await claim.complete("result")
    assert await space.read_all() == [("task",)]


@simulated_twice
async def test_leaving_with_an_error_after_the_lease_was_lost_keeps_the_error():
    """The original error propagates; the lapse has given the tuple back already."""
    space = TupleSpace()
    await space.write("task")

    async def fail_late() -> None:
        async with space.claim("task", lease=1):
            await asyncio.sleep(2)
            raise KeyError("original")

    with pytest.raises(KeyError, match="original"):
        await fail_late()
    assert await space.count() == 1
    async with space.claim("task", lease=1) as claim:
        assert claim.attempt == 2


@simulated
async def test_a_finished_claim_does_not_lapse():
    """After complete, release or bury the old deadline means nothing."""
    space = TupleSpace()
    await space.write("task", 1)
    async with space.claim("task", 1, lease=1) as claim:
        await claim.complete("result", 1)
    await space.write("task", 2)
    async with space.claim("task", 2, lease=1) as claim:
        await claim.release()
        await space.take("task", 2)
    await asyncio.sleep(5)
    assert await space.read_all() == [("result", 1)]
    assert current_trace().of("lapse") == []


# The other space


@simulated_twice
async def test_to_must_be_a_space():
    """A name is not enough; the claim stays open."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        for wrong in ("results", 5, object()):
            with pytest.raises((TypeError, ValueError), match="space"):
                await claim.complete("result", to=wrong)
            with pytest.raises((TypeError, ValueError), match="space"):
                await claim.bury(wrong, "why")
        await claim.complete("result")
    assert await space.read_all() == [("result",)]


@simulated_twice
async def test_to_may_be_a_space_of_the_same_manager():
    """As the named spaces of a lesson are."""
    async with connect() as manager:
        tasks, results = manager.space("tasks"), manager.space("results")
        await tasks.write("task")
        async with tasks.claim("task", lease=5) as claim:
            await claim.complete("result", to=results)
        assert await results.count() == 1


def test_to_of_another_loop_is_refused():
    """One step cannot span two loops; the claim stays open."""
    other_loop = asyncio.new_event_loop()
    foreign = TupleSpace("foreign")
    other_loop.run_until_complete(foreign.write("mine"))

    async def main() -> None:
        space = TupleSpace()
        await space.write("task")
        async with space.claim("task", lease=50) as claim:
            with pytest.raises(ValueError, match="foreign"):
                await claim.complete("result", to=foreign)
            with pytest.raises(ValueError, match="foreign"):
                await claim.bury(foreign, "why")
            await claim.complete("result")
        assert await space.read_all() == [("result",)]

    asyncio.run(main())
    assert other_loop.run_until_complete(foreign.read_all()) == [("mine",)]
    other_loop.close()


@pytest.mark.parametrize("ending", ["complete", "bury"])
@simulated_twice
async def test_a_closed_to_raises_and_the_claim_stays_open(ending):
    """Nothing was written and nothing removed; the holder may still decide otherwise."""
    space, closed = TupleSpace(), TupleSpace("closed")
    await closed.close()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        with pytest.raises(SpaceClosed):
            await end(claim, ending, closed)
        assert (await space.stats()).claimed == 1
        await claim.release()
    assert await space.count() == 1


@pytest.mark.parametrize("ending", ["complete", "bury"])
@simulated_twice
async def test_a_full_to_is_waited_for(ending):
    """Until there is room; the task stays claimed meanwhile."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")

    async def work() -> None:
        async with space.claim("task", lease=5) as claim:
            await end(claim, ending, full)

    worker = await started(work())
    await asyncio.sleep(4)
    assert not worker.done()
    assert (await space.stats()).claimed == 1
    await full.take("x")
    await worker
    assert len(await full.read_all()) == 1
    stats = await space.stats()
    assert (stats.tuples, stats.claimed) == (0, 0)


@pytest.mark.parametrize("ending", ["complete", "bury"])
@simulated_twice
async def test_a_full_to_is_waited_for_only_while_the_lease_lasts(ending):
    """Then the claim is stale, the task is back, and no result was written, also not later."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")
    with pytest.raises(StaleClaim):
        async with space.claim("task", lease=5) as claim:
            await end(claim, ending, full)
    assert asyncio.get_running_loop().time() == 5
    assert await space.read_all() == [("task",)]
    await full.take("x")
    await settle()
    assert await full.count() == 0
    assert await full.waiters() == []


@simulated_twice
async def test_room_and_lapse_in_the_same_moment_give_one_outcome():
    """Either the result is written and the task gone, or the task is back and nothing written."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")
    asyncio.get_running_loop().call_later(5, lambda: asyncio.ensure_future(full.take("x")))

    async def work() -> None:
        async with space.claim("task", lease=5) as claim:
            await claim.complete("result", to=full)

    outcome = await ended(asyncio.create_task(work()))
    await settle()
    back, written = await space.count(), await full.count("result")
    assert (back, written) == ((1, 0) if isinstance(outcome, StaleClaim) else (0, 1))


@simulated_twice
async def test_cancelled_while_it_waits_for_room_nothing_has_happened():
    """The task is back, the result is not written, and it was no attempt."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")

    async def work() -> None:
        async with space.claim("task", lease=50) as claim:
            await claim.complete("result", to=full)

    worker = await started(work())
    worker.cancel()
    assert isinstance(await ended(worker), asyncio.CancelledError)
    await full.take("x")
    await settle()
    assert await full.count() == 0
    async with space.claim("task", lease=1) as claim:
        assert claim.attempt == 1


@simulated_twice
async def test_cancelled_in_the_tick_in_which_room_appears_nothing_is_lost_or_doubled():
    """Task and result together are always one."""
    for cancel_first in (True, False):
        space, full = TupleSpace(), TupleSpace("full", capacity=1)
        await full.write("x")
        await space.write("task")

        async def work(space: TupleSpace = space, full: TupleSpace = full) -> None:
            async with space.claim("task", lease=50) as claim:
                await claim.complete("result", to=full)

        worker = await started(work())
        if cancel_first:
            worker.cancel()
        assert await full.try_take("x") == ("x",)
        worker.cancel()
        await ended(worker)
        await settle()
        assert await space.count("task") + await full.count("result") == 1


@simulated_twice
async def test_a_cancellation_in_the_moment_of_the_lapse_is_not_swallowed():
    """A worker that is sent home goes home, also if its lease is over in the same tick."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")

    async def work() -> None:
        async with space.claim("task", lease=5) as claim:
            await claim.complete("result", to=full)

    asyncio.get_running_loop().call_later(5, lambda: worker.cancel())
    worker = await started(work())
    assert isinstance(await ended(worker), asyncio.CancelledError)
    await settle()
    assert (await space.count("task"), await full.count("result")) == (1, 0)


@simulated_twice
async def test_a_to_that_closes_during_the_wait_raises_and_the_claim_stays_open():
    """As if it had been closed before."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        completion = await started(claim.complete("result", to=full))
        await full.close()
        assert isinstance(await ended(completion), SpaceClosed)
        await claim.release()
    assert await space.count("task") == 1


@simulated_twice
async def test_of_two_completions_that_wait_for_room_one_is_written():
    """A claim ends once; the other one is told."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        completions = [await started(claim.complete("result", number, to=full)) for number in (1, 2)]
        await full.take("x")
        outcomes = [await ended(completion) for completion in completions]
    assert [type(outcome) for outcome in outcomes] == [type(None), StaleClaim]
    assert await full.take_all() == [("result", 1)]
    await full.write("y", timeout=0)


@simulated_twice
async def test_a_claim_given_back_while_complete_waits_writes_no_result():
    """The completion comes too late, and the room goes to the next writer."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")
    async with space.claim("task", lease=50) as claim:
        completion = await started(claim.complete("result", to=full))
        writer = await started(full.write("next"))
        await claim.release()
        await full.take("x")
        assert isinstance(await ended(completion), StaleClaim)
        await asyncio.wait_for(writer, 1)
    assert (await full.read_all(), await space.read_all()) == ([("next",)], [("task",)])


@simulated_twice
async def test_renewed_while_complete_waits_for_room_the_wait_goes_on():
    """Another task of the holder may keep the lease alive."""
    space, full = TupleSpace(), TupleSpace("full", capacity=1)
    await full.write("x")
    await space.write("task")
    async with space.claim("task", lease=2) as claim:
        completion = await started(claim.complete("result", to=full))
        for _ in range(3):
            await asyncio.sleep(1.5)
            await claim.renew(2)
        await full.take("x")
        await completion
    assert await full.read_all() == [("result",)]


@simulated_twice
async def test_a_claim_on_a_closed_space_may_still_complete():
    """Closing refuses new work, and lets what was begun end."""
    space, results = TupleSpace(), TupleSpace("results")
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await space.close()
        await claim.renew(5)
        await claim.complete("result", to=results)
    assert await results.count() == 1
    assert (await space.stats()).claimed == 0


@simulated_twice
async def test_a_claim_on_a_closed_space_may_still_be_released():
    """What comes back can be taken: a closed space serves what is left."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await space.close()
        await claim.release()
    assert await space.take("task") == ("task",)
    with pytest.raises(SpaceClosed):
        await space.take("task")


@simulated_twice
async def test_two_claims_in_one_block_are_independent():
    """Ending one says nothing about the other."""
    space = TupleSpace()
    await space.write_many([("task", 1), ("task", 2)])
    async with space.claim("task", 1, lease=5) as one, space.claim("task", 2, lease=5) as two:
        await one.release()
        await two.complete("result", 2)
    assert await space.read_all() == [("task", 1), ("result", 2)]


@simulated
async def test_one_entry_is_for_one_holder_also_while_it_waits():
    """A second task that enters it is refused at once, and the first one's claim is not touched."""
    space = TupleSpace()
    entry = space.claim("task", int, lease=10)

    async def hold():
        async with entry as claim:
            await claim.complete("done", claim.fields[1])

    first = asyncio.create_task(hold())
    await asyncio.sleep(1)
    with pytest.raises(RuntimeError, match="entered before"):
        await hold()
    await space.write("task", 1)
    await first
    assert await space.read_all() == [("done", 1)]
