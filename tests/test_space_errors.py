"""Errors: nonsense in every argument gets a clear answer, and the space is left alone."""

from __future__ import annotations

import asyncio
import math

import pytest
from space_help import Uncomparable, ended, settle, simulated, simulated_twice, started

from tutorial_lib import ANY, SpaceClosed, StaleClaim, TupleSpace


async def enter(context):
    """Enter and leave a claim."""
    async with context:
        pass


async def renew(space, lease):
    """Renew a claim."""
    async with space.claim("a", lease=5) as claim:
        try:
            await claim.renew(lease)
        finally:
            await claim.release()


# What a miss says


@pytest.mark.parametrize(
    ("written", "asked", "says"),
    [
        ([("task", 3)], ("task", lambda number: number > 1), "asked is a function. .* Did you mean where"),
        ([("task",)], ("task", len, lambda number: True), "1 field, 3 asked. .* Did you mean where"),
        (
            [("flag", 1), (("task", 9),), ("task", "a")],
            ("task", int),
            r"There is \(\('task', 9\),\): its one field is a tuple\. For 2 fields leave out the inner",
        ),
        (
            [("flag", 1), ("task", 9)],
            (("task", int),),
            r"There is \('task', 9\): 2 fields, and one asked that is a tuple. Leave out the inner brackets",
        ),
    ],
)
@simulated
async def test_a_miss_says_what_was_probably_meant(written, asked, says):
    """A function in place of where(...), and a pair of brackets too many, on either side."""
    space = TupleSpace()
    await space.write_many(written)
    with pytest.raises(TimeoutError, match=says):
        await space.take(*asked, timeout=1)


@simulated
async def test_functions_and_tuples_are_legal_fields_all_the_same():
    """Nothing is refused: they match what equals them."""
    space = TupleSpace()
    await space.write_many([(("task", 9),), ("do", len)])
    assert await space.take(("task", 9), timeout=0) == (("task", 9),)
    assert await space.take("do", len, timeout=0) == ("do", len)


# Every place in which a duration can be given: its name, and how to give it.
DURATIONS = {
    "write ttl": ("ttl", lambda space, seconds: space.write("b", ttl=seconds)),
    "write timeout": ("timeout", lambda space, seconds: space.write("b", timeout=seconds)),
    "write_many ttl": ("ttl", lambda space, seconds: space.write_many([("b",)], ttl=seconds)),
    "write_many timeout": ("timeout", lambda space, seconds: space.write_many([("b",)], timeout=seconds)),
    "take timeout": ("timeout", lambda space, seconds: space.take("a", timeout=seconds)),
    "read timeout": ("timeout", lambda space, seconds: space.read("a", timeout=seconds)),
    "replace ttl": ("ttl", lambda space, seconds: space.replace(("a",), ("b",), ttl=seconds)),
    "insert ttl": ("ttl", lambda space, seconds: space.replace(("x",), ("b",), insert=True, ttl=seconds)),
}
WRONG_DURATIONS = [-1, -0.001, math.nan, math.inf, -math.inf, True, "1", b"1", [], {}, 1j, object(), 10**400]


@pytest.mark.parametrize("seconds", WRONG_DURATIONS, ids=lambda seconds: repr(seconds)[:12])
@pytest.mark.parametrize("place", DURATIONS)
@simulated_twice
async def test_a_wrong_duration_is_refused(place, seconds):
    """Negative, nan, infinite, or no number: the text names the argument and what was given."""
    name, operation = DURATIONS[place]
    space = TupleSpace()
    await space.write("a")
    with pytest.raises((TypeError, ValueError), match=name) as refused:
        await operation(space, seconds)
    assert repr(seconds)[:20] in str(refused.value)
    assert await space.read_all() == [("a",)]
    assert await space.waiters() == []


@pytest.mark.parametrize("seconds", [*WRONG_DURATIONS, 0, 0.0, None], ids=lambda seconds: repr(seconds)[:12])
@simulated_twice
async def test_a_wrong_lease_is_refused(seconds):
    """As for the other durations; and ``None`` is not allowed, since a lease must end."""
    space = TupleSpace()
    await space.write("a")
    with pytest.raises((TypeError, ValueError), match="lease") as refused:
        space.claim("a", lease=seconds)
    assert "or None" not in str(refused.value)
    assert "0 or more" not in str(refused.value)
    with pytest.raises((TypeError, ValueError), match="lease"):
        await renew(space, seconds)
    assert await space.read_all() == [("a",)]


