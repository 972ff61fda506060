"""How far each promise goes: what is just right enough, and what is just wrong.

Ordinary right and wrong answers stand in ``answers/``; here are those that lie close to an edge.
"""

from __future__ import annotations

import asyncio
from collections import deque

import pytest
from answers import detector, load_balance, metrics, progress, rate_limit, restart_limit, retry

from tutorial_lib import RestartLimitReached
from tutorial_lib.course.catalog import EXERCISES
from tutorial_lib.course.checking import examine


def outcome(exercise, answer):
    """Check an answer and return how it stands."""
    return examine(EXERCISES[exercise], answer).outcome


# load-balance ----------------------------------------------------------------------------------------


def test_load_balance_accepts_any_fair_split():
    """Nobody has to get exactly twenty: one consumer may be slower of its own accord."""

    async def one_takes_a_breath(tasks, process):
        first = load_balance.NAMES[0]

        async def process_slowly(name, n):
            await process(name, n)
            await asyncio.sleep(0.05 if name == first else 0)

        return await load_balance.with_end_markers(tasks, process_slowly)

    assert outcome("load-balance", one_takes_a_breath) == "passed"


def test_load_balance_accepts_a_slow_producer():
    """Who waits for a task that is not written yet does not stand idle by fault of the split."""

    async def writes_slowly(tasks, process):
        counts = dict.fromkeys(load_balance.NAMES, 0)

        async def consumer(name):
            while (n := (await tasks.take("task", object))[1]) is not None:
                await process(name, n)
                counts[name] += 1

        async with asyncio.TaskGroup() as group:
            for name in counts:
                group.create_task(consumer(name))
            for n in range(100):
                await asyncio.sleep(0.7)
                await tasks.write("task", n)
            await tasks.write_many([("task", None)] * 5)
        return counts

    assert outcome("load-balance", writes_slowly) == "passed"


# rate-limit ------------------------------------------------------------------------------------------


def limiter(count, window):
    """Make a producer that lets ``count`` tasks pass in any ``window`` seconds."""

    async def producer(orders, tasks):
        last = deque(maxlen=count)
        while True:
            _, n = await orders.take("order", int)
            if len(last) == count:
                await asyncio.sleep(max(0, last[0] + window - rate_limit.now()))
            last.append(rate_limit.now())
            await tasks.write("task", n)

    return producer


@pytest.mark.parametrize(
    ("count", "window", "expected"),
    [
        (10, 1.0, "passed"),
        (10, 0.9999, "not yet"),
        (11, 1.0, "not yet"),
        (5, 0.5, "passed"),
        (9, 1.0, "passed"),
        (8, 1.0, "not yet"),
    ],
)
def test_rate_limit_knows_a_window_that_is_a_little_too_short_or_too_slow(count, window, expected):
    """A tenth of a millisecond too early is too early, and two tasks a second too few are too few."""
    assert outcome("rate-limit", limiter(count, window)) == expected


# progress --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pause", "expected"), [(1.0, "passed"), (1.01, "not yet")])
def test_progress_may_be_one_second_old(pause, expected):
    """A look a second is enough, and a little less than that is not."""

    async def looks(tasks, results, jobs, show):
        await tasks.write_many([("task", n) for n in jobs])
        done = -1
        while done < len(jobs):
            done = await results.count()
            show(done, len(jobs))
            if done < len(jobs):
                await asyncio.sleep(pause)
        return sum(value for *_, value in await results.read_all("result", int, "completed", int))

    assert outcome("progress", looks) == expected


def test_progress_needs_no_order_of_jobs():
    """The master may submit them in any order, and slowly, as long as nobody waits for long."""

    async def shuffles(tasks, results, jobs, show):
        jobs.sort()
        return await progress.result_by_result(tasks, results, jobs, show)

    assert outcome("progress", shuffles) == "passed"


# detector --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "every", "expected"),
    [(2.81, 0.05, "passed"), (2.79, 0.01, "not yet"), (4.9, 0.05, "passed"), (5.0, 0.05, "not yet")],
)
def test_detector_has_a_limit_between_a_lost_beat_and_five_seconds(limit, every, expected):
    """Just above 2.8 s, and just under 5 s less the pause between two looks."""
    assert outcome("detector", detector.watchman(limit, every)) == expected


# retry-limit -----------------------------------------------------------------------------------------


def with_lease(seconds):
    """Make a right answer with another lease."""

    async def worker(tasks, results, dead, process):
        while True:
            async with tasks.claim("task", int, lease=seconds) as claim:
                n = claim.fields[1]
                try:
                    if claim.attempt > 3:
                        raise RuntimeError("lost")
                    await claim.complete("result", n, await process(n), to=results)
                except Exception as error:
                    if claim.attempt < 3:
                        await claim.release()
                    else:
                        await claim.complete("dead", n, str(error), to=dead)

    return worker


@pytest.mark.parametrize(
    ("lease", "expected"), [(10.5, "passed"), (9.9, "not yet"), (60.0, "passed"), (66.0, "not yet")]
)
def test_retry_limit_needs_a_lease_between_ten_seconds_and_sixty(lease, expected):
    """Longer than a run, and short enough that a lost task runs again in time."""
    assert outcome("retry-limit", with_lease(lease)) == expected


# restart-limit ---------------------------------------------------------------------------------------


def restarting(pause, late=0.0):
    """Make a supervisor that pauses before a restart, and forgets restarts a little late."""

    async def supervise(child, *, limit=3, period=10.0):
        restarts = []
        while True:
            try:
                return await child()
            except Exception:
                moment = restart_limit.now() + pause
                restarts = [earlier for earlier in restarts if moment - earlier < period + late]
                if len(restarts) >= limit:
                    raise RestartLimitReached from None
                await asyncio.sleep(pause)
                restarts.append(moment)

    return supervise


@pytest.mark.parametrize(
    ("pause", "late", "expected"),
    [
        (0.0, 0.0, "passed"),
        (0.1, 0.0, "passed"),
        (0.11, 0.0, "not yet"),
        (0.0, 0.002, "not yet"),
        (0.0, -0.002, "not yet"),
    ],
)
def test_restart_limit_is_exact_to_a_millisecond(pause, late, expected):
    """A restart may come a tenth of a second late; the period may not be off by two milliseconds."""
    assert outcome("restart-limit", restarting(pause, late)) == expected


# retry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("growth", "expected"), [(1.2, "passed"), (1.0, "not yet")])
def test_retry_accepts_waits_that_grow_a_little(growth, expected):
    """Doubling is one way, and not the only one."""
    assert outcome("retry", retry.variant(growth=growth)) == expected


def test_retry_tells_jitter_around_a_fixed_wait_from_growth():
    """Waits that are longer only by chance do not grow."""
    import random

    async def jittery(call, *, attempts=3, budget=30.0):
        end = retry.now() + budget
        for attempt in range(1, attempts + 1):
            try:
                return await call()
            except (ConnectionError, TimeoutError):
                wait = random.uniform(0.5, 1.5)
                if attempt == attempts or retry.now() + wait > end:
                    raise
            await asyncio.sleep(wait)
        return None

    assert outcome("retry", jittery) == "not yet"


# metrics ---------------------------------------------------------------------------------------------


def test_metrics_may_be_read_with_labels_in_any_order():
    """An answer that relies on one order fails, since the pages have both."""

    def relies_on_the_order(before, after):
        def only_worker_first(page):
            return "\n".join(line for line in page.splitlines() if not line.startswith("tasks_total{status"))

        return metrics.with_a_dictionary(only_worker_first(before), only_worker_first(after))

    assert outcome("metrics", relies_on_the_order) in ("not yet", "error")
