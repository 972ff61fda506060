"""The drills of lesson 09, as they go without a server: with tasks for machines, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from tutorial_lib import Master, SpaceManager, simulate
from tutorial_lib.classroom import processes
from tutorial_lib.classroom.drills import by_claim, by_take, counting
from tutorial_lib.classroom.processes import Machines, Worker, machines


async def kill_one(worker: Worker) -> tuple[int, list[tuple[int, int]]]:
    """Kill a machine with a task in its hands. Return that task, and what is done at which delivery."""
    async with machines(worker, 2) as crew:
        await crew.manager.space("tasks").write_many([("task", number) for number in (1, 2, 3)])
        _, name, number = await crew.manager.space("log").take("began", str, int)
        crew.kill(name)
        await asyncio.sleep(60)
        done = await crew.manager.space("results").take_all()
        assert await crew.manager.space("tasks").read_all() == []
        assert all(who != name for _, _, who, _ in done)
        return number, sorted((number, attempt) for _, number, _, attempt in done)


def test_a_task_that_was_taken_dies_with_its_machine() -> None:
    """It is in no space any more, and the others are done once."""
    assert simulate(kill_one, by_take).result == (1, [(2, 1), (3, 1)])


def test_a_task_that_was_claimed_is_done_by_another_machine() -> None:
    """It comes back after the lease, as a second delivery."""
    assert simulate(kill_one, by_claim).result == (1, [(1, 2), (2, 1), (3, 1)])


def test_a_frozen_machine_comes_back_and_is_refused() -> None:
    """The other one has done its task meanwhile, and there is one result."""

    async def main() -> tuple[object, ...]:
        async with machines(by_claim, 2) as crew:
            await crew.manager.space("tasks").write("task", 7)
            log = crew.manager.space("log")
            _, name, _ = await log.take("began", str, 7)
            crew.freeze(name, 30)
            await asyncio.sleep(60)
            return (
                name,
                await crew.manager.space("results").read_all(),
                await log.read_all("refused", str, int),
            )

    assert simulate(main).result == ("w1", [("result", 7, "w2", 2)], [("refused", "w1", 7)])


def test_machines_are_hired_while_the_master_goes_on() -> None:
    """The one that comes later does the rest of the work."""

    async def main() -> set[str]:
        async with machines(counting, 0) as crew:
            master = Master(crew.manager.space("tasks"), crew.manager.space("results"))
            await master.submit(0, 10)
            await crew.hire("anna")
            return {name for name, _ in (await master.collect()).results.values()}

    assert simulate(main).result == {"anna"}


@pytest.mark.parametrize("what", [lambda crew: crew.kill("w1"), lambda crew: crew.freeze("w1", 1)])
def test_a_task_in_real_time_is_neither_killed_nor_frozen(what, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a process can be; the message says where it goes without one."""
    monkeypatch.setattr(processes, "has_server", lambda: False)

    async def idle(manager: SpaceManager, name: str) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        async with machines(idle, 1) as crew:
            assert isinstance(crew, Machines)
            what(crew)

    with pytest.raises(RuntimeError, match="Run this by simulate"):
        asyncio.run(main())


def test_without_a_server_on_the_path_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then machines are tasks, and the lesson runs all the same."""
    monkeypatch.setenv("PATH", "")
    assert not processes.has_server()
