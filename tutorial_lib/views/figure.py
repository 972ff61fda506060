"""Figure: the picture of a run as a matplotlib figure, to keep, to print and to change.

Never through ``pyplot``, which keeps every figure in a global list: a figure belongs to whoever asked for it.
Labels are short Latin words, since the font that comes with matplotlib has no others; in place of a name in
another script stands its number. `timeline_svg` shows every script.
"""

from __future__ import annotations

import base64
import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tutorial_lib.simulation import Run
from tutorial_lib.trace import Trace
from tutorial_lib.views.frame import Frame, LaneFrame, frame_at
from tutorial_lib.views.palette import BARS, BLACK, BLUE, GREEN, OWN, SIGNS, WHITE
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.text import lane_lines, load_lines, load_words, silence_words, status
from tutorial_lib.views.thinning import Bar, Mark
from tutorial_lib.views.words import shortened

__all__ = ["Chart", "load_figure", "timeline_figure"]

INCHES = 8.4  # width of a figure
LANE_INCHES = 0.42
DOTS_PER_INCH = 144
MOST_LANES = 40
BAR = 0.56  # of the height of a lane
LAST_LATIN = 0x24F
AXIS_LETTERS = 80  # that fit beside each other on the time axis
ELSEWHERE = "Names in other scripts are shown by timeline_svg."


class Chart(Figure):
    """A matplotlib figure that a notebook shows by itself. ``words`` is the same picture in words."""

    words = ""

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=DOTS_PER_INCH)
        width, height = (round(100 * inches) for inches in self.get_size_inches())
        data = {"image/png": base64.b64encode(file.getvalue()).decode("ascii"), "text/plain": self.words}
        return data, {"image/png": {"width": width, "height": height, "alt": self.words.splitlines()[0]}}


def timeline_figure(run: Run | Trace, at: float | None = None) -> Chart:
    """Draw who did what and when as a matplotlib figure, a lane for each actor.

    It has one pair of axes, with seconds along x, and the lanes along y from 0 downwards. ``at`` is the
    second up to which to draw; without it, the whole run is drawn. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> _ = trace.record("start", actor="w1", fields=("task", 7), time=0.0)
    >>> _ = trace.record("finish", actor="w1", fields=("task", 7), time=3.0)
    >>> figure = timeline_figure(trace)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['w1']
    """
    frame = frame_at(run, at)
    lanes = frame.lanes[:MOST_LANES]
    chart, axes = _new_chart(len(lanes), [lane.name for lane in lanes])
    axes.set_xlim(frame.begin, frame.end)
    axes.set_xlabel("time in seconds")
    axes.grid(axis="x", color=BLACK, alpha=0.15)
    axes.set_axisbelow(True)
    for row, lane in enumerate(lanes):
        _draw_lane(axes, frame, lane, row)
    if at is not None:
        axes.axvline(frame.time, color=BLACK, linewidth=1.2)
    chart.words = "\n".join(lane_lines(frame))
    return chart


def load_figure(run: Run | Trace, at: float | None = None) -> Chart:
    """Draw how much each worker did as a matplotlib figure, with the fair share as a dashed line.

    ``at`` is as for `timeline_figure`. Raises what `frame_at` raises.

    >>> trace = Trace()
    >>> for name in ("w1", "w1", "w2"):
    ...     _ = trace.record("take", actor=name, space="tasks", fields=("task", 7), time=1.0)
    >>> print(load_figure(trace).words.splitlines()[0])
    3 tuples taken by 2: a fair share is 1.5; w1 has 2, w2 1; fairness 0.90 of 1.
    """
    load = frame_at(run, at).load
    loads = load.loads[:MOST_LANES]
    chart, axes = _new_chart(len(loads), [one.name for one in loads])
    axes.barh(range(len(loads)), [one.amount for one in loads], height=BAR, color=BLUE)
    axes.set_xlim(0, max([one.amount for one in load.loads] + [load.fair_share, 1]) * 1.1)
    for row, one in enumerate(loads):
        axes.annotate(str(one.amount), (one.amount, row), (4, 0), textcoords="offset points", va="center")
        _beside(axes, row, load_words(one))
    axes.set_xlabel(load.unit)
    if load.fairness is not None:
        axes.axvline(load.fair_share, color=BLACK, linestyle="--")
        axes.set_title(
            f"dashed: fair share {load.fair_share:.4g}; fairness {load.fairness:.2f}, where 1 is even",
            size=10,
        )
    chart.words = "\n".join(load_lines(load))
    return chart


