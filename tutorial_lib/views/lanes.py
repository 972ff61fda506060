"""Lanes: who did what and when, on one time axis.

Each actor has a lane. From top to bottom: signs with their words, bars, heartbeats. The pale track behind
is the time in which the actor lived, so an idle worker is a pale stretch and a dead one is nothing.
"""

from __future__ import annotations

from itertools import pairwise

from tutorial_lib.views.drawing import Drawing, number, stroke
from tutorial_lib.views.frame import Frame, LaneFrame
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.text import silence_words, status
from tutorial_lib.views.thinning import Bar
from tutorial_lib.views.words import display_width, shortened

__all__ = [
    "AXIS_HEIGHT",
    "AXIS_LEFT",
    "AXIS_RIGHT",
    "NAME_COLUMNS",
    "STATUS_LEFT",
    "WIDTH",
    "draw_axis",
    "draw_lanes",
    "draw_playhead",
    "draw_rest",
]

# The columns of every picture: names, time axis, a few words.
WIDTH = 840
AXIS_LEFT = 112
AXIS_RIGHT = 628
STATUS_LEFT = 640
NAME_COLUMNS = 12  # letters of a name
STATUS_COLUMNS = 26

PLAYHEAD_HEIGHT = 20  # above the lanes
AXIS_HEIGHT = 28  # below them
SIGN_HEIGHT = 17
BEAT_HEIGHT = 14
ROOMY = (22, 8)  # height of a bar, gap below a lane
DENSE = (16, 3)  # the same where there are many lanes
ROOMY_LANES = 12
MOST_LANES = 40
MOST_ROWS = 4  # bars of one lane that overlap

LETTER = 8.7  # the width of a letter on a bar
SMALL_LETTER = 7.2
TITLED = 10.0  # a bar narrower than this is too small to point at


def draw_lanes(drawing: Drawing, frame: Frame, *, shows_playhead: bool) -> None:
    """Draw the lanes of ``frame`` below what is there already."""
    scale = Scale(frame.begin, frame.end, AXIS_LEFT, AXIS_RIGHT)
    lanes = frame.lanes[:MOST_LANES]
    bar_height, gap = ROOMY if len(lanes) <= ROOMY_LANES else DENSE
    top = drawing.height + (PLAYHEAD_HEIGHT if shows_playhead else 4)
    bottom = top + sum(_height(lane, bar_height) + gap for lane in lanes)
    draw_axis(drawing, scale, top, bottom)
    if shows_playhead:
        draw_playhead(drawing, scale, frame.time, top, bottom)
    y = top
    for lane in lanes:
        _LaneDrawing(drawing, frame, lane, scale, bar_height).draw(y)
        y += _height(lane, bar_height) + gap
    drawing.height = bottom + AXIS_HEIGHT
    draw_rest(drawing, len(frame.lanes) - len(lanes))


def draw_axis(drawing: Drawing, scale: Scale, top: float, bottom: float) -> None:
    """Draw the time axis at ``bottom``, with a thin line up to ``top`` at every number."""
    ticks = scale.ticks(8)
    drawing.path("".join(stroke(tick.place, top, tick.place, bottom + 4) for tick in ticks), "grid")
    drawing.text(0, bottom + 20, scale.since, "small")
    for tick in ticks:
        drawing.text(tick.place, bottom + 20, tick.text, "small middle")


def draw_playhead(drawing: Drawing, scale: Scale, time: float, top: float, bottom: float) -> None:
    """Draw the line at which time stands, with its moment above."""
    x = scale.place(time)
    drawing.path(stroke(x, top - 3, x, bottom + 4), "line")
    drawing.text(x, top - 6, scale.moment(time), "bold middle")


def draw_rest(drawing: Drawing, rows: int) -> None:
    """Say how many rows had no room."""
    if rows > 0:
        drawing.text(0, drawing.height + 10, f"and {rows} more, not drawn")
        drawing.height += 18


def _small_width(words: str) -> float:
    """Return how wide small words are, with a little air around them."""
    return display_width(words) * SMALL_LETTER + 8


def _rows(lane: LaneFrame) -> int:
    return min(max(lane.rows, 1), MOST_ROWS)


def _height(lane: LaneFrame, bar_height: float) -> float:
    """Return the height of a lane without the gap below it."""
    return _rows(lane) * bar_height + SIGN_HEIGHT * lane.has_signs + BEAT_HEIGHT * lane.has_beats