@pytest.mark.parametrize("seconds", WRONG_DURATIONS, ids=lambda seconds: repr(seconds)[:12])
@simulated_twice
async def test_a_wrong_timeout_of_a_claim_is_refused(seconds):
    """When it is called."""
    with pytest.raises((TypeError, ValueError), match="timeout"):
        TupleSpace().claim("a", lease=1, timeout=seconds)


@pytest.mark.parametrize("place", ["write ttl", "write_many ttl", "replace ttl", "insert ttl"])
@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
@simulated_twice
async def test_a_ttl_of_zero_is_refused(place, zero):
    """A tuple that lives for no time at all is a slip, and zero is not taken for none."""
    space = TupleSpace()
    await space.write("a")
    with pytest.raises(ValueError, match="ttl"):
        await DURATIONS[place][1](space, zero)
    assert await space.read_all() == [("a",)]


@pytest.mark.parametrize("operation", ["take", "read"])
@simulated_twice
async def test_a_timeout_of_zero_does_not_wait(operation):
    """With a match it serves, without one it is a `TimeoutError` at once."""
    space = TupleSpace()
    with pytest.raises(TimeoutError):
        await getattr(space, operation)("a", timeout=0)
    await space.write("a")
    assert await getattr(space, operation)("a", timeout=0) == ("a",)
    assert asyncio.get_running_loop().time() == 0


@simulated_twice
async def test_a_claims_timeout_of_zero_does_not_wait():
    """As that of a take."""
    space = TupleSpace()
    with pytest.raises(TimeoutError):
        await enter(space.claim("a", lease=1, timeout=0))
    await space.write("a")
    await enter(space.claim("a", lease=1, timeout=0))
    assert asyncio.get_running_loop().time() == 0


@simulated_twice
async def test_none_means_no_limit_everywhere():
    """No timeout, no ttl, no capacity, no limit of a list."""
    space = TupleSpace(capacity=None)
    await space.write("a", 1, ttl=None, timeout=None)
    await space.write_many([("a", 2)], ttl=None, timeout=None)
    await space.replace(("a", 2), ("a", 3), ttl=None)
    assert await space.read("a", 1, timeout=None) == ("a", 1)
    assert await space.take("a", 1, timeout=None) == ("a", 1)
    await enter(space.claim("a", 3, lease=1, timeout=None))
    assert await space.take_all(limit=None) == []


@simulated_twice
async def test_whole_numbers_and_fractions_of_a_second_are_durations():
    """An int is as good as a float."""
    space = TupleSpace()
    await space.write("a", ttl=1)
    await space.write("b", ttl=1.5)
    await asyncio.sleep(1.25)
    assert await space.read_all() == [("b",)]


# Time


@pytest.mark.parametrize("operation", ["take", "read"])
@simulated_twice
async def test_a_wait_ends_at_its_deadline(operation):
    """Not at the next sweep; with the builtin `TimeoutError`, which names the pattern."""
    space = TupleSpace("tasks")
    with pytest.raises(TimeoutError, match=r"task.*int") as late:
        await getattr(space, operation)("task", int, timeout=2.25)
    assert type(late.value) is TimeoutError
    assert asyncio.get_running_loop().time() == 2.25
    assert await space.waiters() == []


@simulated_twice
async def test_short_timeouts_in_a_loop_leave_no_waiters():
    """A polling loop with small timeouts does not pile up anything."""
    space = TupleSpace()
    for _ in range(1000):
        with pytest.raises(TimeoutError):
            await space.take("a", timeout=0.001)
    assert await space.waiters() == []
    assert (await space.stats()).waiting == 0
    await space.write("a")
    assert await space.count() == 1


# Wrong arguments


@pytest.mark.parametrize("capacity", [0, -1, 1.5, 2.0, "3", True, [], math.inf])
def test_a_wrong_capacity_is_refused(capacity):
    """A whole number of tuples of at least 1, or None."""
    with pytest.raises((TypeError, ValueError), match="capacity") as refused:
        TupleSpace(capacity=capacity)
    assert repr(capacity) in str(refused.value)


@pytest.mark.parametrize("name", [None, 7, b"tasks", ("tasks",)])
def test_a_wrong_name_is_refused(name):
    """A name is text."""
    with pytest.raises(TypeError, match="name"):
        TupleSpace(name)


@pytest.mark.parametrize("limit", [-1, 1.5, "3", True, [], math.nan])
@simulated_twice
async def test_a_wrong_limit_is_refused(limit):
    """``take_all`` takes a whole number of tuples, or all."""
    space = TupleSpace()
    await space.write("a")
    with pytest.raises((TypeError, ValueError), match="limit"):
        await space.take_all("a", limit=limit)
    assert await space.count() == 1


