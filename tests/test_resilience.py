"""Breaker: closed, open and half open, for callers that come one by one, all at once, or never return."""

from __future__ import annotations

import asyncio
import pickle
import random

import pytest
from space_help import REPEATS, ended, settle, simulated, started

from tutorial_lib import Breaker, BreakerOpen, crash, simulate


class Service:
    """A service that can be broken and mended, takes ``seconds`` for a call, and counts its calls."""

    def __init__(self, *, works=False, seconds=0.0):
        self.works = works
        self.seconds = seconds
        self.calls = 0

    async def __call__(self):
        """Answer with the number of the call, or fail."""
        self.calls += 1
        works = self.works  # what it is when the call arrives decides
        await asyncio.sleep(self.seconds)
        if not works:
            raise ConnectionError(f"call {self.calls} failed")
        return self.calls


async def fail(breaker, times=1):
    """Let calls fail, one after the other."""
    for _ in range(times):
        with pytest.raises(ConnectionError):
            await breaker.call(Service())


async def outcome(breaker, action):
    """Return the result of a call, or the class of the error that it ended with."""
    try:
        return await breaker.call(action)
    except Exception as error:
        return type(error)


def changes(run):
    """The events of a breaker in a run: when and what."""
    return [(event.time, event.kind) for event in run.trace.of("open", "half_open", "close")]


# Closed


@pytest.mark.parametrize("value", [7, 0, "", None, False, []])
@simulated
async def test_a_closed_breaker_returns_what_the_action_returns(value):
    """Falsy results are results."""

    async def action():
        return value

    assert await Breaker().call(action) == value


@simulated
async def test_a_closed_breaker_raises_the_very_exception_of_the_action():
    """It is neither wrapped nor copied, that of the failure which opens it included."""
    error = ConnectionError("down")

    async def action():
        raise error

    breaker = Breaker(fail_max=2)
    for _ in range(2):
        with pytest.raises(ConnectionError) as caught:
            await breaker.call(action)
        assert caught.value is error
    assert breaker.state == "open"


@simulated
async def test_a_success_begins_the_count_anew():
    """Only failures in a row count."""
    breaker = Breaker(fail_max=3)
    for _ in range(5):
        await fail(breaker, 2)
        await breaker.call(Service(works=True))
    assert breaker.state == "closed"


@simulated
async def test_a_plain_function_that_raises_before_it_gives_an_awaitable_counts_too():
    """What raises is a failure, wherever it raises."""

    def action():
        raise ConnectionError

    breaker = Breaker(fail_max=1)
    assert await outcome(breaker, action) is ConnectionError
    assert breaker.state == "open"


# Open


@pytest.mark.parametrize("fail_max", [1, 2, 5])
@simulated
async def test_the_last_allowed_failure_in_a_row_opens_it_and_then_nothing_is_called(fail_max):
    """Twenty calls reach a broken service exactly fail_max times."""
    breaker, service = Breaker(fail_max), Service()
    outcomes = [await outcome(breaker, service) for _ in range(20)]
    assert outcomes == [ConnectionError] * fail_max + [BreakerOpen] * (20 - fail_max)
    assert service.calls == fail_max


@simulated
async def test_an_open_breaker_refuses_at_once():
    """No time passes, and the error says for how long it will stay so."""
    breaker = Breaker(fail_max=1, reset_timeout=60, name="mail breaker")
    await fail(breaker)
    await asyncio.sleep(20)
    with pytest.raises(BreakerOpen, match=r"mail breaker is open after 1 failure, .* in 40 s") as caught:
        await breaker.call(Service())
    assert caught.value.retry_after == 40
    assert asyncio.get_running_loop().time() == 20


@simulated
async def test_calls_begun_while_closed_that_end_while_open_change_nothing():
    """Ten calls are under way when the first three fail: neither failures nor successes count any more."""
    breaker = Breaker(fail_max=3, reset_timeout=60)
    slow = [await started(breaker.call(Service(works=number % 2 == 0, seconds=30))) for number in range(7)]
    await fail(breaker, 3)
    await asyncio.gather(*slow, return_exceptions=True)
    assert breaker.state == "open"
    await asyncio.sleep(30)
    assert await breaker.call(Service(works=True)) == 1  # 60 s after it opened, not after the last failure


