"""Quiz: guesses before a run, and questions after a lesson.

``predict(id, options)`` asks for a guess, ``guesses()`` at the end of the lesson compares the guesses with
what happened, and ``ask(id)`` asks a question of the catalog and replies to each option. In a notebook the
options are clicked; without widgets they are answered by number: ``predict(id, options, 2)``, ``ask(id, 2)``.
Nothing here ever waits for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutorial_lib.course.catalog import PREDICTIONS, QUESTIONS
from tutorial_lib.course.progress import Progress
from tutorial_lib.course.questions import Question
from tutorial_lib.views.choice import Choice

__all__ = ["Guesses", "ask", "guesses", "predict"]

_predicted: dict[str, list[str]] = {}
"""What `predict` offered in this session: the options, by the id, in order of asking."""


def predict(id: str, options: Sequence[str], number: int | None = None) -> Choice:
    """Ask for a guess about what the next run will show, and keep it with the learner's progress.

    ``id`` names the prediction, ``options`` are two different texts or more. ``number`` is the option
    guessed, from 1, where there are no buttons to click. Raises `ValueError` for too few options, for an
    option that does not exist, and if what the catalog says will happen is none of the options.

    >>> predict("00-tea-or-coffee", ["tea first", "coffee first"])
    Your guess: 1) tea first  2) coffee first. No guess yet.
    """
    offered = list(options)
    if isinstance(options, str) or len(offered) < 2 or len(set(offered)) < len(offered):
        raise ValueError(
            f"predict() needs two different options or more, as a list of texts; got {options!r}."
        )
    if id in PREDICTIONS and PREDICTIONS[id].happens not in offered:
        raise ValueError(f"The prediction {id!r} offers {offered}, and {PREDICTIONS[id].happens!r} happens.")
    _predicted[id] = offered

    def choose(option: str) -> str:
        _keep(id, option)
        return "Noted. Run the next cell and see."

    if number is not None:
        choose(_option(offered, number))
    guess = _kept(id, offered)
    line = f"Your guess: {guess or _numbered(offered) + '. No guess yet'}."
    return Choice(
        "What will happen? Guess before you run it.", offered, choose=choose, line=line, chosen=guess
    )


def ask(id: str, number: int | None = None) -> Choice:
    """Ask a question of the catalog; each option has a reply.

    ``number`` is the option chosen, from 1, where there are no buttons to click. Raises `ValueError` for a
    question or an option that does not exist.

    >>> ask("02-one-marker", 2)
    Five: read would show it to all five. take gives it to one of them, and then it is gone.
    """
    if id not in QUESTIONS:
        raise ValueError(f"There is no question {id!r}. The questions are: {', '.join(QUESTIONS)}.")
    question = QUESTIONS[id]
    offered = [option.text for option in question.options]

    def choose(option: str) -> str:
        _keep(id, option)
        return _reply(question, option)

    if number is not None:
        choose(_option(offered, number))
    chosen = _kept(id, offered)
    if chosen is None:
        line = f"{question.text} {_numbered(offered)}. Not answered yet."
    else:
        line = f"{chosen}: {_reply(question, chosen)}"
    return Choice(question.text, offered, choose=choose, line=line, chosen=chosen)


class Guesses:
    """The guesses of a session, beside what happened. Made by `guesses`."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def __repr__(self) -> str:
        return "\n".join(self._lines) or "There was nothing to guess in this session."


def guesses() -> Guesses:
    """Show what was guessed in this session, and how it came.

    >>> _ = predict("00-dice", ["six", "another number"], 1)
    >>> "00-dice: you guessed 'six'." in repr(guesses())
    True
    """
    lines = []
    for id, offered in _predicted.items():
        guess = _kept(id, offered)
        said = f"{id}: {'no guess' if guess is None else f'you guessed {guess!r}'}"
        outcome = PREDICTIONS.get(id)
        if outcome is None:
            lines.append(f"{said}.")
        else:
            word = "and so it is" if guess == outcome.happens else f"it is {outcome.happens!r}"
            lines.append(f"{said}, {word}: {outcome.because}")
    return Guesses(lines)


def _keep(id: str, option: str) -> None:
    progress = Progress.load()
    progress.guesses[id] = option
    progress.save()


def _kept(id: str, offered: Sequence[str]) -> str | None:
    """Return the option that was chosen, unless a later edition of the lesson no longer offers it."""
    option = Progress.load().guesses.get(id)
    return option if option in offered else None


def _option(offered: Sequence[str], number: int) -> str:
    if type(number) is not int or not 1 <= number <= len(offered):
        raise ValueError(f"The options are {_numbered(offered)}. Give one of these numbers, not {number!r}.")
    return offered[number - 1]


def _numbered(offered: Sequence[str]) -> str:
    return "  ".join(f"{number}) {option}" for number, option in enumerate(offered, start=1))


def _reply(question: Question, chosen: str) -> str:
    return next(option.reply for option in question.options if option.text == chosen)
