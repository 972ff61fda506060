"""An event loop that refuses whatever needs the real world: other threads, networks, processes, signals.

A virtual clock jumps over an hour in a millisecond. A download or a thread beside it would take the time it
takes, so what it returns would arrive at another virtual moment in every run.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import NoReturn, TypeVarTuple

__all__ = ["UnrealLoop"]

Arguments = TypeVarTuple("Arguments")


class UnrealLoop(asyncio.BaseEventLoop):
    """An asyncio event loop without anything from outside. The base of the virtual loop."""

    # Of asyncio's base class, and unknown to the type checker.
    _ready: deque[asyncio.Handle]
    _stopping: bool
    _thread_id: int | None

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Call ``callback`` soon. Only from the run's own thread: no other may meddle with a simulation."""
        if self._thread_id not in (None, threading.get_ident()):
            _refuse(
                "call_soon_threadsafe", "be called from another thread at a moment that nobody can repeat"
            )
        return self.call_soon(callback, *args, context=context)

    def _write_to_self(self) -> None:
        """Nobody waits in a selector here, so nobody is to be woken."""


def _refuse(name: str, consequence: str) -> NoReturn:
    raise RuntimeError(
        f"Under simulate there is no real time and no other thread, so {name} would {consequence}. "
        "Run this part outside simulate, or let a coroutine that awaits asyncio.sleep(seconds) stand for it."
    )


def _refusal(name: str, consequence: str) -> Callable[..., NoReturn]:
    def method(self: UnrealLoop, *args: object, **options: object) -> NoReturn:
        _refuse(name, consequence)

    method.__name__ = name
    method.__doc__ = f"Refused: it would {consequence}."
    return method


_NEEDS_REALITY = {
    "run in a thread, in real time, beside a clock that jumps": ["run_in_executor"],
    "wait for a network, in real time": [
        *("getaddrinfo", "getnameinfo", "create_connection", "create_server", "create_datagram_endpoint"),
        *("create_unix_connection", "create_unix_server", "connect_accepted_socket", "start_tls", "sendfile"),
        *("sock_recv", "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into", "sock_sendall"),
        *("sock_sendto", "sock_sendfile", "sock_connect", "sock_accept"),
        *("add_reader", "remove_reader", "add_writer", "remove_writer"),
    ],
    "wait for another process, in real time": [
        *("subprocess_exec", "subprocess_shell", "connect_read_pipe", "connect_write_pipe"),
    ],
    "wait for a signal from outside": ["add_signal_handler", "remove_signal_handler"],
}

for _consequence, _names in _NEEDS_REALITY.items():
    for _name in _names:
        setattr(UnrealLoop, _name, _refusal(_name, _consequence))
