"""The server of a class: what a student can do there, and what not."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from server_help import LONG, PATIENCE, python

from tutorial_lib import ANY, StaleClaim, connect, where
from tutorial_lib.classroom import server as server_module
from tutorial_lib.classroom.server import NoServer, PrivateServer, find_server, private_server
from tutorial_lib.engine.connection import SCRIPT, Connection

FORBIDDEN = [
    *("EVAL return(1) 0", "EVAL_RO return(1) 0", "SCRIPT LOAD return(1)", "SCRIPT FLUSH", "SCRIPT KILL"),
    *("FUNCTION LOAD x", "FUNCTION LIST", "FCALL f 0", "MODULE LIST", "MODULE LOAD x.so"),
    *("CONFIG GET *", "CONFIG SET dir /tmp", "CONFIG REWRITE", "DEBUG SLEEP 0", "SHUTDOWN NOSAVE"),
    *(
        "FLUSHALL",
        "FLUSHDB",
        "SWAPDB 0 1",
        "SELECT 1",
        "MOVE tuplespace:x 1",
        "COPY tuplespace:x tuplespace:y",
    ),
    *("KEYS *", "SCAN 0", "RANDOMKEY", "DBSIZE", "DUMP tuplespace:x", "OBJECT HELP", "MEMORY DOCTOR"),
    *("ACL LIST", "ACL SETUSER student +@all", "ACL WHOAMI", "CLIENT LIST", "CLIENT KILL TYPE normal"),
    *("CLIENT PAUSE 1000", "CLIENT NO-EVICT on", "MONITOR", "SAVE", "BGSAVE", "BGREWRITEAOF"),
    *("REPLICAOF 127.0.0.1 1", "SLAVEOF 127.0.0.1 1", "PSYNC x 1", "SYNC", "CLUSTER INFO", "FAILOVER"),
    *("INFO", "COMMAND", "LATENCY DOCTOR", "SLOWLOG GET", "LASTSAVE", "ROLE", "WAIT 0 1"),
    *("SUBSCRIBE x", "PUBLISH x y", "MIGRATE 127.0.0.1 1 tuplespace:x 0 1", "RESTORE tuplespace:x 0 y"),
    *("SORT tuplespace:x", "GETSET tuplespace:x y", "MSET a b", "MULTI", "WATCH tuplespace:x"),
    *("SET other value", "GET other", "HSET other a b", "DEL other", "BLPOP other 1", "RPUSH other x"),
]
"""Commands that a student's account is refused: all but the calls of a space, on the keys of spaces."""


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server() as server:
        yield server


def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=PATIENCE)


@pytest.mark.parametrize("command", FORBIDDEN)
def test_a_student_is_refused(server: PrivateServer, command: str) -> None:
    """Whatever could run something on the host, change it, or look at what is no business of theirs."""
    words = r"no permissions|unknown command|not allowed"  # some servers lack it, or allow it to nobody
    with client(server.join_url) as student, pytest.raises(redis.ResponseError, match=words):
        student.execute_command(*command.split())


def test_nobody_gets_in_without_a_password(server: PrivateServer) -> None:
    """The default account is off."""
    address = server.join_url.partition("@")[2]
    with client(f"redis://{address}") as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    with client(f"redis://student:guess@{address}") as guesser, pytest.raises(redis.AuthenticationError):
        guesser.ping()


def test_a_student_calls_every_operation(server: PrivateServer) -> None:
    """A space means to a student what it means to everybody."""

    async def main() -> None:
        async with connect(server.join_url) as manager, asyncio.timeout(PATIENCE):
            tasks, results = manager.space("tasks"), manager.space("results")
            async with tasks.watch(kinds=["write", "claim", "complete"]) as events:
                await tasks.write_many([("task", number) for number in range(5)])
                assert await tasks.take("task", where(lambda number: number > 3)) == ("task", 4)
                assert await tasks.replace(("task", 0), ("task", 10)) == ("task", 0)
                async with tasks.claim("task", int, lease=LONG) as claim:
                    await claim.renew(2 * LONG)
                    await claim.complete("result", *claim.fields[1:], to=results)
                seen = [(await anext(aiter(events))).kind for _ in range(7)]
            assert seen == ["write"] * 5 + ["claim", "complete"]
            assert await results.read_all() == [("result", 1)]
            await tasks.write("brief", ttl=0.05)
            with pytest.raises(TimeoutError):
                await tasks.read("brief", "absent", timeout=0.1)
            assert await tasks.count("brief") == 0
            with pytest.raises(StaleClaim):
                async with tasks.claim("task", int, lease=0.05):
                    await asyncio.sleep(0.1)
            waiter = asyncio.create_task(tasks.take("late"))
            await tasks.write("late")
            assert await waiter == ("late",)
            assert len(await tasks.take_all("task", ANY)) == 3
            assert (await tasks.stats()).tuples == 0
            await tasks.close()

    asyncio.run(main())


def test_ten_megabytes_harm_nobody(server: PrivateServer) -> None:
    """They are refused, and everybody else goes on."""

    async def main() -> None:
        async with connect(server.join_url) as manager:
            with pytest.raises((ConnectionError, RuntimeError)):
                await manager.space("tasks").write("big", b"." * 10_000_000, timeout=1)
        async with connect(server.url) as manager:
            assert await manager.space("tasks").count("big", ANY) == 0

    asyncio.run(main())


