"""Child: a process of its own for the jobs of one machine.

So the machine can beat while its processor computes, end what takes too long, and live on when the process
dies. They talk in lines of JSON: a name and arguments there, a result back. The process ends by itself when
the machine is gone, since nobody writes to it any more.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import Any, Final, Self

from tutorial_lib.classroom.jobs import checked_job, run_here

__all__ = ["Child"]

TIME_LIMIT: Final = 30.0  # seconds


class Child:
    """Runs jobs in a process of its own, one at a time: ``with Child() as child: await child.run(...)``.

    A job may take ``limit`` seconds.

    >>> async def main():
    ...     with Child() as child:
    ...         return await child.run("count_primes", (0, 100))
    >>> asyncio.run(main())
    25
    """

    def __init__(self, limit: float = TIME_LIMIT) -> None:
        self._limit = limit
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    async def run(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Run a job and return its result.

        Raises `ValueError` for what is no job or not allowed, `TimeoutError` if it takes too long, and
        `RuntimeError` if the process died of it. The next job gets a new process then.
        """
        checked_job(name, arguments)
        process = self._process = self._process or _started()
        question = json.dumps([name, arguments])
        try:
            async with asyncio.timeout(self._limit):
                answer = await asyncio.to_thread(_asked, process, question)
        except TimeoutError:
            self._end()
            raise TimeoutError(f"{name} took longer than {self._limit:g} s, and was stopped.") from None
        except BaseException:  # cancelled: the thread waits until the process has ended
            self._end()
            raise
        if not answer:
            self._end()
            raise RuntimeError(f"The process died while it was doing {name}.")
        return json.loads(answer)

    def _end(self) -> None:
        """End the process at once, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )


def _asked(process: subprocess.Popen[str], question: str) -> str:
    """Return the line that answers a question; an empty one if the process is dead."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(question + "\n")
        process.stdin.flush()
        return process.stdout.readline()
    except OSError:
        return ""


def main() -> None:
    """Answer the questions that come, until none can come any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the machine, which ends this process
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(asyncio.run(run_here(name, tuple(arguments)))), flush=True)


if __name__ == "__main__":
    main()
