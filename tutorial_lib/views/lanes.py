"""Lanes: who did what and when, on one time axis.

Each actor has a lane. From top to bottom: signs with their words, bars, heartbeats. The pale track behind
is the time in which the actor lived, so an idle worker is a pale stretch and a dead one is nothing.
"""

from __future__ import annotations

from tutorial_lib.views.drawing import Drawing, number
from tutorial_lib.views.frame import Frame, LaneFrame
from tutorial_lib.views.palette import SIGNS
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.text import silence_words, status
from tutorial_lib.views.thinning import Bar, Mark
from tutorial_lib.views.words import display_width, shortened

__all__ = ["AXIS_LEFT", "AXIS_RIGHT", "MOST_LANES", "WIDTH", "draw_axis", "draw_lanes", "draw_playhead", "not_drawn"]

WIDTH = 840
AXIS_LEFT = 104  # names stand to the left of the axis
AXIS_RIGHT = 640  # and a few words on each lane to the right
STATUS_LEFT = 652
SIGN_HEIGHT = 15
BEAT_HEIGHT = 13
AXIS_HEIGHT = 26
PLAYHEAD_HEIGHT = 18
ROOMY = (20, 8)  # height of a bar, gap below a lane
DENSE = (13, 3)  # the same for more than a dozen lanes
ROOMY_LANES = 12
MOST_LANES = 40
MOST_ROWS = 4  # bars that overlap in one lane
LETTER = 7.5  # the width of a letter on a bar
SMALL_LETTER = 6.6


def draw_lanes(drawing: Drawing, frame: Frame, shows_playhead: bool) -> None:
    """Draw the lanes of ``frame`` below what is there already."""
    scale = Scale(frame.begin, frame.end, AXIS_LEFT, AXIS_RIGHT)
    lanes = frame.lanes[:MOST_LANES]
    top = drawing.height + (PLAYHEAD_HEIGHT if shows_playhead else 4)
    bar_height, gap = ROOMY if len(lanes) <= ROOMY_LANES else DENSE
    bottom = top + sum(lane_height(lane, bar_height) + gap for lane in lanes)
    draw_axis(drawing, scale, top, bottom)
    if shows_playhead:
        draw_playhead(drawing, scale, frame.time, top, bottom)
    y = top
    for lane in lanes:
        _Lane(drawing, frame, scale, lane, bar_height).draw(y)
        y += lane_height(lane, bar_height) + gap
    drawing.height = bottom + AXIS_HEIGHT
    not_drawn(drawing, len(frame.lanes) - len(lanes))


def not_drawn(drawing: Drawing, rows: int) -> None:
    """Say how many rows had no room."""
    if rows > 0:
        drawing.text(0, drawing.height + 10, f"and {rows} more, not drawn")
        drawing.height += 18


def lane_height(lane: LaneFrame, bar_height: float) -> float:
    """Return the height of one lane without the gap below it."""
    rows = min(max(lane.rows, 1), MOST_ROWS)
    return rows * bar_height + SIGN_HEIGHT * lane.has_signs + BEAT_HEIGHT * lane.has_beats


def draw_axis(drawing: Drawing, scale: Scale, top: float, bottom: float) -> None:
    """Draw the time axis at ``bottom``, with a thin line up to ``top`` at every number."""
    ticks = scale.ticks(8)
    lines = "".join(f"M{number(tick.place)} {number(top)}V{number(bottom + 4)}" for tick in ticks)
    drawing.path(lines, 'class="grid"')
    for tick in ticks:
        drawing.text(tick.place, bottom + 18, tick.text, "small mid")


def draw_playhead(drawing: Drawing, scale: Scale, time: float, top: float, bottom: float) -> None:
    """Draw the line at which time stands, with its second above."""
    x = scale.place(time)
    drawing.path(f"M{number(x)} {number(top - 3)}V{number(bottom + 4)}", 'class="line" stroke-width="1.5"')
    drawing.text(x, top - 6, scale.text(time), "bold mid")


