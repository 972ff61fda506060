"""The player: a run that can be stopped, stepped, rewound and made to go wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import ipywidgets as widgets
import pytest
from ipywidgets.widgets.widget import _instances

from tests.kernel_help import kernel
from tests.view_help import busy_run, three_workers, watched_workers
from tutorial_lib import TupleSpace, note, work
from tutorial_lib.faults import crash, hire
from tutorial_lib.simulation import simulate
from tutorial_lib.views.player import Player


@pytest.fixture
def player() -> Iterator[Player]:
    """A player of three workers, shown."""
    made = Player(three_workers)
    _ = made.panel
    yield made
    made.close()


def find(player: Player, description: str) -> Any:
    """Return the button with this text on it."""

    def all_of(widget: widgets.Widget) -> Iterator[widgets.Widget]:
        yield widget
        for child in getattr(widget, "children", ()):
            yield from all_of(child)

    return next(one for one in all_of(player.panel) if getattr(one, "description", None) == description)


def click(player: Player, description: str) -> None:
    find(player, description).click()


def part(player: Player, name: str) -> Any:
    """Return a part of the panel by its name in the code."""
    return getattr(player._panel, name)


# ---------------------------------------------------------------------------------------------------
# The playhead


def test_next_and_back_go_from_event_to_event(player: Player) -> None:
    """Each step shows one event more or less, also within one moment."""
    start = player.playback.number
    click(player, "Next")
    click(player, "Next")
    assert player.playback.number == start + 2
    assert player.playback.time == player.run.trace[start + 1].time
    click(player, "Back")
    assert player.playback.number == start + 1


def test_steps_end_at_both_ends(player: Player) -> None:
    """Before the first event nothing has happened, and after the last there is no other."""
    player.playback.step(-10_000)
    assert (player.playback.number, player.playback.time) == (0, 0.0)
    player.playback.step(10_000)
    assert player.playback.number == len(player.run.trace)


def test_the_slider_scrubs_through_time(player: Player) -> None:
    """Its two ends are the two ends of the run, and moments between are round numbers."""
    slider = part(player, "slider")
    slider.value = slider.max
    assert player.playback.time == player.run.elapsed
    slider.value = slider.max // 3
    assert player.playback.time == round(player.playback.time, 2)
    assert "event" in part(player, "caption").value


def test_a_step_does_not_lose_its_moment_to_the_slider(player: Player) -> None:
    """The slider is too coarse for some moments. It follows the playhead and never pulls it back."""
    player.playback.go_to(player.run.trace[30].time)
    click(player, "Next")
    assert player.playback.time == player.run.trace[player.playback.number - 1].time


def test_a_moment_that_comes_late_does_not_undo_a_step() -> None:
    """The messages of a page that plays, in the worst order."""

    async def program() -> None:
        await work(2)
        await work(2)

    shown = Player(program)
    assert shown.panel is not None
    panel = shown._panel
    assert panel is not None
    panel.play.playing = True
    panel.slider.value = 10  # before the first work is done
    panel._step(1)
    panel.slider.value = 12  # sent before the page heard that it is to stop
    panel.answer.value = panel.question.value
    panel.slider.value = 14  # kept back by the page until now
    panel.answer.value = panel.question.value
    assert not panel.play.playing
    assert (shown.playback.time, panel.slider.value) == (2.0, panel.slider.max // 2)
    shown.close()


def test_the_speed_sets_how_far_a_picture_is_from_the_next(player: Player) -> None:
    """Ten pictures a second at every speed."""
    steps = {"at first": part(player, "play").step}
    for speed in (0.5, 1.0, 2.0, 5.0):
        part(player, "speed").value = speed
        steps[speed] = part(player, "play").step
    assert steps == {"at first": 2, 0.5: 1, 1.0: 2, 2.0: 4, 5.0: 10}


@pytest.mark.parametrize(("seconds", "lasts"), [(0.001, 5), (12, 12), (3_600, 30)])
def test_every_run_plays_in_five_to_thirty_seconds(seconds: float, lasts: float) -> None:
    """In real time if it can be; twenty positions a second at speed 1."""

    async def program() -> None:
        await asyncio.sleep(seconds)

    shown = Player(program)
    _ = shown.panel
    assert part(shown, "slider").max == lasts * 20
    shown.close()


# ---------------------------------------------------------------------------------------------------
# The scenario


def test_a_crash_changes_the_future_and_not_the_past(player: Player) -> None:
    """The trace up to the playhead stays as it was, and the playhead stays where it was."""
    player.playback.go_to(2.5)
    before = player.run.trace[: player.playback.number]
    part(player, "actor").value = "w2"
    click(player, "Crash")
    assert player.run.trace[: len(before)] == before
    assert player.playback.time == 2.5
    assert player.run.trace[len(before)].kind == "crash"
    assert part(player, "alerts").value == ""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Crash", 'crash("w1", at=1.0)'),
        ("Hang", 'hang("w1", at=1.0)'),
        ("Slow", 'slow("w1", at=1.0, factor=4)'),
        ("Mute", 'mute("w1", at=1.0)'),
        ("Add worker", 'hire("w4", at=1.0)'),
    ],
)
def test_each_button_adds_its_fault_to_the_line_of_code(player: Player, text: str, code: str) -> None:
    """The line is what a learner would write, and it makes the run that is shown."""
    player.playback.go_to(1.0)
    part(player, "actor").value = "w1"
    click(player, text)
    assert player.code == f"simulate(three_workers, faults=[{code}])"
    names = {
        "simulate": simulate,
        "three_workers": three_workers,
        **vars(__import__("tutorial_lib.faults").faults),
    }
    assert eval(player.code, names).trace == player.run.trace


def test_faults_can_be_taken_out_again(player: Player) -> None:
    """One by one, or all of them."""
    for moment in (1.0, 2.0):
        player.playback.go_to(moment)
        click(player, "Add worker")
    click(player, "Remove")
    assert player.faults == [hire("w4", at=1.0)]
    click(player, "Reset")
    assert player.faults == []
    assert player.run.trace == simulate(three_workers).trace


def test_reset_returns_to_the_faults_of_the_beginning() -> None:
    """A scenario that was given is the beginning."""
    shown = Player(three_workers, [crash("w1", at=1)])
    click(shown, "Add worker")
    click(shown, "Reset")
    assert shown.faults == [crash("w1", at=1)]
    shown.close()


def test_a_new_worker_gets_the_next_name() -> None:
    """The crew's prefix, and a number that is free, also after a click at the same moment."""
    playback = Player(three_workers).playback
    playback.add(hire(playback.next_worker(), at=1))
    assert playback.next_worker() == "w5"


