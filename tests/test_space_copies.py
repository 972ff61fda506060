"""Copies: nobody can change a tuple in the space from outside."""

from __future__ import annotations

import asyncio
import threading

import pytest
from space_help import simulated, simulated_twice, started

from tutorial_lib import ANY, TupleSpace, where
from tutorial_lib.trace import Trace, current_trace


@simulated_twice
async def test_changing_a_list_after_the_write_does_not_change_the_space():
    """What was written is what is found, by value too."""
    space = TupleSpace()
    basket = ["apple"]
    await space.write("basket", basket)
    basket.append("pear")
    assert await space.take("basket", ["apple"]) == ("basket", ["apple"])


@simulated_twice
async def test_changing_what_was_read_does_not_change_the_space():
    """Readers may do as they please with what they got."""
    space = TupleSpace()
    await space.write("basket", ["apple"])
    (await space.read("basket", ANY))[1].append("pear")
    (await space.try_read("basket", ANY))[1].append("pear")
    (await space.read_all())[0][1].append("pear")
    assert await space.read_all() == [("basket", ["apple"])]


@simulated_twice
async def test_two_readers_of_one_write_do_not_share():
    """Each waiting reader gets a copy of its own, and so does the taker."""
    space = TupleSpace()
    waiters = [await started(getattr(space, name)("basket", ANY)) for name in ("read", "read", "take")]
    basket = ["apple"]
    await space.write("basket", basket)
    results = [fields[1] for fields in await asyncio.gather(*waiters)]
    assert results == [["apple"]] * 3
    assert len({id(value) for value in [*results, basket]}) == 4


@simulated_twice
async def test_a_taker_does_not_share_with_the_writer():
    """Neither through the space nor by hand-over."""
    space = TupleSpace()
    basket = {"apple": 1}
    taker = await started(space.take("handed", ANY))
    for tag in ("handed", "stored"):
        await space.write(tag, basket)
    assert (await taker)[1] is not basket
    assert (await space.take("stored", ANY))[1] is not basket


@simulated_twice
async def test_watched_values_are_copies():
    """Changing an event's list changes neither the space nor another watcher's event."""
    space = TupleSpace()
    async with space.watch(kinds=["write"]) as one, space.watch(kinds=["write"]) as two:
        await space.write("basket", ["apple"])
        (await anext(aiter(one))).fields[1].append("pear")
        assert (await anext(aiter(two))).fields == ("basket", ["apple"])
    assert await space.read_all() == [("basket", ["apple"])]


@simulated_twice
async def test_the_old_tuple_in_a_watched_replace_is_a_copy():
    """Each watcher has its own, and the taker of the old tuple another."""
    space = TupleSpace()
    await space.write("basket", ["apple"])
    async with space.watch(kinds=["replace"]) as one, space.watch(kinds=["replace"]) as two:
        old = await space.replace(("basket", ANY), ("basket", []))
        old[1].append("plum")
        (await anext(aiter(one))).detail["old"][1].append("pear")
        assert (await anext(aiter(two))).detail["old"] == ("basket", ["apple"])


@simulated_twice
async def test_a_replaced_tuple_is_a_copy_too():
    """The new fields are copied in; the old ones belong to whoever replaced them."""
    space = TupleSpace()
    await space.write("basket", ["apple"])
    fresh = ["pear"]
    old = await space.replace(("basket", ANY), ("basket", fresh))
    fresh.append("plum")
    old[1].append("plum")
    assert await space.read_all() == [("basket", ["pear"])]


@simulated_twice
async def test_a_released_claim_gives_back_what_was_written():
    """A worker that spoils its task before it fails does not spoil it for the next one."""
    space = TupleSpace()
    await space.write("task", ["step"])
    async with space.claim("task", ANY, lease=5) as claim:
        claim.fields[1].clear()
        await claim.release()
    assert await space.read_all() == [("task", ["step"])]


@simulated_twice
async def test_a_test_that_changes_its_value_does_not_change_the_space():
    """What `where` shows to its test is a copy as well, stored or handed over."""

    def greedy(basket: list[str]) -> bool:
        basket.clear()
        return True

    space = TupleSpace()
    await space.write("basket", ["apple"])
    assert await space.read("basket", where(greedy)) == ("basket", ["apple"])
    taker = await started(space.take("other", where(greedy)))
    await space.write("other", ["pear"])
    assert await taker == ("other", ["pear"])
    assert await space.read_all() == [("basket", ["apple"])]


