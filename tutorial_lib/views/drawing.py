"""Drawing: an SVG picture as it grows, and as a notebook shows it.

All text goes through one place that makes it safe. What a thing looks like is a word, such as "done" or
"grid", that `STYLE` explains; text and lines take their colour from the page around the picture.
"""

from __future__ import annotations

from html import escape
from typing import Any

from tutorial_lib.views.palette import BARS, BLUE, GREEN, ORANGE, SIGNS, SKY, VERMILION, BarLook
from tutorial_lib.views.words import printable

__all__ = ["Drawing", "Picture", "number", "safe", "stroke"]


def _bar_style(name: str, look: BarLook) -> str:
    """Return the style of one look of bars, and of the text on them."""
    style = f"fill:{look.fill or 'none'}"
    if look.opacity < 1:
        style += f";fill-opacity:{look.opacity}"
    if look.edge:
        style += f";stroke:{look.edge}"
    if look.is_dashed:
        style += ";stroke-dasharray:3 2"
    return f".tt .{name}{{{style}}}.tt text.on-{name}{{fill:{look.ink}}}"


STYLE = (
    # JupyterLab's own text colour where there is one, else that of the text around the picture.
    ".tt{color:var(--jp-ui-font-color1,currentColor);width:100%;max-width:1100px;height:auto;display:block}"
    # A picture in a file of its own has no page around it.
    "svg.tt:root{color:#1f1f1f}@media(prefers-color-scheme:dark){svg.tt:root{color:#e6e6e6}}"
    ".tt text{fill:currentColor;font:15px system-ui,sans-serif}"
    ".tt .name{font-weight:600}.tt .small{font-size:13px}.tt .bold{font-weight:600}"
    ".tt .code{font:14px ui-monospace,Menlo,Consolas,monospace}"
    ".tt .end{text-anchor:end}.tt .middle{text-anchor:middle}"
    f"{''.join(_bar_style(name, look) for name, look in BARS.items())}"
    ".tt .track{fill:currentColor;fill-opacity:.07}"
    ".tt .grid{stroke:currentColor;stroke-opacity:.16}"
    ".tt .line{stroke:currentColor;stroke-width:1.5;fill:none}"
    ".tt .share{stroke:currentColor;stroke-width:2;stroke-dasharray:5 3}"
    f".tt .area{{fill:{SKY};fill-opacity:.3}}"
    f".tt .chip,.tt .latest{{fill:{SKY};fill-opacity:.22;stroke:currentColor;stroke-opacity:.45}}"
    f".tt .latest{{stroke:{BLUE};stroke-opacity:1;stroke-width:2.5}}"
    f".tt .calm{{fill:{GREEN}}}.tt .alarm{{fill:{VERMILION}}}"
    f".tt .warning{{fill:{ORANGE};stroke:currentColor}}"
)


class Drawing:
    """An SVG picture that grows from top to bottom. All places and sizes are in its own units.

    ``style`` explains looks that only this kind of picture has.

    >>> drawing = Drawing(100)
    >>> drawing.text(0, 14, "w1 <script>")
    >>> "&lt;script&gt;" in drawing.svg("A name", "A name alone.")
    True
    """

    def __init__(self, width: float, style: str = "") -> None:
        self.width = width
        self.height = 0.0
        self.style = STYLE + style
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, look: str = "") -> None:
        """Write ``text``; ``y`` is its base line."""
        if text:
            self._parts.append(f'<text x="{number(x)}" y="{number(y)}"{_class(look)}>{safe(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, look: str, title: str = "") -> None:
        """Draw a box. Its ``title`` is shown when the mouse rests on it."""
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="2"'
        self._parts.append(f"<rect {place}{_class(look)}{_with_title('rect', title)}")

    def path(self, code: str, look: str, title: str = "") -> None:
        """Draw a line or an area, given in the code of an SVG path."""
        if code:
            self._parts.append(f'<path d="{code}"{_class(look)}{_with_title("path", title)}')

    def sign(self, kind: str, x: float, y: float, title: str) -> None:
        """Draw one of the signs of the palette."""
        sign = SIGNS[kind]
        fill = sign.colour if sign.is_filled else "none"
        self._parts.append(
            f'<path d="{sign.path}" transform="translate({number(x)},{number(y)})" fill="{fill}" '
            f'stroke="{sign.colour}" stroke-width="2"{_with_title("path", title)}'
        )

    def svg(self, title: str, summary: str) -> str:
        """Return the picture as SVG. ``summary`` is what is read out in place of it."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tt" role="img" '
            f'viewBox="0 0 {number(self.width)} {number(self.height)}" '
            f'aria-label="{safe(title)}. {safe(summary)}"><title>{safe(title)}</title>'
            f"<desc>{safe(summary)}</desc><style>{self.style}</style>{''.join(self._parts)}</svg>"
        )


def number(value: float) -> str:
    """Write a coordinate with one decimal, or with none where that is 0.

    >>> number(12.0), number(3.14159)
    ('12', '3.1')
    """
    return f"{value:.1f}".removesuffix(".0")


def stroke(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return the code of a straight line, to be given to `Drawing.path`.

    >>> stroke(1, 2, 3.5, 4)
    'M1 2L3.5 4'
    """
    return f"M{number(x)} {number(y)}L{number(to_x)} {number(to_y)}"


def safe(text: str) -> str:
    """Return ``text`` as it can stand in SVG and HTML."""
    return "\n".join(escape(printable(line)) for line in text.split("\n"))


def _class(look: str) -> str:
    return f' class="{look}"' if look else ""


def _with_title(element: str, title: str) -> str:
    return f"><title>{safe(title)}</title></{element}>" if title else "/>"


class Picture(str):
    """SVG code as text, which a notebook shows as the picture that it is.

    ``words`` is the same picture in words: what is printed, read out, and compared by tests.
    """

    words: str

    def __new__(cls, svg: str, words: str) -> Picture:
        """Make a picture of SVG code and its words."""
        picture = super().__new__(cls, svg)
        picture.words = words
        return picture

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/html": self.html(), "text/plain": self.words}

    def html(self) -> str:
        """Return the picture for an HTML page.

        A notebook that is opened and not yet run removes drawings and styles from its saved outputs, and
        leaves only the text inside. So it is the style that shows the drawing and hides the words; where it
        is removed the words are shown, and the remains of the drawing stay hidden.
        """
        return (
            "<style>.tt-drawing{display:block!important}.tt-words{display:none}</style>"
            f'<div class="tt-drawing" hidden="">{self!s}</div>'
            f'<pre class="tt-words">{safe(self.words)}</pre>'
        )
