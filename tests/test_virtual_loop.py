"""The promises of virtual time and of seeds."""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
from pathlib import Path

from simulation_help import script

from tutorial_lib import TupleSpace, note, simulate

# ---------------------------------------------------------------------------------------------------
# Time


def test_an_hour_takes_no_time() -> None:
    """Sleeping for a virtual year is over at once, and microseconds are still told apart then."""
    year = 365 * 24 * 3600.0

    async def main() -> tuple[float, float]:
        await asyncio.sleep(year)
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(0.000001)
        return before, asyncio.get_running_loop().time()

    run = simulate(main, time_limit=None)

    assert run.result == (year, year + 0.000001)


def test_any_positive_delay_is_at_least_a_microsecond() -> None:
    """A delay is rounded to whole microseconds, and none that is positive is rounded away."""

    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        moments: list[int] = []
        for delay in (1e-9, 0.0000014, 0.0000016):
            start = loop.time()
            await asyncio.sleep(delay)
            moments.append(round((loop.time() - start) * 1e6))
        start = loop.time()
        loop.call_at(start + 1e-9, lambda: moments.append(round((loop.time() - start) * 1e6)))
        await asyncio.sleep(1)
        return moments

    assert simulate(main).result == [1, 1, 2, 1]


def test_a_timer_never_fires_early() -> None:
    """Whenever a timer fires, the clock has reached the moment for which it was armed."""

    async def main() -> list[bool]:
        loop = asyncio.get_running_loop()
        reached: list[bool] = []
        for number in range(1, 200):
            timer: list[asyncio.TimerHandle] = []
            timer.append(
                loop.call_later(
                    number / 7, lambda timer=timer: reached.append(loop.time() >= timer[0].when())
                )
            )
        await asyncio.sleep(100)
        return reached

    assert simulate(main).result == [True] * 199


def test_timers_of_one_moment_fire_in_the_order_in_which_they_were_armed() -> None:
    """Equal moments are served first come, first served, whatever way they were armed."""

    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        order: list[str] = []
        for name in "gfedcba":
            loop.call_later(1, order.append, name)
        loop.call_at(1.0, order.append, "last")
        await asyncio.sleep(2)
        return order

    assert simulate(main).result == [*"gfedcba", "last"]


def test_cancelled_timers_neither_fire_nor_count() -> None:
    """A cancelled timer does nothing, and the run does not last until its moment."""

    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        fired: list[int] = []
        timers = [loop.call_later(10 + number, fired.append, number) for number in range(300)]
        for timer in timers[:-1]:
            timer.cancel()
        await asyncio.sleep(1)
        loop.call_later(2000, fired.append, -1).cancel()
        await asyncio.sleep(400)
        return fired

    run = simulate(main)

    assert run.result == [299]
    assert run.elapsed == 401


def test_cancelled_timers_do_not_pile_up() -> None:
    """A take with a long timeout, a thousand times over, leaves no thousand timers behind."""

    async def main() -> int:
        loop = asyncio.get_running_loop()
        for _ in range(1000):
            loop.call_later(3600, print).cancel()
        return len(loop._timers)  # type: ignore[attr-defined]

    assert simulate(main).result < 150


def test_timeouts_and_task_groups_live_in_virtual_time() -> None:
    """`asyncio.timeout` and `TaskGroup` work unchanged."""

    async def main() -> str:
        try:
            async with asyncio.timeout(5), asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(1))
                group.create_task(asyncio.sleep(100))
        except TimeoutError:
            return f"over at {asyncio.get_running_loop().time()}"
        return "no timeout"

    assert simulate(main).result == "over at 5.0"


# ---------------------------------------------------------------------------------------------------
# Seeds


async def market(count: int = 4) -> None:
    """Consumers that race for tasks: who gets what depends on the order in which they run."""
    space = TupleSpace()

    async def consume() -> None:
        while True:
            _, number = await space.take("task", int)
            note("got", number=number)
            await asyncio.sleep(random.choice([0.5, 1, 1.5]))

    async with asyncio.TaskGroup() as group:
        consumers = [group.create_task(consume(), name=f"c{number}") for number in range(count)]
        for number in range(5 * count):
            await space.write("task", number)
            await asyncio.sleep(0.25)
        await asyncio.sleep(10)
        for consumer in consumers:
            consumer.cancel()


