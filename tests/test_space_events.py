"""The trace of a space: which events it records, who signs them, and in which order."""

from __future__ import annotations

import asyncio

import pytest
from space_help import claimed, ended, settle, simulated, started

from tutorial_lib import ANY, StaleClaim, TupleSpace, actor
from tutorial_lib.trace import Trace, current_trace


def kinds(*wanted: str) -> list[str]:
    """Return the kinds of all events so far, or of those wanted."""
    return [event.kind for event in current_trace().of(*wanted)]


@simulated
async def test_write_take_and_read_are_recorded():
    """With space, fields, time and actor."""
    space = TupleSpace("tasks")
    await asyncio.sleep(1.5)
    with actor("w1"):
        await space.write("task", 1)
        await space.read("task", ANY)
        await space.try_read("task", ANY)
        await space.take("task", ANY)
    assert kinds() == ["write", "read", "read", "take"]
    for event in current_trace():
        assert (event.time, event.actor, event.space, event.fields) == (1.5, "w1", "tasks", ("task", 1))


@simulated
async def test_what_finds_nothing_records_nothing():
    """Asking in vain leaves no mark."""
    space = TupleSpace()
    await space.try_take("a")
    await space.try_read("a")
    await space.take_all()
    await space.replace(("a",), ("b",))
    assert kinds() == []


@simulated
async def test_read_all_count_stats_and_waiters_record_nothing():
    """Looking at everything is for people and pictures, and no part of the story."""
    space = TupleSpace()
    await space.write("a")
    await space.read_all()
    await space.count()
    await space.stats()
    await space.waiters()
    assert kinds() == ["write"]


@simulated
async def test_take_all_and_write_many_give_one_event_per_tuple():
    """In the order of the tuples."""
    space = TupleSpace()
    await space.write_many([("a", 1), ("a", 2)])
    await space.take_all("a", ANY)
    assert [(event.kind, event.fields[1]) for event in current_trace()] == [
        ("write", 1),
        ("write", 2),
        ("take", 1),
        ("take", 2),
    ]


@simulated
async def test_replace_has_the_new_fields_and_the_old_in_detail():
    """One event, not a take and a write."""
    space = TupleSpace()
    await space.write("state", "old")
    await space.replace(("state", ANY), ("state", "new"))
    event = current_trace()[-1]
    assert (event.kind, event.fields, event.detail["old"]) == ("replace", ("state", "new"), ("state", "old"))


@simulated
async def test_wait_and_leave_carry_operation_and_pattern():
    """``wait`` when an operation begins to wait, ``leave`` with the reason when it stops."""
    space = TupleSpace()
    taker = await started(space.take("a", int), name="w1")
    await space.write("a", 1)
    await taker
    wait, leave = current_trace().of("wait", "leave")
    assert wait.actor == leave.actor == "w1"
    assert wait.detail == {"operation": "take", "pattern": ("a", int)}
    assert leave.detail == {"operation": "take", "pattern": ("a", int), "why": "served"}


@simulated
async def test_served_at_once_is_not_waiting():
    """The one pass in which others run is no wait."""
    space = TupleSpace()
    await space.write("a")
    await space.read("a")
    await space.take("a")
    assert kinds("wait", "leave") == []


@simulated
async def test_a_served_wait_is_write_leave_take():
    """The write comes first, signed by the writer; then the taker leaves the queue, and takes."""
    space = TupleSpace()
    taker = await started(space.take("a"), name="w1")
    await space.write("a")
    assert [(event.kind, event.actor) for event in current_trace()] == [
        ("wait", "w1"),
        ("write", "main"),
        ("leave", "w1"),
        ("take", "w1"),
    ]
    await taker


@simulated
async def test_take_and_claim_are_recorded_when_the_tuple_leaves_the_space():
    """At the moment of the hand-over, before the taker runs."""
    space = TupleSpace()
    taker = await started(space.take("a"), name="w1")
    claimer = await started(claimed(space, "b"), name="w2")
    await space.write("a")
    await space.write("b")
    assert [(event.kind, event.actor) for event in current_trace().of("take", "claim")] == [
        ("take", "w1"),
        ("claim", "w2"),
    ]
    await taker
    await claimer


@pytest.mark.parametrize("operation", ["take", "read"])
@simulated
async def test_leave_tells_why_timeout(operation):
    """A wait that was too long."""
    space = TupleSpace()
    with pytest.raises(TimeoutError):
        await getattr(space, operation)("a", timeout=1)
    assert current_trace().of("leave")[0].detail["why"] == "timeout"
    assert current_trace().of("leave")[0].time == 1


