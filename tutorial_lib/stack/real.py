"""Real: the whole stack in processes of its own, on the loopback of this machine.

redis-server carries the queue and the results, each worker is a process, and Prometheus fetches the numbers.
All ports are free ones, so that nothing that runs already is in the way. When the block of `run_real_stack`
ends, for whatever reason, every process has ended.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from redis import Redis, RedisError

from tutorial_lib.service_process import ServiceProcess
from tutorial_lib.stack.deploy import prometheus_config
from tutorial_lib.stack.embedded import Front
from tutorial_lib.stack.settings import Settings

__all__ = ["MissingBinary", "RealStack", "run_real_stack", "up"]

_PACKAGE: Final = "tutorial_lib.stack"


class MissingBinary(RuntimeError):
    """A server is not installed. Says how to install it."""


class RealStack(Front):
    """A stack of processes. Made by `run_real_stack`.

    ``services`` are the processes by name: ``redis``, ``compute``, ``w1`` and so on, ``web``, and
    ``prometheus`` where it is installed. Each can be stopped, killed and started again.
    """

    def __init__(self, folder: Path, workers: int, settings: Settings, delay: float) -> None:
        self._folder = folder
        self._ports = _free_ports("redis", "compute", "web", "prometheus")
        super().__init__(f"http://127.0.0.1:{self._ports['web']}")
        redis = f"redis://127.0.0.1:{self._ports['redis']}/0"
        self.settings = replace(
            settings,
            broker=redis,
            results=redis,
            compute=f"127.0.0.1:{self._ports['compute']}",
            log_file=str(folder / "log.jsonl"),
        )
        self._numbers = folder / "numbers"  # where the processes share what they count
        self._numbers.mkdir()
        self._delay = delay
        services = [self._redis(), self._compute()]
        services += [self._worker(f"w{number}") for number in range(1, workers + 1)]
        services.append(self._web())
        if shutil.which("prometheus"):
            services.append(self._prometheus())
        self.services = {service.name: service for service in services}

    def logs(self, request_id: str | None = None) -> list[dict[str, Any]]:
        """Return the log lines so far: all, or those of one request."""
        path = Path(self.settings.log_file)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # the last line may be half written
        lines = [json.loads(line) for line in whole.splitlines()]
        return [line for line in lines if request_id in (None, line.get("request_id"))]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return what Prometheus answers to ``expression``: one entry for each series."""
        url = f"{self.address('prometheus')}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(url) as answer:
            return list(json.load(answer)["data"]["result"])

    def address(self, name: str) -> str:
        """Return the URL of ``web`` or ``prometheus``."""
        return f"http://127.0.0.1:{self._ports[name]}"

    def _service(
        self, name: str, command: Sequence[str], is_ready: Callable[[], bool], **environment: str
    ) -> ServiceProcess:
        return ServiceProcess(name, command, is_ready, self._folder / f"{name}.txt", environment)

    def _redis(self) -> ServiceProcess:
        port = self._ports["redis"]
        client = Redis(port=port, socket_timeout=1.0)

        def is_ready() -> bool:
            with contextlib.suppress(RedisError):
                return bool(client.ping())
            return False

        # Each write goes to the disk at once: what was accepted is still there when Redis comes back.
        options = f"--port {port} --bind 127.0.0.1 --appendonly yes --appendfsync always --save"
        command = [_binary("redis-server"), *options.split(), "", "--dir", str(self._folder)]
        return self._service("redis", command, is_ready)

    def _compute(self) -> ServiceProcess:
        command = [sys.executable, "-m", f"{_PACKAGE}.compute", str(self._delay)]
        port, environment = self._ports["compute"], self.settings.to_environment()
        return self._service("compute", command, lambda: _greets(port), **environment)

    def _worker(self, name: str) -> ServiceProcess:
        started_before = 0

        def is_ready() -> bool:
            nonlocal started_before
            lines = [line for line in self.logs() if line["event"] == "worker is ready"]
            starts: int = sum(line["worker"] == name for line in lines)
            is_new: bool = starts > started_before
            started_before = starts
            return is_new

        options = (
            f"worker --pool solo --loglevel ERROR --hostname {name}@%h --without-gossip --without-mingle"
        )
        command = [sys.executable, "-m", "celery", "-A", f"{_PACKAGE}.worker:app", *options.split()]
        environment = replace(self.settings, worker=name).to_environment()
        return self._service(name, command, is_ready, **environment, **self._shared_numbers())

    def _web(self) -> ServiceProcess:
        command = [sys.executable, "-m", f"{_PACKAGE}.web", str(self._ports["web"])]
        environment = self.settings.to_environment() | self._shared_numbers()
        return self._service("web", command, lambda: _answers(self.url + "/health"), **environment)

    def _prometheus(self) -> ServiceProcess:
        config = self._folder / "prometheus.yml"
        config.write_text(prometheus_config(f"127.0.0.1:{self._ports['web']}"), encoding="utf-8")
        command = [
            _binary("prometheus"),
            f"--config.file={config}",
            f"--storage.tsdb.path={self._folder / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{self._ports['prometheus']}",
            "--log.level=error",
        ]
        return self._service("prometheus", command, lambda: _answers(self.address("prometheus") + "/-/ready"))

    def _shared_numbers(self) -> dict[str, str]:
        return {"PROMETHEUS_MULTIPROC_DIR": str(self._numbers)}


