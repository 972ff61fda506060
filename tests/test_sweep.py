"""Crash everybody, at every event: no task is lost, none is completed twice, and everything ends."""

from __future__ import annotations

import random

import pytest
from space_help import REPEATS
from sweep_help import CHILDREN, TASKS, main

from tutorial_lib import simulate
from tutorial_lib.faults import crash, hang
from tutorial_lib.recovery import Ledger

SEEDS = range(REPEATS)
PAIRS = 20 if REPEATS == 1 else 500


def crashes(seed):
    """One crash for each child and each moment at which it did something."""
    trace = simulate(main, seed=seed).trace
    moments = {(event.actor, event.time) for event in trace if event.actor in CHILDREN}
    return [crash(name, at=moment) for name, moment in sorted(moments)]


def trouble(seed, faults):
    """Return what went wrong under these faults, in words; empty if nothing did."""
    try:
        run = simulate(main, seed=seed, faults=faults, time_limit=300)
    except Exception as error:
        return f"{faults}, seed {seed}: {error!r}"
    ledger = Ledger(run.trace)
    has_ended = ledger.completed + ledger.dead == ledger.tasks == TASKS
    return "" if has_ended and ledger.duplicated == 0 else f"{faults}, seed {seed}:\n{ledger}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_at_any_event_costs_time_but_no_task(seed):
    """Of every worker, the monitor and the master, one at a time."""
    faults = crashes(seed)
    assert {fault.name for fault in faults} == set(CHILDREN)
    assert [said for fault in faults if (said := trouble(seed, [fault]))] == []


def test_two_crashes_at_any_events_cost_no_task():
    """Drawn at random: of the same child twice, or of two."""
    faults = crashes(0)
    draw = random.Random(0)
    pairs = [draw.sample(faults, 2) for _ in range(PAIRS)]
    assert [said for number, pair in enumerate(pairs) if (said := trouble(number, pair))] == []


def test_a_freeze_at_any_event_costs_no_task():
    """Whoever is frozen is replaced, wakes up as one too many, and does no harm."""
    faults = [hang(fault.name, at=fault.at, seconds=7) for fault in crashes(0)[::3]]
    assert [said for fault in faults if (said := trouble(0, [fault]))] == []


def test_the_crashes_of_the_sweep_do_cost_something():
    """Or else it would prove nothing: some are answered by restarts, requeued tasks and refused results."""
    faults = crashes(0)[::10]
    runs = [simulate(main, faults=[fault]) for fault in faults]
    assert sum(len(run.trace.of("restart")) for run in runs) >= len(faults) / 2
    requeued = [
        event
        for run in runs
        for event in run.trace.of("replace", actor="monitor")
        if "queued" in event.fields
    ]
    assert requeued
