"""Colours and signs: to be told apart by everybody, on a light and on a dark page."""

from __future__ import annotations

import pytest

from tutorial_lib.views.history import SIGN_WORDS
from tutorial_lib.views.palette import (
    BARS,
    BLACK,
    BLUE,
    DARK_PAGE,
    GREEN,
    LIGHT_PAGE,
    ORANGE,
    OWN,
    SIGNS,
    SKY,
    VERMILION,
    WHITE,
    contrast,
)

PAGES = {"light": (LIGHT_PAGE, BLACK), "dark": (DARK_PAGE, WHITE)}
"""Each page with the colour of its text."""

TEXT, SHAPE = 4.5, 3.0  # the contrasts that text and shapes need


def mixed(colour: str, page: str, opacity: float) -> str:
    """Return the colour that is seen when ``colour`` lies half transparent on a page."""
    parts = [(int(colour[i : i + 2], 16), int(page[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(top * opacity + below * (1 - opacity)):02X}" for top, below in parts)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("look", BARS)
def test_the_text_on_every_bar_can_be_read(look: str, page: str) -> None:
    """The ink stands out from what is below it, also where the page shows through."""
    bar = BARS[look]
    background, own = PAGES[page]
    below = mixed(bar.fill, background, bar.opacity) if bar.fill else background
    assert contrast(own if bar.ink == OWN else bar.ink, below) >= TEXT


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("look", BARS)
def test_every_bar_stands_out_from_the_page(look: str, page: str) -> None:
    """By its colour, or by its edge."""
    bar = BARS[look]
    background, own = PAGES[page]
    seen = bar.edge or bar.fill
    assert seen is not None
    assert contrast(own if seen == OWN else seen, background) >= SHAPE


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("kind", SIGNS)
def test_every_sign_stands_out_from_the_page(kind: str, page: str) -> None:
    """Signs are thin, so their colour has to carry."""
    background, own = PAGES[page]
    colour = SIGNS[kind].colour
    assert contrast(own if colour == OWN else colour, background) >= SHAPE


def test_all_colours_are_those_of_okabe_and_ito() -> None:
    """They can be told apart with any kind of colour vision."""
    chosen = {bar.fill for bar in BARS.values()} | {sign.colour for sign in SIGNS.values()} - {OWN}
    assert chosen - {OWN, None} <= {BLUE, SKY, GREEN, ORANGE, VERMILION}


def test_no_sign_is_known_by_its_colour_alone() -> None:
    """Each has a shape of its own, filled or not, and each has a word."""
    shapes = [(sign.path, sign.is_filled) for sign in SIGNS.values()]
    assert len(set(shapes)) == len(shapes)
    assert set(SIGN_WORDS) <= set(SIGNS)


def test_no_bar_is_known_by_its_colour_alone() -> None:
    """Each is built in its own way; only a failed one is built like a finished one, and it carries a "!"."""
    builds = {
        name: (bar.fill is None, bar.opacity, bar.edge is None, bar.is_dashed) for name, bar in BARS.items()
    }
    assert builds["done"] == builds["failed"]  # the one that needs its mark
    assert len(set(builds.values())) == len(builds) - 1


def test_contrast_is_that_of_the_guidelines() -> None:
    """Black on white is 21, a colour on itself 1, and the order does not matter."""
    assert contrast(BLACK, WHITE) == contrast(WHITE, BLACK) == 21.0
    assert contrast(BLUE, BLUE) == 1.0
    assert contrast("#767676", WHITE) == pytest.approx(4.54, abs=0.01)
