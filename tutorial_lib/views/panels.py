"""Panels: how the work is spread, how many tuples there were, and what is in a space.

They use the same columns as the lanes: names on the left, the time axis in the middle, words on the right.
"""

from __future__ import annotations

from tutorial_lib.views.drawing import Drawing, number, stroke
from tutorial_lib.views.frame import CountLine, Frame, SpaceFrame
from tutorial_lib.views.lanes import (
    AXIS_HEIGHT,
    AXIS_LEFT,
    AXIS_RIGHT,
    NAME_COLUMNS,
    STATUS_LEFT,
    WIDTH,
    draw_axis,
    draw_playhead,
    draw_rest,
)
from tutorial_lib.views.loads import Load, LoadFrame
from tutorial_lib.views.scale import Scale, round_up
from tutorial_lib.views.text import amount_words, load_words
from tutorial_lib.views.words import display_width, shortened

__all__ = ["draw_counts", "draw_load", "draw_space"]

HEADING = 28
MOST_ROWS = 40

LOAD_ROW = 29
LOAD_BAR = 21

COUNT_ROW = 48
COUNT_HEIGHT = 38
MOST_COUNTS = 12

CHIP = 26  # height of a tuple in the space
CHIP_GAP = 6
CHIPS_WIDTH = WIDTH - AXIS_LEFT - 2
CHIP_ROWS = 4
CODE_LETTER = 8.5
CHIP_COLUMNS = 42


# ---------------------------------------------------------------------------------------------------
# Load


def draw_load(drawing: Drawing, load: LoadFrame) -> None:
    """Draw a bar for each worker, and the fair share as a line through all of them."""
    even = "" if load.fairness is None else f" · fairness {load.fairness:.2f}, where 1 is even"
    drawing.text(AXIS_LEFT, drawing.height + 18, f"{amount_words(load.total, load.unit)}{even}")
    top = drawing.height + HEADING
    shown = load.loads[:MOST_ROWS]
    most = max([one.amount for one in load.loads] + [load.fair_share, 1])
    scale = Scale(0, round_up(most), AXIS_LEFT, AXIS_RIGHT)
    for place, one in enumerate(shown):
        _draw_one_load(drawing, one, load.unit, scale, top + place * LOAD_ROW)
    bottom = top + len(shown) * LOAD_ROW
    if load.total:
        x = scale.place(load.fair_share)
        drawing.path(stroke(x, top - 2, x, bottom + 4), "share")
        drawing.text(x, bottom + 19, f"fair share {load.fair_share:.4g}", "small middle")
    drawing.height = bottom + 30
    draw_rest(drawing, len(load.loads) - len(shown))


def _draw_one_load(drawing: Drawing, load: Load, unit: str, scale: Scale, y: float) -> None:
    base = y + LOAD_BAR / 2 + 5
    end = scale.place(load.amount)
    drawing.text(0, base, shortened(load.name, NAME_COLUMNS), "name")
    drawing.box(AXIS_LEFT, y, AXIS_RIGHT - AXIS_LEFT, LOAD_BAR, "track")
    if load.amount:
        drawing.box(
            AXIS_LEFT, y, end - AXIS_LEFT, LOAD_BAR, "done", f"{load.name}: {amount_words(load.amount, unit)}"
        )
    if end - AXIS_LEFT > 40:
        drawing.text(end - 5, base, str(load.amount), "on-done end")
    else:
        drawing.text(end + 5, base, str(load.amount))
    drawing.text(STATUS_LEFT, base, load_words(load))


# ---------------------------------------------------------------------------------------------------
# Tuples over time


def draw_counts(drawing: Drawing, frame: Frame, *, shows_playhead: bool) -> None:
    """Draw how many tuples of each kind there were, a row for each kind."""
    scale = Scale(frame.begin, frame.end, AXIS_LEFT, AXIS_RIGHT)
    lines = frame.counts[:MOST_COUNTS]
    top = drawing.height + 18
    bottom = top + len(lines) * COUNT_ROW
    draw_axis(drawing, scale, top, bottom)
    for place, line in enumerate(lines):
        _draw_count(drawing, frame, line, scale, top + place * COUNT_ROW)
    if shows_playhead:
        draw_playhead(drawing, scale, frame.time, top, bottom)
    drawing.height = bottom + AXIS_HEIGHT
    draw_rest(drawing, len(frame.counts) - len(lines))