@simulated
async def test_a_call_begun_in_an_earlier_closed_time_does_not_count_in_a_later_one():
    """Its failure is an old story."""
    breaker = Breaker(fail_max=1, reset_timeout=10)
    old = await started(breaker.call(Service(seconds=100)))
    await fail(breaker)
    await asyncio.sleep(10)
    await breaker.call(Service(works=True))
    assert isinstance(await ended(old), ConnectionError)
    assert breaker.state == "closed"


# Half open


@pytest.mark.parametrize("begin", [0.0, 0.1, 365 * 24 * 3600.0])
def test_the_probe_goes_through_exactly_when_the_time_is_over(begin):
    """A microsecond before it is refused, also where sums of fractions are not exact."""

    async def main():
        await asyncio.sleep(begin)
        breaker = Breaker(fail_max=1, reset_timeout=0.2)
        await fail(breaker)
        await asyncio.sleep(0.199999)
        assert await outcome(breaker, Service(works=True)) is BreakerOpen
        await asyncio.sleep(0.000001)
        assert await outcome(breaker, Service(works=True)) == 1

    simulate(main, time_limit=None)


@pytest.mark.parametrize("seed", range(5 * REPEATS))
def test_of_many_callers_exactly_one_is_the_probe(seed):
    """Nineteen of twenty are refused, before and while the probe is on its way."""

    async def main():
        breaker, service = Breaker(fail_max=1, reset_timeout=60), Service(works=True, seconds=5)
        await fail(breaker)
        await asyncio.sleep(60)
        outcomes = await asyncio.gather(*(outcome(breaker, service) for _ in range(20)))
        assert sorted(outcomes, key=str) == [1] + [BreakerOpen] * 19
        assert breaker.state == "closed"

    simulate(main, seed=seed)


def test_a_failed_probe_opens_it_for_the_whole_time_again():
    """Measured from the failure of the probe."""

    async def main():
        breaker = Breaker(fail_max=1, reset_timeout=60)
        await fail(breaker)
        await asyncio.sleep(60)
        assert await outcome(breaker, Service(seconds=5)) is ConnectionError
        await asyncio.sleep(59)
        assert await outcome(breaker, Service(works=True)) is BreakerOpen
        await asyncio.sleep(1)
        assert await outcome(breaker, Service(works=True)) == 1

    assert changes(simulate(main)) == [
        (0, "open"),
        (60, "half_open"),
        (65, "open"),
        (125, "half_open"),
        (125, "close"),
    ]


@simulated
async def test_a_successful_probe_closes_it_with_a_fresh_count():
    """It takes fail_max failures in a row to open it again."""
    breaker = Breaker(fail_max=3, reset_timeout=60)
    await fail(breaker, 3)
    await asyncio.sleep(60)
    await breaker.call(Service(works=True))
    await fail(breaker, 2)
    assert breaker.state == "closed"
    await fail(breaker)
    assert breaker.state == "open"


# Cancelled and crashed calls


@simulated
async def test_a_cancelled_call_counts_neither_way():
    """It is no failure, and it does not end a row of failures."""
    breaker = Breaker(fail_max=2)
    await fail(breaker)
    for _ in range(5):
        task = await started(breaker.call(Service(works=True, seconds=5)))
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
    assert breaker.state == "closed"
    await fail(breaker)
    assert breaker.state == "open"


@simulated
async def test_a_timeout_around_a_call_is_a_cancellation_and_one_inside_is_a_failure():
    """Where the limit stands decides whether the breaker learns of it."""
    breaker = Breaker(fail_max=1)

    async def patient_for_a_second():
        async with asyncio.timeout(1):
            await asyncio.sleep(10)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await breaker.call(Service(seconds=10))
    assert breaker.state == "closed"
    assert await outcome(breaker, patient_for_a_second) is TimeoutError
    assert breaker.state == "open"


@simulated
async def test_a_cancelled_probe_makes_room_for_another():
    """The breaker stays half open, and the next call is the probe."""
    breaker = Breaker(fail_max=1, reset_timeout=60)
    await fail(breaker)
    await asyncio.sleep(60)
    probe = await started(breaker.call(Service(works=True, seconds=50)))
    probe.cancel()
    await settle()
    assert breaker.state == "half_open"
    assert await outcome(breaker, Service(works=True)) == 1


def test_a_crashed_probe_makes_room_for_another():
    """Its silence does not keep the breaker half open for ever."""

    async def main():
        breaker = Breaker(fail_max=1, reset_timeout=60)
        await fail(breaker)
        await asyncio.sleep(60)
        await started(breaker.call(Service(works=True, seconds=50)), name="prober")
        assert await outcome(breaker, Service(works=True)) is BreakerOpen
        await asyncio.sleep(10)
        return await outcome(breaker, Service(works=True))

    assert simulate(main, faults=[crash("prober", at=65)]).result == 1


