"""The working folder: where a learner reads the lessons and writes answers.

The installed package carries the generated notebooks; here they are called the material. `prepare` copies
them into a folder that belongs to the learner and leaves a small record there of what it put in. With that
record a later edition of the course can replace what the learner never touched and leave alone what they
changed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = [
    "FIRST_LESSON",
    "RECORD",
    "Preparation",
    "WorkspaceError",
    "material_files",
    "material_root",
    "prepare",
    "requirements",
    "version",
]

FIRST_LESSON: Final = "notebooks/00_start_here.ipynb"
"""The notebook that the course opens with, as a path inside a working folder."""

_DISTRIBUTION: Final = "tuplespace-tutorial"
_SHELVES: Final = ("notebooks", "exercises", "solutions")
RECORD: Final = ".tutorial.json"
"""The file that marks a working folder; it holds the fingerprints of what was put in."""

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_PACKAGED_MATERIAL: Final = Path(__file__).resolve().parent / "_material"


class WorkspaceError(Exception):
    """The working folder cannot be made; the message says why and what to do."""


# What is installed ---------------------------------------------------------------------------------------


def version() -> str:
    """Return the version of the course, for example ``"0.1.0"``.

    It comes from the installed package, or from ``pyproject.toml`` in a checkout that was never installed.

    >>> version()[0].isdigit()
    True
    """
    try:
        return importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return str(_project_table()["version"])


def requirements() -> list[str]:
    """Return the packages that every learner needs, as written for an installer, extras left out.

    >>> any(requirement.startswith("jupyterlab") for requirement in requirements())
    True
    """
    try:
        declared = importlib.metadata.requires(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        declared = list(_project_table()["dependencies"])
    return [requirement for requirement in declared if "extra ==" not in requirement]


def _project_table() -> dict[str, Any]:
    text = (_CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def material_root() -> Path:
    """Return the folder that holds the notebooks of this installation.

    An installed package carries them inside; in a checkout they lie beside the package.

    >>> material_root().is_dir()
    True
    """
    return _PACKAGED_MATERIAL if _PACKAGED_MATERIAL.is_dir() else _CHECKOUT


def material_files(root: Path) -> list[str]:
    """Return every file of the material under ``root``, as sorted paths with forward slashes.

    Hidden files and folders are left out: JupyterLab keeps its checkpoints in them.
    """
    found = [
        path.relative_to(root) for shelf in _SHELVES for path in (root / shelf).rglob("*") if path.is_file()
    ]
    return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))


# The working folder --------------------------------------------------------------------------------------


@dataclass
class Preparation:
    """What `prepare` did to a working folder. The lists hold paths inside that folder."""

    folder: Path
    added: list[str] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Files that the learner changed although the course has another edition of them: left as they are."""


def prepare(folder: Path, *, material: Path | None = None) -> Preparation:
    """Make ``folder`` a working folder of the course, or bring an existing one up to date.

    Missing files are added. A file that still says what an earlier `prepare` put in is replaced when the
    course has a new edition of it. Any other file belongs to the learner and is never written to.
    ``material`` is the folder to copy from, by default `material_root()`. When ``folder`` is that very
    place, nothing is copied.

    Raises `WorkspaceError` when there are no lessons to copy, or when the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     course, mine = Path(place, "course"), Path(place, "mine")
    ...     lesson = course / FIRST_LESSON
    ...     lesson.parent.mkdir(parents=True)
    ...     _ = lesson.write_text("{}", encoding="utf-8")
    ...     prepare(mine, material=course).added
    ['notebooks/00_start_here.ipynb']
    """
    root = material or material_root()
    if not (root / FIRST_LESSON).is_file():
        raise WorkspaceError(
            f"There are no lessons in {root}: {FIRST_LESSON} is missing. "
            "In a checkout, make them with: python -m tutorial_lib.course.build"
        )
    if folder.resolve() == root.resolve():
        return Preparation(folder)
    try:
        return _copy_material(root, folder)
    except OSError as error:
        raise WorkspaceError(
            f"The folder {folder} cannot be made ready: {error.strerror or error}. "
            "Choose a folder that you may write to: tutorial lab FOLDER"
        ) from error


def _copy_material(root: Path, folder: Path) -> Preparation:
    done = Preparation(folder)
    record = _read_record(folder)
    for name in material_files(root):
        content = _as_given_out(name, (root / name).read_bytes())
        target = folder / name
        new, old = _fingerprint(content), record.get(name)
        found = _fingerprint(target.read_bytes()) if target.exists() else None
        if found is None:
            done.added.append(name)
            _write_whole(target, content)
        elif found == old != new:
            done.refreshed.append(name)
            _write_whole(target, content)
        elif found != new:  # the learner's own work
            if old != new:
                done.kept.append(name)
            continue
        record[name] = new
    _write_whole(folder / RECORD, json.dumps({"files": record}, indent=1, sort_keys=True).encode())
    return done


def _as_given_out(name: str, content: bytes) -> bytes:
    """Take the outputs out of a lesson: they would give away what the learner is asked to predict."""
    if not name.startswith("notebooks/") or not name.endswith(".ipynb"):
        return content
    try:
        notebook = json.loads(content)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell.update(outputs=[], execution_count=None)
    except (ValueError, KeyError, TypeError):
        return content  # not a notebook: handed on as it is
    return (json.dumps(notebook, ensure_ascii=False, indent=1) + "\n").encode()


def _read_record(folder: Path) -> dict[str, str]:
    """Return the fingerprint of each file as it was put in.

    A record that is missing or damaged counts as empty: then every file that differs is the learner's, which
    is the safe mistake to make.
    """
    try:
        files = json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}


def _fingerprint(content: bytes) -> str:
    """Return a short text that differs when a file says something else.

    Of a notebook only the text of the cells counts. JupyterLab rewrites outputs and metadata as soon as a
    notebook is opened and run, and that alone does not make it the learner's own work.
    """
    try:
        cells = json.loads(content)["cells"]
        content = json.dumps([[cell["cell_type"], "".join(cell["source"])] for cell in cells]).encode()
    except (ValueError, KeyError, TypeError):
        pass  # not a notebook, or a damaged one: every byte counts
    return hashlib.sha256(content).hexdigest()


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there complete or not at all, also when the machine stops half-way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
