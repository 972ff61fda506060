"""priority: the most urgent task first."""

from __future__ import annotations

import asyncio

from answers import Wrong
from tutorial_lib import ANY, where
from tutorial_lib.course import NotAttempted


async def stub(tasks, process):
    """The most urgent task first, for ever."""
    raise NotAttempted


# Right answers ---------------------------------------------------------------------------------------


async def asks_anew_each_time(tasks, process):
    """Level by level, and from the beginning after each task."""
    while True:
        for level in (1, 2, 3):
            found = await tasks.try_take("task", int, level)
            if found:
                print("level", level, found)
                await process(found[1])
                break
        else:
            await asyncio.sleep(0.05)


async def waits_by_reading(tasks, process):
    """read wakes the worker and leaves the task to the question that follows."""
    while True:
        await tasks.read("task", ANY, ANY)
        for level in (1, 2, 3):
            found = await tasks.try_take("task", ANY, level)
            if found:
                await process(found[1])
                break


async def chooses_from_all(tasks, process):
    """Looks at everything, takes the most urgent of the oldest; another worker may have been quicker."""
    while True:
        waiting = await tasks.read_all("task", int, int)
        if not waiting:
            await asyncio.sleep(0.01)
            continue
        best = min(waiting, key=lambda fields: fields[2])
        mine = await tasks.try_take(*best)
        if mine:
            await process(mine[1])


class Nurse:
    """A class with claims, woken by events."""

    def __init__(self, tasks, process):
        self.tasks = tasks
        self.process = process

    async def one(self):
        """Do the most urgent task, if there is one; tell whether there was."""
        for level in range(1, 4):
            if await self.tasks.count("task", ANY, level):
                try:
                    async with self.tasks.claim("task", ANY, level, lease=100, timeout=0) as claim:
                        await self.process(claim.fields[1])
                    return True
                except TimeoutError:
                    continue
        return False


async def woken_by_events(tasks, process):
    """Sleep until something is written, then work until nothing is left."""
    nurse = Nurse(tasks, process)
    async with tasks.watch("task", ANY, ANY, kinds="write") as events:
        while await nurse.one():
            pass
        async for _ in events:
            while await nurse.one():
                pass


RIGHT = [asks_anew_each_time, waits_by_reading, chooses_from_all, woken_by_events]


# Wrong answers ---------------------------------------------------------------------------------------


async def drains_each_level(tasks, process):
    """The printed loop: all of level 1, then all of level 2, and no look back."""
    while True:
        for level in (1, 2, 3):
            while found := await tasks.try_take("task", int, level):
                await process(found[1])
        await asyncio.sleep(0.05)


async def one_of_each_level(tasks, process):
    """One task of each level in turn."""
    while True:
        for level in (1, 2, 3):
            if found := await tasks.try_take("task", int, level):
                await process(found[1])
        await asyncio.sleep(0.05)


async def sorts_once(tasks, process):
    """All that is there is taken and sorted; what comes later has to wait."""
    while True:
        batch = await tasks.take_all("task", int, int)
        for _, n, _ in sorted(batch, key=lambda fields: fields[2]):
            await process(n)
        await asyncio.sleep(0.05)


async def smallest_number_first(tasks, process):
    """The number is not the age."""
    while True:
        waiting = await tasks.read_all("task", int, int)
        if not waiting:
            await asyncio.sleep(0.01)
            continue
        best = min(waiting, key=lambda fields: (fields[2], fields[1]))
        if await tasks.try_take(*best):
            await process(best[1])


async def reads_instead_of_taking(tasks, process):
    """The most urgent task, again and again."""
    while True:
        for level in (1, 2, 3):
            if found := await tasks.try_read("task", int, level):
                await process(found[1])
                break
        else:
            await asyncio.sleep(0.05)


async def waits_for_level_one(tasks, process):
    """Nothing of the other levels is ever done."""
    while True:
        _, n, _ = await tasks.take("task", int, 1)
        await process(n)


async def ignores_the_level(tasks, process):
    """First come, first served."""
    while True:
        _, n, _ = await tasks.take("task", int, int)
        await process(n)


async def upside_down(tasks, process):
    """Takes 3 for the most urgent."""
    while True:
        for level in (3, 2, 1):
            if found := await tasks.try_take("task", int, level):
                await process(found[1])
                break
        else:
            await asyncio.sleep(0.05)