@simulated
async def test_leave_tells_why_cancelled_and_closed():
    """The other ways to end a wait."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    taker = await started(space.take("a"))
    taker.cancel()
    await settle()
    waiters = [await started(space.take("a")), await started(space.write("b"))]
    await space.close()
    await asyncio.gather(*waiters, return_exceptions=True)
    assert [event.detail["why"] for event in current_trace().of("leave")] == ["cancelled", "closed", "closed"]


@simulated
async def test_a_writers_wait_carries_its_fields():
    """The pattern of a waiting write is the tuple that it wants to write."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    writer = await started(space.write("b", 2), name="w1")
    await space.take("full")
    await writer
    wait, leave = current_trace().of("wait", "leave")
    assert (wait.actor, wait.detail) == ("w1", {"operation": "write", "pattern": ("b", 2)})
    assert leave.detail == {"operation": "write", "pattern": ("b", 2), "why": "served"}
    assert [(event.kind, event.fields) for event in current_trace().of("write", "take")] == [
        ("write", ("full",)),
        ("take", ("full",)),
        ("write", ("b", 2)),
    ]


@simulated
async def test_a_write_that_was_cancelled_or_too_late_is_not_recorded():
    """It has not happened."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    writers = [await started(space.write("b")), await started(space.write("c", timeout=1))]
    writers[0].cancel()
    await asyncio.gather(*writers, return_exceptions=True)
    assert [event.fields for event in current_trace().of("write")] == [("full",)]


@simulated
async def test_a_delivery_cancelled_before_receipt_adds_release():
    """``take`` was true at its time; ``release`` tells that the tuple came back."""
    space = TupleSpace()
    taker = await started(space.take("a"), name="w1")
    await space.write("a")
    taker.cancel()
    await ended(taker)
    at_once = asyncio.create_task(space.take("a"), name="w2")
    await asyncio.sleep(0)
    at_once.cancel()
    await ended(at_once)
    assert [(event.kind, event.actor, event.fields) for event in current_trace().of("take", "release")] == [
        ("take", "w1", ("a",)),
        ("release", "w1", ("a",)),
        ("take", "w2", ("a",)),
        ("release", "w2", ("a",)),
    ]


@simulated
async def test_a_claim_cancelled_before_receipt_adds_release():
    """As a take."""
    space = TupleSpace()
    claimer = await started(claimed(space, "a"), name="w1")
    await space.write("a")
    claimer.cancel()
    await ended(claimer)
    assert [(event.kind, event.actor) for event in current_trace().of("claim", "release")] == [
        ("claim", "w1"),
        ("release", "w1"),
    ]


@simulated
async def test_the_life_of_a_claim_is_recorded():
    """claim, renew, complete: signed by the holder, with the tuple."""
    space = TupleSpace()
    await space.write("task", 1)
    with actor("w1"):
        async with space.claim("task", int, lease=5) as claim:
            await claim.renew(5)
            await claim.complete()
    assert [(event.kind, event.actor, event.fields) for event in current_trace()][1:] == [
        ("claim", "w1", ("task", 1)),
        ("renew", "w1", ("task", 1)),
        ("complete", "w1", ("task", 1)),
    ]


@simulated
async def test_leaving_a_claim_without_an_error_records_complete():
    """The quiet end is recorded like the spoken one."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5):
        pass
    assert kinds() == ["write", "claim", "complete"]


@simulated
async def test_leaving_a_claim_with_an_error_records_release():
    """One release, whether it was an error, a cancellation or a spoken word."""
    space = TupleSpace()
    await space.write("task")
    with pytest.raises(KeyError):
        async with space.claim("task", lease=5):
            raise KeyError
    async with space.claim("task", lease=5) as claim:
        await claim.release()
    assert kinds() == ["write", "claim", "release", "claim", "release"]


@simulated
async def test_complete_with_a_result_is_complete_and_write_consecutive():
    """``complete`` in the space of the task, ``write`` in the space of the result, nothing between them."""
    tasks, results = TupleSpace("tasks"), TupleSpace("results")
    await tasks.write("task", 1)
    waiting = await started(results.take("result"), name="master")
    async with tasks.claim("task", int, lease=5) as claim:
        await claim.complete("result", to=results)
    await waiting
    events = list(current_trace())
    place = next(event.seq for event in events if event.kind == "complete")
    assert [(event.kind, event.space, event.fields) for event in events[place : place + 4]] == [
        ("complete", "tasks", ("task", 1)),
        ("write", "results", ("result",)),
        ("leave", "results", ()),
        ("take", "results", ("result",)),
    ]


