"""The wheel: what a learner installs holds everything that the checkout has, and works in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

from tutorial_lib.course.workspace import FIRST_LESSON, material_files, version

ROOT = Path(__file__).resolve().parents[1]
MATERIAL = "tutorial_lib/course/_material/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel is installed into."""
    folder = tmp_path_factory.mktemp("site")
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        folder,
        wheel,
    )
    return folder


def run(*command: str | Path, **options: object) -> str:
    """Run a command that must end well and return what it printed."""
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, **options)  # type: ignore[call-overload]
    assert ended.returncode == 0, ended.stderr or ended.stdout
    return str(ended.stdout)


def run_installed(site: Path, folder: Path, *command: str | Path) -> str:
    """Run Python in ``folder`` with the installed wheel, and not the checkout, in front."""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONUTF8": "1"}
    return run(sys.executable, *command, cwd=folder, env=environment)


def test_the_wheel_holds_exactly_the_package_and_the_notebooks(wheel: Path) -> None:
    """Every module and every generated notebook is in it, and nothing else: no test, no lesson source."""
    package = [path for path in (ROOT / "tutorial_lib").rglob("*") if path.is_file()]
    expected = {path.relative_to(ROOT).as_posix() for path in package if path.suffix != ".pyc"}
    expected |= {MATERIAL + name for name in material_files(ROOT)}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected


def test_the_wheel_carries_the_first_lesson_and_the_licence(wheel: Path) -> None:
    """Without these two the wheel is no course, and may not be handed on."""
    names = zipfile.ZipFile(wheel).namelist()
    assert MATERIAL + FIRST_LESSON in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_notebooks_in_the_wheel_are_those_of_the_checkout(wheel: Path) -> None:
    """A learner with the wheel and a learner with the clone read the same lessons, byte for byte."""
    archive = zipfile.ZipFile(wheel)
    for name in material_files(ROOT):
        assert archive.read(MATERIAL + name) == (ROOT / name).read_bytes(), name


def test_the_command_is_the_only_entry_point(wheel: Path) -> None:
    """Installing the wheel gives one command, ``tutorial``."""
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
    entries = ConfigParser()
    entries.read_string(archive.read(name).decode("utf-8"))
    assert {section: dict(entries[section]) for section in entries.sections()} == {
        "console_scripts": {"tutorial": "tutorial_lib.course.cli:main"}
    }


def test_the_installed_command_knows_its_version(site: Path, tmp_path: Path) -> None:
    """The script that the installer makes runs, and answers for the installed package."""
    script = next((site / "bin").glob("tutorial*"))
    assert run_installed(site, tmp_path, script, "--version") == f"tutorial {version()}\n"


def test_the_installed_course_fills_an_empty_folder(site: Path, tmp_path: Path) -> None:
    """From the wheel alone, far from any checkout, a learner gets every notebook."""
    program = (
        "from pathlib import Path; import tutorial_lib; from tutorial_lib.course import workspace;"
        "print(tutorial_lib.__file__); workspace.prepare(Path('mine'))"
    )
    where = run_installed(site, tmp_path, "-c", program)
    assert Path(where.strip()).is_relative_to(site)
    assert material_files(tmp_path / "mine") == material_files(ROOT)


def test_every_module_of_the_installed_package_can_be_imported(site: Path, tmp_path: Path) -> None:
    """No module reaches for a file that only the checkout has."""
    modules = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "tutorial_lib").rglob("*.py")]
    names = [".".join(module.parts).removesuffix(".__init__") for module in modules]
    run_installed(
        site, tmp_path, "-c", f"import importlib; [importlib.import_module(name) for name in {names}]"
    )