class _LaneDrawing:
    """One lane."""

    def __init__(
        self, drawing: Drawing, frame: Frame, lane: LaneFrame, scale: Scale, bar_height: float
    ) -> None:
        self._drawing = drawing
        self._frame = frame
        self._lane = lane
        self._place = scale.place
        self._scale = scale
        self._bar_height = bar_height

    def draw(self, top: float) -> None:
        """Draw the lane with its upper edge at ``top``."""
        lane = self._lane
        if lane.has_signs:
            self._draw_signs(top + SIGN_HEIGHT / 2)
            top += SIGN_HEIGHT
        height = _rows(lane) * self._bar_height
        base = top + height / 2 + 5
        self._drawing.text(0, base, shortened(lane.name, NAME_COLUMNS), "name")
        self._drawing.text(STATUS_LEFT, base, shortened(status(lane), STATUS_COLUMNS))
        for begin, end in lane.lived:
            left = self._place(begin)
            self._drawing.box(left, top + 1, self._place(end) - left, height - 2, "track")
        self._draw_bars(top)
        if lane.has_ticks_only:
            self._draw_ticks(top)
        self._draw_detections(top + self._bar_height / 2)
        if lane.has_beats:
            self._draw_beats(top + height + BEAT_HEIGHT / 2 + 1)

    # What it did

    def _draw_bars(self, top: float) -> None:
        narrow: dict[str, str] = {}  # the small bars of each look as one path, or pictures grow too big
        for bar in self._lane.bars:
            y = top + min(bar.row, MOST_ROWS - 1) * self._bar_height + 1
            left = self._place(bar.begin)
            width = max(self._place(bar.end) - left - 1, 1.0)  # a hair of space between neighbours
            if width < TITLED:
                across, down = number(width), number(self._bar_height - 2)
                shape = f"M{number(left)} {number(y)}h{across}v{down}h-{across}z"
                narrow[bar.look] = narrow.get(bar.look, "") + shape
            else:
                self._draw_bar(bar, left, y, width)
        for look, code in narrow.items():
            self._drawing.path(code, look)

    def _draw_bar(self, bar: Bar, left: float, y: float, width: float) -> None:
        how = bar.how if bar.is_work else "in hand"
        title = f"{bar.what}: {how}, {self._scale.length(bar.busy)} from {self._scale.moment(bar.begin)}"
        self._drawing.box(left, y, width, self._bar_height - 2, bar.look, title)
        label = f"{bar.label}!" if bar.look == "failed" else bar.label
        if label and display_width(label) * LETTER + 3 <= width:
            self._drawing.text(left + 3, y + self._bar_height / 2 + 4, label, f"on-{bar.look}")

    def _draw_ticks(self, top: float) -> None:
        """Draw takes and reads downwards from the middle, writes upwards."""
        middle = top + self._bar_height / 2
        reach = self._bar_height / 2 - 3
        code = ""
        for tick in self._lane.ticks:
            x = self._place(tick.time)
            code += stroke(x, middle, x, middle - reach if tick.kind == "out" else middle + reach)
        self._drawing.path(code, "line")

    # What happened to it

    def _draw_signs(self, y: float) -> None:
        """Draw the signs, each with its word on the side where there is room for it."""
        signs = self._lane.signs
        places = [self._place(sign.time) for sign in signs]
        playhead = self._place(self._frame.time)
        free_from = float(AXIS_LEFT)
        for following, (sign, x) in enumerate(zip(signs, places, strict=True), start=1):
            self._drawing.sign(sign.kind, x, y, f"{sign.word}, {self._scale.moment(sign.time)}")
            length = display_width(sign.word) * SMALL_LETTER
            free_to = places[following] - 6 if following < len(places) else float(WIDTH)
            if x + 9 < playhead < AXIS_RIGHT:
                free_to = min(free_to, playhead)  # no word runs through the playhead
            if x + 9 + length <= free_to:
                self._drawing.text(x + 9, y + 4, sign.word, "small")
                free_from = x + 9 + length
            elif x - 9 - length >= free_from:
                self._drawing.text(x - 9, y + 4, sign.word, "small end")
                free_from = x + 9
            else:
                free_from = x + 9

    def _draw_detections(self, middle: float) -> None:
        """Bracket the time from a crash or hang until it was noticed, with its length in the gap."""
        for found in self._lane.detections:
            left, right = self._place(found.begin), self._place(found.noticed)
            length = self._scale.length(found.noticed - found.begin)
            words = f"{length} unnoticed"
            if _small_width(words) > right - left:
                words = length if _small_width(length) <= right - left else ""
            room = _small_width(words) if words else 0.0
            centre = (left + right) / 2
            ends = stroke(left, middle - 4, left, middle + 4) + stroke(right, middle - 4, right, middle + 4)
            before = stroke(left, middle, centre - room / 2, middle)
            after = stroke(centre + room / 2, middle, right, middle)
            self._drawing.path(ends + before + after, "line", f"{length} unnoticed")
            if words:
                self._drawing.text(centre, middle + 4, words, "small middle")

    # Its heartbeats

    def _draw_beats(self, middle: float) -> None:
        """Draw a tick for each heartbeat, and between them the silence, as a fuse that may burn too long."""
        lane = self._lane
        for beat, following in pairwise(lane.beats):
            self._draw_fuse(beat.time, following.time, middle)
        if lane.silence is not None:
            self._draw_fuse(lane.beats[-1].time, self._frame.time, middle)
        code = ""
        for beat in lane.beats:
            x = self._place(beat.time)
            code += stroke(x, middle - 4, x, middle + 4)
        if lane.silence is not None and lane.timeout is not None:
            limit = self._place(lane.beats[-1].time + lane.timeout)
            code += stroke(limit, middle - 6, limit, middle + 6)
        self._drawing.path(code, "line")
        self._drawing.text(STATUS_LEFT, middle + 4, silence_words(lane, self._scale), "small")

    def _draw_fuse(self, begin: float, end: float, middle: float) -> None:
        """Draw a silence: calm below half of the timeout, then a warning, then an alarm, each thicker."""
        share = (end - begin) / self._lane.timeout if self._lane.timeout else 0.0
        look, height = ("calm", 3) if share < 0.5 else ("warning", 5) if share < 1 else ("alarm", 7)
        left = self._place(begin)
        self._drawing.box(left, middle - height / 2, self._place(end) - left, height, look)
