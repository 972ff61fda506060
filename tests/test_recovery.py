"""Recovery and Ledger: no task is lost, none is finished twice, and the account shows it."""

from __future__ import annotations

import asyncio

import pytest
from space_help import settle, simulated

from tutorial_lib import StaleClaim, TupleSpace, actor, simulate
from tutorial_lib.crew import Crew, work
from tutorial_lib.faults import crash, hang, mute
from tutorial_lib.heartbeat import Monitor, beat
from tutorial_lib.recovery import (
    Answer,
    Case,
    Ledger,
    Recovery,
    bury_after,
    requeue_after_timeout,
    requeue_at_once,
)
from tutorial_lib.tasks import State, Task
from tutorial_lib.trace import Trace, current_trace

TIMEOUT = 6.0
ALL_POLICIES = (bury_after(3), requeue_at_once, requeue_after_timeout)


def case(state="running", attempt=1, outcome=None, **known):
    task = Task("task", 7, state, attempt, "w1", 0.0, (), outcome)
    return Case(task, **known)


async def only_task(space):
    (fields,) = await space.read_all(*Task.pattern())
    return Task(*fields)


async def started_task(space, worker="w1"):
    await space.write(*Task.new(7))
    with actor(worker):
        return await Task.next(space)


def recovery(space, *policies, **options):
    return Recovery(space, policies, **{"timeout": TIMEOUT, "every": 1, **options})


# Policies


@pytest.mark.parametrize(
    ("policy", "answers"),
    [
        (requeue_at_once, {"nothing": None, "failed": "requeue", "dead": "requeue", "overdue": None}),
        (requeue_after_timeout, {"nothing": None, "failed": None, "dead": None, "overdue": "requeue"}),
        (bury_after(2), {"nothing": None, "failed": None, "dead": None, "overdue": None}),
        (bury_after(1), {"nothing": None, "failed": "bury", "dead": "bury", "overdue": "bury"}),
    ],
)
def test_what_each_policy_answers(policy, answers):
    """A task that runs in good health is left alone by all of them."""
    cases = {
        "nothing": case(),
        "failed": case("failed"),
        "dead": case(worker_is_dead=True),
        "overdue": case(is_overdue=True),
    }
    expected = {name: answer and Answer(answer) for name, answer in answers.items()}
    assert {name: policy(each) for name, each in cases.items()} == expected


def test_bury_after_three_lets_a_task_run_exactly_three_times():
    """The end of the third run is the end."""
    policy = bury_after(3)
    answers = [policy(case("failed", attempt=attempt)) for attempt in (1, 2, 3, 4)]
    assert answers == [None, None, Answer.BURY, Answer.BURY]


@pytest.mark.parametrize(
    ("attempts", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), (1.5, TypeError)]
)
def test_bury_after_refuses_a_number_that_makes_no_sense(attempts, error):
    """Zero attempts would bury what was never tried."""
    with pytest.raises(error, match="attempt"):
        bury_after(attempts)


# Recovery


@simulated
async def test_a_failed_task_is_requeued_at_once():
    """At the next look, with its attempts."""
    space = TupleSpace()
    task = await started_task(space)
    async with recovery(space, requeue_at_once):
        await asyncio.sleep(0.5)
        await task.fail(space, "no paper")
        await asyncio.sleep(1)
        assert (await only_task(space))[2:4] == ("queued", 1)


@simulated
async def test_a_task_that_runs_too_long_is_requeued_after_the_timeout():
    """Not before, and within one look of it; the late result is refused."""
    space = TupleSpace()
    task = await started_task(space)
    async with recovery(space, requeue_after_timeout):
        await asyncio.sleep(TIMEOUT - 0.1)
        assert (await only_task(space)).state == "running"
        await asyncio.sleep(0.2)
        assert (await only_task(space)).state == "queued"
        assert await task.complete(space, 42) is None
    assert Ledger(current_trace()).refused == 1


