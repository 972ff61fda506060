"""What a check answers with: text everywhere, a picture in a notebook, and a way into the run."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import pytest
from answers import load_balance, priority

from tutorial_lib.course import verdict
from tutorial_lib.course.catalog import EXERCISES
from tutorial_lib.course.checking import examine


@pytest.fixture
def broken():
    """A verdict about an answer whose fault has a moment."""
    return examine(EXERCISES["priority"], priority.drains_each_level)


def test_its_text_is_the_message(broken):
    """In a terminal and in a log the verdict is what it says."""
    assert repr(broken) == str(broken) == broken.message
    assert broken._repr_mimebundle_()["text/plain"] == broken.message


def test_it_has_five_lines_with_their_labels(broken):
    """What ran, what must hold, what happened first, one next step, how to replay."""
    labels = [line.partition(":")[0] for line in broken.message.splitlines()]
    assert labels == ["Not yet. Ran priority", "Must hold", "Happened", "Next step", "Replay"]


def test_a_notebook_shows_the_broken_run_up_to_its_first_wrong_moment(broken):
    """Words first, then the worker lanes, with nothing drawn of what came later."""
    html = broken._repr_mimebundle_()["text/html"]
    assert html.index("<b>Happened:</b> at 4 s w1 began task 3") < html.index("<svg")
    assert broken.moment == 4.0
    assert re.search(r">\s*4 s\s*<", html), "the playhead stands at the moment"


def test_hostile_text_does_no_harm_in_a_notebook():
    """What an answer raises is shown, and not obeyed."""

    async def load_balance(tasks, process):
        raise ValueError("<script>alert(1)</script>")

    html = examine(EXERCISES["load-balance"], load_balance)._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_pass_needs_no_picture():
    """There is no wrong moment to look at."""
    passed = examine(EXERCISES["load-balance"], load_balance.with_end_markers)
    assert "<svg" not in passed._repr_mimebundle_()["text/html"]


def test_show_prints_the_run_in_a_terminal(broken, capsys, monkeypatch):
    """The lanes up to the first wrong moment, and the events around it."""
    monkeypatch.setattr(verdict, "_is_notebook", lambda: False)
    assert broken.show() is None
    printed = capsys.readouterr().out
    assert "w1" in printed
    assert "start" in printed
    assert "(3,)" in printed


def test_show_opens_the_player_in_a_notebook(broken, monkeypatch):
    """The same run, with the playhead at the first wrong moment."""
    monkeypatch.setattr(verdict, "_is_notebook", lambda: True)
    player = broken.show()
    try:
        assert player.run.trace.text() == broken.run.trace.text()
    finally:
        player.close()


@pytest.mark.parametrize(
    ("shell", "expected"),
    [(None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=object()), True)],
)
def test_a_notebook_is_known_by_its_kernel(shell, expected, monkeypatch):
    """Plain Python and the IPython prompt are terminals."""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert verdict._is_notebook() is expected


def test_the_excerpt_holds_the_first_wrong_event(broken):
    """A few lines before, and a few after."""
    lines = broken.excerpt().splitlines()
    assert 3 <= len(lines) <= 10
    assert any("start" in line and "(3,)" in line for line in lines)


def test_without_a_run_show_says_so(capsys):
    """A stub was never run."""
    examine(EXERCISES["priority"], None).show()
    assert capsys.readouterr().out == "There is no run to show.\n"
