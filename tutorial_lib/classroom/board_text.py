"""Board text: the board of a class in words. It is printed, read out, and compared by tests."""

from __future__ import annotations

from tutorial_lib.classroom.board import SHOWN_SECONDS, ClassFrame, MachineFrame
from tutorial_lib.views.text import BARS
from tutorial_lib.views.words import joined, padded, printable

__all__ = ["class_summary", "class_text", "done_words", "fairness_words", "latest_words", "progress_words"]

BAR_COLUMNS = 40  # of the progress bar
STRIP_COLUMNS = 30  # of the last minute
NAME_COLUMNS = 12
ABOUT_COLUMNS = 18
WORDS_COLUMNS = 20


def class_text(frame: ClassFrame) -> str:
    """Write the board of a class, a line for each machine with its last minute.

    >>> from tutorial_lib.classroom.board import ClassState, class_frame
    >>> from tutorial_lib.trace import Event
    >>> state = ClassState("tutorial class join redis://...")
    >>> state.apply(Event(0, 0.0, "main", "write", "class", ("round", 1)))
    >>> state.apply(Event(1, 9.0, "bo", "write", "class", ("machine", "bo", 4, "Linux")))
    >>> print(class_text(class_frame(state, 11.0)))
    Round 1 · to join: tutorial class join redis://...
    no tasks yet
    <BLANKLINE>
    bo           4 cores, Linux     idle                                              · 0 done
    <BLANKLINE>
    bo joined: 4 cores, Linux
    """
    progress = " · ".join(part for part in (progress_words(frame), fairness_words(frame)) if part)
    lines = [f"Round {frame.round} · to join: {printable(frame.join_line)}", progress]
    if frame.total:
        full = round(BAR_COLUMNS * frame.done / frame.total)
        lines.append("█" * full + "░" * (BAR_COLUMNS - full))
    machines = [_machine_line(machine, frame.time) for machine in frame.machines]
    lines += ["", *(machines or ["nobody has joined yet"])]
    if frame.more:
        lines.append(f"and {frame.more} more, not shown")
    return "\n".join([*lines, "", latest_words(frame)]).rstrip()


def progress_words(frame: ClassFrame) -> str:
    """Say how much is done: "18 of 30 tasks done · 7 waiting · 5 in work"."""
    if not frame.total:
        return "no tasks yet"
    return f"{frame.done} of {frame.total} tasks done · {frame.waiting} waiting · {frame.working} in work"


def fairness_words(frame: ClassFrame) -> str:
    """Say how evenly the work is spread; "" while nothing is done."""
    return "" if frame.load.fairness is None else f"fairness {frame.load.fairness:.2f} of 1"


def latest_words(frame: ClassFrame) -> str:
    """Return the latest event in words, or that the class is over."""
    return "the class is over" if frame.is_over else frame.latest


def class_summary(frame: ClassFrame) -> str:
    """Return what is read out in place of the picture."""
    machines = [f"{printable(machine.name)} is {_spoken(machine)}" for machine in frame.machines]
    present = sum(machine.is_there for machine in frame.machines) + frame.more
    parts = [f"{present} in class", progress_words(frame).replace(" · ", ", "), joined(machines, most=40)]
    return ". ".join(part for part in [*parts, latest_words(frame)] if part) + "."


def done_words(machine: MachineFrame) -> str:
    """Say what a machine has done: "12 done · 33 %", or "2 done · 1 failed" where something failed."""
    if machine.failed:
        return f"{machine.done} done · {machine.failed} failed"
    return f"{machine.done} done" + (f" · {machine.share * 100:.0f} %" if machine.share else "")


def _spoken(machine: MachineFrame) -> str:
    gone = {"dropped out": "no longer there: it dropped out", "left": "no longer there: it left"}
    return gone.get(machine.state, machine.words)


def _machine_line(machine: MachineFrame, now: float) -> str:
    parts = [
        padded(machine.name, NAME_COLUMNS),
        padded(machine.about, ABOUT_COLUMNS),
        padded(machine.words, WORDS_COLUMNS),
        _strip(machine, now),
        done_words(machine),
    ]
    return " ".join(parts)


def _strip(machine: MachineFrame, now: float) -> str:
    """Return the last minute, a letter for every two seconds: a blank where the machine was not there."""
    letters = [" "] * STRIP_COLUMNS
    stretches = [(*machine.lived, "·"), *((bar.begin, bar.end, BARS[bar.how]) for bar in machine.bars)]
    for begin, end, letter in stretches:
        first, last = _column(begin - now), _column(end - now)
        letters[first : last + 1] = letter * (last + 1 - first)
    return "".join(letters)


def _column(moment: float) -> int:
    """Return the place of a moment, in seconds from now, in the strip of the last minute."""
    share = 1 + moment / SHOWN_SECONDS
    return min(max(int(share * STRIP_COLUMNS), 0), STRIP_COLUMNS - 1)
