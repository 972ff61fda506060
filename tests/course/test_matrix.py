"""Every exercise, with every right and every wrong answer that we know, in many orders of events.

The answers and what each wrong one must be told stand in ``answers/``, one module for each exercise.
"""

from __future__ import annotations

import pytest
from matrix import SEED_BLOCKS, answers_to, right_answers, wrong_answers

from tutorial_lib.course.catalog import EXERCISES
from tutorial_lib.course.checking import examine


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_untouched_stub_is_not_attempted(exercise):
    """Who has not begun is not told that anything is wrong."""
    verdict = examine(EXERCISES[exercise], answers_to(exercise).stub)
    assert verdict.outcome == "not attempted"


@pytest.mark.parametrize(("exercise", "answer"), right_answers())
def test_a_right_answer_passes(exercise, answer, capsys):
    """It passes however it is built, and whatever it prints stays off the screen."""
    verdict = examine(EXERCISES[exercise], answer)
    assert verdict.outcome == "passed", verdict.message
    assert EXERCISES[exercise].why in verdict.message
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("seeds", SEED_BLOCKS, ids=str)
@pytest.mark.parametrize(("exercise", "answer"), right_answers())
def test_a_right_answer_passes_in_every_order_of_events(exercise, answer, seeds):
    """The seeds that a check happens to use are no part of being right."""
    verdict = examine(EXERCISES[exercise], answer, seeds=seeds)
    assert verdict.outcome == "passed", verdict.message


@pytest.mark.parametrize(("exercise", "answer", "outcome", "says"), wrong_answers())
def test_a_wrong_answer_is_told_what_is_wrong(exercise, answer, outcome, says, capsys):
    """Each wrong answer has an outcome and a message of its own, in at most five lines."""
    verdict = examine(EXERCISES[exercise], answer)
    assert verdict.outcome == outcome, verdict.message
    assert says in verdict.message
    assert len(verdict.message.splitlines()) <= 5
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("exercise", EXERCISES)
def test_there_are_enough_answers_to_tell_apart(exercise):
    """At least three right ones of different build, and eight wrong ones; five where little can go wrong."""
    answers = answers_to(exercise)
    fewest = 5 if exercise in ("matching", "metrics") else 8
    assert len(answers.RIGHT) >= 3
    assert len({wrong.says for wrong in answers.WRONG}) >= fewest
