"""detector: who is dead?"""

from __future__ import annotations

import asyncio

from answers import Wrong
from tutorial_lib import ANY
from tutorial_lib.course import NotAttempted
from tutorial_lib.heartbeat import Monitor


async def stub(space, members, report):
    """Report every dead member in time, and no living one."""
    raise NotAttempted


def now():
    """The running loop is the clock."""
    return asyncio.get_running_loop().time()


# Right answers ---------------------------------------------------------------------------------------


async def looks_at_the_newest(space, members, report):
    """Reads all beats twice a second."""
    last = dict.fromkeys(members, now())
    while last:
        for _, name, time in await space.read_all("heartbeat", str, float):
            if name in last:
                last[name] = max(last[name], time)
        for name in [name for name in last if now() - last[name] > 3.2]:
            print(name, "is dead")
            del last[name]
            await report(name)
        await asyncio.sleep(0.5)


async def a_watchman_for_each(space, members, report):
    """Takes beat after beat of one member, until none comes for too long."""

    async def watch(name):
        try:
            while True:
                await space.take("heartbeat", name, ANY, timeout=3.5)
        except TimeoutError:
            await report(name)

    await asyncio.gather(*(watch(name) for name in members))


class Station:
    """Counts the looks without a new beat."""

    def __init__(self, members):
        self.seen = dict.fromkeys(members)
        self.silent_looks = dict.fromkeys(members, 0)

    async def look(self, space):
        """Return those who have been silent for seven looks."""
        newest = {}
        for _, name, time in await space.take_all("heartbeat", ANY, ANY):
            newest[name] = time
        for name in self.silent_looks:
            self.silent_looks[name] = 0 if name in newest else self.silent_looks[name] + 1
        return [name for name, looks in self.silent_looks.items() if looks >= 7]


async def counts_silent_looks(space, members, report):
    """Every half second, takes what is there; goes on for ever."""
    station = Station(members)
    while True:
        for name in await station.look(space):
            del station.silent_looks[name]
            await report(name)
        await asyncio.sleep(0.5)


async def follows_the_events(space, members, report):
    """One timer for each member, set anew by each beat."""
    loop = asyncio.get_running_loop()
    due = asyncio.Queue()
    timers = {name: loop.call_later(4.9, due.put_nowait, name) for name in members}

    async def listen():
        async with space.watch("heartbeat", ANY, ANY) as events:
            async for event in events:
                name = event.fields[1]
                if event.kind in ("write", "replace") and timers[name].when() > now():
                    timers[name].cancel()
                    timers[name] = loop.call_later(4.9, due.put_nowait, name)

    listener = asyncio.create_task(listen())
    for _ in members:
        await report(await due.get())
    listener.cancel()


RIGHT = [looks_at_the_newest, a_watchman_for_each, counts_silent_looks, follows_the_events]


# Wrong answers ---------------------------------------------------------------------------------------


def watchman(limit, every=0.5, first=None, repeats=False, only_seen=False):
    """Make a monitor with a limit of silence, a pause between looks, and one more fault."""

    async def answer(space, members, report):
        start = now() if first is None else first
        last = {} if only_seen else dict.fromkeys(members, start)
        while True:
            for _, name, time in await space.read_all("heartbeat", str, float):
                last[name] = max(last.get(name, 0), time)
            for name in list(last):
                if last[name] != float("inf") and now() - last[name] > limit:
                    await report(name)
                    last[name] = last[name] if repeats else float("inf")
            await asyncio.sleep(every)

    return answer


def named(name, answer):
    """Give an answer a name."""
    answer.__name__ = name
    return answer


async def looks_at_the_oldest(space, members, report):
    """try_read gives the oldest beat, and beats accumulate."""
    start = now()
    reported = set()
    while True:
        for name in set(members) - reported:
            beat = await space.try_read("heartbeat", name, ANY)
            if now() - (beat[2] if beat else start) > 3.5:
                reported.add(name)
                await report(name)
        await asyncio.sleep(0.5)


