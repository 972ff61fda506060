"""detector: a monitor that reports every dead member in time, and no living one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from tutorial_lib.course.answers import Answer
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.course.instruments import now, record
from tutorial_lib.faults import Crash, crash
from tutorial_lib.heartbeat import Monitor
from tutorial_lib.patterns import ANY
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Event, Trace, actor

__all__ = ["EXERCISE"]

PERIOD: Final = 1.0  # seconds between two beats
LATE: Final = 0.8  # seconds that a beat may be late
WITHIN: Final = 5.0  # seconds after the last beat in which a dead member must be reported
GRACE: Final = 2e-6  # seconds; a timer is exact to a microsecond
LENGTH: Final = 26.0  # seconds that a scenario lasts
YEAR: Final = 31_536_000.0  # seconds


class Beat(NamedTuple):
    """One beat of a member: how late it is, and whether it gets lost."""

    late: float
    is_lost: bool


@dataclass(frozen=True)
class Scenario:
    """Who dies when, how the beats come, and when the clock begins."""

    text: str
    plan: Callable[[int, int], Sequence[Beat]]
    """The beats of a member, from the seed and the number of the member."""
    members: int
    deaths: dict[int, float]
    """The second, from the beginning, at which the member of this number crashes; 0 if it never began."""
    replaces: bool = False
    begin: float = 0.0

    @property
    def names(self) -> list[str]:
        """The names of all members."""
        return [f"m{number}" for number in range(1, self.members + 1)]

    @property
    def silent(self) -> set[str]:
        """The members that never beat."""
        return {f"m{number}" for number, second in self.deaths.items() if second == 0}

    @property
    def faults(self) -> list[Crash]:
        """The crashes, as faults of the run."""
        return [crash(f"m{n}", at=self.begin + second) for n, second in self.deaths.items() if second > 0]


def worst(seed: int, number: int) -> Sequence[Beat]:
    """On time, lost, as late as can be: 2.8 s without a beat, again and again."""
    return [Beat(0.0, False), Beat(0.0, True), Beat(LATE, False)] * 20


def by_chance(seed: int, number: int) -> Sequence[Beat]:
    """Late and lost as the seed decides, and never two lost in a row."""
    chance = random.Random(100 * seed + number)
    beats: list[Beat] = []
    for _ in range(60):
        may_be_lost = not beats or not beats[-1].is_lost
        beats.append(Beat(round(chance.uniform(0, LATE), 3), may_be_lost and chance.random() < 0.3))
    return beats


def punctual(seed: int, number: int) -> Sequence[Beat]:
    """Every beat in time, and none lost: as many beats as there can be."""
    return [Beat(0.0, False)] * 60


SCENARIOS: Final = (
    Scenario("5 members, m2 crashes, m5 never beats, beats accumulate", worst, 5, {2: 8.3, 5: 0}),
    Scenario("5 members, three crash, beats are replaced", by_chance, 5, {1: 0.4, 3: 12.75, 4: 12.8}, True),
    Scenario("3 members, all crash, beats accumulate", by_chance, 3, {1: 3.1, 2: 9.9, 3: 16.2}),
    Scenario("2 members, m1 crashes, every beat comes in time", punctual, 2, {1: 20.4}),
    Scenario(
        "4 members, m3 crashes, m4 never beats, a year later", by_chance, 4, {3: 11.6, 4: 0}, True, YEAR
    ),
)


def judge(examination: Examination) -> None:
    """Run every scenario in every order of events."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            examination.run(
                scenario.text,
                partial(program, scenario, seed),
                seed=seed,
                faults=scenario.faults,
                invariants=partial(check_reports, scenario),
                time_limit=scenario.begin + 100.0,
            )


async def program(scenario: Scenario, seed: int, answer: Answer) -> None:
    """Let the members beat and crash under the eyes of the monitor."""
    space = TupleSpace("space")
    reported: list[str] = []

    async def report(name: str) -> None:
        if name not in scenario.names:
            raise ValueError(f"report(name) needs the name of a member, of {scenario.names}; it got {name!r}")
        reported.append(name)
        with actor(name):
            record("dead", name, by="monitor", reported=True)

    await asyncio.sleep(scenario.begin)
    record("note", text="the monitor begins")
    hearts = []
    for number, name in enumerate(scenario.names, start=1):
        if name not in scenario.silent:
            beats = scenario.plan(seed, number)
            heart = beat(space, name, beats, scenario.replaces, 0.17 * number)
            hearts.append(asyncio.create_task(heart, name=name))
    monitor = asyncio.create_task(answer(space, scenario.names, report), name="monitor")
    await asyncio.wait([monitor], timeout=LENGTH)
    record("note", text="the run is over")  # by now every dead member should have been reported
    if monitor.done():
        await monitor
        missing = [name for name in scenario.names if name not in reported]
        if missing:
            raise Objection(
                "the monitor goes on as long as there is a member that is not reported.",
                f"at {clock(now())} it returned, and {missing[0]} was not reported yet.",
                "go on looking; only when all are reported there is nothing left to do.",
                at=now(),
            )


