"""progress: a master that tells how far the work has come."""

from __future__ import annotations

import asyncio

from answers import Wrong
from tutorial_lib import ANY
from tutorial_lib.course import NotAttempted
from tutorial_lib.master import Master


async def stub(tasks, results, jobs, show):
    """Write the jobs, show the progress, return the sum."""
    raise NotAttempted


# Right answers ---------------------------------------------------------------------------------------


async def result_by_result(tasks, results, jobs, show):
    """Show after each result."""
    for n in jobs:
        await tasks.write("task", n)
    show(0, len(jobs))
    total = 0
    for done in range(1, len(jobs) + 1):
        _, n, status, value = await results.take("result", int, str, ANY)
        print(n, status)
        total += value if status == "completed" else 0
        show(done, len(jobs))
    return total


async def by_polling(tasks, results, jobs, show):
    """Look twice a second, and leave the results where they are."""
    await tasks.write_many([("task", n) for n in jobs])
    done = 0
    while done < len(jobs):
        done = await results.count("result", ANY, ANY, ANY)
        show(done, len(jobs))
        if done < len(jobs):
            await asyncio.sleep(0.5)
    return sum(value for *_, value in await results.read_all("result", ANY, "completed", ANY))


async def once_a_second(tasks, results, jobs, show):
    """As rarely as is allowed, beside a collector that takes."""
    taken = []

    async def collect():
        while len(taken) < len(jobs):
            taken.append(await results.take("result", int, str, int))

    async def tell():
        while len(taken) < len(jobs):
            show(len(taken), len(jobs))
            await asyncio.sleep(1.0)
        show(len(taken), len(jobs))

    async with asyncio.TaskGroup() as group:
        group.create_task(tell())
        for n in jobs:
            await tasks.write("task", n)
        group.create_task(collect())
    return sum(value for _, _, status, value in taken if status == "completed")


class Foreman:
    """An object with a method, which watches the results as they are written."""

    def __init__(self):
        self.sums = {"completed": 0, "failed": 0}

    async def lead(self, tasks, results, jobs, show):
        """Be the master."""
        self.sums = {"completed": 0, "failed": 0}
        done = 0
        async with results.watch("result", ANY, ANY, ANY, kinds="write") as events:
            show(done, len(jobs))
            show(done, len(jobs))
            await tasks.write_many([("task", n) for n in reversed(jobs)])
            async for event in events:
                done += 1
                self.sums[event.fields[2]] += event.fields[3]
                show(done, len(jobs))
                if done == len(jobs):
                    break
        return self.sums["completed"]


RIGHT = [result_by_result, by_polling, once_a_second, Foreman().lead]


# Wrong answers ---------------------------------------------------------------------------------------


async def counts_submissions(tasks, results, jobs, show):
    """What is submitted is not yet done."""
    show(0, len(jobs))
    for number, n in enumerate(jobs, start=1):
        await tasks.write("task", n)
        show(number, len(jobs))
    return 0


async def shows_only_at_the_end(tasks, results, jobs, show):
    """Silence, and then all at once."""
    await tasks.write_many([("task", n) for n in jobs])
    show(0, len(jobs))
    total = 0
    for _ in jobs:
        _, _, status, value = await results.take("result", ANY, ANY, ANY)
        total += value if status == "completed" else 0
    show(len(jobs), len(jobs))
    return total


async def stops_at_a_failure(tasks, results, jobs, show):
    """Waits for as many completed results as there are jobs."""
    await tasks.write_many([("task", n) for n in jobs])
    show(0, len(jobs))
    total = 0
    for done in range(1, len(jobs) + 1):
        _, _, _, value = await results.take("result", ANY, "completed", ANY)
        total += value
        show(done, len(jobs))
    return total


async def never_shows_zero(tasks, results, jobs, show):
    """Begins with the first result."""
    await tasks.write_many([("task", n) for n in jobs])
    total = 0
    for done in range(1, len(jobs) + 1):
        _, _, status, value = await results.take("result", ANY, ANY, ANY)
        total += value if status == "completed" else 0
        show(done, len(jobs))
    return total


async def one_at_a_time(tasks, results, jobs, show):
    """The next job only after the last result: two workers have nothing to do."""
    show(0, len(jobs))
    total = 0
    for done, n in enumerate(jobs, start=1):
        await tasks.write("task", n)
        _, _, status, value = await results.take("result", n, ANY, ANY)
        total += value if status == "completed" else 0
        show(done, len(jobs))
    return total


async def adds_the_failed(tasks, results, jobs, show):
    """Every value counts."""
    await tasks.write_many([("task", n) for n in jobs])
    show(0, len(jobs))
    total = 0
    for done in range(1, len(jobs) + 1):
        total += (await results.take("result", ANY, ANY, ANY))[3]
        show(done, len(jobs))
    return total