def test_a_fault_that_meets_nobody_is_named(player: Player) -> None:
    """A click that has no effect says why, and leaves the scenario as it was."""
    player.playback.go_to(player.run.elapsed)
    before = list(player.faults)
    click(player, "Crash")
    assert "met nobody: the run was over." in part(player, "alerts").value
    assert player.faults == before


def test_a_fault_that_comes_too_early_is_named() -> None:
    """Who is not there yet, or no more, cannot be met."""
    playback = Player(three_workers, [crash("w1", at=1)]).playback
    playback.add(crash("w1", at=2))
    assert "met nobody: whoever it was meant for was not there" in playback.problem
    assert playback.faults == [crash("w1", at=1)]


def test_a_program_that_cannot_hire_says_so() -> None:
    """Where no crew is at work, nobody can be added; it is not the fault of the one who was to come."""

    async def program() -> None:
        await asyncio.sleep(2)

    shown = Player(program, [hire("w1", at=1), crash("w2", at=1)])
    _ = shown.panel
    assert "hire(&quot;w1&quot;, at=1) hired nobody: no Crew was at work" in part(shown, "alerts").value
    assert "crash(&quot;w2&quot;, at=1) met nobody: whoever" in part(shown, "alerts").value
    shown.close()


def test_play_has_a_word_beside_its_icons(player: Player) -> None:
    """As all other buttons have."""
    transport = player.panel.children[3]
    place = transport.children.index(part(player, "play"))
    assert transport.children[place - 1].value == "Play"


