"""Progress in words: the task board, the restarts of supervisors and the states of breakers."""

from __future__ import annotations

from tutorial_lib.simulation import Run
from tutorial_lib.trace import Trace
from tutorial_lib.views.frame import Frame, frame_at
from tutorial_lib.views.progress import BoardColumn, BreakerLine, Card, RestartLine
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.text import COLUMNS, MOST_LANES, NAME_COLUMNS, axis_line
from tutorial_lib.views.thinning import Mark
from tutorial_lib.views.words import joined, padded, shortened

__all__ = [
    "attempts_dots",
    "board_lines",
    "board_summary",
    "board_text",
    "breaker_lines",
    "breaker_summary",
    "breaker_text",
    "breaker_words",
    "card_label",
    "column_heading",
    "is_spent",
    "mark_words",
    "restart_words",
    "restarts_lines",
    "restarts_summary",
    "restarts_text",
]

MOST_DOTS = 5
OPEN_BEAD, SPENT_BEAD, GIVE_UP = "o", "●", "■"
RIBBON = {"closed": "─", "half open": "▒", "open": "█"}


def board_text(run: Run | Trace, at: float | None = None) -> str:
    """Write which task is in which state, a line for each state; each dot is an attempt.

    ``at`` is the second up to which to look; without it, the whole run. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> _ = trace.record("write", actor="main", space="tasks", fields=("task", 7), time=0.0)
    >>> _ = trace.record("write", actor="main", space="tasks", fields=("task", 8), time=0.0)
    >>> _ = trace.record("take", actor="w1", space="tasks", fields=("task", 7), time=1.0)
    >>> print(board_text(trace))
    2 tasks: 1 queued, 1 running.
    <BLANKLINE>
    1 queued      8
    1 running     7 ●
    0 completed
    0 failed
    0 dead
    """
    return "\n".join(board_lines(frame_at(run, at)))


def restarts_text(run: Run | Trace, at: float | None = None) -> str:
    """Write whom each supervisor has restarted and when. ``at`` is as for `board_text`.

    ``o`` is a restart, ``■`` the moment at which the supervisor gives up. The restarts before it are ``●``.

    >>> trace = Trace()
    >>> _ = trace.record("restart", actor="w1", detail={"by": "boss"}, time=1.0)
    >>> print(restarts_text(trace).splitlines()[0])
    boss has made 1 restart.
    """
    return "\n".join(restarts_lines(frame_at(run, at)))


def breaker_text(run: Run | Trace, at: float | None = None) -> str:
    """Write when each breaker was closed, open and half open. ``at`` is as for `board_text`.

    ``─`` is closed, ``█`` open, ``▒`` half open.

    >>> trace = Trace()
    >>> _ = trace.record("open", actor="w1", fields=("printer",), time=2.0)
    >>> print(breaker_text(trace, at=2))
    printer is open.
    <BLANKLINE>
                  0             0.5           1            1.5           2 s
    printer       ───────────────────────────────────────────────────────█  open · opened once
    <BLANKLINE>
            0 s  printer: closed
            2 s  printer: open
    """
    return "\n".join(breaker_lines(frame_at(run, at)))


# ---------------------------------------------------------------------------------------------------
# Task board


def board_lines(frame: Frame) -> list[str]:
    """Return the task board of a frame, a line for each state."""
    lines = [board_summary(frame)]
    if frame.board:
        lines.append("")
    for column in frame.board:
        cards = [f"{card_label(card, column.state)} {attempts_dots(card)}".rstrip() for card in column.cards]
        if column.size > len(cards):
            cards.insert(0, f"{column.size - len(cards)} more")
        lines.append(f"{padded(column_heading(column), NAME_COLUMNS)}  {' · '.join(cards)}".rstrip())
    return lines


def board_summary(frame: Frame) -> str:
    """Say how many tasks are in which state, in one sentence."""
    total = sum(column.size for column in frame.board)
    if not total:
        return "There are no tasks."
    states = ", ".join(column_heading(column) for column in frame.board if column.size)
    return f"{total} {'task' if total == 1 else 'tasks'}: {states}."


def column_heading(column: BoardColumn) -> str:
    """Say how many tasks are in this state: "3 queued"."""
    return f"{column.size} {column.state}"


def card_label(card: Card, state: str) -> str:
    """Return what is written on a card; that of a failed task has a "!"."""
    return f"{card.label}!" if state == "failed" else card.label


def attempts_dots(card: Card) -> str:
    """Return a dot for each attempt, or their number where there are many."""
    return "●" * card.attempts if card.attempts <= MOST_DOTS else f"●×{card.attempts}"


# ---------------------------------------------------------------------------------------------------
# Restarts


