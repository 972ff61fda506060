"""Board watch: tells the board of a class what happens in its spaces, while it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from tutorial_lib.classroom.board import KINDS, ClassFrame, ClassState, class_frame
from tutorial_lib.manager import SpaceManager
from tutorial_lib.trace import Event
from tutorial_lib.watching import Watch

__all__ = ["watch_class"]

PERIOD: Final = 0.2  # seconds between two frames, at least
BUSY_SHARE: Final = 0.1  # of the time, at most, that following and drawing may take
LONGEST_PERIOD: Final = 2.0  # seconds, also after a drawing in whose middle the program stood still


async def watch_class(manager: SpaceManager, join_line: str, show: Callable[[ClassFrame], None]) -> None:
    """Follow the class of ``manager`` until it is over, and call ``show`` at most five times a second.

    Raises what ``show`` raises, and `ConnectionError` if the server is gone.

    >>> from tutorial_lib.manager import connect
    >>> async def main():
    ...     async with connect("memory://") as manager:
    ...         watching = asyncio.create_task(watch_class(manager, "", frames.append))
    ...         await manager.space("class").write("machine", "anna", 8, "Linux", ttl=5)
    ...         await asyncio.sleep(7)
    ...         await manager.space("class").close()
    ...         await watching
    >>> from tutorial_lib.simulation import simulate
    >>> frames = []
    >>> run = simulate(main)
    >>> list(dict.fromkeys(machine.words for frame in frames for machine in frame.machines))
    ['idle', 'quiet for 3 s', 'quiet for 4 s', 'quiet for 5 s', 'dropped out']
    """
    state = ClassState(join_line)
    async with manager.space("class").watch(kinds=KINDS) as events:
        await _note_what_is_there(state, manager, "class")
        while not state.is_over:
            await _follow_a_round(state, manager, events, show)


async def _follow_a_round(
    state: ClassState, manager: SpaceManager, events: Watch, show: Callable[[ClassFrame], None]
) -> None:
    """Follow the class until the next round begins, or until it is over."""
    loop = asyncio.get_running_loop()
    number = state.round
    names = [f"tasks {number}", f"results {number}"] if number else []
    async with AsyncExitStack() as stack:
        watches = [events]
        for name in names:
            watches.append(await stack.enter_async_context(manager.space(name).watch(kinds=KINDS)))
            await _note_what_is_there(state, manager, name)
        try:
            while state.round == number and not state.is_over:
                began = loop.time()
                _tell(state, watches)
                show(class_frame(state, loop.time()))
                rest = (loop.time() - began) / BUSY_SHARE
                await asyncio.sleep(min(max(PERIOD, rest), LONGEST_PERIOD))
        finally:
            _tell(state, watches)  # whoever stops watching has seen all that happened until then
            show(class_frame(state, loop.time()))


def _tell(state: ClassState, watches: list[Watch]) -> None:
    """Tell the state what has happened, in the order of time."""
    pending = [event for watch in watches for event in watch.pending()]
    for event in sorted(pending, key=lambda event: event.time):
        state.apply(event)
    state.is_over = state.is_over or watches[0].is_over


async def _note_what_is_there(state: ClassState, manager: SpaceManager, name: str) -> None:
    """Note the tuples that were there before. What happens meanwhile is told twice, which does no harm."""
    now = asyncio.get_running_loop().time()
    for fields in await manager.space(name).read_all():
        state.apply(Event(0, now, "", "write", name, fields, {}))
