"""Guesses before a run, and questions after a lesson."""

from __future__ import annotations

import pytest

from tutorial_lib.course import quiz
from tutorial_lib.course.catalog import PREDICTIONS, QUESTIONS
from tutorial_lib.course.progress import FILE_NAME
from tutorial_lib.course.questions import Option, Outcome, Question

ADDERS = Question(
    "How much is 1 + 1?",
    (Option("2", "Yes.", right=True), Option("11", "That would be text."), Option("3", "One too many.")),
)


@pytest.fixture(autouse=True)
def session(tmp_path, monkeypatch):
    """An empty folder, a session without guesses, and a small catalog."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quiz, "_predicted", {})
    monkeypatch.setattr(quiz, "QUESTIONS", {"00-sum": ADDERS})
    monkeypatch.setattr(quiz, "PREDICTIONS", {"00-coin": Outcome("heads", "it has two of them.")})
    return tmp_path


def click(choice, option):
    """Choose an option by mouse, and return what is said then."""
    box = choice.widget()
    box.children[1].value = option
    return box.children[2].value


# predict ---------------------------------------------------------------------------------------------


def test_an_unanswered_prediction_is_one_fixed_line():
    """Run All and strict validation see the same line every time."""
    lines = {repr(quiz.predict("00-coin", ["heads", "tails"])) for _ in range(2)}
    assert lines == {"Your guess: 1) heads  2) tails. No guess yet."}


def test_a_notebook_gets_buttons_and_the_line():
    """The line is what a viewer without widgets shows."""
    bundle = quiz.predict("00-coin", ["heads", "tails"])._repr_mimebundle_()
    assert bundle["text/plain"] == "Your guess: 1) heads  2) tails. No guess yet."
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_running_the_cell_again_leaves_no_buttons_behind():
    """Whoever shows it can close it, twice without harm."""
    choice = quiz.predict("00-coin", ["heads", "tails"])
    first = choice._repr_mimebundle_()
    assert choice._repr_mimebundle_() == first
    choice.close()
    choice.close()
    assert choice._repr_mimebundle_() != first


def test_a_guess_is_kept(session):
    """A click is noted at once, and is there after a restart."""
    said = click(quiz.predict("00-coin", ["heads", "tails"]), "tails")
    assert "Noted" in said
    assert (session / FILE_NAME).is_file()
    assert repr(quiz.predict("00-coin", ["heads", "tails"])) == "Your guess: tails."


def test_without_buttons_a_guess_is_given_by_number():
    """A terminal has no buttons."""
    assert repr(quiz.predict("00-coin", ["heads", "tails"], 2)) == "Your guess: tails."


def test_a_guess_that_is_no_longer_offered_is_forgotten():
    """A later edition may offer other options."""
    quiz.predict("00-coin", ["heads", "edge"], 2)
    assert "No guess yet" in repr(quiz.predict("00-coin", ["heads", "tails"]))


@pytest.mark.parametrize("options", [["heads"], ["heads", "heads"], "heads"])
def test_options_that_are_no_choice_are_refused(options):
    """Two different ones at least."""
    with pytest.raises(ValueError, match="two different options or more"):
        quiz.predict("00-dice", options)


def test_what_happens_must_be_among_the_options():
    """A lesson and the catalog that contradict each other are found when the lesson is built."""
    with pytest.raises(ValueError, match="'heads' happens"):
        quiz.predict("00-coin", ["tails", "edge"])


@pytest.mark.parametrize("number", [0, 3, True, "2"])
def test_a_number_that_is_no_option_is_refused(number):
    """With the options that there are."""
    with pytest.raises(ValueError, match=r"1\) heads  2\) tails"):
        quiz.predict("00-coin", ["heads", "tails"], number)


# guesses ---------------------------------------------------------------------------------------------


def test_guesses_are_compared_with_what_happened():
    """Right, wrong, not made, and not known to the catalog."""
    quiz.predict("00-coin", ["heads", "tails"], 2)
    quiz.predict("00-dice", ["six", "another number"])
    assert repr(quiz.guesses()).splitlines() == [
        "00-coin: you guessed 'tails', it is 'heads': it has two of them.",
        "00-dice: no guess.",
    ]
    quiz.predict("00-coin", ["heads", "tails"], 1)
    assert "you guessed 'heads', and so it is: it has two of them." in repr(quiz.guesses())


def test_without_a_prediction_there_is_nothing_to_show():
    """A lesson may have none."""
    assert repr(quiz.guesses()) == "There was nothing to guess in this session."


# ask -------------------------------------------------------------------------------------------------


def test_an_unanswered_question_is_one_fixed_line():
    """With all its options, and without their replies."""
    assert repr(quiz.ask("00-sum")) == "How much is 1 + 1? 1) 2  2) 11  3) 3. Not answered yet."


@pytest.mark.parametrize("option", ADDERS.options, ids=lambda option: option.text)
def test_every_option_has_its_reply(option):
    """Right or wrong, by mouse or by number."""
    assert option.reply in click(quiz.ask("00-sum"), option.text)
    number = ADDERS.options.index(option) + 1
    assert repr(quiz.ask("00-sum", number)) == f"{option.text}: {option.reply}"


def test_an_unknown_question_is_named():
    """With those that there are."""
    with pytest.raises(ValueError, match=r"no question '00-difference'\. The questions are: 00-sum"):
        quiz.ask("00-difference")


def test_what_is_said_is_shown_and_not_obeyed(monkeypatch):
    """Replies are text, whatever signs are in them."""
    monkeypatch.setitem(
        quiz.QUESTIONS, "00-less", Question("1 < 2?", (Option("<b>", "<i>", True), Option("b", "c")))
    )
    box = quiz.ask("00-less").widget()
    assert "1 &lt; 2?" in box.children[0].value
    box.children[1].value = "<b>"
    assert "&lt;i&gt;" in box.children[2].value


# The catalog -----------------------------------------------------------------------------------------


def test_a_question_without_a_right_option_is_refused():
    """It could not be answered."""
    with pytest.raises(ValueError, match="one of them right"):
        Question("How much?", (Option("1", "no"), Option("2", "no")))


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_every_question_of_the_catalog_replies_to_each_option(question):
    """Each reply is a sentence of its own."""
    replies = [option.reply for option in question.options]
    assert all(reply.endswith((".", "?")) for reply in replies)
    assert len(set(replies)) == len(replies)


def test_ids_begin_with_the_number_of_their_lesson():
    """So that an id tells where it belongs."""
    assert all(id[:2].isdigit() and id[2] == "-" for id in (*QUESTIONS, *PREDICTIONS))
