"""The short ways of a space that has little to look after: they leave nothing out, and nothing behind.

Some of these tests look inside, at what the space keeps of tuples that are gone.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from space_help import settle, untraced

from tutorial_lib import ANY, TupleSpace, simulate
from tutorial_lib.store import DEAD_ALLOWED


def run_untraced(main: Any) -> Any:
    """Run a program in virtual time without a trace, so that its spaces are quiet."""
    return simulate(untraced(main)).result


def test_a_watch_sees_what_the_clock_does_before_anybody_else_does_anything():
    """Between its entry and the end of a ttl there is no operation."""

    async def main() -> list[str]:
        space = TupleSpace()
        await space.write("a", ttl=5)
        async with space.watch() as events:
            return [(await anext(events)).kind]

    assert run_untraced(main) == ["expire"]


async def failed_once() -> TupleSpace:
    """Return a space with a task that was delivered before, and in which no time limit is left."""
    space = TupleSpace()
    await space.write("task")
    async with space.claim("task", lease=5) as claim:
        await claim.release()
    await asyncio.sleep(10)
    await space.stats()
    return space


def test_the_number_of_deliveries_goes_with_the_tuple():
    """Once the tuple is taken for good, nothing is kept of it."""

    async def main() -> dict[int, int]:
        space = await failed_once()
        assert await space.try_take("task") == ("task",)
        return space._attempts

    assert run_untraced(main) == {}


def test_the_number_of_deliveries_comes_back_with_the_tuple():
    """A taker is cancelled when it has it already, and the next one takes it for good."""

    async def main() -> tuple[dict[int, int], dict[int, int]]:
        space = await failed_once()
        taker = asyncio.create_task(space.take("task"))
        await asyncio.sleep(0)
        await space.stats()  # while the tuple is on its way
        taker.cancel()
        await settle()
        kept = dict(space._attempts)
        assert await space.try_take("task") == ("task",)
        return kept, space._attempts

    kept, left = run_untraced(main)
    assert list(kept.values()) == [1]
    assert left == {}


@pytest.mark.parametrize("pattern", [("task", 7), ("task", ANY)])
@pytest.mark.parametrize("other", ["task", "state"])
def test_a_tuple_that_comes_back_again_and_again_does_not_pile_up(pattern, other):
    """It is given back 5,000 times, taken by its key or as the oldest, with newer ones behind it."""

    async def main() -> int:
        space, most = TupleSpace(), 0
        await space.write("task", 7)
        await space.write(other, 8)
        for _ in range(5_000):
            async with space.claim(*pattern, lease=5) as claim:
                assert claim.fields == ("task", 7)
                await claim.release()
            most = max(most, len(space._store._came_back))
        assert await space.read_all() == [("task", 7), (other, 8)]
        return most

    assert run_untraced(main) <= DEAD_ALLOWED


def test_a_tuple_that_came_back_is_the_oldest_again():
    """Younger ones were taken meanwhile, so that it is far behind what is looked at first."""

    async def main() -> list[Any]:
        space = TupleSpace()
        await space.write_many([("task", number) for number in range(100)])
        async with space.claim("task", ANY, lease=5) as claim:
            for number in range(1, 50):
                assert await space.try_take("task", ANY) == ("task", number)
            await claim.release()
        return [await space.try_take("task", ANY) for _ in range(2)]

    assert run_untraced(main) == [("task", 0), ("task", 50)]


def test_keys_that_are_gone_leave_nothing_behind():
    """Ten thousand keys, each with two tuples at a time, pass by a tuple that nobody takes."""

    async def main() -> int:
        space = TupleSpace()
        await space.write("state", "running")
        for key in range(10_000):
            for _ in range(2):
                await space.write("task", key)
            for _ in range(2):
                assert await space.try_take("task", key) == ("task", key)
        (index,) = space._store._indexes[2]
        return len(index.buckets)

    assert asyncio.run(main()) <= DEAD_ALLOWED + 2


@pytest.mark.parametrize("wrong", [{"ttl": 0}, {"ttl": -1}, {"ttl": "1"}, {"timeout": -1}])
def test_a_quiet_space_checks_durations_too(wrong):
    """Also where they would not be needed, as there is room. Nothing is written."""

    async def main() -> None:
        space = TupleSpace()
        with pytest.raises((TypeError, ValueError), match="number of seconds"):
            await space.write("a", **wrong)
        assert await space.count() == 0

    run_untraced(main)


def test_the_oldest_of_all_is_passed_over_where_it_does_not_match():
    """Of another length, another kind, another value, or a nan."""
    nan = float("nan")

    async def main() -> list[Any]:
        space = TupleSpace()
        for fields in [("n", True), ("n", 1, 1), ("n", nan), ("m", 1), ("n", 1.0), ("n", 1), ("n", 2)]:
            await space.write(*fields)
        return [
            await space.try_take("n", nan),
            await space.try_take("n", 1),
            await space.try_take("n", int),
            await space.try_take("n", float),
        ]

    taken = run_untraced(main)
    assert taken[:3] == [None, ("n", 1), ("n", 2)]
    assert taken[3][1] is nan