async def reports_whoever_is_not_there(space, members, report):
    """At the first look nobody has beaten yet."""
    reported = set()
    while True:
        seen = {name for _, name, _ in await space.read_all("heartbeat", ANY, ANY)}
        for name in set(members) - seen - reported:
            reported.add(name)
            await report(name)
        await asyncio.sleep(4)


async def stops_after_the_first(space, members, report):
    """One report, and home."""
    last = dict.fromkeys(members, now())
    while True:
        for _, name, time in await space.read_all("heartbeat", str, float):
            last[name] = max(last[name], time)
        for name in members:
            if now() - last[name] > 3.5:
                await report(name)
                return
        await asyncio.sleep(0.5)


async def forgets_await(space, members, report):
    """report is called, and nothing is reported."""
    last = dict.fromkeys(members, now())
    while last:
        for _, name, time in await space.read_all("heartbeat", str, float):
            if name in last:
                last[name] = max(last[name], time)
        for name in [name for name in last if now() - last[name] > 3.2]:
            del last[name]
            report(name)
        await asyncio.sleep(0.5)
    await asyncio.sleep(100)


async def reports_the_tuple(space, members, report):
    """A whole beat in place of a name."""
    await report(await space.take("heartbeat", ANY, ANY))


async def looks_without_a_pause(space, members, report):
    """Virtual time stands still."""
    while True:
        await space.read_all("heartbeat", ANY, ANY)


async def sleeps(space, members, report):
    """Nothing is looked at."""
    await asyncio.sleep(1000)


async def uses_our_monitor(space, members, report):
    """The part that the exercise asks to build."""
    async with Monitor(space, timeout=3.2, every=0.5, expect=members):
        await looks_at_the_newest(space, members, report)


async def one_beat_a_look(space, members, report):
    """Takes the oldest beat of each member at every look, so it falls behind."""
    last = dict.fromkeys(members, now())
    while last:
        for name in list(last):
            beat = await space.try_take("heartbeat", name, ANY)
            if beat:
                last[name] = beat[2]
            if now() - last[name] > 3:
                await report(name)
                del last[name]
        await asyncio.sleep(1.2)


WRONG = [
    Wrong(named("too_hasty", watchman(2.0)), "not yet", "s after its last"),
    Wrong(
        named("a_lost_beat_is_death", watchman(2.7, 0.05)),
        "not yet",
        "s after its last",
    ),
    Wrong(
        named("too_patient", watchman(6.0)),
        "not yet",
        "the last sign of m5 was the start, at 0 s, and at 5 s it was not reported",
    ),
    Wrong(named("looks_too_rarely", watchman(3.0, every=3.5)), "not yet", "it was not reported"),
    Wrong(named("takes_the_clock_to_begin_at_0", watchman(3.5, first=0.0)), "not yet", "a year later"),
    Wrong(named("again_and_again", watchman(3.2, repeats=True)), "not yet", "and again at"),
    Wrong(
        named("sees_only_who_has_beaten", watchman(3.2, only_seen=True)),
        "not yet",
        "the last sign of m5 was the start",
    ),
    Wrong(one_beat_a_look, "not yet", "every beat comes in time"),
    Wrong(looks_at_the_oldest, "not yet", "and it was alive"),
    Wrong(reports_whoever_is_not_there, "not yet", "at 0 s m"),
    Wrong(stops_after_the_first, "not yet", "it returned, and m1 was not reported yet"),
    Wrong(forgets_await, "not yet", "write await before report(...)"),
    Wrong(reports_the_tuple, "error", "report(name) needs the name of a member"),
    Wrong(looks_without_a_pause, "not yet", "lets time go on: every loop in it waits somewhere"),
    Wrong(sleeps, "not yet", "the last sign of m5 was the start"),
    Wrong(uses_our_monitor, "not yet", "Monitor did the work"),
]
