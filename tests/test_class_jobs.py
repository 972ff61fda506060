"""The jobs of a class: what may run on a student's machine, and in what process."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any

import pytest

from tutorial_lib.classroom import child as child_module
from tutorial_lib.classroom.child import Child
from tutorial_lib.classroom.jobs import JOBS, count_primes, mandelbrot_row, run_here

REFUSED: list[tuple[Any, Any]] = [
    ("os.system", ("ls",)),
    ("__import__", ("os",)),
    (["nap"], (1,)),
    (None, ()),
    ("nap", (11,)),
    ("nap", (-1,)),
    ("nap", (float("nan"),)),
    ("nap", (True,)),
    ("nap", ()),
    ("nap", [1]),
    ("nap", 1),
    ("count_primes", (0, 500_001)),
    ("count_primes", (9_999_999, 10_000_001)),
    ("count_primes", (-1, 5)),
    ("count_primes", (0.0, 5)),
    ("count_primes", ("0", "5")),
    ("count_primes", (0, 5, 5)),
    ("mandelbrot_row", (0, 401, 10)),
    ("mandelbrot_row", (10, 10, 10)),
    ("mandelbrot_row", (0, 10, 10**9)),
    ("mandelbrot_row", (0, "10", 10)),
]


@pytest.mark.parametrize(("name", "arguments"), REFUSED)
def test_what_is_no_job_or_not_allowed_is_refused(name: Any, arguments: Any) -> None:
    """By whoever runs jobs, before anything is run."""
    with pytest.raises(ValueError, match=r"[Tt]he jobs are|needs a tuple of|is a (whole )?number|at most"):
        asyncio.run(run_here(name, arguments))
    with Child() as child:
        with pytest.raises(ValueError, match=r"job|nap|count_primes|mandelbrot_row"):
            asyncio.run(child.run(name, arguments))
        assert child._process is None


@pytest.mark.parametrize("name", JOBS)
def test_every_job_has_a_ready_made_hand_out(name: str) -> None:
    """Whose arguments are allowed."""
    assert len(JOBS[name].samples) >= 10
    for arguments in JOBS[name].samples:
        JOBS[name].check(arguments)


def test_primes_are_counted() -> None:
    """There are 78,498 below a million; a range holds its lower end and not its upper one."""
    assert sum(count_primes(low, low + 100_000) for low in range(0, 1_000_000, 100_000)) == 78_498
    assert count_primes(2, 3) == 1
    assert count_primes(0, 2) == count_primes(9, 3) == 0


def test_a_picture_is_made_line_by_line() -> None:
    """All lines are of the same length, and the two halves are mirror images."""
    picture = [mandelbrot_row(row, 20, 40) for row in range(20)]
    assert {len(line) for line in picture} == {40}
    assert picture == picture[::-1]
    assert any("#" in line for line in picture)


def test_a_child_runs_jobs_in_another_process() -> None:
    """One after the other, in the same one."""

    async def main() -> None:
        with Child() as child:
            assert await child.run("count_primes", (0, 100)) == 25
            process = child._process
            assert await child.run("nap", (0.01,)) == 0.01
            assert await child.run("mandelbrot_row", (1, 5, 24)) == mandelbrot_row(1, 5, 24)
            assert child._process is process
            assert process is not None
            assert process.pid != os.getpid()

    asyncio.run(main())


def test_what_takes_too_long_is_stopped() -> None:
    """The job fails, and the next one gets a new process."""

    async def main() -> None:
        with Child(limit=0.5) as child:
            with pytest.raises(TimeoutError, match=r"nap took longer than 0\.5 s"):
                await child.run("nap", (10,))
            child._limit = 120
            assert await child.run("count_primes", (0, 10)) == 4

    asyncio.run(main())


def test_a_child_that_dies_costs_one_job() -> None:
    """The machine is told, and the next job gets a new process."""

    async def main() -> None:
        with Child() as child:
            await child.run("nap", (0,))
            assert child._process is not None
            victim = child._process
            threading.Timer(0.2, victim.send_signal, [signal.SIGKILL]).start()
            with pytest.raises(RuntimeError, match="died while it was doing nap"):
                await child.run("nap", (10,))
            assert await child.run("count_primes", (0, 10)) == 4

    asyncio.run(main())


def test_a_child_ends_with_its_owner() -> None:
    """Also when the job was cancelled: no process stays behind."""

    async def main() -> int:
        with Child() as child:
            job = asyncio.create_task(child.run("nap", (10,)))
            await asyncio.sleep(0.2)
            process = child._process
            job.cancel()
            await asyncio.wait([job])
        assert process is not None
        assert process.returncode == -signal.SIGKILL  # and did not end when its nap was over
        return process.pid

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(main()), 0)


def test_a_child_ends_when_nobody_is_there_to_ask() -> None:
    """As when its machine was killed: its standard input ends, and so does it."""
    process = child_module._started()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(120) == 0
    assert process.stdout is not None
    process.stdout.close()
