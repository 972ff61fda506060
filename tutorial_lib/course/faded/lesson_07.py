"""What belongs into the gaps of lesson 07, errors."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from tutorial_lib.course.checking import clock
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run
from tutorial_lib.whereabouts import place_of_error

__all__ = ["FADED"]

SECONDS: Final = 1.0  # that a try takes, as in the lesson's cell
TRIES: Final = 3
MAILS: Final = range(1, 7)  # the numbers of the mails to be put aside, as in the lesson's cell
ALL_SENT_BY: Final = 200.0  # seconds
MOST_RETRIES: Final = 500  # at a mail each half second from the start to the last moment it is 400


def _mails(run: Run) -> str | None:
    """Judge three mails: Ada's server fails twice, Bob's address is wrong, Eve's server never comes back."""
    if not run.finished:
        return (
            f"Gap 3: it is {clock(run.elapsed)}, and the mails are still being waited for. Whoever sends a "
            "mail thinks in seconds. How long is a good wait after the first failure?"
        )
    tries = {
        name: [event.time for event in run.trace.of("start") if event.fields == (name,)]
        for name in ("Ada", "Bob", "Eve")
    }
    outcomes = run.result if isinstance(run.result, list) else []
    return _own_errors(outcomes) or _errors(tries) or _number(tries["Eve"], outcomes) or _waits(tries["Eve"])


def _own_errors(outcomes: list[object]) -> str | None:
    """Tell an error that no server has raised: the program hands it to its caller among the others."""
    for outcome in outcomes:
        if isinstance(outcome, (NameError, TypeError, AttributeError, ArithmeticError, LookupError)):
            return f"A gap raised {type(outcome).__name__}: {outcome}, in {place_of_error(outcome)}"
    return None


def _errors(tries: dict[str, list[float]]) -> str | None:
    """Say what is wrong with the choice of errors that are tried again."""
    if len(tries["Bob"]) > 1:
        return (
            f"Gap 1: Bob's address is wrong, and it was tried {len(tries['Bob'])} times. An address without "
            "an @ gets no better. Which two errors may go away?"
        )
    if len(tries["Eve"]) == 1:
        return (
            "Gaps 1 and 2: a ConnectionError was not tried again at all. Either your except does not catch "
            "it, or your if raises it at the first try. Which of the two is it?"
        )
    if len(tries["Ada"]) < len(tries["Eve"]):
        return (
            "Gap 1: Ada's second try ended with a TimeoutError, and nobody tried a third time. Which two "
            "errors may go away, and how do you write both after one except?"
        )
    return None


def _number(tries: list[float], outcomes: list[object]) -> str | None:
    """Say what is wrong with the end of the tries for a server that stays away."""
    if len(tries) < TRIES:
        return (
            f"Gap 2: Eve's mail was given up after {len(tries)} of {TRIES} tries. Which try is the last one?"
        )
    if not any(isinstance(outcome, ConnectionError) for outcome in outcomes):
        return (
            "Gap 2: all of Eve's tries failed, and the caller was told None and no error. It may take that "
            "for a success. What must the last try do with its error?"
        )
    return None


def _waits(tries: list[float]) -> str | None:
    """Say what is wrong with the waits between the tries."""
    waits = [later - earlier - SECONDS for earlier, later in pairwise(tries)]
    if any(later <= earlier for earlier, later in pairwise(waits)):
        return (
            f"Gap 3: between the tries for Eve lay {' and '.join(map(clock, waits))}. A trouble that is not "
            "over soon needs more time. What can the wait be made of, so that it grows?"
        )
    return None


def _later(run: Run) -> str | None:
    """Judge an office whose server is down for a minute, and whose six mails are to be sent all the same."""
    aside = [number for event in run.trace.of("write") for number in event.fields[1:2]]
    forgotten = [number for number in MAILS if number not in aside]
    if forgotten:
        return (
            f"Gap 2: mail {forgotten[0]} was refused and is nowhere. What was put aside last is "
            f"{aside[-1:]}. What must whoever takes it out find there?"
        )
    if not run.finished and run.elapsed < ALL_SENT_BY:
        return (
            f"Gap 3: it is {clock(run.elapsed)}, and mails are taken out and put back without an end. An "
            "open breaker refuses at once, so no time goes by. What does the server need before the next "
            "try?"
        )
    if run.elapsed > ALL_SENT_BY:
        return (
            f"Gap 3: at {clock(run.elapsed)} the last mail had only just been sent, if at all, and the "
            "server was back at 60 s. The breaker spares the server already. How long need you wait between "
            "two mails?"
        )
    retries = len(run.trace.of("take"))
    if retries > MOST_RETRIES:
        return (
            f"Gap 3: all mails were sent, and {retries} times one was taken out for it, nearly always to be "
            "refused by the open breaker. It stays open for 20 s. How often is it worth asking?"
        )
    return None


FADED: Final = {
    "07-mails": FadedExample(
        id="07-mails",
        lesson="07_errors",
        fillings=("(ConnectionError, TimeoutError)", "attempt == 3", "2**attempt"),
        why=(
            "Only what may go away is tried again, the waits grow, and after the last try the caller gets "
            "the very error that came."
        ),
        hints=(
            "ConnectionError, TimeoutError and ValueError occur. Which of them is a wrong request?",
            "Gap 2 is a question about attempt, which is 1, 2, 3. After which one is there no other?",
            "Gap 3 is a number of seconds that is larger for a larger attempt.",
        ),
        judge=_mails,
    ),
    "07-later": FadedExample(
        id="07-later",
        lesson="07_errors",
        fillings=("(ConnectionError, BreakerOpen)", "mail", "5"),
        why=(
            "A mail is put aside whether the server or the breaker refuses it, and it is tried again at a "
            "pace that leaves time for both."
        ),
        hints=(
            "Either the server refuses a mail, or the breaker does. What does each of them raise?",
            "Gap 2 is what send must be called with when the mail is taken out again.",
            "Gap 3 is a number of seconds: more than 0, and small beside the minute of the trouble.",
        ),
        judge=_later,
    ),
}
