"""Loops and threads: a space lives in one loop. These tests use real loops, and wait for nothing."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import time
import weakref

import pytest
from space_help import claimed

from tutorial_lib import ANY, Claim, StaleClaim, TupleSpace, simulate
from tutorial_lib.trace import Trace


async def claim(space):
    """Claim as a single operation."""
    async with space.claim("a", lease=5):
        pass


async def watch(space):
    """Watch as a single operation."""
    async with space.watch():
        pass


OPERATIONS = {
    "write": lambda space: space.write("a"),
    "write_many": lambda space: space.write_many([("a",)]),
    "take": lambda space: space.take("a"),
    "read": lambda space: space.read("a"),
    "try_take": lambda space: space.try_take("a"),
    "try_read": lambda space: space.try_read("a"),
    "take_all": lambda space: space.take_all(),
    "read_all": lambda space: space.read_all(),
    "count": lambda space: space.count(),
    "replace": lambda space: space.replace(("a",), ("b",)),
    "close": lambda space: space.close(),
    "stats": lambda space: space.stats(),
    "waiters": lambda space: space.waiters(),
    "claim": claim,
    "watch": watch,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_another_thread_is_refused(operation):
    """A `RuntimeError` that says so, and the space is as it was."""

    async def main() -> None:
        space = TupleSpace("tasks")
        await space.write("a")
        with pytest.raises(RuntimeError, match=r"tasks.*(thread|loop)"):
            await asyncio.to_thread(asyncio.run, OPERATIONS[operation](space))
        assert await space.read_all() == [("a",)]
        assert not (await space.stats()).closed

    asyncio.run(main())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_another_loop_is_refused_while_the_first_is_open(operation):
    """Also in the same thread: its wake-ups would go to a loop that does not run."""
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    space = TupleSpace("tasks")
    first.run_until_complete(space.write("a"))
    with pytest.raises(RuntimeError, match=r"tasks.*loop"):
        second.run_until_complete(OPERATIONS[operation](space))
    assert first.run_until_complete(space.read_all()) == [("a",)]
    first.close()
    second.close()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_loop_inside_a_running_loop_is_refused(operation):
    """A patch such as nest_asyncio runs a second loop inside the first, in the same thread."""

    async def main() -> None:
        space = TupleSpace("tasks")
        await space.write("a")
        outer, inner = asyncio.get_running_loop(), asyncio.new_event_loop()
        asyncio._set_running_loop(None)  # what such a patch does
        try:
            with pytest.raises(RuntimeError, match=r"tasks.*loop"):
                inner.run_until_complete(OPERATIONS[operation](space))
        finally:
            asyncio._set_running_loop(outer)
            inner.close()
        assert await space.read_all() == [("a",)]

    asyncio.run(main())


def test_a_space_made_outside_any_loop_belongs_to_the_first_that_uses_it():
    """A notebook makes its space in one cell and uses it in the next."""
    space = TupleSpace()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(space.write("a"))
    assert loop.run_until_complete(space.take("a")) == ("a",)
    loop.close()


def test_a_space_moves_when_the_earlier_loop_is_closed():
    """One `asyncio.run` after another, with the tuples kept."""
    space = TupleSpace()
    asyncio.run(space.write("a", 1))
    asyncio.run(space.write("a", 2))
    assert asyncio.run(space.take("a", ANY)) == ("a", 1)
    assert asyncio.run(space.read_all()) == [("a", 2)]


def test_a_space_of_a_simulated_run_can_be_looked_at_afterwards():
    """The virtual loop is closed by then."""

    async def main() -> TupleSpace:
        space = TupleSpace()
        await space.write("a", 1)
        return space

    space = simulate(main).result
    assert asyncio.run(space.read_all()) == [("a", 1)]


def test_a_space_moves_between_simulated_runs():
    """Each run has a loop of its own."""
    space = TupleSpace()

    async def add(number: int) -> int:
        await space.write("a", number)
        return await space.count()

    assert [simulate(add, number).result for number in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("operation", ["take", "read"])
def test_a_space_does_not_move_while_somebody_waits(operation):
    """The one who waits would never be woken."""
    space = TupleSpace("tasks")
    first = asyncio.new_event_loop()
    coroutine = getattr(space, operation)("a")
    waiter = first.create_task(coroutine)
    waiter._log_destroy_pending = False
    first.run_until_complete(asyncio.sleep(0))
    first.close()
    with pytest.raises(RuntimeError, match="tasks"):
        asyncio.run(space.write("a"))
    coroutine.close()
    asyncio.run(space.write("a"))


def test_a_space_does_not_move_while_a_claim_is_open():
    """Its holder still counts on it."""
    space = TupleSpace("tasks")

    async def hold() -> Claim:
        await space.write("a")
        return await claimed(space, "a", lease=1000)

    claim_held = asyncio.run(hold())
    with pytest.raises(RuntimeError, match="tasks"):
        asyncio.run(space.read_all())
    assert claim_held.fields == ("a",)


def test_a_watch_left_behind_in_a_closed_loop_harms_nobody():
    """Its loop is gone, and so is its interest; the next writer does not notice."""
    space = TupleSpace("tasks")

    async def look() -> None:
        async with space.watch() as events:
            await events.__anext__()

    first = asyncio.new_event_loop()
    coroutine = look()
    looker = first.create_task(coroutine)
    looker._log_destroy_pending = False
    first.run_until_complete(asyncio.sleep(0))
    first.close()
    asyncio.run(space.write("a"))
    assert asyncio.run(space.read_all()) == [("a",)]
    coroutine.close()


def test_a_space_moves_after_its_waiters_were_cancelled():
    """`asyncio.run` cancels what is left, and then nobody waits any more."""
    space = TupleSpace(capacity=1)

    async def leave_waiters() -> None:
        await space.write("full")
        tasks = [
            asyncio.create_task(operation)
            for operation in (space.take("a"), space.read("a"), space.write("b"))
        ]
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)

    asyncio.run(leave_waiters())
    assert asyncio.run(space.read_all()) == [("full",)]


def test_outside_any_loop_an_operation_cannot_run():
    """An operation is awaited; driven by hand it says what is missing."""
    operation = TupleSpace().write("a")
    with pytest.raises(RuntimeError, match="loop"):
        operation.send(None)


class Heavy:
    """Something that a context variable keeps alive."""


heavy: contextvars.ContextVar[Heavy] = contextvars.ContextVar("heavy")


@pytest.mark.parametrize("timed", ["ttl", "lease"])
def test_timers_of_a_space_are_armed_in_an_empty_context(timed):
    """A timer that runs for a long while does not keep the context of whoever armed it."""

    async def arm(space: TupleSpace, seen: list[weakref.ref[Heavy]]) -> object:
        value = Heavy()
        heavy.set(value)
        seen.append(weakref.ref(value))
        if timed == "ttl":
            return await space.write("a", ttl=1000)
        await space.write("a")
        return await claimed(space, "a", lease=1000)

    async def main() -> bool:
        space, seen = TupleSpace(), []
        held = await asyncio.create_task(arm(space, seen))
        await asyncio.sleep(0)  # the loop itself remembers a task for one more pass
        gc.collect()
        assert held is None or timed == "lease"
        return seen[0]() is None

    assert asyncio.run(main())


def test_without_a_trace_everything_works_and_nothing_is_recorded():
    """Recording is for those who ask for it."""

    async def main() -> list[tuple[object, ...]]:
        space = TupleSpace()
        await space.write("a", ttl=100)
        await space.replace(("a",), ("b",))
        async with space.claim("b", lease=5) as claim:
            await claim.complete("c")
        return await space.take_all()

    assert asyncio.run(main()) == [("c",)]


def test_on_an_ordinary_loop_a_trace_records():
    """``with Trace()`` is all it takes."""

    async def main() -> None:
        space = TupleSpace("tasks")
        await space.write("a")
        await space.take("a")

    with Trace() as trace:
        asyncio.run(main())
    assert [(event.kind, event.space) for event in trace] == [("write", "tasks"), ("take", "tasks")]


def test_what_is_over_is_over_although_the_loop_was_too_busy_to_notice():
    """A step that blocks the loop holds up its timers. A ttl, a lease and a timeout end all the same."""

    async def main() -> None:
        space = TupleSpace()
        await space.write("short", ttl=0.01)
        await space.write("lent")
        claim = await claimed(space, "lent", lease=0.01)
        taker = asyncio.create_task(space.take("late", timeout=0.01))
        await asyncio.sleep(0)
        time.sleep(0.02)
        assert await space.try_read("short") is None
        with pytest.raises(StaleClaim):
            await claim.complete("result")
        await space.write("late")
        assert await space.try_take("late") == ("late",)
        with pytest.raises(TimeoutError):
            await taker
        assert await space.read_all() == [("lent",)]

    asyncio.run(main())


def test_an_expired_tuple_is_never_seen_although_the_loop_was_too_busy_to_notice():
    """Whatever is asked for first, and with nothing else going on in the space."""

    async def main() -> None:
        for operation in ("try_take", "try_read", "take_all", "read_all", "count"):
            space = TupleSpace()
            await space.write("short", ttl=0.005)
            await space.write("other")
            time.sleep(0.01)
            assert not await getattr(space, operation)("short")
            assert await space.count() == 1

    asyncio.run(main())


def test_a_space_works_in_asyncio_debug_mode():
    """The slow, checking mode of asyncio has nothing to complain about."""

    async def main() -> None:
        space = TupleSpace(capacity=2)
        takers = [asyncio.create_task(space.take("a", ANY, timeout=5)) for _ in range(3)]
        await asyncio.sleep(0)
        for number in range(3):
            await space.write("a", number, ttl=5)
        assert [fields[1] for fields in await asyncio.gather(*takers)] == [0, 1, 2]

    asyncio.run(main(), debug=True)
