"""The working folder: a learner gets the whole course, and never loses a line of their own."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path

import pytest

from tutorial_lib.course import workspace
from tutorial_lib.course.workspace import FIRST_LESSON, WorkspaceError, material_files, prepare

EXERCISE = "exercises/02_producer_consumer.ipynb"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with one lesson and one exercise, as a package carries it."""
    root = tmp_path / "course"
    publish(root, FIRST_LESSON, "first lesson")
    publish(root, EXERCISE, "exercise")
    return root


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The place of the learner's folder; a blank and Japanese letters in the path must do no harm."""
    return tmp_path / "my course 課題"


def publish(root: Path, name: str, text: str) -> None:
    """Put a file into the course, or a new edition of it."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def text_of(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_an_empty_place_gets_the_whole_course(course: Path, mine: Path) -> None:
    """Every file of the course is put in, byte for byte."""
    done = prepare(mine, material=course)
    assert done.added == [EXERCISE, FIRST_LESSON]
    assert {name: (mine / name).read_bytes() for name in material_files(mine)} == {
        name: (course / name).read_bytes() for name in material_files(course)
    }


def test_preparing_twice_changes_nothing(course: Path, mine: Path) -> None:
    """A second preparation with the same course adds, refreshes and reports nothing."""
    prepare(mine, material=course)
    again = prepare(mine, material=course)
    assert (again.added, again.refreshed, again.kept) == ([], [], [])


def test_a_changed_file_is_left_as_it_is(course: Path, mine: Path) -> None:
    """The learner's work stays, and while the course has nothing new there is nothing to report."""
    prepare(mine, material=course)
    publish(mine, EXERCISE, "my answer")
    again = prepare(mine, material=course)
    assert text_of(mine, EXERCISE) == "my answer"
    assert again.kept == []


def test_an_untouched_file_follows_a_new_edition(course: Path, mine: Path) -> None:
    """A file that is still as it was put in becomes the new edition."""
    prepare(mine, material=course)
    publish(course, FIRST_LESSON, "first lesson, second edition")
    again = prepare(mine, material=course)
    assert again.refreshed == [FIRST_LESSON]
    assert text_of(mine, FIRST_LESSON) == "first lesson, second edition"


def test_an_untouched_file_follows_every_later_edition(course: Path, mine: Path) -> None:
    """A refreshed file counts as untouched, so the third edition reaches it too."""
    prepare(mine, material=course)
    for edition in ("second", "third"):
        publish(course, FIRST_LESSON, edition)
        prepare(mine, material=course)
    assert text_of(mine, FIRST_LESSON) == "third"


def test_a_changed_file_stays_when_a_new_edition_comes(course: Path, mine: Path) -> None:
    """The learner's work wins over the new edition, and the learner is told, each time."""
    prepare(mine, material=course)
    publish(mine, EXERCISE, "my answer")
    publish(course, EXERCISE, "exercise, second edition")
    for _ in range(2):
        assert prepare(mine, material=course).kept == [EXERCISE]
        assert text_of(mine, EXERCISE) == "my answer"


