"""The README: what it promises a newcomer is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"\]\((?!https?://)([^)#]+)", README)))


def commands(shell: str) -> list[str]:
    """The lines that a newcomer types first, as the README gives them for one shell."""
    blocks = re.findall(rf"```{shell}\n(.*?)```", README, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if "venv .venv" in line]


@pytest.mark.parametrize("link", LINKS)
def test_every_link_leads_somewhere(link: str) -> None:
    """No link of the README points at a file that is not there."""
    assert (ROOT / link).exists()


def test_the_map_links_exactly_the_lessons_that_are_there() -> None:
    """A lesson that was built is linked in the map, and one that is only planned is not."""
    built = {path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").glob("*.ipynb")}
    linked = {link for link in LINKS if link.startswith("notebooks/") and link.endswith(".ipynb")}
    assert linked == built


def test_the_map_names_all_ten_lessons_in_order() -> None:
    """The whole course is shown, so that a learner sees where it leads."""
    assert re.findall(r"^\| (\d\d) \|", README, flags=re.MULTILINE) == [
        f"{number:02}" for number in range(10)
    ]


@pytest.mark.parametrize("shell", ["bash", "powershell"])
def test_each_shell_has_one_line_for_the_course_and_one_for_the_tests(shell: str) -> None:
    """Each line makes its own environment, installs what it needs, and does its work."""
    course, tests = commands(shell)
    assert "pip install -e . " in course.replace(";", " ")
    assert course.endswith("tutorial lab")
    assert 'pip install -e ".[test]"' in tests
    assert tests.endswith("python -m pytest -n 2 --dist loadfile")


def test_the_reading_list_names_modules_in_the_order_of_their_imports() -> None:
    """A module stands in the list after every module that it imports, so nobody has to read ahead."""
    listed = re.findall(r"^\d+\. \[`(\w+)`\]", README, flags=re.MULTILINE)
    for position, name in enumerate(listed):
        source = (ROOT / "tutorial_lib" / f"{name}.py").read_text(encoding="utf-8")
        needs = set(re.findall(r"^from tutorial_lib\.(\w+) import", source, flags=re.MULTILINE))
        assert not needs - set(listed[:position]), f"{name} comes too early or leaves out what it needs"


def test_the_oldest_python_is_the_one_of_the_project_file() -> None:
    """The README asks for the Python that the package asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert f"[Python](https://www.python.org/downloads/) {oldest} or later" in README
