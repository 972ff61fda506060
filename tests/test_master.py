"""Master: submit tasks, collect the answers, and never wait for what cannot come."""

from __future__ import annotations

import asyncio

import pytest
from space_help import ended, settle, simulated, started

from tutorial_lib import ANY, SpaceClosed, Stalled, TupleSpace, simulate
from tutorial_lib.crew import Crew, work
from tutorial_lib.faults import crash
from tutorial_lib.master import Collected, Master


def spaces():
    return TupleSpace("tasks"), TupleSpace("results")


def now():
    return asyncio.get_running_loop().time()


def squaring(tasks, results, attempts=2, poison=()):
    """A worker that squares, and buries a task that failed too often. Its poison raises."""

    async def square(number, side):
        await work(1, number)
        if number in poison:
            raise ValueError(f"{number} is poison")
        return side * side

    async def worker(name):
        while True:
            async with tasks.claim("task", int, int, lease=5) as claim:
                _, number, side = claim.fields
                try:
                    await claim.complete("result", number, await square(number, side), to=results)
                except ValueError as error:
                    if claim.attempt == attempts:
                        await claim.bury(results, str(error))
                    else:
                        await claim.release()

    return worker


# Submitting


@simulated
async def test_submit_writes_the_task_and_returns_its_id():
    """Ids count from 1, and the payload follows the id."""
    tasks, results = spaces()
    master = Master(tasks, results)
    assert [await master.submit("a.png", 640), await master.submit(), await master.submit("b.png")] == [
        1,
        2,
        3,
    ]
    assert await tasks.read_all() == [("task", 1, "a.png", 640), ("task", 2), ("task", 3, "b.png")]


@simulated
async def test_a_task_that_could_not_be_written_is_not_submitted():
    """It is not waited for, and its id is not used again."""
    tasks, results = TupleSpace("tasks", capacity=1), TupleSpace("results")
    master = Master(tasks, results)
    await master.submit("first")
    submitting = await started(master.submit("second"))
    submitting.cancel()
    await ended(submitting)
    assert master.progress() == (0, 1)
    await tasks.take("task", 1, ANY)
    assert await master.submit("third") == 3


# Collecting


@simulated
async def test_collect_waits_for_every_answer():
    """Three workers square ten numbers in four rounds."""
    tasks, results = spaces()
    master = Master(tasks, results)
    async with Crew(squaring(tasks, results), 3):
        for side in range(10):
            await master.submit(side)
        collected = await master.collect()
    assert collected == Collected({n + 1: n * n for n in range(10)}, {}, [], 0)
    assert now() == 4
    assert await results.count() == 0


@simulated
async def test_tasks_that_fail_for_good_are_named_and_the_master_returns():
    """Eight results, two failures, and the progress is complete."""
    tasks, results = spaces()
    master = Master(tasks, results)
    async with Crew(squaring(tasks, results, poison={3, 7}), 3):
        for side in range(10):
            await master.submit(side)
        collected = await master.collect()
    assert sorted(collected.results) == [1, 2, 4, 5, 6, 8, 9, 10]
    assert collected.failures == {3: "3 is poison", 7: "7 is poison"}
    assert collected.missing == []
    assert master.progress() == (10, 10)


def test_a_task_whose_worker_crashes_is_not_missing_in_the_end():
    """Its claim lapses, and another worker does it."""

    async def main():
        tasks, results = spaces()
        master = Master(tasks, results)
        async with Crew(squaring(tasks, results), 2):
            for side in range(4):
                await master.submit(side)
            return await master.collect()

    run = simulate(main, faults=[crash("w1", at=0.5)])
    assert run.result.results == {1: 0, 2: 1, 3: 4, 4: 9}
    assert run.result.missing == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (("result", 1, 42), "results"),
        (("result", 1, None), "results"),
        (("result", 1, "completed", 42), "results"),
        (("result", 1, "failed", "no paper"), "failures"),
        (("task", 1, "a.png", "no paper"), "failures"),
    ],
)
@simulated
async def test_every_shape_of_answer_is_understood(answer, kind):
    """Those of the table in the module; the last field is the value or the reason."""
    tasks, results = spaces()
    master = Master(tasks, results)
    await master.submit("a.png")
    await results.write(*answer)
    assert getattr(await master.collect(), kind) == {1: answer[-1]}


@simulated
async def test_other_tuples_stay_where_they_are():
    """Answers to others, other shapes, tasks of the same length, and what merely equals an id."""
    space = TupleSpace()
    master = Master(space, space)
    await master.submit("a.png")
    await master.submit("b.png", 640)
    others = [
        ("result", 3, 1),
        ("result", True, 1),
        ("result", [1], 1),
        ("result", 1, "done", 1),
        ("done", 1),
    ]
    await space.write_many(others)
    await master.collect(timeout=1)
    assert await space.read_all() == [("task", 1, "a.png"), ("task", 2, "b.png", 640), *others]


@simulated
async def test_a_second_answer_is_ignored_and_counted():
    """The first one counts, whether they come together or in two collections."""
    tasks, results = spaces()
    master = Master(tasks, results)
    await master.submit()
    await results.write_many(
        [("result", 1, "first"), ("result", 1, "second"), ("result", 1, "failed", "late")]
    )
    assert await master.collect() == Collected({1: "first"}, {}, [], 2)
    await results.write("result", 1, "third")
    assert await master.collect() == Collected({1: "first"}, {}, [], 3)
    assert master.progress() == (1, 1)


