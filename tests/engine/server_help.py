"""A server for the tests: on a free loopback port, in a folder of its own, ended with the tests."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Coroutine
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.loop_help import MovableLoop
from tutorial_lib import Claim, SpaceManager, TupleSpace, connect
from tutorial_lib.engine import connection

REPEATS = int(os.environ.get("TUTORIAL_REPEATS", "1"))
ROOT = Path(__file__).resolve().parents[2]
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")  # what was acknowledged survives a kill
PATIENCE = 120.0  # seconds after which a test that hangs fails; no busy machine needs as many
LONG = 60.0  # seconds of a lease or a ttl that does not end by itself while a test runs
ATTEMPTS = 3  # free ports that are tried
CLOCK_KEY = "clock"  # on the server: microseconds by which a `movable_clock` is ahead


class Server:
    """One Redis or Valkey server. ``options`` are lines of its configuration, as arguments."""

    def __init__(self, *options: str) -> None:
        program = shutil.which("valkey-server") or shutil.which("redis-server")
        assert program, "These tests need redis-server or valkey-server: sudo apt install redis-server."
        self.folder = Path(tempfile.mkdtemp())
        self.settings = [program, "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        self.settings += ["--loglevel", "warning", *options]
        self.process: subprocess.Popen[bytes] | None = None
        self.choose_port()

    def choose_port(self) -> None:
        """Choose a port that is free now."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [*self.settings, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        with self.admin() as admin:
            while self.process.poll() is None:
                try:
                    admin.ping()
                    return
                except redis.AuthenticationError:
                    return
                except redis.ConnectionError:  # not yet, or it still reads its file
                    time.sleep(0.01)
        raise AssertionError(f"the server did not start: exit status {self.process.returncode}")

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End the process with a signal, and wait until it is gone."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait()

    def admin(self) -> redis.Redis:
        """Return a plain client, for what an administrator does."""
        return redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0))

    def __enter__(self) -> Server:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.start()
                break
            except AssertionError:  # a free port may be taken before the server has it
                if attempt == ATTEMPTS:
                    raise
                self.choose_port()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder)


def python(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program of its own, which can be killed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    return subprocess.Popen(command, env=environment, text=True, stdout=-1, stderr=-1)


async def restart(server: Server, how: int = signal.SIGTERM) -> None:
    """End the server with a signal and start it again."""
    await asyncio.to_thread(server.stop, how)
    await asyncio.to_thread(server.start)


def promised(test: Callable[[SpaceManager], Coroutine[Any, Any, None]]) -> Callable[[str], None]:
    """Make a plain test of an async one, with a manager of the spaces at the address ``url``."""

    @functools.wraps(test)
    def run(url: str) -> None:
        with asyncio.Runner(loop_factory=MovableLoop) as runner:
            runner.run(with_manager(test, url))

    del run.__wrapped__  # type: ignore[attr-defined]  # pytest would ask for a fixture "manager"
    return run


def run_script(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Let the server run the engine's script with ``new`` in place of ``old``."""
    script = connection.SCRIPT.replace(old, new)
    assert script != connection.SCRIPT
    monkeypatch.setattr(connection, "SCRIPT", script)
    monkeypatch.setattr(connection, "SCRIPT_HASH", sha1(script.encode()).hexdigest())


async def pass_time(manager: SpaceManager, seconds: float) -> None:
    """Put the clock forward by which a ttl and a lease are measured. Needs the fixture `movable_clock`.

    So a test needs no ttl that is long enough for a few calls and short enough to be waited for.
    """
    link = getattr(manager, "_link", None)
    if link is not None:
        assert CLOCK_KEY in connection.SCRIPT, "the test lacks the fixture movable_clock"
        with redis.Redis.from_url(link.url) as admin:
            admin.incrby(CLOCK_KEY, int(seconds * 1_000_000))
    else:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovableLoop)
        loop.ahead += seconds


async def with_manager(test: Callable[[SpaceManager], Coroutine[Any, Any, None]], url: str) -> None:
    async with asyncio.timeout(PATIENCE), connect(url) as manager:
        await test(manager)


async def started(
    space: TupleSpace, operation: Coroutine[Any, Any, Any], name: str | None = None
) -> asyncio.Task[Any]:
    """Start an operation that has to wait, and return its task when the space knows that it waits."""
    before = len(await space.waiters())
    task = asyncio.create_task(operation, name=name)
    while len(await space.waiters()) == before and not task.done():
        await asyncio.sleep(0.005)
    return task


async def ended(task: asyncio.Task[Any]) -> Any:
    """Return what a task returned, or the error it ended with (as a value, not raised)."""
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    return outcome


async def claimed(space: TupleSpace, *pattern: Any, lease: float = LONG) -> Claim:
    """Return a claim that is held outside any block, as by a worker that never comes back."""
    return await space.claim(*pattern, lease=lease).__aenter__()
