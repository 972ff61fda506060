"""The board of a class: what it says follows from the events of the spaces alone."""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.loop_help import MovableLoop
from tests.view_help import texts_of
from tutorial_lib import SpaceManager, actor, connect, simulate
from tutorial_lib.classroom.board import ClassFrame, ClassState, MachineFrame, class_frame
from tutorial_lib.classroom.board_svg import class_svg
from tutorial_lib.classroom.board_text import class_text
from tutorial_lib.classroom.board_watch import watch_class
from tutorial_lib.classroom.machine import HEARTBEAT_TTL, serve
from tutorial_lib.trace import Event

JOIN_LINE = "tutorial class join redis://student:secret@192.168.0.2:6379/0"

HOSTILE = [
    "<script>alert(1)</script>",
    "</text><rect/>",
    '" onload="alert(1)',
    "&lt;",
    "作業員その一二三四五六七八",
    "עברית",
    "a\nb\x00\x1b[31m",
    "\ud800",
    "x" * 10_000,
]

Step = tuple[Any, ...]  # time, actor, kind, space, fields


def told(*steps: Step) -> ClassState:
    """Return the state of a class in round 1 after these events."""
    state = ClassState(JOIN_LINE)
    for number, step in enumerate([(0.0, "main", "write", "class", ("round", 1)), *steps]):
        time, who, kind, space, fields = step
        state.apply(Event(number, time, who, kind, space, fields, {}))
    return state


def joins(time: float, name: str) -> Step:
    return time, name, "write", "class", ("machine", name, 8, "Linux")


def beats(time: float, name: str) -> Step:
    return time, name, "replace", "class", ("machine", name, 8, "Linux")


def leaves(time: float, name: str) -> Step:
    return time, name, "take", "class", ("machine", name, 8, "Linux")


def drops_out(time: float, name: str) -> Step:
    return time, name, "expire", "class", ("machine", name, 8, "Linux")


def task(time: float, who: str, kind: str, id: Any, round: int = 1) -> Step:
    return time, who, kind, f"tasks {round}", ("task", id, "nap", (1.0,))


def result(time: float, who: str, id: int, state: str = "completed") -> Step:
    return time, who, "write", "results 1", ("result", id, state, 7)


def machine(frame: ClassFrame, name: str) -> MachineFrame:
    return next(one for one in frame.machines if one.name == name)


# ---------------------------------------------------------------------------------------------------
# Machines


def test_a_machine_is_on_the_board_from_its_first_heartbeat() -> None:
    """With what it has said of itself."""
    anna = machine(class_frame(told(joins(1, "anna")), 2.0), "anna")
    assert (anna.about, anna.state, anna.silence) == ("8 cores, Linux", "idle", 1.0)


def test_a_machine_works_from_claim_to_completion() -> None:
    """And the bar of its task is as long as that."""
    state = told(joins(1, "anna"), task(2, "main", "write", 7), task(3, "anna", "claim", 7), beats(5, "anna"))
    assert machine(class_frame(state, 5.0), "anna").words == "working on task 7"
    for step in (task(6, "anna", "complete", 7), result(6, "anna", 7)):
        state.apply(Event(0, *step, {}))
    anna = machine(class_frame(state, 7.0), "anna")
    assert (anna.state, anna.done) == ("idle", 1)
    assert [(bar.begin, bar.end, bar.label, bar.look) for bar in anna.bars] == [(3, 6, "7", "done")]


def test_a_late_heartbeat_is_told_before_the_machine_has_dropped_out() -> None:
    """Quiet is a word of its own: it may come back."""
    state = told(joins(1, "anna"))
    words = [machine(class_frame(state, 1 + silence), "anna").words for silence in (0, 2.4, 2.6, 4)]
    assert words == ["idle", "idle", "quiet for 3 s", "quiet for 4 s"]
    state.apply(Event(0, *beats(6, "anna"), {}))
    assert machine(class_frame(state, 6.0), "anna").words == "idle"


def test_silence_alone_is_no_drop_out() -> None:
    """Only the expiry of its heartbeat says so, however long the board hears nothing."""
    assert machine(class_frame(told(joins(1, "anna")), 3600.0), "anna").state == "quiet"


def test_dropping_out_and_leaving_are_told_apart() -> None:
    """One lets its heartbeat expire, the other takes it away."""
    state = told(joins(1, "anna"), joins(1, "bo"), leaves(2, "anna"), drops_out(6, "bo"))
    frame = class_frame(state, 7.0)
    assert [(one.name, one.state, one.is_there) for one in frame.machines] == [
        ("anna", "left", False),
        ("bo", "dropped out", False),
    ]


