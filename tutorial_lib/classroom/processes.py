"""Processes: machines on this one computer, which a lesson can kill.

`machines` is to processes what `Crew` is to tasks. Where a server is installed, each machine is a process of
its own, and they share the spaces of a private server. Without a server, and under `simulate`, each machine
is a task and the spaces are in memory. The worker is the same, unchanged.

A process gets the address of the server, which holds a password, on its standard input, where no list of
processes shows it. That input stays open. When it ends, whoever started the process is gone, and so the
process ends as well.

>>> from tutorial_lib.classroom.drills import by_claim
>>> from tutorial_lib.simulation import simulate
>>> async def main():
...     async with machines(by_claim, 2) as crew:
...         await crew.manager.space("tasks").write("task", 7)
...         return await crew.manager.space("results").take("result", 7, str, int)
>>> simulate(main).result
('result', 7, 'w1', 1)
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Final

from tutorial_lib.crew import Crew
from tutorial_lib.manager import SpaceManager, connect
from tutorial_lib.simulation import Control
from tutorial_lib.trace import actor
from tutorial_lib.virtual_loop import VirtualLoop

__all__ = ["Machines", "ProcessMachines", "TaskMachines", "Worker", "has_server", "machines"]

Worker = Callable[[SpaceManager, str], Awaitable[object]]

START_WITHIN: Final = 60.0  # seconds; whatever ends before that is told at once
LOOK_EVERY: Final = 0.02  # seconds from one look whether a process has started to the next
ARRIVALS: Final = "arrivals"  # the space in which a process says that it has started


def has_server() -> bool:
    """Tell whether machines can be processes here: a server and its two Python packages are installed."""
    try:
        from tutorial_lib.classroom.server import find_server  # here, since it needs these packages
    except ModuleNotFoundError:
        return False
    return find_server() is not None


@asynccontextmanager
async def machines(worker: Worker, size: int) -> AsyncIterator[Machines]:
    """Run ``worker(manager, name)`` on ``size`` machines, ``w1``, ``w2`` and so on, while the block lasts.

    They are processes if `has_server`, and tasks if not, and under `simulate`. A process imports the worker
    by its name, so this must be a function of a module, not of a notebook's cell. Raises `ValueError` if it
    is not, and `RuntimeError` if a process does not start.
    """
    names = [f"w{number}" for number in range(1, size + 1)]
    crew: Machines
    if isinstance(asyncio.get_running_loop(), VirtualLoop) or not has_server():
        async with connect() as manager, Crew(partial(worker, manager), 0) as tasks:
            crew = TaskMachines(manager, tasks)
            for name in names:
                await crew.hire(name)
            yield crew
        return
    from tutorial_lib.classroom.server import private_server

    with private_server() as server:
        async with connect(server.url) as manager:
            with ExitStack() as ending:  # ended before the connection, so that no worker misses it
                crew = ProcessMachines(manager, server.url, worker, ending)
                for name in names:
                    await crew.hire(name)
                yield crew


class Machines:
    """Machines at work, and the ``manager`` of the spaces that they share. Made by `machines`."""

    def __init__(self, manager: SpaceManager) -> None:
        self.manager = manager

    async def hire(self, name: str) -> None:
        """Start one more machine, and return when it is at work."""
        raise NotImplementedError

    def kill(self, name: str) -> None:
        """End a machine in the middle of whatever it does: no ``finally`` of it tidies up (SIGKILL)."""
        raise NotImplementedError

    def freeze(self, name: str, seconds: float) -> None:
        """Let a machine do nothing for ``seconds``, like a laptop whose lid is closed (SIGSTOP, SIGCONT)."""
        raise NotImplementedError


class TaskMachines(Machines):
    """Each machine is a task of this process. To be killed or frozen they need virtual time."""

    def __init__(self, manager: SpaceManager, crew: Crew) -> None:
        super().__init__(manager)
        self._crew = crew

    async def hire(self, name: str) -> None:
        """Put one more task to work."""
        self._crew.hire(name)

    def kill(self, name: str) -> None:
        """Crash the task, under `simulate`; else `RuntimeError`."""
        self._control().crash(name)

    def freeze(self, name: str, seconds: float) -> None:
        """Hang the task, under `simulate`; else `RuntimeError`."""
        self._control().hang(name, seconds)

    def _control(self) -> Control:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise RuntimeError(
                "Only a process can be killed or frozen in real time, and no server is installed that "
                "processes could share. Run this by simulate."
            )
        return Control(loop)


class ProcessMachines(Machines):
    """Each machine is a process, kept in ``processes``. ``ending`` kills them all when it is closed."""

    def __init__(self, manager: SpaceManager, url: str, worker: Worker, ending: ExitStack) -> None:
        super().__init__(manager)
        self._url = url
        self._worker = _place_of(worker)
        self._ending = ending
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    async def hire(self, name: str) -> None:
        """Start one more process. Raises `RuntimeError`, with its last words, if it does not start."""
        # In a session of its own, Ctrl-C and Stop reach only us, and we end it.
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._worker, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._ending.callback(_end, process)
        assert process.stdin is not None
        process.stdin.write(f"{self._url}\n".encode())
        process.stdin.flush()
        self.processes[name] = process
        await self._arrival(name, process)

    async def _arrival(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Wait until a process says that it has started. Raises `RuntimeError` if it does not."""
        arrivals = self.manager.space(ARRIVALS)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_WITHIN
        while not await arrivals.try_take("started", name):
            if process.poll() is not None or loop.time() > deadline:
                words = _end(process)[-500:].decode("utf-8", "replace")
                raise RuntimeError(f"{name} did not start. Its last words: {words or 'none'}")
            await asyncio.sleep(LOOK_EVERY)

    def kill(self, name: str) -> None:
        """Send SIGKILL to the process."""
        _end(self.processes[name])

    def freeze(self, name: str, seconds: float) -> None:
        """Send SIGSTOP to the process, and SIGCONT after ``seconds``."""
        process = self.processes[name]
        process.send_signal(signal.SIGSTOP)
        asyncio.get_running_loop().call_later(seconds, process.send_signal, signal.SIGCONT)


def _end(process: subprocess.Popen[bytes]) -> bytes:
    """End a process, frozen or not, and return what it wrote to its standard error."""
    process.kill()
    return process.communicate()[1]


# ---------------------------------------------------------------------------------------------------
# Inside the process


def _place_of(worker: Worker) -> str:
    """Return the name by which another process imports a worker, such as ``package.module:function``."""
    module, name = getattr(worker, "__module__", ""), getattr(worker, "__qualname__", "")
    if getattr(sys.modules.get(module), name, None) is not worker or module == "__main__":
        raise ValueError(
            f"{worker!r} cannot be run by another process: it is not a function of a module that the "
            "process could import. Put it into a module."
        )
    return f"{module}:{name}"


def _run(place: str, name: str) -> None:
    """Be one machine, until standard input ends."""
    url = sys.stdin.readline().strip()
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    module, _, function = place.partition(":")
    asyncio.run(_work(url, getattr(import_module(module), function), name))


def _end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


async def _work(url: str, worker: Worker, name: str) -> None:
    with actor(name):
        async with connect(url) as manager:
            await manager.space(ARRIVALS).write("started", name)
            await worker(manager, name)


if __name__ == "__main__":
    _run(*sys.argv[1:])
