"""load-balance: five consumers share a hundred tasks."""

from __future__ import annotations

import asyncio
from collections import Counter

from answers import Wrong
from tutorial_lib import ANY, TupleSpace
from tutorial_lib.course import NotAttempted

NAMES = ["ann", "ben", "cid", "dot", "eve"]


async def stub(tasks, process):
    """Start five consumers, write 100 tasks, return {name: count}."""
    raise NotAttempted


# Right answers ---------------------------------------------------------------------------------------


async def with_end_markers(tasks, process):
    """Five markers after the last task, one for each consumer."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while (found := await tasks.take(str, ANY))[0] == "task":
            await process(name, found[1])
            counts[name] += 1

    async with asyncio.TaskGroup() as group:
        for name in NAMES:
            group.create_task(consumer(name), name=name)
        for n in range(100):
            await tasks.write("task", n)
        for _ in NAMES:
            await tasks.write("stop", None)
    return counts


async def with_one_marker_passed_on(tasks, process):
    """One marker, which each consumer puts back for the next; the numbers are odd ones."""
    await tasks.write_many([("task", 7 * n + 1) for n in range(100)])
    await tasks.write("task", "stop")

    async def consumer(number):
        done = 0
        while True:
            _, n = await tasks.take("task", ANY)
            if n == "stop":
                await tasks.write("task", "stop")
                return number, done
            print(f"consumer {number} takes {n}")
            await process(number, n)
            done += 1

    return dict(await asyncio.gather(*(consumer(number) for number in range(1, 6))))


async def with_time_out(tasks, process):
    """A consumer that has waited a second for nothing goes home."""
    counts = Counter()

    async def consumer(name):
        while True:
            try:
                _, n = await tasks.take("task", int, timeout=1)
            except TimeoutError:
                return
            await process(name, n)
            counts[name] += 1

    consumers = [asyncio.create_task(consumer(name), name=name) for name in NAMES]
    for n in range(100, 0, -1):
        await tasks.write("task", n)
    await asyncio.gather(*consumers)
    return counts


class Shop:
    """Consumers as a class, with claims, dismissed when all is done."""

    def __init__(self, tasks, process):
        self.tasks = tasks
        self.process = process
        self.counts = {}

    async def consume(self, name):
        """Claim and process one task after another."""
        self.counts[name] = 0
        while True:
            async with self.tasks.claim("task", int, lease=60) as claim:
                await self.process(name, claim.fields[1])
            self.counts[name] += 1

    async def run(self):
        """Let the consumers work until a hundred are done."""
        await self.tasks.write_many(("task", n) for n in range(100))
        consumers = [asyncio.create_task(self.consume(name)) for name in NAMES]
        while sum(self.counts.values()) < 100:
            await asyncio.sleep(0.05)
        for consumer in consumers:
            consumer.cancel()
        return self.counts


async def with_claims(tasks, process):
    """The class at work."""
    return await Shop(tasks, process).run()


async def with_polite_polling(tasks, process):
    """try_take, and a pause after every look; the producer is slow and works beside the consumers."""
    counts = dict.fromkeys(NAMES, 0)

    async def producer():
        for n in range(100):
            await tasks.write("task", n)
            if n % 10 == 0:
                await asyncio.sleep(0.02)
        await tasks.write("closing time", True)

    async def consumer(name):
        while True:
            found = await tasks.try_take("task", int)
            if found:
                await process(name, found[1])
                counts[name] += 1
            elif await tasks.try_read("closing time", True) and not await tasks.count("task", int):
                return
            await asyncio.sleep(0.001)

    await asyncio.gather(producer(), *(consumer(name) for name in NAMES))
    return counts


def with_plain_def(tasks, process):
    """A plain function that gives back something to await."""
    return with_end_markers(tasks, process)


RIGHT = [
    with_end_markers,
    with_one_marker_passed_on,
    with_time_out,
    with_claims,
    with_polite_polling,
    with_plain_def,
]


# Wrong answers ---------------------------------------------------------------------------------------


async def hog(tasks, process):
    """The first consumer never lets the others run while it finds something."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while found := await tasks.try_take("task", int):
            await process(name, found[1])
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def leaves_before_the_last_task(tasks, process):
    """Between the look for a task and the look for the end, more tasks may come."""
    counts = dict.fromkeys(NAMES, 0)

    async def producer():
        for n in range(100):
            await tasks.write("task", n)
            if n % 10 == 0:
                await asyncio.sleep(0.02)
        await tasks.write("closing time", True)

    async def consumer(name):
        while True:
            found = await tasks.try_take("task", int)
            if found:
                await process(name, found[1])
                counts[name] += 1
            elif await tasks.try_read("closing time", True):
                return
            await asyncio.sleep(0.001)

    await asyncio.gather(producer(), *(consumer(name) for name in NAMES))
    return counts


