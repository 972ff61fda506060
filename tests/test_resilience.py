"""Breaker: closed, open, half open, and exactly one probe."""

from __future__ import annotations

import asyncio

import pytest
from space_help import ended, settle, simulated, started

from tutorial_lib import actor, simulate
from tutorial_lib.faults import crash
from tutorial_lib.resilience import Breaker, BreakerOpen
from tutorial_lib.trace import current_trace


class Server:
    """Something to call: it answers or fails as told, at once or after a while, and counts the calls."""

    def __init__(self):
        self.calls = 0
        self.error = None
        self.pause = 0.0

    async def __call__(self):
        """Answer, or fail."""
        self.calls += 1
        error = self.error
        if self.pause:
            await asyncio.sleep(self.pause)
        if error is not None:
            raise error
        return "answer"


async def outcome(breaker, action):
    """What a call came to: the result, or the name of the error."""
    try:
        return await breaker.call(action)
    except Exception as error:
        return type(error).__name__


async def opened(server, fail_max=3, **options):
    """Return a breaker that failures of the server have just opened."""
    breaker = Breaker(fail_max, **options)
    server.error = ConnectionError("no answer")
    for _ in range(fail_max):
        await outcome(breaker, server)
    assert breaker.state == "open"
    server.calls = 0
    return breaker


def changes():
    return [(event.kind, event.time, event.fields) for event in current_trace()]


# Closed


@pytest.mark.parametrize("result", ["answer", 0, "", None, False])
@simulated
async def test_a_call_returns_what_the_action_returns(result):
    """Also what counts as false."""

    async def action():
        return result

    assert await Breaker().call(action) is result


@pytest.mark.parametrize("fail_max", [1, 2, 5])
@simulated
async def test_the_last_failure_in_a_row_opens_the_breaker_and_is_raised_as_itself(fail_max):
    """The one after it is refused without a call."""
    server, breaker = Server(), Breaker(fail_max)
    for _ in range(fail_max):
        assert breaker.state == "closed"
        server.error = ConnectionError("no answer")
        with pytest.raises(ConnectionError) as caught:
            await breaker.call(server)
        assert caught.value is server.error
    assert breaker.state == "open"
    with pytest.raises(BreakerOpen, match="another 60 s"):
        await breaker.call(server)
    assert server.calls == fail_max


@simulated
async def test_a_success_resets_the_count():
    """Only failures in a row count."""
    server, breaker = Server(), Breaker(fail_max=2)
    for error in (OSError(), None, OSError(), None, OSError()):
        server.error = error
        await outcome(breaker, server)
    assert breaker.state == "closed"


@simulated
async def test_a_cancelled_call_is_no_failure():
    """It counts neither way."""
    server, breaker = Server(), Breaker(fail_max=2)
    server.error = OSError()
    await outcome(breaker, server)
    server.pause = 10
    call = await started(breaker.call(server))
    call.cancel()
    await ended(call)
    assert breaker.state == "closed"
    server.pause = 0
    await outcome(breaker, server)
    assert breaker.state == "open"


@simulated
async def test_ten_callers_at_once_all_get_their_own_error():
    """The third one opens the breaker; the others were under way already."""
    server, breaker = Server(), Breaker(fail_max=3)
    server.error, server.pause = ConnectionError(), 1.0
    outcomes = await asyncio.gather(*[outcome(breaker, server) for _ in range(10)])
    assert outcomes == ["ConnectionError"] * 10
    assert [kind for kind, _, _ in changes()] == ["open"]


# Open


@simulated
async def test_an_open_breaker_refuses_at_once_until_the_timeout():
    """However many ask, and the waiting time is told."""
    server = Server()
    breaker = await opened(server, reset_timeout=60)
    await asyncio.sleep(59.999)
    with pytest.raises(BreakerOpen, match=r"another 0\.001 s"):
        await breaker.call(server)
    assert server.calls == 0


