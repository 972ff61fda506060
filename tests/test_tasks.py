"""Task: states that are tuples, and steps between them that say whether they won."""

from __future__ import annotations

import asyncio

import pytest
from space_help import ended, settle, simulated, started

from tutorial_lib import ANY, SpaceClosed, TupleSpace, actor, matches
from tutorial_lib.claims import REFUSED
from tutorial_lib.tasks import State, Task
from tutorial_lib.trace import current_trace


async def space_with(*tasks):
    space = TupleSpace()
    for task in tasks:
        await space.write(*task)
    return space


async def running_task(space):
    with actor("w1"):
        return await Task.next(space)


async def only_task(space):
    """The one task of a space; fails if there are two, or none."""
    (fields,) = await space.read_all(*Task.pattern())
    return Task(*fields)


# States and shapes


def test_a_state_equals_its_word():
    """So patterns and prints may use the one or the other."""
    assert [state == state.value for state in State] == [True] * 5
    assert matches(Task.pattern(state="queued"), Task.new(1))
    assert matches(Task.pattern(state=State.QUEUED), Task.new(1))


@simulated
async def test_a_task_has_one_length_in_all_its_states():
    """One pattern finds it in any of them, so no old state stays beside the new one."""
    space = await space_with(Task.new(7, "photo.png"))
    seen = [await only_task(space)]
    for step in ("start", "fail", "requeue", "start", "complete"):
        extra = ("why",) if step in ("fail", "complete") else ()
        await getattr(seen[-1], step)(space, *extra)
        seen.append(await only_task(space))
    assert [task.state for task in seen] == ["queued", "running", "failed", "queued", "running", "completed"]
    assert {len(task) for task in seen} == {8}
    assert {task.payload for task in seen} == {("photo.png",)}


@simulated
async def test_a_task_tells_its_state_attempt_worker_moment_and_outcome():
    """All of it in the tuple, so it survives every process that worked on it."""
    space = await space_with(Task.new(7, "a", 2))
    assert await only_task(space) == ("task", 7, "queued", 0, "", 0.0, ("a", 2), None)
    await asyncio.sleep(1)
    task = await running_task(space)
    assert await only_task(space) == task == ("task", 7, "running", 1, "w1", 1.0, ("a", 2), None)
    await asyncio.sleep(2)
    await task.complete(space, 42)
    assert await only_task(space) == ("task", 7, "completed", 1, "w1", 3.0, ("a", 2), 42)


@simulated
async def test_a_requeued_task_keeps_its_attempts_and_forgets_its_worker_and_outcome():
    """Attempts are counted with the task, so that crashes count."""
    space = await space_with(Task.new(7))
    failed = await (await running_task(space)).fail(space, "no paper")
    assert failed.outcome == "no paper"
    await failed.requeue(space)
    assert (await only_task(space))[2:5] == ("queued", 1, "")
    assert (await only_task(space)).outcome is None
    assert (await running_task(space)).attempt == 2


# Who wins


@simulated
async def test_every_step_returns_none_when_the_task_has_moved_on():
    """Nothing is changed, and the caller must not act."""
    space = await space_with(Task.new(7))
    queued = await only_task(space)
    running = await running_task(space)
    await running.bury(space, "by hand")
    assert await queued.start(space) is None
    assert await running.complete(space, 1) is None
    assert await running.fail(space, "why") is None
    assert await running.requeue(space) is None
    assert await running.bury(space, "again") is None
    assert (await only_task(space)).outcome == "by hand"
    assert await space.count() == 1


@simulated
async def test_only_one_of_many_starts_a_task():
    """Ten workers want two tasks: two of them get one each, the others wait on."""
    space = await space_with(Task.new(1), Task.new(2))
    workers = [asyncio.create_task(Task.next(space), name=f"w{n}") for n in range(10)]
    await settle()
    assert sorted(worker.result().id for worker in workers if worker.done()) == [1, 2]
    for worker in workers:
        worker.cancel()


@pytest.mark.parametrize("second_worker", ["w2", "w1"])
@simulated
async def test_a_late_finisher_is_refused(second_worker):
    """Its task was requeued and runs elsewhere, even under the same name: the attempt tells them apart."""
    space = await space_with(Task.new(7))
    late = await running_task(space)
    await late.requeue(space)
    with actor(second_worker):
        current = await Task.next(space)
    assert await late.complete(space, "old") is None
    assert await late.fail(space, "old") is None
    assert await only_task(space) == current
    assert await current.complete(space, "new") is not None
    assert (await only_task(space)).outcome == "new"


@simulated
async def test_a_monitor_that_comes_too_late_does_not_undo_a_finished_task():
    """It read the task as running; the worker finished; its requeue gets nothing."""
    space = await space_with(Task.new(7))
    task = await running_task(space)
    seen_by_monitor = await only_task(space)
    await task.complete(space, 42)
    assert await seen_by_monitor.requeue(space) is None
    assert (await only_task(space)).state == State.COMPLETED


@simulated
async def test_a_refused_result_is_noted_in_the_trace():
    """Under the name of who came too late, with the task as it knew it."""
    space = await space_with(Task.new(7))
    late = await running_task(space)
    await late.requeue(space)
    with actor("w1"):
        await late.complete(space, 42)
    (event,) = current_trace().of("note")
    assert (event.actor, event.fields) == ("w1", tuple(late))
    assert event.detail == {"text": REFUSED, "step": "completed"}


