"""The generated notebooks: fresh, true in every way of running them, and alike on every machine.

That each cell still gives the outputs that are committed is tested by nbval, in the same run of pytest. This
file tests what nbval does not see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from kernel_help import Answer, Kernel, comparable, kernel
from nbformat import NotebookNode

import tutorial_lib
from tutorial_lib.course import build, rules

ROOT = Path(__file__).parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXERCISES = sorted((ROOT / "exercises").glob("*.ipynb"))
WITH_OUTPUTS = [
    path for folder in ("notebooks", "solutions") for path in sorted((ROOT / folder).rglob("*.ipynb"))
]


def name(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


def code_cells(path: Path) -> list[NotebookNode]:
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def compared(cells: list[NotebookNode], answers: list[Answer]) -> list[tuple[NotebookNode, Answer]]:
    """Pair cells and answers, without those whose outputs are measured or need a server."""
    pairs = zip(cells, answers, strict=True)
    return [(cell, answer) for cell, answer in pairs if rules.UNCOMPARED not in tags(cell)]


def fitting(answer: Answer, cell: NotebookNode) -> bool:
    """Tell whether a cell was answered as its tags promise."""
    return answer.status == ("error" if "raises-exception" in tags(cell) else "ok")


# ---------------------------------------------------------------------------------------------------
# As they lie in the repository


def test_the_toolbox_shows_every_operation() -> None:
    """Each public name, and each operation of a space. What is only returned may stay unnamed."""
    notebook = (ROOT / "notebooks" / "toolbox.ipynb").read_text(encoding="utf-8")
    hooks = {"load_ipython_extension", "unload_ipython_extension"}
    only_returned = {"Claim", "Event", "Run", "SpaceManager", "SpaceStats"}
    operations = {
        *tutorial_lib.__all__,
        *("write", "write_many", "take", "read", "try_take", "try_read", "take_all", "read_all", "count"),
        *("replace", "claim", "watch", "close", "stats", "waiters"),
    }
    words = set(re.findall(r"\w+", notebook))
    assert operations - hooks - only_returned - words == set()


def test_the_generated_notebooks_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    """What lies there is just what the build made of the present sources, and no stray lies beside it."""
    status = build.main(["--check", "--root", str(ROOT)])
    assert (status, capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize("path", WITH_OUTPUTS, ids=name)
def test_every_cell_has_been_run_in_order(path: Path) -> None:
    """The prompts count 1, 2, 3: the outputs come from one run from top to bottom."""
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@pytest.mark.parametrize("path", WITH_OUTPUTS, ids=name)
def test_no_output_differs_from_machine_to_machine(path: Path) -> None:
    """No path of a machine, address of an object, date or time of day is shown."""
    problems = [
        problem
        for cell in code_cells(path)
        for output in cell.outputs
        for problem in rules.output_problems(build.output_text(output), cell.id)
    ]
    assert problems == []


@pytest.mark.parametrize("path", WITH_OUTPUTS, ids=name)
def test_nothing_is_written_to_stderr(path: Path) -> None:
    """Warnings differ between versions; a lesson has none."""
    assert [cell.id for cell in code_cells(path) for o in cell.outputs if o.get("name") == "stderr"] == []


@pytest.mark.parametrize("path", WITH_OUTPUTS, ids=name)
def test_cells_fail_only_where_they_are_meant_to(path: Path) -> None:
    """The cells with an error in the output are those tagged raises-exception, and only those."""
    failed = [c.id for c in code_cells(path) if any(o.output_type == "error" for o in c.outputs)]
    assert failed == [cell.id for cell in code_cells(path) if "raises-exception" in tags(cell)]


@pytest.mark.parametrize("path", [*WITH_OUTPUTS, *EXERCISES], ids=name)
def test_cell_ids_say_lesson_and_place(path: Path) -> None:
    """Each id is the lesson's number or name and a rising number, so that it stays the same in a rebuild."""
    ids = [cell.id for cell in code_cells(path)]
    prefix = re.match(r"\d\d(?=_)|.*", path.stem)[0]
    assert all(re.fullmatch(rf"{prefix}-\d\d\d", cell_id) for cell_id in ids)
    assert ids == sorted(set(ids))


def test_exercises_are_shipped_without_outputs() -> None:
    """The learner's notebooks start empty."""
    cells = [cell for path in EXERCISES for cell in code_cells(path)]
    assert [cell.id for cell in cells if cell.outputs or cell.execution_count is not None] == []


# ---------------------------------------------------------------------------------------------------
# Run All


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_all_cells_queued_at_once_answer_in_order_as_committed(path: Path) -> None:
    """Run All queues every cell at once. Each is answered, in order, with the outputs that are committed;
    nothing arrives after a cell has ended, and no task dies unseen."""
    cells = code_cells(path)
    with kernel() as running:
        answers = running.answers([running.send(cell.source, cell.id, tags(cell)) for cell in cells])
        late = running.late_messages(seconds=0.5)
        unseen = running.run(build.UNSEEN).text
    assert [cell.id for cell, answer in zip(cells, answers, strict=True) if not fitting(answer, cell)] == []
    pairs = compared(cells, answers)
    assert [comparable(answer.outputs) for _, answer in pairs] == [
        comparable(cell.outputs) for cell, _ in pairs
    ]
    assert [late, *(answer.late for answer in answers)] == [[]] * (len(cells) + 1)
    assert unseen == ""