def _draw_count(drawing: Drawing, frame: Frame, line: CountLine, scale: Scale, y: float) -> None:
    floor = y + COUNT_HEIGHT
    steps = f"M{number(AXIS_LEFT)} {number(floor)}"
    for time, count in line.points:
        steps += f"H{number(scale.place(time))}V{number(floor - COUNT_HEIGHT * count / max(line.most, 1))}"
    steps += f"H{number(scale.place(frame.time))}"
    drawing.path(f"{steps}V{number(floor)}Z", "area")
    drawing.path(steps, "line")
    drawing.text(0, y + 17, shortened(line.kind, NAME_COLUMNS), "name")
    if len(frame.spaces) > 1:
        drawing.text(0, y + 34, f"in {shortened(line.space, NAME_COLUMNS)}", "small")
    drawing.text(STATUS_LEFT, y + 25, f"{line.now} now · {line.most} at most")


# ---------------------------------------------------------------------------------------------------
# The space itself


def draw_space(drawing: Drawing, space: SpaceFrame) -> None:
    """Draw the tuples of a space as notes on a board, and below them the empty places that are waited for."""
    y = drawing.height + 2
    drawing.text(0, y + 18, shortened(space.name, NAME_COLUMNS), "name")
    chips = [
        (stored.text, "latest" if stored.order == space.latest else "chip", f"written at {stored.since:g} s")
        for stored in space.tuples
    ]
    chips += [(claimed.stored.text, "cut", f"claimed by {claimed.holder}") for claimed in space.claimed]
    rows, left_out = _flow(chips)
    if left_out + space.not_shown:
        words = f"and {left_out + space.not_shown} older"
        drawing.text(0, y + 35, words, "small")
    if not chips:
        drawing.text(AXIS_LEFT, y + 18, "closed and empty" if space.closed else "empty", "small")
    for place, row in enumerate(rows):
        _draw_chips(drawing, row, y + place * (CHIP + CHIP_GAP))
    y += max(len(rows), min(CHIP_ROWS, 1 + space.most // 7), 1) * (CHIP + CHIP_GAP)
    drawing.height = _draw_waiting(drawing, space, y)


Chip = tuple[str, str, str]  # text, look, title


def _flow(chips: list[Chip]) -> tuple[list[list[Chip]], int]:
    """Set chips in rows, the newest for certain; return the rows and how many older ones had no room."""
    rows: list[list[Chip]] = [[]]
    room: float = CHIPS_WIDTH
    for place, chip in enumerate(reversed(chips)):
        if chip_width(chip) > room:
            if len(rows) == CHIP_ROWS:
                return [row[::-1] for row in rows[::-1]], len(chips) - place
            rows.append([])
            room = CHIPS_WIDTH
        rows[-1].append(chip)
        room -= chip_width(chip) + CHIP_GAP
    return [row[::-1] for row in rows[::-1] if row], 0


def chip_width(chip: Chip) -> float:
    """Return how wide a chip is."""
    return display_width(shortened(chip[0], CHIP_COLUMNS)) * CODE_LETTER + 16


def _draw_chips(drawing: Drawing, chips: list[Chip], y: float) -> None:
    x: float = AXIS_LEFT
    for chip in chips:
        text, look, title = chip
        drawing.box(x, y, chip_width(chip), CHIP, look, f"{text}, {title}")
        drawing.text(x + 8, y + 18, shortened(text, CHIP_COLUMNS), "code")
        x += chip_width(chip) + CHIP_GAP


def _draw_waiting(drawing: Drawing, space: SpaceFrame, y: float) -> float:
    """Draw who waits for what in one row, and return where the row ends."""
    x: float = AXIS_LEFT
    drawing.text(0, y + 18, "waiting", "small")
    if not space.waiting:
        drawing.text(x, y + 18, "nobody", "small")
    for place, waiting in enumerate(space.waiting):
        who = f"{shortened(waiting.actor, NAME_COLUMNS)}: {waiting.operation}"
        pattern = shortened(waiting.pattern, CHIP_COLUMNS)
        who_width, pattern_width = display_width(who) * 8.2 + 4, display_width(pattern) * CODE_LETTER + 16
        if x + who_width + pattern_width > WIDTH - 70 and place:
            drawing.text(x, y + 18, f"and {len(space.waiting) - place} more", "small")
            break
        drawing.text(x, y + 18, who)
        drawing.box(x + who_width, y, pattern_width, CHIP, "cut", f"{who}: an empty place for {pattern}")
        drawing.text(x + who_width + 8, y + 18, pattern, "code")
        x += who_width + pattern_width + 14
    return y + CHIP + 12