@simulated
async def test_a_lost_race_for_the_start_is_no_refused_result():
    """Nobody did anything in vain."""
    space = await space_with(Task.new(7))
    queued = await only_task(space)
    await running_task(space)
    assert await queued.start(space) is None
    assert current_trace().of("note") == []


# Steps that lead nowhere


@pytest.mark.parametrize("step", ["start", "complete", "fail", "requeue", "bury"])
@pytest.mark.parametrize("state", [State.COMPLETED, State.DEAD])
@simulated
async def test_nothing_follows_the_end(state, step):
    """A completed or dead task is never revived."""
    task = Task.new(7)._replace(state=state.value)
    space = await space_with(task)
    with pytest.raises(ValueError, match=f"Task 7 is {state}, and no step leads from there"):
        await getattr(task, step)(space, *(["why"] if step in ("fail", "bury") else []))
    assert await only_task(space) == task


@pytest.mark.parametrize(
    ("state", "step"),
    [
        ("queued", "complete"),
        ("queued", "fail"),
        ("queued", "requeue"),
        ("failed", "start"),
        ("failed", "fail"),
    ],
)
@simulated
async def test_a_step_that_leads_nowhere_is_an_error(state, step):
    """It is a mistake in the program, not a lost race."""
    task = Task.new(7)._replace(state=state)
    with pytest.raises(ValueError, match="no step leads"):
        await getattr(task, step)(await space_with(task), *(["why"] if step == "fail" else []))


@pytest.mark.parametrize("state", ["queued", "running", "failed"])
@simulated
async def test_a_task_that_has_not_ended_can_be_buried(state):
    """With the reason as its outcome."""
    task = Task.new(7)._replace(state=state)
    space = await space_with(task)
    await task.bury(space, "nobody wants it")
    assert (await only_task(space))[2] == "dead"
    assert (await only_task(space)).outcome == "nobody wants it"


# Waiting for work


@simulated
async def test_next_gives_the_oldest_queued_task():
    """In the order of writing; a requeued one stands at the end."""
    space = await space_with(Task.new(2), Task.new(1), Task.new(3))
    first = await running_task(space)
    await first.requeue(space)
    assert [(await running_task(space)).id for _ in range(3)] == [1, 3, 2]


@simulated
async def test_next_waits_for_a_task():
    """Until one is queued, whatever other tuples there are."""
    space = await space_with(Task.new(1)._replace(state="completed"), ("task", 5))
    waiting = await started(running_task(space))
    await asyncio.sleep(3)
    await space.write(*Task.new(2))
    assert (await waiting)[1:6] == (2, "running", 1, "w1", 3.0)


@simulated
async def test_next_ends_at_its_timeout():
    """Zero means not to wait, and a task that is there is started all the same."""
    space = await space_with(Task.new(1))
    assert (await Task.next(space, timeout=0)).id == 1
    with pytest.raises(TimeoutError):
        await Task.next(space, timeout=0)
    with pytest.raises(TimeoutError):
        await Task.next(space, timeout=2)
    assert asyncio.get_running_loop().time() == 2
    with pytest.raises(ValueError, match="timeout"):
        await Task.next(space, timeout=-1)


@simulated
async def test_next_raises_when_the_space_is_closed():
    """Nothing can be started there any more."""
    space = await space_with()
    waiting = await started(Task.next(space))
    await space.close()
    assert isinstance(await ended(waiting), SpaceClosed)


# perform_next


async def double(task):
    await asyncio.sleep(1)
    return task.payload[0] * 2


async def refuse(task):
    raise LookupError(f"no {task.payload[0]}")


@simulated
async def test_perform_next_completes_the_task_with_what_process_returns():
    """Start, process, complete."""
    space = await space_with(Task.new(1, 21))
    done = await Task.perform_next(space, double)
    assert done == await only_task(space)
    assert (done.state, done.outcome, done.since) == ("completed", 42, 1.0)


@simulated
async def test_perform_next_fails_the_task_with_the_text_of_the_error():
    """The worker lives on and can take the next."""
    space = await space_with(Task.new(1, "paper"))
    failed = await Task.perform_next(space, refuse)
    assert failed == await only_task(space)
    assert (failed.state, failed.outcome) == ("failed", "LookupError: no paper")


@simulated
async def test_perform_next_gives_the_task_back_uncounted_when_cancelled():
    """A worker that is sent home is no failure of the task."""
    space = await space_with(Task.new(1, 21))
    worker = await started(Task.perform_next(space, double))
    assert (await only_task(space))[2:4] == ("running", 1)
    worker.cancel()
    assert isinstance(await ended(worker), asyncio.CancelledError)
    assert (await only_task(space))[2:5] == ("queued", 0, "")


@simulated
async def test_perform_next_returns_none_when_it_comes_too_late():
    """Somebody lost patience meanwhile."""
    space = await space_with(Task.new(1, 21))
    worker = await started(Task.perform_next(space, double))
    await (await only_task(space)).requeue(space)
    assert await worker is None
    assert (await only_task(space)).state == State.QUEUED


@simulated
async def test_a_state_is_never_missing_for_a_reader():
    """Whoever looks between two steps finds the task in one state or the other, once."""
    space = await space_with(Task.new(1, 21))
    counts = set()

    async def look():
        while True:
            counts.add(await space.count("task", 1, ANY, ANY, ANY, ANY, ANY, ANY))
            await asyncio.sleep(0.1)

    looker = await started(look())
    for _ in range(3):
        worker = await started(Task.perform_next(space, double))
        await asyncio.sleep(0.5)
        await (await only_task(space)).requeue(space)
        await worker
    looker.cancel()
    assert counts == {1}
