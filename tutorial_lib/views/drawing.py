"""Drawing: an SVG picture as it grows, and as it is shown.

All text goes through one place that makes it safe. Colours come from the page: `STYLE` takes JupyterLab's
own text colour where there is one, and else that of the text around the picture.
"""

from __future__ import annotations

from html import escape
from typing import Any

from tutorial_lib.views.palette import BLUE, FILLS, GREEN, ORANGE, SKY, VERMILION
from tutorial_lib.views.words import printable

__all__ = ["Drawing", "Picture", "number"]

STYLE = (
    ".tt{color:var(--jp-ui-font-color1,currentColor);width:100%;max-width:1100px;height:auto;display:block}"
    # A picture on its own has no page around it to take a colour from.
    "svg.tt:root{color:#1f1f1f}@media(prefers-color-scheme:dark){svg.tt:root{color:#e6e6e6}}"
    ".tt text{fill:currentColor;font:13px system-ui,sans-serif}.tt .name{font-weight:600;font-size:14px}"
    ".tt .small{font-size:12px}.tt .code{font:13px ui-monospace,Menlo,Consolas,monospace}"
    ".tt .end{text-anchor:end}.tt .mid{text-anchor:middle}.tt .bold{font-weight:600}"
    ".tt .grid{stroke:currentColor;stroke-opacity:.16}.tt .line{stroke:currentColor;fill:none}"
    ".tt .track{fill:currentColor;fill-opacity:.07}"
    f".tt .held{{fill:{SKY};fill-opacity:.22;stroke:{BLUE}}}"
    f".tt .chip,.tt .newest{{fill:{SKY};fill-opacity:.22;stroke:currentColor;stroke-opacity:.45}}"
    f".tt .newest{{stroke:{BLUE};stroke-opacity:1;stroke-width:2.5}}"
    ".tt .cut{fill:none;stroke:currentColor;stroke-dasharray:3 2}"
    + "".join(f".tt .{how}{{fill:{fill.fill}}}" for how, fill in FILLS.items() if fill.fill)
    + f".tt text.on-done{{fill:{FILLS['done'].text}}}"
    f".tt text.on-running,.tt text.on-failed{{fill:{FILLS['failed'].text}}}"
    f".tt .calm{{fill:{GREEN}}}.tt .warning{{fill:{ORANGE};stroke:currentColor}}"
    f".tt .alarm{{fill:{VERMILION}}}"
)


def number(value: float) -> str:
    """Write a coordinate: one decimal, and none where it is 0.

    >>> number(12.0), number(3.14159)
    ('12', '3.1')
    """
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """An SVG picture that grows from top to bottom.

    >>> drawing = Drawing(100)
    >>> drawing.text(0, 14, "w1 <script>")
    >>> "&lt;script&gt;" in drawing.svg("A name", "A name alone.")
    True
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self.height = 0.0
        self._parts: list[str] = []

    def add(self, part: str) -> None:
        """Add SVG code as it is."""
        self._parts.append(part)

    def text(self, x: float, y: float, text: str, look: str = "") -> None:
        """Write ``text``; ``y`` is its base line, ``look`` the classes of `STYLE`."""
        given = f' class="{look}"' if look else ""
        self._parts.append(f'<text x="{number(x)}" y="{number(y)}"{given}>{safe(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, look: str, title: str = "") -> None:
        """Draw a box; ``title`` is shown when the mouse rests on it."""
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        inside = f"><title>{safe(title)}</title></rect>" if title else "/>"
        self._parts.append(f'<rect {place} class="{look}" rx="2"{inside}')

    def path(self, code: str, attributes: str, title: str = "") -> None:
        """Draw a path."""
        inside = f"><title>{safe(title)}</title></path>" if title else "/>"
        self._parts.append(f'<path d="{code}" {attributes}{inside}')

    def svg(self, title: str, summary: str) -> str:
        """Return the picture as SVG. ``summary`` is what is read out in place of it."""
        size = f"{number(self.width)} {number(self.height)}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tt" viewBox="0 0 {size}" role="img" '
            f'aria-label="{safe(title)}. {safe(summary)}"><title>{safe(title)}</title>'
            f"<desc>{safe(summary)}</desc><style>{STYLE}</style>{''.join(self._parts)}</svg>"
        )


def safe(text: str) -> str:
    """Return ``text`` as it can stand in SVG and HTML."""
    return escape(printable(text))


class Picture(str):
    """SVG code as text, which a notebook shows as the picture that it is.

    ``text`` is the same picture in words: what is printed, compared by tests, and read out.
    """

    text: str

    def __new__(cls, svg: str, text: str) -> Picture:
        """Make a picture from its SVG code and its words."""
        picture = super().__new__(cls, svg)
        picture.text = text
        return picture

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/html": self.html(), "text/plain": self.text}

    def html(self) -> str:
        """Return the picture for an HTML page.

        A notebook that is opened and not yet run removes drawings and styles from its saved outputs, and
        leaves only the text inside. So the style shows the drawing and hides the words; where it is
        removed, the words are shown, and the remains of the drawing stay hidden.
        """
        return (
            "<style>.tt-drawing{display:block!important}.tt-words{display:none}</style>"
            f'<div class="tt-drawing" hidden>{self!s}</div><pre class="tt-words">{safe_lines(self.text)}</pre>'
        )


def safe_lines(text: str) -> str:
    """Return several lines as they can stand in HTML."""
    return "\n".join(safe(line) for line in text.splitlines())
