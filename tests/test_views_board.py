"""The task board, the restarts of supervisors and the ribbons of breakers, as text and as SVG."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest

import tutorial_lib
from tests.view_help import story, texts_of
from tutorial_lib import Trace, TupleSpace
from tutorial_lib.resilience import Breaker
from tutorial_lib.simulation import Run, simulate
from tutorial_lib.supervisor import Child, RestartLimitReached, SupervisedSystem
from tutorial_lib.tasks import Task
from tutorial_lib.views.frame import frame_at
from tutorial_lib.views.player import Player
from tutorial_lib.views.progress_text import board_text, breaker_text, restarts_text
from tutorial_lib.views.svg import board_svg, breaker_svg, picture_of, restarts_svg

VIEWS = [(board_text, board_svg), (restarts_text, restarts_svg), (breaker_text, breaker_svg)]

HOSTILE = ["<script>alert(1)</script>", "作業員その一", "x" * 200, "a\nb\x00\x1b", "\ud800", "&\"'", ""]

TASK = ("task", 7)


def places(run: Run | Trace, at: float | None = None) -> dict[str, tuple[str, int]]:
    """Return the state and the attempts of each task, by its label."""
    columns = frame_at(run, at).board
    return {card.label: (column.state, card.attempts) for column in columns for card in column.cards}


def history_of_task(*kinds: str | tuple[Any, ...]) -> Trace:
    """Return the trace of one plain task to which these things happen, one each second."""
    steps = []
    for second, step in enumerate(kinds):
        kind, fields, space, detail = (step, TASK, "tasks", {}) if isinstance(step, str) else step
        steps.append((second, "w1", kind, fields, space, detail))
    return story(*steps)


# ---------------------------------------------------------------------------------------------------
# Task board


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["write"], ("queued", 0)),
        (["write", "take"], ("running", 1)),
        (["write", "claim"], ("running", 1)),
        (["take"], ("running", 1)),
        (["write", "claim", "complete"], ("completed", 1)),
        (["write", "claim", "bury"], ("dead", 1)),
        (["write", "claim", "lapse", "claim"], ("running", 2)),
        (["write", "take", "write", "take"], ("running", 2)),
        (["write", "take", "release"], ("queued", 0)),
        (["write", "take", ("write", ("result", 7, 49), "results", {})], ("completed", 1)),
        (["write", "take", ("write", ("result", 7, "failed"), "results", {})], ("failed", 1)),
    ],
)
def test_what_happens_to_a_plain_task_tells_its_state(kinds: list[Any], expected: tuple[str, int]) -> None:
    """A task that does not name its state is queued, running, completed, failed or dead by its events."""
    assert places(history_of_task(*kinds)) == {"7": expected}


@pytest.mark.parametrize("state", ["queued", "running", "completed", "failed", "dead"])
def test_a_task_that_names_its_state_is_in_that_column(state: str) -> None:
    """The third field decides, and in a tuple of eight fields the fourth counts the attempts."""
    short = story((0, "main", "write", ("task", 7, state), "tasks"))
    full = story((0, "main", "write", ("task", 7, state, 3, "w1", 0.0, (), None), "tasks"))
    assert places(short)["7"][0] == state
    assert places(full) == {"7": (state, 3)}
    assert f"1 {state}" in texts_of(board_svg(full))


def test_a_task_stays_where_it_is_between_take_and_write() -> None:
    """Whoever takes a tuple that names its state is about to write the next one."""
    trace = story(
        (0, "main", "write", ("task", 7, "queued"), "tasks"),
        (1, "w1", "take", ("task", 7, "queued"), "tasks"),
        (2, "w1", "write", ("task", 7, "running"), "tasks"),
    )
    assert [places(trace, at)["7"] for at in (0, 1, 2)] == [("queued", 0), ("queued", 0), ("running", 1)]


def test_a_claim_tells_the_attempt() -> None:
    """The space counts the attempts of a claimed tuple, and the card shows that number."""
    trace = history_of_task("write", ("claim", TASK, "tasks", {"attempt": 4, "token": 1}))
    assert places(trace) == {"7": ("running", 4)}


def test_a_dead_letter_stays_dead_when_it_is_looked_at_and_is_queued_when_it_is_sent_again() -> None:
    """The letter in the other space is a copy; only a new write lets the task start over."""

    async def main() -> None:
        tasks, dead = TupleSpace("tasks"), TupleSpace("dead")
        await tasks.write(*TASK)
        async with tasks.claim("task", int, lease=5) as claim:
            await claim.bury(dead, "poison")
        letter = await dead.take("task", int, str)
        await tasks.write(*letter[:2])

    trace = simulate(main).trace
    taken = next(place for place, event in enumerate(trace) if event.kind == "take")
    for number, state in ((taken, "dead"), (taken + 1, "dead"), (len(trace), "queued")):
        columns = frame_at(trace, number=number).board
        assert [column.state for column in columns if column.size] == [state]


def test_a_task_that_has_expired_leaves_the_board() -> None:
    """It is in no state any more."""
    assert places(history_of_task("write", "expire")) == {}


def test_the_board_agrees_with_the_tasks_of_the_library() -> None:
    """Every step of a `Task` moves its card, in a run as in a trace written by hand."""

    async def main() -> None:
        space = TupleSpace("tasks")
        for number in range(4):
            await space.write(*Task.new(number))
        done, failed, poison = [await Task.next(space) for _ in range(3)]
        await done.complete(space)
        await failed.fail(space, "no paper")
        requeued = await poison.requeue(space)
        again = await Task.next(space)  # number 3 is older in the queue than the one that was put back
        assert requeued is not None
        assert again.id == 3
        await requeued.bury(space, "poison")

    run = simulate(main)
    assert places(run) == {
        "0": ("completed", 1),
        "1": ("failed", 1),
        "2": ("dead", 1),
        "3": ("running", 1),
    }


def test_a_long_column_counts_what_it_does_not_show() -> None:
    """The heading counts all tasks, the cards are those that came last."""
    trace = story(*[(number, "main", "write", ("task", number), "tasks") for number in range(100)])
    written = texts_of(board_svg(trace))
    assert {"100 queued", "99", "and 84 earlier"} <= set(written)
    assert "84 more" in board_text(trace)


# ---------------------------------------------------------------------------------------------------
# Restarts


def surrender() -> Run:
    """Return the run of a supervisor that gives up at its third restart within ten seconds."""

    async def printer() -> None:
        await asyncio.sleep(1)
        raise OSError("no such printer")

    async def main() -> None:
        with suppress(RestartLimitReached):
            async with SupervisedSystem(TupleSpace(), max_restarts=3, within=10, name="boss") as system:
                system.add(Child("printer", printer))
                await system.join()

    return simulate(main)


def test_each_restart_is_a_bead_and_the_beads_turn_solid_when_the_supervisor_gives_up() -> None:
    """Before, they are rings; then the limit that was reached stands below the square."""
    run = surrender()
    (line,) = frame_at(run).restarts
    assert line.gave_up is not None
    assert (line.size, line.limit) == (3, 3)
    before = restarts_svg(run, at=line.beads[-1].time)
    after = restarts_svg(run)
    assert (before.count('class="alarm"'), after.count('class="alarm"')) == (0, 3)
    assert "limit 3" not in texts_of(before)
    assert "limit 3" in texts_of(after)
    assert after.words.splitlines()[0] == "boss has made 3 restarts and given up."
    assert "boss gives up because of printer after 3 restarts within its period" in after.words


def test_a_restart_after_the_supervisor_gave_up_is_a_ring_again() -> None:
    """A system that is entered once more counts from the beginning."""
    trace = story(
        (1, "w1", "restart", (), "", {"by": "boss"}),
        (2, "w1", "give_up", (), "", {"by": "boss"}),
        (3, "w1", "restart", (), "", {"by": "boss"}),
    )
    row = next(line for line in restarts_text(trace).splitlines() if line.startswith("boss  "))
    assert row.split()[1:4] == ["●", "■", "o"]


def test_a_restart_that_names_no_supervisor_is_left_out() -> None:
    """A learner's own restart has a sign in its lane, and no bead."""
    assert frame_at(story((1, "w1", "restart"))).restarts == []


