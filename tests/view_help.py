"""Traces for the tests of the pictures: written by hand, and of small programs."""

from __future__ import annotations

import asyncio
from typing import Any
from xml.etree import ElementTree

from tutorial_lib import Trace, TupleSpace
from tutorial_lib.crew import Crew, work
from tutorial_lib.faults import crash, hire, slow
from tutorial_lib.heartbeat import Monitor, beat
from tutorial_lib.simulation import Run, simulate


def story(*steps: tuple[Any, ...]) -> Trace:
    """Return the trace of these steps: time, actor, kind, and where needed fields, space, detail."""
    trace = Trace()
    for time, actor, kind, *rest in steps:
        fields, space, detail = [*rest, *((), "", {})[len(rest) :]]
        trace.record(kind, actor=actor, time=time, fields=fields, space=space, detail=detail)
    return trace


async def three_workers() -> None:
    """Let three workers do fourteen tasks that a producer writes."""
    tasks, results = TupleSpace("tasks"), TupleSpace("results")

    async def worker(name: str) -> None:
        while True:
            task = await tasks.take("task", int)
            await work(0.6 + 0.3 * (task[1] % 4), task)
            await results.write("result", task[1], task[1] ** 2)

    async with Crew(worker, 3):
        for number in range(1, 15):
            await tasks.write("task", number)
            await asyncio.sleep(0.25)
        await results.read("result", 14, int)


def busy_run() -> Run:
    """Return a run in which a worker crashes, one is hired and one slows down."""
    return simulate(
        three_workers, faults=[crash("w2", at=2.5), hire("w4", at=3.2), slow("w1", at=4, factor=3)]
    )


async def watched_workers() -> None:
    """Let two workers beat while they work, watched by a monitor."""
    space = TupleSpace("beats")

    async def worker(name: str) -> None:
        async with beat(space, name, every=1):
            while True:
                await work(2.3, ("task", 1))

    async with Crew(worker, 2), Monitor(space, timeout=3, every=1):
        await asyncio.sleep(14)


def texts_of(svg: str) -> list[str]:
    """Return all that is written in a picture."""
    root = ElementTree.fromstring(svg)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