@pytest.mark.parametrize("start", [0.0, 0.3, 2.2, 1 / 3, 365 * 24 * 3600.0])
def test_at_the_timeout_the_next_call_is_the_probe(start):
    """At that very moment, whatever the clock said when it opened."""

    async def main():
        server = Server()
        await asyncio.sleep(start)
        breaker = await opened(server, reset_timeout=0.7)
        await asyncio.sleep(0.7)
        server.error = None
        assert await breaker.call(server) == "answer"
        assert breaker.state == "closed"

    simulate(main, time_limit=None)


@pytest.mark.parametrize("error", [None, ConnectionError()])
@simulated
async def test_a_call_that_began_while_closed_changes_nothing_when_it_ends_while_open(error):
    """Neither its success nor its failure: the breaker stays open for as long as it was going to."""
    server, slow = Server(), Server()
    slow.pause, slow.error = 30, error
    breaker = Breaker(fail_max=1, reset_timeout=60)
    call = await started(outcome(breaker, slow))
    server.error = ConnectionError()
    await outcome(breaker, server)
    await call
    assert breaker.state == "open"
    await asyncio.sleep(29.9)
    assert await outcome(breaker, server) == "BreakerOpen"
    await asyncio.sleep(0.1)
    assert await outcome(breaker, server) == "ConnectionError"


@simulated
async def test_calls_that_end_while_open_do_not_open_it_once_more():
    """A late success and a late failure: the timeout still counts from the first opening."""
    server, breaker = Server(), Breaker(fail_max=1, reset_timeout=60)
    slow = []
    for pause, error in [(10, None), (20, ConnectionError())]:
        server.pause, server.error = pause, error
        slow.append(await started(outcome(breaker, server)))
    server.pause = 0
    await outcome(breaker, server)
    assert [await call for call in slow] == ["answer", "ConnectionError"]
    assert changes() == [("open", 0, ("breaker",))]


@simulated
async def test_a_call_from_an_earlier_closed_time_does_not_count_in_a_later_one():
    """It ends when the breaker has been open and is closed again."""
    server, slow = Server(), Server()
    slow.pause, slow.error = 100, ConnectionError()
    breaker = Breaker(fail_max=1, reset_timeout=10)
    call = await started(outcome(breaker, slow))
    server.error = ConnectionError()
    await outcome(breaker, server)
    await asyncio.sleep(10)
    server.error = None
    await outcome(breaker, server)
    await call
    assert breaker.state == "closed"


# Half open


@simulated
async def test_only_one_probe_passes():
    """Of ten that ask while it is under way, none is called."""
    server = Server()
    breaker = await opened(server, reset_timeout=60)
    await asyncio.sleep(60)
    server.error, server.pause = None, 5.0
    outcomes = await asyncio.gather(*[outcome(breaker, server) for _ in range(10)])
    assert outcomes == ["answer"] + ["BreakerOpen"] * 9
    assert server.calls == 1


@simulated
async def test_a_successful_probe_closes_the_breaker_and_resets_the_count():
    """After it, as many failures as at first are needed."""
    server = Server()
    breaker = await opened(server, fail_max=3, reset_timeout=60)
    await asyncio.sleep(60)
    server.error = None
    await breaker.call(server)
    server.error = ConnectionError()
    for state in ("closed", "closed", "open"):
        await outcome(breaker, server)
        assert breaker.state == state


@simulated
async def test_a_failed_probe_opens_the_breaker_for_a_whole_timeout_again():
    """Counted from the failure, which the caller gets as it is."""
    server = Server()
    breaker = await opened(server, reset_timeout=60)
    await asyncio.sleep(100)
    server.pause = 5.0
    assert await outcome(breaker, server) == "ConnectionError"
    server.pause = 0
    await asyncio.sleep(59.9)
    assert await outcome(breaker, server) == "BreakerOpen"
    await asyncio.sleep(0.1)
    assert await outcome(breaker, server) == "ConnectionError"