@contextmanager
def run_real_stack(
    workers: int = 2, *, delay: float = 0.0, say: Callable[[str], object] = lambda text: None, **settings: Any
) -> Iterator[RealStack]:
    """Run the stack in processes of its own while the block lasts.

    ``workers`` is the number of worker processes, ``delay`` how long a calculation takes, in seconds. ``say``
    is called with a line of text for each service that has started. ``settings`` are fields of `Settings`.

    Raises `MissingBinary` if redis-server is not installed, and `RuntimeError` if a service does not start.
    """
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="tutorial-stack-")))
        stack = RealStack(folder, workers, Settings(**settings), delay)
        for service in stack.services.values():
            cleanup.callback(service.stop)  # before the start, so that no moment is left unguarded
            service.start()
            say(f"{service.name} is up")
        yield stack


def _binary(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise MissingBinary(
            f"{name} is not installed. On Debian or Ubuntu: sudo apt install {name}. On a Mac: brew install "
            f"{name.removesuffix('-server')}. Without it, lesson 08 still runs inside the notebook."
        )
    return path


def _free_ports(*names: str) -> dict[str, int]:
    """Return a free port for each name. All are held until the last is found, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        return {name: bound.getsockname()[1] for name, bound in zip(names, sockets, strict=True)}


def _greets(port: int) -> bool:
    """Tell whether a gRPC server is at work at ``port``: it speaks first.

    Asked without gRPC's own client, which hangs when Ctrl-C comes while it opens or closes a channel.
    """
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.5) as connection:
            return bool(connection.recv(1))
    except OSError:
        return False


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1.0):
            return True
    except OSError:
        return False


def up(workers: int = 2) -> int:
    """Run the stack until Ctrl-C, and print where everything is: the command ``tutorial stack up``.

    Returns the exit status: 0 after Ctrl-C, 1 if the stack could not be started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to end is as good as Ctrl-C
    try:
        with run_real_stack(workers, say=partial(print, flush=True)) as stack:
            print(f"\nTry {stack.url}/compute/5, and then {stack.url}/result/ with the task id.")
            print(f"The numbers: {stack.url}/metrics")
            if "prometheus" in stack.services:
                print(f"Prometheus: {stack.address('prometheus')}")
            else:
                print("Prometheus is not installed, so nobody collects them.")
            print("Ctrl-C stops everything.", flush=True)
            _wait_for_ever(stack)
    except KeyboardInterrupt:
        print("Everything has stopped.")
        return 0
    except RuntimeError as error:
        print(f"tutorial stack: {error}", file=sys.stderr)
    return 1


def _wait_for_ever(stack: RealStack) -> NoReturn:
    """Wait for Ctrl-C. A service that has died is started again."""
    while True:
        time.sleep(1)
        for service in stack.services.values():
            if not service.is_running:
                print(f"{service.name} has died and is started again", flush=True)
                service.start()
