"""Progress in pictures: the task board, the restarts of supervisors as beads, and breakers as ribbons."""

from __future__ import annotations

from tutorial_lib.views.drawing import Drawing
from tutorial_lib.views.frame import Frame
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
from tutorial_lib.views.progress import BoardColumn, BreakerLine, Card, Part, RestartLine
from tutorial_lib.views.progress_text import (
    attempts_dots,
    board_summary,
    breaker_summary,
    breaker_words,
    card_label,
    column_heading,
    is_spent,
    mark_words,
    restart_words,
    restarts_summary,
)
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.words import display_width, shortened

__all__ = ["draw_board", "draw_breakers", "draw_restarts"]

HEADING = 26
MOST_ROWS = 40
PLAYHEAD_HEIGHT = 20  # above the rows

COLUMN_GAP = 10
COLUMN_WIDTH = (WIDTH - 4 * COLUMN_GAP) / 5
CARDS_ABREAST = 2
CARD_GAP = 6
CARD_WIDTH = (COLUMN_WIDTH - 3 * CARD_GAP) / CARDS_ABREAST
CARD_HEIGHT = 38
MOST_CARD_ROWS = 8
LOOKS = {"queued": "hand", "running": "running", "completed": "done", "failed": "failed", "dead": "cut"}
"""The look of the cards in each column, which is that of a bar with the same meaning."""

BEADS_ROW = 38
BEADS_MIDDLE = 13  # of the thread, from the top of its row; below it is the limit
BEAD = 6.0  # its radius

RIBBON_ROW = 46
RIBBON_HEIGHT = 24
RIBBON_LOOKS = {"closed": "hand", "open": "failed", "half open": "cut"}
LETTER = 8.2  # the width of a letter on a ribbon
SMALL_LETTER = 7.2


# ---------------------------------------------------------------------------------------------------
# Task board