async def static_split(tasks, process):
    """Each consumer has twenty numbers of its own, whatever its speed."""
    await tasks.write_many([("task", n) for n in range(100)])

    async def consumer(name, numbers):
        for n in numbers:
            await tasks.take("task", n)
            await process(name, n)
        return name, len(numbers)

    shares = [consumer(name, range(20 * i, 20 * i + 20)) for i, name in enumerate(NAMES)]
    return dict(await asyncio.gather(*shares))


async def reads_instead_of_taking(tasks, process):
    """A read leaves the task for the next consumer as well."""
    counts = dict.fromkeys(NAMES, 0)
    await tasks.write_many([("task", n) for n in range(100)])

    async def consumer(name):
        for _ in range(20):
            _, n = await tasks.read("task", int)
            await process(name, n)
            counts[name] += 1

    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def count_overwritten(tasks, process):
    """A count is read before the pause and written after it: what came in between is lost."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while (found := await tasks.take(str, ANY))[0] == "task":
            before = dict(counts)
            await process(name, found[1])
            before[name] += 1
            counts.update(before)

    await tasks.write_many([("task", n) for n in range(100)])
    await tasks.write_many([("stop", None)] * 5)
    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def one_count_for_all(tasks, process):
    """All consumers share one count."""
    total = 0

    async def consumer(name):
        nonlocal total
        while await tasks.count("task", int):
            _, n = await tasks.take("task", int)
            await process(name, n)
            total += 1

    await tasks.write_many([("task", n) for n in range(100)])
    await asyncio.wait([asyncio.create_task(consumer(name)) for name in NAMES], timeout=60)
    return dict.fromkeys(NAMES, total)


async def says_twenty_each(tasks, process):
    """The counts are what the author expects, and not what happened."""
    await with_end_markers(tasks, process)
    return dict.fromkeys(NAMES, 20)


async def one_end_marker(tasks, process):
    """One marker stops one consumer, and four wait for ever."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while (found := await tasks.take(str, ANY))[0] == "task":
            await process(name, found[1])
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    await tasks.write("stop", None)
    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def marker_that_looks_like_a_task(tasks, process):
    """The end marker has an int where the number stands."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while (n := (await tasks.take("task", int))[1]) >= 0:
            await process(name, n)
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    await tasks.write_many([("task", -1)] * 5)
    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def keeps_to_itself(tasks, process):
    """All goes through a space of its own, and the one it was given stays empty."""
    return await with_end_markers(TupleSpace("mine"), process)


async def past_the_space(tasks, process):
    """The tasks are written for show, and shared through a queue."""
    counts = dict.fromkeys(NAMES, 0)
    queue = asyncio.Queue()
    for n in range(100):
        await tasks.write("task", n)
        queue.put_nowait(n)

    async def consumer(name):
        while not queue.empty():
            await process(name, queue.get_nowait())
            counts[name] += 1
            await asyncio.sleep(0)

    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def off_by_one(tasks, process):
    """One task too few."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while (found := await tasks.take(str, ANY))[0] == "task":
            await process(name, found[1])
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(1, 100)])
    await tasks.write_many([("stop", None)] * 5)
    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def four_consumers(tasks, process):
    """One consumer short."""
    counts = dict.fromkeys(NAMES[:4], 0)

    async def consumer(name):
        while (found := await tasks.take(str, ANY))[0] == "task":
            await process(name, found[1])
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    await tasks.write_many([("stop", None)] * 4)
    await asyncio.gather(*(consumer(name) for name in counts))
    return counts


async def forgets_to_await_process(tasks, process):
    """process(...) without await makes a coroutine and does nothing."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while (found := await tasks.take(str, ANY))[0] == "task":
            process(name, found[1])
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    await tasks.write_many([("stop", None)] * 5)
    await asyncio.gather(*(consumer(name) for name in NAMES))
    return counts


async def does_all_at_once(tasks, process):
    """A consumer that starts its next task before the last one is done."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while (found := await tasks.take(str, ANY))[0] == "task":
            group.create_task(process(name, found[1]))
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    await tasks.write_many([("stop", None)] * 5)
    async with asyncio.TaskGroup() as group:
        for name in NAMES:
            group.create_task(consumer(name))
    return counts


