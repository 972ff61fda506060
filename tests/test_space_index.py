"""The index of a space: it finds what a plain search finds, and it does not grow for ever.

These are the only tests that look inside: at the numbers that the indexes keep for tuples that are gone.
"""

from __future__ import annotations

import asyncio
import random

from tutorial_lib import ANY, TupleSpace
from tutorial_lib.store import DEAD_ALLOWED, Index

SIGNATURES = [(("item", 7, ANY)), ((ANY, 7, "x")), (("item", ANY, "x"))]


def numbers_in(index: Index) -> int:
    """Return how many tuple numbers one index holds."""
    return len(index.odd) + sum(
        1 if isinstance(bucket, int) else len(bucket) for bucket in index.buckets.values()
    )


def indexes_of(space: TupleSpace) -> list[Index]:
    """Return all indexes of a space."""
    return [index for indexes in space._store._indexes.values() for index in indexes]


def stale_numbers(space: TupleSpace) -> int:
    """Return the largest number of dead entries in any one index."""
    return max(numbers_in(index) for index in indexes_of(space)) - len(space._store)


def test_after_fill_and_drain_every_index_is_empty():
    """100,000 tuples under three signatures, taken by key in any order: nothing is left behind."""

    async def main() -> list[int]:
        space = TupleSpace()
        keys = list(range(100_000))
        for key in keys:
            await space.write("item", key, "x")
        for pattern in SIGNATURES:
            assert await space.try_read(*pattern)
        random.Random(1).shuffle(keys)
        for key in keys:
            assert await space.try_take("item", key, ANY)
        return [numbers_in(index) for index in indexes_of(space)]

    assert asyncio.run(main()) == [0, 0, 0]


def test_numbers_of_tuples_that_are_gone_never_outnumber_the_live_by_more_than_a_constant():
    """60,000 pairs of write and take under three signatures, with many and with few tuples inside."""

    async def main() -> int:
        space, most = TupleSpace(), 0
        for key in range(60_000):
            await space.write("item", key, "x")
            if key % 20_000 >= 5_000:
                assert await space.try_take("item", ANY, "x")
            if key % 100 == 0:
                for pattern in SIGNATURES:
                    await space.try_read(*pattern)
                most = max(most, stale_numbers(space) - len(space._store))
        return most

    assert asyncio.run(main()) <= DEAD_ALLOWED + 1


def test_a_space_with_an_index_serves_as_a_queue_through_every_tidying_up():
    """The oldest tuple is taken thousands of times, also where dead numbers are thrown out in between."""

    async def main() -> list[int]:
        space = TupleSpace()
        await space.write("item", 0)
        await space.write("other", 0)
        await space.take("other", 0)  # not the oldest, so there is an index from now on
        for number in range(1, 5_000):
            await space.write("item", number)
        return [(await space.try_take(ANY, int))[1] for _ in range(5_000)]

    assert asyncio.run(main()) == list(range(5_000))


def test_unhashable_fields_leave_nothing_behind_either():
    """They are kept in a list of their own, which is cleaned like the rest."""

    async def main() -> list[int]:
        space = TupleSpace()
        await space.write("a tuple that stays", "y")
        for key in range(5_000):
            await space.write([key], "x")
            assert await space.try_take(ANY, "x")
        return [numbers_in(index) for index in indexes_of(space)]

    assert max(asyncio.run(main())) <= DEAD_ALLOWED + 1


def test_waiters_that_gave_up_leave_nothing_behind():
    """A thousand keys waited for in vain: not one line of waiters is kept."""

    async def main() -> None:
        space = TupleSpace()
        takers = [asyncio.create_task(space.take("item", key)) for key in range(1000)]
        readers = [asyncio.create_task(space.read(ANY, key)) for key in range(1000)]
        await asyncio.sleep(0)
        for task in (*takers, *readers):
            task.cancel()
        await asyncio.gather(*takers, *readers, return_exceptions=True)
        for waiters in (space._takers, space._readers):
            assert [s.lines for each in waiters._signatures.values() for s in each if s.lines] == []

    asyncio.run(main())


def test_old_moments_are_thrown_away():
    """A heartbeat that is replaced for ever does not pile up its deadlines."""

    async def main() -> int:
        space = TupleSpace()
        for beat in range(5_000):
            await space.replace(("heartbeat", ANY), ("heartbeat", beat), insert=True, ttl=1000)
        return len(space._moments)

    assert asyncio.run(main()) < 200


def test_a_write_to_many_waiters_asks_only_those_whom_it_may_serve():
    """10,000 takers wait for other keys; the one that is meant is found without asking them all."""
    asked = 0

    class Key(str):
        """Text that counts how often it is compared."""

        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal asked
            asked += 1
            return str.__eq__(self, other)

    async def main() -> None:
        space = TupleSpace()
        takers = [asyncio.create_task(space.take("item", key)) for key in range(10_000)]
        await asyncio.sleep(0)
        await space.write(Key("item"), 5_000)
        assert await takers[5_000] == ("item", 5_000)
        for taker in takers:
            taker.cancel()
        await asyncio.gather(*takers, return_exceptions=True)

    asyncio.run(main())
    assert asked < 100
