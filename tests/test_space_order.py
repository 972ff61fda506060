"""Order: who gets what first, and when other tasks run."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from space_help import claimed, ended, settle, simulated_twice, started

from tutorial_lib import ANY, TupleSpace, where

# Oldest match first


@simulated_twice
async def test_take_gives_the_oldest_match():
    """First in, first out, among the tuples that match."""
    space = TupleSpace()
    await space.write_many([("a", 3), ("b", 9), ("a", 1), ("a", 2)])
    assert [await space.take("a", ANY) for _ in range(3)] == [("a", 3), ("a", 1), ("a", 2)]


@simulated_twice
async def test_try_take_read_and_try_read_give_the_oldest_match():
    """Reading and trying follow the same order."""
    space = TupleSpace()
    await space.write_many([("b", 0), ("a", 3), ("a", 1)])
    assert await space.read("a", int) == await space.try_read("a", int) == ("a", 3)
    assert await space.try_take("a", ANY) == ("a", 3)
    assert await space.try_take("a", where(lambda n: n < 5, "under 5")) == ("a", 1)


@simulated_twice
async def test_read_all_and_take_all_give_the_oldest_first():
    """Lists are in the order of writing, and a limit takes from the front."""
    space = TupleSpace()
    tuples = [("a", 3), ("b", 9), ("a", 1), ("a", 2)]
    await space.write_many(tuples)
    assert await space.read_all() == tuples
    assert await space.read_all("a", ANY) == [("a", 3), ("a", 1), ("a", 2)]
    assert await space.take_all("a", ANY, limit=2) == [("a", 3), ("a", 1)]
    assert await space.take_all("a", ANY) == [("a", 2)]


@simulated_twice
async def test_claim_gives_the_oldest_match():
    """A claim follows the same order as a take."""
    space = TupleSpace()
    await space.write_many([("b", 0), ("a", 3), ("a", 1)])
    async with space.claim("a", ANY, lease=1) as first, space.claim("a", ANY, lease=1) as second:
        assert (first.fields, second.fields) == (("a", 3), ("a", 1))


@simulated_twice
async def test_order_does_not_depend_on_how_it_is_asked_for():
    """Value, class, wildcard and test all find the same oldest tuple."""
    space = TupleSpace()
    await space.write_many([("a", n, n % 2) for n in range(20)])
    for pattern in [
        ("a", ANY, 1),
        (ANY, int, 1),
        ("a", where(lambda n: n % 2 == 1, "odd"), ANY),
        (ANY, ANY, 1),
    ]:
        assert await space.read(*pattern) == ("a", 1, 1)
        assert len(await space.read_all(*pattern)) == 10


# Waiting takers


@simulated_twice
async def test_waiting_takers_are_served_in_order():
    """Who waited first is served first."""
    space = TupleSpace()
    takers = [await started(space.take("a", ANY)) for _ in range(3)]
    await space.write_many([("a", 1), ("a", 2), ("a", 3)])
    assert await asyncio.gather(*takers) == [("a", 1), ("a", 2), ("a", 3)]


@simulated_twice
async def test_the_oldest_of_different_patterns_is_served():
    """Value, class, wildcard and test wait in one queue, not in a queue each."""
    space = TupleSpace()
    patterns = [("a", where(lambda n: n > 0, "positive")), (ANY, ANY), ("a", int), ("a", 1)]
    takers = [await started(space.take(*pattern)) for pattern in patterns]
    for _ in takers:
        await space.write("a", 1)
        await settle()
        still_waiting = [taker.done() for taker in takers]
        assert still_waiting == sorted(still_waiting, reverse=True)
    assert all(taker.done() for taker in takers)


@simulated_twice
async def test_takers_and_claimers_wait_in_one_queue():
    """A claim takes the tuple away like a take, so both wait in the same order."""
    space = TupleSpace()
    order = []

    async def claim() -> None:
        async with space.claim("a", ANY, lease=5) as claim:
            order.append(("claim", claim.fields[1]))

    async def take() -> None:
        order.append(("take", (await space.take("a", ANY))[1]))

    tasks = [await started(operation()) for operation in (take, claim, take)]
    for number in range(3):
        await space.write("a", number)
        await settle()
    await asyncio.gather(*tasks)
    assert order == [("take", 0), ("claim", 1), ("take", 2)]


@simulated_twice
async def test_equal_patterns_are_served_first_come_first_served_beside_others():
    """A waits for P, B for Q, C for P. Writing P, then Q, wakes A, then B; C goes on waiting."""
    space = TupleSpace()
    a, b, c = [await started(space.take(letter, ANY)) for letter in "pqp"]
    await space.write("p", 1)
    await settle()
    assert (a.done(), b.done(), c.done()) == (True, False, False)
    await space.write("q", 1)
    await settle()
    assert (b.done(), c.done()) == (True, False)
    await space.write("p", 2)
    assert await c == ("p", 2)


@pytest.mark.parametrize("operation", ["take", "read"])
@simulated_twice
async def test_who_waits_is_served_whatever_others_do_in_between(operation):
    """Looking, polling and other writes do not make a space forget that somebody waits."""
    space = TupleSpace()
    waiter = await started(getattr(space, operation)("a", 1))
    for _ in range(3):
        assert await space.count("a", 1) == 0
        assert await space.try_take("a", 2) is None
        await space.write("b")
        assert await space.try_take("b") == ("b",)
    await space.write("a", 1)
    assert await asyncio.wait_for(waiter, 1) == ("a", 1)


@simulated_twice
async def test_a_write_wakes_all_matching_readers_and_the_oldest_matching_taker():
    """And nobody else: not the other takers, not those who wait for something else."""
    space = TupleSpace()
    readers = [await started(space.read("a", pattern)) for pattern in (ANY, int, 1)]
    takers = [await started(space.take("a", pattern)) for pattern in (2, ANY, ANY)]
    others = [await started(space.read("a", 2)), await started(space.take("b", ANY))]
    await space.write("a", 1)
    await settle()
    assert [task.done() for task in readers] == [True, True, True]
    assert [task.done() for task in takers] == [False, True, False]
    assert [task.done() for task in others] == [False, False]
    for task in (*takers, *others):
        task.cancel()


@simulated_twice
async def test_waiting_readers_are_served_in_order():
    """All of them, and the one that waited longest first, whatever they ask for."""
    space = TupleSpace()
    order: list[int] = []

    async def read(number: int, pattern: object) -> None:
        await space.read("a", pattern)
        order.append(number)

    readers = [await started(read(number, pattern)) for number, pattern in enumerate([ANY, 1, int, 1, ANY])]
    await space.write("a", 1)
    await asyncio.gather(*readers)
    assert order == [0, 1, 2, 3, 4]


@simulated_twice
async def test_readers_that_came_after_the_taker_are_served_too():
    """The taker takes it away, but every reader that waited has seen it."""
    space = TupleSpace()
    taker = await started(space.take("a"))
    reader = await started(space.read("a"))
    await space.write("a")
    assert (await taker, await reader) == (("a",), ("a",))
    assert await space.count() == 0


@simulated_twice
async def test_a_tuple_that_a_waiter_wants_is_never_left_lying():
    """No waiter with a match in the space sleeps longer than one pass of the loop."""
    space = TupleSpace()
    takers = [await started(space.take("n", n % 3, ANY)) for n in range(9)]
    for number in range(9):
        await space.write("n", number % 3, number)
        await asyncio.sleep(0)
        assert sum(taker.done() for taker in takers) >= number
        assert await space.count() == 0
    assert all(task.done() for task in takers)


# Give-back


@simulated_twice
async def test_a_cancelled_hand_over_goes_to_the_tuples_old_place():
    """In front of what was written after it."""
    space = TupleSpace()
    taker = await started(space.take("a", ANY))
    await space.write("a", 1)
    await space.write("a", 2)
    taker.cancel()
    await settle()
    assert await space.read_all() == [("a", 1), ("a", 2)]
    assert await space.take("a", int) == ("a", 1)


@simulated_twice
async def test_a_released_tuple_goes_to_its_old_place():
    """Between the tuples that were its neighbours, for every way of asking."""
    space = TupleSpace()
    await space.write_many([("a", 1, "x"), ("a", 2, "x"), ("a", 3, "x")])
    await space.try_read("a", ANY, ANY)
    await space.try_read(ANY, ANY, "x")
    async with space.claim("a", 2, ANY, lease=5) as claim:
        assert await space.count() == 2
        await claim.release()
    expected = [("a", 1, "x"), ("a", 2, "x"), ("a", 3, "x")]
    for pattern in [(), ("a", ANY, ANY), (ANY, ANY, "x"), ("a", int, "x"), (ANY, ANY, ANY)]:
        assert await space.read_all(*pattern) == expected


@simulated_twice
async def test_a_lapsed_tuple_goes_to_its_old_place():
    """A lapse is a give-back like a release."""
    space = TupleSpace()
    await space.write_many([("a", 1), ("a", 2), ("a", 3)])
    await claimed(space, "a", 2, lease=1)
    assert await space.read_all() == [("a", 1), ("a", 3)]
    await asyncio.sleep(1)
    assert await space.read_all() == [("a", 1), ("a", 2), ("a", 3)]


@simulated_twice
async def test_several_give_backs_end_up_in_their_old_order():
    """Released in any order, they lie as they were written."""
    space = TupleSpace()
    await space.write_many([("a", n) for n in range(5)])
    async with (
        space.claim("a", ANY, lease=9) as zero,
        space.claim("a", ANY, lease=9) as one,
        space.claim("a", 3, lease=9) as three,
    ):
        await one.release()
        await three.release()
        await zero.release()
    assert [await space.take("a", ANY) for _ in range(5)] == [("a", n) for n in range(5)]


@simulated_twice
async def test_waiting_takers_get_a_given_back_tuple_first():
    """Who waits at the moment of the give-back is served, oldest first; readers see it too."""
    space = TupleSpace()
    await space.write("a", 1)
    async with space.claim("a", ANY, lease=5) as claim:
        reader = await started(space.read("a", ANY))
        first, second = await started(space.take("a", ANY)), await started(space.take("a", ANY))
        await claim.release()
        assert await space.try_take("a", ANY) is None
    assert await reader == ("a", 1)
    assert await first == ("a", 1)
    assert not second.done()
    second.cancel()


@simulated_twice
async def test_a_given_back_hand_over_reaches_the_next_waiter():
    """The taker that is cancelled in time makes room for the one behind it."""
    space = TupleSpace()
    first, second = await started(space.take("a")), await started(space.take("a"))
    await space.write("a")
    first.cancel()
    assert await second == ("a",)
    assert isinstance(await ended(first), asyncio.CancelledError)


# Who runs when


@pytest.mark.parametrize("operation", ["take", "read"])
@simulated_twice
async def test_take_and_read_let_others_run_exactly_once_when_served_at_once(operation):
    """One pass of the loop, no more: that spreads the work and costs little."""
    space = TupleSpace()
    await space.write("a")
    passes: list[str] = []
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: (passes.append("one"), loop.call_soon(passes.append, "two")))
    await getattr(space, operation)("a")
    assert passes == ["one"]


@simulated_twice
async def test_claim_lets_others_run_exactly_once_when_served_at_once():
    """As a take."""
    space = TupleSpace()
    await space.write("a")
    passes: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: (passes.append("one"), loop.call_soon(passes.append, "two")))
    async with space.claim("a", lease=1):
        assert passes == ["one"]


@pytest.mark.parametrize("operation", ["try_take", "try_read", "take_all"])
@simulated_twice
async def test_the_try_forms_do_not_yield_when_they_find_something(operation):
    """What is found is given at once; nothing happens in between."""
    space = TupleSpace()
    await space.write("a")
    ran: list[bool] = []
    asyncio.get_running_loop().call_soon(ran.append, True)
    assert await getattr(space, operation)("a")
    assert ran == []


@pytest.mark.parametrize("operation", ["try_take", "try_read", "take_all"])
@simulated_twice
async def test_the_try_forms_let_others_run_once_when_they_find_nothing(operation):
    """So a loop that polls cannot freeze its neighbours."""
    space = TupleSpace()
    passes: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: (passes.append("one"), loop.call_soon(passes.append, "two")))
    assert not await getattr(space, operation)("a")
    assert passes == ["one"]


@simulated_twice
async def test_a_replace_that_finds_nothing_lets_others_run_once():
    """It is tried in loops as well; when it finds something it does not yield."""
    space = TupleSpace()
    passes: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: (passes.append("one"), loop.call_soon(passes.append, "two")))
    assert await space.replace(("a", 1), ("a", 2)) is None
    assert passes == ["one"]
    await settle()
    await space.write("a", 1)
    loop.call_soon(passes.append, "three")
    assert await space.replace(("a", 1), ("a", 2)) == ("a", 1)
    assert passes == ["one", "two"]


@simulated_twice
async def test_read_all_and_count_let_others_run_before_they_look():
    """They answer what is true at the moment they return."""
    space = TupleSpace()
    first = asyncio.create_task(space.write("a", 1))
    assert await space.count() == 1
    second = asyncio.create_task(space.write("a", 2))
    assert await space.read_all() == [("a", 1), ("a", 2)]
    await asyncio.gather(first, second)


@simulated_twice
async def test_write_does_not_yield_while_there_is_room():
    """A writer that need not wait is not held up, also when it hands over."""
    space = TupleSpace()
    taker = await started(space.take("a", 1))
    ran: list[bool] = []
    asyncio.get_running_loop().call_soon(ran.append, True)
    await space.write("a", 1)
    await space.write("a", 2)
    assert await space.write_many([("a", 3), ("a", 4)]) == 2
    assert ran == []
    await taker


@simulated_twice
async def test_a_polling_loop_does_not_freeze_its_neighbours():
    """The neighbour that only needs the loop gets on pass by pass."""
    space = TupleSpace()
    steps = 0

    async def neighbour() -> None:
        nonlocal steps
        for _ in range(100):
            await asyncio.sleep(0)
            steps += 1
        await space.write("a")

    task = asyncio.create_task(neighbour())
    polls = 1
    while await space.try_take("a") is None:
        polls += 1
    await task
    assert steps == 100
    assert polls < 110


@simulated_twice
async def test_take_with_timeout_zero_lets_others_run_once():
    """It does not wait; it ends in `TimeoutError` one pass later."""
    space = TupleSpace()
    passes: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: (passes.append("one"), loop.call_soon(passes.append, "two")))
    with pytest.raises(TimeoutError):
        await space.take("a", timeout=0)
    assert passes == ["one"]
    assert loop.time() == 0


@pytest.mark.parametrize("style", ["burst", "in turn"])
@simulated_twice
async def test_work_spreads_evenly_over_consumers(style):
    """Five consumers, 100 tasks: 20 each, whether they come in one burst or one by one."""
    space = TupleSpace()
    eaten: Counter[str] = Counter()

    async def consumer(name: str) -> None:
        while True:
            await space.take("task", int)
            eaten[name] += 1

    consumers = [asyncio.create_task(consumer(name)) for name in "abcde"]
    if style == "in turn":
        await settle()
    for number in range(100):
        await space.write("task", number)
        if style == "in turn":
            await asyncio.sleep(0)
    while await space.count():
        await asyncio.sleep(0)
    await settle()
    assert eaten == dict.fromkeys("abcde", 20)
    for task in consumers:
        task.cancel()
