"""What is kept of a learner's work, where, and how far it is trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from answers import matching

from tutorial_lib.course.catalog import EXERCISES
from tutorial_lib.course.checking import examine
from tutorial_lib.course.progress import (
    FILE_NAME,
    ExerciseRecord,
    Progress,
    ProgressTable,
    fingerprint,
    progress_file,
)
from tutorial_lib.course.workspace import RECORD

MATCHING = EXERCISES["matching"]
PASS = examine(MATCHING, matching.five_patterns)
NOT_YET = examine(MATCHING, matching.four_lists)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and the process in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(verdict):
    """Note a verdict, and return what is read back from the file."""
    progress = Progress.load()
    progress.note_verdict(MATCHING, verdict)
    progress.save()
    return Progress.load().of("matching")


# Where -----------------------------------------------------------------------------------------------


def test_it_lies_in_the_working_folder(here, monkeypatch):
    """Also when the kernel runs in a folder below, as it does for a notebook."""
    (here / RECORD).write_text("{}", encoding="utf-8")
    (here / "exercises").mkdir()
    monkeypatch.chdir(here / "exercises")
    assert progress_file() == here / FILE_NAME


def test_outside_of_one_it_lies_in_the_current_folder(here):
    """A script in an empty folder has progress, too."""
    assert progress_file() == here / FILE_NAME


def test_a_checkout_keeps_nothing(here, monkeypatch):
    """Its notebooks are tests, and tests leave no files."""
    (here / "lessons").mkdir()
    (here / "pyproject.toml").write_text("", encoding="utf-8")
    (here / "notebooks").mkdir()
    monkeypatch.chdir(here / "notebooks")
    assert progress_file() is None


def test_a_working_folder_inside_a_checkout_keeps_its_own(here, monkeypatch):
    """The nearest folder decides."""
    (here / "lessons").mkdir()
    (here / "pyproject.toml").write_text("", encoding="utf-8")
    (here / "mine").mkdir()
    (here / "mine" / RECORD).write_text("{}", encoding="utf-8")
    monkeypatch.chdir(here / "mine")
    assert progress_file() == here / "mine" / FILE_NAME


# What ------------------------------------------------------------------------------------------------


def test_a_pass_survives_a_restart(here):
    """Another process reads what this one wrote."""
    kept(PASS)
    code = "from tutorial_lib.course.progress import Progress; print(Progress.load().of('matching').outcome)"
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "passed\n"


def test_tries_are_counted_and_stubs_are_not(here):
    """A check of a stub that is still there is no try."""
    kept(examine(MATCHING, None))
    kept(NOT_YET)
    assert kept(PASS).tries == 2


def test_the_file_is_small_readable_text(here):
    """A learner may open it, copy it and delete it."""
    kept(PASS)
    text = (here / FILE_NAME).read_text(encoding="utf-8")
    assert json.loads(text)["exercises"]["matching"]["outcome"] == "passed"
    assert len(text) < 500


def test_a_pass_of_an_older_check_is_not_trusted_blindly(here):
    """When the check has changed, the pass is shown, and to be checked again."""
    record = kept(PASS)
    assert record.state(fingerprint(MATCHING)) == "passed"
    assert record.state("of a later edition") == "passed earlier, check again"


def test_whoever_goes_on_experimenting_keeps_the_pass(here):
    """It says when it was passed and how the last try went, and it counts as passed."""
    record = kept(PASS)
    assert record.passed_on == date.today().isoformat()
    kept(NOT_YET)
    words = f"passed on {record.passed_on}; last try: not yet"
    assert Progress.load().of("matching").state(fingerprint(MATCHING)) == words
    table = repr(ProgressTable(Progress.load(), EXERCISES))
    assert words in table
    assert table.endswith("1 of 12 passed. Next: load-balance.")


def test_a_pass_that_was_kept_without_its_day_counts_too():
    """A file of an earlier edition does not have it."""
    record = ExerciseRecord("error", passed_check="x")
    assert record.state("x") == "passed; last try: error"


def test_the_last_try_does_not_hide_that_the_check_has_changed():
    """The pass of an older check is to be checked again, whatever was tried after it."""
    record = ExerciseRecord("not yet", passed_check="an older one", passed_on="2026-11-30")
    assert record.state("of today") == "passed earlier, check again"


def test_the_table_counts_only_what_stands_today(here):
    """A pass of an older check is not among those that are passed."""
    progress = Progress({"matching": ExerciseRecord("passed", passed_check="an older one", tries=1)})
    table = repr(ProgressTable(progress, EXERCISES))
    assert "passed earlier, check again" in table
    assert table.endswith("0 of 12 passed. Next: matching.")


def test_when_all_is_done_it_says_so(here):
    """A clear end."""
    records = {id: ExerciseRecord("passed", fingerprint(exercise)) for id, exercise in EXERCISES.items()}
    assert repr(ProgressTable(Progress(records), EXERCISES)).endswith("12 of 12 passed. That is all of them.")


def test_each_check_has_a_fingerprint_of_its_own():
    """A change in one exercise does not touch the others."""
    assert len({fingerprint(exercise) for exercise in EXERCISES.values()}) == len(EXERCISES)
    assert fingerprint(replace(MATCHING, judge=EXERCISES["retry"].judge)) != fingerprint(MATCHING)


# What may go wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["{", "[]", '{"exercises": 3, "guesses": {}}', '{"exercises": {"x": 1}}'])
def test_a_damaged_file_is_moved_aside(here, content):
    """Everything begins anew, and nothing is lost."""
    (here / FILE_NAME).write_text(content, encoding="utf-8")
    assert Progress.load() == Progress()
    assert (here / f"{FILE_NAME}.damaged").read_text(encoding="utf-8") == content
    assert kept(PASS).outcome == "passed"


def test_what_a_later_edition_added_does_no_harm(here):
    """Fields and exercises that this edition does not know are passed over."""
    entry = {"outcome": "passed", "passed_check": "x", "tries": 1, "stars": 5}
    content = {"exercises": {"matching": entry, "juggling": entry}, "guesses": {}, "theme": "dark"}
    (here / FILE_NAME).write_text(json.dumps(content), encoding="utf-8")
    assert Progress.load().of("matching").tries == 1


def test_a_folder_that_cannot_be_written_to_does_not_fail_the_check(here, monkeypatch, capsys):
    """The verdict is given all the same, with a word about what was not kept."""

    def refuse(*words):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", refuse)
    Progress().save()
    assert capsys.readouterr().out == f"Your progress could not be kept in {FILE_NAME}: Permission denied.\n"
