"""Live: what happens in a space right now, while it happens.

A live view follows spaces by their events, in real time. It keeps only what is true now, and it draws at most
ten times a second, less often where drawing is slow, so that it never holds up what it shows.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import ipywidgets as widgets
from IPython.core.getipython import get_ipython
from IPython.display import display

from tutorial_lib.manager import SpaceManager
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event
from tutorial_lib.views.cells import close_with_cell
from tutorial_lib.views.controls import alert, button, close_all
from tutorial_lib.views.drawing import safe
from tutorial_lib.views.frame import Frame
from tutorial_lib.views.live_frame import live_frame
from tutorial_lib.views.state import State
from tutorial_lib.views.svg import picture_of
from tutorial_lib.views.words import shortened
from tutorial_lib.virtual_loop import VirtualLoop
from tutorial_lib.watching import Watch

__all__ = ["LiveView"]

PERIOD = 0.1  # seconds between two pictures, at least
BUSY_SHARE = 0.03  # of the time, at most, that following and drawing may take


class LiveView:
    """Shows what happens in a space, or in all spaces of a manager, in real time.

    ``async with LiveView(space):`` shows it while the block runs. *Stop* ends the block: what it awaits is
    cancelled, and the cell goes on behind it. Or let the view be the last line of a cell: then it follows
    until it is stopped or closed, the space is closed, or the cell is run again.

    It shows how many tuples each actor has taken, what is in each space, and who waits for what. Raises
    `TypeError` for what is neither a space nor a manager, and `RuntimeError` in virtual time.

    >>> async def main():
    ...     space = TupleSpace()
    ...     async with LiveView(space) as view:
    ...         await space.write("task", 1)
    ...     return view.words
    >>> print(asyncio.run(main()).splitlines()[-1])
      ('task', 1)  newest
    """

    def __init__(self, space_or_manager: TupleSpace | SpaceManager) -> None:
        if not isinstance(space_or_manager, (TupleSpace, SpaceManager)):
            raise TypeError(
                f"LiveView() needs a space or a manager of spaces, got {space_or_manager!r}. "
                "Write LiveView(space)."
            )
        self.updates = 0
        """How many pictures it has shown so far."""
        self._source = space_or_manager
        self._state = State()
        self._latest: Event | None = None
        self._watches: dict[str, Watch] = {}  # by name of the space
        self._panel: _Panel | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None  # that follows, while it does
        self._block: asyncio.Task[Any] | None = None  # that is inside the async with block
        self._is_watching = asyncio.Event()
        self._cancellations_before = 0
        self._was_stopped = False

    def __repr__(self) -> str:
        name = self._source.name if isinstance(self._source, TupleSpace) else "all spaces"
        return f"<LiveView of {shortened(name, 24)}>"

    @property
    def words(self) -> str:
        """What is true now, in words."""
        return picture_of(self._frame(), ["load", "space"]).words

    # ------------------------------------------------------------------------------------------------
    # From the beginning to the end

    async def __aenter__(self) -> LiveView:
        self._block = asyncio.current_task()
        assert self._block is not None
        self._cancellations_before = self._block.cancelling()
        self._start()
        if get_ipython() is not None:  # elsewhere there is nobody to see it
            display(self)  # type: ignore[no-untyped-call]
        await self._is_watching.wait()  # so that nothing of the block is missed
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        block, self._block = self._block, None
        assert block is not None
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])
        except asyncio.CancelledError:
            if not self._was_stopped:
                raise
            kind = asyncio.CancelledError  # Stop was clicked in the last moment of the block
        if not self._was_stopped or block.uncancel() > self._cancellations_before:
            return False  # somebody else wants the block to be cancelled as well
        return kind is not None and issubclass(kind, asyncio.CancelledError)

    def stop(self) -> None:
        """Do what the *Stop* button does: end the block, or, where there is none, the view."""
        self._was_stopped = True
        if self._block is not None:
            self._block.cancel()
        elif self._task is not None:
            self._task.cancel()

    def close(self) -> None:
        """End the view and take its widgets away. Closing twice does nothing more."""
        if self._task is not None:
            self._task.cancel()
        if self._panel is not None:
            self._panel.close()
            self._panel = None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        self._start()
        assert self._panel is not None
        return {**self._panel.box._repr_mimebundle_(), "text/plain": repr(self)}

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            raise RuntimeError(
                "A LiveView shows real time, and this program runs in virtual time. Use Player(main), which "
                "shows any moment of a simulated run."
            )
        self._loop = loop
        if self._panel is None:
            self._panel = _Panel(lambda: loop.call_soon_threadsafe(self.stop))
            close_with_cell(self, repr(self))
        if self._task is None:
            self._state = State()
            self._watches = {}
            self._was_stopped = False
            self._is_watching.clear()
            self._task = asyncio.create_task(self._follow(), name="live view")

    # ------------------------------------------------------------------------------------------------
    # Following

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with AsyncExitStack() as stack:
                while self._follows_something():
                    began = loop.time()
                    await self._watch_new_spaces(stack)
                    self._is_watching.set()
                    self._show_now()
                    await asyncio.sleep(max(PERIOD, (loop.time() - began) / BUSY_SHARE))
        except Exception as error:
            self._show_error(error)
        finally:
            self._is_watching.set()
            self._show_now()  # the last state is always shown
            self._task = None
            if self._panel is not None:
                self._panel.stop.disabled = True

    def _spaces(self) -> list[TupleSpace]:
        if isinstance(self._source, TupleSpace):
            return [self._source]
        return self._source.spaces()

    def _follows_something(self) -> bool:
        return not self._watches or any(not watch.is_over for watch in self._watches.values())

    async def _watch_new_spaces(self, stack: AsyncExitStack) -> None:
        for space in self._spaces():
            if space.name not in self._watches:
                watch = await stack.enter_async_context(space.watch())
                tuples = await space.read_all()
                waiters = await space.waiters()
                watch.pending()  # what happened before this moment is in these two lists already
                self._watches[space.name] = watch
                for fields in tuples:
                    self._note("write", space, "", fields)
                for waiter in waiters:
                    detail = {"operation": waiter.operation, "pattern": waiter.pattern}
                    self._note("wait", space, waiter.actor, (), detail)

    def _note(
        self,
        kind: str,
        space: TupleSpace,
        actor: str,
        fields: tuple[Any, ...],
        detail: dict[str, Any] | None = None,
    ) -> None:
        assert self._loop is not None
        self._state.apply(Event(0, self._loop.time(), actor, kind, space.name, fields, detail or {}))

    # ------------------------------------------------------------------------------------------------
    # Showing

    def _frame(self) -> Frame:
        return live_frame(self._state, self._latest)

    def _show_now(self) -> None:
        """Read the events that have come, and show what is true after them."""
        try:
            for watch in self._watches.values():
                for event in watch.pending():
                    self._state.apply(event)
                    self._latest = event
            if self._panel is not None and self._panel.show(self._frame()):
                self.updates += 1
        except Exception as error:  # what a learner's objects do must not end the view
            self._show_error(error)

    def _show_error(self, error: Exception) -> None:
        if self._panel is not None:
            self._panel.alerts.value = alert(f"{type(error).__name__}: {error}")


class _Panel:
    """The widgets of a live view."""

    def __init__(self, stop: Any) -> None:
        self.picture = widgets.HTML()
        self.alerts = widgets.HTML()
        self.stop = button("Stop", "end it", stop)
        self.box = widgets.VBox(
            [self.picture, self.alerts, self.stop], layout=widgets.Layout(align_items="flex-start")
        )

    def show(self, frame: Frame) -> bool:
        """Show a frame, as one message to the page; tell whether it looks different from the last one."""
        picture = f"{picture_of(frame, ['load', 'space'])}<div>{safe(frame.latest)}&nbsp;</div>"
        is_new = picture != self.picture.value
        self.picture.value = picture
        return bool(is_new)

    def close(self) -> None:
        """Take the widgets away."""
        close_all(self.box)