@simulated
async def test_the_timeout_counts_from_the_start_of_each_run():
    """A second run has all of it again."""
    space = TupleSpace()
    await started_task(space)
    async with recovery(space, requeue_after_timeout):
        await asyncio.sleep(TIMEOUT + 0.5)
        await Task.next(space, timeout=0)
        await asyncio.sleep(TIMEOUT - 1)
        assert (await only_task(space))[2:4] == ("running", 2)


@simulated
async def test_tasks_of_a_dead_worker_are_requeued_when_it_is_reported():
    """At once, not at the next look; those of others and those that it starts later are left alone."""
    space = TupleSpace()
    await started_task(space, "w1")
    async with recovery(space, requeue_at_once, every=100) as looking:
        await asyncio.sleep(1)
        await looking.worker_died("w2")
        assert (await only_task(space)).state == "running"
        await looking.worker_died("w1")
        assert (await only_task(space)).state == "queued"
        await asyncio.sleep(1)
        with actor("w1"):
            await Task.next(space)
        await looking.look()
        assert (await only_task(space))[2:5] == ("running", 2, "w1")


@simulated
async def test_the_first_answer_wins():
    """The order of the policies is their rank."""
    for policies, state in [
        ((bury_after(1), requeue_at_once), "dead"),
        ((requeue_at_once, bury_after(1)), "queued"),
        ((lambda case: None, requeue_at_once), "queued"),
        ((), "failed"),
    ]:
        space = TupleSpace()
        await (await started_task(space)).fail(space, "no paper")
        async with recovery(space, *policies):
            await settle()
        assert (await only_task(space)).state == state


@simulated
async def test_a_buried_task_tells_the_attempt_and_the_reason():
    """For those who look into the dead letters: an error, a death, or a silence."""
    reasons = []
    for trouble in ("error", "death", "silence"):
        space = TupleSpace()
        task = await started_task(space)
        async with recovery(space, bury_after(1)) as looking:
            if trouble == "error":
                await task.fail(space, "no paper")
            elif trouble == "death":
                await looking.worker_died("w1")
            await asyncio.sleep(TIMEOUT + 1)
        reasons.append((await only_task(space)).outcome)
    assert reasons == ["attempt 1: no paper", "attempt 1: w1 died", "attempt 1: no result in time"]


@simulated
async def test_crashes_count_as_attempts():
    """A task that kills its workers is buried after the third, although none of them could say so."""
    space = TupleSpace()
    await space.write(*Task.new(7))
    async with recovery(space, *ALL_POLICIES) as looking:
        for name in ("w1", "w2", "w3"):
            with actor(name):
                await Task.next(space, timeout=0)
            await looking.worker_died(name)
        assert (await only_task(space))[2:4] == ("dead", 3)


@simulated
async def test_a_task_that_was_finished_in_the_meantime_is_not_undone():
    """Between the look at it and the step, its worker comes to the end."""

    class SlowSpace(TupleSpace):
        async def read_all(self, *pattern):
            seen = await super().read_all(*pattern)
            await asyncio.sleep(1)
            return seen

    space = SlowSpace()
    task = await started_task(space)
    await asyncio.sleep(TIMEOUT)
    async with recovery(space, requeue_after_timeout):
        await asyncio.sleep(0.5)
        assert await task.complete(space, 42)
        await asyncio.sleep(5)
    assert Task(*await space.read(*Task.pattern())).state == "completed"
    assert Ledger(current_trace()).duplicated == 0


def test_a_recovery_that_crashed_and_is_started_again_goes_on():
    """All it needs is in the space."""

    async def main():
        space = TupleSpace()
        await started_task(space)
        async with recovery(space, requeue_after_timeout):
            await asyncio.sleep(5)
        async with recovery(space, requeue_after_timeout):
            await asyncio.sleep(5)
        return (await only_task(space)).state

    assert simulate(main, faults=[crash("recovery", at=2)]).result == "queued"


@simulated
async def test_an_error_in_a_policy_ends_the_block():
    """Nobody would look after the tasks any more."""
    space = TupleSpace()
    await (await started_task(space)).fail(space, "no paper")
    with pytest.raises(ZeroDivisionError):
        async with recovery(space, lambda case: 1 / 0):
            await asyncio.sleep(10)