@simulated
async def test_after_the_timeout_collect_returns_what_there_is():
    """A later call goes on from there."""
    tasks, results = spaces()
    master = Master(tasks, results)
    async with Crew(squaring(tasks, results), 1):
        for side in range(4):
            await master.submit(side)
        partial = await master.collect(timeout=2.5)
        assert (now(), partial.results, partial.missing) == (2.5, {1: 0, 2: 1}, [3, 4])
        assert master.progress() == (2, 4)
        whole = await master.collect()
    assert (whole.results, whole.missing) == ({1: 0, 2: 1, 3: 4, 4: 9}, [])


@simulated
async def test_a_timeout_of_zero_takes_what_is_there_and_does_not_wait():
    """Zero is a value."""
    tasks, results = spaces()
    master = Master(tasks, results)
    await master.submit()
    await master.submit()
    await results.write("result", 2, "there")
    assert await master.collect(timeout=0) == Collected({2: "there"}, {}, [1], 0)
    assert now() == 0


@simulated
async def test_collect_with_nothing_submitted_returns_at_once():
    """There is nothing to wait for."""
    assert await Master(*spaces()).collect() == Collected({}, {}, [], 0)


@simulated
async def test_tasks_submitted_during_the_collection_are_waited_for():
    """And their results are in it."""
    tasks, results = spaces()
    master = Master(tasks, results)
    async with Crew(squaring(tasks, results), 2):
        await master.submit(2)
        collecting = await started(master.collect())
        await asyncio.sleep(0.5)
        await master.submit(3)
        assert (await collecting).results == {1: 4, 2: 9}


@simulated
async def test_results_come_in_the_order_of_the_ids():
    """Not in the order in which the workers happened to finish."""
    tasks, results = spaces()
    master = Master(tasks, results)
    for _ in range(3):
        await master.submit()
    await results.write_many([("result", 3, "c"), ("result", 1, "a"), ("result", 2, "b")])
    assert list((await master.collect()).results.values()) == ["a", "b", "c"]


@simulated
async def test_collect_ends_when_the_space_for_results_is_closed():
    """It raises, and says how many answers were missing."""
    tasks, results = spaces()
    master = Master(tasks, results)
    await master.submit()
    await master.submit()
    await results.write("result", 1, "a")
    collecting = await started(master.collect())
    await results.close()
    with pytest.raises(SpaceClosed, match="1 of 2 tasks have no answer"):
        await collecting


@simulated
async def test_a_cancelled_collection_loses_nothing():
    """What it had taken is in the next one."""
    tasks, results = spaces()
    master = Master(tasks, results)
    await master.submit()
    await master.submit()
    collecting = await started(master.collect())
    await results.write("result", 1, "a")
    await settle()
    collecting.cancel()
    await ended(collecting)
    await results.write("result", 2, "b")
    assert (await master.collect()).results == {1: "a", 2: "b"}


def test_progress_can_be_followed_while_the_master_collects():
    """It starts at 0, never goes back, and ends complete."""

    async def main():
        tasks, results = spaces()
        master = Master(tasks, results)
        seen = []

        async def show():
            while True:
                seen.append(master.progress())
                await asyncio.sleep(1)

        async with Crew(squaring(tasks, results, poison={2}), 2):
            for side in range(6):
                await master.submit(side)
            shower = await started(show())
            await master.collect()
            shower.cancel()
        return [*seen, master.progress()]

    seen = simulate(main).result
    assert seen == sorted(seen)
    assert seen[0] == (0, 6)
    assert seen[-1] == (6, 6)
    assert {done for done, _ in seen} > {0, 6}  # and something in between


@pytest.mark.parametrize("timeout", [-1, "1", True, float("nan")])
@simulated
async def test_collect_refuses_what_is_no_length_of_time(timeout):
    """Before it waits."""
    with pytest.raises((TypeError, ValueError), match="timeout"):
        await Master(*spaces()).collect(timeout=timeout)


# When it is stuck


def test_a_master_that_is_stuck_says_which_tasks_have_no_answer():
    """And how near the answer came that it could not use."""

    async def main():
        tasks, results = spaces()
        master = Master(tasks, results)

        async def worker(name):
            while True:
                _, number = await tasks.take("task", int)
                await (
                    results.write("result", "two", 4) if number == 2 else results.write("result", number, 1)
                )

        async with Crew(worker, 1):
            for _ in range(2):
                await master.submit()
            await master.collect()

    with pytest.raises(Stalled) as caught:
        simulate(main)
    assert str(caught.value).splitlines()[1:] == [
        "  w1 waits in take for ('task', int) in tasks. The space is empty.",
        "  main waits in collect, since task 2 has no answer, for ('result', 2, ANY) in results. "
        "There is ('result', 'two', 4): field 2 is 'two' (str), asked is 2 (int).",
    ]


def test_a_master_that_is_stuck_names_a_few_of_many_tasks():
    """A hundred numbers would fill the screen."""

    async def main():
        master = Master(*spaces())
        for _ in range(8):
            await master.submit()
        await master.collect()

    with pytest.raises(Stalled, match="since tasks 1, 2, 3, 4, 5 and 3 more have no answer, for"):
        simulate(main)
