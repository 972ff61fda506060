"""Notebook: what ``%load_ext tutorial_lib`` does for the learner.

A notebook runs asyncio code well, but for four things that this extension adds:

- An exception group is an error of its cell, shown as a short tree. Without this the kernel only writes it
  to stderr, and programs that run notebooks take the cell for passed.
- A task that died while nobody awaited it is named at the end of the next cell. Without this it is never
  heard of.
- *Stop* acts at once while a cell awaits. Without this it acts when something else happens to wake the loop.
- A cell that is run again first cancels the tasks that its last run left behind. Without this there are
  twice as many workers.

Nothing is left running while no cell runs, and ``%unload_ext tutorial_lib`` undoes it all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell

__all__ = ["load_ipython_extension", "unload_ipython_extension", "unseen_errors"]

PULSE = 0.25  # seconds: the longest time that Stop waits while a cell awaits


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Prepare a notebook. IPython calls this for ``%load_ext tutorial_lib``; twice is the same as once."""
    global _watch
    if _watch is None:
        _watch = Watch(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Undo what loading did. IPython calls this for ``%unload_ext tutorial_lib``."""
    global _watch
    if _watch is not None:
        _watch.end()
        _watch = None


def unseen_errors() -> list[str]:
    """Return a sentence for each task that died unseen since the last call, and forget them.

    >>> unseen_errors()
    []
    """
    return [] if _watch is None else _watch.unseen_errors()


def group_tree(error: BaseException) -> list[str]:
    """Draw an exception group as a tree, an exception a line.

    >>> group = ExceptionGroup("two failed", [ValueError("bad"), ExceptionGroup("inner", [KeyError("x")])])
    >>> print(*group_tree(group), sep="\\n")
    ExceptionGroup: two failed (2 sub-exceptions)
    ├── ValueError: bad
    └── ExceptionGroup: inner (1 sub-exception)
        └── KeyError: 'x'
    """
    lines = [error_text(error)]
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for position, member in enumerate(members, start=1):
        first, rest = ("└── ", "    ") if position == len(members) else ("├── ", "│   ")
        head, *branches = group_tree(member)
        lines += [first + head, *(rest + branch for branch in branches)]
    return lines


def error_text(error: BaseException) -> str:
    """Write an error as its kind and message: ``ValueError: bad``."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def show_group(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType,
    tb_offset: int | None = None,
) -> list[str]:
    """Show an exception group as the error of the cell that raised it. IPython calls this."""
    lines = group_tree(error)
    shell._showtraceback(kind, error, lines)  # the only call by which IPython sends an error message
    return lines


class NotebookTask(asyncio.Task[Any]):
    """A task of a notebook."""

    def set_name(self, value: object) -> None:
        """Name the task; without a name it keeps the automatic one."""
        if value is not None:  # 3.13.0 passes None on to every unnamed task of a task factory
            super().set_name(value)


class Watch:
    """Looks after the cells and tasks of one notebook, from loading the extension to unloading it."""

    def __init__(self, shell: InteractiveShell) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "%load_ext tutorial_lib needs a notebook, where an event loop runs all the time; "
                "here none runs. Open the lesson in JupyterLab."
            ) from None
        self._shell = shell
        self._cell: ContextVar[str | None] = ContextVar("cell", default=None)
        self._running: dict[str, set[asyncio.Task[Any]]] = {}  # the tasks of each cell that have not ended
        self._dead: list[asyncio.Task[Any]] = []  # ended by an error that nobody had asked for at that time
        self._lost: list[str] = []  # errors that reached only the loop
        self._unseen: list[str] = []  # what unseen_errors has not returned yet
        self._pulse: asyncio.TimerHandle | None = None

        self._factory_before = self._loop.get_task_factory()
        self._handler_before = self._loop.get_exception_handler()
        self._loop.set_task_factory(self._make_task)
        self._loop.set_exception_handler(self._loop_has_an_error)
        shell.set_custom_exc((BaseExceptionGroup,), show_group)  # type: ignore[no-untyped-call]
        shell.events.register("pre_run_cell", self._cell_begins)
        shell.events.register("post_run_cell", self._cell_ends)
        self._beat()

    def end(self) -> None:
        """Give back the loop and the shell as they were."""
        self._stop_pulse()
        self._shell.events.unregister("post_run_cell", self._cell_ends)
        self._shell.events.unregister("pre_run_cell", self._cell_begins)
        self._shell.set_custom_exc((), None)  # type: ignore[no-untyped-call]
        self._loop.set_exception_handler(self._handler_before)
        self._loop.set_task_factory(self._factory_before)

    def unseen_errors(self) -> list[str]:
        """Return what nobody was told since the last call."""
        self._collect()
        texts, self._unseen = self._unseen, []
        return texts

    # A cell's life

    def _cell_begins(self, info: ExecutionInfo) -> None:
        self._beat()
        cell: str | None = info.cell_id  # only programs that show cells give them an id
        self._cell.set(cell)
        for task in self._running.pop(cell, ()) if cell else ():
            task.cancel("its cell was run again")

    def _cell_ends(self, _result: object) -> None:
        self._stop_pulse()
        self._cell.set(None)
        for text in self._collect():
            print(text)

    def _beat(self) -> None:
        # Stop asks the loop to cancel the cell, but does not wake it. This does.
        self._stop_pulse()
        self._pulse = self._loop.call_later(PULSE, self._beat)

    def _stop_pulse(self) -> None:
        if self._pulse is not None:
            self._pulse.cancel()

    # A task's life

    def _make_task(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        **options: Any,
    ) -> asyncio.Task[Any]:
        task = NotebookTask(coroutine, loop=loop, **options)
        cell = self._cell.get()  # inherited: the tasks that a task starts belong to its cell
        if cell is not None:
            running = self._running.setdefault(cell, set())
            running.add(task)
            task.add_done_callback(running.discard)
        task.add_done_callback(self._note_death)
        return task

    def _note_death(self, task: asyncio.Task[Any]) -> None:
        if is_unasked(task):
            self._dead.append(task)

    def _loop_has_an_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        what = context["message"] if error is None else error_text(error)
        self._lost.append(f"an error reached nobody: {what}")

    def _collect(self) -> list[str]:
        texts = [death_text(task) for task in self._dead if is_unasked(task)] + self._lost
        self._dead, self._lost = [], []
        self._unseen += texts
        return texts


def is_unasked(task: asyncio.Task[Any]) -> bool:
    """Tell whether a task was ended by an error that nobody has asked for.

    asyncio marks such tasks for its own message, which comes only when the task is thrown away. The mark
    goes when somebody awaits the task or asks for its result.
    """
    return bool(task._log_traceback)


def death_text(task: asyncio.Task[Any]) -> str:
    """Say that a task died, by its name or, if it has none of its own, by that of its function."""
    name = task.get_name()
    coroutine: Any = task.get_coro()
    who = coroutine.__qualname__ if name.startswith("Task-") else name
    error = task.exception()
    why = "" if error is None else error_text(error)
    return f"a task died and nobody was told: {who}: {why}. Await it, or start it in a TaskGroup."


_watch: Watch | None = None
