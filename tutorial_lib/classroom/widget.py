"""Widget: the board of a class in a notebook cell, with its three buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import ipywidgets as widgets
from IPython.core.getipython import get_ipython
from IPython.display import display

from tutorial_lib.classroom.board import ClassFrame, ClassState, class_frame
from tutorial_lib.classroom.board_buttons import BUTTONS, job_choices, press
from tutorial_lib.classroom.board_svg import class_svg
from tutorial_lib.classroom.board_text import class_text
from tutorial_lib.classroom.board_watch import watch_class
from tutorial_lib.classroom.host import Classroom
from tutorial_lib.views.cells import close_with_cell
from tutorial_lib.views.controls import alert, button, close_all, row
from tutorial_lib.views.drawing import safe
from tutorial_lib.virtual_loop import VirtualLoop

__all__ = ["ClassBoard"]


class ClassBoard:
    """Shows the class of ``room`` in a notebook, live.

    ``async with host() as room, ClassBoard(room): await room.over.wait()`` shows it until somebody clicks
    *End the class*. Or let the board be the last line of a cell: then it follows the class until that is
    over, the board is closed, or the cell is run again. Raises `TypeError` for what is no room, and
    `RuntimeError` in virtual time.

    >>> from tutorial_lib.manager import connect
    >>> async def main():
    ...     room = Classroom(connect("memory://"), "redis://...")
    ...     async with ClassBoard(room) as board:
    ...         return board.words.splitlines()[1]
    >>> asyncio.run(main())
    'no tasks yet'
    """

    def __init__(self, room: Classroom) -> None:
        if not isinstance(room, Classroom):
            raise TypeError(f"ClassBoard() needs the room of a class, got {room!r}. Write ClassBoard(room).")
        self._room = room
        self._frame = class_frame(ClassState(room.join_line), 0.0)
        self._panel: _Panel | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # the one that follows, and the clicks that are at work

    def __repr__(self) -> str:
        return "<ClassBoard>"

    @property
    def words(self) -> str:
        """What there is to see, in words."""
        return class_text(self._frame)

    async def __aenter__(self) -> ClassBoard:
        self._start()
        if get_ipython() is not None:  # elsewhere there is nobody to see it
            display(self)  # type: ignore[no-untyped-call]
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def close(self) -> None:
        """End the board and take its widgets away; the class goes on. Closing twice does nothing more."""
        for task in self._tasks:
            task.cancel()
        if self._panel is not None:
            self._panel.close()
            self._panel = None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        self._start()
        assert self._panel is not None
        return {**self._panel.box._repr_mimebundle_(), "text/plain": repr(self)}

    # ------------------------------------------------------------------------------------------------
    # Following, and what the buttons do

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            raise RuntimeError("A ClassBoard shows real time, and this program runs in virtual time.")
        if self._panel is None:
            self._panel = _Panel(lambda name, job: loop.call_soon_threadsafe(self._click, name, job))
            close_with_cell(self, repr(self))
            self._keep(self._follow())

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="class board")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self) -> None:
        try:
            await watch_class(self._room.manager, self._room.join_line, self._show)
        except Exception as error:
            self._say(f"{type(error).__name__}: {error}")
        finally:
            if self._panel is not None:
                self._panel.disable()

    def _show(self, frame: ClassFrame) -> None:
        self._frame = frame
        if self._panel is not None:
            self._panel.picture.value = class_svg(frame)

    def _click(self, name: str, job: str) -> None:
        self._keep(self._press(name, job))

    async def _press(self, name: str, job: str) -> None:
        try:
            self._say(await press(self._room, name, job), is_problem=False)
        except Exception as error:  # a click has nobody else to tell
            self._say(f"{type(error).__name__}: {error}")

    def _say(self, text: str, *, is_problem: bool = True) -> None:
        if self._panel is not None:
            self._panel.reply.value = alert(text) if is_problem else safe(text)


class _Panel:
    """The widgets of a board. ``press`` is called with the name of a button and the chosen job."""

    def __init__(self, press: Callable[[str, str], object]) -> None:
        self._press = press
        choices = [(words, name) for name, words in job_choices().items()]
        self.picture = widgets.HTML()
        self.reply = widgets.HTML()
        self.job = widgets.Dropdown(options=choices, description="Job", layout=widgets.Layout(width="auto"))
        self.buttons = [button(words, words, partial(self._click, name)) for name, words in BUTTONS.items()]
        self.box = widgets.VBox([self.picture, row(self.job, *self.buttons), self.reply])

    def _click(self, name: str) -> None:
        self._press(name, self.job.value)

    def disable(self) -> None:
        """Let nobody press a button that does nothing any more."""
        for widget in (self.job, *self.buttons):
            widget.disabled = True

    def close(self) -> None:
        """Take the widgets away."""
        close_all(self.box)
