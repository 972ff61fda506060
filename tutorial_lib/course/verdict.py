"""Verdict: what a check says about an answer.

==============  ====================================================================================
not attempted   the stub is still there, or nothing was handed in
not yet         a promise was broken: the first one, with the moment at which it broke
error           the answer raised something of its own, or is of a kind that cannot be called
proved nothing  the answer ran, but never did what the promise is about
passed          every promise held in every run
==============  ====================================================================================
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any, Final, Literal

from tutorial_lib.simulation import Run
from tutorial_lib.views.svg import timeline_svg
from tutorial_lib.views.text import timeline_text

__all__ = ["Outcome", "Verdict", "one_line", "report"]


Outcome = Literal["not attempted", "not yet", "error", "proved nothing", "passed"]
"""The five things that a verdict can say."""

LONGEST_LINE: Final = 500  # characters of one line of a message
EVENTS_BEFORE: Final = 6
EVENTS_AFTER: Final = 2


@dataclass(frozen=True, repr=False, eq=False)
class Verdict:
    """What `tutorial_lib.check` returns. A notebook shows it as text, with a picture of a broken run.

    >>> verdict = Verdict("load-balance", "not attempted", "Not attempted. Write the function first.")
    >>> verdict
    Not attempted. Write the function first.
    >>> verdict.passed
    False
    """

    exercise: str
    outcome: Outcome
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
        return self.outcome == "passed"

    def __repr__(self) -> str:
        return self.message

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return what a notebook shows: the text, and the broken run up to its first wrong moment."""
        picture = "" if self.run is None or self.moment is None else timeline_svg(self.run, at=self.moment)
        words = "<br>".join(map(_with_bold_label, self.message.splitlines()))
        return {"text/plain": self.message, "text/html": f"<div>{words}{picture}</div>"}

    def show(self) -> Any:
        """Open the run at its first wrong moment: in the player in a notebook, as text elsewhere.

        In a notebook this returns the player, so let it be the last line of a cell.

        >>> Verdict("load-balance", "not attempted", "Not attempted.").show()
        There is no run to show.
        """
        if self.run is None:
            print("There is no run to show.")
        elif self.program is not None and _is_notebook():
            from tutorial_lib.views.player import Player  # here, since a terminal has no widgets

            with redirect_stdout(StringIO()):  # what the answer prints was said in the first run
                return Player(self.program, self.run.faults, seed=self.run.seed, at=self.moment or 0.0)
        else:
            print(timeline_text(self.run, at=self.moment))
            print(self.excerpt())
        return None

    def excerpt(self) -> str:
        """Return the events of the run around the first wrong moment, one a line.

        >>> Verdict("load-balance", "not attempted", "Not attempted.").excerpt()
        ''
        """
        events = [] if self.run is None else list(self.run.trace)
        end = len(events) if self.moment is None else sum(event.time <= self.moment for event in events)
        return "\n".join(map(str, events[max(0, end - EVENTS_BEFORE) : end + EVENTS_AFTER]))


def _with_bold_label(line: str) -> str:
    """Write a line of a message as HTML, with its label in bold: ``Not yet.``, ``Must hold:``."""
    label, rest = re.match(r"([\w ]+[.:])?(.*)", line).groups(default="")  # type: ignore[union-attr]
    return f"<b>{label}</b>{escape(rest)}"


def _is_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


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
    return "\n".join([one_line(ran), *(f"{label}: {one_line(text)}" for label, text in parts.items())])


def one_line(text: str) -> str:
    """Return ``text`` on one line, shortened if it is very long: it may quote what an answer made.

    Addresses of objects are left out, since they differ in every run.

    >>> one_line("ValueError: first\\n  <Future at 0x7f78decbe310>")
    'ValueError: first <Future>'
    """
    words = re.sub(r" at 0x[0-9A-Fa-f]+", "", " ".join(text.split()))
    return words if len(words) <= LONGEST_LINE else f"{words[: LONGEST_LINE - 3]}..."