def test_a_program_that_remembers_is_found_out() -> None:
    """A space made outside keeps what the last run left. The warning says what to do."""
    seen: list[int] = []

    async def program() -> None:
        seen.append(1)
        await asyncio.sleep(1)
        note(f"run number {len(seen)}")
        await asyncio.sleep(1)

    shown = Player(program)
    shown.playback.go_to(1.5)
    shown.playback.add(crash("nobody", at=1.5))
    assert "The past has changed: at 1 s" in shown.playback.warning
    assert "run number 1" in shown.playback.warning
    assert "inside it" in shown.playback.warning


def test_what_lies_after_an_earlier_fault_is_no_past() -> None:
    """Taking out a fault changes everything behind it, and that is no warning."""
    playback = Player(three_workers, [crash("w1", at=1)]).playback
    playback.go_to(3)
    playback.remove(playback.faults[0])
    assert playback.warning == ""


# ---------------------------------------------------------------------------------------------------
# Programs that end badly


async def waits_for_ever() -> None:
    """Wait for a tuple that nobody writes."""
    await TupleSpace("tasks").take("task", int)


async def never_pauses() -> None:
    """Poll without a pause."""
    space = TupleSpace("tasks")
    while True:
        await space.try_take("task", int)


async def raises() -> None:
    """Fail after a second."""
    note("so far so good")
    await asyncio.sleep(1)
    raise KeyError("missing")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (waits_for_ever, "main waits in take"),
        (never_pauses, "never paused"),
        (raises, "KeyError: &#x27;missing&#x27;"),
    ],
)
def test_a_program_that_ends_badly_is_shown_up_to_there(program: Any, why: str) -> None:
    """The panel has the picture and says why."""
    shown = Player(program)
    _ = shown.panel
    assert why in part(shown, "alerts").value
    assert "<svg" in part(shown, "picture").value
    shown.close()


def test_what_makes_no_sense_is_refused_at_once() -> None:
    """A call in place of a function, a view that does not exist."""
    with pytest.raises(TypeError, match="Pass the function itself"):
        Player(three_workers())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Choose from lanes, load, tuples, space"):
        Player(three_workers, show=["lines"])


def test_an_error_behind_a_button_is_shown_in_the_panel() -> None:
    """Nobody would see it elsewhere."""
    calls: list[int] = []

    def program() -> Any:
        calls.append(1)
        return three_workers() if len(calls) == 1 else 7

    shown = Player(program)
    click(shown, "Crash")
    assert "cannot be awaited" in part(shown, "alerts").value
    shown.close()


# ---------------------------------------------------------------------------------------------------
# What is shown, and what is left


def test_the_picture_can_be_read_as_text(player: Player) -> None:
    """The same facts in words, at every moment."""
    part(player, "as_text").value = True
    assert part(player, "picture").value.startswith("<pre")
    assert "w1 is busy; w2 and w3 wait" in part(player, "picture").value


def test_a_picture_is_sent_only_when_it_is_different(player: Player) -> None:
    """A slider that moves within one moment costs nothing."""
    sent: list[object] = []
    part(player, "picture").observe(lambda change: sent.append(change), names="value")
    player._panel._draw()  # type: ignore[union-attr]
    player._panel._draw()  # type: ignore[union-attr]
    assert sent == []


def test_the_output_holds_a_still_picture_for_whoever_has_no_kernel(player: Player) -> None:
    """The widget, the whole run as a picture, and the code with the run in words."""
    bundle = player._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "<svg" in bundle["text/html"]
    assert bundle["text/plain"].startswith("simulate(three_workers)\n")
    assert "14 tasks done" in bundle["text/plain"]


