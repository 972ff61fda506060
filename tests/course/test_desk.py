"""What a learner calls: check, hint, solution, progress, reset."""

from __future__ import annotations

import json

import pytest
from answers import matching

from tutorial_lib.course.catalog import EXERCISES
from tutorial_lib.course.desk import check, hint, progress, reset, solution
from tutorial_lib.course.progress import FILE_NAME
from tutorial_lib.course.workspace import RECORD


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """A working folder, as the command makes it, with the kernel in its folder of exercises."""
    folder = tmp_path / "mine"
    (folder / "exercises").mkdir(parents=True)
    (folder / RECORD).write_text("{}", encoding="utf-8")
    monkeypatch.chdir(folder / "exercises")
    return folder


def cell(id, source, kind="code"):
    """Make a cell of a notebook file."""
    made = {"cell_type": kind, "id": id, "metadata": {}, "source": source.splitlines(keepends=True)}
    return {**made, "outputs": [], "execution_count": None} if kind == "code" else made


def write_notebook(path, *cells):
    """Write a notebook file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook), encoding="utf-8")


def sources(path):
    """Return the text of every cell of a notebook file."""
    return ["".join(each["source"]) for each in json.loads(path.read_text(encoding="utf-8"))["cells"]]


LOAD_BALANCE = [
    cell("02-001", "## Load balance", "markdown"),
    cell("02-002", "async def load_balance(tasks, process):\n    # TODO\n    raise NotAttempted"),
    cell("02-003", 'check("load-balance", load_balance)'),
]
DEAD_LETTER = [
    cell("02-004", "## Dead letter", "markdown"),
    cell("02-005", "async def consumer(tasks, results, dead, process):\n    raise NotAttempted"),
    cell("02-006", 'check("dead-letter", consumer)'),
]


@pytest.fixture
def material(tmp_path, monkeypatch):
    """The notebooks of an installed course: stubs in one, solutions in the other."""
    folder = tmp_path / "material"
    write_notebook(folder / "exercises" / "02_producer_consumer.ipynb", *LOAD_BALANCE, *DEAD_LETTER)
    write_notebook(
        folder / "solutions" / "02_producer_consumer.ipynb",
        LOAD_BALANCE[0],
        cell("02-002", "async def load_balance(tasks, process):\n    return await share(tasks, process)"),
        LOAD_BALANCE[2],
        cell("02-010", "### Another way", "markdown"),
        cell("02-011", "async def another_way(tasks, process): ..."),
        DEAD_LETTER[0],
        cell("02-005", "async def consumer(tasks, results, dead, process): ..."),
        DEAD_LETTER[2],
    )
    monkeypatch.setattr("tutorial_lib.course.desk.material_root", lambda: folder)
    return folder


# check -----------------------------------------------------------------------------------------------


def test_check_with_an_answer_returns_the_verdict(working_folder):
    """The verdict of the very answer."""
    assert check("matching", matching.five_patterns).passed
    assert check("matching", matching.four_lists).outcome == "not yet"


def test_check_alone_prints_what_is_asked(capsys):
    """The signature, the task, what is off limits, and how to go on."""
    assert check("rate-limit") is None
    printed = capsys.readouterr().out
    assert printed.startswith("async def producer(orders, tasks)\n")
    assert EXERCISES["rate-limit"].task in printed
    assert "Off limits, since you build it here: RateLimiter." in printed
    assert printed.endswith('When it is ready: check("rate-limit", producer)\n')


def test_check_with_none_is_not_attempted():
    """None is an answer that is missing, and no question for the signature."""
    assert check("matching", None).outcome == "not attempted"


def test_an_unknown_exercise_is_named_with_the_nearest():
    """A slip of the pen is told, with what may be meant."""
    with pytest.raises(ValueError, match=r"no exercise 'load_balance'. Did you mean 'load-balance'\?"):
        check("load_balance", None)


# hint and solution -----------------------------------------------------------------------------------


def test_each_hint_goes_one_further(working_folder, capsys):
    """From the first to the last, and the last one stays."""
    for _ in range(4):
        hint("matching")
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Hint")]
    numbers = [1, 2, 3, 3]
    hints = EXERCISES["matching"].hints
    assert printed == [f"Hint {number} of 3: {hints[number - 1]}" for number in numbers]


def test_the_hints_go_on_after_a_restart(working_folder, capsys):
    """What was shown is in the file, and not in the memory of the kernel."""
    hint("matching")
    assert (
        json.loads((working_folder / FILE_NAME).read_text(encoding="utf-8"))["exercises"]["matching"]["hints"]
        == 1
    )


def test_the_solution_is_shown_with_its_other_ways(working_folder, material, capsys):
    """All code of the section that the learner's edition does not have."""
    solution("load-balance")
    printed = capsys.readouterr().out
    assert "return await share(tasks, process)" in printed
    assert "another_way" in printed
    assert "consumer" not in printed
    assert "check(" not in printed


