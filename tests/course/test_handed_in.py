"""Answers that are found in a learner's notebook without opening it."""

from __future__ import annotations

import json

import pytest

from tutorial_lib.course import desk
from tutorial_lib.course.handed_in import answers_in


def notebook_of(folder, *sources):
    """Write a notebook with these code cells, and return its path."""
    cells = [{"cell_type": "code", "id": str(n), "source": source} for n, source in enumerate(sources)]
    path = folder / "02_producer_consumer.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def test_what_each_check_was_given_is_the_answer(tmp_path):
    """The function under its id, with the names that earlier cells have made."""
    path = notebook_of(
        tmp_path,
        "%load_ext tutorial_lib\nfrom tutorial_lib import ANY, check",
        "PATTERNS = [('task', int)]",
        "async def matching(space):\n    return [await space.read_all(*pattern) for pattern in PATTERNS]",
        'check("matching", matching)',
    )
    answer = answers_in(path)["matching"]
    verdict = desk.check("matching", answer)
    assert "it returned 1 things" in verdict.message


def test_the_checks_themselves_are_not_run(tmp_path, monkeypatch, capsys):
    """Nothing is noted as a try, and nothing is printed."""
    monkeypatch.chdir(tmp_path)
    path = notebook_of(tmp_path, 'from tutorial_lib import check\nprint("hello")\ncheck("matching", None)')
    assert answers_in(path) == {"matching": None}
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert capsys.readouterr().out == ""


def test_a_cell_may_await_as_in_a_notebook(tmp_path):
    """Top-level await is ordinary there."""
    path = notebook_of(
        tmp_path,
        "import asyncio\nawait asyncio.sleep(0)\nnumber = 7",
        'from tutorial_lib import check\ncheck("matching", number)',
    )
    assert answers_in(path) == {"matching": 7}


def test_a_cell_that_fails_takes_no_other_with_it(tmp_path):
    """Half a notebook is better than none."""
    path = notebook_of(
        tmp_path,
        "from tutorial_lib import check",
        'check("matching", unknown)',
        "this is no Python",
        'check("priority", len)',
    )
    assert answers_in(path) == {"priority": len}


def test_an_error_in_the_answer_still_names_its_line(tmp_path):
    """The cells have no file, and yet a message quotes the line."""
    path = notebook_of(
        tmp_path,
        "from tutorial_lib import check",
        'async def matching(space):\n    return 1 / 0\ncheck("matching", matching)',
    )
    message = desk.check("matching", answers_in(path)["matching"]).message
    assert "in 02_producer_consumer, code cell 2 line 2: return 1 / 0" in message


def test_check_is_itself_again_afterwards(tmp_path):
    """Also when there is no notebook."""
    before = desk.check
    with pytest.raises(FileNotFoundError):
        answers_in(tmp_path / "missing.ipynb")
    answers_in(notebook_of(tmp_path))
    assert desk.check is before
