"""watch: see what happens in a space, without taking part."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
from space_help import ended, settle, simulated, simulated_twice, started

from tutorial_lib import ANY, SpaceClosed, Stalled, TupleSpace, simulate, where


async def next_event(events):
    """Return the next event of a watch, or fail after a second."""
    return await asyncio.wait_for(anext(aiter(events)), 1)


@simulated_twice
async def test_a_watch_sees_events_after_entry():
    """Not what was there before, and nothing after it was left."""
    space = TupleSpace()
    await space.write("before")
    async with space.watch(kinds=["write"]) as events:
        await space.write("inside")
        event = await next_event(events)
        assert (event.kind, event.fields, event.space) == ("write", ("inside",), "space")
    await space.write("after")


@simulated_twice
async def test_a_watch_waits_for_the_next_event():
    """In real time, as a loop over events."""
    space = TupleSpace()
    seen = []

    async def look() -> None:
        async with space.watch("a", ANY, kinds=["write"]) as events:
            async for event in events:
                seen.append((event.time, event.fields[1]))

    looker = await started(look())
    for number in range(3):
        await asyncio.sleep(1)
        await space.write("a", number)
    await settle()
    assert seen == [(1.0, 0), (2.0, 1), (3.0, 2)]
    looker.cancel()


@simulated_twice
async def test_a_watch_sees_only_its_pattern():
    """Matched like a take."""
    space = TupleSpace()
    async with space.watch("a", int) as events:
        await space.write_many([("b", 1), ("a", True), ("a", 1), ("a", 1, 2)])
        await space.close()
        assert [event.fields async for event in events if event.kind == "write"] == [("a", 1)]


@simulated
async def test_a_watch_sees_only_its_kinds():
    """Named by the kinds of the trace."""
    space = TupleSpace()
    async with space.watch("a", ANY, kinds=["take", "expire"]) as events:
        await space.write("a", 1, ttl=1)
        await space.write("a", 2)
        await space.take("a", 2)
        await asyncio.sleep(1)
        await space.close()
        assert [(event.kind, event.fields[1]) async for event in events] == [("take", 2), ("expire", 1)]


@simulated_twice
async def test_without_kinds_a_watch_sees_all_kinds_of_the_space_in_order():
    """Every transition of a tuple, once each."""
    space = TupleSpace()
    async with space.watch("a", ANY) as events:
        await space.write("a", 1)
        await space.read("a", 1)
        await space.replace(("a", 1), ("a", 2))
        async with space.claim("a", 2, lease=5) as claim:
            await claim.renew(6)
            await claim.release()
        await space.take("a", 2)
        await space.close()
        kinds = [event.kind async for event in events]
    assert kinds == ["write", "read", "replace", "claim", "renew", "release", "take"]


@simulated_twice
async def test_write_take_and_expiry_are_reported_once_each_in_order():
    """Nothing twice, nothing left out."""
    space = TupleSpace()
    async with space.watch(kinds=["write", "take", "expire"]) as events:
        await space.write("a", 1, ttl=5)
        await space.write("a", 2)
        await space.take("a", 2)
        await asyncio.sleep(5)
        await space.close()
        seen = [(event.kind, event.fields[1]) async for event in events]
    assert seen == [("write", 1), ("write", 2), ("take", 2), ("expire", 1)]


@simulated_twice
async def test_a_watch_works_without_a_trace():
    """Watching and recording are two things."""
    import contextvars

    async def main() -> list[str]:
        space = TupleSpace()
        async with space.watch() as events:
            await space.write("a")
            await space.close()
            return [event.kind async for event in events]

    assert "write" in await asyncio.create_task(main(), context=contextvars.Context())


@simulated_twice
async def test_a_watch_keeps_every_event_until_it_is_read():
    """Its buffer is its own and has no bound."""
    space = TupleSpace()
    async with space.watch(kinds=["write"]) as events:
        await space.write_many([("a", number) for number in range(10_000)])
        await space.close()
        assert [event.fields[1] async for event in events] == list(range(10_000))


@simulated_twice
async def test_with_a_limit_the_oldest_are_dropped_and_counted():
    """The next event that is read tells how many were missed before it."""
    space = TupleSpace()
    async with space.watch(kinds=["write"], limit=3) as events:
        await space.write_many([("a", number) for number in range(10)])
        first = await next_event(events)
        assert first.fields == ("a", 7)
        assert first.detail["missed"] == 7
        second = await next_event(events)
        assert second.fields == ("a", 8)
        assert "missed" not in second.detail
        await space.write_many([("a", number) for number in range(10, 13)])
        third = await next_event(events)
        assert (third.fields, third.detail["missed"]) == (("a", 10), 1)


@simulated_twice
async def test_a_number_missed_is_not_written_into_the_events_of_others():
    """Each watch counts for itself."""
    space = TupleSpace()
    async with space.watch(kinds=["write"], limit=1) as short, space.watch(kinds=["write"]) as long:
        await space.write_many([("a", 1), ("a", 2)])
        assert (await next_event(short)).detail["missed"] == 1
        for _ in range(2):
            assert "missed" not in (await next_event(long)).detail


@simulated_twice
async def test_a_slow_watch_never_blocks_the_writer():
    """A writer does not even yield for it."""
    space = TupleSpace()
    ran: list[bool] = []
    async with space.watch(), space.watch(limit=1):
        asyncio.get_running_loop().call_soon(ran.append, True)
        for number in range(1000):
            await space.write("a", number)
        assert ran == []


@simulated_twice
async def test_each_watch_gets_every_event():
    """Watching takes nothing away, from the space or from others."""
    space = TupleSpace()
    async with space.watch(kinds=["write"]) as one, space.watch(kinds=["write"]) as two:
        await space.write("a")
        assert (await next_event(one)).fields == (await next_event(two)).fields == ("a",)
    assert await space.count() == 1


@simulated_twice
async def test_one_bad_subscriber_harms_nobody():
    """One leaves at its first event, one raises, one is slow, one writes: all four see the first event."""
    space = TupleSpace()
    seen: dict[str, list[int]] = {name: [] for name in ("leaves", "raises", "slow", "writes")}

    async def subscriber(name: str) -> None:
        async with space.watch("a", ANY, kinds=["write"]) as events:
            async for event in events:
                seen[name].append(event.fields[1])
                match name:
                    case "leaves":
                        return
                    case "raises":
                        raise KeyError("bad subscriber")
                    case "slow":
                        await asyncio.sleep(100)
                    case "writes" if event.fields[1] < 3:
                        await space.write("a", event.fields[1] + 1)

    tasks = {name: await started(subscriber(name)) for name in seen}
    await space.write("a", 1)
    await settle()
    assert seen == {"leaves": [1], "raises": [1], "slow": [1], "writes": [1, 2, 3]}
    assert isinstance(await ended(tasks["raises"]), KeyError)
    assert await ended(tasks["leaves"]) is None
    await space.close()
    await asyncio.sleep(400)
    assert seen["slow"] == [1, 2, 3]
    assert all(task.done() for task in tasks.values())


@simulated_twice
async def test_a_watch_ends_after_the_pending_events_when_the_space_closes():
    """What happened before the end is still told, then the loop is over."""
    space = TupleSpace()
    async with space.watch(kinds=["write"]) as events:
        await space.write("a", 1)
        await space.write("a", 2)
        await space.close()
        assert [event.fields[1] async for event in events] == [1, 2]
        assert [event async for event in events] == []


@simulated_twice
async def test_a_watch_that_waits_ends_when_the_space_closes():
    """Its loop ends normally."""
    space = TupleSpace()

    async def look() -> str:
        async with space.watch(kinds=["write"]) as events:
            async for _ in events:
                pass
        return "ended"

    looker = await started(look())
    await space.close()
    assert await asyncio.wait_for(looker, 1) == "ended"


@simulated_twice
async def test_the_closing_itself_can_be_watched():
    """``shut`` is the last event."""
    space = TupleSpace()
    async with space.watch() as events:
        await space.close()
        assert [event.kind async for event in events] == ["shut"]


@simulated_twice
async def test_a_closed_space_has_no_more_to_watch():
    """Entering is refused, or the loop ends at once; it never hangs."""
    space = TupleSpace()
    await space.close()
    try:
        async with asyncio.timeout(1), space.watch() as events:
            assert [event async for event in events] == []
    except SpaceClosed:
        pass


def test_a_thousand_ended_watches_leave_nothing_behind():
    """Whether they ended by return, by an error or by cancellation, the space forgets them."""
    alive: weakref.WeakSet[object] = weakref.WeakSet()

    async def look(space: TupleSpace, round_: int) -> None:
        async with space.watch("a", ANY, kinds=["write"]) as events:
            alive.add(events)
            if round_ % 3 == 0:
                return
            if round_ % 3 == 1:
                raise KeyError
            await anext(aiter(events))

    async def main() -> None:
        space = TupleSpace()
        for round_ in range(1000):
            looker = asyncio.create_task(look(space, round_))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            looker.cancel()
            await ended(looker)
        del looker
        await settle()
        gc.collect()
        assert len(alive) == 0
        await space.write("a", 1)

    asyncio.run(main())


@simulated_twice
async def test_a_cancelled_wait_for_an_event_loses_no_event():
    """Cancelled in the tick in which an event comes: the next look still finds it."""
    space = TupleSpace()
    async with space.watch(kinds=["write"]) as events:
        waiting = await started(events.__anext__())
        await space.write("a", 1)
        waiting.cancel()
        assert isinstance(await ended(waiting), asyncio.CancelledError)
        assert (await next_event(events)).fields == ("a", 1)


@simulated_twice
async def test_watch_validates_its_arguments_when_it_is_called():
    """Unknown kinds are named, and a limit is a whole number of at least 1."""
    space = TupleSpace()
    with pytest.raises(ValueError, match="written"):
        space.watch(kinds=["written"])
    for wrong in (5, [5], [["write"]]):
        with pytest.raises((TypeError, ValueError), match="kind"):
            space.watch(kinds=wrong)
    for wrong in (0, -1, 1.5, "3", True):
        with pytest.raises((TypeError, ValueError), match="limit"):
            space.watch(limit=wrong)


@simulated_twice
async def test_a_watch_that_was_not_entered_records_nothing():
    """Calling is not entering."""
    space = TupleSpace()
    watch = space.watch(kinds=["write"])
    await space.write("a", 1)
    async with watch as events:
        await space.write("a", 2)
        assert (await next_event(events)).fields == ("a", 2)


@simulated_twice
async def test_waiting_can_be_watched():
    """``wait`` and ``leave`` are events too; they tell the operation and the pattern."""
    space = TupleSpace()
    async with space.watch(kinds=["wait", "leave"]) as events:
        taker = await started(space.take("a", int))
        await space.write("a", 1)
        await taker
        wait, leave = await next_event(events), await next_event(events)
    assert (wait.kind, wait.detail["operation"], wait.detail["pattern"]) == ("wait", "take", ("a", int))
    assert (leave.kind, leave.detail["why"]) == ("leave", "served")


def test_whoever_is_stuck_in_a_watch_is_named():
    """`Stalled` says who waits for an event, and in which space."""

    async def main():
        async with TupleSpace("news").watch("headline") as events:
            async for _ in events:
                pass

    with pytest.raises(Stalled, match="main waits in watch for the next event in news"):
        simulate(main)


@simulated
async def test_pending_events_are_taken_without_waiting():
    """All that came, oldest first, and each once. The first one says how many were missed."""
    space = TupleSpace()
    async with space.watch(kinds="write", limit=2) as events:
        await space.write_many([(1,), (2,), (3,)])
        assert [(event.fields, event.detail) for event in events.pending()] == [
            ((2,), {"missed": 1}),
            ((3,), {}),
        ]
        assert events.pending() == []


@simulated
async def test_whose_test_fails_learns_of_it_from_pending_too():
    """After the events that came before."""
    space = TupleSpace()
    async with space.watch(where(lambda number: 1 / number, "not 0"), kinds="write") as events:
        await space.write_many([(1,), (0,)])
        assert len(events.pending()) == 1
        with pytest.raises(ZeroDivisionError):
            events.pending()


@simulated
async def test_a_watch_is_over_when_nothing_can_come_and_all_was_read():
    """After the end of the space its last events are still there to be read."""
    space = TupleSpace()
    async with space.watch() as events:
        assert not events.is_over
        await space.close()
        assert not events.is_over
        assert [event.kind for event in events.pending()] == ["shut"]
        assert events.is_over