# ---------------------------------------------------------------------------------------------------
# Breakers


def tripped() -> Run:
    """Return the run of a breaker that opens, fails its first probe and passes its second one."""

    async def main() -> None:
        breaker = Breaker(fail_max=1, reset_timeout=4, name="printer")

        async def call(succeeds: bool) -> None:
            await asyncio.sleep(2)
            if not succeeds:
                raise OSError("no paper")

        for succeeds, pause in ((True, 0), (False, 4), (False, 4), (True, 3)):
            with suppress(OSError):
                await breaker.call(partial(call, succeeds))
            await asyncio.sleep(pause)

    return simulate(main)


def test_a_ribbon_shows_each_state_of_a_breaker_with_its_word() -> None:
    """Closed from the beginning, then as the events say."""
    run = tripped()
    (line,) = frame_at(run).breakers
    words = ["closed", "open", "half open", "open", "half open", "closed"]
    assert [part.word for part in line.parts] == words
    assert (line.now, line.opened) == ("closed", 2)
    written = texts_of(breaker_svg(run))
    assert [word for word in written if word in ("closed", "open", "half open")] == words
    listed = [text.split(": ")[1] for text in breaker_text(run).splitlines() if "printer: " in text]
    assert listed == words


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [("open", "closed", "open"), ("half_open", "open", "half open"), ("close", "half open", "closed")],
)
def test_the_first_event_of_a_breaker_tells_how_it_was_before(kind: str, before: str, after: str) -> None:
    """A trace may begin when a breaker is open already."""
    (line,) = frame_at(story((2, "w1", kind, ("printer",)), (4, "w1", "note"))).breakers
    assert [part.word for part in line.parts] == [before, after]


