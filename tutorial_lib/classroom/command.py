"""Command: ``tutorial class host`` and ``tutorial class join``, in a terminal."""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
import sys
import webbrowser
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from tutorial_lib.classroom.host import host
from tutorial_lib.classroom.join import join
from tutorial_lib.classroom.server import LOOPBACK, own_addresses

__all__ = ["host_class", "join_class"]

URL_VARIABLE: Final = "TUTORIAL_CLASS_URL"

_say = partial(print, flush=True)


def host_class(address: str, port: int, *, opens_browser: bool) -> int:
    """Hold a class until Ctrl-C, or until it is ended on the board. Returns the exit status."""
    return _run("tutorial class host", _host(address, port, opens_browser))


async def _host(address: str, port: int, opens_browser: bool) -> None:
    from tutorial_lib.classroom.page import BoardPage  # here, since whoever joins can do without

    async with host(address, port) as room, BoardPage(room) as page:
        _say(f"Students join with:\n\n    {room.join_line}\n")
        if address == LOOPBACK:
            _say("Only programs on this machine can join. To let others in, start with one of:")
            for other in own_addresses():
                _say(f"    tutorial class host --address {other}")
        _say(f"The board: {page.url}\nCtrl-C ends the class.")
        if opens_browser:
            webbrowser.open(page.url)
        try:
            await room.over.wait()
        finally:
            _say("The class is over.")


def join_class(url: str | None, name: str | None) -> int:
    """Take part in a class until it is over or Ctrl-C. Returns the exit status.

    The address is asked for, unseen, if it is ``-``, and read from the environment if it is None, so that the
    password need not stand in the list of commands.
    """
    if url == "-":
        url = getpass.getpass("Address of the class: ").strip()
    url = url or os.environ.get(URL_VARIABLE)
    if url is None:
        advice = f"Give the address, or - to be asked for it, or set {URL_VARIABLE}."
        print(f"tutorial class join: {advice}", file=sys.stderr)
        return 1
    return _run("tutorial class join", join(url, name, say=_say))


def _run(command: str, program: Coroutine[Any, Any, None]) -> int:
    """Run a program until it ends or is told to. Returns the exit status, 1 after an error."""
    # Told to end is as good as Ctrl-C, which asyncio turns into a cancellation. A script that starts this in
    # the background lets it ignore Ctrl-C, and with that it would ignore being told to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        asyncio.run(program)
    except KeyboardInterrupt:
        return 0
    except (OSError, RuntimeError, ValueError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    return 0
