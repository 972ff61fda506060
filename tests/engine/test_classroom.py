"""A class: one host, several machines in processes of their own, over a real server."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from server_help import PATIENCE, ROOT

from tutorial_lib import ANY, Event, SpaceClosed, connect
from tutorial_lib.classroom import machine as machine_module
from tutorial_lib.classroom.host import Classroom, host
from tutorial_lib.classroom.join import join
from tutorial_lib.classroom.page import BoardPage
from tutorial_lib.classroom.server import private_server
from tutorial_lib.engine import connection

COMMAND = [sys.executable, "-m", "tutorial_lib.course.cli", "class"]


def command(*words: str, in_background: bool = False, **environment: str) -> subprocess.Popen[str]:
    """Start ``tutorial class ...`` as it is started in a terminal, in a session of its own.

    ``in_background`` is as a script starts it with ``&``: it is made to ignore Ctrl-C.
    """
    for_ctrl_c = signal.SIG_IGN if in_background else signal.SIG_DFL
    return subprocess.Popen(
        [*COMMAND, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, for_ctrl_c),
    )


@contextmanager
def students(room: Classroom, *names: str) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """One process for each name, which takes part until the block ends."""
    joined: dict[str, subprocess.Popen[str]] = {}
    try:
        for name in names:
            joined[name] = command("join", "--name", name, TUTORIAL_CLASS_URL=room.join_url)
        yield joined
    finally:
        for process in joined.values():
            process.kill()
            print(*process.communicate(), sep="\n")  # shown if the test fails


@asynccontextmanager
async def a_class(*names: str) -> AsyncIterator[tuple[Classroom, dict[str, subprocess.Popen[str]]]]:
    """A class in which all of these machines have joined."""
    async with asyncio.timeout(3 * PATIENCE), host() as room:
        with students(room, *names) as processes:
            await until(lambda: names_in(room), sorted(names))
            yield room, processes


async def names_in(room: Classroom) -> list[str]:
    return [machine.name for machine in await room.machines()]


async def until(look: Callable[[], Awaitable[Any]], wanted: Any) -> None:
    """Look again and again until what is wanted is there."""
    async with asyncio.timeout(PATIENCE):
        while await look() != wanted:
            await asyncio.sleep(0.02)


def in_real_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a plain test of an async one."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


def processes_of(session: int) -> list[str]:
    """The command lines of all processes that one terminal has started and that run."""
    command = ["ps", "-eo", "sess=,args="]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if line.split()[0] == str(session) and "<defunct>" not in line]


# --- Work ------------------------------------------------------------------------------------------


@in_real_time
async def test_three_machines_share_the_work() -> None:
    """Every task is done exactly once, and everybody does some, however long one of them takes to begin."""
    names = {"anna", "bo", "chris"}
    async with a_class(*names) as (room, _):
        ids: list[int] = []
        done: list[Event] = []
        async with room.manager.space("tasks 1").watch(kinds=["complete"]) as events:
            while not ids or {event.actor for event in done} != names:
                new = await room.hand_out("nap", [(0.05,)] * 30)
                done += [await anext(aiter(events)) for _ in new]
                ids += new
            collected = await room.collect()
        assert ids == list(range(1, len(ids) + 1))
        assert collected.results == dict.fromkeys(ids, 0.05)
        assert (collected.failures, collected.missing, collected.duplicates) == ({}, [], 0)
        assert Counter(event.fields[1] for event in done) == Counter(ids)


@in_real_time
async def test_the_results_are_those_of_one_machine_alone() -> None:
    """Whoever counts them, there are 9,592 primes below 100,000."""
    async with a_class("anna", "bo") as (room, _):
        await room.hand_out("count_primes", [(low, low + 10_000) for low in range(0, 100_000, 10_000)])
        assert sum((await room.collect()).results.values()) == 9_592


@in_real_time
async def test_the_task_of_a_killed_machine_is_done_by_another() -> None:
    """It drops out, and no task is lost or done twice."""
    async with a_class("anna", "bo", "chris") as (room, processes):
        tasks = room.manager.space("tasks 1")
        async with tasks.watch(kinds=["claim", "lapse", "complete"]) as events:
            naps = [5.0, *[0.05] * 5]  # the first to be claimed is long enough for a kill in the middle of it
            ids = await room.hand_out("nap", [(seconds,) for seconds in naps])
            seen = aiter(events)
            victim = await anext(seen)
            processes[victim.actor].kill()
            collected = await room.collect()
            history: list[Event] = []
            while "complete" not in [event.kind for event in history]:
                event = await anext(seen)
                history += [event] if event.fields[1] == victim.fields[1] else []
        assert victim.fields[1] == ids[0]
        assert collected.results == dict(zip(ids, naps, strict=True))
        assert collected.duplicates == 0
        assert [event.kind for event in history] == ["lapse", "claim", "complete"]
        assert history[-1].actor != victim.actor
        await until(lambda: names_in(room), sorted({"anna", "bo", "chris"} - {victim.actor}))


@in_real_time
async def test_the_next_group_begins_at_zero() -> None:
    """The machines stay; tasks and results of the last round are gone from the server."""
    async with a_class("anna", "bo") as (room, _):
        await room.hand_out("nap", [(0.01,)] * 4)
        await room.collect()
        await room.hand_out("nap", [(10.0,)] * 8)
        collecting = asyncio.create_task(room.collect())
        await asyncio.sleep(0.2)
        await room.reset()
        (error,) = await asyncio.gather(collecting, return_exceptions=True)
        assert isinstance(error, SpaceClosed)
        assert room.round == 2
        await until(lambda: names_in(room), ["anna", "bo"])
        assert await room.hand_out("nap", [(0.01,)] * 4) == [1, 2, 3, 4]
        assert (await room.collect()).results == dict.fromkeys([1, 2, 3, 4], 0.01)
        assert await room.manager.space("class").read_all("round", ANY) == [("round", 2)]


@in_real_time
async def test_what_is_no_job_is_not_handed_out() -> None:
    """Nor is anything else of that hand-out."""
    async with host() as room:
        for job, arguments in (("eval", [("1",)]), ("nap", [(1,), (1e9,)]), ("nap", [[1]])):
            with pytest.raises(ValueError, match=r"job|nap"):
                await room.hand_out(job, arguments)  # type: ignore[arg-type]
        assert await room.manager.space("tasks 1").count() == 0


# --- Hostile students --------------------------------------------------------------------------------


@in_real_time
async def test_what_a_student_writes_never_runs_anywhere() -> None:
    """A task that is no job fails, with a reason; the next one is done."""
    async with a_class("anna") as (room, processes):
        async with connect(room.join_url) as student:
            tasks = student.space("tasks 1")
            await tasks.write("task", 101, "os.system", ("touch pwned",))
            await tasks.write("task", 102, "nap", (1e9,))
            await tasks.write("task", 103, ["nap"], {"a": 1})
            await tasks.write("task", "x" * 1000)
            await student.space("results 1").write("result", 1, "completed", ["__import__('os')"])
        await room.hand_out("nap", [(0.01,)] * 3)
        collected = await room.collect()
        assert collected.missing == []
        assert collected.duplicates == 1  # the forged answer came first, and is only a value
        assert collected.results[1] == ["__import__('os')"]
        failed = await room.manager.space("results 1").take_all("result", int, "failed", str)
        assert sorted(number for _, number, _, _ in failed) == [101, 102, 103]
        assert processes["anna"].poll() is None


@in_real_time
async def test_a_machine_that_nobody_could_be_called_is_not_shown() -> None:
    """Names with newlines or escape sequences, too long ones, and tuples of another kind."""
    async with host() as room, connect(room.join_url) as student:
        hall = student.space("class")
        for name in ("two\nlines", "\x1b[2J", "x" * 25, "", " "):
            await hall.write("machine", name, 1, "Linux")
        await hall.write("machine", ["list"], "many", None)
        await hall.write("machine", "<b>bo</b>", 1, "Linux")
        assert await names_in(room) == ["<b>bo</b>"]


# --- Coming and going --------------------------------------------------------------------------------


@in_real_time
async def test_machines_of_the_same_name_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when they join in the same moment."""
    monkeypatch.setattr(machine_module, "TIME_TO_LEAVE", PATIENCE)
    async with asyncio.timeout(3 * PATIENCE), host() as room:
        machines = [asyncio.create_task(join(room.join_url, "anna", say=lambda text: None)) for _ in range(4)]
        await until(lambda: names_in(room), ["anna", "anna 2", "anna 3", "anna 4"])
        for machine in machines:
            machine.cancel()
        await asyncio.wait(machines)
        assert await room.machines() == []


