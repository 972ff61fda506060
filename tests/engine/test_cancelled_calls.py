"""Every call, cancelled after any number of steps of the loop: no tuple is lost, and none is there twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import pytest
from server_help import ended, started, with_manager

from tutorial_lib import SpaceManager, TupleSpace, where

STEPS = 40
FULL = 3  # tuples, numbered from 0, are in the space at the start: it has room for no more

Call = Callable[[TupleSpace, TupleSpace], Coroutine[Any, Any, Any]]


class Case(NamedTuple):
    """A call, and what others do while it waits (None if it does not wait). Both return what they took."""

    call: Call
    meanwhile: Call | None = None
    written: int = 0  # tuples that the call writes: they are there or not, but not twice


EVEN = where(lambda number: number % 2 == 0, "even")


async def take(space: TupleSpace, _: TupleSpace) -> list[Any]:
    return [await space.take("task", int)]


async def take_by_test(space: TupleSpace, _: TupleSpace) -> list[Any]:
    return [await space.take("task", EVEN)]


async def try_take(space: TupleSpace, _: TupleSpace) -> list[Any]:
    return [await space.try_take("task", int)]


async def take_all(space: TupleSpace, _: TupleSpace) -> list[Any]:
    return await space.take_all("task", int)


async def take_all_by_test(space: TupleSpace, _: TupleSpace) -> list[Any]:
    return await space.take_all("task", EVEN)


async def read(space: TupleSpace, _: TupleSpace) -> list[Any]:
    await space.read("task", int)
    return []


async def take_what_comes(space: TupleSpace, _: TupleSpace) -> list[Any]:
    return [await space.take("done", int)]


async def take_what_comes_by_test(space: TupleSpace, _: TupleSpace) -> list[Any]:
    return [await space.take("done", where(lambda number: number >= 0, "any"))]


async def claim(space: TupleSpace, results: TupleSpace) -> list[Any]:
    async with space.claim("task", int, lease=60) as claim:
        await claim.renew(60)
        await claim.complete("done", claim.fields[1], to=results)
    return []


async def claim_what_comes(space: TupleSpace, results: TupleSpace) -> list[Any]:
    async with space.claim("done", int, lease=60) as claim:
        await claim.complete("done", claim.fields[1], to=results)
    return []


async def claim_and_release(space: TupleSpace, _: TupleSpace) -> list[Any]:
    async with space.claim("task", int, lease=60) as claim:
        await claim.release()
    return []


async def claim_and_bury(space: TupleSpace, results: TupleSpace) -> list[Any]:
    async with space.claim("task", int, lease=60) as claim:
        await claim.bury(results, "too hard")
    return []


async def replace(space: TupleSpace, _: TupleSpace) -> list[Any]:
    await space.replace(("task", 1), ("done", 1))
    return []


async def replace_by_test(space: TupleSpace, _: TupleSpace) -> list[Any]:
    await space.replace(("task", EVEN), ("done", 0))
    return []


async def write(_: TupleSpace, results: TupleSpace) -> list[Any]:
    await results.write("task", FULL)
    return []


async def write_many(_: TupleSpace, results: TupleSpace) -> list[Any]:
    await results.write_many([("task", FULL), ("task", FULL + 1)])
    return []


async def write_when_there_is_room(space: TupleSpace, _: TupleSpace) -> list[Any]:
    await space.write("task", FULL)
    return []


async def insert_when_there_is_room(space: TupleSpace, _: TupleSpace) -> list[Any]:
    await space.replace(("none",), ("task", FULL), insert=True)
    return []


CASES = {
    "take": Case(take),
    "take by a test": Case(take_by_test),
    "try_take": Case(try_take),
    "take_all": Case(take_all),
    "take_all by a test": Case(take_all_by_test),
    "read": Case(read),
    "a waiting take": Case(take_what_comes, meanwhile=replace),
    "a waiting take by a test": Case(take_what_comes_by_test, meanwhile=replace),
    "claim": Case(claim),
    "a waiting claim": Case(claim_what_comes, meanwhile=replace),
    "release": Case(claim_and_release),
    "bury": Case(claim_and_bury),
    "replace": Case(replace),
    "replace by a test": Case(replace_by_test),
    "write": Case(write, written=1),
    "write_many": Case(write_many, written=2),
    "a waiting write": Case(write_when_there_is_room, meanwhile=take, written=1),
    "a waiting replace": Case(insert_when_there_is_room, meanwhile=take, written=1),
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_that_is_cancelled_at_any_step_loses_nothing(url: str, name: str) -> None:
    """Each tuple is, once, with whoever took it or in a space. Nobody waits, and nothing is claimed."""

    async def sweep(manager: SpaceManager) -> None:
        space, results = manager.space("tasks", capacity=FULL), manager.space("results")
        for steps in range(STEPS + 1):
            await space.write_many([("task", number) for number in range(FULL)])
            taken = await cancelled(CASES[name], space, results, steps)
            left = [*await space.take_all(), *await results.take_all()]
            numbers = sorted(fields[1] for fields in [*taken, *left])
            assert numbers == list(range(len(numbers))), (steps, taken, left)
            assert FULL <= len(numbers) <= FULL + CASES[name].written, (steps, taken, left)
            for each in (space, results):
                assert ((await each.stats()).claimed, (await each.stats()).waiting) == (0, 0), steps

    asyncio.run(with_manager(sweep, url))


async def cancelled(case: Case, space: TupleSpace, results: TupleSpace, steps: int) -> list[Any]:
    """Cancel the call after some steps of the loop. Return what it and the others took."""
    call = case.call(space, results)
    if case.meanwhile is None:
        tasks = [asyncio.create_task(call)]
    else:
        tasks = [await started(space, call), asyncio.create_task(case.meanwhile(space, results))]
    for _ in range(steps):
        await asyncio.sleep(0)
    tasks[0].cancel()
    outcomes = [await ended(task) for task in tasks]
    assert all(isinstance(outcome, (list, asyncio.CancelledError)) for outcome in outcomes), outcomes
    return [fields for outcome in outcomes if isinstance(outcome, list) for fields in outcome]
