"""What happens when the server, the wire or a client fails: wait and go on, or one clear error."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from proxy_help import Proxy
from server_help import (
    DURABLE,
    LONG,
    PATIENCE,
    REPEATS,
    Server,
    claimed,
    ended,
    python,
    restart,
    run_script,
    started,
)

from tests.loop_help import MovableLoop
from tutorial_lib import ANY, SpaceManager, StaleClaim, TupleSpace, connect, simulate, where
from tutorial_lib.engine import connection
from tutorial_lib.engine.connection import ServerUnavailable


def run(program: Coroutine[Any, Any, None]) -> None:
    """Run a test in real time. One that hangs fails."""
    asyncio.run(asyncio.wait_for(program, PATIENCE))


# --- The server goes away and comes back ---------------------------------------------------------------


def test_everything_goes_on_after_a_restart() -> None:
    """Tuples, claims and those who wait are all still there."""

    async def program(server: Server) -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            await space.write_many([("task", 1), ("task", 2)])
            claim = await claimed(space, "task", int)
            taker = await started(space, space.take("late", int))
            await restart(server)
            await space.write("late", 3)
            assert await taker == ("late", 3)
            await claim.complete("result", 1)
            assert await space.read_all() == [("task", 2), ("result", 1)]

    with Server(*DURABLE) as server:
        run(program(server))


def test_what_was_acknowledged_survives_a_kill() -> None:
    """With ``appendfsync always``: every write that returned is there, and at most the last is uncertain."""

    async def program(server: Server) -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            acknowledged = 0

            async def write() -> None:
                nonlocal acknowledged
                for number in range(100_000):
                    await space.write(number)
                    acknowledged = number + 1

            writer = asyncio.create_task(write())
            while acknowledged < 100:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(server.stop, signal.SIGKILL)
            writer.cancel()
            await ended(writer)
        await asyncio.to_thread(server.start)
        async with connect(server.url) as manager:
            found = await manager.space("tasks").read_all()
        assert found in ([(n,) for n in range(acknowledged)], [(n,) for n in range(acknowledged + 1)])

    with Server(*DURABLE) as server:
        run(program(server))


def test_who_waits_is_put_in_line_again_when_the_server_forgot_everything() -> None:
    """After a restart without a file, takers, tests and watches go on."""

    async def program(server: Server) -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks", capacity=5)
            taker = await started(space, space.take("task", int))
            async with space.watch(kinds="write") as events:
                await restart(server, signal.SIGKILL)
                while not (await space.stats()).waiting:
                    await asyncio.sleep(0.01)
                await space.write("task", 1)
                assert await taker == ("task", 1)
                assert (await anext(events)).fields == ("task", 1)

    with Server() as server:
        run(program(server))


def test_a_claim_from_before_a_server_forgot_everything_is_refused() -> None:
    """It does not end the first claim of the new life, though both are the first of their space."""

    async def program(server: Server) -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 1)
            old = await claimed(space, "task", int)
            await restart(server, signal.SIGKILL)
            await space.write("task", 1)
            new = await claimed(space, "task", int)
            with pytest.raises(StaleClaim):
                await old.complete()
            await new.complete()

    with Server() as server:
        run(program(server))


def test_who_waits_keeps_the_place_while_the_server_stands_still() -> None:
    """Its clients were not silent, though it heard nothing for longer than it waits for them."""

    async def program(server: Server) -> None:
        async with connect(server.url) as one, connect(server.url) as other:
            takers = [
                await started(manager.space("tasks"), manager.space("tasks").take("task", int))
                for manager in (other, one, other)
            ]
            assert server.process is not None
            server.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(5.5)
            server.process.send_signal(signal.SIGCONT)
            await asyncio.sleep(2)  # by now everybody has been heard again
            with server.admin() as admin:
                assert admin.hget("tuplespace:space:tasks", "arrivals") == b"3"
            await one.space("tasks").write_many([("task", n) for n in range(3)])
            assert [await taker for taker in takers] == [("task", n) for n in range(3)]

    with Server() as server:
        run(program(server))


def test_nobody_is_given_up_because_the_server_hears_another_first(server: Server) -> None:
    """It stood still for less than it waits for a client; one was last heard a little earlier than that."""

    async def program() -> None:
        async with connect(server.url) as one, connect(server.url) as other:
            taker = await started(other.space("tasks"), other.space("tasks").take("task", int))
            await one.space("tasks").count()
            with server.admin() as admin, admin.pipeline() as both:  # as it is after 4.9 s of standing still
                seconds, microseconds = admin.time()
                now = seconds * 1_000_000 + microseconds
                both.set("tuplespace:tick", now - 4_900_000)
                both.zadd("tuplespace:clients", {other._link.client_id: now - 5_200_000})
                both.execute()
                await one._link.ask({"name": "tick"})
                assert admin.hget("tuplespace:space:tasks", "arrivals") == b"1"
                assert admin.hlen("tuplespace:waiters:tasks") == 1
            await one.space("tasks").write("task", 1)
            assert await taker == ("task", 1)

    run(program())


def test_time_in_which_the_program_itself_stood_still_does_not_count(server: Server) -> None:
    """As when a cell computes, or a program was frozen: its request was not even sent by then."""

    async def program() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovableLoop)
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 1)
            counting = asyncio.create_task(space.count())
            await asyncio.sleep(0)
            loop.ahead += 1.1 * connection.PATIENCE
            assert await counting == 1

    with asyncio.Runner(loop_factory=MovableLoop) as runner:
        runner.run(asyncio.wait_for(program(), PATIENCE))


def test_an_operation_waits_for_the_server_up_to_its_timeout(server: Server) -> None:
    """Then it raises an error that is a TimeoutError and a ConnectionError, and names the server."""

    async def program() -> None:
        async with Proxy(server.port) as proxy, connect(proxy.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 1)
            proxy.is_stalled = True
            for operation in (space.write("task", 2, timeout=0.1), space.take("x", timeout=0.1)):
                with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:\d+/0 did not answer"):
                    await operation
            proxy.is_stalled = False
            assert await space.take("task", 1) == ("task", 1)

    assert issubclass(ServerUnavailable, TimeoutError)
    run(program())


def test_a_take_that_gave_up_during_a_stall_loses_nothing(server: Server) -> None:
    """The tuple that was on its way comes back when the wire does."""

    async def program() -> None:
        async with Proxy(server.port) as proxy, connect(proxy.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 1)
            taker = asyncio.create_task(space.take("task", int, timeout=0.1))
            await asyncio.sleep(0)
            proxy.is_stalled = True
            assert isinstance(await ended(taker), ServerUnavailable)
            proxy.is_stalled = False
            assert await space.take("task", int, timeout=PATIENCE) == ("task", 1)

    run(program())


# --- The wire ----------------------------------------------------------------------------------------


def test_a_lost_answer_is_asked_for_again(server: Server) -> None:
    """And what was asked for is not done twice: one write, one take."""

    async def program() -> None:
        async with Proxy(server.port) as proxy, connect(proxy.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 0)
            for operation in (
                space.write("task", 1),
                space.take("task", int),
                space.replace(("task", 1), (2,)),
            ):
                proxy.loses_answers, proxy.lost = True, 0
                task = asyncio.create_task(operation)
                while not proxy.lost:
                    await asyncio.sleep(0.005)
                proxy.cut()
                proxy.loses_answers = False
                await task
            assert await space.read_all() == [(2,)]

    run(program())


def test_cut_connections_lose_nothing_and_repeat_nothing(server: Server) -> None:
    """A producer and three consumers, while all connections are cut again and again.

    Each time after a few more tuples: cut at fixed moments, a slow machine would never get any further.
    """
    tuples, between = 400, 5
    choose = random.Random(0)

    async def program() -> None:
        taken: list[int] = []

        async def consume(manager: SpaceManager) -> None:
            while True:
                taken.append((await manager.space("tasks").take("task", int))[1])

        async def cut() -> None:
            with server.admin() as admin:
                while True:
                    before = len(taken)
                    while len(taken) < before + between:
                        await asyncio.sleep(choose.uniform(0, 0.03))
                    await asyncio.to_thread(admin.execute_command, "CLIENT", "KILL", "TYPE", "normal")

        async with connect(server.url) as one, connect(server.url) as other:
            tasks = [asyncio.create_task(consume(manager)) for manager in (one, one, other)]
            tasks.append(asyncio.create_task(cut()))
            for number in range(tuples):
                await one.space("tasks").write("task", number)
            while len(taken) < tuples:
                await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert sorted(taken) == list(range(tuples))

    run(program())


def test_a_bell_that_was_lost_is_no_harm(server: Server) -> None:
    """Who waits asks again after every cut."""

    async def program() -> None:
        async with Proxy(server.port) as proxy, connect(proxy.url) as manager, connect(server.url) as writer:
            taker = await started(manager.space("tasks"), manager.space("tasks").take("task", int))
            proxy.loses_answers = True
            await writer.space("tasks").write("task", 1)
            while not proxy.lost:
                await asyncio.sleep(0.005)
            proxy.cut()
            proxy.loses_answers = False
            assert await taker == ("task", 1)

    run(program())


def test_an_answer_that_makes_no_sense_is_told() -> None:
    """Something else than Redis listens there."""

    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)
        writer.close()

    async def program() -> None:
        async with await asyncio.start_server(garbage, "127.0.0.1", 0) as listener:
            url = f"redis://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            with pytest.raises(ServerUnavailable, match="did not answer"):
                await connect(url).space("tasks").write("task", 1, timeout=1)

    run(program())


def test_rubbish_in_a_mailbox_is_no_harm(server: Server) -> None:
    """Whoever can reach the server can write there."""

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            taker = await started(space, space.take("task", int))
            with server.admin() as admin:
                (mailbox,) = [
                    f"tuplespace:mail:{name.decode()}" for name in admin.zrange("tuplespace:clients", 0, -1)
                ]
                admin.rpush(mailbox, b"\xff\x00rubbish", b"waiter:", b"events:nowhere", b"")
            await space.write("task", 1)
            assert await taker == ("task", 1)

    run(program())


async def write_one_by_one(space: TupleSpace, tuples: list[tuple[Any, ...]]) -> None:
    for fields in tuples:
        await space.write(*fields)


# --- Full, locked, or not there ------------------------------------------------------------------------


def test_a_server_whose_memory_is_full_can_be_emptied() -> None:
    """Writes wait up to their timeout and then say why, whatever is answered meanwhile; takes make room."""

    async def program(server: Server) -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 0)
            large = [("task", b"x" * 1_000_000, number) for number in range(100)]
            filling = asyncio.create_task(write_one_by_one(space, large))
            while connection.OUT_OF_MEMORY not in str(manager._link._trouble):
                await asyncio.sleep(0.01)
            filling.cancel()
            await ended(filling)
            refused = asyncio.create_task(space.write("more", b"x" * 1_000_000, timeout=3))
            while not refused.done():
                await space.count()
            assert "memory" in str(await ended(refused))
            assert await space.take("task", int) == ("task", 0)
            waiting = asyncio.create_task(space.write("late", b"x" * 1_000_000))
            while await space.try_take("task", bytes, ANY):
                pass
            await waiting

    with Server("--maxmemory", "24mb") as server:
        run(program(server))


def test_a_wrong_password_is_refused_at_once() -> None:
    """The error does not show the password."""

    async def program(server: Server) -> None:
        url = server.url.replace("redis://", "redis://:wrong@")
        async with connect(url) as manager:
            with pytest.raises(PermissionError, match="refuses") as refusal:
                await manager.space("tasks").write("task", 1)
            assert "wrong@" not in str(refusal.value)
        async with connect(server.url.replace("redis://", "redis://:right@")) as manager:
            await manager.space("tasks").write("task", 1)

    with Server("--requirepass", "right") as server:
        run(program(server))


def test_without_a_server_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon, and not only after the patience that a known server is given."""
    monkeypatch.setattr(connection, "FIRST_CONTACT", 0.2)

    async def program() -> None:
        async with connect("redis://127.0.0.1:1/0") as manager:
            with pytest.raises(ServerUnavailable, match=r"apt install redis-server.*memory://"):
                await manager.space("tasks").take("task")

    run(program())