@simulated
async def test_bury_is_bury_and_write_consecutive():
    """The same for a dead letter."""
    tasks, dead = TupleSpace("tasks"), TupleSpace("dead")
    await tasks.write("task", 1)
    async with tasks.claim("task", int, lease=5) as claim:
        await claim.bury(dead, "why")
    assert [(event.kind, event.space, event.fields) for event in list(current_trace())[-2:]] == [
        ("bury", "tasks", ("task", 1)),
        ("write", "dead", ("task", 1, "why")),
    ]


@simulated
async def test_a_lapse_is_signed_by_the_holder():
    """At the deadline, although the holder did nothing at all."""
    space = TupleSpace()
    await space.write("task")
    with actor("w1"):
        await claimed(space, "task", lease=2)
    await asyncio.sleep(5)
    (lapse,) = current_trace().of("lapse")
    assert (lapse.actor, lapse.time, lapse.fields) == ("w1", 2.0, ("task",))


@simulated
async def test_an_expiry_is_signed_by_the_writer():
    """At the deadline."""
    space = TupleSpace()
    with actor("w1"):
        await space.write("a", ttl=2)
    with actor("w2"):
        await space.replace(("b",), ("b",), insert=True, ttl=3)
        await asyncio.sleep(5)
    assert [(event.actor, event.time, event.fields) for event in current_trace().of("expire")] == [
        ("w1", 2.0, ("a",)),
        ("w2", 3.0, ("b",)),
    ]


@simulated
async def test_an_expired_give_back_is_release_then_expire():
    """The claim ends first, then the tuple."""
    space = TupleSpace()
    with actor("w1"):
        await space.write("a", ttl=1)
    with actor("w2"):
        async with space.claim("a", lease=5) as claim:
            await asyncio.sleep(2)
            await claim.release()
    assert [(event.kind, event.actor, event.time) for event in current_trace().of("release", "expire")] == [
        ("release", "w2", 2.0),
        ("expire", "w1", 2.0),
    ]


@simulated
async def test_what_a_stale_claim_tries_is_noted_once_and_changes_nothing():
    """One note that the holder was refused, so that every run can count the late; no event of the space."""
    space = TupleSpace()
    await space.write("task")
    claim = await claimed(space, "task", lease=1)
    await asyncio.sleep(1)
    for attempt in (claim.renew(5), claim.complete("result"), claim.release(), claim.bury(space, "why")):
        with pytest.raises(StaleClaim):
            await attempt
    assert kinds() == ["write", "claim", "lapse", "note"]
    refusal = current_trace()[-1]
    assert (refusal.space, refusal.fields) == ("space", ("task",))
    assert refusal.detail == {"text": "refused", "step": "renew"}


@simulated
async def test_closing_is_recorded_once():
    """``shut``, however often it is closed."""
    space = TupleSpace("tasks")
    await space.close()
    await space.close()
    assert [(event.kind, event.space) for event in current_trace()] == [("shut", "tasks")]


@simulated
async def test_an_error_records_nothing():
    """What was refused has not happened."""
    space = TupleSpace()
    for refused in (space.write(), space.write(ANY), space.take(), space.write("a", ttl=0), space.read()):
        with pytest.raises(ValueError, match=r"field|pattern|ttl"):
            await refused
    assert kinds() == []


@simulated
async def test_every_tuple_can_be_followed():
    """In a busy run the trace accounts for every tuple: what came in went out, or is still there."""
    space = TupleSpace(capacity=5)

    async def producer() -> None:
        for number in range(50):
            await space.write("task", number, ttl=3 if number % 10 == 0 else None)

    async def consumer() -> None:
        while True:
            async with space.claim("task", int, lease=1) as claim:
                if claim.fields[1] % 7 == 0 and claim.attempt == 1:
                    await claim.release()
                await asyncio.sleep(0.1)

    consumers = [asyncio.create_task(consumer(), name=f"w{n}") for n in range(3)]
    await producer()
    await asyncio.sleep(20)
    held = {"space": 0, "claims": 0}
    for event in current_trace():
        match event.kind:
            case "write":
                held["space"] += 1
            case "claim":
                held["space"] -= 1
                held["claims"] += 1
            case "release" | "lapse":
                held["space"] += 1
                held["claims"] -= 1
            case "complete":
                held["claims"] -= 1
            case "expire":
                held["space"] -= 1
    assert held == {"space": await space.count(), "claims": 0} == {"space": 0, "claims": 0}
    for task in consumers:
        task.cancel()