async def only_urgent_and_other(tasks, process):
    """Levels 2 and 3 are the same to it."""
    while True:
        found = await tasks.try_take("task", int, 1)
        found = found or await tasks.try_take("task", int, where(lambda level: level > 1, "not urgent"))
        if found:
            await process(found[1])
        else:
            await asyncio.sleep(0.05)


async def many_at_once(tasks, process):
    """A task of its own for each task."""
    async with asyncio.TaskGroup() as group:
        while True:
            for level in (1, 2, 3):
                if found := await tasks.try_take("task", int, level):
                    group.create_task(process(found[1]))
                    break
            else:
                await asyncio.sleep(0.05)


async def goes_home_when_it_is_quiet(tasks, process):
    """No task, no worker."""
    while True:
        for level in (1, 2, 3):
            if found := await tasks.try_take("task", int, level):
                await process(found[1])
                break
        else:
            return


async def polls_without_a_pause(tasks, process):
    """Virtual time stands still."""
    while True:
        for level in (1, 2, 3):
            if found := await tasks.try_take("task", int, level):
                await process(found[1])
                break


async def keeps_one_in_its_pocket(tasks, process):
    """The next task is taken before the present one is done, so it cannot be overtaken."""

    async def most_urgent():
        while True:
            await tasks.read("task", ANY, ANY)
            for level in (1, 2, 3):
                if found := await tasks.try_take("task", ANY, level):
                    return found[1]

    following = await most_urgent()
    while True:
        present = following
        _, following = await asyncio.gather(process(present), most_urgent())


async def idles_on_level_three(tasks, process):
    """An idle worker waits for the least urgent level only."""
    while True:
        for level in (1, 2):
            if found := await tasks.try_take("task", int, level):
                await process(found[1])
                break
        else:
            _, n, _ = await tasks.take("task", int, 3)
            await process(n)


async def forgets_await(tasks, process):
    """process is called, and does nothing."""
    while True:
        _, n, _ = await tasks.take("task", int, int)
        process(n)


async def does_nothing(tasks, process):
    """Waits for better times."""
    await asyncio.sleep(1000)


async def leaves_after_ten_seconds(tasks, process):
    """Gives up when there is nothing to do for a while."""
    while True:
        for level in (1, 2, 3):
            found = await tasks.try_take("task", int, level)
            if found:
                await process(found[1])
                break
        else:
            try:
                await tasks.read("task", int, int, timeout=10)
            except TimeoutError:
                return


WRONG = [
    Wrong(drains_each_level, "not yet", "and task 6 of level 1 had been waiting since 3.5 s"),
    Wrong(
        one_of_each_level,
        "not yet",
        "began task 2 of level 2, and task 1 of level 1 had been waiting since 0 s",
    ),
    Wrong(
        sorts_once, "not yet", "began task 3 of level 2, and task 6 of level 1 had been waiting since 3.5 s"
    ),
    Wrong(smallest_number_first, "not yet", "task 1 began before task 9"),
    Wrong(reads_instead_of_taking, "not yet", "processed task 9 a second time"),
    Wrong(waits_for_level_one, "not yet", "task 7 of level 3, written at 0 s, was never processed"),
    Wrong(ignores_the_level, "not yet", "began task 2 of level 2, and task 9 of level 1"),
    Wrong(upside_down, "not yet", "began task 4 of level 3, and task 2 of level 2"),
    Wrong(only_urgent_and_other, "not yet", "had been waiting since 0 s"),
    Wrong(many_at_once, "not yet", "while it still worked on task"),
    Wrong(goes_home_when_it_is_quiet, "not yet", "it returned, and whatever comes later would wait in vain"),
    Wrong(polls_without_a_pause, "not yet", "lets time go on: every loop in it waits somewhere"),
    Wrong(keeps_one_in_its_pocket, "not yet", "and task 6 of level 1 had been waiting since 3.5 s"),
    Wrong(idles_on_level_three, "not yet", "had been waiting since"),
    Wrong(forgets_await, "not yet", "write await before process(...)"),
    Wrong(leaves_after_ten_seconds, "not yet", "w1 goes on for ever"),
    Wrong(does_nothing, "proved nothing", "nobody took a task or waited for one"),
]