def draw_board(drawing: Drawing, frame: Frame) -> None:
    """Draw a column for each state, with a card for each task."""
    top = drawing.height
    if not frame.board:
        _draw_nothing(drawing, board_summary(frame))
        return
    most = max(column.most for column in frame.board)
    height = min(-(-most // CARDS_ABREAST), MOST_CARD_ROWS) * (CARD_HEIGHT + CARD_GAP) + CARD_GAP
    for place, column in enumerate(frame.board):
        x = place * (COLUMN_WIDTH + COLUMN_GAP)
        drawing.text(x, top + 18, column_heading(column), "name")
        drawing.box(x, top + HEADING, COLUMN_WIDTH, height, "track")
        _draw_cards(drawing, column, x + CARD_GAP, top + HEADING + CARD_GAP)
        if column.size > len(column.cards):
            words = f"and {column.size - len(column.cards)} earlier"
            drawing.text(x, top + HEADING + height + 16, words, "small")
    drawing.height = top + HEADING + height + 24


def _draw_cards(drawing: Drawing, column: BoardColumn, left: float, top: float) -> None:
    for place, card in enumerate(column.cards):
        x = left + place % CARDS_ABREAST * (CARD_WIDTH + CARD_GAP)
        y = top + place // CARDS_ABREAST * (CARD_HEIGHT + CARD_GAP)
        _draw_card(drawing, card, column.state, x, y)


def _draw_card(drawing: Drawing, card: Card, state: str, x: float, y: float) -> None:
    look = LOOKS[state]
    attempts = "1 attempt" if card.attempts == 1 else f"{card.attempts} attempts"
    title = f"{card.what}: {state} since {card.since:g} s, {attempts}"
    drawing.box(x, y, CARD_WIDTH, CARD_HEIGHT, look, title)
    drawing.text(x + 6, y + 16, card_label(card, state), f"on-{look}")
    drawing.text(x + 6, y + 32, attempts_dots(card), f"small on-{look}")


# ---------------------------------------------------------------------------------------------------
# Restarts


def draw_restarts(drawing: Drawing, frame: Frame, *, shows_playhead: bool) -> None:
    """Draw a thread for each supervisor, with a bead for each restart."""
    if not frame.restarts:
        _draw_nothing(drawing, restarts_summary(frame))
        return
    scale = Scale(frame.begin, frame.end, AXIS_LEFT, AXIS_RIGHT)
    top = _draw_time(drawing, frame, scale, len(frame.restarts), BEADS_ROW, shows_playhead)
    for place, line in enumerate(frame.restarts[:MOST_ROWS]):
        _draw_beads(drawing, line, scale, top + place * BEADS_ROW + BEADS_MIDDLE, frame.time)
    draw_rest(drawing, len(frame.restarts) - MOST_ROWS)


def _draw_beads(drawing: Drawing, line: RestartLine, scale: Scale, middle: float, now: float) -> None:
    drawing.text(0, middle + 5, shortened(line.supervisor, NAME_COLUMNS), "name")
    drawing.text(STATUS_LEFT, middle + 5, restart_words(line))
    drawing.box(AXIS_LEFT, middle - 2, scale.place(now) - AXIS_LEFT, 4, "track")
    for bead in line.beads:
        x, r = scale.place(bead.time), BEAD
        title = f"{mark_words(bead, line)}, {scale.moment(bead.time)}"
        ring = f"M{x - r:.1f} {middle:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0"
        drawing.path(ring, "alarm" if is_spent(bead, line) else "line", title)
    if line.gave_up is not None:
        x = scale.place(line.gave_up.time)
        title = f"{mark_words(line.gave_up, line)}, {scale.moment(line.gave_up.time)}"
        drawing.sign("give_up", x, middle, title)
        limit = "" if line.limit is None else f"limit {line.limit}"
        drawing.text(x, middle + 21, limit, "small middle")


# ---------------------------------------------------------------------------------------------------
# Breakers


def draw_breakers(drawing: Drawing, frame: Frame, *, shows_playhead: bool) -> None:
    """Draw a ribbon for each breaker, with the word of its state on each part."""
    if not frame.breakers:
        _draw_nothing(drawing, breaker_summary(frame))
        return
    scale = Scale(frame.begin, frame.end, AXIS_LEFT, AXIS_RIGHT)
    top = _draw_time(drawing, frame, scale, len(frame.breakers), RIBBON_ROW, shows_playhead)
    for place, line in enumerate(frame.breakers[:MOST_ROWS]):
        _draw_ribbon(drawing, line, scale, top + place * RIBBON_ROW)
    draw_rest(drawing, len(frame.breakers) - MOST_ROWS)


def _draw_ribbon(drawing: Drawing, line: BreakerLine, scale: Scale, y: float) -> None:
    base = y + RIBBON_HEIGHT / 2 + 5
    drawing.text(0, base, shortened(line.name, NAME_COLUMNS), "name")
    drawing.text(STATUS_LEFT, base, breaker_words(line))
    now = scale.place(line.parts[-1].end)
    free_from = 0.0  # below the ribbon
    for part in line.parts:
        left, right = scale.place(part.begin), scale.place(part.end)
        width = max(right - left - 1, 1.0)  # a hair of space between neighbours
        _draw_part(drawing, part, scale, left, y, width)
        length = display_width(part.word) * SMALL_LETTER + 8
        start = max(AXIS_LEFT, min(left, now - length))  # no word runs through the playhead
        if not _has_room(part, width) and start >= free_from:
            drawing.text(start, y + RIBBON_HEIGHT + 14, part.word, "small")
            free_from = start + length


def _has_room(part: Part, width: float) -> bool:
    return display_width(part.word) * LETTER + 6 <= width


def _draw_part(drawing: Drawing, part: Part, scale: Scale, left: float, y: float, width: float) -> None:
    look = RIBBON_LOOKS[part.word]
    title = f"{part.word}, {scale.length(part.end - part.begin)} from {scale.moment(part.begin)}"
    drawing.box(left, y, width, RIBBON_HEIGHT, look, title)
    if _has_room(part, width):
        drawing.text(left + 4, y + RIBBON_HEIGHT / 2 + 5, part.word, f"on-{look}")


# ---------------------------------------------------------------------------------------------------
# What both have


def _draw_time(
    drawing: Drawing, frame: Frame, scale: Scale, rows: int, row_height: float, shows_playhead: bool
) -> float:
    """Draw the time axis below ``rows`` rows, and return where the first of them begins."""
    top = drawing.height + (PLAYHEAD_HEIGHT if shows_playhead else 4)
    bottom = top + min(rows, MOST_ROWS) * row_height
    draw_axis(drawing, scale, top, bottom)
    if shows_playhead:
        draw_playhead(drawing, scale, frame.time, top, bottom)
    drawing.height = bottom + AXIS_HEIGHT
    return top


def _draw_nothing(drawing: Drawing, words: str) -> None:
    """Say that there is nothing to draw."""
    drawing.text(0, drawing.height + 18, words)
    drawing.height += 28
