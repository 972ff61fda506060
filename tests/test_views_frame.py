"""What is true at a moment of a trace."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from tests.view_help import busy_run, story, watched_workers
from tutorial_lib import ANY, Event, Trace, TupleSpace, note
from tutorial_lib.crew import work
from tutorial_lib.faults import crash, mute
from tutorial_lib.heartbeat import Monitor, beat
from tutorial_lib.simulation import simulate
from tutorial_lib.tasks import Task
from tutorial_lib.views.frame import Frame, LaneFrame, frame_at
from tutorial_lib.views.history import History
from tutorial_lib.views.loads import fairness

TASK = ("task", 7)


def lane(frame: Frame, name: str) -> LaneFrame:
    return next(lane for lane in frame.lanes if lane.name == name)


def bars(frame: Frame, name: str) -> list[tuple[float, float, str, str]]:
    return [(bar.begin, bar.end, bar.label, bar.look) for bar in lane(frame, name).bars]


# ---------------------------------------------------------------------------------------------------
# How an actor is


@pytest.mark.parametrize(
    ("last", "state"),
    [
        ((1, "w1", "start", TASK), "busy"),
        ((1, "w1", "claim", TASK, "tasks", {"token": 1}), "holds"),
        ((1, "w1", "wait", (), "tasks", {"pattern": ("task", int)}), "waits"),
        ((1, "w1", "finish", TASK), "idle"),
        ((1, "w1", "hang"), "hangs"),
        ((1, "w1", "crash"), "crashed"),
        ((1, "w1", "dismiss"), "dismissed"),
        ((1, "w1", "give_up"), "given up"),
    ],
)
def test_the_last_event_says_how_an_actor_is(last: tuple[object, ...], state: str) -> None:
    """Busy, holding, waiting, idle, hanging, crashed, dismissed, given up."""
    assert lane(frame_at(story((0, "w1", "note"), last)), "w1").state == state


def test_a_hang_that_ends_is_over() -> None:
    """A hang for some seconds holds until then and not longer."""
    trace = story((1, "w1", "hang", (), "", {"seconds": 2.0}), (9, "w2", "note"))
    assert [lane(frame_at(trace, moment), "w1").state for moment in (2.9, 3.0)] == ["hangs", "idle"]


def test_whoever_does_something_after_a_crash_lives_again() -> None:
    """A restarted worker is not shown as crashed; what happens to a dead one does not bring it back."""
    dead = story((1, "w1", "crash"), (2, "w1", "lapse", TASK, "tasks", {"token": 1}), (3, "w1", "suspect"))
    assert lane(frame_at(dead), "w1").state == "crashed"
    assert lane(frame_at(story((1, "w1", "crash"), (2, "w1", "restart"))), "w1").state == "idle"


@pytest.mark.parametrize("back", ["restart", "hire", "start"])
def test_whoever_is_back_is_not_called_dead_any_more(back: str) -> None:
    """The verdict of a monitor was about the life before."""
    death = [(1, "w1", "start", TASK), (2, "w1", "crash"), (5, "w1", "dead", ("w1",))]
    assert lane(frame_at(story(*death)), "w1").suspicion == "declared dead"
    assert lane(frame_at(story(*death, (5, "w1", back))), "w1").suspicion == ""


@pytest.mark.parametrize("back", ["restart", "hire", "clear"])
def test_whoever_hung_and_was_replaced_is_not_called_dead_any_more(back: str) -> None:
    """A hanging worker has not crashed; a new one under its name takes its place all the same."""
    hung = [(1, "w1", "hang"), (5, "w1", "dead", ("w1",))]
    assert lane(frame_at(story(*hung, (6, "w1", back))), "w1").suspicion == ""


def test_lanes_stand_in_the_order_of_appearance_and_number() -> None:
    """W2 stands before w10, and all workers together, where the first of them appeared."""
    trace = story(*((0, name, "note") for name in ("main", "w10", "monitor", "w2", "w1")))
    assert [lane.name for lane in frame_at(trace).lanes] == ["main", "w1", "w2", "w10", "monitor"]


# ---------------------------------------------------------------------------------------------------
# Bars


def test_work_is_a_bar_from_start_to_finish() -> None:
    """Finished work is done, and is counted."""
    frame = frame_at(story((1, "w1", "start", TASK), (3, "w1", "finish", TASK)))
    assert bars(frame, "w1") == [(1, 3, "7", "done")]
    assert lane(frame, "w1").done == 1


def test_unfinished_work_reaches_to_the_playhead() -> None:
    """Before its end a bar is running, and knows nothing of how it will end."""
    trace = story((1, "w1", "start", TASK), (3, "w1", "fail", TASK, "", {"reason": "ValueError"}))
    assert bars(frame_at(trace, 2), "w1") == [(1, 2, "7", "running")]
    assert bars(frame_at(trace, 3), "w1") == [(1, 3, "7", "failed")]


@pytest.mark.parametrize("end", [("crash",), ("fail", TASK, "", {"reason": "cancelled"})])
def test_a_crash_or_a_cancellation_cuts_work_short(end: tuple[object, ...]) -> None:
    """Neither is a failure of the task."""
    frame = frame_at(story((1, "w1", "start", TASK), (2, "w1", *end)))
    assert bars(frame, "w1") == [(1, 2, "7", "cut")]
    assert lane(frame, "w1").failed == 0


REFUSAL = (9, "w1", "note", TASK, "tasks", {"text": "refused", "step": "complete"})


def test_work_that_was_refused_is_not_done() -> None:
    """Its bar looks like one that was cut short, and it is counted apart."""
    trace = story((1, "w1", "start", TASK), (9, "w1", "finish", TASK), REFUSAL)
    worker = lane(frame_at(trace), "w1")
    assert (worker.done, worker.refused) == (0, 1)
    assert bars(frame_at(trace), "w1") == [(1, 9, "7", "cut")]
    assert worker.bars[0].how == "refused"


def test_a_refusal_takes_back_only_what_it_is_about() -> None:
    """Other tasks, the same task that is still under way, and a note of the same word stay as they are."""
    done = [(0, "w1", "start", TASK), (1, "w1", "finish", TASK)]
    again = (2, "w1", "start", TASK)
    other = (9, "w1", "note", ("task", 8), "tasks", {"text": "refused", "step": "complete"})
    for more in ([other], [again, REFUSAL], [(9, "w1", "note", (), "", {"text": "refused"})]):
        worker = lane(frame_at(story(*done, *more)), "w1")
        assert (worker.done, worker.refused, worker.bars[0].how) == (1, 0, "done")
    idle = lane(frame_at(story((9, "w1", "note", (), "", {"text": "refused"}))), "w1")
    assert (idle.done, idle.refused) == (0, 0)


def test_work_without_claims_that_was_refused_is_not_done_either() -> None:
    """Whoever comes too late with a state tuple is told so in the same way."""

    async def program() -> None:
        space = TupleSpace("tasks")
        await space.write(*Task.new(7))
        task = await Task.next(space)
        await work(5, task)
        await task.requeue(space)  # somebody took it for dead
        assert await task.complete(space) is None

    worker = lane(frame_at(simulate(program)), "main")
    assert (worker.done, worker.refused) == (0, 1)


def test_a_tuple_is_in_hand_from_its_take_until_its_taker_is_heard_of_again() -> None:
    """That is all a trace shows where nobody uses work."""
    trace = story((1, "w1", "take", TASK, "tasks"), (3, "w1", "write", ("result", 7), "tasks"))
    assert bars(frame_at(trace), "w1") == [(1, 3, "7", "hand")]


def test_heartbeats_and_faults_do_not_end_the_time_in_hand() -> None:
    """They happen beside what the actor does."""
    trace = story(
        (1, "w1", "take", TASK, "tasks"),
        (2, "w1", "beat", ("w1",), "beats"),
        (2, "w1", "replace", ("heartbeat", "w1", 2.0), "beats", {"old": ()}),
        (3, "w1", "slow", (), "", {"factor": 4}),
        (5, "w1", "take", ("task", 8), "tasks"),
    )
    assert bars(frame_at(trace), "w1") == [(1, 5, "7", "hand")]


def test_what_is_not_known_is_not_drawn() -> None:
    """A taker that is never heard of again may have ended at once: it gets no bar."""
    trace = story((1, "w1", "take", TASK, "tasks"), (9, "main", "note"))
    assert bars(frame_at(trace), "w1") == []


def test_a_claim_is_in_hand_until_it_ends() -> None:
    """Completed it is done; released, lapsed or buried it was cut short, but is still only in hand."""
    trace = story(
        (1, "w1", "claim", TASK, "tasks", {"token": 5}), (4, "w1", "complete", TASK, "tasks", {"token": 5})
    )
    assert bars(frame_at(trace), "w1") == [(1, 4, "7", "hand")]


def test_bars_that_overlap_stand_in_rows_of_their_own() -> None:
    """An actor may do several things at once."""
    trace = story(
        (0, "main", "start", ("task", 1)),
        (1, "main", "start", ("task", 2)),
        (2, "main", "finish", ("task", 1)),
        (3, "main", "start", ("task", 3)),
        (4, "main", "finish", ("task", 2)),
        (5, "main", "finish", ("task", 3)),
    )
    assert [(bar.label, bar.row) for bar in lane(frame_at(trace), "main").bars] == [
        ("1", 0),
        ("2", 1),
        ("3", 0),
    ]


def test_a_long_trace_gives_a_limited_number_of_bars() -> None:
    """What is too short to be told apart is drawn as one; what was done is counted all the same."""
    steps = []
    for number in range(5_000):
        steps.append((number, "w1", "start", ("task", number)))
        steps.append((number + 0.9, "w1", "finish", ("task", number)))
    worker = lane(frame_at(story(*steps)), "w1")
    assert len(worker.bars) < 1_000
    assert worker.done == sum(bar.pieces for bar in worker.bars) == 5_000
    assert sum(bar.busy for bar in worker.bars) == pytest.approx(4_500)


def test_bars_that_ended_differently_are_never_drawn_as_one() -> None:
    """A failure is seen, however short it was."""
    steps = []
    for number in range(5_000):
        end = "fail" if number == 3_000 else "finish"
        steps += [(number, "w1", "start", ("task", number)), (number + 0.9, "w1", end, ("task", number))]
    assert [bar.begin for bar in lane(frame_at(story(*steps)), "w1").bars if bar.look == "failed"] == [3_000]


# ---------------------------------------------------------------------------------------------------
# Life and heartbeats


def test_an_actor_is_there_from_the_beginning_until_its_crash() -> None:
    """Somebody who is hired later is there only from then on, and a restart begins a new stretch."""
    trace = story(
        (1, "w1", "note"), (2, "w2", "hire"), (3, "w1", "crash"), (5, "w1", "restart"), (9, "w2", "note")
    )
    frame = frame_at(trace)
    assert lane(frame, "w1").lived == [(0, 3), (5, 9)]
    assert lane(frame, "w2").lived == [(2, 9)]


def test_silence_is_the_time_since_the_last_heartbeat() -> None:
    """A heartbeat is an event, or a tuple that says so; the two together are one."""
    trace = story(
        (1, "w1", "replace", ("heartbeat", "w1", 1.0), "beats", {"old": ()}),
        (1, "w1", "beat", ("w1",), "beats"),
        (4, "main", "note"),
    )
    worker = lane(frame_at(trace), "w1")
    assert worker.silence == 3
    assert [beat.time for beat in worker.beats] == [1]


def test_a_crash_is_told_together_with_when_it_was_noticed() -> None:
    """The time in between is what a failure detector costs."""
    run = simulate(watched_workers, faults=[crash("w1", at=4.2)])
    worker = lane(frame_at(run), "w1")
    assert [(found.begin, found.noticed) for found in worker.detections] == [(4.2, 6.0)]
    assert worker.suspicion == "declared dead"
    assert worker.timeout == 3.0


def test_the_fuse_is_as_long_as_the_timeout_of_the_monitor() -> None:
    """A look may come late, so the silence at a death says too much. One suspicion is enough to know it."""

    async def program() -> None:
        space = TupleSpace("beats")
        async with beat(space, "w1", every=1), Monitor(space, timeout=5, every=2):
            await asyncio.sleep(20)

    run = simulate(program, faults=[mute("w1", at=5, seconds=4)])
    assert [event.kind for event in run.trace.of("suspect", "dead")] == ["suspect"]
    assert lane(frame_at(run, 3), "w1").timeout == 5


def test_a_false_alarm_is_told_and_taken_back() -> None:
    """A muted worker is declared dead while it works, and is cleared when it is heard again."""
    run = simulate(watched_workers, faults=[mute("w1", at=3, seconds=3.5)])
    states = [(lane(frame_at(run, t), "w1").state, lane(frame_at(run, t), "w1").suspicion) for t in (6.5, 8)]
    assert states == [("busy", "declared dead"), ("busy", "")]


def test_a_finished_task_that_is_queued_again_is_news() -> None:
    """Back to the queue is a requeue; back from completed is an undoing."""
    trace = story(
        (0, "w1", "write", ("task", 7, "running"), "tasks"),
        (1, "m", "replace", ("task", 7, "queued"), "tasks", {"old": ("task", 7, "running")}),
        (2, "w1", "replace", ("task", 7, "completed"), "tasks", {"old": ("task", 7, "queued")}),
        (3, "m", "replace", ("task", 7, "queued"), "tasks", {"old": ("task", 7, "completed")}),
    )
    assert [sign.word for sign in lane(frame_at(trace), "m").signs] == ["requeues 7", "undoes 7"]


# ---------------------------------------------------------------------------------------------------
# Load


def test_load_counts_finished_work_against_the_fair_share() -> None:
    """Workers are those who work or were hired; a worker who did nothing counts, the master does not."""
    trace = story(
        (0, "w1", "hire"),
        (0, "w2", "hire"),
        (0, "main", "take", ("result", 1), "results"),
        *(
            (moment, "w1", kind, TASK)
            for moment, kind in ((0, "start"), (2, "finish"), (2, "start"), (3, "finish"))
        ),
        (4, "main", "note"),
    )
    load = frame_at(trace).load
    assert [(one.name, one.amount, one.busy) for one in load.loads] == [("w1", 2, 0.75), ("w2", 0, 0.0)]
    assert (load.unit, load.total, load.fair_share, load.fairness) == ("tasks done", 2, 1.0, 0.5)


def test_a_take_that_was_cancelled_in_the_last_moment_does_not_count() -> None:
    """The tuple went back before its taker had it."""
    trace = story(
        (0, "main", "write", TASK, "tasks"),
        (1, "w1", "take", TASK, "tasks"),
        (1, "w1", "release", TASK, "tasks"),
    )
    assert lane(frame_at(trace), "w1").taken == 0


def test_without_work_load_counts_the_tuples_taken() -> None:
    """So that plain consumers can be compared. Main counts only where it is alone."""
    takes = [(0, name, "take", TASK, "tasks") for name in ("a", "a", "b", "main")]
    load = frame_at(story(*takes)).load
    assert [(one.name, one.amount) for one in load.loads] == [("a", 2), ("b", 1)]
    assert [one.name for one in frame_at(story(takes[3])).load.loads] == ["main"]


@pytest.mark.parametrize(
    ("amounts", "index"), [([5, 5, 5], 1.0), ([9, 0, 0], 1 / 3), ([], None), ([0, 0], None)]
)
def test_fairness_runs_from_even_to_all_for_one(amounts: list[int], index: float | None) -> None:
    """1 is even, 1/n is everything for one, and before anything is done there is no answer."""
    assert fairness(amounts) == (None if index is None else pytest.approx(index))


# ---------------------------------------------------------------------------------------------------
# Tuples


async def restless() -> None:
    """Let four actors write, take, claim, replace and give up at random, and note what is really there."""
    space = TupleSpace()

    async def look() -> None:
        tuples = await space.read_all()
        waiting = [(one.actor, one.operation) for one in await space.waiters()]
        note("look", tuples=tuples, waiting=waiting)

    async def act() -> None:
        for _ in range(40):
            number = random.randrange(6)
            try:
                async with asyncio.timeout(random.choice([0.0, 0.5, 1.0])):
                    match random.randrange(6):
                        case 0 | 1:
                            await space.write("task", number, ttl=0.7 if number > 3 else None)
                        case 2:
                            await space.take("task", random.choice([ANY, number]))
                        case 3:
                            await space.replace(("task", number), ("task", number, "x"), insert=number < 2)
                        case 4:
                            async with space.claim("task", ANY, lease=0.4):
                                await asyncio.sleep(random.choice([0.1, 0.6]))
                        case 5:
                            await space.try_take("task", number, "x")
            except Exception as error:
                note(repr(error))
            await asyncio.sleep(random.choice([0, 0.3]))
            await look()

    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(act(), name=name)


@pytest.mark.parametrize("seed", range(6))
def test_the_tuples_of_a_frame_are_those_in_the_space(seed: int) -> None:
    """In the same order, and with the same waiters, whatever happened before."""
    run = simulate(restless, seed=seed)
    history = History(run.trace)
    looks = [event for event in run.trace.of("note") if event.detail["text"] == "look"]
    assert len(looks) == 160
    for event in looks:
        space = frame_at(history, event.time, number=event.seq).spaces[0]
        assert [stored.text for stored in space.tuples] == [repr(fields) for fields in event.detail["tuples"]]
        assert [(one.actor, one.operation) for one in space.waiting] == event.detail["waiting"]


def test_a_frame_holds_a_limited_number_of_tuples() -> None:
    """The newest are there, and the others are counted."""
    trace = story(*((0, "main", "write", ("task", number), "tasks") for number in range(1_000)))
    space = frame_at(trace).spaces[0]
    assert len(space.tuples) + space.not_shown == 1_000
    assert space.tuples[-1].text == "('task', 999)"
    assert space.latest == space.tuples[-1].order


def test_counts_follow_the_kinds_of_tuples() -> None:
    """The state of a task is part of its kind, so a chart shows tasks on their way."""
    trace = story(
        (1, "main", "write", ("task", 7, "queued"), "tasks"),
        (2, "w1", "replace", ("task", 7, "completed"), "tasks", {"old": ("task", 7, "queued")}),
    )
    lines = {line.kind: (line.now, line.most, line.points) for line in frame_at(trace).counts}
    assert lines == {
        "task queued": (0, 1, [(1, 1), (2, 0)]),
        "task completed": (1, 1, [(2, 1)]),
    }


def test_an_open_claim_is_neither_in_the_space_nor_gone() -> None:
    """It is listed with its holder, and a lapse brings the tuple back to its old place."""
    trace = story(
        (0, "main", "write", ("task", 1), "tasks"),
        (0, "main", "write", ("task", 2), "tasks"),
        (1, "w1", "claim", ("task", 1), "tasks", {"token": 1}),
        (5, "w1", "lapse", ("task", 1), "tasks", {"token": 1}),
    )
    claimed, back = frame_at(trace, 2).spaces[0], frame_at(trace, 5).spaces[0]
    assert [(one.holder, one.stored.text) for one in claimed.claimed] == [("w1", "('task', 1)")]
    assert [stored.text for stored in claimed.tuples] == ["('task', 2)"]
    assert [stored.text for stored in back.tuples] == ["('task', 1)", "('task', 2)"]


# ---------------------------------------------------------------------------------------------------
# The moment


def test_a_frame_can_stand_between_two_events_of_one_moment() -> None:
    """The number of events seen decides, so that a step shows one event."""
    trace = story((1, "main", "write", TASK, "tasks"), (1, "w1", "take", TASK, "tasks"))
    between = frame_at(trace, 1, number=1)
    assert [stored.text for stored in between.spaces[0].tuples] == ["('task', 7)"]
    assert between.latest == "main writes ('task', 7) into tasks"


def test_a_frame_can_be_written_as_json() -> None:
    """Plain data only, so that any other program can draw it."""
    run = busy_run()
    for moment in (0, run.elapsed / 2, run.elapsed):
        data = frame_at(run, moment).as_data()
        assert json.loads(json.dumps(data, allow_nan=False))["time"] == moment


def test_a_trace_that_grows_is_read_on() -> None:
    """Reading it bit by bit gives the same as reading it at once."""
    run = busy_run()
    growing = Trace()
    history = History(growing)
    for event in run.trace:
        growing.record(
            event.kind, **{key: getattr(event, key) for key in Event._fields if key not in ("seq", "kind")}
        )
        if event.seq % 7 == 0:
            history.catch_up()
    history.catch_up()
    assert frame_at(history).as_data() == frame_at(run.trace).as_data()


@pytest.mark.parametrize(
    ("times", "axis"),
    [
        ([], (0, 1)),
        ([2], (0, 2)),
        ([0], (0, 1)),
        ([3, 5], (0, 5)),
        ([1_000, 1_005], (1_000, 1_005)),
        ([-1, 2], (-1, 2)),
    ],
)
def test_the_time_axis_begins_at_zero_unless_the_clock_began_long_before(
    times: list[float], axis: tuple[float, float]
) -> None:
    """Virtual time begins at 0; the clock of a kernel has run for days."""
    frame = frame_at(story(*((time, "w1", "note") for time in times)))
    assert (frame.begin, frame.end) == axis


def test_a_run_ends_when_it_ends_and_not_with_its_last_event() -> None:
    """Nothing may happen for a while at the end, and that is part of the picture."""

    async def program() -> None:
        note("hello")
        await asyncio.sleep(10)

    assert frame_at(simulate(program)).end == 10


def test_a_moment_beyond_the_ends_is_the_end() -> None:
    """There is nothing to see before the beginning, and nothing new after the end."""
    trace = story((1, "w1", "start", TASK), (3, "w1", "finish", TASK))
    assert frame_at(trace, -5).number == 0
    assert frame_at(trace, 1e9).time == 3


@pytest.mark.parametrize("moment", ["3", True, None.__class__])
def test_a_moment_that_is_no_number_is_refused(moment: object) -> None:
    """The message says what to write."""
    with pytest.raises(TypeError, match=r"at=3\.0"):
        frame_at(Trace(), moment)  # type: ignore[arg-type]


def test_what_is_no_run_is_refused() -> None:
    """A space has no past; the message says what is drawn."""
    with pytest.raises(TypeError, match="a run or a trace"):
        frame_at(TupleSpace())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nan"):
        frame_at(Trace(), float("nan"))