@simulated
async def test_leaving_the_block_ends_the_looking():
    """No task is left, and it can be entered again, but not twice at once."""
    looking = recovery(TupleSpace(), requeue_at_once)
    for _ in range(2):
        async with looking:
            with pytest.raises(RuntimeError, match="at work already"):
                await looking.__aenter__()
            await asyncio.sleep(1)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout": 0}, ValueError),
        ({"timeout": None}, TypeError),
        ({"every": 0}, ValueError),
        ({"every": "1"}, TypeError),
        ({"policies": ["requeue"]}, TypeError),
        ({"policies": 3}, TypeError),
    ],
)
def test_a_recovery_refuses_what_makes_no_sense(options, error):
    """At the line that makes it."""
    with pytest.raises(error):
        Recovery(TupleSpace(), **{"policies": ALL_POLICIES, "timeout": 5, "every": 1, **options})


# Workers, monitor and recovery together


def hospital(*, tasks=10, size=3, until=100, policies=ALL_POLICIES, poison=()):
    """A program with workers that beat, a monitor that tells the recovery, and tasks of two seconds."""

    async def main():
        space = TupleSpace()

        async def process(task):
            await work(2, task.id)
            if task.id in poison:
                raise ValueError("poison")

        async def worker(name):
            async with beat(space, name, every=1):
                while True:
                    await Task.perform_next(space, process)

        for number in range(tasks):
            await space.write(*Task.new(number))
        looking = Recovery(space, policies, timeout=TIMEOUT, every=1)
        monitor = Monitor(space, timeout=3, every=1, on_dead=looking.worker_died)
        async with Crew(worker, size), looking, monitor:
            await asyncio.sleep(until)
        return {state: len(await space.read_all(*Task.pattern(state=state))) for state in State}

    return main


def test_crash_silence_suspicion_requeue_and_the_end_of_the_task():
    """The whole story of one crash, in the order of the trace."""
    run = simulate(hospital(tasks=3, size=2), faults=[crash("w1", at=1)])
    story = [
        event.kind
        for event in run.trace
        if event.kind in ("crash", "suspect", "dead")
        or (event.kind == "replace" and event.fields[:3] in [("task", 0, "queued"), ("task", 0, "completed")])
    ]
    assert story == ["crash", "suspect", "dead", "replace", "replace"]
    assert run.result["completed"] == 3


@pytest.mark.parametrize("fault", [mute("w1", at=0), hang("w1", at=1, seconds=20)])
def test_the_result_of_a_worker_that_was_taken_for_dead_is_refused(fault):
    """It was only muted or frozen; its task was given to another, and its own result comes too late."""
    run = simulate(hospital(tasks=6, policies=(requeue_at_once,)), faults=[fault])
    assert Ledger(run.trace).numbers() == (6, 6, 0, 0, 0, 0, 1)


def test_a_poison_task_ends_as_a_dead_letter_after_three_runs():
    """The others are not held up by it."""
    run = simulate(hospital(poison={4}))
    ledger = Ledger(run.trace)
    assert (ledger.completed, ledger.dead) == (9, 1)
    assert ledger.endings[4] == "dead"
    assert len([event for event in run.trace.of("start") if event.fields == (4,)]) == 3


@pytest.mark.parametrize("at", [0, 0.5, 1, 2, 3, 3.5, 4])
def test_a_worker_that_crashes_at_any_time_loses_no_task(at):
    """All ten are completed, once."""
    run = simulate(hospital(), faults=[crash("w2", at=at)])
    assert Ledger(run.trace).numbers() == (10, 10, 0, 0, 0, 0, 0)
    assert run.result["completed"] == 10


# Ledger


def recorded(*steps):
    """Return a trace of (kind, fields) or (kind, fields, detail)."""
    trace = Trace()
    for kind, fields, *detail in steps:
        trace.record(kind, fields=fields, detail=detail[0] if detail else {})
    return trace


