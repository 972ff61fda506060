"""What belongs into the gaps of lesson 06, supervision."""

from __future__ import annotations

from typing import Final

from tutorial_lib.course.checking import clock
from tutorial_lib.course.faded import FadedExample
from tutorial_lib.simulation import Run

__all__ = ["FADED"]


def _shop(run: Run) -> str | None:
    """Judge a shop in which the letters, the stock-taking and the line fail once each, in this order."""
    return _letters(run) or _stock(run) or _strategy(run)


def _moments(run: Run, kind: str, name: str) -> list[float]:
    return [event.time for event in run.trace.of(kind) if event.actor == name]


def _letters(run: Run) -> str | None:
    again = _moments(run, "restart", "letters")
    if again:
        return (
            f"Gap 2: at {clock(again[0])} the letters were begun again, and the first customers got theirs "
            "twice. Which policy says: once or not at all?"
        )
    return None


def _stock(run: Run) -> str | None:
    again, finished = _moments(run, "restart", "stock"), _moments(run, "finish", "stock")
    counted = [moment for moment in finished if any(restart < moment for restart in again)]
    if run.finished and not counted:
        return (
            "Gap 3: the stock was never counted. The counting failed at 2 s, and nobody began it again. "
            "Which policy restarts what has failed?"
        )
    needless = [restart for restart in again if counted and restart > counted[0]]
    if needless:
        return (
            f"Gap 3: the stock was counted at {clock(counted[0])}, and at {clock(needless[0])} that began "
            "once more. A job that has returned is done. Which policy lets it rest?"
        )
    return None


def _strategy(run: Run) -> str | None:
    line, till, alarm = (_moments(run, "restart", name) for name in ("line", "till", "alarm"))
    if alarm:
        return (
            f"Gap 1: at {clock(alarm[0])} the alarm was restarted, so the shop was without one for a "
            "moment. It does not need the others. Which strategy spares those that were added before?"
        )
    if line and not till:
        return (
            f"Gap 1: at {clock(line[0])} the line was restarted, and the till went on with the old one, "
            "which is cut. Which strategy restarts those that build on it?"
        )
    return None


FADED: Final = {
    "06-shop": FadedExample(
        id="06-shop",
        lesson="06_supervision",
        fillings=('"rest_for_one"', "Restart.NEVER", "Restart.ON_FAILURE"),
        why=(
            "Who builds on the line is restarted with it and nobody else, the letters go out at most once, "
            "and the stock is counted until it is done."
        ),
        hints=(
            "The order of adding is alarm, line, till. Who of them needs whom?",
            "Gaps 2 and 3: read the table of policies by its columns. What may happen after an exception?",
            "A chain is restarted from the one that failed. Letters: never. Stock: on failure.",
        ),
        judge=_shop,
        errors={
            "restart is one of": (
                "Gaps 2 and 3: a policy is wanted here: Restart.ALWAYS, Restart.ON_FAILURE or Restart.NEVER."
            ),
            "AttributeError: REST_FOR_ONE": (
                "Gaps 2 and 3: rest_for_one is a strategy, and belongs into gap 1. Here a policy is wanted."
            ),
        },
    ),
}