def test_a_machine_that_beats_again_is_back() -> None:
    """Whatever was said of it."""
    state = told(joins(1, "bo"), drops_out(6, "bo"), joins(8, "bo"))
    frame = class_frame(state, 8.0)
    assert (machine(frame, "bo").state, frame.latest) == ("idle", "bo is back")


# ---------------------------------------------------------------------------------------------------
# Tasks


def test_every_task_is_waiting_in_work_or_done() -> None:
    """The three numbers add up to the total at every moment."""
    steps = [
        joins(0, "anna"),
        *(task(1, "main", "write", id) for id in range(1, 6)),
        task(2, "anna", "claim", 1),
        task(3, "anna", "complete", 1),
        result(3, "anna", 1),
        task(4, "anna", "claim", 2),
        task(5, "anna", "release", 2),
        task(6, "anna", "claim", 3),
        task(16, "anna", "lapse", 3),
    ]
    counts = []
    for length in range(6, len(steps) + 1):
        frame = class_frame(told(*steps[:length]), 20.0)
        assert frame.waiting + frame.working + frame.done == frame.total == 5
        counts.append((frame.waiting, frame.working, frame.done))
    assert counts[0] == (5, 0, 0)
    assert counts[-1] == (4, 0, 1)


def test_a_failed_task_is_done_and_marked() -> None:
    """It does not count as work done, and its bar looks different, in whatever order the events are told."""
    ends = [task(3, "anna", "complete", 1), result(3, "anna", 1, "failed")]
    for order in (ends, ends[::-1]):
        state = told(joins(0, "anna"), task(1, "main", "write", 1), task(2, "anna", "claim", 1), *order)
        frame = class_frame(state, 4.0)
        anna = machine(frame, "anna")
        assert (frame.done, anna.done, anna.failed) == (1, 0, 1)
        assert [bar.look for bar in anna.bars] == ["failed"]


def test_a_task_that_expires_is_no_task_any_more() -> None:
    """Nobody will do it, so nobody waits for it."""
    state = told(task(1, "main", "write", 1), task(1, "main", "write", 2), task(2, "main", "expire", 1))
    frame = class_frame(state, 3.0)
    assert (frame.waiting, frame.done, frame.total) == (1, 0, 1)


def test_a_task_that_is_buried_is_done_and_failed() -> None:
    """The board says who gave it up."""
    state = told(
        joins(0, "anna"), task(1, "main", "write", 1), task(2, "anna", "claim", 1), task(3, "anna", "bury", 1)
    )
    frame = class_frame(state, 4.0)
    assert (frame.done, machine(frame, "anna").failed, frame.latest) == (1, 1, "anna gave task 1 up")


def test_a_task_that_was_simply_taken_is_in_work_until_its_result() -> None:
    """A worker that takes and does not claim is shown as well. If it dies, its task stays in work."""
    steps = [joins(0, "anna"), task(1, "main", "write", 1), task(2, "anna", "take", 1)]
    assert machine(class_frame(told(*steps), 2.0), "anna").state == "working"
    frame = class_frame(told(*steps, result(2.2, "anna", 1)), 2.3)
    assert (machine(frame, "anna").state, frame.done) == ("idle", 1)


def test_the_share_of_the_load_is_counted_with_its_fairness() -> None:
    """Three tasks by one and one by the other: 75 % and 25 %, and Jain's index 0.8."""
    steps = [joins(0, "anna"), joins(0, "bo")]
    for id, who in enumerate(["anna", "anna", "anna", "bo"], start=1):
        steps += [task(1, "main", "write", id), task(2, who, "claim", id), task(3, who, "complete", id)]
    frame = class_frame(told(*steps), 4.0)
    assert [one.share for one in frame.machines] == [0.75, 0.25]
    assert frame.load.fairness == pytest.approx(0.8)


def test_only_the_last_minute_is_shown() -> None:
    """What was done before counts, but has no bar."""
    state = told(joins(0, "anna"), task(1, "anna", "claim", 1), task(2, "anna", "complete", 1))
    anna = machine(class_frame(state, 63.0), "anna")
    assert (anna.done, anna.bars) == (1, [])