@pytest.mark.parametrize(
    ("steps", "ending"),
    [
        ([("write", ("task", 1))], "waiting"),
        ([("write", ("task", 1)), ("take", ("task", 1))], "lost"),
        ([("write", ("task", 1)), ("take", ("task", 1)), ("release", ("task", 1))], "waiting"),
        ([("write", ("task", 1)), ("expire", ("task", 1))], "lost"),
        ([("write", ("task", 1)), ("take", ("task", 1)), ("write", ("task", 1))], "waiting"),
        ([("write", ("task", 1)), ("take", ("task", 1)), ("write", ("result", 1, None))], "completed"),
        ([("write", ("task", 1)), ("take", ("task", 1)), ("write", ("dead", 1, "why"))], "dead"),
        ([("write", ("task", 1)), ("take", ("task", 1)), ("write", ("result", 1, "failed", "why"))], "dead"),
        (
            [("write", ("task", 1)), ("take", ("task", 1)), ("write", ("result", 1, "completed", 2))],
            "completed",
        ),
        ([("write", ("task", 1)), ("claim", ("task", 1))], "waiting"),
        ([("write", ("task", 1)), ("claim", ("task", 1)), ("lapse", ("task", 1))], "waiting"),
        ([("write", ("task", 1)), ("claim", ("task", 1)), ("complete", ("task", 1))], "completed"),
        ([("write", ("task", 1)), ("claim", ("task", 1)), ("bury", ("task", 1))], "dead"),
        ([("write", ("task", 1, "queued")), ("take", ("task", 1, "queued"))], "lost"),
        ([("write", ("task", 1, "queued")), ("write", ("task", 1, "completed", 5))], "completed"),
        (
            [("write", Task.new(1)), ("replace", Task.new(1)._replace(state="running"), {"old": ()})],
            "waiting",
        ),
        ([("write", Task.new(1)), ("replace", Task.new(1)._replace(state="dead"), {"old": ()})], "dead"),
        ([("write", ("task", 1)), ("replace", ("other", 1), {"old": ("task", 1)})], "lost"),
    ],
)
def test_every_task_ends_exactly_once(steps, ending):
    """As the trace tells, whatever way the program works."""
    ledger = Ledger(recorded(*steps))
    assert ledger.endings == {1: ending}
    assert sum(ledger.numbers()[1:5]) == ledger.tasks == 1
    assert ledger.duplicated == ledger.refused == 0


def test_a_completion_that_shows_in_several_ways_counts_once():
    """A claim that is completed by a result, in another space or in the same."""
    ledger = Ledger(
        recorded(
            ("write", ("task", 1)),
            ("claim", ("task", 1)),
            ("complete", ("task", 1)),
            ("write", ("result", 1, 42)),
        )
    )
    assert (ledger.completed, ledger.duplicated) == (1, 0)


def test_a_claim_completed_with_a_failure_is_no_completed_task():
    """The worker answered, but could not do it."""
    ledger = Ledger(
        recorded(
            ("write", ("task", 1)),
            ("claim", ("task", 1)),
            ("complete", ("task", 1)),
            ("write", ("result", 1, "failed", "no paper")),
        )
    )
    assert (ledger.completed, ledger.dead, ledger.duplicated) == (0, 1, 0)


@pytest.mark.parametrize(
    ("steps", "duplicated"),
    [
        ([("result", 1, 1), ("result", 1, 1)], 1),
        ([("result", 1, 1), ("result", 1, 2), ("result", 1, 3)], 2),
        ([("task", 1, "completed"), ("task", 1, "queued"), ("task", 1, "completed")], 1),
        ([("task", 1, "dead"), ("result", 1, 1)], 1),
        ([("dead", 1, "why"), ("dead", 1, "why")], 0),
    ],
)
def test_ends_beyond_the_first_are_counted_as_duplicated(steps, duplicated):
    """Two results, an undone completion, or both a result and a dead letter."""
    ledger = Ledger(recorded(("write", ("task", 1)), *[("write", fields) for fields in steps]))
    assert ledger.duplicated == duplicated