class _Lane:
    """The drawing of one lane."""

    def __init__(
        self, drawing: Drawing, frame: Frame, scale: Scale, lane: LaneFrame, bar_height: float
    ) -> None:
        self.drawing = drawing
        self.frame = frame
        self.scale = scale
        self.lane = lane
        self.bar_height = bar_height

    def draw(self, y: float) -> None:
        """Draw the lane with its upper edge at ``y``."""
        lane = self.lane
        if lane.has_signs:
            self._signs(y + SIGN_HEIGHT / 2)
            y += SIGN_HEIGHT
        rows = min(max(lane.rows, 1), MOST_ROWS)
        middle = y + rows * self.bar_height / 2 + 5
        self.drawing.text(0, middle, shortened(lane.name, 13), "name")
        self.drawing.text(STATUS_LEFT, middle, shortened(status(lane), 30))
        self._track(y, rows * self.bar_height)
        for bar in lane.bars:
            self._bar(bar, y)
        if lane.has_ticks_only:
            self._ticks(y)
        self._detections(y)
        if lane.has_beats:
            self._beats(y + rows * self.bar_height)

    def _track(self, y: float, height: float) -> None:
        for begin, end in self.lane.lived:
            left, right = self.scale.place(begin), self.scale.place(end)
            self.drawing.box(left, y + 1, right - left, height - 2, "track")

    def _bar(self, bar: Bar, y: float) -> None:
        top = y + min(bar.row, MOST_ROWS - 1) * self.bar_height + 1
        left, right = self.scale.place(bar.begin), self.scale.place(bar.end)
        width = max(right - left - 1, 1.0)  # a hair of space between neighbours
        look = ("cut" if bar.how == "cut short" else bar.how) if bar.is_work else "held"
        length = self.scale.text(bar.busy)
        how = bar.how if bar.is_work else "in hand"
        self.drawing.box(left, top, width, self.bar_height - 2, look, f"{bar.what}: {how}, {length}")
        label = f"{bar.label}!" if bar.how == "failed" and bar.is_work else bar.label
        if label and display_width(label) * LETTER + 3 <= width:
            ink = f"on-{bar.how}" if bar.is_work and bar.how != "cut short" else ""
            self.drawing.text(left + 3, top + self.bar_height / 2 + 3.5, label, ink)

    def _ticks(self, y: float) -> None:
        """Draw takes and reads as low ticks, writes as high ones."""
        middle, reach = y + self.bar_height / 2, self.bar_height / 2 - 3
        code = "".join(
            f"M{number(self.scale.place(tick.time))} {number(middle)}v{number(-reach if tick.kind == 'out' else reach)}"
            for tick in self.lane.ticks
        )
        self.drawing.path(code or "M0 0", 'class="line" stroke-width="1.5"')

    def _signs(self, y: float) -> None:
        """Draw the signs, each with its word on the side where there is room for it."""
        places = [self.scale.place(sign.time) for sign in self.lane.signs]
        now = self.scale.place(self.frame.time)
        free_from = AXIS_LEFT
        for sign, x, following in zip(self.lane.signs, places, [*places[1:], WIDTH], strict=False):
            self._sign(sign, x, y)
            length = display_width(sign.word) * SMALL_LETTER
            limit = now if x + 9 < now < AXIS_RIGHT else following - 6
            if x + 9 + length <= min(limit, following - 6):
                self.drawing.text(x + 9, y + 4, sign.word, "small")
                free_from = x + 9 + length
            elif x - 9 - length >= free_from:
                self.drawing.text(x - 9, y + 4, sign.word, "small end")
                free_from = x + 9
            else:
                free_from = x + 9

    def _sign(self, sign: Mark, x: float, y: float) -> None:
        look = SIGNS[sign.kind]
        fill = look.colour if look.is_filled else "none"
        self.drawing.path(
            look.path,
            f'transform="translate({number(x)},{number(y)})" fill="{fill}" stroke="{look.colour}" stroke-width="2"',
            f"{sign.word}, {self.scale.text(sign.time)}",
        )

    def _beats(self, y: float) -> None:
        """Draw a tick for each heartbeat, and the fuse: the silence since the last one, against the timeout."""
        lane, scale = self.lane, self.scale
        middle = y + BEAT_HEIGHT / 2 + 1
        code = "".join(f"M{number(scale.place(beat.time))} {number(middle - 4)}v8" for beat in lane.beats)
        if lane.timeout is not None:
            for beat, following in zip(lane.beats, lane.beats[1:], strict=False):
                self._fuse(beat.time, following.time, middle)
        if lane.silence is not None and lane.state != "dismissed":
            last = lane.beats[-1].time
            self._fuse(last, self.frame.time, middle)
            if lane.timeout is not None:
                code += f"M{number(scale.place(last + lane.timeout))} {number(middle - 6)}v12"
            self.drawing.text(STATUS_LEFT, middle + 4, silence_words(lane, scale.span), "small")
        self.drawing.path(code or "M0 0", 'class="line" stroke-width="1.5"')

    def _fuse(self, begin: float, end: float, middle: float) -> None:
        """Draw a silence: calm below half of the timeout, then a warning, then an alarm."""
        share = (end - begin) / self.lane.timeout if self.lane.timeout else 0.0
        look = "calm" if share < 0.5 else "warning" if share < 1 else "alarm"
        height = 3 + 2 * ("calm", "warning", "alarm").index(look)  # the worse, the thicker
        left, right = self.scale.place(begin), self.scale.place(end)
        self.drawing.box(left, middle - height / 2, right - left, height, look)

    def _detections(self, y: float) -> None:
        """Bracket the time from a crash until it was noticed, and write its length into the gap."""
        middle = y + self.bar_height / 2
        for found in self.lane.detections:
            left, right = self.scale.place(found.begin), self.scale.place(found.noticed)
            ends = f"M{number(left)} {number(middle - 4)}v8M{number(right)} {number(middle - 4)}v8"
            length = self.scale.text(found.noticed - found.begin)
            words = f"{length} unnoticed"
            room = display_width(words) * SMALL_LETTER + 8
            if room > right - left:
                words, room = "", 0.0
            centre = (left + right) / 2
            line = f"M{number(left)} {number(middle)}H{number(centre - room / 2)}M{number(centre + room / 2)} {number(middle)}H{number(right)}"
            self.drawing.path(ends + line, 'class="line"', f"noticed after {length}")
            if words:
                self.drawing.text(centre, middle + 4, words, "small mid")

