"""Machines as processes of their own, over a private server: started, killed, and never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from drill_help import LEASE, HeldDrills
from drill_help import by_claim as held_claim
from drill_help import by_take as held_take
from server_help import PATIENCE, Server, python

from tutorial_lib import Master, SpaceManager
from tutorial_lib.classroom.drills import by_claim, counting
from tutorial_lib.classroom.processes import ProcessMachines, Worker, machines


async def begun(worker: Worker, crew: Any, *numbers: int) -> tuple[str, int]:
    """Hand out tasks; return who was the first to begin one, and which."""
    await crew.manager.space("tasks").write_many([("task", number) for number in numbers])
    _, name, number = await crew.manager.space("log").take("began", str, int, timeout=PATIENCE)
    return name, number


@pytest.mark.parametrize(("worker", "done_by_others", "delivery"), [(held_take, 2, None), (held_claim, 3, 2)])
def test_a_killed_process_loses_what_it_took_and_not_what_it_claimed(
    worker: Worker, done_by_others: int, delivery: int | None, held: HeldDrills
) -> None:
    """SIGKILL in the middle of a task: a plain take is lost, a claim is given out again."""

    async def main() -> None:
        async with machines(worker, 2) as crew:
            name, number = await begun(worker, crew, 1, 2, 3)
            crew.kill(name)
            held.go_on()
            results = crew.manager.space("results")
            done = [
                await results.take("result", int, str, int, timeout=PATIENCE) for _ in range(done_by_others)
            ]
            assert all(who != name for _, _, who, _ in done)
            assert {which: attempt for _, which, _, attempt in done}.get(number) == delivery
            assert await crew.manager.space("tasks").read_all() == []

    asyncio.run(main())


def test_a_frozen_process_comes_back_and_is_refused(held: HeldDrills) -> None:
    """SIGSTOP for longer than the lease: the other one does the task, and there is one result."""

    async def main() -> None:
        async with machines(held_claim, 2) as crew:
            name, number = await begun(held_claim, crew, 7)
            crew.freeze(name, LEASE + 1)
            held.go_on()
            results, log = crew.manager.space("results"), crew.manager.space("log")
            _, _, who, _ = await results.take("result", number, str, int, timeout=PATIENCE)
            assert who != name
            assert await log.take("refused", str, int, timeout=PATIENCE) == ("refused", name, number)
            assert await results.read_all() == []

    asyncio.run(main())


@pytest.mark.parametrize("frozen", [False, True])
def test_no_process_is_left_when_the_block_ends_with_an_error(frozen: bool) -> None:
    """Not even one that is frozen; Stop in a notebook is such an error."""
    processes: list[subprocess.Popen[bytes]] = []

    async def main() -> None:
        async with machines(by_claim, 2) as crew:
            assert isinstance(crew, ProcessMachines)
            processes.extend(crew.processes.values())
            if frozen:
                crew.freeze("w1", 60)
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert [process.returncode for process in processes] == [-signal.SIGKILL, -signal.SIGKILL]


def test_a_process_ends_when_whoever_started_it_is_killed(server: Server) -> None:
    """Its standard input ends then: a notebook's kernel that dies leaves no machine behind."""
    starter = python(STARTER, server.url)
    assert starter.stdout is not None
    process = int(starter.stdout.readline())
    starter.kill()
    starter.communicate()
    deadline = time.monotonic() + PATIENCE
    while is_running(process):
        assert time.monotonic() < deadline
        time.sleep(0.02)


STARTER = """
    import asyncio, sys
    from contextlib import ExitStack
    from tutorial_lib import connect
    from tutorial_lib.classroom.drills import by_claim
    from tutorial_lib.classroom.processes import ProcessMachines

    async def main(url):
        async with connect(url) as manager:
            crew = ProcessMachines(manager, url, by_claim, ExitStack())
            await crew.hire("w1")
            print(crew.processes["w1"].pid, flush=True)
            await asyncio.sleep(60)

    asyncio.run(main(sys.argv[1]))
"""


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout
    return not state.startswith("Z")  # a zombie has ended, and waits for somebody to ask


def test_the_password_of_the_server_stands_in_no_list_of_processes() -> None:
    """The address comes by standard input. Other programs of this machine may show what they like."""

    async def main() -> tuple[str, str]:
        async with machines(by_claim, 1) as crew:
            ps = subprocess.run(["ps", "-A", "-ww", "-o", "args"], capture_output=True, text=True)
            return ps.stdout, urlsplit(crew.manager._link.url).password

    listed, password = asyncio.run(main())
    assert "tutorial_lib.classroom.processes" in listed
    assert password
    assert password not in listed


def test_a_worker_that_no_process_could_import_is_refused() -> None:
    """Such as one that is written in a cell of a notebook; the message says where to put it."""

    async def in_a_cell(manager: SpaceManager, name: str) -> None:
        raise AssertionError("never called")

    async def main() -> None:
        async with machines(in_a_cell, 1):
            raise AssertionError("never entered")

    with pytest.raises(ValueError, match="Put it into a module"):
        asyncio.run(main())


async def only_importable_here(manager: SpaceManager, name: str) -> None:
    """Stands in a module that processes cannot find."""


def test_a_process_that_does_not_start_is_told_with_its_last_words() -> None:
    """The reason stands in the message, and nobody waits for the rest of the time."""

    async def main() -> None:
        async with machines(only_importable_here, 1):
            raise AssertionError("never entered")

    with pytest.raises(RuntimeError, match=r"(?s)w1 did not start.*No module named 'test_processes'"):
        asyncio.run(main())


def test_a_master_hears_of_every_answer_however_often_it_collects() -> None:
    """A watch that begins while others write misses nothing: no bell is lost in its first moment."""

    async def main() -> None:
        async with machines(counting, 2) as crew:
            for _ in range(25):
                master = Master(crew.manager.space("tasks"), crew.manager.space("results"))
                for low in range(0, 1000, 100):
                    await master.submit(low, low + 100)
                assert (await master.collect(timeout=PATIENCE)).missing == []

    asyncio.run(main())
