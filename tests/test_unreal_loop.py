"""The promises about what needs the real world: it is refused, with the reason."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tutorial_lib import simulate


@pytest.mark.parametrize(
    ("attempt", "name"),
    [
        (lambda: asyncio.to_thread(print), "run_in_executor"),
        (lambda: asyncio.open_connection("localhost", 80), "create_connection"),
        (lambda: asyncio.start_server(print, "localhost", 80), "create_server"),
        (lambda: asyncio.create_subprocess_exec("true"), "subprocess_exec"),
        (lambda: asyncio.get_running_loop().getaddrinfo("localhost", 80), "getaddrinfo"),
        (lambda: asyncio.get_running_loop().sock_recv(None, 1), "sock_recv"),
        (lambda: asyncio.get_running_loop().add_reader(0, print), "add_reader"),
        (lambda: asyncio.get_running_loop().add_signal_handler(2, print), "add_signal_handler"),
    ],
)
def test_what_needs_reality_is_refused_with_the_reason(attempt: Any, name: str) -> None:
    """Threads, sockets, processes and signals raise an error that says why and what to do instead."""

    async def main() -> None:
        await attempt()

    with pytest.raises(
        RuntimeError, match=rf"no real time and no other thread, so {name} would .*outside simulate"
    ):
        simulate(main)


def test_call_soon_threadsafe_is_for_the_run_itself_only() -> None:
    """Some libraries use it within their own thread; from another thread it is refused."""
    refusals = []

    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        called: list[str] = []
        loop.call_soon_threadsafe(called.append, "own")

        def meddle() -> None:
            try:
                loop.call_soon_threadsafe(called.append, "other")
            except RuntimeError as error:
                refusals.append(str(error))

        thread = threading.Thread(target=meddle)
        thread.start()
        thread.join()
        await asyncio.sleep(1)
        return called

    assert simulate(main).result == ["own"]
    assert "another thread" in refusals[0]