def test_without_the_packages_the_error_says_what_to_install() -> None:
    """The core does not need them."""
    program = (
        "import sys; sys.modules['redis'] = None; import tutorial_lib; tutorial_lib.connect('redis://x')"
    )
    _, errors = python(program).communicate(timeout=PATIENCE)
    assert 'pip install "tuplespace-tutorial[engine]"' in errors.splitlines()[-1]


# --- Clients that vanish -------------------------------------------------------------------------------

TAKER = """
    import asyncio, sys
    from tutorial_lib import connect
    async def main():
        async with connect(sys.argv[1]) as manager:
            print("ready", flush=True)
            await manager.space("tasks").take("task", int)
            print("taken", flush=True)
            await asyncio.sleep(60)
    asyncio.run(main())
"""


def test_a_tuple_handed_to_a_client_that_is_dead_comes_back(server: Server) -> None:
    """After five seconds of silence; nobody had it."""

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            dead = python(TAKER, server.url)
            while not await space.waiters():
                await asyncio.sleep(0.01)
            dead.kill()
            dead.communicate()
            async with space.watch(kinds="take") as handed_over:
                await space.write("task", 1)
                assert (await anext(handed_over)).fields == ("task", 1)
            assert await space.take("task", int) == ("task", 1)
            assert (await space.stats()).waiting == 0

    run(program())


