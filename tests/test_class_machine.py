"""One machine of a class, over spaces in memory and in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tutorial_lib import ANY, Claim, Crew, Master, SpaceManager, connect, simulate
from tutorial_lib.classroom.machine import serve
from tutorial_lib.faults import crash, hang

Scene = Callable[[SpaceManager, Master], Awaitable[Any]]


def in_class(
    scene: Scene, machines: int = 2, *, seed: int = 0, faults: Any = (), seconds: float = 0
) -> tuple[Any, list[str]]:
    """Play a scene with machines w1, w2, ... whose tasks take ``seconds`` each.

    Returns what the scene returned, and what the machines said.
    """
    said: list[str] = []

    async def run(job: str, arguments: tuple[Any, ...]) -> Any:
        await asyncio.sleep(seconds)
        if job == "bad":
            raise KeyError("no such thing" * 100)
        return arguments[0] ** 2

    async def main() -> Any:
        async with connect("memory://") as manager:
            await manager.space("class").write("round", 1)
            master = Master(manager.space("tasks 1"), manager.space("results 1"))
            async with Crew(lambda name: serve(manager, name, say=said.append, run=run), machines):
                return await scene(manager, master)

    return simulate(main, seed=seed, faults=faults).result, said


async def four_squares(manager: SpaceManager, master: Master) -> dict[int, Any]:
    for number in (2, 3, 4, 5):
        await master.submit("square", (number,))
    collected = await master.collect()
    assert collected.duplicates == 0
    return collected.results


@pytest.mark.parametrize("seed", range(5))
def test_machines_share_the_tasks(seed: int) -> None:
    """Each is done once, and each machine does some."""
    results, said = in_class(four_squares, seed=seed, seconds=1)
    assert results == {1: 4, 2: 9, 3: 16, 4: 25}
    done = [line.split(":")[0] for line in said if "is completed" in line]
    assert sorted(done) == ["w1", "w1", "w2", "w2"]


def test_the_task_of_a_crashed_machine_is_done_by_another() -> None:
    """When its lease is over; and the machine drops out when its last heartbeat is five seconds old."""

    async def scene(manager: SpaceManager, master: Master) -> Any:
        results = await four_squares(manager, master)
        return results, await manager.space("class").read_all("machine", ANY, ANY, ANY)

    (results, machines), said = in_class(scene, faults=[crash("w1", at=0.5)], seconds=1)
    assert results == {1: 4, 2: 9, 3: 16, 4: 25}
    assert [name for _, name, _, _ in machines] == ["w2"]
    assert sum("w2" in line and "is completed" in line for line in said) == 4


def test_a_machine_keeps_its_task_for_as_long_as_the_job_runs() -> None:
    """It renews the lease, so a job may take longer than that."""
    results, said = in_class(four_squares, seconds=25)
    assert results == {1: 4, 2: 9, 3: 16, 4: 25}
    assert sum("is completed" in line for line in said) == 4


def test_a_result_that_comes_too_late_is_refused() -> None:
    """The machine that hung says so and goes on with the next task."""

    async def scene(manager: SpaceManager, master: Master) -> Any:
        await four_squares(manager, master)
        await asyncio.sleep(60)
        await master.submit("square", (6,))
        await master.submit("square", (7,))
        return (await master.collect()).results

    results, said = in_class(scene, faults=[hang("w1", at=0.5, seconds=30)], seconds=1)
    assert results == {1: 4, 2: 9, 3: 16, 4: 25, 5: 36, 6: 49}
    assert "w1: task 1 is not this machine's any more, so its result is refused." in said
    assert any(line.startswith("w1: task 5 is completed") for line in said)


@pytest.mark.parametrize("seed", range(5))
def test_no_two_machines_have_the_same_name(seed: int) -> None:
    """Also when they join in the same moment."""

    async def main() -> list[str]:
        async with connect("memory://") as manager:
            hall = manager.space("class")
            await hall.write("round", 1)
            async with Crew(lambda _: serve(manager, "anna", say=lambda text: None), 5):
                await asyncio.sleep(1)
                return sorted(name for _, name, _, _ in await hall.read_all("machine", ANY, ANY, ANY))

    assert simulate(main, seed=seed).result == ["anna", "anna 2", "anna 3", "anna 4", "anna 5"]


@pytest.mark.parametrize("name", ["", " anna", "a" * 25, "two\nlines", "\x1b[31mred", "a\u202eb", 7, None])
def test_a_name_is_short_and_printable(name: Any) -> None:
    """The text says what was given."""

    async def main() -> None:
        await serve(connect(), name)

    with pytest.raises(ValueError, match="1 to 24 printable"):
        simulate(main)


@pytest.mark.parametrize("name", ["anna", "a", "Зоя", "花子", "<b>anna</b>", "a" * 24])
def test_any_printable_name_is_taken(name: str) -> None:
    """Whoever draws it sees to it that it is text and nothing else."""

    async def main() -> Any:
        async with connect("memory://") as manager:
            await manager.space("class").write("round", 1)
            async with Crew(lambda _: serve(manager, name, say=lambda text: None), 1):
                return await manager.space("class").read("machine", name, int, str)

    assert simulate(main).result[1] == name


def test_what_a_machine_cannot_do_fails_and_nothing_else_does() -> None:
    """The reason is short, the machine lives on."""

    async def scene(manager: SpaceManager, master: Master) -> Any:
        await master.submit("bad", (1,))
        await master.submit("square", (2,))
        return await master.collect()

    collected, _ = in_class(scene, 1)
    assert collected.results == {2: 4}
    assert collected.failures[1].startswith("KeyError: 'no such thing")
    assert len(collected.failures[1]) == 200


def test_a_hostile_task_is_refused() -> None:
    """Whatever stands in it, it fails with a reason; the jobs of a class are the only ones."""
    tasks: list[tuple[Any, Any]] = [
        ("os.system", ("rm",)),
        ("eval", "1"),
        (["x"], {}),
        ("nap", (1e9,)),
        ("bad\n\x1b[2J", ()),
    ]
    said: list[str] = []

    async def main() -> Any:
        async with connect("memory://") as manager:
            await manager.space("class").write("round", 1)
            master = Master(manager.space("tasks 1"), manager.space("results 1"))
            for task in tasks:
                await master.submit(*task)
            async with Crew(lambda name: serve(manager, name, say=said.append), 1):
                return await master.collect()

    collected = simulate(main).result
    assert collected.results == {}
    assert len(collected.failures) == len(tasks)
    assert all(line.isprintable() for line in said)


def test_a_round_that_is_closed_is_followed_by_the_next() -> None:
    """The machines stay."""

    async def scene(manager: SpaceManager, master: Master) -> Any:
        await four_squares(manager, master)
        await manager.space("class").replace(("round", int), ("round", 2))
        await manager.remove("tasks 1")
        await manager.remove("results 1")
        return await four_squares(manager, Master(manager.space("tasks 2"), manager.space("results 2")))

    results, said = in_class(scene)
    assert results == {1: 4, 2: 9, 3: 16, 4: 25}
    assert sum("joined" in line for line in said) == 2


def test_a_machine_whose_tasks_are_closed_waits_for_the_next_round() -> None:
    """It does not ask again and again meanwhile."""

    async def scene(manager: SpaceManager, master: Master) -> Any:
        await manager.space("tasks 1").close()
        await asyncio.sleep(60)
        await manager.space("class").replace(("round", int), ("round", 2))
        return await four_squares(manager, Master(manager.space("tasks 2"), manager.space("results 2")))

    assert in_class(scene)[0] == {1: 4, 2: 9, 3: 16, 4: 25}


def test_a_machine_finds_the_next_round_though_nobody_closed_the_last() -> None:
    """As when it came to tasks that had been removed: it looks again after a short time."""

    async def scene(manager: SpaceManager, master: Master) -> Any:
        await asyncio.sleep(1)
        await manager.space("class").replace(("round", int), ("round", 2))
        return await four_squares(manager, Master(manager.space("tasks 2"), manager.space("results 2")))

    assert in_class(scene)[0] == {1: 4, 2: 9, 3: 16, 4: 25}


def test_a_machine_hears_that_the_class_is_over() -> None:
    """Also in the middle of a task, and leaves."""

    async def scene(manager: SpaceManager, master: Master) -> Any:
        await master.submit("square", (2,))
        await asyncio.sleep(1)
        hall = manager.space("class")
        await hall.take("round", int)
        await hall.close()
        await asyncio.sleep(2)
        return await hall.read_all("machine", ANY, ANY, ANY)

    machines, said = in_class(scene, seconds=20)
    assert machines == []
    assert said.count("The class is over.") == 2


def test_a_machine_that_leaves_gives_its_task_back() -> None:
    """It does not count as an attempt; the heartbeat goes at once."""

    async def main() -> Any:
        async with connect("memory://") as manager:
            hall, tasks = manager.space("class"), manager.space("tasks 1")
            await hall.write("round", 1)
            await tasks.write("task", 1, "nap", (10.0,))
            said: list[str] = []
            machine = asyncio.create_task(serve(manager, "anna", say=said.append))
            await asyncio.sleep(1)
            machine.cancel()
            await asyncio.wait([machine])
            async with tasks.claim("task", 1, ANY, ANY, lease=1, timeout=0) as claim:
                return await hall.read_all("machine", ANY, ANY, ANY), claim.attempt, said

    assert simulate(main).result == ([], 1, ["anna has joined the class.", "anna has left the class."])


def test_a_machine_that_is_cancelled_while_it_joins_is_not_seen_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also between its first heartbeat and the end of joining, which on a network takes a moment."""
    release = Claim.release

    async def release_slowly(claim: Claim) -> None:
        await asyncio.sleep(1)
        await release(claim)

    monkeypatch.setattr(Claim, "release", release_slowly)

    async def main() -> Any:
        async with connect("memory://") as manager:
            hall = manager.space("class")
            await hall.write("round", 1)
            machine = asyncio.create_task(serve(manager, "anna", say=lambda text: None))
            await hall.read("machine", "anna", ANY, ANY)
            machine.cancel()
            await asyncio.wait([machine])
            return await hall.read_all()

    assert simulate(main).result == [("round", 1)]