def test_memory_is_bounded_and_nothing_is_thrown_away(server: PrivateServer) -> None:
    """Whoever fills it is refused."""
    with client(server.url) as admin:
        settings = admin.config_get("maxmemory*")
    assert settings["maxmemory"] == str(256 * 1024**2)
    assert settings["maxmemory-policy"] == "noeviction"


def test_no_password_stands_in_the_list_of_processes(server: PrivateServer) -> None:
    """The server reads its settings from its standard input."""
    listing = subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
    assert str(server.process.pid) in listing
    for url in (server.url, server.join_url):
        assert url.split(":")[2].partition("@")[0] not in listing


def test_the_server_listens_at_the_chosen_address_only(server: PrivateServer) -> None:
    """By default that is the loopback, which no other machine can reach."""
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE):
        pass
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=PATIENCE):  # noqa: PT011
        pass


def test_the_host_reaches_its_server_on_the_loopback_whatever_the_address() -> None:
    """Students use the chosen one."""
    with private_server("127.0.0.3", password="a/b@c:d") as server:
        assert "@127.0.0.1:" in server.url
        assert "@127.0.0.3:" in server.join_url
        for url in (server.url, server.join_url):
            with client(url) as anybody:
                assert anybody.ping()


@pytest.mark.parametrize("address", ["0.0.0.0", "", "localhost", "203.0.113.7", "127.0.0.1 0.0.0.0", "::"])
def test_a_wrong_address_is_refused(address: str) -> None:
    """The text lists those that there are."""
    with pytest.raises(ValueError, match=r"Choose one of: 127\.0\.0\.1"), private_server(address):
        pass


def test_a_port_that_is_taken_is_told() -> None:
    """In the words of the server."""
    with private_server() as first:
        port = int(first.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(RuntimeError, match=r"(?s)did not start.*in use"), private_server(port=port):
            pass


def test_a_free_port_that_is_taken_meanwhile_is_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between being found free and being used by the server: then it is another one."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ports = iter([taken.getsockname()[1], server_module._free_port()])
        monkeypatch.setattr(server_module, "_free_port", lambda: next(ports))
        with private_server() as server, client(server.url) as anybody:
            assert anybody.ping()
    assert next(ports, None) is None


def test_without_a_server_one_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what goes without."""
    monkeypatch.setenv("PATH", "")
    assert find_server() is None
    with pytest.raises(NoServer, match=r"apt install redis-server.*memory://"), private_server():
        pass


def test_which_server_is_used_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of the program, or by none for no server."""
    monkeypatch.setenv("TUTORIAL_SERVER", "sh")
    assert Path(find_server() or "").name == "sh"
    monkeypatch.setenv("TUTORIAL_SERVER", "")
    assert find_server() is None


def test_a_server_ends_with_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process and its folder are gone, also after an error."""
    monkeypatch.setattr(server_module.tempfile, "tempdir", str(tmp_path))
    processes = []

    def fail() -> None:
        with private_server() as server:
            processes.append(server.process)
            assert list(tmp_path.iterdir())
            raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        fail()
    assert processes[0].returncode is not None
    assert list(tmp_path.iterdir()) == []


def test_a_server_ends_when_its_owner_is_killed() -> None:
    """As when a notebook's kernel dies: nobody is left to end it in good order."""
    owner = python(
        """
        import time
        from tutorial_lib.classroom.server import private_server
        with private_server() as server:
            print(server.process.pid, flush=True)
            time.sleep(60)
        """
    )
    assert owner.stdout is not None
    number = int(owner.stdout.readline())
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + PATIENCE
    while is_running(number):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(number: int) -> bool:
    command = ["ps", "-o", "stat=", "-p", str(number)]
    state = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def test_a_durable_server_that_was_killed_comes_back() -> None:
    """On its port, with its tuples; and students, who wait for that, can go on with the same address."""

    async def main() -> None:
        with private_server(durable=True) as server:
            async with connect(server.join_url) as manager, asyncio.timeout(PATIENCE):
                tasks = manager.space("tasks")
                await tasks.write("task", 1)
                await asyncio.to_thread(server.kill)
                waiter = asyncio.create_task(tasks.take("task", int))
                await asyncio.to_thread(server.start)
                assert await waiter == ("task", 1)

    asyncio.run(main())


def test_a_student_waits_for_the_script_of_a_server_that_has_just_come_back() -> None:
    """Only the host may bring it in; until it has, that is no reason to give up."""

    async def main() -> None:
        with private_server() as server:
            async with connect(server.join_url) as manager, asyncio.timeout(PATIENCE):
                tasks = manager.space("tasks")
                await tasks.write("task", 1)
                with client(server.url) as admin:
                    admin.script_flush()
                    waiter = asyncio.create_task(tasks.take("task", int))
                    await asyncio.wait([waiter], timeout=0.3)
                    admin.script_load(SCRIPT)
                assert await waiter == ("task", 1)

    asyncio.run(main())


def test_the_options_of_an_encrypted_connection_reach_the_client() -> None:
    """They are those of the client library."""
    link = Connection("rediss://student:x@host:1/0?ssl_cert_reqs=none&ssl_ca_certs=ca.pem")
    pool = link._new_client().connection_pool
    assert pool.connection_class is redis.asyncio.SSLConnection
    assert pool.connection_kwargs["ssl_cert_reqs"] == "none"
    assert pool.connection_kwargs["ssl_ca_certs"] == "ca.pem"