def test_a_claim_of_a_client_that_is_dead_lapses(server: Server) -> None:
    """Its lease is kept by the server's clock, and the next attempt is the second."""

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 1)
            dead = python(
                TAKER.replace('.take("task", int)', '.claim("task", int, lease=1).__aenter__()'), server.url
            )
            assert dead.stdout is not None
            lines = [await asyncio.to_thread(dead.stdout.readline) for _ in range(2)]
            assert lines == ["ready\n", "taken\n"]
            dead.kill()
            dead.communicate()
            async with space.claim("task", int, lease=LONG) as claim:
                assert claim.attempt == 2

    run(program())


def test_a_loop_that_ends_without_closing_leaves_no_noise(server: Server) -> None:
    """Whoever forgets to close a manager sees no warnings, and can go on in a new loop."""
    program = """
        import asyncio, sys
        from tutorial_lib import connect
        manager = connect(sys.argv[1])
        async def main():
            space = manager.space("tasks")
            waiting = asyncio.create_task(space.take("never"))
            await space.write("task", 1)
            print(await space.take("task", int))
        asyncio.run(main())
        asyncio.run(main())
    """
    process = python(program, server.url)
    assert process.communicate(timeout=PATIENCE) == ("('task', 1)\n" * 2, "")


# --- Where it does not belong --------------------------------------------------------------------------


