"""The live view: what happens in a space while it happens.

It shows real time, so these tests run on an ordinary loop. None of them asks how long something took.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ipywidgets.widgets.widget import _instances

from tests.kernel_help import kernel
from tutorial_lib import TupleSpace, actor, connect
from tutorial_lib.simulation import simulate
from tutorial_lib.views.live import LiveView


async def eventually(condition: Any) -> None:
    """Let the loop run until ``condition()`` holds."""
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.01)


def test_it_shows_what_is_in_the_space_and_who_took_what() -> None:
    """Tuples, waiters, and the load of each taker."""

    async def main() -> str:
        space = TupleSpace("tasks")
        async with LiveView(space) as view:
            for number in range(3):
                await space.write("task", number)
            with actor("w1"):
                await space.take("task", int)
            with actor("w2"):
                waiting = asyncio.create_task(space.take("result", int))
            await eventually(lambda: "w2 waits to take ('result', int)" in view.words)
            waiting.cancel()
            return view.words

    words = asyncio.run(main())
    assert "w1                 1" in words
    assert "  ('task', 1)\n  ('task', 2)  newest" in words


def test_it_knows_what_was_there_before() -> None:
    """Tuples and waiters from before the view are shown, and each only once."""

    async def main() -> str:
        space = TupleSpace("tasks")
        await space.write("task", 1)
        with actor("w1"):
            waiting = asyncio.create_task(space.take("result", int))
        await asyncio.sleep(0)
        async with LiveView(space) as view:
            await space.write("task", 2)
        waiting.cancel()
        return view.words

    words = asyncio.run(main())
    assert words.count("('task', 1)") == words.count("('task', 2)") == 1
    assert words.count("w1 waits to take ('result', int)") == 1


def test_what_happens_while_it_starts_is_counted_once() -> None:
    """It reads what is there and what happens, and the two neither overlap nor leave a gap."""

    async def main() -> bool:
        space = TupleSpace("tasks")

        async def hurry() -> None:
            for number in range(20):
                await space.write("task", number)
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            group.create_task(hurry())
            await asyncio.sleep(0)
            async with LiveView(space) as view:
                await eventually(lambda: view.words.count("('task', ") == 20)
                return "tasks: 20 tuples." in view.words

    assert asyncio.run(main())


def test_the_last_state_is_always_shown() -> None:
    """A burst ends between two pictures, and is drawn all the same."""

    async def main() -> tuple[str, int]:
        space = TupleSpace("tasks")
        async with LiveView(space) as view:
            for number in range(5_000):
                await space.write("task", number)
        return view._panel.picture.value, view.updates  # type: ignore[union-attr]

    picture, updates = asyncio.run(main())
    assert "(&#x27;task&#x27;, 4999)" in picture
    assert updates <= 3  # never one message for one tuple


def test_nothing_new_is_not_sent() -> None:
    """A quiet space costs no messages."""

    async def main() -> int:
        space = TupleSpace("tasks")
        async with LiveView(space) as view:
            await eventually(lambda: view.updates)
            await asyncio.sleep(0.35)
            return view.updates

    assert asyncio.run(main()) == 1


def test_all_spaces_of_a_manager_are_shown_also_later_ones() -> None:
    """A space that is made while the view runs joins it."""

    async def main() -> str:
        async with connect() as manager:
            await manager.space("tasks").write("task", 1)
            async with LiveView(manager) as view:
                await manager.space("results").write("result", 1)
                await eventually(lambda: "results: 1 tuple" in view.words)
                return view.words

    assert "tasks: 1 tuple" in asyncio.run(main())


def test_stop_ends_the_block_and_the_cell_goes_on() -> None:
    """What the block awaits is cancelled; the cancellation ends with the block."""

    async def main() -> list[str]:
        steps = []
        view = LiveView(TupleSpace())
        async with view:
            asyncio.get_running_loop().call_later(0.01, view._panel.stop.click)  # type: ignore[union-attr]
            try:
                await asyncio.sleep(3600)
            finally:
                steps.append("cancelled")
        steps.append("goes on")
        await asyncio.sleep(0)
        return steps

    assert asyncio.run(main()) == ["cancelled", "goes on"]


def test_a_view_can_be_used_again() -> None:
    """It begins anew, with what is in the space then."""

    async def main() -> list[str]:
        space = TupleSpace("tasks")
        view = LiveView(space)
        async with view:
            await space.write("task", 1)
        await space.take("task", 1)
        async with view:
            await space.write("task", 2)
        return view.words.splitlines()[-2:]

    assert asyncio.run(main()) == ["tasks: 1 tuple.", "  ('task', 2)  newest"]


def test_another_cancellation_is_not_swallowed() -> None:
    """Only its own."""

    async def main() -> None:
        async with asyncio.timeout(0.01), LiveView(TupleSpace()):
            await asyncio.sleep(3600)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_an_error_in_the_block_leaves_it() -> None:
    """The view ends, and the error goes on."""

    async def main() -> None:
        async with LiveView(TupleSpace()):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())


def test_nothing_is_left_of_a_view() -> None:
    """No task, no watch, and when it is closed no widget, whether it had a block or not."""

    async def main() -> tuple[int, int]:
        space = TupleSpace()
        with_block, without = LiveView(space), LiveView(space)
        async with with_block:
            without._repr_mimebundle_()
            await asyncio.sleep(0)
        with_block.close()
        without.close()
        await eventually(lambda: len(asyncio.all_tasks()) == 1)
        return len(asyncio.all_tasks()), len(space._watches)

    before = set(_instances)
    assert asyncio.run(main()) == (1, 0)
    assert set(_instances) == before


def test_it_ends_when_the_space_is_closed() -> None:
    """There is nothing more to see."""

    async def main() -> str:
        space = TupleSpace("tasks")
        view = LiveView(space)
        view._repr_mimebundle_()
        await eventually(lambda: view.updates)
        await space.close()
        await eventually(lambda: len(asyncio.all_tasks()) == 1)
        return view.words

    assert asyncio.run(main()).endswith("tasks: 0 tuples, closed.")


def test_an_error_while_drawing_is_shown_in_the_panel() -> None:
    """And it does not harm the program."""

    async def main() -> str:
        space = TupleSpace()
        async with LiveView(space) as view:
            view._state.apply = None  # type: ignore[method-assign, assignment]
            await space.write("task", 1)
            await eventually(lambda: view._panel.alerts.value)  # type: ignore[union-attr]
            return view._panel.alerts.value  # type: ignore[union-attr]

    assert "TypeError" in asyncio.run(main())


def test_virtual_time_is_refused() -> None:
    """An hour would pass in a moment, with thousands of pictures. The message names the player."""

    async def main() -> None:
        async with LiveView(TupleSpace()):
            pass

    with pytest.raises(RuntimeError, match="Player"):
        simulate(main)


def test_what_is_no_space_is_refused() -> None:
    """The message says what to write."""
    with pytest.raises(TypeError, match="LiveView\\(space\\)"):
        LiveView("tasks")  # type: ignore[arg-type]


CELL = """
import asyncio
from tutorial_lib import TupleSpace
from tutorial_lib.views.live import LiveView
space = TupleSpace("tasks")
LiveView(space)
"""


def test_running_a_cell_again_ends_the_old_view() -> None:
    """In a notebook: one view, one task, and nothing is printed after the cell has ended."""
    with kernel() as notebook:
        count = "import ipywidgets.widgets.widget as w; print(len(w._instances), len(asyncio.all_tasks()))"
        assert notebook.run(CELL, cell_id="one").outputs[0].data["text/plain"] == "<LiveView of tasks>"
        first = notebook.run(count, cell_id="two").text
        for _ in range(5):
            notebook.run(CELL, cell_id="one")
        assert notebook.run(count, cell_id="two").text == first
        assert notebook.late_messages(0.5) == []
