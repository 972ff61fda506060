"""Progress: what a learner has done so far, kept in one small text file.

The file is called ``tutorial-progress.json`` and lies in the working folder: the nearest folder, from the
current one upwards, that ``tutorial lab`` has made; outside of one, it lies in the current folder itself. It
may be copied, read and deleted. What is done in the folder ``solutions`` is not the learner's work, and what
is done in a checkout may be a test: there nothing is kept beyond the end of the session.

A pass is kept with the fingerprint of the check that gave it. If a later edition of the course checks more,
the pass is shown, but not trusted: *passed earlier, check again*. Whoever goes on experimenting after a pass
keeps it: *passed on 2026-11-30; last try: not yet*.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from tutorial_lib.course.checking import Exercise
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.course.verdict import Verdict
from tutorial_lib.course.workspace import RECORD

__all__ = ["FILE_NAME", "ExerciseRecord", "Progress", "ProgressTable", "fingerprint", "progress_file"]

FILE_NAME: Final = "tutorial-progress.json"


@dataclass(frozen=True)
class ExerciseRecord:
    """What is known about one exercise."""

    outcome: str = "not attempted"
    """What the last check said."""
    passed_check: str = ""
    """The fingerprint of the check that was passed last, ``""`` if none was."""
    passed_on: str = ""
    """The day of that pass, such as ``"2026-11-30"``."""
    tries: int = 0
    """How many checks there were, those not counted that found no attempt."""
    hints: int = 0
    """How many hints were shown."""
    saw_solution: bool = False

    def state(self, present_check: str) -> str:
        """Say in words how the exercise stands; ``present_check`` is the fingerprint of its check today.

        >>> ExerciseRecord("passed", passed_check="abc").state("abc")
        'passed'
        >>> ExerciseRecord("not yet", passed_check="abc", passed_on="2026-11-30").state("abc")
        'passed on 2026-11-30; last try: not yet'
        >>> ExerciseRecord("passed", passed_check="abc").state("def")
        'passed earlier, check again'
        """
        if not self.passed_check:
            return self.outcome
        if not self.has_passed(present_check):
            return "passed earlier, check again"
        day = f" on {self.passed_on}" if self.passed_on else ""
        return "passed" if self.outcome == "passed" else f"passed{day}; last try: {self.outcome}"

    def has_passed(self, present_check: str) -> bool:
        """Tell whether the check of today was passed once, whatever was tried after that."""
        return self.passed_check == present_check


def fingerprint(exercise: Exercise) -> str:
    """Return a text that changes whenever the check of an exercise changes."""
    source = inspect.getsource(inspect.getmodule(exercise.judge) or exercise.judge)
    return hashlib.sha256(source.encode("utf-8")).hexdigest()[:12]


def progress_file() -> Path | None:
    """Return where progress is kept, or None where it is not kept. See the top of this module."""
    here = Path.cwd()
    if here.name == "solutions":
        return None
    for folder in (here, *here.parents):
        if (folder / RECORD).is_file():
            return folder / FILE_NAME
        if (folder / "lessons").is_dir() and (folder / "pyproject.toml").is_file():
            return None
    return here / FILE_NAME


@dataclass
class Progress:
    """All that is known about one learner. ``guesses`` holds the answers to questions, by their ids."""

    exercises: dict[str, ExerciseRecord] = field(default_factory=dict)
    guesses: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls) -> Progress:
        """Read the file. Where there is none, or a damaged one, everything begins anew.

        A damaged file is moved aside, so that nothing in it is lost.
        """
        path = progress_file()
        if path is None:
            return _of_this_session
        try:
            return cls._from_text(path.read_text(encoding="utf-8"))
        except OSError:
            return cls()
        except (ValueError, TypeError, AttributeError):
            os.replace(path, path.with_name(f"{path.name}.damaged"))
            return cls()

    @classmethod
    def _from_text(cls, text: str) -> Progress:
        content = json.loads(text)
        exercises = {id: _record(entry) for id, entry in content["exercises"].items()}
        guesses = {str(id): str(guess) for id, guess in content["guesses"].items()}
        return cls(exercises, guesses)

    def save(self) -> None:
        """Write the file, whole or not at all. A folder that cannot be written to is no reason to fail."""
        path = progress_file()
        if path is None:
            return
        content = {
            "exercises": {id: asdict(record) for id, record in self.exercises.items()},
            "guesses": self.guesses,
        }
        unfinished = path.with_name(f"{path.name}.part")
        try:
            unfinished.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            os.replace(unfinished, path)
        except OSError as error:
            print(f"Your progress could not be kept in {path.name}: {error.strerror}.")

    def of(self, exercise: str) -> ExerciseRecord:
        """Return what is known about an exercise."""
        return self.exercises.get(exercise, ExerciseRecord())

    def note_verdict(self, exercise: Exercise, verdict: Verdict) -> None:
        """Note what a check said. A stub that is still there is no try."""
        record = self.of(exercise.id)
        if verdict.outcome != "not attempted":
            self.exercises[exercise.id] = replace(
                record,
                outcome=verdict.outcome,
                tries=record.tries + 1,
            )
            if verdict.passed:
                self._note_pass(exercise)

    def _note_pass(self, exercise: Exercise) -> None:
        today = date.today().isoformat()
        self.exercises[exercise.id] = replace(
            self.of(exercise.id), passed_check=fingerprint(exercise), passed_on=today
        )

    def note_hint(self, exercise: Exercise | FadedExample) -> int:
        """Note that the next hint is shown, and return its number, from 1; the last one stays the last."""
        record = self.of(exercise.id)
        number = min(record.hints + 1, len(exercise.hints))
        self.exercises[exercise.id] = replace(record, hints=number)
        return number

    def note_solution(self, exercise: Exercise | FadedExample) -> None:
        """Note that the solution was shown."""
        self.exercises[exercise.id] = replace(self.of(exercise.id), saw_solution=True)

    def forget(self, exercise: str) -> None:
        """Begin an exercise anew."""
        self.exercises.pop(exercise, None)


_of_this_session: Final = Progress()
"""What is known where nothing is kept."""


def _record(entry: Mapping[str, Any]) -> ExerciseRecord:
    """Make a record of what stood in the file. What a later edition has added is left out."""
    known = {name: entry[name] for name in ExerciseRecord.__dataclass_fields__ if name in entry}
    return ExerciseRecord(**known)


class ProgressTable:
    """How the exercises stand, as a table. Made by `tutorial_lib.progress`."""

    def __init__(self, progress: Progress, exercises: Mapping[str, Exercise]) -> None:
        self.rows = []
        self.unfinished = []
        for id, exercise in exercises.items():
            record, present_check = progress.of(id), fingerprint(exercise)
            self.rows.append((id, exercise.lesson, record.state(present_check), record))
            if not record.has_passed(present_check):
                self.unfinished.append(id)

    def __repr__(self) -> str:
        width = max(len(state) for _, _, state, _ in self.rows) + 2
        lines = [f"{'exercise':<15}{'lesson':<23}{'state':<{width}}{'tries':>5}{'hints':>7}"]
        lines += [
            f"{id:<15}{lesson:<23}{state:<{width}}{record.tries:>5}{record.hints:>7}"
            for id, lesson, state, record in self.rows
        ]
        unfinished = self.unfinished
        passed = len(self.rows) - len(unfinished)
        next_one = f" Next: {unfinished[0]}." if unfinished else " That is all of them."
        return "\n".join([*lines, f"{passed} of {len(self.rows)} passed.{next_one}"])