def test_a_server_cannot_be_used_under_simulate(server: Server) -> None:
    """There is no real time there. The error says what to do."""
    space = connect(server.url).space("tasks")
    with pytest.raises(RuntimeError, match=r"simulate.*memory://"):
        simulate(space.write, "task", 1)


def test_another_loop_is_refused(server: Server) -> None:
    """As by a space in memory."""

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            await space.write("task", 1)
            with pytest.raises(RuntimeError, match="another event loop or thread"):
                await asyncio.to_thread(asyncio.run, space.take("task"))

    run(program())


def test_another_capacity_is_refused_at_the_first_use(server: Server) -> None:
    """Whoever made the space first, on whatever machine, decided on it."""

    async def program() -> None:
        async with connect(server.url) as one, connect(server.url) as other:
            await one.space("small", capacity=2).write("task", 1)
            space = other.space("small", capacity=3)
            for operation in (space.write("task", 2), space.take(where(bool), int), space.count()):
                with pytest.raises(ValueError, match=r"small.*exists with capacity 2, asked was 3"):
                    await operation
            assert await one.space("small", capacity=2).read_all() == [("task", 1)]

    run(program())


def test_what_cannot_travel_is_refused_with_its_field_named(server: Server) -> None:
    """In tuples and in patterns, also when it is nested."""

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            for value in ({1}, [object()], 1j, {"a": (1, {2})}, Path("x"), signal.SIGTERM):
                with pytest.raises(TypeError, match="Field 2"):
                    await space.write("task", value)
                with pytest.raises(TypeError, match="Field 2"):
                    await space.take("task", value)
            with pytest.raises(TypeError, match=r"Field 2.*Path"):
                await space.take("task", Path)
            assert await space.count() == 0

    run(program())


# --- Large numbers -------------------------------------------------------------------------------------


def test_fields_of_ten_megabytes(server: Server) -> None:
    """Are written, found and taken like any other."""

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            large = b"x" * 10_000_000
            taker = await started(space, space.take("task", large, str))
            await space.write("task", large, "y" * 10_000_000)
            assert (await taker)[1] == large

    run(program())


def test_two_hundred_takers_are_woken_one_by_one(server: Server) -> None:
    """In order, and each write wakes one: the server sees a few commands per take, not two hundred."""

    async def program() -> None:
        async with connect(server.url) as manager, connect(server.url) as writer:
            space = manager.space("tasks")
            order: list[int] = []

            async def wait(number: int) -> None:
                await space.take("task", int)
                order.append(number)

            tasks = [asyncio.create_task(wait(number)) for number in range(200)]
            while (await space.stats()).waiting < 200:
                await asyncio.sleep(0.01)
            with server.admin() as admin:
                admin.config_resetstat()
                begun = asyncio.get_running_loop().time()
                for number in range(200):
                    await writer.space("tasks").write("task", number)
                await asyncio.gather(*tasks)
                seen = admin.info("commandstats")
            assert order == list(range(200))
            ticks = 50 + 10 * (asyncio.get_running_loop().time() - begun)  # more on a slow machine
            assert seen["cmdstat_evalsha"]["calls"] <= 2 * 200 + ticks  # a write and a take each
            assert seen["cmdstat_blpop"]["calls"] <= 200 + ticks

    run(program())