async def goes_backwards(tasks, results, jobs, show):
    """Counts the results that lie there, and takes them away."""
    await tasks.write_many([("task", n) for n in jobs])
    total = seen = 0
    show(0, len(jobs))
    while seen < len(jobs):
        await asyncio.sleep(0.2)
        show(await results.count("result", ANY, ANY, ANY), len(jobs))
        for _, _, status, value in await results.take_all("result", ANY, ANY, ANY):
            seen += 1
            total += value if status == "completed" else 0
    show(len(jobs), len(jobs))
    return total


async def every_two_seconds(tasks, results, jobs, show):
    """Too rarely."""
    await tasks.write_many([("task", n) for n in jobs])
    done = 0
    while done < len(jobs):
        done = await results.count("result", ANY, ANY, ANY)
        show(done, len(jobs))
        await asyncio.sleep(2)
    return sum(value for *_, value in await results.read_all("result", ANY, "completed", ANY))


async def returns_before_the_last_show(tasks, results, jobs, show):
    """Shows what was done before the result, and not after it."""
    await tasks.write_many([("task", n) for n in jobs])
    total = 0
    for done in range(len(jobs)):
        show(done, len(jobs))
        _, _, status, value = await results.take("result", ANY, ANY, ANY)
        total += value if status == "completed" else 0
    return total


async def says_percent(tasks, results, jobs, show):
    """Figures of another kind."""
    show(0, 100)


async def returns_a_list(tasks, results, jobs, show):
    """The values in place of their sum."""
    await tasks.write_many([("task", n) for n in jobs])
    values = []
    for done in range(len(jobs) + 1):
        show(done, len(jobs))
        if done < len(jobs):
            values.append((await results.take("result", ANY, ANY, ANY))[3])
    return values


async def awaits_show(tasks, results, jobs, show):
    """show is a plain function."""
    await show(0, len(jobs))


async def writes_pairs_of_jobs(tasks, results, jobs, show):
    """Tuples that no worker takes."""
    show(0, len(jobs))
    for n in jobs:
        await tasks.write("task", n, "queued")
    await results.take("result", ANY, ANY, ANY)


async def writes_every_job_twice(tasks, results, jobs, show):
    """To be on the safe side."""
    show(0, len(jobs))
    await tasks.write_many([("task", n) for n in jobs] * 2)


async def polls_without_a_pause(tasks, results, jobs, show):
    """Virtual time stands still."""
    await tasks.write_many([("task", n) for n in jobs])
    show(0, len(jobs))
    while await results.count("result", ANY, ANY, ANY) < len(jobs):
        pass


async def uses_our_master(tasks, results, jobs, show):
    """The part that the exercise asks to build."""
    Master(tasks, results)
    return await result_by_result(tasks, results, jobs, show)


async def does_nothing(tasks, results, jobs, show):
    """No job, no show."""
    return 0


WRONG = [
    Wrong(counts_submissions, "not yet", "show(1, 12) was called when 0 results had been written"),
    Wrong(
        shows_only_at_the_end, "not yet", "result number 1 was written at 0.7 s, and at 2.1 s no call of show"
    ),
    Wrong(stops_at_a_failure, "not yet", "no call of show had counted it"),
    Wrong(never_shows_zero, "not yet", "show(1, 12) was called first of all"),
    Wrong(one_at_a_time, "not yet", "w2 waited for a task from 0 s to 0.7 s, and 11 of 12 jobs"),
    Wrong(adds_the_failed, "not yet", "here 1019"),
    Wrong(goes_backwards, "not yet", "show(0, 12) was called after show(3, 12)"),
    Wrong(every_two_seconds, "not yet", "what is shown is never more than 1 s old"),
    Wrong(returns_before_the_last_show, "not yet", "and the last call was show(11, 12)"),
    Wrong(says_percent, "not yet", "here 12"),
    Wrong(returns_a_list, "not yet", "it returned [50, 0, 404"),
    Wrong(awaits_show, "error", "TypeError: object NoneType can't be used in 'await' expression"),
    Wrong(writes_pairs_of_jobs, "not yet", "('task', 5, 'queued') was written to tasks"),
    Wrong(writes_every_job_twice, "not yet", "('task', 5) was written to tasks a second time"),
    Wrong(polls_without_a_pause, "not yet", "lets time go on: every loop in it waits somewhere"),
    Wrong(uses_our_master, "not yet", "Master did the work"),
    Wrong(does_nothing, "proved nothing", "the last call was none"),
]