def test_tuples_that_are_no_tasks_are_left_out():
    """Heartbeats, answers to nobody, short and strange tuples."""
    strange = [("task",), ("heartbeat", "w1", 1.0), ("result", 9, 1), (3, 4), (["task"], 1), ("result",)]
    ledger = Ledger(recorded(("write", ("task", [1])), *[("write", fields) for fields in strange]))
    assert ledger.endings == {"[1]": "waiting"}


def test_tasks_may_have_another_name():
    """Each stage of a pipeline has an account of its own."""
    trace = recorded(("write", ("image", 1)), ("write", ("thumbnail", 1)))
    assert Ledger(trace, kind="image").tasks == 1


def test_a_ledger_can_be_made_from_a_saved_trace(tmp_path):
    """Its tuples come back as tuples."""
    trace = simulate(hospital(tasks=2, until=10), faults=[crash("w1", at=1)]).trace
    trace.save(tmp_path / "run.jsonl")
    assert Ledger(Trace.load(tmp_path / "run.jsonl")).numbers() == Ledger(trace).numbers()


# Four ways to work, under the same crashes


def workshop(worker_of, *, with_recovery=False):
    """Six tasks and three workers: w1 crashes in its first task, and w2 freezes in its own."""

    async def main():
        tasks, results, effects = TupleSpace("tasks"), TupleSpace("results"), TupleSpace("effects")
        for number in range(6):
            await tasks.write(*(Task.new(number) if with_recovery else ("task", number)))
        looking = Recovery(tasks, ALL_POLICIES, timeout=5, every=1)
        async with looking, Crew(worker_of(tasks, results, effects), 3):
            await asyncio.sleep(60)
        return await effects.count()

    run = simulate(main, faults=[crash("w1", at=1), hang("w2", at=1, seconds=20)])
    return run.result, Ledger(run.trace)


def plain_take(tasks, results, effects):
    async def worker(name):
        while True:
            _, number = await tasks.take("task", int)
            await work(2, number)
            await effects.write("effect", number)
            await results.write("result", number, name)

    return worker


def state_tuples(tasks, results, effects):
    async def process(task):
        await work(2, task.id)
        await effects.write("effect", task.id)

    async def worker(name):
        while True:
            await Task.perform_next(tasks, process)

    return worker


def claims(tasks, results, effects, *, idempotent=False):
    async def worker(name):
        while True:
            try:
                async with tasks.claim("task", int, lease=5) as claim:
                    _, number = claim.fields
                    await work(2, number)
                    if idempotent:
                        await effects.replace(("effect", number), ("effect", number), insert=True)
                    else:
                        await effects.write("effect", number)
                    await claim.complete("result", number, name, to=results)
            except StaleClaim:
                continue

    return worker


def test_a_plain_take_is_at_most_once():
    """The task of the crashed worker is lost; the frozen one finishes late, and nobody minds."""
    effects, ledger = workshop(plain_take)
    assert (ledger.completed, ledger.lost, ledger.duplicated, ledger.refused) == (5, 1, 0, 0)
    assert effects == 5


@pytest.mark.parametrize(("worker_of", "with_recovery"), [(state_tuples, True), (claims, False)])
def test_states_and_claims_are_at_least_once(worker_of, with_recovery):
    """Nothing is lost and nothing completed twice, but the effect of the frozen worker comes twice."""
    effects, ledger = workshop(worker_of, with_recovery=with_recovery)
    assert ledger.numbers() == (6, 6, 0, 0, 0, 0, 1)
    assert effects == 7


def test_a_claim_with_an_idempotent_effect_is_effectively_once():
    """The second run leaves the world as the first one did."""
    effects, ledger = workshop(lambda *spaces: claims(*spaces, idempotent=True))
    assert ledger.numbers() == (6, 6, 0, 0, 0, 0, 1)
    assert effects == 6
    assert repr(ledger).splitlines()[1].split() == ["6", "6", "0", "0", "0", "0", "1"]
