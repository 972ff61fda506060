"""ServiceProcess: a server that runs as a process of its own, for as long as its owner wants it.

If its owner dies without a word, as when a kernel is killed, the service ends too: a guard beside it, one
more small process, reads from a pipe that only the owner holds, and ends the service when the pipe ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["ServiceProcess"]

_START_WITHIN: Final = 60.0  # seconds; whatever ends before that is told at once
_STOP_WITHIN: Final = 10.0  # seconds, after which a process is killed
_GUARD: Final = "import os, sys; sys.stdin.read(); os.kill(int(sys.argv[1]), 15)"


class ServiceProcess:
    """One service: ``command``, which answers when ``is_ready`` returns True.

    What it writes to its standard output and error is kept in ``output``. ``told`` is what it reads from its
    standard input, for what must not stand in the list of processes, such as a password.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        is_ready: Callable[[], bool],
        output: Path,
        environment: dict[str, str] | None = None,
        told: str = "",
    ) -> None:
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self._command = command
        self._is_ready = is_ready
        self._output = output
        self._environment = os.environ | (environment or {})
        self._told = told
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process has been started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start the process and wait until it answers. Raises `RuntimeError`, with its last words, if not."""
        self._dismiss_guard()  # of a process that ended by itself
        with self._output.open("ab") as output, _signals_put_off():
            # In a session of its own, Ctrl-C reaches only us, and we stop the services in good order.
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=self._environment,
                start_new_session=True,
            )
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _GUARD, str(self.process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        with self.process.stdin as its_input:
            its_input.write(self._told.encode("utf-8"))
        deadline = time.monotonic() + _START_WITHIN
        while not self._is_ready():
            if not self.is_running or time.monotonic() > deadline:
                words = self._output.read_text(encoding="utf-8", errors="replace")[-500:]
                raise RuntimeError(f"{self.name} did not start. Its last words: {words or 'none'}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Ask the process to end, and kill it if it does not. Nothing happens if it does not run."""
        if self.process is None:
            return
        self._dismiss_guard()
        self.process.terminate()
        try:
            self.process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the process at once, in the middle of whatever it does: SIGKILL."""
        if self.process is not None:
            self._dismiss_guard()
            self.process.kill()
            self.process.wait()

    def _dismiss_guard(self) -> None:
        """End the guard before the service, whose number might soon be that of another process."""
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None


@contextmanager
def _signals_put_off() -> Iterator[None]:
    """Let Ctrl-C wait until the block has ended: a process that is started but not yet noted would stay."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach only the main thread
        return
    caught: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: caught.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in caught:
            signal.raise_signal(late)