def test_a_trace_records_from_its_beginning_to_its_end():
    """What is done before and after it leaves no mark, by whatever operation."""

    async def main() -> list[str]:
        space = TupleSpace()

        async def everything() -> None:
            await space.write("a")
            await space.try_read("a")
            await space.try_take("a")
            await space.write_many([("a",), ("a",)])
            await space.replace(("a",), ("b",))
            await space.take("a")
            await space.take_all()

        await everything()
        with Trace() as trace:
            await everything()
        await everything()
        return [event.kind for event in trace]

    kinds_seen = ["write", "read", "take", "write", "write", "replace", "take", "take"]
    assert asyncio.run(main()) == kinds_seen


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (lambda space: space.write("b"), "write"),
        (lambda space: space.write_many([("b",)]), "write"),
        (lambda space: space.take("a"), "take"),
        (lambda space: space.read("a"), "read"),
        (lambda space: space.try_take("a"), "take"),
        (lambda space: space.try_read("a"), "read"),
        (lambda space: space.take_all("a"), "take"),
        (lambda space: space.replace(("a",), ("b",)), "replace"),
        (lambda space: claimed(space, "a"), "claim"),
        (lambda space: space.close(), "shut"),
    ],
)
def test_the_first_operation_under_a_trace_is_recorded(operation, kind):
    """A space that was used without a trace notices that there is one now, whatever is done first."""

    async def main() -> list[str]:
        space = TupleSpace()
        await space.write("a")
        with Trace() as trace:
            await operation(space)
        return [event.kind for event in trace]

    assert asyncio.run(main()) == [kind]


def test_only_the_current_trace_records():
    """Two spaces used under two traces keep their stories apart."""

    async def main() -> tuple[list[str], list[str]]:
        space, other = TupleSpace("one"), TupleSpace("two")
        with Trace() as first:
            await space.write("a")
        with Trace() as second:
            await other.write("b")
            await space.take("a")
        return [event.kind for event in first], [event.kind for event in second]

    assert asyncio.run(main()) == (["write"], ["write", "take"])


def test_a_write_that_waited_is_recorded_in_the_trace_of_its_writer():
    """Another task without a trace may have used the space in the meantime."""

    async def main() -> list[str]:
        space = TupleSpace(capacity=1)
        await space.write("full")
        with Trace() as trace:
            writer = asyncio.create_task(space.write("late"))
        await asyncio.sleep(0)
        await space.take("full")
        await writer
        return [event.kind for event in trace]

    assert asyncio.run(main()) == ["wait", "leave", "write"]


@pytest.mark.parametrize("operation", ["take", "read", "claim"])
@pytest.mark.parametrize("writer_has_trace", [True, False])
def test_a_wait_is_recorded_in_the_trace_of_whoever_waited(operation, writer_has_trace):
    """The writer who ends it may have another trace, or none, and tells of nothing but its write."""

    async def main() -> tuple[list[str], list[str]]:
        space = TupleSpace()
        wait = claimed(space, "a") if operation == "claim" else getattr(space, operation)("a")
        with Trace() as trace:
            waiter = await started(wait)
        if writer_has_trace:
            with Trace() as other:
                await space.write("a")
        else:
            other = Trace()
            await space.write("a")
        await waiter
        return [event.kind for event in trace], [event.kind for event in other]

    told, other = asyncio.run(main())
    assert told == ["wait", "leave", operation]
    assert other == (["write"] if writer_has_trace else [])


@pytest.mark.parametrize("operation", ["take", "claim"])
@pytest.mark.parametrize("waits", [True, False])
def test_a_delivery_cancelled_before_receipt_is_recorded_in_the_trace_of_its_receiver(operation, waits):
    """Another task without a trace uses the space while the tuple is on its way."""

    async def main() -> list[str]:
        space = TupleSpace()
        if not waits:
            await space.write("a")
        with Trace() as trace:
            wait = claimed(space, "a") if operation == "claim" else space.take("a")
            receiver = asyncio.create_task(wait)
            await asyncio.sleep(0)
        if waits:
            await space.write("a")
        await space.write("b")
        receiver.cancel()
        await settle()
        assert await space.read_all("a") == [("a",)]
        return [event.kind for event in trace]

    assert asyncio.run(main())[-2:] == [operation, "release"]


def test_whoever_has_no_trace_leaves_no_mark_in_that_of_another():
    """A taker without a trace is served by a writer that has one."""

    async def main() -> list[str]:
        space = TupleSpace()
        taker = await started(space.take("a"))
        with Trace() as trace:
            await space.write("a")
        await taker
        return [event.kind for event in trace]

    assert asyncio.run(main()) == ["write"]
