"""Verdict: what a check says about an answer.

=============  =====================================================================================
not attempted  the stub is still there, or nothing was handed in
not yet        a promise was broken: the first one, with the moment at which it broke
error          the answer raised something of its own, or is of a kind that cannot be called
proved nothing the answer ran, but never did what the promise is about
passed         every promise held in every run
=============  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tutorial_lib.simulation import Run

__all__ = ["Outcome", "Verdict", "report"]


class Outcome:
    """The five things that a verdict can say, as text."""

    NOT_ATTEMPTED: Final = "not attempted"
    NOT_YET: Final = "not yet"
    ERROR: Final = "error"
    PROVED_NOTHING: Final = "proved nothing"
    PASSED: Final = "passed"


EVENTS_BEFORE: Final = 6
EVENTS_AFTER: Final = 2


@dataclass(frozen=True, repr=False, eq=False)
class Verdict:
    """What `tutorial_lib.check` returns. A notebook shows it as text, with a picture of a broken run.

    >>> verdict = Verdict("load-balance", Outcome.NOT_ATTEMPTED, "Not attempted. Write the function first.")
    >>> verdict
    Not attempted. Write the function first.
    >>> verdict.passed
    False
    """

    exercise: str
    outcome: str
    """One of "not attempted", "not yet", "error", "proved nothing", "passed"."""
    message: str
    """The whole text, at most five lines."""
    run: Run | None = None
    """The run that decided, if there was one: the broken one, or the last of those that went well."""
    moment: float | None = None
    """The virtual second of the first wrong moment; None if no moment is wrong."""
    program: Callable[[], Any] | None = None
    """The program of ``run``, so that it can be run again."""
    output: str = ""
    """What the answer printed in ``run``, up to a limit."""

    @property
    def passed(self) -> bool:
        """Whether every promise held."""
        return self.outcome == Outcome.PASSED

    def __repr__(self) -> str:
        return self.message

    def excerpt(self) -> str:
        """Return the events of the run around the first wrong moment, one a line.

        >>> Verdict("load-balance", Outcome.NOT_ATTEMPTED, "Not attempted.").excerpt()
        'There is no run to show.'
        """
        if self.run is None:
            return "There is no run to show."
        events = list(self.run.trace)
        if self.moment is None:
            shown = events[-EVENTS_BEFORE:]
        else:
            until = sum(event.time <= self.moment for event in events)
            shown = events[max(0, until - EVENTS_BEFORE) : until + EVENTS_AFTER]
        return "\n".join(map(str, shown)) or "Nothing happened in this run."


def report(ran: str, must_hold: str, happened: str, advice: str, replay: str) -> str:
    """Put a verdict that is not a pass into its five lines.

    >>> print(report("Not yet. Ran x.", "each task once.", "task 1 twice.", "take it.", "check(...).show()"))
    Not yet. Ran x.
    Must hold: each task once.
    Happened: task 1 twice.
    Next step: take it.
    Replay: check(...).show()
    """
    parts = {"Must hold": must_hold, "Happened": happened, "Next step": advice, "Replay": replay}
    return "\n".join([ran, *(f"{label}: {text}" for label, text in parts.items())])