async def returns_too_early(tasks, process):
    """The consumers are started, and nobody waits for them."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while True:
            _, n = await tasks.take("task", int)
            await process(name, n)
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    consumers = [asyncio.create_task(consumer(name)) for name in NAMES]
    await asyncio.wait(consumers, timeout=1)
    return counts


async def leaves_its_consumers_waiting(tasks, process):
    """All tasks are done, and the consumers still wait for more."""
    counts = dict.fromkeys(NAMES, 0)

    async def consumer(name):
        while True:
            _, n = await tasks.take("task", int)
            await process(name, n)
            counts[name] += 1

    await tasks.write_many([("task", n) for n in range(100)])
    consumers = [asyncio.create_task(consumer(name)) for name in NAMES]
    await asyncio.wait(consumers, timeout=60)
    return counts


async def forgets_to_return(tasks, process):
    """All is done, and nothing is said."""
    await with_end_markers(tasks, process)


async def hands_over_the_tuple(tasks, process):
    """process gets the whole tuple in place of the number."""
    await tasks.write_many([("task", n) for n in range(100)])
    for name in NAMES:
        for _ in range(20):
            await process(name, await tasks.take("task", int))


async def looks_up_an_unknown_name(tasks, process):
    """An error of the answer's own."""
    counts = {}
    await tasks.write("task", 1)
    _, n = await tasks.take("task", int)
    await process("ann", n)
    counts["ann"] += 1
    return counts


async def does_nothing(tasks, process):
    """An empty body."""


class EqualsEverything:
    """An object that says yes to every comparison."""

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


async def returns_a_flatterer(tasks, process):
    """What is returned equals whatever one compares it with."""
    return dict.fromkeys(await with_end_markers(tasks, process), EqualsEverything())


async def waits_for_another_pattern(tasks, process):
    """Written as numbers, waited for as text."""
    await tasks.write_many([("task", n) for n in range(100)])
    await tasks.take("task", str)


async def spins(tasks, process):
    """Asks for ever, and lets no time go by."""
    while True:
        await tasks.try_take("answer")


async def never_lets_go(tasks, process):
    """A loop without any await."""
    while True:
        pass


async def prints_for_ever(tasks, process):
    """A loop that prints."""
    while True:
        print("still here")


def gives_a_value(tasks, process):
    """A plain function that gives back the counts themselves."""
    return dict.fromkeys(NAMES, 20)


async def yields(tasks, process):
    """An async generator."""
    yield dict.fromkeys(NAMES, 20)


async def takes_one_argument(tasks):
    """The second parameter is missing."""
    return {}


WRONG = [
    Wrong(hog, "not yet", "the tasks went so: ann 100; none went to ben"),
    Wrong(leaves_before_the_last_task, "not yet", "was not processed, nor were 8 others"),
    Wrong(static_split, "not yet", "nothing to do from 2 s on"),
    Wrong(reads_instead_of_taking, "not yet", "processed task 0 again"),
    Wrong(count_overwritten, "not yet", "times, and its count is"),
    Wrong(one_count_for_all, "not yet", "times, and its count is 100 (int)"),
    Wrong(says_twenty_each, "not yet", "times, and its count is 20 (int)"),
    Wrong(one_end_marker, "not yet", "waits in take for (str, ANY) in tasks"),
    Wrong(marker_that_looks_like_a_task, "not yet", "101 different ones were written, from -1 to 99"),
    Wrong(past_the_space, "not yet", "100 tasks still lay in tasks, ('task', 0) first"),
    Wrong(off_by_one, "not yet", "99 different ones were written, from 1 to 99"),
    Wrong(keeps_to_itself, "not yet", "which nobody had written"),
    Wrong(four_consumers, "not yet", "ann 25, ben 25, cid 25, dot 25."),
    Wrong(forgets_to_await_process, "not yet", "write await before process(...)"),
    Wrong(does_all_at_once, "not yet", "while it still worked on task"),
    Wrong(returns_too_early, "not yet", "was not processed, nor were"),
    Wrong(leaves_its_consumers_waiting, "not yet", "5 tasks that it had started still ran"),
    Wrong(forgets_to_return, "not yet", "it returned None"),
    Wrong(hands_over_the_tuple, "error", "needs the number of the task, an int; it got ('task', 0)"),
    Wrong(looks_up_an_unknown_name, "error", "KeyError: 'ann'"),
    Wrong(does_nothing, "proved nothing", "had neither written a task nor called process"),
    Wrong(returns_a_flatterer, "not yet", "times, and its count is"),
    Wrong(waits_for_another_pattern, "not yet", "field 2 is 0 (int), asked is str"),
    Wrong(spins, "not yet", "lets time go on: every loop in it waits somewhere"),
    Wrong(never_lets_go, "not yet", "while True:"),
    Wrong(prints_for_ever, "not yet", "lets time go on"),
    Wrong(gives_a_value, "error", "write async def gives_a_value"),
    Wrong(yields, "error", "contains yield"),
    Wrong(takes_one_argument, "error", "give takes_one_argument these parameters: (tasks, process)"),
]