def test_a_new_round_begins_with_an_empty_board() -> None:
    """Machines that are there stay and count from zero; those that are gone are forgotten."""
    state = told(
        *(joins(0, name) for name in ("anna", "bo", "chen")),
        task(1, "main", "write", 1),
        task(2, "anna", "claim", 1),
        task(3, "anna", "complete", 1),
        drops_out(6, "bo"),
        leaves(6, "chen"),
        (7, "main", "replace", "class", ("round", 2)),
        task(8, "main", "write", 1, round=1),  # too late
    )
    frame = class_frame(state, 8.0)
    assert (frame.round, frame.total, frame.latest) == (2, 0, "round 2 begins")
    assert [(one.name, one.done, one.bars) for one in frame.machines] == [("anna", 0, [])]


# ---------------------------------------------------------------------------------------------------
# The latest event in words


def test_the_loss_of_a_machine_is_told_as_a_story() -> None:
    """It drops out, its task comes back, another one does it."""
    steps = [
        joins(0, "anna"),
        joins(0, "bo"),
        task(1, "main", "write", 12),
        task(2, "bo", "claim", 12),
        drops_out(7, "bo"),
        task(12, "bo", "lapse", 12),
        task(12, "anna", "claim", 12),
        task(13, "anna", "complete", 12),
    ]
    latest = [class_frame(told(*steps[:length]), 20.0).latest for length in range(5, 9)]
    assert list(dict.fromkeys(latest)) == [
        "bo dropped out; task 12 comes back when its lease is over",
        "bo dropped out; task 12 comes back",
        "anna did task 12, which bo had lost",
    ]


def test_news_stays_long_enough_to_be_read() -> None:
    """Ordinary work does not replace it within eight seconds."""
    steps = [joins(0, "anna"), joins(0, "bo"), drops_out(6, "bo")]
    for id, moment in ((1, 7), (2, 15)):
        steps += [task(moment, "anna", "claim", id), task(moment, "anna", "complete", id)]
    assert told(*steps[:5]).latest == "bo dropped out"
    assert told(*steps).latest == "anna did task 2"


# ---------------------------------------------------------------------------------------------------
# Nonsense


@pytest.mark.parametrize(
    "fields",
    [
        ("machine",),
        ("machine", 5, 8, "Linux"),
        ("machine", "", 8, "Linux"),
        ("machine", None, {"a": 1}, b"\xff"),
        ("round", "2"),
        ("round", True),
        ("round", 10**30),
        ("round", -1),
        ([], {}),
    ],
)
def test_what_is_no_tuple_of_a_class_is_ignored(fields: tuple[Any, ...]) -> None:
    """Anybody in the class may write anything."""
    state = told(joins(1, "anna"), (2, "eve", "write", "class", fields))
    frame = class_frame(state, 3.0)
    assert (frame.round, [one.name for one in frame.machines]) == (1, ["anna"])


@pytest.mark.parametrize("id", ["7", None, True, 1.0, -7, 10**30, ()])
def test_a_task_without_a_number_is_ignored(id: Any) -> None:
    """The master gives every task one."""
    assert class_frame(told(task(1, "eve", "write", id)), 2.0).total == 0


def test_odd_facts_about_a_machine_are_shown_as_unknown_or_short() -> None:
    """Its name counts."""
    odd = ("machine", "anna", "many", "L" * 500)
    anna = machine(class_frame(told((1, "anna", "write", "class", odd)), 2.0), "anna")
    assert anna.about == "unknown cores, LLLLLLLLLLL…"


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_only_text(name: str) -> None:
    """In the picture, in its summary and in words; and it is shortened."""
    state = told(
        (1, name, "write", "class", ("machine", name, 8, name)),
        task(2, name, "claim", 1),
        (3, name, "expire", "class", ("machine", name, 8, name)),
        task(4, name, "lapse", 1),
    )
    picture = class_svg(class_frame(state, 5.0))
    elements = list(ElementTree.fromstring(picture).iter())
    tags = {element.tag.split("}")[1] for element in elements}
    assert tags == {"svg", "title", "desc", "style", "text", "rect", "path"}
    assert not [key for element in elements for key in element.attrib if key.startswith("on")]
    assert len(picture) < 30_000
    assert max(len(text) for text in texts_of(picture)) < 100
    assert all(line.isprintable() and len(line) < 150 for line in picture.words.splitlines())


# ---------------------------------------------------------------------------------------------------
# Pictures


