"""The exercises by the ``tutorial`` command, without opening a notebook."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tutorial_lib.course.cli import main
from tutorial_lib.course.workspace import prepare


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder, in which the command is typed."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_list_names_every_exercise_with_its_signature(capsys: pytest.CaptureFixture[str]) -> None:
    """A learner sees what there is to solve."""
    assert main(["list"]) == 0
    assert (
        "load-balance   02_producer_consumer  async def load_balance(tasks, process)"
        in capsys.readouterr().out
    )


def test_check_finds_an_untouched_exercise_not_attempted(
    working_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The notebook is read and run; a stub is no failure, and no pass either."""
    assert main(["check", "matching"]) == 1
    assert capsys.readouterr().out.startswith("matching: Not attempted.")


def test_check_passes_a_right_answer_and_progress_shows_it(
    working_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer is found in the notebook, and what passed stays passed in the next process."""
    shutil.copy(working_folder / "solutions/01_tuple_spaces.ipynb", working_folder / "exercises")
    assert main(["check", "matching"]) == 0
    assert capsys.readouterr().out.startswith("matching: Passed.")
    assert main(["progress"]) == 0
    assert re.search(r"matching +01_tuple_spaces +passed", capsys.readouterr().out)


def test_hints_come_one_after_the_other(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each call goes one further."""
    assert main(["hint", "matching"]) == 0
    assert main(["hint", "matching"]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("Hint 1 of 3")
    assert second.startswith("Hint 2 of 3")


def test_solution_prints_the_worked_answer(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It comes from the generated solutions."""
    assert main(["solution", "matching"]) == 0
    assert "async def matching(space):" in capsys.readouterr().out


def test_reset_keeps_the_learners_version_aside(
    working_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that was written is lost."""
    shutil.copy(working_folder / "solutions/01_tuple_spaces.ipynb", working_folder / "exercises")
    assert main(["reset", "matching"]) == 0
    assert "is kept as" in capsys.readouterr().out
    assert len(list((working_folder / "exercises").glob("01_tuple_spaces*.ipynb"))) == 2


@pytest.mark.parametrize("command", ["check", "hint", "reset", "solution"])
def test_an_exercise_that_does_not_exist_is_refused(
    command: str, working_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names it and says how to find the right one."""
    assert main([command, "juggling"]) == 1
    assert "juggling" in capsys.readouterr().err
