"""``%load_ext tutorial_lib``: what it promises, tried on a real kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from kernel_help import Kernel, kernel

from tutorial_lib import notebook

FAIL = "async def fail(text='bad'):\n    raise ValueError(text)\n"


@pytest.fixture(scope="module")
def shared() -> Iterator[Kernel]:
    """A kernel with the extension loaded; each test leaves it as it found it."""
    with kernel() as running:
        answer = running.run(
            "%load_ext tutorial_lib\nimport asyncio\nfrom tutorial_lib import notebook\n" + FAIL
        )
        assert answer.status == "ok"
        yield running


def test_an_exception_group_is_an_error_of_its_cell(shared: Kernel) -> None:
    """The cell is answered with an error message, and nothing is written to stderr."""
    answer = shared.run("raise ExceptionGroup('two failed', [ValueError('bad'), KeyError('x')])")
    assert answer.status == "error"
    assert answer.error == "ExceptionGroup: two failed (2 sub-exceptions)"
    assert answer.text == ""


def test_an_exception_group_is_shown_as_a_tree(shared: Kernel) -> None:
    """The tree names every member, an exception a line."""
    answer = shared.run("raise ExceptionGroup('two failed', [ValueError('bad'), KeyError('x')])")
    assert answer.outputs[0].traceback == [
        "ExceptionGroup: two failed (2 sub-exceptions)",
        "├── ValueError: bad",
        "└── KeyError: 'x'",
    ]


def test_an_exception_group_in_the_first_awaiting_cell_is_answered() -> None:
    """Without the extension the kernel never answers when no plain cell has run before."""
    with kernel() as running:
        loading = "from tutorial_lib import notebook\nnotebook.load_ipython_extension(get_ipython())\n"
        answer = running.run(
            loading + "await __import__('asyncio').sleep(0)\nraise ExceptionGroup('one', [ValueError('bad')])"
        )
    assert answer.status == "error"
    assert answer.error.startswith("ExceptionGroup: one")


def test_a_task_that_died_unseen_is_named_at_the_end_of_the_cell(shared: Kernel) -> None:
    """It is named although somebody still holds the task, where Python itself says nothing."""
    answer = shared.run("task = asyncio.create_task(fail(), name='w1')\nawait asyncio.sleep(0.01)")
    assert answer.text == (
        "a task died and nobody was told: w1: ValueError: bad. Await it, or start it in a TaskGroup.\n"
    )
    shared.run("notebook.unseen_errors()")


def test_a_task_that_dies_between_cells_is_named_at_the_end_of_the_next(shared: Kernel) -> None:
    """A plain cell without await tells it too."""
    assert shared.run("task = asyncio.create_task(fail())").text == ""
    assert "nobody was told: fail: ValueError: bad" in shared.run("2 + 2").text
    shared.run("notebook.unseen_errors()")


def test_a_task_without_a_name_of_its_own_is_named_after_its_function(shared: Kernel) -> None:
    """Automatic names such as Task-7 differ from run to run and say nothing."""
    answer = shared.run("task = asyncio.create_task(fail())\nawait asyncio.sleep(0.01)")
    assert "nobody was told: fail: ValueError" in answer.text
    shared.run("notebook.unseen_errors()")


def test_unseen_errors_returns_each_death_once(shared: Kernel) -> None:
    """Who asks has been told; the next question gives nothing."""
    shared.run("task = asyncio.create_task(fail())\nawait asyncio.sleep(0.01)")
    assert shared.run("print(len(notebook.unseen_errors()), notebook.unseen_errors())").text == "1 []\n"


@pytest.mark.parametrize(
    "told",
    [
        "try:\n    await asyncio.create_task(fail())\nexcept ValueError:\n    pass",
        "await asyncio.gather(fail(), fail(), return_exceptions=True)",
        "try:\n    async with asyncio.TaskGroup() as g: g.create_task(fail())\nexcept* ValueError: pass",
        "done, _ = await asyncio.wait([asyncio.create_task(fail())])\n[t.exception() for t in done]",
        "task = asyncio.create_task(asyncio.sleep(9))\ntask.cancel()\nawait asyncio.sleep(0.01)",
    ],
    ids=["awaited", "gathered", "task group", "asked", "cancelled"],
)
def test_a_death_that_somebody_was_told_of_is_not_named(shared: Kernel, told: str) -> None:
    """Awaited, gathered, grouped or asked for: the error has reached its owner."""
    answer = shared.run(told)
    assert answer.status == "ok"
    assert answer.text == ""
    assert shared.run("await asyncio.sleep(0.01)\nprint(notebook.unseen_errors())").text == "[]\n"


def test_an_error_that_reaches_only_the_loop_is_named(shared: Kernel) -> None:
    """A callback has no owner that could be told; its error is shown in the cell and not on stderr."""
    answer = shared.run("asyncio.get_running_loop().call_soon(int, 'x')\nawait asyncio.sleep(0.01)")
    assert answer.text.startswith("an error reached nobody: ValueError: invalid literal")
    assert [output.name for output in answer.outputs] == ["stdout"]
    shared.run("notebook.unseen_errors()")


def test_stop_acts_while_a_cell_awaits(shared: Kernel) -> None:
    """Nothing else happens in the loop, and still the cell ends; the notebook goes on."""
    request = shared.send("print('waiting')\nawait asyncio.Event().wait()")
    shared.wait_for_output(request)
    shared.stop()
    assert shared.answers([request])[0].status == "error"
    assert shared.run("print('on we go')").text == "on we go\n"


START_WORKERS = """
async def work():
    while True:
        await asyncio.sleep(0.001)