def test_the_same_seed_gives_the_same_trace() -> None:
    """Two runs with one seed are equal event by event."""
    for seed in (0, 1, 2**70, -3):
        assert simulate(market, seed=seed).trace == simulate(market, seed=seed).trace


def test_other_seeds_give_other_traces() -> None:
    """Seeds other than 0 explore other orders."""
    texts = {simulate(market, seed=seed).trace.text() for seed in range(6)}
    assert len(texts) == 6


def test_the_trace_is_the_same_in_every_process_and_python() -> None:
    """The hash seed of the process and the version of Python have no influence."""
    program = (
        Path(__file__).read_text(encoding="utf-8").split("async def market", 1)[1].split("\ndef test", 1)[0]
    )
    code = (
        "import random\nasync def market"
        + program
        + "\nfor seed in (0, 7): print(simulate(market, seed=seed).trace.text())"
    )
    pythons = [sys.executable, sys.executable]
    for name in ("python3.11", "python3.12", "python3.13"):
        found = shutil.which(name)
        if found and script("", python=found).returncode == 0:
            pythons.append(found)
    outputs = {script(code, python=python, PYTHONHASHSEED=str(n)).stdout for n, python in enumerate(pythons)}

    assert len(outputs) == 1
    assert "got" in outputs.pop()


def test_seed_0_keeps_the_order_of_asyncio() -> None:
    """With seed 0 ready tasks run in the order in which an ordinary loop runs them."""

    async def main() -> list[str]:
        order: list[str] = []

        async def step(name: str) -> None:
            for round_number in range(4):
                order.append(f"{name}{round_number}")
                await asyncio.sleep(0)

        await asyncio.gather(*map(step, "abcd"))
        return order

    assert simulate(main).result == asyncio.run(main())


def test_under_any_seed_each_ready_task_runs_once_a_pass() -> None:
    """A seed changes the order within a pass, never how often one gets its turn."""

    async def main() -> list[set[str]]:
        rounds: list[list[str]] = [[] for _ in range(10)]

        async def step(name: str) -> None:
            for names in rounds:
                names.append(name)
                await asyncio.sleep(0)

        async def look() -> None:
            for number in range(10):
                await asyncio.sleep(0)
                assert len(rounds[number]) in (4, 5)

        await asyncio.gather(*map(step, "abcde"))
        return rounds

    rounds = simulate(main, seed=5).result

    assert all(sorted(names) == list("abcde") for names in rounds)
    assert len({tuple(names) for names in rounds}) > 3


def test_a_task_group_cancels_in_the_same_order_always() -> None:
    """A task group keeps its tasks in a set: they are cancelled in the order of their creation numbers."""

    async def main() -> list[str]:
        order: list[str] = []

        async def wait(name: str) -> None:
            try:
                await asyncio.sleep(100)
            finally:
                order.append(name)

        try:
            async with asyncio.TaskGroup() as group:
                for name in "abcdefgh":
                    group.create_task(wait(name))
                await asyncio.sleep(1)
                raise LookupError
        except* LookupError:
            pass
        return order

    assert {tuple(simulate(main).result) for _ in range(5)} == {tuple("abcdefgh")}


def test_tasks_hash_by_number_and_equal_only_themselves() -> None:
    """The hash of a task is its number of creation, and automatic names count from 1 in every run."""

    async def main() -> tuple[list[int], list[str], bool]:
        tasks = [asyncio.create_task(asyncio.sleep(0)) for _ in range(3)]
        names = [task.get_name() for task in tasks]
        return [hash(task) for task in tasks], names, tasks[0] == tasks[1]

    assert (
        simulate(main).result == simulate(main).result == ([2, 3, 4], ["Task-2", "Task-3", "Task-4"], False)
    )


def test_random_is_seeded_for_the_run_and_restored() -> None:
    """The global random starts from the seed in every run, and the caller's numbers go on undisturbed."""

    async def main() -> float:
        return random.random()

    random.seed(99)
    expected = [random.random(), random.random()]
    random.seed(99)
    first = random.random()
    drawn = [simulate(main, seed=seed).result for seed in (4, 4, 5)]

    assert [first, random.random()] == expected
    assert drawn[0] == drawn[1] != drawn[2]