def test_many_open_claims(server: Server) -> None:
    """They stand in nobody's way: a write and a take are as much work as before. And none is lost."""
    claims = 100_000 if REPEATS >= 5 else 2_000

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            before = await work_of_a_pair(server, space)
            await space.write_many([("task", number) for number in range(claims)])
            for _ in range(claims // 500):
                await asyncio.gather(*[claimed(space, "task", int, lease=3600) for _ in range(500)])
            assert (await space.stats())[1:3] == (0, claims)
            assert await work_of_a_pair(server, space) <= 2 * before
            with server.admin() as admin:  # and now all leases are over at once
                numbers = admin.hkeys("tuplespace:claims:tasks")
                admin.zadd("tuplespace:moments:tasks", dict.fromkeys(numbers, 0))
            assert await space.take_all() == [("task", number) for number in range(claims)]

    asyncio.run(program())


async def work_of_a_pair(server: Server, space: TupleSpace) -> float:
    """Return how many commands the server carries out for a write and a take, on average over many."""
    pairs = 50
    with server.admin() as admin:
        admin.config_resetstat()
        for number in range(pairs):
            await space.write("pair", number)
            await space.take("pair", int)
        return sum(command["calls"] for command in admin.info("commandstats").values()) / pairs


@pytest.mark.usefixtures("patient")
def test_giving_up_in_a_large_space_is_little_work(server: Server) -> None:
    """The error names one of a hundred tuples, not of all; and large ones stay out."""

    async def program() -> None:
        async with connect(server.url) as manager:
            space = manager.space("tasks")
            await space.write_many([("task", number) for number in range(2000)])
            with server.admin() as admin:
                admin.config_resetstat()
                with pytest.raises(TimeoutError, match=r"There is \('task', \d+\): field 2 is"):
                    await space.take("task", str, timeout=0.02)
                assert admin.info("commandstats")["cmdstat_hget"]["calls"] < 150
            await space.take_all()
            await space.write("task", b"x" * 1_000_000)
            with pytest.raises(TimeoutError, match=r"had no match within 0\.02 s\.$"):
                await space.take("task", str, timeout=0.02)

    run(program())


def test_a_watch_that_falls_behind_says_what_it_missed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server keeps the newest events; the next one that arrives tells how many are gone."""
    run_script(monkeypatch, "EVENTS_KEPT = 100000", "EVENTS_KEPT = 100")
    written = 2500

    async def program() -> None:
        async with (
            Proxy(server.port) as proxy,
            connect(proxy.url) as manager,
            connect(server.url) as writer,
            manager.space("tasks").watch(kinds="write") as events,
        ):
            space = writer.space("tasks")
            await space.write("first")
            assert (await anext(events)).fields == ("first",)
            proxy.is_stalled = True
            await space.write_many([(number,) for number in range(written)])
            proxy.is_stalled = False
            seen = await anext(events)
            (number,) = seen.fields
            assert seen.detail["missed"] == number > written - 1000
            for later in range(number + 1, written):
                assert (await anext(events)).fields == (later,)
            await space.write("last")
            assert (await anext(events)).detail == {}

    run(program())


def test_a_watch_sees_a_flood_whole(server: Server) -> None:
    """More events than are fetched at a time, in order."""

    async def program() -> None:
        async with connect(server.url) as manager, manager.space("tasks").watch(kinds="write") as events:
            await manager.space("tasks").write_many([(number,) for number in range(3500)])
            assert [(await anext(events)).fields[0] for _ in range(3500)] == list(range(3500))

    run(program())


def test_a_watch_is_told_that_the_server_does_not_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for half a minute, as an operation does, and then its loop ends with the same error."""

    async def program() -> None:
        async with (
            Proxy(server.port) as proxy,
            connect(proxy.url) as manager,
            manager.space("tasks").watch(kinds="write") as events,
        ):
            await manager.space("tasks").write("task", 1)
            await anext(events)
            monkeypatch.setattr(connection, "PATIENCE", 1.0)
            proxy.is_stalled = True
            with pytest.raises(ServerUnavailable, match="did not answer"):
                await anext(events)
            proxy.is_stalled = False

    run(program())


@pytest.mark.parametrize("place", ["memory", "server"])
def test_a_watch_ends_with_its_manager(place: str, server: Server) -> None:
    """Nothing more can come from there, so the loop over the events ends."""

    async def program() -> None:
        async with connect("memory://" if place == "memory" else server.url) as manager:
            events = await manager.space("tasks").watch(kinds="write").__aenter__()
            await manager.space("tasks").write("task", 1)
            assert (await anext(events)).fields == ("task", 1)
        assert [event async for event in events] == []

    run(program())