# ---------------------------------------------------------------------------------------------------
# All three


def hostile_trace() -> Trace:
    """Return a trace in which tasks, supervisors, children and breakers have every kind of name."""
    steps: list[tuple[Any, ...]] = []
    for moment, name in enumerate([*HOSTILE, None, 10**5000, ("a", ["<b>"])]):
        actor = name if isinstance(name, str) else "w1"
        steps += [
            (moment, actor, "write", ("task", name), actor),
            (moment, actor, "restart", (), "", {"by": name}),
            (moment, actor, "give_up", (), "", {"by": name, "restarts": "many"}),
            (moment, actor, "open", (name,)),
        ]
    return story(*steps)


@pytest.mark.parametrize(("text", "svg"), VIEWS)
@pytest.mark.parametrize("at", [None, 0, 3, 1e9])
def test_hostile_names_give_sound_pictures(text: Any, svg: Any, at: float | None) -> None:
    """Whatever the names are, the SVG is valid, has no script, and says what the text says."""
    trace = hostile_trace()
    picture = svg(trace, at=at)
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    assert "<script" not in picture
    assert picture.words == text(trace, at=at)
    json.dumps(frame_at(trace, at).as_data())


@pytest.mark.parametrize(("text", "svg"), VIEWS)
def test_the_first_sentence_describes_the_picture(text: Any, svg: Any) -> None:
    """It is the description that is read out in place of the SVG."""
    for run in (surrender(), tripped(), Trace(), history_of_task("write", "claim", "bury")):
        root = ElementTree.fromstring(svg(run))
        description = root.findtext("{http://www.w3.org/2000/svg}desc")
        assert description == text(run).splitlines()[0] == svg(run).words.splitlines()[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (board_text, "There are no tasks."),
        (restarts_text, "No supervisor has restarted anybody."),
        (breaker_text, "No breaker has opened."),
    ],
)
def test_an_empty_trace_is_said_to_be_empty(text: Any, sentence: str) -> None:
    """There is a sentence in place of an empty picture."""
    assert text(Trace()) == sentence


def test_every_word_on_the_board_is_in_the_text() -> None:
    """Headings, numbers and dots are the same in both."""
    trace = history_of_task("write", "claim", "lapse", "claim", ("write", ("task", "ann"), "tasks", {}))
    words = board_text(trace)
    written = texts_of(board_svg(trace))
    assert {"7", "●●", "ann", "1 queued", "1 running", "0 dead"} <= set(written)
    assert all(word in words for word in written)


@pytest.mark.parametrize(
    ("make", "svg", "beside"),
    [
        (surrender, restarts_svg, "3 restarts · gave up"),
        (tripped, breaker_svg, "closed · opened 2 times"),
    ],
)
def test_the_words_beside_a_row_are_the_same_in_text_and_svg(make: Any, svg: Any, beside: str) -> None:
    """What stands beside a row in the SVG stands beside it in the text."""
    picture = svg(make())
    assert beside in texts_of(picture)
    assert any(line.endswith(beside) for line in picture.words.splitlines())


def test_a_long_run_gives_a_small_picture() -> None:
    """Of ten thousand restarts and changes, those that stand close together are drawn as one."""
    steps: list[tuple[Any, ...]] = []
    for second in range(10_000):
        steps.append((second, "w1", "restart", (), "", {"by": "boss"}))
        steps.append((second, "w1", "close" if second % 2 else "open", ("printer",)))
    frame = frame_at(story(*steps))
    assert frame.restarts[0].size == 10_000
    assert frame.breakers[0].opened == 5_000
    assert len(picture_of(frame, ["restarts", "breaker"])) < 120_000


def test_a_player_shows_the_board_below_the_lanes() -> None:
    """The words in ``show`` choose these views, too."""

    async def main() -> None:
        await TupleSpace("tasks").write(*TASK)

    player = Player(main, show=["lanes", "board", "restarts", "breaker"])
    assert "1 task: 1 queued." in picture_of(frame_at(player.run), ["lanes", "board"]).words
    with pytest.raises(ValueError, match="board, restarts, breaker"):
        Player(main, show=["chalkboard"])


@pytest.mark.parametrize(
    "name",
    ["board_text", "board_svg", "restarts_text", "restarts_svg", "breaker_text", "breaker_svg"],
)
def test_the_calls_are_public(name: str) -> None:
    """They stand beside `load_text` and `load_svg`."""
    assert name in tutorial_lib.__all__
    assert callable(getattr(tutorial_lib, name))
