"""Board SVG: the board of a class as a picture, to be read from the back of a room.

It has the shape of a projector's page, whatever is in it. On a screen of 1280 by 720 its smallest words are
20 dots high.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tutorial_lib.classroom.board import FUSE, SHOWN_SECONDS, ClassFrame, MachineFrame
from tutorial_lib.classroom.board_text import (
    class_summary,
    class_text,
    done_words,
    fairness_words,
    latest_words,
    progress_words,
)
from tutorial_lib.views.drawing import STYLE, Drawing, Picture, stroke
from tutorial_lib.views.lanes import WIDTH
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.thinning import Bar
from tutorial_lib.views.words import display_width, shortened

__all__ = ["BOARD_STYLE", "class_svg"]

HEIGHT = 440
LANES_TOP = 98
LANES_BOTTOM = 388
HIGHEST_LANE = 72.0
ROOMY_MACHINES = 12  # with more, the lanes stand in two columns

JOIN_LEFT = 74
CODE_LETTER = 0.62  # the width of a letter, as a part of the size of the font
JOIN_SIZES = (20, 18, 16, 14, 12, 10)
SIZES = (("small", 8.0, 4.5), ("", 9.0, 5.5), ("large", 11.5, 6.5))
"""Texts on bars: their look, the width of a letter, and how far their base line is below the middle."""

SIGNS = {"working": "working", "idle": "idle", "quiet": "suspect", "dropped out": "crash", "left": "dismiss"}
"""The signs of the palette, by the state of a machine."""

OWN_STYLE: Final = ".tt .title{font-size:27px;font-weight:700}.tt .large{font-size:19px}" + "".join(
    f".tt .join{size}{{font-size:{size}px}}" for size in JOIN_SIZES
)
BOARD_STYLE: Final = STYLE + OWN_STYLE
"""The style inside every picture of the board: a browser page has to allow it."""


class Columns(NamedTuple):
    """Where the parts of a lane stand, from its left edge."""

    strip_left: float
    strip_right: float
    state_left: float
    fuse_left: float
    fuse_right: float
    done_right: float
    share_left: float
    share_right: float
    name_columns: int


ROOMY = Columns(148, 518, 536, 549, 690, WIDTH, 730, WIDTH, 12)
COMPACT = Columns(104, 206, 217, 104, 206, 368, 375, 410, 12)
COMPACT_WIDTH = 410


def class_svg(frame: ClassFrame) -> Picture:
    """Draw the board of a class: how far it is, and a lane for each machine with its last minute.

    Solid bars are tasks that were done, each with its number. The fuse below a machine's state burns from one
    heartbeat to the next, and at its end the machine has dropped out. The bar on the right is its share of
    the work, the mark on it a fair share.

    >>> from tutorial_lib.classroom.board import ClassState, class_frame
    >>> class_svg(class_frame(ClassState(), now=0.0)).words.splitlines()[1]
    'no tasks yet'
    """
    drawing = Drawing(WIDTH, OWN_STYLE)
    _draw_head(drawing, frame)
    if not frame.machines:
        drawing.text(WIDTH / 2, (LANES_TOP + LANES_BOTTOM) / 2, "Nobody has joined yet.", "title middle")
    elif len(frame.machines) <= ROOMY_MACHINES:
        _draw_lanes(drawing, frame, frame.machines, 0, ROOMY)
    else:
        half = (len(frame.machines) + 1) // 2
        _draw_lanes(drawing, frame, frame.machines[:half], 0, COMPACT)
        _draw_lanes(drawing, frame, frame.machines[half:], WIDTH - COMPACT_WIDTH, COMPACT)
    _draw_foot(drawing, frame)
    drawing.height = HEIGHT
    return Picture(drawing.svg("The class", class_summary(frame)), class_text(frame))


def _draw_head(drawing: Drawing, frame: ClassFrame) -> None:
    drawing.text(0, 25, f"Round {frame.round}" if frame.round else "The class", "title")
    drawing.text(WIDTH, 24, progress_words(frame), "large end")
    drawing.box(0, 36, WIDTH, 14, "track")
    if frame.done:
        drawing.box(0, 36, WIDTH * frame.done / frame.total, 14, "done", progress_words(frame))
    if frame.join_line:
        room = WIDTH - JOIN_LEFT - 8
        fitting = [size for size in JOIN_SIZES if len(frame.join_line) * CODE_LETTER * size <= room]
        size = fitting[0] if fitting else JOIN_SIZES[-1]
        drawing.box(0, 58, WIDTH, 28, "chip")
        drawing.text(10, 77, "to join", "bold")
        drawing.text(JOIN_LEFT, 78, frame.join_line, f"code join{size}")


def _draw_foot(drawing: Drawing, frame: ClassFrame) -> None:
    drawing.text(0, HEIGHT - 7, shortened(latest_words(frame), 70), "bold large")
    more = f"{frame.more} more machines" if frame.more else ""
    words = " · ".join(part for part in (more, fairness_words(frame)) if part)
    drawing.text(WIDTH, HEIGHT - 7, words, "end")


def _draw_lanes(
    drawing: Drawing, frame: ClassFrame, machines: list[MachineFrame], left: float, columns: Columns
) -> None:
    """Draw machines below each other, and the last minute as their time axis."""
    row = min(HIGHEST_LANE, (LANES_BOTTOM - LANES_TOP) / len(machines))
    bottom = LANES_TOP + row * len(machines)
    scale = Scale(
        frame.time - SHOWN_SECONDS, frame.time, left + columns.strip_left, left + columns.strip_right
    )
    grid = [scale.place(frame.time - seconds) for seconds in range(0, int(SHOWN_SECONDS) + 1, 10)]
    drawing.path("".join(stroke(x, LANES_TOP, x, bottom + 3) for x in grid), "grid")
    drawing.text(scale.left, bottom + 16, "60 s ago", "small")
    drawing.text(scale.right, bottom + 16, "now", "small end")
    shares = Shares(1 / len(frame.load.loads), max(machine.share for machine in frame.machines))
    for place, machine in enumerate(machines):
        lane = _LaneDrawing(drawing, machine, left, LANES_TOP + place * row, row, columns)
        lane.draw(scale, shares)


class Shares(NamedTuple):
    """What the bars on the right are measured by."""

    fair: float
    largest: float

    def part(self, share: float) -> float:
        """Return how much of a whole bar a share is: the fair share is never beyond its middle."""
        return share / max(self.largest, 2 * self.fair)


class _LaneDrawing:
    """One machine."""

    def __init__(
        self,
        drawing: Drawing,
        machine: MachineFrame,
        left: float,
        top: float,
        row: float,
        columns: Columns,
    ) -> None:
        self._drawing = drawing
        self._machine = machine
        self._left = left
        self._top = top
        self._row = row
        self._columns = columns
        self._is_roomy = columns is ROOMY
        self._has_two_lines = self._is_roomy and row >= 36

    def draw(self, scale: Scale, shares: Shares) -> None:
        """Draw its name, its last minute, its state and its share of the work."""
        self._draw_name()
        self._draw_strip(scale)
        self._draw_state()
        self._draw_fuse()
        self._draw_share(shares)

    @property
    def _base(self) -> float:
        """The base line of the words."""
        return self._top + (self._row / 2 - 4 if self._has_two_lines else self._row / 2 + 2)

    @property
    def _below(self) -> float:
        """The middle of the thin bars below the words."""
        return self._top + (self._row / 2 + 10 if self._has_two_lines else self._row - 4)

    def _draw_name(self) -> None:
        machine = self._machine
        name = shortened(machine.name, self._columns.name_columns)
        look = "name large" if self._has_two_lines else "name" if self._row >= 18 else "name small"
        self._drawing.text(self._left, self._base, name, look)
        if self._has_two_lines:
            self._drawing.text(self._left, self._base + 17, shortened(machine.about, 20), "small")

    def _draw_strip(self, scale: Scale) -> None:
        height = self._row - (max(6.0, self._row / 4) if self._is_roomy else 8)
        top = self._top + ((self._row - height) / 2 if self._has_two_lines else 1)
        left, right = map(scale.place, self._machine.lived)
        self._drawing.box(left, top, right - left, height, "track")
        for bar in self._machine.bars:
            self._draw_bar(bar, scale, top, height)

    def _draw_bar(self, bar: Bar, scale: Scale, top: float, height: float) -> None:
        left = scale.place(bar.begin)
        width = max(scale.place(bar.end) - left - 1, 1.0)  # a hair of space between neighbours
        self._drawing.box(left, top, width, height, bar.look, f"{bar.what}: {bar.how}, {bar.busy:.1f} s")
        size, letter, rise = SIZES[0] if height < 17 else SIZES[1] if height < 36 else SIZES[2]
        labels = [f"{bar.label}!", "!"] if bar.look == "failed" else [bar.label]
        fitting = [label for label in labels if display_width(label) * letter + 4 <= width]
        if fitting and height >= 12:
            self._drawing.text(left + 3, top + height / 2 + rise, fitting[0], f"on-{bar.look} {size}".strip())

    def _draw_state(self) -> None:
        machine = self._machine
        x = self._left + self._columns.state_left
        size = "" if self._row >= 18 else "small "
        weight = "bold" if machine.state in ("quiet", "dropped out") else ""
        self._drawing.sign(SIGNS[machine.state], x, self._base - 5, machine.words)
        self._drawing.text(x + 12, self._base, self._state_words(), f"{size}{weight}".strip())

    def _state_words(self) -> str:
        if self._is_roomy:
            return self._machine.words
        is_working = self._machine.state == "working"
        return shortened(f"task {self._machine.task}" if is_working else self._machine.state, 12)

    def _draw_fuse(self) -> None:
        """Draw the silence since the last heartbeat: calm at first, then a warning, then an alarm."""
        silence = self._machine.silence
        if silence is None:
            return
        left, right = self._left + self._columns.fuse_left, self._left + self._columns.fuse_right
        share = min(silence / FUSE, 1.0)
        look, height = ("calm", 3) if share < 0.5 else ("warning", 4) if share < 1 else ("alarm", 5)
        self._drawing.box(left, self._below - 1, right - left, 2, "track")
        title = f"last heartbeat {silence:.1f} s ago; at {FUSE:g} s it has dropped out"
        self._drawing.box(left, self._below - height / 2, share * (right - left), height, look, title)

    def _done_words(self) -> str:
        done, failed = self._machine.done, self._machine.failed
        if not self._is_roomy:
            return f"{done} · {failed}!" if failed and self._machine.is_there else f"{done}"
        return f"{done} · {failed} failed" if failed else done_words(self._machine)

    def _draw_share(self, shares: Shares) -> None:
        machine, columns = self._machine, self._columns
        self._drawing.text(
            self._left + columns.done_right,
            self._base,
            self._done_words(),
            "end" if self._row >= 18 else "small end",
        )
        left, width = self._left + columns.share_left, columns.share_right - columns.share_left
        middle = self._below if self._is_roomy else self._base - 4
        self._drawing.box(left, middle - 2.5, width, 5, "track")
        if machine.share:
            self._drawing.box(left, middle - 2.5, width * shares.part(machine.share), 5, "done")
        fair = left + width * shares.part(shares.fair)
        self._drawing.path(
            stroke(fair, middle - 2.5, fair, middle + 2.5), "line", f"a fair share: {shares.fair:.0%}"
        )
