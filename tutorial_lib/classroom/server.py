"""Server: a Redis or Valkey server of the teacher's own, with one password for the host, one for the class.

The host may do everything. A student may call the operations of a space and nothing else: the script that
does them is put in by the host, and the student's account has no right to bring in another one, to change
settings, to look at other clients, or to stop the server. So nothing that a student sends is ever executed
on the host. Whoever has the password of the class can still spoil it: take tasks and answer nonsense, or
write nonsense where the tuples are kept. The next class has another password.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tutorial_lib.engine.connection import HOW_TO_GET_A_SERVER, SCRIPT
from tutorial_lib.service_process import ServiceProcess

__all__ = ["NoServer", "PrivateServer", "find_server", "own_addresses", "private_server"]

LOOPBACK: Final = "127.0.0.1"
ATTEMPTS: Final = 3  # free ports that are tried

CALLED_BY_THE_SCRIPT: Final = {name.lower() for name in re.findall(r"redis\.call\('([A-Z]+)'", SCRIPT)}
"""A script runs with the rights of whoever calls it, so students have these commands as well."""

ALLOWED: Final = " ".join(
    f"+{command}"
    for command in (
        *("auth", "hello", "ping", "evalsha", "blpop"),
        *sorted(CALLED_BY_THE_SCRIPT),
    )
)
"""What the account of the students may do."""


class NoServer(RuntimeError):
    """No server is installed. Says how to get one."""


def find_server() -> str | None:
    """Return the path of redis-server or valkey-server, or None if neither is installed.

    The environment variable ``TUTORIAL_SERVER`` names another program to use; empty, it means no server.
    """
    chosen = os.environ.get("TUTORIAL_SERVER")
    if chosen is not None:
        return shutil.which(chosen)
    return shutil.which("redis-server") or shutil.which("valkey-server")


@contextmanager
def private_server(
    address: str = LOOPBACK, port: int = 0, password: str | None = None, durable: bool = False
) -> Iterator[PrivateServer]:
    """Run a server of one's own while the block lasts. Its data are gone afterwards.

    ``address`` is the IPv4 address of this machine at which students reach it, by default only from this
    machine itself. ``port`` 0 means a free one. ``password`` is that of the students, by default a new one.
    A ``durable`` server writes everything to its folder at once, and knows it again after `kill` and `start`.

    Raises `NoServer` if none is installed, `ValueError` for an address that is not one of this machine, and
    `RuntimeError`, with the server's own words, if it does not start.
    """
    program = find_server()
    if program is None:
        raise NoServer(f"No redis-server or valkey-server is installed. {HOW_TO_GET_A_SERVER}")
    _check_address(address)
    with tempfile.TemporaryDirectory(prefix="tutorial-class-") as name, ExitStack() as ending:
        folder = Path(name)
        for others in reversed(range(1 if port else ATTEMPTS)):
            server = PrivateServer(program, folder, address, port or _free_port(), password, durable)
            ending.callback(server.stop)  # before the start, so that no moment is left unguarded
            try:
                server.start()
                break
            except RuntimeError as error:  # a free port may be taken before the server has it
                if not others or "in use" not in str(error):
                    raise
        yield server


class PrivateServer:
    """A server that belongs to this program. Made by `private_server`.

    ``url`` is the address for the host itself, ``join_url`` the one for students; each holds its password.
    """

    def __init__(
        self, program: str, folder: Path, address: str, port: int, password: str | None, durable: bool
    ) -> None:
        own, theirs = secrets.token_urlsafe(16), password or secrets.token_urlsafe(9)
        self.url = f"redis://host:{own}@{LOOPBACK}:{port}/0"
        self.join_url = f"redis://student:{quote(theirs, safe='')}@{address}:{port}/0"
        self._port = port
        self._password = own
        self._service = ServiceProcess(
            "the server",
            [program, "-"],
            self._is_ready,
            folder / "output.txt",
            told=_configuration(folder, address, port, own, theirs, durable),
        )

    def __repr__(self) -> str:
        return f"<PrivateServer on port {self._port}{'' if self._service.is_running else ', not running'}>"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that runs, or that ran last."""
        assert self._service.process is not None
        return self._service.process

    def start(self) -> None:
        """Start it, also again after `stop` or `kill`, on the same port and in the same folder."""
        self._service.start()

    def stop(self) -> None:
        """End it in good order. Nothing happens if it does not run."""
        self._service.stop()

    def kill(self) -> None:
        """End it at once, as a power cut would: SIGKILL."""
        self._service.kill()

    def _is_ready(self) -> bool:
        """Tell whether it answers. It is then given the script, which students call but cannot bring in."""
        import redis  # here, so that the engine can say what to install

        at_once = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        with redis.Redis(port=self._port, username="host", password=self._password, retry=at_once) as client:
            try:
                client.script_load(SCRIPT)
            except redis.RedisError:
                return False
            return True


def _configuration(folder: Path, address: str, port: int, own: str, theirs: str, durable: bool) -> str:
    """Return what the server reads when it starts. It gets only the digests of the passwords."""
    settings: dict[str, Any] = {
        "bind": " ".join(dict.fromkeys([LOOPBACK, address])),
        "port": port,
        "dir": f'"{folder.as_posix()}"',
        "loglevel": "warning",
        "save": '""',
        "appendonly": "yes" if durable else "no",
        "appendfsync": "always",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
        "maxclients": 500,  # two for each machine
        "proto-max-bulk-len": "4mb",  # the largest thing that anybody may send
        "client-query-buffer-limit": "8mb",
        "client-output-buffer-limit": "normal 64mb 32mb 10",
    }
    users = [
        # Nobody can be the default user. But in its name the server reads its own file when it starts again.
        "user default off resetpass ~* &* +@all",
        f"user host on #{sha256(own.encode()).hexdigest()} ~* &* +@all",
        f"user student on #{sha256(theirs.encode()).hexdigest()} ~tuplespace:* resetchannels -@all {ALLOWED}",
    ]
    return "\n".join([*(f"{name} {value}" for name, value in settings.items()), *users, ""])


def own_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine at which others may reach it, the likeliest first."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation; nothing is sent
            found.append(probe.getsockname()[0])
        except OSError:
            pass  # this machine has no network
    try:
        entries = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        entries = []  # its own name is not known
    found += [str(entry[4][0]) for entry in entries]
    return [address for address in dict.fromkeys(found) if not address.startswith("127.")]


def _check_address(address: str) -> None:
    """Raise `ValueError` unless this is one IPv4 address of this machine."""
    try:
        one_address = ipaddress.IPv4Address(address)
        with socket.socket() as probe:
            probe.bind((str(one_address), 0))
    except (ValueError, OSError):
        one_address = None
    if one_address is None or one_address.is_unspecified:
        choices = ", ".join([LOOPBACK, *own_addresses()])
        raise ValueError(f"{address!r} is not an address of this machine. Choose one of: {choices}.")


def _free_port() -> int:
    """Return a port that is free at every address of this machine."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
