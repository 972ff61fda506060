"""Controls: the small parts that player and live view share."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from tutorial_lib.views.drawing import safe
from tutorial_lib.views.palette import VERMILION

__all__ = ["alert", "button", "close_all", "row"]


def button(text: str, tooltip: str, act: Callable[[], None], icon: str = "") -> widgets.Button:
    """Return a button, as wide as its text, that calls ``act`` when it is clicked."""
    made = widgets.Button(description=text, tooltip=tooltip, icon=icon, layout=widgets.Layout(width="auto"))
    made.on_click(lambda _: act())
    return made


def row(*parts: widgets.Widget) -> widgets.HBox:
    """Return widgets side by side, on a second line where the page is too narrow."""
    return widgets.HBox(parts, layout=widgets.Layout(flex_flow="row wrap", align_items="center"))


def alert(text: str) -> str:
    """Return HTML that shows a problem: a word and a bar in front, not only a colour. "" stays empty."""
    if not text:
        return ""
    style = f"border-left:4px solid {VERMILION};padding:2px 8px;margin:4px 0;line-height:1.4"
    return f'<div role="alert" style="{style}"><b>Note:</b> {safe(text)}</div>'


def close_all(*made: widgets.Widget) -> None:
    """Close widgets with all that is inside them; their layouts and styles are widgets as well."""
    for widget in made:
        close_all(*getattr(widget, "children", ()))
        for part in ("layout", "style"):
            if getattr(widget, part, None) is not None:
                getattr(widget, part).close()
        widget.close()