def restarts_lines(frame: Frame) -> list[str]:
    """Return the restarts of each supervisor on the time axis, and then one after the other."""
    scale = Scale(frame.begin, frame.end, 0, COLUMNS - 1)
    shown = frame.restarts[:MOST_LANES]
    lines = [restarts_summary(frame), *_head(scale, len(shown))]
    for line in shown:
        cells = [" "] * COLUMNS
        for bead in line.beads:
            cells[round(scale.place(bead.time))] = SPENT_BEAD if is_spent(bead, line) else OPEN_BEAD
        if line.gave_up is not None:
            cells[round(scale.place(line.gave_up.time))] = GIVE_UP
        lines.append(f"{padded(line.supervisor, NAME_COLUMNS)}  {''.join(cells)}  {restart_words(line)}")
    lines += _rest(len(frame.restarts), "supervisors")
    marks = [(mark.number, mark, line) for line in shown for mark in _marks(line)]
    return lines + _news(scale, [(mark.time, mark_words(mark, line)) for _, mark, line in sorted(marks)])


def _marks(line: RestartLine) -> list[Mark]:
    return line.beads if line.gave_up is None else [*line.beads, line.gave_up]


def mark_words(mark: Mark, line: RestartLine) -> str:
    """Say what a supervisor did at one moment: "boss restarts w1"."""
    boss, child = shortened(line.supervisor, 24), shortened(mark.word, 24)
    if mark.kind == "restart":
        return f"{boss} restarts {child}"
    after = "" if line.limit is None else f" after {_restarts(line.limit)} within its period"
    return f"{boss} gives up because of {child}{after}"


def restarts_summary(frame: Frame) -> str:
    """Say what each supervisor has done, in one sentence."""
    if not frame.restarts:
        return "No supervisor has restarted anybody."
    parts = [
        f"{shortened(line.supervisor, 16)} has made {_restarts(line.size)}"
        f"{' and given up' if line.gave_up is not None else ''}"
        for line in frame.restarts
    ]
    return f"{joined(parts)}."


def restart_words(line: RestartLine) -> str:
    """Say how many restarts a supervisor has made and whether it has given up."""
    return f"{_restarts(line.size)}{'' if line.gave_up is None else ' · gave up'}"


def is_spent(bead: Mark, line: RestartLine) -> bool:
    """Tell whether the supervisor has given up since this restart."""
    return line.gave_up is not None and bead.number < line.gave_up.number


def _restarts(size: int) -> str:
    return f"{size} {'restart' if size == 1 else 'restarts'}"


# ---------------------------------------------------------------------------------------------------
# Breakers


def breaker_lines(frame: Frame) -> list[str]:
    """Return each breaker as a ribbon on the time axis, and then its states one after the other."""
    scale = Scale(frame.begin, frame.end, 0, COLUMNS - 1)
    shown = frame.breakers[:MOST_LANES]
    lines = [breaker_summary(frame), *_head(scale, len(shown))]
    for line in shown:
        cells = [" "] * COLUMNS
        for part in line.parts:
            left, right = round(scale.place(part.begin)), round(scale.place(part.end)) + 1
            cells[left:right] = RIBBON[part.word] * (right - left)
        lines.append(f"{padded(line.name, NAME_COLUMNS)}  {''.join(cells)}  {breaker_words(line)}")
    lines += _rest(len(frame.breakers), "breakers")
    news = [(part.begin, f"{shortened(line.name, 24)}: {part.word}") for line in shown for part in line.parts]
    return lines + _news(scale, sorted(news))


def breaker_summary(frame: Frame) -> str:
    """Say how each breaker stands, in one sentence."""
    if not frame.breakers:
        return "No breaker has opened."
    return f"{joined(f'{shortened(line.name, 16)} is {line.now}' for line in frame.breakers)}."


def breaker_words(line: BreakerLine) -> str:
    """Say how a breaker stands and how often it has opened."""
    times = {0: "", 1: " · opened once"}
    return f"{line.now}{times.get(line.opened, f' · opened {line.opened} times')}"


# ---------------------------------------------------------------------------------------------------
# What both have


def _head(scale: Scale, rows: int) -> list[str]:
    """Return the time axis, if there is anything to draw below it."""
    return ["", f"{padded(scale.since, NAME_COLUMNS)}  {axis_line(scale)}"] if rows else []


def _rest(rows: int, what: str) -> list[str]:
    """Say how many rows had no room."""
    return [f"and {rows - MOST_LANES} more {what}, not drawn"] if rows > MOST_LANES else []


def _news(scale: Scale, news: list[tuple[float, str]]) -> list[str]:
    """List what happened, in the order in which it is given."""
    lines = [f"  {scale.moment(time):>9}  {words}" for time, words in news]
    return ["", *lines] if lines else []