@simulated
async def test_a_cancelled_probe_frees_the_place():
    """It counts neither way: the next call is the probe, and may close the breaker."""
    server = Server()
    breaker = await opened(server, reset_timeout=60)
    await asyncio.sleep(60)
    server.error, server.pause = None, 5.0
    probe = await started(breaker.call(server))
    probe.cancel()
    await ended(probe)
    assert breaker.state == "half_open"
    assert await breaker.call(server) == "answer"
    assert breaker.state == "closed"


def test_a_probe_whose_caller_crashed_frees_the_place():
    """It will never answer, and nobody else should wait for it."""

    async def main():
        server = Server()
        breaker = await opened(server, reset_timeout=60)
        await asyncio.sleep(60)
        server.error, server.pause = None, 5.0
        with actor("w1"):
            await started(breaker.call(server))
        assert await outcome(breaker, server) == "BreakerOpen"
        await asyncio.sleep(2)
        assert await outcome(breaker, server) == "answer"

    simulate(main, faults=[crash("w1", at=61)])


# Trace, instances, arguments


@simulated
async def test_each_change_is_recorded_once_with_the_name_of_the_breaker():
    """Opened, tried, opened again, tried, closed."""
    server = Server()
    breaker = await opened(server, reset_timeout=10, name="mail")
    for error in (ConnectionError(), None):
        await asyncio.sleep(10)
        server.error = error
        await outcome(breaker, server)
    assert changes() == [
        ("open", 0, ("mail",)),
        ("half_open", 10, ("mail",)),
        ("open", 10, ("mail",)),
        ("half_open", 20, ("mail",)),
        ("close", 20, ("mail",)),
    ]


@simulated
async def test_two_breakers_know_nothing_of_each_other():
    """One is open, the other closed."""
    server = Server()
    await opened(server)
    server.error = None
    assert await Breaker().call(server) == "answer"


@simulated
async def test_a_call_without_waiting_leaves_the_breaker_usable():
    """An action that itself uses the breaker is an ordinary call."""
    breaker, server = Breaker(fail_max=1), Server()
    assert await breaker.call(lambda: breaker.call(server)) == "answer"
    await settle()
    assert breaker.state == "closed"


@simulated
async def test_the_call_of_a_function_is_no_function():
    """A common slip: the brackets are one too many. It counts as no failure."""
    breaker = Breaker(fail_max=1)
    with pytest.raises(TypeError, match="Leave out the brackets"):
        await breaker.call(Server().__call__())
    with pytest.raises(TypeError, match="needs an async function"):
        await breaker.call(None)
    assert breaker.state == "closed"


def test_a_breaker_goes_on_in_a_later_event_loop():
    """What was left of the timeout when the earlier one was closed is left of it there."""
    server = Server()

    async def earlier():
        breaker = await opened(server, reset_timeout=60)
        await asyncio.sleep(20)
        return breaker

    breaker = simulate(earlier).result

    async def later():
        outcomes = [await outcome(breaker, server)]
        await asyncio.sleep(40)
        return [*outcomes, await outcome(breaker, server)]

    assert simulate(later).result == ["BreakerOpen", "ConnectionError"]


@simulated
async def test_a_breaker_refuses_a_second_event_loop_while_the_first_is_open():
    """Their clocks have nothing in common."""
    breaker, server = Breaker(), Server()
    await breaker.call(server)
    with pytest.raises(RuntimeError, match="inside the async function"):
        simulate(breaker.call, server)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"fail_max": 0}, ValueError),
        ({"fail_max": 1.5}, TypeError),
        ({"fail_max": True}, TypeError),
        ({"reset_timeout": 0}, ValueError),
        ({"reset_timeout": None}, TypeError),
        ({"reset_timeout": "60"}, TypeError),
    ],
)
def test_a_breaker_refuses_what_makes_no_sense(options, error):
    """At the line that makes it."""
    with pytest.raises(error, match=next(iter(options))):
        Breaker(**options)


def test_the_defaults_are_five_failures_and_a_minute():
    """As the lesson and the exercise have them."""
    breaker = Breaker()
    assert (breaker.fail_max, breaker.reset_timeout, breaker.state) == (5, 60.0, "closed")
