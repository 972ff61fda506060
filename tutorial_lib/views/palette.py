"""Palette: the colours and signs of all pictures. No meaning is carried by colour alone.

The colours are those of M. Okabe and K. Ito, Color universal design, 2008, which people with any kind of
colour vision can tell apart. Text and lines have the colour of the page's own text, so that they are right
on a light and on a dark page.

=========  ==================  =========================  ==================
what       colour              shape                      word
=========  ==================  =========================  ==================
finished   blue                solid bar                  "done"
running    sky blue, blue edge solid bar up to now        "busy"
failed     vermilion           "!" behind its number      "failed"
cut short  none                dashed outline             "cut short"
refused    none                dashed outline             "refused"
in hand    pale blue           outline                    "in hand"
trouble    vermilion           a sign for each kind       beside the sign
recovery   green               a sign for each kind       beside the sign
=========  ==================  =========================  ==================
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = [
    "BARS",
    "BLACK",
    "BLUE",
    "DARK_PAGE",
    "GREEN",
    "LIGHT_PAGE",
    "ORANGE",
    "OWN",
    "SIGNS",
    "SKY",
    "VERMILION",
    "WHITE",
    "BarLook",
    "Sign",
    "contrast",
]

BLUE: Final = "#0072B2"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
BLACK: Final = "#000000"
WHITE: Final = "#FFFFFF"
OWN: Final = "currentColor"
"""The colour of the text around the picture."""

LIGHT_PAGE: Final = "#FFFFFF"
DARK_PAGE: Final = "#111111"
"""The pages of JupyterLab's two themes."""


class BarLook(NamedTuple):
    """How a bar is drawn. ``fill`` is the colour inside, None for an outline; ``ink`` that of its text."""

    fill: str | None
    ink: str
    edge: str | None = None
    opacity: float = 1.0  # of the colour inside
    is_dashed: bool = False


BARS: Final = {
    "done": BarLook(BLUE, WHITE),
    "running": BarLook(SKY, BLACK, edge=BLUE),
    "failed": BarLook(VERMILION, BLACK),
    "cut": BarLook(None, OWN, edge=OWN, is_dashed=True),
    "hand": BarLook(SKY, OWN, edge=BLUE, opacity=0.22),
}
"""The looks of bars, by the look that a `Bar` says it has."""


class Sign(NamedTuple):
    """A sign: its shape as an SVG path around 0, 0 and as a marker of matplotlib, and its colour."""

    path: str
    marker: str
    colour: str
    is_filled: bool = False


_DIAMOND = "M0-5.5 5.5 0 0 5.5-5.5 0Z"
_RING = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0"

SIGNS: Final = {
    "crash": Sign("M-5-5 5 5M5-5-5 5", "x", VERMILION),
    "hang": Sign("M-2.5-5V5M2.5-5V5", "|", OWN),
    "slow": Sign("M-4-5H4L-4 5H4Z", "d", OWN),
    "mute": Sign(_RING + "M-3.2 3.2 3.2-3.2", "o", OWN),
    "hire": Sign("M-5 0H5M0-5V5", "+", GREEN),
    "dismiss": Sign("M-5 0H5", "_", OWN),
    "restart": Sign("M0-5 5 4-5 4Z", "^", GREEN, True),
    "give_up": Sign("M-4-4H4V4H-4Z", "s", VERMILION, True),
    "suspect": Sign(_DIAMOND, "D", VERMILION),
    "clear": Sign("M-5 0-1 4 5-4", "D", GREEN),
    "dead": Sign(_DIAMOND, "D", VERMILION, True),
    "lapse": Sign("M-4-5H4M-4 5H4M0-5V5", "v", VERMILION),
    "retry": Sign("M-5-4-1 0-5 4M0-4 4 0 0 4", ">", OWN),
    "open": Sign(_RING, "o", VERMILION),
    "half_open": Sign(_RING + "M0-4.5V4.5", "o", OWN),
    "close": Sign(_RING, "o", GREEN, True),
    "requeue": Sign("M4-3A5 5 0 1 0 5 1M4.5-6.5V-3H1", "o", OWN),
    "undo": Sign("M5 5V-1H-5M-1-5-5-1-1 3", "<", VERMILION),
    "note": Sign("M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0", ".", OWN, True),
    "working": Sign("M-4-5.5 5.5 0-4 5.5Z", ">", BLUE, True),
    "idle": Sign("M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "o", OWN),
}
"""The signs of the moments at which something happened to an actor; the last two say how a machine is."""


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21. Text needs 4.5, shapes need 3.

    Source: Web Content Accessibility Guidelines 2.2, W3C, 2023, "contrast ratio".

    >>> contrast("#000000", "#FFFFFF")
    21.0
    """
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
