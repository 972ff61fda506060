"""Choice: a question in a notebook, with options to choose from by mouse or keyboard.

Without widgets, in a terminal or in a viewer that runs nothing, it is one line of text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

__all__ = ["Choice"]


class Choice:
    """Offers ``options`` and calls ``choose`` with the one that is chosen.

    ``choose`` returns what is said then. ``question`` stands above the options, ``line`` is the text form,
    and ``chosen`` an option that is chosen already.

    >>> Choice("Tea or coffee?", ["tea", "coffee"], choose=str.upper, line="Tea or coffee?")
    Tea or coffee?
    """

    def __init__(
        self,
        question: str,
        options: Sequence[str],
        *,
        choose: Callable[[str], str],
        line: str,
        chosen: str | None = None,
    ) -> None:
        self._question = question
        self._options = list(options)
        self._choose = choose
        self._line = line
        self._chosen = chosen
        self._box: Any = None

    def __repr__(self) -> str:
        return self._line

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        from tutorial_lib.views.cells import close_with_cell  # here, since it needs IPython

        if self._box is None:
            self._box = self.widget()
            close_with_cell(self, f"Choice of {self._question}")
        return {**self._box._repr_mimebundle_(), "text/plain": repr(self)}

    def close(self) -> None:
        """Take the widgets away. Closing twice does nothing more."""
        from tutorial_lib.views.controls import close_all  # here, since it needs ipywidgets

        if self._box is not None:
            close_all(self._box)
            self._box = None

    def widget(self) -> Any:
        """Return the options as an ipywidgets box."""
        import ipywidgets  # here, since a terminal shows the line and needs no widgets

        wide = ipywidgets.Layout(width="auto")
        title = ipywidgets.HTML(f"<b>{escape(self._question)}</b>")
        buttons = ipywidgets.RadioButtons(options=self._options, value=self._chosen, layout=wide)
        said = ipywidgets.HTML()

        def on_choice(change: dict[str, Any]) -> None:
            reply = escape(self._choose(change["new"]))
            said.value = f'<span role="status">{reply}</span>'  # a screen reader reads it aloud

        buttons.observe(on_choice, names="value")
        return ipywidgets.VBox([title, buttons, said])
