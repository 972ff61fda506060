"""A crash is silence: what a space does for the ones that are left."""

from __future__ import annotations

import asyncio
import random

import pytest
from space_help import REPEATS, claimed, settle, started

from tutorial_lib import ANY, TupleSpace, simulate
from tutorial_lib.faults import crash, hang


def test_a_crashed_takers_wait_is_withdrawn():
    """A tuple written afterwards is not handed to the dead."""

    async def main() -> None:
        space = TupleSpace()
        await started(space.take("a"), name="w1")
        await started(space.read("a"), name="w2")
        await asyncio.sleep(2)
        assert await space.waiters() == []
        await space.write("a")
        assert await space.take("a", timeout=0) == ("a",)

    simulate(main, faults=[crash("w1", at=1), crash("w2", at=1)])


def test_a_crashed_waiter_leaves_with_the_reason_crashed():
    """So that pictures and texts can tell it from a cancellation."""

    async def main() -> None:
        space = TupleSpace()
        await started(space.take("a"), name="w1")
        await asyncio.sleep(2)

    run = simulate(main, faults=[crash("w1", at=1)])
    (leave,) = run.trace.of("leave")
    assert (leave.actor, leave.time, leave.detail["why"]) == ("w1", 1.0, "crashed")


def test_the_next_waiter_is_served_instead_of_a_crashed_one():
    """The queue closes up."""

    async def main() -> tuple[object, ...]:
        space = TupleSpace()
        await started(space.take("a"), name="w1")
        alive = await started(space.take("a"), name="w2")
        await asyncio.sleep(2)
        await space.write("a")
        return await alive

    assert simulate(main, faults=[crash("w1", at=1)]).result == ("a",)


def test_a_plain_take_is_at_most_once():
    """What was handed over is gone with the one who had it."""

    async def main() -> int:
        space = TupleSpace()

        async def work() -> None:
            await space.take("a")
            await asyncio.sleep(5)

        await started(work(), name="w1")
        await space.write("a")
        await asyncio.sleep(60)
        return await space.count()

    assert simulate(main, faults=[crash("w1", at=1)]).result == 0


def test_a_crashed_holders_claim_lapses_and_counts_as_an_attempt():
    """The tuple comes back when the lease is over, without anybody asking."""

    async def main() -> tuple[float, int]:
        space = TupleSpace()
        await space.write("task")

        async def work() -> None:
            async with space.claim("task", lease=10):
                await asyncio.sleep(5)

        await started(work(), name="w1")
        async with space.claim("task", lease=10) as claim:
            return asyncio.get_running_loop().time(), claim.attempt

    assert simulate(main, faults=[crash("w1", at=1)]).result == (10.0, 2)


def test_a_crash_runs_no_exit_of_a_claim():
    """The dead tidy nothing up: no release and no complete, only the lapse."""

    async def main() -> None:
        space = TupleSpace()
        await space.write("task")

        async def work() -> None:
            async with space.claim("task", lease=10):
                await asyncio.sleep(5)

        await started(work(), name="w1")
        await asyncio.sleep(60)

    run = simulate(main, faults=[crash("w1", at=1)])
    assert [event.kind for event in run.trace.of("claim", "release", "complete", "lapse")] == [
        "claim",
        "lapse",
    ]


def test_a_crashed_writers_place_in_the_queue_is_freed():
    """A writer that waited for room and died does not hold up those behind, and wrote nothing."""

    async def main() -> list[tuple[object, ...]]:
        space = TupleSpace(capacity=1)
        await space.write("full")
        await started(space.write("dead"), name="w1")
        alive = await started(space.write("alive"), name="w2")
        await asyncio.sleep(2)
        await space.take("full")
        await alive
        return await space.read_all()

    assert simulate(main, faults=[crash("w1", at=1)]).result == [("alive",)]


def test_room_that_was_promised_to_a_crashed_writer_goes_to_the_next():
    """It hung when it was let in, and died before it could come."""

    async def main() -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
        space = TupleSpace(capacity=1)
        await space.write("full")
        await started(space.write("dead"), name="w1")
        await started(space.write("alive"), name="w2")
        await asyncio.sleep(2)
        await space.take("full")
        await asyncio.sleep(1)
        before = await space.read_all()
        await asyncio.sleep(1)
        return before, await space.read_all()

    faults = [hang("w1", at=1), crash("w1", at=3)]
    assert simulate(main, faults=faults).result == ([], [("alive",)])