def notebook(source: str, **changes: object) -> str:
    """A notebook of one cell, as the course or JupyterLab would save it."""
    cell = {"cell_type": "code", "source": [source], "outputs": [], "execution_count": None, "metadata": {}}
    return json.dumps({"cells": [cell | changes], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_notebook_that_was_only_run_counts_as_untouched(course: Path, mine: Path) -> None:
    """Running a lesson changes its file but not its text, so the next edition still reaches it."""
    publish(course, FIRST_LESSON, notebook("1 + 1"))
    prepare(mine, material=course)
    publish(mine, FIRST_LESSON, notebook("1 + 1", execution_count=7, outputs=["2"]))
    publish(course, FIRST_LESSON, notebook("2 + 2"))
    assert prepare(mine, material=course).refreshed == [FIRST_LESSON]


def test_a_notebook_that_was_only_run_keeps_its_outputs(course: Path, mine: Path) -> None:
    """While the lesson says the same, starting the course again does not wipe what was run."""
    publish(course, FIRST_LESSON, notebook("1 + 1"))
    prepare(mine, material=course)
    publish(mine, FIRST_LESSON, notebook("1 + 1", execution_count=7, outputs=["2"]))
    prepare(mine, material=course)
    assert text_of(mine, FIRST_LESSON) == notebook("1 + 1", execution_count=7, outputs=["2"])


def test_a_notebook_with_a_changed_cell_is_the_learners(course: Path, mine: Path) -> None:
    """One changed character in one cell is work, and work stays."""
    publish(course, FIRST_LESSON, notebook("1 + 1"))
    prepare(mine, material=course)
    publish(mine, FIRST_LESSON, notebook("1 + 1 "))
    publish(course, FIRST_LESSON, notebook("2 + 2"))
    assert prepare(mine, material=course).kept == [FIRST_LESSON]
    assert text_of(mine, FIRST_LESSON) == notebook("1 + 1 ")


def test_a_renamed_file_makes_room_for_the_new_edition(course: Path, mine: Path) -> None:
    """The advice that the command gives works: both files are there afterwards."""
    prepare(mine, material=course)
    publish(mine, EXERCISE, "my answer")
    publish(course, EXERCISE, "exercise, second edition")
    (mine / EXERCISE).rename(mine / "exercises/mine.ipynb")
    prepare(mine, material=course)
    assert text_of(mine, "exercises/mine.ipynb") == "my answer"
    assert text_of(mine, EXERCISE) == "exercise, second edition"


def test_a_file_that_was_there_before_the_course_is_never_overwritten(course: Path, mine: Path) -> None:
    """Without a record of having put it in, a file of the same name belongs to the learner."""
    publish(mine, EXERCISE, "older than the course")
    done = prepare(mine, material=course)
    assert text_of(mine, EXERCISE) == "older than the course"
    assert done.kept == [EXERCISE]


@pytest.mark.parametrize("damage", ["not json", "[]", "{}", '{"files": []}', "\xff"])
def test_a_damaged_record_costs_no_work(course: Path, mine: Path, damage: str) -> None:
    """When the record cannot be read, every file that differs is taken for the learner's."""
    prepare(mine, material=course)
    (mine / ".tutorial.json").write_bytes(damage.encode("latin-1"))
    publish(mine, EXERCISE, "my answer")
    publish(course, FIRST_LESSON, "first lesson, second edition")
    assert prepare(mine, material=course).kept == [EXERCISE, FIRST_LESSON]
    assert text_of(mine, EXERCISE) == "my answer"


def test_a_deleted_file_comes_back(course: Path, mine: Path) -> None:
    """Deleting a file is a way to ask for a fresh one."""
    prepare(mine, material=course)
    (mine / EXERCISE).unlink()
    assert prepare(mine, material=course).added == [EXERCISE]


def test_a_file_that_the_course_gave_up_stays(course: Path, mine: Path) -> None:
    """Nothing is ever deleted from a working folder."""
    prepare(mine, material=course)
    (course / EXERCISE).unlink()
    prepare(mine, material=course)
    assert text_of(mine, EXERCISE) == "exercise"


def test_an_interrupted_copy_leaves_no_half_written_file(
    course: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is there complete or not at all, and the next preparation finishes the work."""

    def power_cut(source: object, target: object) -> None:
        raise OSError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", power_cut)
        with pytest.raises(WorkspaceError, match="power cut"):
            prepare(mine, material=course)
    assert not (mine / EXERCISE).exists()
    prepare(mine, material=course)
    assert text_of(mine, EXERCISE) == "exercise"


def test_checkpoints_and_hidden_files_are_no_part_of_the_course(course: Path, mine: Path) -> None:
    """What JupyterLab keeps in hidden folders is not handed on; languages have visible ones."""
    publish(course, "notebooks/.ipynb_checkpoints/00_start_here.ipynb", "checkpoint")
    publish(course, "notebooks/ja/00_start_here.ipynb", "はじめに")
    assert prepare(mine, material=course).added == [
        EXERCISE,
        FIRST_LESSON,
        "notebooks/ja/00_start_here.ipynb",
    ]


def test_the_course_itself_can_be_the_working_folder(course: Path) -> None:
    """A checkout can be opened as it is: nothing is copied and no record is left in it."""
    prepare(course, material=course)
    assert not (course / ".tutorial.json").exists()


def test_a_course_without_lessons_names_the_command_that_makes_them(tmp_path: Path, mine: Path) -> None:
    """A checkout whose notebooks were never built is told how to build them, and nothing is written."""
    with pytest.raises(WorkspaceError, match=r"python -m tutorial_lib\.course\.build"):
        prepare(mine, material=tmp_path)
    assert not mine.exists()


def test_a_file_in_place_of_the_folder_is_explained(course: Path, mine: Path) -> None:
    """A path that cannot be a folder gives the name, the reason and the way on."""
    mine.write_text("a file", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"cannot be made ready: .*Choose a folder") as caught:
        prepare(mine, material=course)
    assert str(mine) in str(caught.value)


def test_the_version_is_that_of_the_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed course answers from its own metadata."""
    monkeypatch.setattr(importlib.metadata, "version", {"tuplespace-tutorial": "9.8.7"}.get)
    assert workspace.version() == "9.8.7"


def test_a_bare_checkout_answers_from_its_project_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that was never installed still knows its version and its requirements."""

    def not_installed(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    monkeypatch.setattr(importlib.metadata, "requires", not_installed)
    assert workspace.version().count(".") == 2
    assert any(requirement.startswith("ipykernel") for requirement in workspace.requirements())


def test_requirements_leave_out_the_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only testers need is not asked of a learner."""
    declared = ["jupyterlab<5,>=4.6", "pytest>=9; extra == 'test'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: declared)
    assert workspace.requirements() == ["jupyterlab<5,>=4.6"]


def test_a_lesson_is_given_out_without_its_outputs(course: Path, mine: Path) -> None:
    """What a learner is asked to predict does not stand below the question already; solutions keep theirs."""
    cell = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"text": "2"}], "execution_count": 1}
    solution = "solutions/02_producer_consumer.ipynb"
    for name in (FIRST_LESSON, solution):
        publish(course, name, json.dumps({"cells": [cell]}))
    prepare(mine, material=course)
    assert json.loads(text_of(mine, FIRST_LESSON))["cells"][0]["outputs"] == []
    assert json.loads(text_of(mine, solution))["cells"][0]["outputs"] == [{"text": "2"}]