async def beat(space: TupleSpace, name: str, beats: Sequence[Beat], replaces: bool, phase: float) -> None:
    """Be a member: beat once a second, as the plan says."""
    begin = now() + phase
    for number, planned in enumerate(beats):
        await asyncio.sleep(begin + number * PERIOD + planned.late - now())
        if planned.is_lost:
            continue
        record("beat", name)
        if replaces:
            await space.replace(("heartbeat", name, ANY), ("heartbeat", name, now()), insert=True)
        else:
            await space.write("heartbeat", name, now())


def check_reports(scenario: Scenario, trace: Trace) -> None:
    """Every report is true and the only one of its member, and no dead member waits for it too long."""
    last_sign: dict[str, float] = dict.fromkeys(scenario.names, scenario.begin)
    dead = dict.fromkeys(scenario.silent, scenario.begin)
    reports: dict[str, Event] = {}
    for event in trace:
        check_none_missed(event.time, last_sign, dead, reports)
        if event.kind == "beat":
            last_sign[event.actor] = event.time
        elif event.kind == "crash":
            dead[event.actor] = event.time
        elif event.kind == "dead" and "reported" in event.detail:
            check_report(event, last_sign[event.actor], dead, reports.get(event.actor))
            reports[event.actor] = event


def check_report(event: Event, last_sign: float, dead: dict[str, float], earlier: Event | None) -> None:
    """Object to a second report, and to one of a living member."""
    name = event.actor
    if earlier is not None:
        raise Objection(
            "each member is reported once.",
            f"{name} was reported at {clock(earlier.time)}, and again at {clock(event.time)}.",
            "remember whom you have reported.",
            at=event.time,
        )
    if name not in dead:
        raise Objection(
            "no living member is reported: a beat may be 0.8 s late, and one may be lost.",
            f"at {clock(event.time)} {name} was reported, {clock(event.time - last_sign)} after its last "
            "beat, and it was alive.",
            "how long can it take from one beat to the next if one is lost and the other late? Before the "
            "first beat, count from the start.",
            at=event.time,
        )


def check_none_missed(
    time: float, last_sign: dict[str, float], dead: dict[str, float], reports: dict[str, Event]
) -> None:
    """Object if a dead member should have been reported by ``time``."""
    for name in dead:
        deadline = last_sign[name] + WITHIN
        if name not in reports and time > deadline + GRACE:
            sign = "the start" if last_sign[name] == dead[name] else "a beat"
            raise Objection(
                f"a dead member is reported within {clock(WITHIN)} of its last beat, or of the start if it "
                "never beat.",
                f"the last sign of {name} was {sign}, at {clock(last_sign[name])}, and at {clock(deadline)} "
                "it was not reported.",
                "silence plus the time between two looks must stay under 5 s; and the list of members tells "
                "who should be there.",
                at=deadline,
            )


EXERCISE: Final = Exercise(
    id="detector",
    lesson="04_heartbeats",
    signature="async def monitor(space, members, report)",
    task=(
        'Each living member writes ("heartbeat", name, time) every second of loop.time(), up to 0.8 s late; '
        "one beat may be lost, never two in a row. Beats may accumulate in the space or replace each other, "
        "and you may take them. Await report(name) for each member that is dead: once, within 5 s of its "
        "last beat; one that never beats, within 5 s of the start. Never report a living member. A reported "
        "member does not return. You may end when all are reported."
    ),
    why="the limit is above 2.8 s, the longest silence of the living, and the looks keep it under 5 s.",
    hints=(
        "A beat comes in time, the next is lost, the one after that is 0.8 s late. How long is the silence? "
        "How much longer may you wait at most?",
        "How do you notice a member that has never beaten? And what is its last beat, for your clock?",
        "Keep the moment of the last beat for each member, from the start of the monitor. A few times a "
        "second, look for newer beats, and report whoever has been silent for more than 3 s, once.",
    ),
    judge=judge,
    arguments=("space", "members", "report"),
    off_limits=(Monitor,),
)
