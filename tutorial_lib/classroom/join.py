"""Join: taking part in a class with this machine."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from tutorial_lib.classroom.child import Child
from tutorial_lib.classroom.machine import LONGEST_NAME, serve
from tutorial_lib.manager import connect

__all__ = ["join"]


async def join(url: str, name: str | None = None, *, say: Callable[[str], object] = print) -> None:
    """Let this machine take part in the class at ``url`` until it is over: ``await join(url, "anna")``.

    The jobs run in a process of their own. Without a ``name`` it is the one that you log in with. To leave,
    stop the cell: a task that was begun goes back, and nothing stays behind. ``say`` is called with a line of
    text for each thing that happens.

    Raises `ValueError` for an address or a name that cannot be one, `PermissionError` for a wrong password,
    and `ConnectionError` if no class answers.
    """
    async with connect(url) as manager:
        with Child() as child:
            try:
                await serve(manager, own_name() if name is None else name, say=say, run=child.run)
            except ConnectionError:
                place = urlsplit(url)
                raise ConnectionError(
                    f"No class answers at {place.hostname}:{place.port}. Is it still going on, is the "
                    "address right, is this machine in the same network, and has the host the same edition "
                    "of the course?"
                ) from None


def own_name() -> str:
    """Return the name of whoever is logged in, or that of the machine."""
    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):  # there is nobody of that number
        name = socket.gethostname()
    return name[:LONGEST_NAME]
