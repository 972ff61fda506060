"""The board of a class in a notebook: live, with the three buttons, and gone when its cell is run again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from ipywidgets.widgets.widget import _instances

from tests.kernel_help import kernel
from tutorial_lib import connect, simulate
from tutorial_lib.classroom.board_buttons import BUTTONS
from tutorial_lib.classroom.host import Classroom
from tutorial_lib.classroom.widget import ClassBoard

Scene = Callable[[ClassBoard, Classroom], Awaitable[Any]]


async def eventually(condition: Callable[[], Any]) -> None:
    """Let the loop run until ``condition()`` holds."""
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.01)


def shown(scene: Scene) -> Any:
    """Play a scene with a board of an empty class, and return what it returns."""

    async def main() -> Any:
        async with connect("memory://") as manager:
            room = Classroom(manager, "redis://student:secret@127.0.0.1:6379/0")
            await room.open()
            async with ClassBoard(room) as board:
                return await scene(board, room)

    return asyncio.run(main())


def buttons(board: ClassBoard) -> dict[str, Any]:
    """Return the buttons of a board by their words."""
    assert board._panel is not None
    return {one.description: one for one in board._panel.buttons}


def test_it_shows_the_class_live() -> None:
    """The same picture as on the page, with the same words."""

    async def scene(board: ClassBoard, room: Classroom) -> tuple[str, str]:
        await room.manager.space("class").write("machine", "anna", 8, "Linux", ttl=60)
        await eventually(lambda: "anna" in board.words)
        assert board._panel is not None
        return board._panel.picture.value, board.words

    picture, words = shown(scene)
    assert picture.startswith("<svg")
    assert ">anna</text>" in picture
    assert words.endswith("anna joined: 8 cores, Linux")


def test_its_three_buttons_do_what_they_say() -> None:
    """Hand out, reset, end; each answers in words."""

    async def scene(board: ClassBoard, room: Classroom) -> list[str]:
        assert board._panel is not None
        board._panel.job.value = "nap"
        replies = []
        for words in BUTTONS.values():
            before = board._panel.reply.value
            buttons(board)[words].click()
            await eventually(lambda before=before: board._panel.reply.value != before)
            replies.append(board._panel.reply.value)
        assert room.over.is_set()
        return replies

    assert shown(scene) == ["40 tasks are handed out.", "Round 2 begins.", "The class ends."]


def test_a_click_that_fails_says_why() -> None:
    """In the board, since nobody else would see it."""

    async def scene(board: ClassBoard, room: Classroom) -> str:
        assert board._panel is not None
        await room.manager.space("tasks 1").close()
        buttons(board)["Hand out work"].click()
        await eventually(lambda: board._panel.reply.value)
        return board._panel.reply.value

    assert "SpaceClosed" in shown(scene)


def test_the_end_of_the_class_is_shown_and_the_buttons_rest() -> None:
    """There is nothing more to press."""

    async def scene(board: ClassBoard, room: Classroom) -> bool:
        await room.manager.space("class").close()
        await eventually(lambda: all(one.disabled for one in buttons(board).values()))
        return board.words.endswith("the class is over")

    assert shown(scene)


def test_nothing_is_left_of_a_board() -> None:
    """No task, no watch, and when it is closed no widget, whether it had a block or not."""

    async def main() -> tuple[int, int]:
        async with connect("memory://") as manager:
            room = Classroom(manager, "redis://student:secret@127.0.0.1:6379/0")
            await room.open()
            with_block, without = ClassBoard(room), ClassBoard(room)
            async with with_block:
                without._repr_mimebundle_()
                await eventually(lambda: "Round 1" in without.words)
            with_block.close()
            without.close()
            without.close()
            await eventually(lambda: len(asyncio.all_tasks()) == 1)
            return len(asyncio.all_tasks()), len(manager.space("class")._watches)

    before = set(_instances)
    assert asyncio.run(main()) == (1, 0)
    assert set(_instances) == before


def test_virtual_time_is_refused() -> None:
    """A minute of class would pass in a moment."""

    async def main() -> None:
        async with ClassBoard(Classroom(connect("memory://"), "redis://127.0.0.1")):
            pass

    with pytest.raises(RuntimeError, match="real time"):
        simulate(main)


def test_what_is_no_room_is_refused() -> None:
    """The message says what to write."""
    with pytest.raises(TypeError, match=r"ClassBoard\(room\)"):
        ClassBoard("room")  # type: ignore[arg-type]


SETUP = """
import asyncio
from tutorial_lib import connect
from tutorial_lib.classroom.host import Classroom
from tutorial_lib.classroom.widget import ClassBoard
room = Classroom(connect("memory://"), "redis://student:secret@127.0.0.1:6379/0")
await room.open()
"""


def test_running_a_cell_again_ends_the_old_board() -> None:
    """In a notebook: one board, one task, and nothing is printed after the cell has ended."""
    with kernel() as notebook:
        assert notebook.run(SETUP).status == "ok"
        count = "import ipywidgets.widgets.widget as w; print(len(w._instances), len(asyncio.all_tasks()))"
        board = notebook.run("ClassBoard(room)", cell_id="one")
        assert board.outputs[0].data["text/plain"] == "<ClassBoard>"
        first = notebook.run(count, cell_id="two").text
        for _ in range(5):
            notebook.run("ClassBoard(room)", cell_id="one")
        assert notebook.run(count, cell_id="two").text == first
        assert notebook.late_messages(0.5) == []