def test_a_solution_that_is_not_there_is_said(working_folder, tmp_path, monkeypatch, capsys):
    """In a checkout the notebooks may not have been made."""
    monkeypatch.setattr("tutorial_lib.course.desk.material_root", lambda: tmp_path)
    solution("load-balance")
    assert "python -m tutorial_lib.course.build" in capsys.readouterr().out


def test_arguments_in_the_wrong_order_are_told_plainly():
    """The call to write stands in the text, also if the function was called by mistake."""
    for given in (matching.five_patterns, matching.five_patterns(None)):
        with pytest.raises(ValueError, match=r'first.*: check\("matching", five_patterns\)'):
            check(given, "matching")


def test_a_function_in_place_of_the_id_is_told_plainly():
    """Without an address in memory, and with the id that was probably meant."""

    async def load_balance(tasks, process):
        return {}

    with pytest.raises(ValueError, match=r"exercise load_balance itself\. Did you mean 'load-balance'"):
        check(load_balance)
    with pytest.raises(ValueError, match=r"There is no exercise \[\] \(list\)"):
        hint([])


# progress --------------------------------------------------------------------------------------------


def test_progress_shows_how_all_exercises_stand(working_folder):
    """A row for each, and what is next."""
    check("matching", matching.five_patterns)
    check("load-balance", matching.five_patterns)
    rows = repr(progress()).splitlines()
    assert [row.split()[0] for row in rows[1:-1]] == list(EXERCISES)
    assert rows[1].split() == ["matching", "01_tuple_spaces", "passed", "1", "0"]
    assert rows[2].split() == ["load-balance", "02_producer_consumer", "error", "1", "0"]
    assert rows[3].split() == ["dead-letter", "02_producer_consumer", "not", "attempted", "0", "0"]
    assert rows[-1] == "1 of 12 passed. Next: load-balance."


def test_what_is_done_in_the_solutions_is_not_the_learners(working_folder, monkeypatch):
    """Running the worked solutions proves nothing about the learner."""
    (working_folder / "solutions").mkdir()
    monkeypatch.chdir(working_folder / "solutions")
    check("matching", matching.five_patterns)
    assert not (working_folder / FILE_NAME).exists()


# reset -----------------------------------------------------------------------------------------------


def test_reset_puts_the_stub_back_and_keeps_the_work(working_folder, material, capsys):
    """Only this exercise begins anew; the notebook as it was lies beside it."""
    notebook = working_folder / "exercises" / "02_producer_consumer.ipynb"
    mine = [cell("02-002", "my load_balance"), cell("02-003", "check"), cell("02-005", "my consumer")]
    write_notebook(notebook, *mine)
    before = notebook.read_bytes()
    reset("load-balance")
    assert sources(notebook) == [
        "async def load_balance(tasks, process):\n    # TODO\n    raise NotAttempted",
        "check",
        "my consumer",
    ]
    assert (notebook.parent / "02_producer_consumer.before-reset-1.ipynb").read_bytes() == before
    assert "kept as exercises/02_producer_consumer.before-reset-1.ipynb" in capsys.readouterr().out


def test_a_second_reset_keeps_both(working_folder, material):
    """A copy is never overwritten."""
    notebook = working_folder / "exercises" / "02_producer_consumer.ipynb"
    write_notebook(notebook, cell("02-002", "first"))
    reset("load-balance")
    write_notebook(notebook, cell("02-002", "second"))
    reset("load-balance")
    kept = sorted(notebook.parent.glob("*.before-reset-*.ipynb"))
    assert [sources(path) for path in kept] == [["first"], ["second"]]


def test_a_deleted_cell_comes_back_at_the_end(working_folder, material):
    """Nothing of the learner's is lost for it."""
    notebook = working_folder / "exercises" / "02_producer_consumer.ipynb"
    write_notebook(notebook, cell("mine", "a note of my own"))
    reset("dead-letter")
    assert sources(notebook)[0] == "a note of my own"
    assert "async def consumer" in sources(notebook)[1]


def test_reset_forgets_how_the_exercise_stood(working_folder, material):
    """It counts as not attempted again."""
    check("matching", matching.five_patterns)
    reset("matching")
    assert "0 of 12 passed" in repr(progress())


def test_reset_without_a_notebook_says_so(working_folder, material, capsys):
    """There may be none in this folder."""
    reset("load-balance")
    assert "No notebook was changed" in capsys.readouterr().out