@simulated_twice
async def test_a_limit_of_zero_takes_nothing():
    """Zero is a value, and not taken for none."""
    space = TupleSpace()
    await space.write("a")
    assert await space.take_all("a", limit=0) == []
    assert await space.count() == 1


@pytest.mark.parametrize("tuples", [("task", 1), "task", 7, None, [7], ["task"], [None], {"task": 1}])
@simulated_twice
async def test_write_many_wants_tuples(tuples):
    """A single tuple, a text or a number in their place is told apart from a list of tuples."""
    space = TupleSpace()
    with pytest.raises(TypeError, match="tuple"):
        await space.write_many(tuples)
    assert await space.count() == 0


@simulated_twice
async def test_a_huge_field_is_stored_and_found():
    """Size is no obstacle."""
    space = TupleSpace()
    text, number = "x" * 5_000_000, 7**20_000
    await space.write("huge", text, number)
    assert await space.take("huge", text, number) == ("huge", text, number)


class Unprintable:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no text for this")


@pytest.mark.parametrize(
    "value",
    ["x" * 5_000_000, 10**6000, Unprintable(), ["x" * 100] * 1000],
    ids=["text", "number", "no repr", "list"],
)
@simulated_twice
async def test_an_error_about_a_huge_or_unprintable_value_is_still_that_error(value):
    """What cannot be shown is no reason to raise something else, nor to print a page of text."""
    space = TupleSpace()
    with pytest.raises(TimeoutError) as late:
        await space.take("a", value, timeout=1)
    assert len(str(late.value)) < 2000
    waiter = await started(space.take("a", value))
    assert len(await space.waiters()) == 1
    await space.close()
    closed = await ended(waiter)
    assert isinstance(closed, SpaceClosed)
    assert len(str(closed)) < 2000


@simulated_twice
async def test_uncomparable_and_unhashable_fields_everywhere():
    """They can be written, read, counted, replaced, claimed and taken."""
    space = TupleSpace()
    await space.write("a", Uncomparable(), [1])
    assert await space.count("a", ANY, [1]) == 1
    assert (await space.read(ANY, Uncomparable, list))[0] == "a"
    assert await space.replace(("a", ANY, [1]), ("b", Uncomparable(), {})) is not None
    async with space.claim("b", ANY, {}, lease=1) as claim:
        await claim.complete("c", Uncomparable())
    assert (await space.take("c", Uncomparable))[0] == "c"


@simulated
async def test_the_errors_are_of_their_own_kinds():
    """Nobody who catches one of them catches another by mistake."""
    assert issubclass(SpaceClosed, Exception)
    assert issubclass(StaleClaim, Exception)
    for one, other in [(SpaceClosed, StaleClaim), (StaleClaim, SpaceClosed)]:
        assert not issubclass(one, other)
        assert not issubclass(one, (TimeoutError, ValueError, TypeError, LookupError))


# What a space tells about itself


@simulated_twice
async def test_stats_tell_tuples_claims_and_waiters():
    """One record with everything in it."""
    space = TupleSpace("tasks", capacity=3)
    await space.write_many([("a", 1), ("a", 2), ("a", 3)])
    waiters = [await started(space.take("b")), await started(space.write("c"))]
    async with space.claim("a", 1, lease=5):
        stats = await space.stats()
    assert (stats.name, stats.tuples, stats.claimed, stats.capacity) == ("tasks", 2, 1, 3)
    assert (stats.waiting, stats.closed) == (2, False)
    for waiter in waiters:
        waiter.cancel()
    await settle()
    assert (await space.stats()).waiting == 0


@simulated_twice
async def test_waiters_tell_who_waits_for_what():
    """Actor, operation and pattern; for a writer, its fields."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    tasks = [
        await started(space.take("a", int), name="w1"),
        await started(space.read("b", ANY), name="w2"),
        await started(enter(space.claim("c", lease=1)), name="w3"),
        await started(space.write("d", 4), name="w4"),
    ]
    told = [(waiter.actor, waiter.operation, waiter.pattern) for waiter in await space.waiters()]
    assert sorted(told, key=lambda one: one[0]) == [
        ("w1", "take", ("a", int)),
        ("w2", "read", ("b", ANY)),
        ("w3", "claim", ("c",)),
        ("w4", "write", ("d", 4)),
    ]
    for task in tasks:
        task.cancel()


@simulated_twice
async def test_stats_do_not_count_what_has_expired():
    """At the deadline, swept or not."""
    space = TupleSpace()
    before_the_sweep = asyncio.create_task(asyncio.sleep(1))
    await settle()
    await space.write("a", ttl=1)
    await before_the_sweep
    assert (await space.stats()).tuples == 0