def test_a_tuple_that_was_handed_to_a_hanging_taker_dies_with_it():
    """It had left the space, whether or not the taker ever noticed."""

    async def main() -> int:
        space = TupleSpace()
        await started(space.take("a"), name="w1")
        await asyncio.sleep(2)
        await space.write("a")
        await asyncio.sleep(2)
        return await space.count()

    assert simulate(main, faults=[hang("w1", at=1), crash("w1", at=3)]).result == 0


def test_a_claim_that_was_handed_to_a_hanging_claimer_lapses():
    """The lease runs from the hand-over, also if the holder never notices; that was an attempt."""

    async def main() -> tuple[float, int]:
        space = TupleSpace()
        await started(claimed(space, "a", lease=5), name="w1")
        await asyncio.sleep(2)
        await space.write("a")
        claim = await claimed(space, "a", lease=5)
        return asyncio.get_running_loop().time(), claim.attempt

    assert simulate(main, faults=[hang("w1", at=1)]).result == (7.0, 2)


def test_with_claims_every_task_ends_exactly_once_whoever_crashes_when():
    """Twenty tasks, three workers, each of them shot at some moment and replaced: 20 results, none twice."""

    async def main() -> list[int]:
        tasks, results = TupleSpace("tasks"), TupleSpace("results", capacity=3)

        async def work() -> None:
            while True:
                async with tasks.claim("task", int, lease=5) as claim:
                    await asyncio.sleep(1)
                    await claim.complete("result", claim.fields[1], to=results)

        await tasks.write_many([("task", number) for number in range(20)])
        crew = [asyncio.create_task(work(), name=f"w{number}") for number in range(6)]
        done = []
        while len(done) < 20:
            await asyncio.sleep(0.25)
            done.append((await results.take("result", int))[1])
        assert (await tasks.stats()).claimed == await tasks.count() == await results.count() == 0
        for task in crew:
            task.cancel()
        return sorted(done)

    for seed in range(1, 100 * REPEATS + 1):
        moments = random.Random(seed)
        faults = [crash(f"w{number}", at=moments.choice([0, 1, 2, 2.25, 3.5, 5])) for number in range(5)]
        assert simulate(main, seed=seed, faults=faults).result == list(range(20))


@pytest.mark.parametrize("timed", ["ttl", "lease"])
def test_timers_that_a_crashed_actor_armed_go_on(timed):
    """A ttl and a lease belong to the space, not to the actor that gave them."""

    async def main() -> tuple[int, int]:
        space = TupleSpace()

        async def work() -> None:
            if timed == "ttl":
                await space.write("a", ttl=5)
            else:
                await space.write("a")
                await space.claim("a", lease=5).__aenter__()
            await asyncio.sleep(100)

        await started(work(), name="w1")
        await asyncio.sleep(4)
        before = (await space.stats()).tuples
        await asyncio.sleep(2)
        return before, (await space.stats()).tuples

    assert simulate(main, faults=[crash("w1", at=1)]).result == ((1, 0) if timed == "ttl" else (0, 1))


def test_a_crashed_watcher_harms_nobody():
    """Its window is closed, and the writers go on."""

    async def main() -> int:
        space = TupleSpace()
        seen = []

        async def look() -> None:
            async with space.watch(kinds=["write"]) as events:
                async for event in events:
                    seen.append(event.fields)

        await started(look(), name="w1")
        await space.write("a")
        await asyncio.sleep(2)
        await space.write("b")
        await settle()
        assert seen == [("a",)]
        return await space.count()

    assert simulate(main, faults=[crash("w1", at=1)]).result == 2


def test_a_stuck_program_is_told_who_waits_for_what_and_what_comes_closest():
    """`Stalled` names the actor, the pattern and the nearest miss."""
    from tutorial_lib.simulation import Stalled

    async def main() -> None:
        space = TupleSpace("tasks")
        await space.write("task", 3, "queued")
        await started(space.take("task", int), name="w1")
        await space.take("nothing", ANY)

    with pytest.raises(Stalled) as stalled:
        simulate(main)
    text = str(stalled.value)
    for part in ("w1", "('task', int)", "('task', 3, 'queued')", "3 fields, 2 asked", "('nothing', ANY)"):
        assert part in text
