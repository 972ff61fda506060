"""metrics: from two pages of counters, a minute apart, the worker that fails most."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tutorial_lib.course.answers import Answer, WrongKind, described, dispose
from tutorial_lib.course.checking import Examination, Exercise, Objection

__all__ = ["EXERCISE"]

Counters = Mapping[str, tuple[float | None, float | None]]
"""For each worker its counters of completed and failed tasks; None where there is no such series yet."""


@dataclass(frozen=True)
class Scenario:
    """Two pages, and the worker that must be named."""

    text: str
    before: Counters
    after: Counters
    failing: str


SCENARIOS: Final = (
    Scenario(
        "one worker fails half of its tasks in this minute",
        {"w1": (100.0, 0.0), "w2": (200.0, 4.0), "w3": (50.0, 1.0)},
        {"w1": (160.0, 2.0), "w2": (230.0, 34.0), "w3": (90.0, 5.0)},
        "w2",
    ),
    Scenario(
        "the slow worker has the higher share, the quick one more failures",
        {"quick": (1000.0, 100.0), "slow": (40.0, 1.0)},
        {"quick": (1600.0, 160.0), "slow": (42.0, 4.0)},
        "slow",
    ),
    Scenario(
        "one worker failed often in the past, another fails now",
        {"w1": (10.0, 900.0), "w2": (900.0, 2.0), "w3": (70.0, 70.0)},
        {"w1": (70.0, 901.0), "w2": (930.0, 12.0), "w3": (90.0, 72.0)},
        "w2",
    ),
    Scenario(
        "one worker was started again, so its counters began at 0",
        {"w1": (500.0, 20.0), "w2": (100.0, 10.0)},
        {"w1": (6.0, 4.0), "w2": (140.0, 20.0)},
        "w1",
    ),
    Scenario(
        "one worker was started again, and completed more than in all the time before",
        {"w1": (2.0, 9.0), "w2": (100.0, 10.0)},
        {"w1": (5.0, 6.0), "w2": (140.0, 20.0)},
        "w1",
    ),
    Scenario(
        "one worker is new: it has no series in the first page",
        {"w1": (100.0, 10.0)},
        {"w1": (150.0, 15.0), "w2": (4.0, 6.0)},
        "w2",
    ),
    Scenario(
        "the first failure of a worker: its series is new",
        {"w1": (100.0, 10.0), "w2": (100.0, None)},
        {"w1": (190.0, 20.0), "w2": (105.0, 3.0)},
        "w2",
    ),
    Scenario(
        "one worker does nothing, and all others fail a little",
        {"idle": (30.0, 30.0), "w1": (10.0, 0.0), "w2": (20.0, 1.0)},
        {"idle": (30.0, 30.0), "w1": (109.0, 1.0), "w2": (70.0, 3.0)},
        "w2",
    ),
    Scenario(
        "one worker has never completed anything",
        {"w1": (100.0, 50.0), "w2": (None, 2.0)},
        {"w1": (104.0, 56.0), "w2": (None, 5.0)},
        "w2",
    ),
    Scenario(
        "large counters",
        {"a": (1.0e6, 2.5e5), "b": (3.0e6, 1.0e3)},
        {"a": (1.0e6 + 1000, 2.5e5 + 20), "b": (3.0e6 + 100, 1.0e3 + 90)},
        "b",
    ),
)


def judge(examination: Examination) -> None:
    """Show both pages of every scenario; the seed decides the order of their lines."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = examination.run(scenario.text, partial(program, scenario, seed), seed=seed)
            check_name(scenario, run.result)


async def program(scenario: Scenario, seed: int, answer: Answer) -> Any:
    """Show the answer the two pages."""
    given = answer.function(page(scenario.before, seed), page(scenario.after, seed + 1))
    if inspect.isawaitable(given) or inspect.isgenerator(given):
        what = described(given)
        dispose(given)
        raise WrongKind(
            f"{answer.name}(...) gave {what}, where a name is asked for",
            f"write def {answer.name}(before, after), without async and without yield: nothing is waited "
            "for.",
        )
    return given


def page(counters: Counters, seed: int) -> str:
    """Write counters as an exporter does, in the text format of Prometheus."""
    samples: list[str] = []
    for worker, values in counters.items():
        for status, value in zip(("completed", "failed"), values, strict=True):
            labels = [f'status="{status}"', f'worker="{worker}"']
            if value is not None:
                ordered = labels if seed % 2 else labels[::-1]
                samples.append(f"tasks_total{{{','.join(ordered)}}} {value}")
    random.Random(seed).shuffle(samples)
    return "\n".join(
        [
            "# HELP python_info Python platform information",
            "# TYPE python_info gauge",
            'python_info{implementation="CPython",major="3"} 1.0',
            "# HELP tasks_total Tasks by worker and status",
            "# TYPE tasks_total counter",
            *samples,
            "# HELP tasks_created Tasks by worker and status",
            "# TYPE tasks_created gauge",
            *(f'tasks_created{{status="failed",worker="{worker}"}} 1.7e+09' for worker in counters),
            "# HELP queue_length Tasks that wait",
            "# TYPE queue_length gauge",
            "queue_length 17.0",
            "",
        ]
    )


def check_name(scenario: Scenario, given: Any) -> None:
    """The worker with the highest share of failures in this minute is named."""
    if type(given) is str and given == scenario.failing:
        return
    what = described(given)
    dispose(given)
    shares = [
        f"{worker} {failed:g} of {all_:g}"
        for worker, failed, all_ in minutes(scenario.before, scenario.after)
    ]
    raise Objection(
        "the answer is the worker whose share of failed tasks, in this minute, is the highest.",
        f"failed of all in this minute: {', '.join(shares)}. So it is {scenario.failing!r}; the answer gave "
        f"{what}.",
        "for each series: how much was added in this minute? A counter that fell began again at 0.",
    )


def minutes(before: Counters, after: Counters) -> Sequence[tuple[str, float, float]]:
    """Return for each worker how many tasks failed in this minute, and how many there were in all."""
    found = []
    for worker, values in after.items():
        completed, failed = (
            added(old, new) for old, new in zip(before.get(worker, (None, None)), values, strict=True)
        )
        found.append((worker, failed, completed + failed))
    return found


def added(old: float | None, new: float | None) -> float:
    """Return by how much a counter rose. One that is missing stands at 0, one that fell began again at 0."""
    start, end = old or 0.0, new or 0.0
    return end - start if end >= start else end


EXERCISE: Final = Exercise(
    id="metrics",
    lesson="07_errors",
    signature="def failing_worker(before, after)  ->  the name of a worker",
    task=(
        "before and after are two pages of an exporter, a minute apart, with counters such as "
        'tasks_total{status="failed",worker="w1"} 12.0; status is "completed" or "failed", and labels may '
        "stand in any order. Return the name of the worker with the highest share of failed tasks in this "
        "minute: failed by all that it did. A counter that fell began again at 0 in between; a series that "
        "is missing stands at 0. A worker that did nothing is never the answer, and there are no ties."
    ),
    why="a counter only tells what was added since; a share compares workers that do not do equally much.",
    hints=(
        "A worker that failed 900 times last year and never since: what do its counters say, and what do "
        "their differences say?",
        "Who is worse: one that failed 60 of 660, or one that failed 3 of 5? What do you do about a worker "
        "that did nothing at all?",
        "Read each page into a dictionary from (worker, status) to a number. For each key of the second page "
        "take new - old, with 0 for a missing old one, and new alone if it is smaller. Then compare failed / "
        "(failed + completed) of those who did anything.",
    ),
    judge=judge,
    arguments=("before", "after"),
)