@in_real_time
async def test_a_student_who_stops_gives_the_task_back_at_once() -> None:
    """It says so, takes the heartbeat away, and no process stays behind."""
    async with a_class("anna") as (room, processes):
        async with room.manager.space("tasks 1").watch(kinds=["claim", "release"]) as events:
            await room.hand_out("nap", [(10.0,)])
            seen = aiter(events)
            assert (await anext(seen)).kind == "claim"
            anna = processes["anna"]
            os.killpg(anna.pid, signal.SIGINT)  # Ctrl-C reaches every process of the terminal
            assert (await anext(seen)).kind == "release"
        output, errors = await asyncio.to_thread(anna.communicate)
        assert output.splitlines() == ["anna has joined the class.", "anna has left the class."]
        assert (errors, anna.returncode) == ("", 0)
        assert await room.machines() == []
        assert processes_of(anna.pid) == []


@in_real_time
async def test_the_machines_hear_that_the_class_is_over() -> None:
    """In the middle of a task, too, and end."""
    async with a_class("anna", "bo") as (room, processes):
        await room.hand_out("nap", [(10.0,)])
        await room.close()
        for name, process in processes.items():
            output, errors = await asyncio.to_thread(process.communicate)
            assert output.splitlines()[-1] == "The class is over."
            assert (errors, process.returncode) == ("", 0), name


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_host_that_is_ended_leaves_nothing_behind(how: int, tmp_path: Path) -> None:
    """No process, no folder; whoever takes part is told."""
    teacher = command("host", "--no-browser", TMPDIR=str(tmp_path))
    student = None
    try:
        assert teacher.stdout is not None
        lines = iter(teacher.stdout.readline, "")
        line = next(line for line in lines if "tutorial class join" in line)
        student = command("join", "--name", "anna", line.split()[-1])
        assert student.stdout is not None
        assert student.stdout.readline() == "anna has joined the class.\n"
        assert list(tmp_path.glob("tutorial-class-*"))
        os.killpg(teacher.pid, how)
        output, errors = teacher.communicate(timeout=PATIENCE)
        assert "The class is over." in output
        assert (errors, teacher.returncode) == ("", 0)
        assert student.communicate(timeout=PATIENCE) == ("The class is over.\n", "")
        assert student.returncode == 0
        assert processes_of(teacher.pid) == []
        listing = subprocess.run(["ps", "axeww"], capture_output=True, text=True, check=True).stdout
        assert str(tmp_path) not in listing
        assert list(tmp_path.iterdir()) == []
    finally:
        for process in (teacher, student):
            if process is not None:
                process.kill()
                process.wait()


