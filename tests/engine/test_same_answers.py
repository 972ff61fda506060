"""Random histories, done in memory and on a server side by side: every answer is the same."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from server_help import PATIENCE, REPEATS, Server

from tutorial_lib import ANY, Claim, SpaceManager, StaleClaim, TupleSpace, connect, where

pytestmark = pytest.mark.usefixtures("patient")

VALUES = (0, 1, True, 1.0, -0.0, "a", "b", b"a", None, (1, 2), [1, [2]], {"a": 1}, 2**70)
CLASSES = (int, float, str, bool, list, tuple, dict, type(None))
STEPS = 150


class Player:
    """Does the same steps as its twin, in a space of its own, and notes every answer."""

    def __init__(self, manager: SpaceManager) -> None:
        self.space: TupleSpace = manager.space("small", capacity=12)
        self.other = manager.space("other")
        self.claims: list[Claim] = []
        self.waiting: list[asyncio.Task[Any]] = []

    async def step(self, choose: random.Random) -> Any:
        """Do one random step. The same numbers drawn mean the same step."""
        space, fields, pattern = self.space, a_tuple(choose), a_pattern(choose)
        act = choose.randrange(14)
        try:
            match act:
                case 0 | 1 | 2:
                    return await space.write(*fields, timeout=0)
                case 3:
                    return await space.try_take(*pattern)
                case 4:
                    return await space.try_read(*pattern)
                case 5:
                    return await space.read_all(*pattern)
                case 6:
                    return await space.count(*pattern)
                case 7:
                    return await space.take_all(*pattern, limit=choose.randrange(3))
                case 8:
                    return await space.replace(pattern, fields)
                case 9:
                    claim = await space.claim(*pattern, lease=60, timeout=0).__aenter__()
                    self.claims.append(claim)
                    return claim.fields, claim.attempt
                case 10 if self.claims:
                    return await self.claims.pop(choose.randrange(len(self.claims))).release()
                case 11 if self.claims:
                    return await self.claims.pop(0).complete(*fields, to=choose.choice((self.other, None)))
                case 12 if self.claims:
                    return await self.claims[0].renew(60)
                case 13 if not has_test(pattern):
                    self.waiting.append(
                        asyncio.create_task(a_wait(space, choose.choice("trw"), pattern, fields))
                    )
                    await self.settled(len(self.waiting))
        except (TimeoutError, StaleClaim) as error:
            return type(error).__name__
        return None

    async def settled(self, expected: int) -> None:
        """Wait until each operation that was started is either done or known to wait."""
        while sum(task.done() for task in self.waiting) + (await self.space.stats()).waiting < expected:
            await asyncio.sleep(0.001)

    async def outcome(self) -> Any:
        """Return what is left at the end, and what everybody who waited got."""
        await self.settled(len(self.waiting))
        waiters = [(waiter.operation, repr(waiter.pattern)) for waiter in await self.space.waiters()]
        got = [task.result() if task.done() else "waits" for task in self.waiting]
        for task in self.waiting:
            task.cancel()
        await asyncio.gather(*self.waiting, return_exceptions=True)
        return await self.space.read_all(), await self.other.read_all(), waiters, got


async def a_wait(space: TupleSpace, operation: str, pattern: tuple[Any, ...], fields: tuple[Any, ...]) -> Any:
    """Take, read or write, for as long as it takes."""
    if operation == "w":
        return await space.write(*fields)
    return await (space.take if operation == "t" else space.read)(*pattern)


def a_tuple(choose: random.Random) -> tuple[Any, ...]:
    return tuple(choose.choice(VALUES) for _ in range(choose.randint(1, 2)))


def a_pattern(choose: random.Random) -> tuple[Any, ...]:
    truth = where(lambda value: bool(value), "true")
    wanted = [*VALUES, *CLASSES, ANY, ANY, ANY, ANY, truth]
    return tuple(choose.choice(wanted) for _ in range(choose.randint(1, 2)))


def has_test(pattern: tuple[Any, ...]) -> bool:
    return any("where" in repr(field) for field in pattern)


def exactly(answer: Any) -> str:
    """Tell answers apart that ``==`` takes for the same, such as 1 and True."""
    return repr(answer)


@pytest.mark.parametrize("seed", range(8 * REPEATS))
def test_memory_and_server_give_the_same_answers(server: Server, seed: int) -> None:
    """Step by step. At the end the same tuples are left, in the same order, and the same ones wait."""

    async def program() -> None:
        async with connect("memory://") as memory, connect(server.url) as engine:
            players = Player(memory), Player(engine)
            for step in range(STEPS):
                answers = [await player.step(random.Random(f"{seed} {step}")) for player in players]
                assert exactly(answers[0]) == exactly(answers[1]), f"step {step}"
            outcomes = [await player.outcome() for player in players]
            assert exactly(outcomes[0]) == exactly(outcomes[1])

    asyncio.run(asyncio.wait_for(program(), PATIENCE))