def crowd(size: int) -> ClassFrame:
    """Return a class of so many machines, each with a task done, one in work, and some of them gone."""
    steps: list[Step] = []
    for number in range(1, size + 1):
        name = f"laptop {number}"
        steps += [joins(0, name), task(1, name, "claim", number), task(20, name, "complete", number)]
        steps += [task(21, name, "claim", 1000 + number)]
        steps += [drops_out(25, name)] if number % 7 == 0 else [beats(59, name)]
    return class_frame(told(*steps), 60.0)


@pytest.mark.parametrize("size", [1, 2, 12, 13, 25, 40])
def test_every_machine_is_on_one_screen(size: int) -> None:
    """Name, state in words and tasks done of each, inside the picture, none below the other."""
    picture = class_svg(crowd(size))
    root = ElementTree.fromstring(picture)
    names = [element for element in root.iter() if re.fullmatch(r"laptop \d+", element.text or "")]
    assert [name.text for name in names] == [f"laptop {number}" for number in range(1, size + 1)]
    assert texts_of(picture).count("dropped out") == size // 7
    assert root.get("viewBox") == "0 0 840 440"
    places = [(float(name.attrib["x"]), float(name.attrib["y"])) for name in names]
    rows = sorted(y for x, y in places if x == 0)
    assert all(low + 14 <= high for low, high in pairwise(rows))
    assert rows[-1] < 400


def test_beyond_forty_machines_those_that_are_there_are_shown() -> None:
    """The others are counted."""
    frame = crowd(45)
    assert (len(frame.machines), frame.more) == (40, 5)
    assert sum(one.is_there for one in frame.machines) == 45 - 45 // 7
    assert "and 5 more, not shown" in class_text(frame)
    assert any("5 more machines" in text for text in texts_of(class_svg(frame)))


def test_the_join_line_is_shown_whole_however_long_it_is() -> None:
    """A student types it from the screen, so no letter may be missing."""
    for length in (20, 90, 140):
        line = "j" * length
        assert line in texts_of(class_svg(class_frame(ClassState(line), 0.0)))


def test_every_state_has_its_own_sign_and_word() -> None:
    """Colour is never the only difference."""
    states = {
        "working": told(joins(1, "anna"), task(2, "anna", "claim", 3)),
        "idle": told(joins(1, "anna")),
        "quiet": told(joins(-2, "anna")),
        "dropped out": told(joins(1, "anna"), drops_out(2, "anna")),
        "left": told(joins(1, "anna"), leaves(2, "anna")),
    }
    signs = set()
    for word, state in states.items():
        picture = class_svg(class_frame(state, 2.0))
        assert any(text.startswith(word) for text in texts_of(picture))
        signs.update(re.findall(r'<path d="([^"]*)" transform', picture))
    assert len(signs) == len(states)


def test_the_picture_has_the_same_words_to_be_read_out() -> None:
    """Whoever cannot see it learns how far the class is, how each machine is, and what has just happened."""
    state = told(joins(1, "anna"), joins(1, "bo"), task(2, "main", "write", 1), drops_out(6, "bo"))
    label = ElementTree.fromstring(class_svg(class_frame(state, 3.0))).get("aria-label") or ""
    for words in ("0 of 1 tasks done", "anna is idle", "bo is no longer there: it dropped out"):
        assert words in label


def test_a_class_that_is_over_says_so() -> None:
    """Whatever happened last."""
    frame = class_frame(told(joins(1, "anna"), (2, "main", "shut", "class", ())), 3.0)
    assert frame.is_over
    assert class_text(frame).endswith("the class is over")


# ---------------------------------------------------------------------------------------------------
# Following the spaces


def test_a_whole_class_can_be_watched_in_virtual_time() -> None:
    """Real machines over spaces in memory: they join, share the work, and one crashes."""

    async def main() -> list[ClassFrame]:
        frames: list[ClassFrame] = []
        async with connect("memory://") as manager, asyncio.TaskGroup() as group:
            await manager.space("class").write("round", 1)
            watching = group.create_task(watch_class(manager, JOIN_LINE, frames.append))
            machines = [group.create_task(serve(manager, name, say=str)) for name in ("anna", "bo")]
            await asyncio.sleep(1)
            await manager.space("tasks 1").write_many([("task", id, "nap", (2.0,)) for id in range(1, 6)])
            await manager.space("results 1").read("result", 5, str, float)
            await manager.space("class").close()
            await manager.space("tasks 1").close()
            await asyncio.gather(watching, *machines)
        return frames

    frames = simulate(main).result
    assert [frame.done for frame in frames] == sorted(frame.done for frame in frames)
    assert {one.words for frame in frames for one in frame.machines} >= {"idle", "working on task 5"}
    assert sum(one.done for one in frames[-1].machines) == frames[-1].done == frames[-1].total == 5
    assert frames[-1].is_over