def test_exercises_run_from_top_to_bottom_as_shipped() -> None:
    """A learner may press Run All before writing anything: every cell is answered, without an error."""
    errors = {}
    for path in EXERCISES:
        cells = code_cells(path)
        with kernel() as running:
            answers = running.answers([running.send(cell.source, cell.id, tags(cell)) for cell in cells])
        pairs = zip(cells, answers, strict=True)
        errors[name(path)] = [answer.error for cell, answer in pairs if not fitting(answer, cell)]
    assert errors == {name(path): [] for path in EXERCISES}


# ---------------------------------------------------------------------------------------------------
# Run twice, and stopped


class Played(NamedTuple):
    """A lesson of which every cell was run twice in a row, and the kernel in which it was."""

    cells: list[NotebookNode]
    first: list[Run]
    second: list[Run]
    kernel: Kernel


class Run(NamedTuple):
    """One run of one cell: the answer, and how many tasks there were afterwards."""

    answer: Answer
    tasks: str


@pytest.fixture(scope="module", params=LESSONS, ids=name)
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    cells = code_cells(request.param)
    first, second = [], []
    with kernel() as running:
        for cell in cells:
            for runs in (first, second):
                answer = running.run(cell.source, cell.id, tags(cell))
                tasks = running.run("import asyncio\nprint(len(asyncio.all_tasks()))").text
                runs.append(Run(answer, tasks))
        yield Played(cells, first, second, running)


def test_every_cell_may_be_run_twice(played: Played) -> None:
    """It is answered without an error, or with the one that it shows on purpose."""
    second = zip(played.cells, played.second, strict=True)
    assert [cell.id for cell, run in second if not fitting(run.answer, cell)] == []


def test_a_cell_run_twice_leaves_no_more_tasks_than_run_once(played: Played) -> None:
    """Workers, monitors and views are never doubled."""
    assert [run.tasks for run in played.second] == [run.tasks for run in played.first]


def test_a_cell_run_twice_shows_the_same_again(played: Played) -> None:
    """What is simulated starts anew each time. Only a cell that acts on a space of the notebook itself shows
    something else: a second take takes the next tuple."""
    changed = [
        cell.id
        for cell, first, second in zip(played.cells, played.first, played.second, strict=True)
        if comparable(first.answer.outputs) != comparable(second.answer.outputs)
        if "await" not in cell.source or "simulate(" in cell.source
        if "%load_ext" not in cell.source  # IPython answers that it is loaded already
        if rules.UNCOMPARED not in tags(cell)
    ]
    assert changed == []


def test_stop_acts_at_once_while_a_lesson_waits(played: Played) -> None:
    """A cell that waits for ever is ended by Stop, and the next cell runs."""
    request = played.kernel.send("print('waiting')\nimport asyncio\nawait asyncio.Event().wait()")
    played.kernel.wait_for_output(request)
    played.kernel.stop()
    assert played.kernel.answers([request])[0].status == "error"
    assert played.kernel.run("print('on we go')").text == "on we go\n"


# ---------------------------------------------------------------------------------------------------
# The guard itself: notebooks that must fail, do

ENDS_BY_ITSELF, HANGS = 30.0, 2.0  # seconds a cell may take


@pytest.mark.parametrize(
    ("canary", "cell_timeout", "problem"),
    [
        ("exception_group", HANGS, "cell exception_group-1 .* did not end within 2 s"),
        ("stderr", ENDS_BY_ITSELF, "cell stderr-2 .* writes to stderr: careful"),
        ("dead_task", ENDS_BY_ITSELF, "a task died and nobody was told: w1: ValueError: bad"),
        ("endless_take", HANGS, "cell endless_take-2 .* did not end within 2 s"),
        ("tight_loop", HANGS, "cell tight_loop-2 .* did not end within 2 s"),
        ("kernel_exit", ENDS_BY_ITSELF, "cell kernel_exit-2 .* ended the kernel"),
    ],
)
def test_a_broken_notebook_is_caught(canary: str, cell_timeout: float, problem: str) -> None:
    """Each kind of failure that passes or stalls elsewhere is noticed, and the cell is named."""
    path = ROOT / "tests" / "notebooks" / f"{canary}.ipynb"
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    problems = build.run(notebook, cell_timeout=cell_timeout)
    assert len(problems) == 1
    assert re.match(problem, problems[0])


@pytest.mark.parametrize("path", EXERCISES, ids=name)
def test_every_stub_has_its_task_above_it(path: Path) -> None:
    """A learner's notebook says under a heading of its own what is to be written in each stub."""
    tasks: list[str] = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            tasks.append(cell.source)
        elif cell.cell_type == "code" and "raise NotAttempted" in cell.source:
            assert tasks.pop().count("\n") > 1