# ---------------------------------------------------------------------------------------------------
# Parts


def _new_chart(rows: int, names: list[str]) -> tuple[Chart, Axes]:
    chart = Chart(figsize=(INCHES, 1.1 + LANE_INCHES * max(rows, 1)), layout="constrained", facecolor="white")
    axes = chart.add_subplot()
    axes.set_yticks(
        range(rows), [_latin(name, f"#{row + 1}") for row, name in enumerate(names)], parse_math=False
    )
    axes.set_ylim(max(rows, 1) - 0.4, -0.7)
    axes.tick_params(axis="y", length=0)
    axes.spines[["left", "right", "top"]].set_visible(False)
    if any(_latin(name, "") == "" for name in names):
        chart.supxlabel(ELSEWHERE, size=9)
    return chart, axes


def _latin(text: str, otherwise: str) -> str:
    """Return a short ``text`` if it is written in Latin letters, and ``otherwise`` if it is not."""
    text = shortened(text, 16)
    return text if all(ord(letter) <= LAST_LATIN or letter == "…" for letter in text) else otherwise


def _beside(axes: Axes, row: int, words: str) -> None:
    """Write a few words to the right of a row."""
    axes.text(1.01, row, words, transform=axes.get_yaxis_transform(), va="center", size=9, parse_math=False)


def _draw_lane(axes: Axes, frame: Frame, lane: LaneFrame, row: int) -> None:
    letters = Scale(frame.begin, frame.end, 0, AXIS_LETTERS)
    lived = [(begin, end - begin) for begin, end in lane.lived]
    axes.broken_barh(lived, (row - BAR / 2, BAR), color=BLACK, alpha=0.06)
    for bar in lane.bars:
        _draw_bar(axes, bar, row, room=letters.place(bar.end) - letters.place(bar.begin))
    if lane.has_ticks_only:
        times = [tick.time for tick in lane.ticks]
        axes.vlines(times, row - BAR / 3, row + BAR / 3, color=BLACK, linewidth=0.8)
    axes.plot(
        [beat.time for beat in lane.beats], [row + 0.4] * len(lane.beats), "|", color=GREEN, markersize=5
    )
    for place, sign in enumerate(lane.signs):
        following = lane.signs[place + 1].time if place + 1 < len(lane.signs) else frame.end
        _draw_sign(axes, sign, row, room=letters.place(following) - letters.place(sign.time))
    _beside(axes, row, " · ".join(filter(None, [status(lane), silence_words(lane, letters)])))


def _draw_bar(axes: Axes, bar: Bar, row: int, room: float) -> None:
    look = BARS[bar.look]
    axes.add_patch(
        Rectangle(
            (bar.begin, row - BAR / 2),
            bar.end - bar.begin,
            BAR,
            facecolor=to_rgba(look.fill, look.opacity) if look.fill else "none",
            edgecolor=_colour(look.edge or WHITE),
            linestyle="--" if look.is_dashed else "-",
            linewidth=0.8,
        )
    )
    label = _latin(bar.label, "") + ("!" if bar.look == "failed" else "")
    if label and len(label) + 1 < room:
        axes.text(bar.begin, row, f" {label}", color=_colour(look.ink), va="center", size=9, parse_math=False)


def _draw_sign(axes: Axes, sign: Mark, row: int, room: float) -> None:
    look = SIGNS[sign.kind]
    axes.plot(
        [sign.time],
        [row - 0.42],
        look.marker,
        color=_colour(look.colour),
        fillstyle="full" if look.is_filled else "none",
        clip_on=False,
        zorder=3,
    )
    if len(sign.word) + 2 < room:
        words = _latin(sign.word, sign.kind)
        axes.annotate(
            words,
            (sign.time, row - 0.42),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            size=8,
            parse_math=False,
        )


def _colour(colour: str) -> str:
    return BLACK if colour == OWN else colour  # the page of a figure is white