def test_a_player_that_is_not_shown_makes_no_widgets() -> None:
    """A script or a test can use it for nothing but the run."""
    before = len(_instances)
    Player(three_workers)
    assert len(_instances) == before


def test_closing_takes_every_widget_away() -> None:
    """Also layouts, styles and the link between play and slider. No thread is left."""
    widgets_before, threads_before = set(_instances), threading.active_count()
    shown = Player(watched_workers)
    _ = shown.panel
    click(shown, "Add worker")
    shown.close()
    shown.close()
    assert set(_instances) == widgets_before
    assert threading.active_count() == threads_before


def test_names_from_anywhere_can_be_chosen() -> None:
    """Markup, Japanese and two hundred letters; two long names that begin alike stay two."""
    names = ["<b>w</b>", "作業員", "x" * 200, "x" * 199 + "y"]

    async def program() -> None:
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(hello(), name=name)

    async def hello() -> None:
        note("hello")
        await asyncio.sleep(1)

    shown = Player(program)
    _ = shown.panel
    for name in names:
        part(shown, "actor").value = name
        click(shown, "Crash")
    assert [fault.name for fault in shown.faults] == names
    assert "<b>w</b>" not in part(shown, "picture").value + part(shown, "code").value
    shown.close()


MAKE_PLAYER = """
import asyncio
from tutorial_lib.views.player import Player
async def main():
    await asyncio.sleep(1)
Player(main)
"""
COUNT_WIDGETS = "import ipywidgets.widgets.widget as w; print(len(w._instances))"


def test_running_a_cell_again_leaves_no_widgets_behind() -> None:
    """Thirty times the same cell: as many widgets as after the first time."""
    with kernel() as notebook:
        notebook.run(MAKE_PLAYER, cell_id="one")
        first = notebook.run(COUNT_WIDGETS, cell_id="two").text
        for _ in range(29):
            answer = notebook.run(MAKE_PLAYER, cell_id="one")
        assert notebook.run(COUNT_WIDGETS, cell_id="two").text == first
        assert answer.outputs[0].data["text/plain"].startswith("simulate(main)")
        assert notebook.late_messages(0.5) == []


def test_two_players_of_one_cell_live_side_by_side() -> None:
    """Only another run of the cell closes them."""
    with kernel() as notebook:
        notebook.run(MAKE_PLAYER, cell_id="one")
        single = int(notebook.run(COUNT_WIDGETS, cell_id="two").text)
        notebook.run(
            MAKE_PLAYER.replace("Player(main)", "display(Player(main), Player(main))"), cell_id="one"
        )
        assert int(notebook.run(COUNT_WIDGETS, cell_id="two").text) == 2 * single


def test_the_run_of_a_player_is_an_ordinary_run() -> None:
    """It can be checked and drawn like any other."""
    shown = Player(three_workers, busy_run().faults)
    assert shown.run.trace == busy_run().trace


def test_a_program_that_exits_is_shown_up_to_there() -> None:
    """As one that raises any other error."""

    async def main() -> None:
        note("here")
        raise SystemExit(3)

    shown = Player(main)
    assert "SystemExit: 3" in shown.playback.problem
    assert len(shown.run.trace) == 1


@pytest.mark.parametrize("detail", [{"pattern": 5}, {"old": 1}])
def test_a_note_of_any_kind_can_be_shown(detail: dict[str, Any]) -> None:
    """Its details may have the names that a space uses, and other values."""

    async def main() -> None:
        note("here", **detail)

    assert "here" in Player(main).panel.children[1].value


def test_a_number_that_python_does_not_write_can_be_shown() -> None:
    """Python refuses to write numbers of more than 4,300 digits."""

    async def main() -> None:
        await TupleSpace().write("big", 10**5000)

    assert "a tuple of 2 fields" in Player(main).panel.children[1].value
