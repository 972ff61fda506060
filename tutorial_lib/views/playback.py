"""Playback: a program, a list of faults, the run that comes of them, and a playhead that moves through it.

A fault added in the middle changes the future only: the program is simulated anew from the beginning, and
since every run with the same faults is the same, the past comes out as it was. If it does not, the program
remembers something from one run to the next, and the playback says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tutorial_lib.faults import Hire
from tutorial_lib.simulation import Fault, Run, Runaway, Stalled, simulate
from tutorial_lib.trace import Event
from tutorial_lib.views.frame import Frame, frame_at
from tutorial_lib.views.history import History
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.words import joined, sentence

__all__ = ["Playback"]

TOO_LATE = "met nobody: the run was over. Go back to an earlier moment first."
NOBODY_THERE = "met nobody: whoever it was meant for was not there at that moment."
NO_CREW = "hired nobody: no Crew was at work at that moment, or it had somebody of that name already."
ADVICE = "Make everything that the program uses inside it, spaces too."


class Playback:
    """A simulated program that can be looked at in any moment, and changed by faults.

    ``at`` is the second at which the playhead starts. Raises what `simulate` raises
    for arguments that make no sense. Whatever the program itself raises ends up in ``problem``.

    >>> from tutorial_lib.crew import Crew, work
    >>> from tutorial_lib.faults import crash
    >>> async def main():
    ...     async with Crew(lambda name: work(5), 2) as crew:
    ...         await crew.join()
    >>> playback = Playback(main, at=3.0)
    >>> playback.add(crash("w1", at=playback.time))
    >>> playback.code
    'simulate(main, faults=[crash("w1", at=3.0)])'
    """

    def __init__(
        self,
        program: Callable[..., Any],
        faults: Iterable[Fault] = (),
        *,
        seed: int = 0,
        until: float | None = None,
        wall_limit: float | None = 10.0,
        at: float = 0.0,
    ) -> None:
        self.program = program
        self.seed = seed
        self.until = until
        self.wall_limit = wall_limit
        self.faults = list(faults)
        self.problem = ""  # why the run did not end well
        self.warning = ""  # that the past has changed
        self._first_faults = list(self.faults)
        self.run = self._simulate()
        self.history = History(self.run.trace, self.run.elapsed)
        self.time = 0.0
        self.number = 0  # how many events have been seen
        self.go_to(at)

    @property
    def name(self) -> str:
        """What the program is called in a line of code."""
        name = getattr(self.program, "__name__", "")
        return name if name.isidentifier() else "program"

    @property
    def code(self) -> str:
        """The line of code that makes this very run."""
        options = [f"faults={self.faults!r}"] if self.faults else []
        if self.seed:
            options.append(f"seed={self.seed!r}")
        if self.until is not None:
            options.append(f"until={self.until!r}")
        return f"simulate({', '.join([self.name, *options])})"

    def frame(self) -> Frame:
        """Return what is true at the playhead."""
        return frame_at(self.history, self.time, number=self.number)

    # ------------------------------------------------------------------------------------------------
    # The playhead

    def go_to(self, time: float) -> None:
        """Put the playhead at ``time`` seconds, after everything that happens at that moment."""
        self.time = min(max(time, self.history.begin), self.history.end)
        self.number = self.history.events_until(self.time)

    def step(self, events: int) -> None:
        """Move the playhead by so many events; a negative number goes back."""
        self.number = min(max(self.number + events, 0), len(self.run.trace))
        self.time = self.run.trace[self.number - 1].time if self.number else self.history.begin

    # ------------------------------------------------------------------------------------------------
    # The scenario

    def add(self, fault: Fault) -> None:
        """Add a fault, and simulate anew. One without effect is taken out again, and ``problem`` says why."""
        faults = self.faults
        self._change([*faults, fault])
        if any(unused is fault for unused in self.run.unused_faults):
            problem, warning = self.problem, self.warning
            self._change(faults)
            self.problem, self.warning = problem, warning

    def remove(self, fault: Fault) -> None:
        """Take a fault out of the scenario, and simulate anew."""
        self._change([kept for kept in self.faults if kept is not fault])

    def reset(self) -> None:
        """Return to the faults of the beginning, and simulate anew."""
        self._change(list(self._first_faults))

    def next_worker(self) -> str:
        """Return a name for one more worker: the last number of the crew and one more."""
        hired = [lane.name for lane in self.history.lanes.values() if lane.hired]
        last = hired[-1] if hired else "w0"
        prefix = last.rstrip("0123456789")
        taken = {lane.name for lane in self.history.lanes.values()}
        number = 1
        while f"{prefix}{number}" in taken:
            number += 1
        return f"{prefix}{number}"

    def _change(self, faults: list[Fault]) -> None:
        """Simulate with other faults. The playhead stays where it is."""
        changed = [
            fault.at for fault in [*self.faults, *faults] if (fault in self.faults) != (fault in faults)
        ]
        safe = min([self.time, *changed])
        old = [event for event in self.run.trace if event.time < safe]
        self.faults = faults
        self.run = self._simulate()
        self.history = History(self.run.trace, self.run.elapsed)
        self.warning = self._changed_past(old, [event for event in self.run.trace if event.time < safe])
        self.go_to(self.time)

    def _changed_past(self, old: list[Event], new: list[Event]) -> str:
        """Say what is the first thing before the change that happened otherwise this time, if anything."""
        for before, now in zip(old, new, strict=False):
            if (before.time, sentence(before)) != (now.time, sentence(now)):
                return self._past_warning(before, sentence(now))
        if len(old) != len(new):
            more = old if len(old) > len(new) else new
            return self._past_warning(more[min(len(old), len(new))], "something else")
        return ""

    def _past_warning(self, before: Event, now: str) -> str:
        moment = Scale(self.history.begin, self.history.end).moment(before.time)
        return (
            f"The past has changed: at {moment}, before the change, it was “{sentence(before)}”, and now it "
            f"is “{now}”. The program remembers something from one run to the next. {ADVICE}"
        )

    def _simulate(self) -> Run:
        """Run the program. One that stalls, runs away or raises is shown up to there."""
        self.problem = ""
        try:
            run = simulate(
                self.program,
                seed=self.seed,
                faults=self.faults,
                until=self.until,
                wall_limit=self.wall_limit,
            )
        except BaseException as error:  # the program may call sys.exit(); the stop button has no run
            run = getattr(error, "run", None)  # type: ignore[assignment]
            if not isinstance(run, Run):
                raise
            kind = "" if isinstance(error, (Stalled, Runaway)) else f"{type(error).__name__}: "
            self.problem = f"{kind}{error}"
        self.problem = " ".join(filter(None, [self.problem, *_unused(run), *run.errors]))
        return run


def _unused(run: Run) -> list[str]:
    """Say of faults that had no effect why that is so."""
    reasons: dict[str, list[str]] = {}
    for fault in run.unused_faults:
        if fault.at >= run.elapsed:
            reason = TOO_LATE
        elif isinstance(fault, Hire):
            reason = NO_CREW
        else:
            reason = NOBODY_THERE
        reasons.setdefault(reason, []).append(repr(fault))
    return [f"{joined(names)} {reason}" for reason, names in reasons.items()]
