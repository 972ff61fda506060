"""The ``tutorial`` command: what it does, what it says, and the status it ends with."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tutorial_lib.course import cli, workspace
from tutorial_lib.course.doctor import Finding
from tutorial_lib.course.workspace import FIRST_LESSON


@pytest.fixture(autouse=True)
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one lesson; the test stands in an empty folder."""
    root = tmp_path / "course"
    lesson = root / FIRST_LESSON
    lesson.parent.mkdir(parents=True)
    lesson.write_text("first lesson", encoding="utf-8")
    monkeypatch.setattr(workspace, "material_root", lambda: root)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return root


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The argument lists that JupyterLab was started with; no server runs."""
    calls: list[list[str]] = []
    lab_app = SimpleNamespace(launch_instance=lambda argv: calls.append(argv))
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", SimpleNamespace(LabApp=lab_app))  # type: ignore[misc]
    return calls


def test_lab_makes_a_working_folder_and_opens_the_first_lesson(started: list[list[str]]) -> None:
    """One command in an empty folder leads into lesson 00, with the whole course beside it."""
    assert cli.main(["lab"]) == 0
    folder = Path("tuplespace-tutorial").resolve()
    assert (folder / FIRST_LESSON).is_file()
    assert f"--ServerApp.root_dir={folder}" in started[0]
    assert f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}" in started[0]


def test_lab_takes_another_folder(started: list[list[str]]) -> None:
    """The working folder can have any name."""
    assert cli.main(["lab", "my course"]) == 0
    assert Path("my course", FIRST_LESSON).is_file()


def test_what_follows_two_dashes_goes_to_jupyterlab(started: list[list[str]]) -> None:
    """JupyterLab has options of its own, and a folder may stand before them or not."""
    cli.main(["lab", "--", "--no-browser", "--port=9999"])
    cli.main(["lab", "mine", "--", "--no-browser"])
    assert started[0][-2:] == ["--no-browser", "--port=9999"]
    assert started[1][-1:] == ["--no-browser"]
    assert "--" not in started[0] + started[1]


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_lab_starts_for_the_root_user_of_a_container_too(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, user: int, allowed: bool
) -> None:
    """JupyterLab refuses the root user unless it is told that this is meant."""
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    cli.main(["lab"])
    assert ("--allow-root" in started[0]) is allowed


def test_lab_names_the_files_that_it_left_alone(
    course: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A learner whose file has a newer edition is told which file, and how to get the edition."""
    cli.main(["lab"])
    Path("tuplespace-tutorial", FIRST_LESSON).write_text("my notes", encoding="utf-8")
    (course / FIRST_LESSON).write_text("second edition", encoding="utf-8")
    capsys.readouterr()
    cli.main(["lab"])
    said = capsys.readouterr().out
    assert FIRST_LESSON in said
    assert "rename your file" in said


def test_lab_says_how_many_files_came_and_how_many_were_renewed(
    course: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The learner sees what happened to the folder."""
    cli.main(["lab"])
    assert "Files put in: 1." in capsys.readouterr().out
    (course / FIRST_LESSON).write_text("second edition", encoding="utf-8")
    cli.main(["lab"])
    assert "Files brought up to date: 1." in capsys.readouterr().out


def test_lab_without_a_usable_folder_starts_nothing(
    started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that cannot be made ends in one sentence and status 1, without a traceback."""
    Path("taken").write_text("a file", encoding="utf-8")
    assert cli.main(["lab", "taken"]) == 1
    assert capsys.readouterr().err.startswith("tutorial lab: The folder taken cannot be made ready")
    assert started == []


def test_lab_without_jupyterlab_sends_to_the_doctor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken installation is told what to run next."""
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)  # type: ignore[arg-type]
    assert cli.main(["lab"]) == 1
    assert "Run: tutorial doctor" in capsys.readouterr().err


@pytest.mark.parametrize(("state", "status"), [("ok", 0), ("note", 0), ("to do", 1)])
def test_doctor_ends_with_status_1_only_if_something_needs_doing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: str, status: int
) -> None:
    """A note is no failure; a thing to do is one."""
    findings = [Finding("Python", "ok", "3.11.7"), Finding("fonts", state, "some text")]  # type: ignore[arg-type]
    monkeypatch.setattr(cli, "examine", lambda folder: iter(findings))
    assert cli.main(["doctor"]) == status
    assert f"{state:<6} fonts: some text\n" in capsys.readouterr().out


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """``tutorial --version`` prints the name and the version, and ends well."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tutorial {workspace.version()}\n"


@pytest.mark.parametrize("words", [[], ["fly"], ["lab", "one", "two"]])
def test_misuse_shows_the_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No command, an unknown one or a word too many: usage on stderr and status 2."""
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    assert "usage: tutorial" in capsys.readouterr().err


def test_a_console_that_knows_only_cp932_gets_question_marks_and_no_error(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Japanese Windows console cannot print every letter of a path; the command works all the same."""
    console = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(console, encoding="cp932", write_through=True))
    assert cli.main(["lab", "課題 é😀"]) == 0
    assert "課題 ??" in console.getvalue().decode("cp932")
