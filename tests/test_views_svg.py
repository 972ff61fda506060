"""The pictures that a notebook shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from tests.view_help import busy_run, story, texts_of, watched_workers
from tutorial_lib import Trace
from tutorial_lib.faults import crash
from tutorial_lib.simulation import Run, simulate
from tutorial_lib.views.drawing import Picture
from tutorial_lib.views.figure import timeline_figure
from tutorial_lib.views.frame import frame_at
from tutorial_lib.views.svg import load_svg, picture_of, space_svg, timeline_svg, tuples_svg
from tutorial_lib.views.text import status, timeline_text

Draw = Callable[..., Picture]
PICTURES = [timeline_svg, load_svg, tuples_svg, space_svg]

HOSTILE = [
    "<script>alert(1)</script>",
    "作業員その一",
    "🚀 pilot",
    "x" * 200,
    "a\nb\x00\x1b",
    "\ud800",
    "&\"'",
    "עברית",
]


def hostile_trace(scale: float, offset: float) -> Trace:
    """Return a trace of actors with every kind of name, at times of every size."""
    steps = []
    for number, name in enumerate(HOSTILE):
        moment = offset + scale * number
        steps += [
            (moment, name, "wait", (), name, {"pattern": (name, int), "operation": "take"}),
            (moment, name, "write", (name, {"a": ["<b>"] * 50}), name),
            (moment, name, "start", (name, name)),
            (moment + scale / 2, name, "note", (), "", {"text": name}),
            (moment + scale / 2, name, "crash"),
        ]
    return story(*steps)


@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize(
    ("scale", "offset"), [(1.0, 0.0), (1e-6, 0.0), (86_400.0, 0.0), (1.0, 3e7), (1e-6, 3e7)]
)
def test_every_picture_is_sound_whatever_it_shows(draw: Draw, scale: float, offset: float) -> None:
    """Names from anywhere, microseconds and days, at every moment: valid XML without a script."""
    trace = hostile_trace(scale, offset)
    for moment in (None, offset, trace[len(trace) // 2].time, offset + 1e6 * scale):
        picture = draw(trace, at=moment)
        root = ElementTree.fromstring(picture)
        picture.encode("utf-8")
        assert not [element for element in root.iter() if element.tag.endswith("script")]
        assert "nan" not in re.sub(r"<text.*?</text>|<title>.*?</title>|<desc>.*?</desc>", "", picture)


@pytest.mark.parametrize("draw", PICTURES)
def test_a_picture_of_nothing_is_a_picture(draw: Draw) -> None:
    """An empty trace and one of a single event are drawn."""
    for trace in (Trace(), story((2, "w1", "note"))):
        assert ElementTree.fromstring(draw(trace)).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("draw", PICTURES)
def test_a_picture_can_be_read_out(draw: Draw) -> None:
    """It is an image with a title, and with the sentence that its text twin begins with."""
    picture = draw(busy_run())
    root = ElementTree.fromstring(picture)
    title, description = root[0].text, root[1].text
    assert root.get("role") == "img"
    assert root.get("aria-label") == f"{title}. {description}"
    assert description
    assert description.startswith(picture.words.splitlines()[0])


@pytest.mark.parametrize("draw", PICTURES)
def test_text_and_lines_take_the_colour_of_the_page(draw: Draw) -> None:
    """JupyterLab's variable first, then the colour of the text around; no text has a fixed dark colour."""
    picture = draw(busy_run())
    assert "color:var(--jp-ui-font-color1,currentColor)" in picture
    assert not re.search(r'(?:fill|stroke)="(?:#000|black|white|#fff)', picture)


def test_a_notebook_gets_the_picture_and_its_words() -> None:
    """HTML for the page, words for the terminal and for tests. It is still text that can be saved."""
    picture = timeline_svg(busy_run())
    bundle = picture._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert picture in bundle["text/html"]
    assert bundle["text/plain"] == repr(picture) == picture.words == timeline_text(busy_run())
    assert isinstance(picture, str)