workers = [asyncio.create_task(work(), name=f"w{n}") for n in (1, 2, 3)]
"""
COUNT_WORKERS = """
await asyncio.sleep(0)
print(sorted(t.get_name() for t in asyncio.all_tasks() if t.get_name() in ("w1", "w2", "w3")))
"""


def test_a_cell_run_again_does_not_double_its_tasks(shared: Kernel) -> None:
    """The tasks of the first run are cancelled before the second run begins."""
    for _ in range(3):
        shared.run(START_WORKERS, cell_id="start")
    assert shared.run(COUNT_WORKERS, cell_id="count").text == "['w1', 'w2', 'w3']\n"
    shared.run("for worker in workers: worker.cancel()")


def test_a_cell_run_again_cancels_what_its_tasks_started(shared: Kernel) -> None:
    """Tasks of tasks belong to the same cell, also when that cell awaits."""
    start = (
        "async def boss():\n    asyncio.create_task(work(), name='w1')\n\nawait asyncio.create_task(boss())"
    )
    shared.run(START_WORKERS.replace("(1, 2, 3)", "()"))
    for _ in range(2):
        shared.run(start, cell_id="boss")
    assert shared.run(COUNT_WORKERS).text == "['w1']\n"
    shared.run("pass", cell_id="boss")


def test_another_cell_leaves_running_tasks_alone(shared: Kernel) -> None:
    """Only the cell that started the tasks ends them, however often others run."""
    shared.run(START_WORKERS, cell_id="start")
    for cell_id in ("other", "other", None):
        shared.run("await asyncio.sleep(0)", cell_id=cell_id)
    assert shared.run(COUNT_WORKERS).text == "['w1', 'w2', 'w3']\n"
    shared.run("for worker in workers: worker.cancel()")


def test_loading_twice_is_the_same_as_loading_once(shared: Kernel) -> None:
    """Also by another way than the magic: a death is named once."""
    shared.run("notebook.load_ipython_extension(get_ipython())")
    answer = shared.run("task = asyncio.create_task(fail())\nawait asyncio.sleep(0.01)")
    assert answer.text.count("nobody was told") == 1
    shared.run("notebook.unseen_errors()")


def test_unloading_gives_everything_back(shared: Kernel) -> None:
    """The loop has its own task factory and handler again, and the shell no hooks of ours."""
    shared.run("%unload_ext tutorial_lib")
    probe = (
        "loop = asyncio.get_running_loop()\n"
        "print(loop.get_task_factory(), loop.get_exception_handler(), get_ipython().custom_exceptions)"
    )
    assert shared.run(probe).text == "None None ()\n"
    assert shared.run("%load_ext tutorial_lib").status == "ok"


class Shell:
    """Stands in for IPython: keeps the hooks, to be called by the test."""

    def __init__(self) -> None:
        self.hooks: dict = {}
        self.events = SimpleNamespace(register=self.hooks.__setitem__, unregister=lambda *hook: None)

    def set_custom_exc(self, *handler: object) -> None:
        """Accept a handler for exception groups, for which these tests have no use."""

    def begin_cell(self, cell_id: str) -> None:
        """Do what IPython does when a cell begins."""
        self.hooks["pre_run_cell"](SimpleNamespace(cell_id=cell_id))

    def end_cell(self) -> None:
        """Do what IPython does when a cell has ended."""
        self.hooks["post_run_cell"](None)


def test_nothing_is_left_running_while_no_cell_runs() -> None:
    """The pulse that lets Stop act beats only while a cell runs."""

    async def main() -> tuple[list, list]:
        shell = Shell()
        notebook.Watch(shell)
        shell.begin_cell("a")
        during = armed_timers()
        shell.end_cell()
        return during, armed_timers()

    during, after = asyncio.run(main())
    assert len(during) == 1
    assert after == []


def test_a_task_started_between_cells_belongs_to_no_cell() -> None:
    """Such tasks are the kernel's own; running the last cell again must not cancel them."""

    async def main() -> bool:
        shell = Shell()
        notebook.Watch(shell)
        shell.begin_cell("a")
        shell.end_cell()
        task = asyncio.create_task(asyncio.sleep(0))
        shell.begin_cell("a")
        await asyncio.wait([task])
        return task.cancelled()

    assert not asyncio.run(main())


def armed_timers() -> list:
    """Return the timers of the running loop that will still fire."""
    return [timer for timer in asyncio.get_running_loop()._scheduled if not timer.cancelled()]


def test_tasks_keep_their_automatic_names() -> None:
    """Python 3.13.0 calls every unnamed task of a task factory None; ours are Task-2, Task-3 as ever."""

    async def main() -> str:
        task = notebook.NotebookTask(asyncio.sleep(0))
        task.set_name(None)
        await task
        return task.get_name()

    assert asyncio.run(main()).startswith("Task-")


def test_without_a_running_loop_loading_says_where_it_works() -> None:
    """A terminal has no loop between cells; the message sends the learner to JupyterLab."""
    with pytest.raises(RuntimeError, match=r"needs a notebook.*Open the lesson in JupyterLab"):
        notebook.load_ipython_extension(SimpleNamespace())
