"""One picture tells a whole recovery: silence, suspicion, death, requeueing, and the late result refused."""

from __future__ import annotations

import asyncio

from tutorial_lib import (
    Crew,
    Ledger,
    Monitor,
    Task,
    TupleSpace,
    beat,
    mute,
    simulate,
    timeline_svg,
    timeline_text,
    work,
)
from tutorial_lib.recovery import Recovery, requeue_at_once


async def story() -> None:
    tasks, pulse = TupleSpace("tasks"), TupleSpace("pulse")

    async def worker(name: str) -> None:
        async with beat(pulse, name, every=1):
            while True:
                await Task.perform_next(tasks, lambda task: work(6, ("task", task.id)))

    await tasks.write(*Task.new(7))
    recovery = Recovery(tasks, [requeue_at_once], timeout=60, every=1)
    async with Crew(worker, 2), recovery, Monitor(pulse, timeout=3, every=1, on_dead=recovery.worker_died):
        await asyncio.sleep(16)


def test_a_false_death_is_told_from_the_silence_to_the_refusal():
    """Each step stands in the words below the lanes, at its moment, and in the drawing."""
    run = simulate(story, faults=[mute("w1", at=1.5)])
    told = [line.strip() for line in timeline_text(run).split("\n\n")[-1].splitlines()]
    assert told == [
        "1.5 s  w1: mute",
        "3 s  w1: suspected",
        "4 s  w1: declared dead",
        "4 s  recovery: requeues 7",
        "6 s  w1: refused",
    ]
    assert all(word in timeline_svg(run) for word in ("mute", "requeues 7", "refused"))


def test_the_account_of_a_false_death_adds_up():
    """The task is completed once, and the late finisher is counted."""
    ledger = Ledger(simulate(story, faults=[mute("w1", at=1.5)]).trace)
    assert (ledger.completed, ledger.lost, ledger.duplicated, ledger.refused) == (1, 0, 0, 1)
