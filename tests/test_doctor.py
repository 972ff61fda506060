"""The doctor: each check sees the fault it is there for, and says what to do about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tutorial_lib
from tutorial_lib.course import doctor
from tutorial_lib.course.workspace import FIRST_LESSON

ROOT = Path(__file__).resolve().parents[1]


def install_kernel(jupyter_path: Path, program: str) -> None:
    """Put a kernel named python3 where Jupyter looks first; it runs ``program`` before ipykernel starts."""
    folder = jupyter_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    launch = f"import sys; {program}; from ipykernel.kernelapp import launch_new_instance as run; run()"
    command = [sys.executable, "-c", launch, "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")


def test_a_sound_machine_has_nothing_to_do(tmp_path: Path) -> None:
    """Where the tests run every check passes, each under its own name, also in a console of cp932."""
    console = {**os.environ, "PYTHONIOENCODING": "cp932", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tutorial_lib.course.cli", "doctor", str(tmp_path / "é😀")]
    ended = subprocess.run(command, env=console, capture_output=True, check=False)
    said = ended.stdout.decode("cp932")
    assert b"Traceback" not in ended.stderr
    assert "to do" not in said
    assert ended.returncode == 0
    for check in ("Python", "packages", "virtual time", "kernel", "widgets", "fonts", "working folder"):
        assert f" {check}: " in said


def test_a_check_that_raises_becomes_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen error is a thing to do like any other, and the checks after it still run."""

    def broken() -> doctor.Outcome:
        raise ZeroDivisionError("of all things")

    for name in ("check_packages", "check_virtual_time", "check_kernel", "check_widgets", "check_fonts"):
        monkeypatch.setattr(doctor, name, broken)
    findings = list(doctor.examine(tmp_path / "none"))
    assert [finding.state for finding in findings] == ["ok"] + ["to do"] * 5 + ["note"]
    assert "ZeroDivisionError: of all things" in findings[1].text


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python older than the course needs is a thing to do."""
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    assert doctor.check_python() == (
        "to do",
        "this is 3.10.13, and the course needs 3.11 or later. Install a newer Python.",
    )


def test_missing_and_outdated_packages_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The finding names each package with what was found, and the command that mends all of them."""
    wanted = ["pytest>=999", "no-such-package>=1", "hypothesis>=1"]
    monkeypatch.setattr(doctor, "requirements", lambda: wanted)
    state, text = doctor.check_packages()
    assert state == "to do"
    assert "no-such-package is missing" in text
    assert text.endswith(f'Run: {sys.executable} -m pip install "pytest>=999" "no-such-package>=1"')


def test_a_clock_that_does_not_jump_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """When an hour of virtual time comes out wrong, the doctor does not call it well."""
    monkeypatch.setattr(
        tutorial_lib, "simulate", lambda main: SimpleNamespace(result=("done", 1), elapsed=1.5)
    )
    state, text = doctor.check_virtual_time()
    assert state == "to do"
    assert "1.5 seconds" in text


def test_a_kernel_of_another_python_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that runs in another Python would not find the course; the finding names that Python."""
    install_kernel(tmp_path, "sys.prefix = 'elsewhere'")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    state, text = doctor.check_kernel()
    assert state == "to do"
    assert "it belongs to another Python: elsewhere runs it" in text
    assert "ipykernel install" in text


def test_a_kernel_that_cannot_import_the_course_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel may start and still be of no use; the finding gives the error."""
    install_kernel(tmp_path, "sys.modules['tutorial_lib'] = None")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    state, text = doctor.check_kernel()
    assert state == "to do"
    assert "ModuleNotFoundError" in text


def test_missing_widgets_are_an_error_of_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The player needs its widgets, so the check does not pass without them."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # type: ignore[arg-type]
    with pytest.raises(ModuleNotFoundError, match="ipywidgets"):
        doctor.check_widgets()


@pytest.mark.parametrize(
    ("font", "state"), [("DejaVu Sans", "note"), ("Noto Sans CJK JP", "ok"), ("Meiryo", "ok")]
)
def test_a_missing_japanese_font_is_only_a_note(
    monkeypatch: pytest.MonkeyPatch, font: str, state: str
) -> None:
    """Without Japanese letters the course still works, so nothing needs doing."""
    fonts = SimpleNamespace(ttflist=[SimpleNamespace(name=font)])
    monkeypatch.setattr("matplotlib.font_manager.fontManager", fonts)
    assert doctor.check_fonts()[0] == state


def test_a_missing_working_folder_is_only_a_note(tmp_path: Path) -> None:
    """The folder is made by ``tutorial lab``, so a newcomer without one has nothing to mend."""
    state, text = doctor.check_working_folder(tmp_path / "none")
    assert state == "note"
    assert "tutorial lab" in text


def test_a_folder_without_lessons_is_something_to_do(tmp_path: Path) -> None:
    """An empty folder gets the command that fills it."""
    assert doctor.check_working_folder(tmp_path) == (
        "to do",
        f"{tmp_path} holds no lessons. Run: tutorial lab {tmp_path}",
    )


def test_a_folder_that_cannot_be_written_is_something_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers could not be saved there."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    state, text = doctor.check_working_folder(tmp_path)
    assert state == "to do"
    assert "writing is not allowed" in text


def test_a_prepared_folder_is_well(tmp_path: Path) -> None:
    """A folder with the first lesson in it is ready."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / FIRST_LESSON).write_text("{}", encoding="utf-8")
    assert doctor.check_working_folder(tmp_path)[0] == "ok"