@simulated_twice
async def test_a_claims_result_is_copied():
    """What a claim writes is a write like any other."""
    space = TupleSpace()
    await space.write("task", 1)
    steps = ["a"]
    async with space.claim("task", ANY, lease=5) as claim:
        await claim.complete("result", steps)
    steps.append("b")
    assert await space.read_all() == [("result", ["a"])]


@simulated_twice
async def test_a_waiting_write_is_copied_when_it_is_called():
    """The value of the call counts, not that of the moment when room appears."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    basket = ["apple"]
    writer = await started(space.write("basket", basket))
    basket.append("pear")
    await space.take("full")
    await writer
    assert await space.read_all() == [("basket", ["apple"])]


@simulated_twice
async def test_a_watched_wait_of_a_writer_is_a_copy():
    """Who watches a writer wait cannot change what it is about to write."""
    space = TupleSpace(capacity=1)
    await space.write("full")
    async with space.watch(kinds=["wait"]) as events:
        writer = await started(space.write("basket", ["apple"]))
        (await anext(aiter(events))).detail["pattern"][1].append("pear")
    await space.take("full")
    await writer
    assert await space.read_all() == [("basket", ["apple"])]


@simulated_twice
async def test_write_many_copies():
    """Tuple by tuple, and the list of tuples is left alone."""
    space = TupleSpace()
    baskets = [("basket", ["apple"]), ("basket", ["pear"])]
    await space.write_many(baskets)
    baskets[0][1].append("plum")
    assert await space.read_all() == [("basket", ["apple"]), ("basket", ["pear"])]


@simulated
async def test_the_recorded_history_is_not_changed_either():
    """A taker that changes its tuple does not rewrite the past."""
    space = TupleSpace()
    basket = ["apple"]
    await space.write("basket", basket)
    basket.append("pear")
    (await space.take("basket", ANY))[1].append("plum")
    trace = current_trace()
    assert isinstance(trace, Trace)
    assert [event.fields for event in trace.of("write", "take")] == [("basket", ["apple"])] * 2


@pytest.mark.parametrize(
    "value", ["text", 2**100, 1.5, None, True, b"bytes", (1, "a", (2.5,)), frozenset({1, 2}), 3 + 4j, len]
)
@simulated_twice
async def test_immutable_values_are_shared(value):
    """What cannot change is not copied."""
    space = TupleSpace()
    await space.write("a", value)
    assert (await space.read("a", ANY))[1] is value
    assert (await space.take("a", ANY))[1] is value


@simulated_twice
async def test_a_tuple_that_holds_a_list_is_copied():
    """A tuple is as changeable as what is inside."""
    space = TupleSpace()
    inner = ["apple"]
    await space.write("a", (1, inner))
    inner.append("pear")
    assert await space.take("a", ANY) == ("a", (1, ["apple"]))


class Stubborn:
    """A value that refuses to be copied in its own words."""

    def __deepcopy__(self, memo: object) -> Stubborn:
        raise LookupError("I am one of a kind")


UNCOPYABLE = [threading.Lock(), Stubborn(), (n for n in ()), [threading.Lock()]]


@pytest.mark.parametrize("value", UNCOPYABLE)
@simulated_twice
async def test_what_cannot_be_copied_is_refused(value):
    """`TypeError`, in every operation that writes, and the space stays as it was."""
    space = TupleSpace()
    await space.write("a", 1)
    with pytest.raises(TypeError, match="cop"):
        await space.write("a", value)
    with pytest.raises(TypeError, match="cop"):
        await space.write_many([("a", 2), ("a", value)])
    with pytest.raises(TypeError, match="cop"):
        await space.replace(("a", 1), ("a", value))
    with pytest.raises(TypeError, match="cop"):
        await space.replace(("b",), ("a", value), insert=True)
    assert await space.read_all() == [("a", 1)]


@simulated_twice
async def test_what_cannot_be_copied_is_refused_although_a_taker_waits():
    """The taker goes on waiting."""
    space = TupleSpace()
    taker = await started(space.take("a", ANY))
    with pytest.raises(TypeError):
        await space.write("a", threading.Lock())
    await space.write("a", 1)
    assert await taker == ("a", 1)


@simulated_twice
async def test_a_claim_may_not_complete_with_what_cannot_be_copied():
    """The claim stays open, and can still complete with something else."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        with pytest.raises(TypeError):
            await claim.complete("result", threading.Lock())
        with pytest.raises(TypeError):
            await claim.bury(space, threading.Lock())
        await claim.complete("result", 1)
    assert await space.read_all() == [("result", 1)]


@simulated_twice
async def test_the_refusal_names_the_field():
    """The learner is told which value it was."""
    with pytest.raises(TypeError, match="lock"):
        await TupleSpace().write("task", 1, threading.Lock())