def test_a_notebook_that_is_not_run_yet_shows_the_words() -> None:
    """JupyterLab takes drawings and styles out of it. The drawing's remains are hidden, the words are not."""
    html = timeline_svg(busy_run()).html()
    kept = re.sub(r"<style>.*?</style>", "", html)
    assert '<div class="tt-drawing" hidden="">' in kept
    assert "<pre" in kept
    assert "hidden" not in kept[kept.index("<pre") :]


def test_the_same_run_gives_the_same_picture() -> None:
    """Saved outputs do not change by themselves."""
    assert timeline_svg(busy_run()) == timeline_svg(busy_run())


def test_the_playhead_is_drawn_only_where_one_is_asked_for() -> None:
    """A picture of the whole run has none; one at a moment says which."""
    run = busy_run()
    assert "4.5 s" not in texts_of(timeline_svg(run))
    assert "4.5 s" in texts_of(timeline_svg(run, at=4.5))


def watched_run() -> Run:
    return simulate(watched_workers, faults=[crash("w1", at=4.2)])


@pytest.mark.parametrize("run", [busy_run(), watched_run()], ids=["work", "heartbeats"])
@pytest.mark.parametrize("share", [0.3, 0.6, 1.0])
def test_text_svg_and_figure_say_the_same(run: Run, share: float) -> None:
    """The same frame gives the same names, states, signs and task numbers in all three."""
    moment = share * run.elapsed
    frame = frame_at(run, moment)
    text = timeline_text(run, moment)
    svg = texts_of(timeline_svg(run, moment))
    axes = timeline_figure(run, moment).axes[0]
    figure = [label.get_text().strip() for label in [*axes.texts, *axes.get_yticklabels()]]
    for lane in frame.lanes:
        assert lane.name in text
        assert lane.name in svg
        assert lane.name in figure
        assert status(lane) in text
        assert status(lane) in svg
        assert any(words.startswith(status(lane)) for words in figure)
        for sign in lane.signs:
            assert f"{lane.name}: {sign.word}" in text
            assert sign.word in timeline_svg(run, moment)
        for bar in lane.bars:
            if (
                bar.end - bar.begin > (frame.end - frame.begin) / 15
            ):  # long enough for its number in all three
                assert bar.label in svg
                assert bar.label in figure
    assert len(axes.patches) >= sum(len(lane.bars) for lane in frame.lanes)


def test_a_crowded_picture_stays_small() -> None:
    """A hundred thousand events of two hundred workers make no more than a page can carry."""
    steps = []
    for number in range(10_000):
        worker = f"w{number % 200 + 1}"
        steps.append((number / 10, worker, "start", ("task", number)))
        steps.append((number / 10 + 15, worker, "finish", ("task", number)))
    trace = story(*sorted(steps))
    picture = timeline_svg(trace)
    assert len(picture) < 200 * 1024
    assert "and 160 more, not drawn" in texts_of(picture)


def test_lanes_keep_their_place_while_the_playhead_moves() -> None:
    """Room is kept for what comes later, so nothing jumps."""
    run = watched_run()
    sizes = {re.search(r'viewBox="(.*?)"', timeline_svg(run, at=moment)).group(1) for moment in (0, 5, 9, 14)}  # type: ignore[union-attr]
    assert len(sizes) == 1


def test_no_word_runs_through_the_playhead() -> None:
    """Where there is no room between a sign and the playhead, its word stands on the other side."""
    trace = story((0, "w1", "note"), (5, "w1", "crash"), (10, "w2", "note"))
    places = {}
    for moment in (5.2, 9.0):
        picture = timeline_svg(trace, at=moment)
        places[moment] = re.search(r'<text x="([\d.]+)"[^>]*class="([^"]*)">crash<', picture).groups()  # type: ignore[union-attr]
    assert places[5.2] == ("361", "small end")
    assert places[9.0] == ("379", "small")


def test_several_views_stand_below_each_other() -> None:
    """One picture, one description with all their sentences."""
    picture = picture_of(frame_at(busy_run()), ["lanes", "load", "tuples", "space"])
    assert "Worker lanes and Load and Tuples over time and Spaces" in picture
    assert picture.words.count("tasks done") == 2


def test_the_time_from_a_crash_to_its_discovery_is_written() -> None:
    """The bracket carries its seconds."""
    assert "1.8 s unnoticed" in timeline_svg(watched_run())
