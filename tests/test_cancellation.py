"""Cancellation: whoever is cancelled, and whenever, no tuple is lost and none is doubled.

A tuple that was written is taken, or still there. The tests here try that promise in thousands of schedules:
each seed of `simulate` runs the ready tasks in another order, and picks other moments to cancel.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from space_help import REPEATS, ended, settle, simulated, simulated_twice, started, untraced

from tutorial_lib import ANY, StaleClaim, TupleSpace, simulate
from tutorial_lib.trace import Trace, current_trace

Fields = tuple[Any, ...]


class Ledger:
    """What was written and what was taken, by those who know: the ones to whom the call returned."""

    def __init__(self, space: TupleSpace) -> None:
        self.space = space
        self.written: list[Fields] = []
        self.taken: list[Fields] = []

    async def write(self, *fields: Any, **options: Any) -> None:
        """Write, and book it when the write has returned."""
        await self.space.write(*fields, **options)
        self.written.append(fields)

    async def take(self, **options: Any) -> None:
        """Take any number, and book it when the take has returned."""
        self.taken.append(await self.space.take("n", int, **options))

    async def read(self, **options: Any) -> None:
        """Read any number. That moves nothing."""
        await self.space.read("n", int, **options)

    async def claim(self, **options: Any) -> None:
        """Claim any number, and book it when the claim is completed."""
        async with self.space.claim("n", int, lease=1000, **options) as claim:
            await asyncio.sleep(0)
            await claim.complete()
            self.taken.append(claim.fields)

    async def replace(self) -> None:
        """Replace any number by itself, or insert a new one: a write of one and a take of another."""
        new = ("n", random.randrange(10**9))
        old = await self.space.replace(("n", int), new, insert=True)
        self.written.append(new)
        if old is not None:
            self.taken.append(old)

    async def check(self) -> None:
        """Compare the books with the space: written = taken + left, and nobody waits or holds anything."""
        left = await self.space.read_all()
        assert sorted(self.written) == sorted(self.taken + left)
        stats = await self.space.stats()
        assert (stats.claimed, stats.waiting) == (0, 0)
        assert await self.space.waiters() == []

    async def check_that_nobody_waits_in_vain(self) -> None:
        """Check that no writer waits where there is room, and no taker or reader for what is there."""
        stats = await self.space.stats()
        for waiter in await self.space.waiters():
            if waiter.operation in ("write", "replace"):
                assert stats.tuples + stats.claimed >= stats.capacity
            else:
                assert await self.space.count(*waiter.pattern) == 0


async def passes(number: int) -> None:
    """Let the loop go round so many times."""
    for _ in range(number):
        await asyncio.sleep(0)


# Every await point of every operation, one by one


@pytest.mark.parametrize("cancel_first", [True, False])
@pytest.mark.parametrize("capacity", [None, 1])
@pytest.mark.parametrize("already_there", [0, 1])
@pytest.mark.parametrize("operation", ["take", "read", "claim", "write", "replace"])
@simulated_twice
async def test_cancelled_at_any_await_point_with_a_write_in_the_same_tick(
    operation, already_there, capacity, cancel_first
):
    """Cancelled after 0, 1, 2, ... passes of the loop, just before or just after a write."""
    for passes_before in range(6):
        space = TupleSpace(capacity=capacity)
        ledger = Ledger(space)
        for number in range(already_there):
            await ledger.write("n", number)
        arguments = ("n", 100) if operation == "write" else ()
        victim = asyncio.create_task(getattr(ledger, operation)(*arguments))
        await passes(passes_before)
        writer = asyncio.create_task(ledger.write("n", 200)) if capacity else None
        if cancel_first:
            victim.cancel()
        if not capacity:
            await ledger.write("n", 200)
        victim.cancel()
        await ended(victim)
        await settle()
        if writer is not None:
            writer.cancel()
            await ended(writer)
        await ledger.check()


@pytest.mark.parametrize("cancel_first", [True, False])
@simulated_twice
async def test_a_writer_cancelled_at_any_await_point_with_a_take_in_the_same_tick(cancel_first):
    """A write that returned has happened, any other has not."""
    for passes_before in range(6):
        ledger = Ledger(TupleSpace(capacity=1))
        await ledger.write("n", 1)
        writers = [asyncio.create_task(ledger.write("n", number)) for number in (2, 3)]
        await passes(passes_before)
        if cancel_first:
            writers[0].cancel()
        ledger.taken.append(await ledger.space.take("n", int))
        writers[0].cancel()
        await settle()
        ledger.taken += await ledger.space.take_all()
        await asyncio.gather(*writers, return_exceptions=True)
        await ledger.check()
        assert ("n", 3) in ledger.written


# Thousands of schedules


def interruption() -> Callable[[Coroutine[Any, Any, None]], Awaitable[None]]:
    """Choose one of the ways in which a wait is cut short."""

    async def by_cancelling(operation: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(operation)
        try:
            await passes(random.randrange(5))
        finally:
            task.cancel()
        await task

    async def by_timeout_block(operation: Coroutine[Any, Any, None]) -> None:
        async with asyncio.timeout(random.randrange(3)):
            await operation

    async def by_wait_for(operation: Coroutine[Any, Any, None]) -> None:
        await asyncio.wait_for(operation, random.randrange(3))

    return random.choice([by_cancelling, by_timeout_block, by_wait_for])


async def one_schedule(operation: str) -> None:
    """A handful of tasks on one small space, cut short at random moments. The seed decides everything."""
    ledger = Ledger(TupleSpace(capacity=random.choice([None, 1, 2])))
    numbers = iter(range(1000))

    async def act(name: str) -> None:
        arguments = ("n", next(numbers)) if name == "write" else ()
        options = {"timeout": random.randrange(3)} if name != "replace" and random.random() < 0.3 else {}
        await passes(random.randrange(4))
        coroutine = getattr(ledger, name)(*arguments, **options)
        await (interruption()(coroutine) if random.random() < 0.5 else coroutine)

    another = random.choice(["take", "claim", "read", "replace"])
    names = [operation, operation, another, "write", "write", "write"]
    random.shuffle(names)
    tasks = [asyncio.create_task(act(name)) for name in names]
    await asyncio.sleep(random.choice([0, 0, 1]))
    for task in random.sample(tasks, 2):
        task.cancel()
        await passes(random.randrange(2))
    await asyncio.sleep(5)
    await ledger.check_that_nobody_waits_in_vain()
    for task in tasks:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await settle()
    for outcome in outcomes:
        assert outcome is None or isinstance(outcome, (TimeoutError, asyncio.CancelledError))
    await ledger.check()


@pytest.mark.parametrize("operation", ["take", "read", "claim", "write", "replace"])
def test_nothing_is_lost_or_doubled_in_any_of_many_schedules(operation):
    """Written = taken + left, in 400 schedules for each operation (TUTORIAL_REPEATS times as many)."""
    for seed in range(1, 400 * REPEATS + 1):
        program = one_schedule if seed % 2 else untraced(one_schedule)
        try:
            simulate(program, operation, seed=seed)
        except AssertionError as error:
            raise AssertionError(f"{operation!r} fails with seed {seed}") from error


async def one_pipeline() -> None:
    """Claims that complete into a full space, with lapses and cancellations at the same moments."""
    tasks, results = TupleSpace("tasks"), TupleSpace("results", capacity=1)
    jobs = 6

    async def work() -> None:
        while True:
            with suppress(StaleClaim):
                async with tasks.claim("task", int, lease=2) as claim:
                    await asyncio.sleep(random.randrange(4))
                    await claim.complete("result", claim.fields[1], to=results)

    async def collect() -> None:
        while True:
            await asyncio.sleep(random.randrange(3))
            done.append((await results.take("result", int))[1])

    done: list[int] = []
    await tasks.write_many([("task", number) for number in range(jobs)])
    others = [asyncio.create_task(collect())]
    for _ in range(8):
        workers = [asyncio.create_task(work()) for _ in range(3)]
        await asyncio.sleep(random.randrange(4))
        await passes(random.randrange(3))
        for worker in workers:
            worker.cancel()
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    await asyncio.sleep(10)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    left = [fields[1] for fields in await tasks.read_all() + await results.read_all()]
    assert sorted(done + left) == list(range(jobs))
    assert (await tasks.stats()).claimed == 0


def test_task_and_result_together_are_always_one():
    """Each task is still a task or has become a result, exactly once, in 200 seeded schedules."""
    for seed in range(1, 200 * REPEATS + 1):
        try:
            simulate(one_pipeline, seed=seed)
        except AssertionError as error:
            raise AssertionError(f"replay with simulate(one_pipeline, seed={seed})") from error


# The storm

TUPLES = 4_000
TAKERS = 20


async def storm(moment: float) -> None:
    """4,000 tuples for 20 takers that never let a take end in peace.

    ``moment`` is a very short time in seconds: the bound for the timeouts.
    """
    space = TupleSpace()
    received: list[int] = []

    async def by_cancelling() -> None:
        task = asyncio.create_task(take())
        await passes(random.randrange(4))
        task.cancel()
        await task

    async def by_wait_for() -> None:
        await asyncio.wait_for(take(), random.random() * moment)

    async def by_timeout_block() -> None:
        async with asyncio.timeout(random.random() * moment):
            await take()

    async def by_own_timeout() -> None:
        received.append((await space.take("n", int, timeout=random.random() * moment))[1])

    async def take() -> None:
        received.append((await space.take("n", int))[1])

    async def taker() -> None:
        ways = [by_cancelling, by_wait_for, by_timeout_block, by_own_timeout]
        while len(received) < TUPLES:
            with suppress(TimeoutError, asyncio.CancelledError):  # the inner take's: this task goes on
                await random.choice(ways)()

    async def writer() -> None:
        for number in range(TUPLES):
            await space.write("n", number)
            if random.random() < 0.3:
                await passes(random.randrange(3))

    async with asyncio.TaskGroup() as group:
        group.create_task(writer())
        for _ in range(TAKERS):
            group.create_task(taker())
    assert sorted(received) == list(range(TUPLES))
    assert await space.count() == 0
    assert await space.waiters() == []
    assert (await space.stats()).waiting == 0


def check_first_in_first_out(trace: Trace) -> int:
    """Check that every take got the oldest tuple that was there. Returns how many came back on the way."""
    here: set[int] = set()
    came_back = 0
    for event in trace.of("write", "take", "release"):
        number = event.fields[1]
        if event.kind == "take":
            assert number == min(here)
            here.remove(number)
        else:
            here.add(number)
            came_back += event.kind == "release"
    assert not here
    return came_back


def test_the_cancel_storm_on_a_real_loop():
    """0 lost, 0 doubled, first in first out, nobody left waiting."""
    random.seed(1)
    with Trace() as trace:
        asyncio.run(storm(moment=0.0005))
    assert check_first_in_first_out(trace) > 0


@pytest.mark.parametrize("seed", range(3 * REPEATS))
def test_the_cancel_storm_in_virtual_time(seed):
    """The same in virtual time, in as many orders as there are seeds."""
    run = simulate(storm, 0.0005, seed=seed)
    assert check_first_in_first_out(run.trace) > 0


async def writers_storm() -> None:
    """Twenty writers that are cut short all the time, on a space with room for three."""
    ledger = Ledger(TupleSpace(capacity=3))
    numbers = iter(range(100_000))

    async def writer() -> None:
        while len(ledger.written) < 1000:
            number = next(numbers)
            with suppress(TimeoutError, asyncio.CancelledError):  # the inner write's: this task goes on
                if random.random() < 0.5:
                    await ledger.write("n", number, timeout=random.random() * 0.0005)
                else:
                    task = asyncio.create_task(ledger.write("n", number))
                    await passes(random.randrange(4))
                    task.cancel()
                    await task

    async def taker() -> None:
        while True:
            ledger.taken.append(await ledger.space.take("n", int))
            assert (await ledger.space.stats()).tuples <= 3
            await passes(random.randrange(3))

    takers = [asyncio.create_task(taker()) for _ in range(2)]
    await asyncio.gather(*(writer() for _ in range(TAKERS)))
    await settle()
    for task in takers:
        task.cancel()
    for outcome in await asyncio.gather(*takers, return_exceptions=True):
        assert isinstance(outcome, asyncio.CancelledError)
    await ledger.check()


@pytest.mark.parametrize("seed", range(3 * REPEATS))
def test_the_writers_storm(seed):
    """What was written is exactly what came out, and the space is never over-full."""
    simulate(writers_storm, seed=seed)


# Wake-ups


@simulated_twice
async def test_many_cancelled_waiters_leave_nobody_waiting():
    """Two thousand waiters of one pattern, all cancelled at once."""
    space = TupleSpace()
    waiters = [asyncio.create_task(space.take("n", ANY)) for _ in range(2000)]
    await settle()
    assert (await space.stats()).waiting == 2000
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    assert await space.waiters() == []
    await space.write("n", 1)
    assert await space.count() == 1


@simulated_twice
async def test_a_wake_up_survives_any_number_of_cancelled_waiters_in_front():
    """A hundred waiters, ninety-nine of them cancelled in the tick of the write: the last one gets it."""
    space = TupleSpace()
    waiters = [await started(space.take("n")) for _ in range(100)]
    await space.write("n")
    for waiter in waiters[:-1]:
        waiter.cancel()
    assert await asyncio.wait_for(waiters[-1], 1) == ("n",)


@simulated
async def test_cancelled_takes_are_told_apart_from_received_ones_in_the_trace():
    """Every ``take`` in the trace was received, or is followed by its ``release``."""
    space = TupleSpace()
    received = []
    for number in range(50):
        taker = await started(space.take("n", int))
        await space.write("n", number)
        if number % 3 == 0:
            taker.cancel()
        outcome = await ended(taker)
        if isinstance(outcome, tuple):
            received.append(outcome)
        else:
            received.append(await space.take("n", int))
    trace = current_trace()
    assert len(trace.of("take")) - len(trace.of("release")) == len(received) == 50