def test_a_board_that_is_opened_later_knows_what_is_there() -> None:
    """The round, the machines and the tasks; and a renewed lease tells who works on what."""

    async def main() -> ClassFrame:
        frames: list[ClassFrame] = []
        async with connect("memory://") as manager:
            await prepare(manager)
            tasks, results = manager.space("tasks 3"), manager.space("results 3")
            with actor("anna"):
                claim = await tasks.claim("task", 2, str, tuple, lease=10).__aenter__()
                watching = asyncio.create_task(watch_class(manager, JOIN_LINE, frames.append))
                await asyncio.sleep(1)
                await claim.renew(10)
                await asyncio.sleep(1)
                await claim.complete("result", 2, "completed", 1.0, to=results)
            await manager.space("class").close()
            await watching
        assert "working on task 2" in {one.words for frame in frames for one in frame.machines}
        return frames[-1]

    async def prepare(manager: SpaceManager) -> None:
        await manager.space("class").write("round", 3)
        await manager.space("class").write("machine", "anna", 8, "Linux", ttl=HEARTBEAT_TTL)
        await manager.space("tasks 3").write_many([("task", id, "nap", (1.0,)) for id in (1, 2)])
        await manager.space("results 3").write("result", 7, "completed", 1.0)

    frame = simulate(main).result
    assert (frame.round, frame.total, frame.waiting, frame.done) == (3, 3, 1, 2)
    assert [(one.name, one.done) for one in frame.machines] == [("anna", 1)]


def test_watching_goes_on_with_the_next_round() -> None:
    """And no watch on the old spaces is left behind."""

    async def main() -> tuple[list[int], int]:
        frames: list[ClassFrame] = []
        async with connect("memory://") as manager:
            hall, old = manager.space("class"), manager.space("tasks 1")
            await hall.write("round", 1)
            watching = asyncio.create_task(watch_class(manager, JOIN_LINE, frames.append))
            await asyncio.sleep(1)
            await hall.replace(("round", 1), ("round", 2))
            await manager.space("tasks 2").write("task", 1, "nap", (1.0,))
            await asyncio.sleep(1)
            watches = len(old._watches)
            await hall.close()
            await watching
        return list(
            dict.fromkeys(frame.round for frame in frames if frame.total or frame.round == 1)
        ), watches

    assert simulate(main).result == ([1, 2], 0)


def test_whoever_stops_watching_has_seen_everything() -> None:
    """The last frame is shown also when the watching is cancelled between two frames."""

    async def main() -> ClassFrame:
        frames: list[ClassFrame] = []
        async with connect("memory://") as manager:
            await manager.space("class").write("round", 1)
            watching = asyncio.create_task(watch_class(manager, JOIN_LINE, frames.append))
            await asyncio.sleep(1.05)
            await manager.space("tasks 1").write("task", 1, "nap", (1.0,))
            watching.cancel()
            await asyncio.wait([watching])
        return frames[-1]

    assert simulate(main).result.total == 1


def test_at_most_five_frames_a_second() -> None:
    """However much happens."""

    async def main() -> int:
        frames: list[ClassFrame] = []
        async with connect("memory://") as manager:
            watching = asyncio.create_task(watch_class(manager, JOIN_LINE, frames.append))
            for number in range(1000):
                await manager.space("class").write("machine", f"m{number % 30}", 1, "Linux", ttl=5)
                await asyncio.sleep(0.01)
            watching.cancel()
            await asyncio.wait([watching])
        return len(frames)

    assert simulate(main).result <= 10 * 5 + 2


def test_a_board_that_stood_still_while_it_was_drawn_goes_on_soon() -> None:
    """It rests ten times as long as it draws, but not after a drawing that took ten minutes of sleep."""

    async def main(loop: MovableLoop) -> None:
        frames: list[ClassFrame] = []

        def show(frame: ClassFrame) -> None:
            frames.append(frame)
            loop.ahead = 600.0

        async with connect("memory://") as manager, asyncio.timeout(660):
            await manager.space("class").write("round", 1)
            watching = asyncio.create_task(watch_class(manager, JOIN_LINE, show))
            while len(frames) < 3:
                await asyncio.sleep(0.01)
            watching.cancel()
            await asyncio.wait([watching])

    loop = MovableLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main(loop))