def test_a_host_in_the_background_of_a_script_can_be_told_to_end() -> None:
    """There it was made to ignore Ctrl-C, but not that."""
    teacher = command("host", "--no-browser", in_background=True)
    try:
        assert teacher.stdout is not None
        assert any("Ctrl-C ends the class." in line for line in iter(teacher.stdout.readline, ""))
        teacher.terminate()
        output, errors = teacher.communicate(timeout=PATIENCE)
        assert "The class is over." in output
        assert (errors, teacher.returncode) == ("", 0)
    finally:
        teacher.kill()
        teacher.wait()


# --- What goes wrong when joining ----------------------------------------------------------------------


def refused(*words: str, **environment: str) -> str:
    """Return the one line that a command says when it cannot be done."""
    process = command(*words, **environment)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("", 1)
    (line,) = errors.splitlines()
    return line


@in_real_time
async def test_a_wrong_password_gives_one_clear_line() -> None:
    """Which shows neither the wrong one nor the right one."""
    async with host(password="right") as room:
        line = await asyncio.to_thread(refused, "join", room.join_url.replace("right", "wrong"))
    assert line.startswith("tutorial class join: redis://127.0.0.1:")
    assert "refuses this user or password" in line
    assert "wrong" not in line


def test_where_no_class_is_one_is_told() -> None:
    """By an address at which nobody listens."""
    line = refused("join", "redis://student:secret@127.0.0.1:1/0")
    assert "No class answers at 127.0.0.1:1." in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["join"], "Give the address, or - to be asked for it, or set TUTORIAL_CLASS_URL."),
        (["join", "http://127.0.0.1"], "does not know the address"),
        (["join", "redis://127.0.0.1:1/0", "--name", "two\nlines"], "1 to 24 printable characters"),
        (["host", "--address", "0.0.0.0"], "is not an address of this machine. Choose one of: 127.0.0.1"),
    ],
)
def test_what_cannot_be_meant_gives_one_clear_line(words: list[str], text: str) -> None:
    """And the exit status 1."""
    assert text in refused(*words)


def test_a_host_with_another_edition_of_the_course_is_told() -> None:
    """Its server holds another script, and a student's account cannot bring one in."""
    with private_server() as server, redis.Redis.from_url(server.url) as admin:
        admin.script_flush()
        assert "has the host the same edition of the course?" in refused("join", server.join_url)


def test_the_address_can_be_asked_for() -> None:
    """So that the password need not stand in the list of commands."""
    process = command("join", "-")
    _, errors = process.communicate("redis://student:secret@127.0.0.1:1/0\n", timeout=PATIENCE)
    assert errors.splitlines()[-1].startswith("tutorial class join: No class answers at 127.0.0.1:1.")
    assert "secret" not in errors


def test_a_class_whose_server_is_gone_ends_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody stands before a board on which nothing will happen any more."""

    async def lose_the_server() -> None:
        async with host() as room, BoardPage(room) as page:
            monkeypatch.setattr(connection, "PATIENCE", 1.0)
            redis.Redis.from_url(room.manager._link.url).shutdown(nosave=True)
            async with asyncio.timeout(PATIENCE):
                await room.over.wait()
            assert page.is_over

    with pytest.raises(ConnectionError, match="did not answer within 1 s"):
        asyncio.run(lose_the_server())


def test_without_a_server_the_host_tells_how_to_get_one() -> None:
    """In one line."""
    assert "No redis-server or valkey-server is installed." in refused("host", "--no-browser", PATH="")
