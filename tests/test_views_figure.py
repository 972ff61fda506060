"""The pictures as matplotlib figures."""

from __future__ import annotations

import base64
import subprocess
import sys
import warnings

import pytest
from matplotlib.figure import Figure

from tests.test_views_svg import hostile_trace
from tests.view_help import busy_run, story
from tutorial_lib import Trace
from tutorial_lib.views.figure import ELSEWHERE, load_figure, timeline_figure


@pytest.mark.parametrize("draw", [timeline_figure, load_figure])
def test_a_figure_draws_without_any_warning(draw: object) -> None:
    """Names in scripts that the font lacks, markup, and mathematics between dollar signs."""
    traces = [Trace(), hostile_trace(1.0, 0.0), story((0, "$\\frac{1}{2}$", "take", ("task", 1), "tasks"))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for trace in traces:
            data, _ = draw(trace)._repr_mimebundle_()  # type: ignore[operator]
            assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


def test_a_name_in_another_script_is_shown_by_its_number() -> None:
    """With one clear note that says where to see it."""
    figure = timeline_figure(story((0, "w1", "note"), (0, "作業員", "note")))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["w1", "#2"]
    assert figure.get_supxlabel() == ELSEWHERE
    assert timeline_figure(story((0, "w1", "note"))).get_supxlabel() == ""


def test_a_figure_belongs_to_whoever_asked_for_it() -> None:
    """Drawing a hundred leaves nothing behind, since pyplot is never loaded."""
    program = (
        "import sys; from tutorial_lib import Trace; from tutorial_lib.views.figure import timeline_figure\n"
        "[timeline_figure(Trace()) for _ in range(3)]\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_figure_can_be_changed() -> None:
    """It is an ordinary figure with one pair of axes in seconds."""
    run = busy_run()
    figure = timeline_figure(run)
    assert isinstance(figure, Figure)
    assert figure.axes[0].get_xlim() == (0, run.elapsed)
    figure.axes[0].set_title("my run")


def test_a_figure_shows_itself_with_its_words() -> None:
    """A picture for the page, words for tests, and the first sentence for whoever listens."""
    figure = load_figure(busy_run())
    data, about = figure._repr_mimebundle_()
    assert data["text/plain"] == figure.words == repr(figure)
    assert about["image/png"]["alt"] == figure.words.splitlines()[0]


def test_load_is_drawn_with_the_fair_share() -> None:
    """A bar for each worker, and one dashed line."""
    figure = load_figure(story(*((0, name, "take", ("task", 1), "tasks") for name in ("a", "a", "b"))))
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [2, 1]
    assert [list(line.get_xdata()) for line in axes.lines] == [[1.5, 1.5]]
