"""Board buttons: what the three buttons of the board do, on the page and in a notebook."""

from __future__ import annotations

from typing import Final

from tutorial_lib.classroom.host import Classroom
from tutorial_lib.classroom.jobs import JOBS, job_named
from tutorial_lib.patterns import shown

__all__ = ["BUTTONS", "job_choices", "press"]

BUTTONS: Final = {"hand_out": "Hand out work", "reset": "Reset for the next group", "end": "End the class"}
"""The words on the buttons."""


def job_choices() -> dict[str, str]:
    """Return the jobs that can be handed out by a button, each in words with the number of its tasks.

    >>> job_choices()["nap"]
    'sleep for a while (40 tasks)'
    """
    return {name: f"{job.text} ({len(job.samples)} tasks)" for name, job in JOBS.items()}


async def press(room: Classroom, button: str, job: str = "") -> str:
    """Do what a button says, and return in words what was done.

    ``job`` is what is handed out: the ready-made tasks of one of `JOBS`. Raises `ValueError` if there is no
    such button or job, and what the calls of the room raise.

    >>> import asyncio
    >>> from tutorial_lib.manager import connect
    >>> async def main():
    ...     room = Classroom(connect("memory://"), "redis://...")
    ...     await room.open()
    ...     return await press(room, "hand_out", "nap"), await press(room, "reset")
    >>> asyncio.run(main())
    ('40 tasks are handed out.', 'Round 2 begins.')
    """
    if button == "hand_out":
        ids = await room.hand_out(job, job_named(job).samples)
        return f"{len(ids)} tasks are handed out."
    if button == "reset":
        await room.reset()
        return f"Round {room.round} begins."
    if button == "end":
        room.end()
        return "The class ends."
    raise ValueError(f"There is no button {shown(button)}. The buttons are: {', '.join(BUTTONS)}.")