# Against a plain model


@pytest.mark.parametrize("seed", range(20 * REPEATS))
def test_calls_one_by_one_behave_as_a_model_of_ten_lines(seed):
    """Random failures, random pauses: the same answers as a count and a moment."""

    async def main():
        fail_max, reset_timeout = random.randint(1, 4), random.choice([0, 0.5, 3])
        breaker = Breaker(fail_max, reset_timeout)
        failures, open_until = 0, None
        for _ in range(200):
            await asyncio.sleep(random.choice([0, 0.25, 0.5, 1.5]))
            now, works = asyncio.get_running_loop().time(), random.random() < 0.4
            if open_until is not None and now < open_until:
                expected = BreakerOpen
            elif works:
                expected, failures, open_until = 1, 0, None
            else:
                failures += 1
                expected = ConnectionError
                if open_until is not None or failures == fail_max:
                    failures, open_until = 0, now + reset_timeout
            assert await outcome(breaker, Service(works=works)) == expected

    simulate(main, seed=seed)


# Instances, trace, arguments


@simulated
async def test_two_breakers_know_nothing_of_each_other():
    """One may be open while the other is closed."""
    mail, search = Breaker(fail_max=1), Breaker(fail_max=1)
    await fail(mail)
    assert (mail.state, search.state) == ("open", "closed")


def test_each_change_is_in_the_trace_with_the_name_of_the_breaker():
    """And with who caused it."""

    async def main():
        breaker = Breaker(fail_max=1, reset_timeout=2, name="mail")
        await ended(asyncio.create_task(breaker.call(Service()), name="w1"))
        await asyncio.sleep(2)
        await ended(asyncio.create_task(breaker.call(Service(works=True)), name="w2"))

    events = simulate(main).trace.of("open", "half_open", "close")
    assert [(event.kind, event.actor, event.detail) for event in events] == [
        ("open", "w1", {"breaker": "mail"}),
        ("half_open", "w2", {"breaker": "mail"}),
        ("close", "w2", {"breaker": "mail"}),
    ]


@simulated
async def test_a_breaker_shows_its_state_and_its_count():
    """In words that can be read in a notebook."""
    breaker = Breaker(fail_max=2, reset_timeout=1, name="mail")
    await fail(breaker)
    assert repr(breaker) == "<Breaker mail, closed, 1 of 2 failures>"
    await fail(breaker)
    assert repr(breaker) == "<Breaker mail, open>"
    await asyncio.sleep(1)
    await started(breaker.call(Service(seconds=1)))
    assert repr(breaker) == "<Breaker mail, half open>"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"fail_max": 0}, ValueError),
        ({"fail_max": -1}, ValueError),
        ({"fail_max": 2.0}, TypeError),
        ({"fail_max": True}, TypeError),
        ({"fail_max": None}, TypeError),
        ({"reset_timeout": -1}, ValueError),
        ({"reset_timeout": float("nan")}, ValueError),
        ({"reset_timeout": float("inf")}, ValueError),
        ({"reset_timeout": None}, TypeError),
        ({"reset_timeout": "60"}, TypeError),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, error):
    """At the line that makes the breaker, by name."""
    with pytest.raises(error, match=next(iter(arguments))):
        Breaker(**arguments)


@simulated
async def test_what_is_no_async_function_is_refused_with_the_cure():
    """A coroutine, a value, and a function that returns no awaitable."""
    breaker = Breaker()
    with pytest.raises(TypeError, match="Leave out the brackets"):
        await breaker.call(Service.__call__(Service()))
    with pytest.raises(TypeError, match="needs an async function"):
        await breaker.call(7)
    with pytest.raises(TypeError, match="Write 'async def'"):
        await breaker.call(lambda: 7)


def test_a_breaker_belongs_to_one_event_loop():
    """Its moments say nothing on another clock."""
    breaker = Breaker()
    simulate(breaker.call, Service(works=True))
    with pytest.raises(RuntimeError, match="inside the async function"):
        simulate(breaker.call, Service(works=True))


def test_the_error_travels_between_processes():
    """A task queue sends exceptions as pickles: the text and the time to wait arrive."""
    error = pickle.loads(pickle.dumps(BreakerOpen("shut", retry_after=3.0)))
    assert (str(error), error.retry_after) == ("shut", 3.0)
    assert str(BreakerOpen()) == "The breaker is open."
