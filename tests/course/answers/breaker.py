"""breaker: a circuit breaker for asynchronous calls."""

from __future__ import annotations

import asyncio

from answers import Wrong
from tutorial_lib import Breaker as OurBreaker
from tutorial_lib import BreakerOpen
from tutorial_lib.course import NotAttempted


class Stub:
    """A circuit breaker."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        self.fail_max = fail_max
        self.reset_timeout = reset_timeout

    async def call(self, action):
        """Call the action, unless the breaker is open."""
        raise NotAttempted


stub = Stub


def now():
    """The running loop is the clock."""
    return asyncio.get_running_loop().time()


# Right answers ---------------------------------------------------------------------------------------


class WithFlags:
    """A count, a moment, and a mark for the probe."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        self.fail_max = fail_max
        self.reset_timeout = reset_timeout
        self.failures = 0
        self.opened_at = None
        self.probe_is_out = False

    async def call(self, action):
        """Call the action, unless the breaker is open."""
        is_probe = False
        if self.opened_at is not None:
            if self.probe_is_out or now() < self.opened_at + self.reset_timeout:
                raise BreakerOpen("open")
            is_probe = self.probe_is_out = True
        try:
            value = await action()
        except Exception:
            self.note_failure(is_probe)
            raise
        else:
            if is_probe:
                self.opened_at = None
            if self.opened_at is None:
                self.failures = 0
            return value
        finally:
            if is_probe:
                self.probe_is_out = False

    def note_failure(self, is_probe):
        """Count a failure, and open if it is the last one."""
        if is_probe:
            self.opened_at = now()
        elif self.opened_at is None:
            self.failures += 1
            print("failure", self.failures)
            if self.failures >= self.fail_max:
                self.opened_at = now()


class WithGenerations:
    """Every change of state begins a new generation, and a call of an older one is not heard."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        self.limits = (fail_max, reset_timeout)
        self.state, self.generation, self.count, self.since = "closed", 0, 0, 0.0

    def change(self, state):
        """Begin another state."""
        self.state, self.generation, self.count, self.since = state, self.generation + 1, 0, now()

    async def call(self, action):
        """Call the action in the state of now."""
        if self.state == "open" and now() - self.since >= self.limits[1]:
            self.change("half open")
        elif self.state != "closed":
            raise BreakerOpen
        mine = self.generation
        try:
            value = await action()
        except asyncio.CancelledError:
            if mine == self.generation and self.state == "half open":
                self.change("open")
                self.since = -self.limits[1]
            raise
        except Exception:
            if mine == self.generation:
                self.count += 1
                if self.state == "half open" or self.count >= self.limits[0]:
                    self.change("open")
            raise
        if mine == self.generation:
            if self.state == "half open":
                self.change("closed")
            self.count = 0
        return value


class Closed:
    """The state in which calls go through."""

    def __init__(self):
        self.failures = 0


class Open:
    """The state in which none does."""

    def __init__(self):
        self.since = now()
        self.probe = asyncio.Lock()


class WithStateObjects:
    """A state object for each stretch, and a lock that the probe holds."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        self.fail_max, self.reset_timeout = fail_max, reset_timeout
        self.state = Closed()

    def call(self, action):
        """A plain method that gives back something to await."""
        return self.closed_call(self.state, action) if isinstance(self.state, Closed) else self.probe(action)

    async def closed_call(self, state, action):
        """Call, and count in the state that it began in."""
        try:
            value = await action()
        except Exception:
            state.failures += 1
            if state.failures >= self.fail_max and self.state is state:
                self.state = Open()
            raise
        state.failures = 0
        return value

    async def probe(self, action):
        """Be the probe, or be refused."""
        state = self.state
        if isinstance(state, Closed):
            return await self.closed_call(state, action)
        if state.probe.locked() or now() < state.since + self.reset_timeout:
            raise BreakerOpen("come back later")
        async with state.probe:
            try:
                value = await action()
            except Exception:
                self.state = Open()
                raise
            self.state = Closed()
            return value


RIGHT = [WithFlags, WithGenerations, WithStateObjects]


# Wrong answers ---------------------------------------------------------------------------------------


class CountsAllFailures(WithFlags):
    """A success does not begin the count anew."""

    async def call(self, action):
        """Keep the count of failures through a success."""
        before = self.failures
        value = await super().call(action)
        self.failures = before
        return value


class OneTooLate(WithFlags):
    """One failure more than fail_max."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        super().__init__(fail_max + 1, reset_timeout)


class NeverOpens(WithFlags):
    """As a breaker around a coroutine that is not awaited."""

    async def call(self, action):
        """Take the coroutine for a success."""
        return await action()


class LetsTheCrowdIn(WithFlags):
    """When the time is over, everybody gets through."""

    async def call(self, action):
        """Forget the probe that is out."""
        self.probe_is_out = False
        return await super().call(action)


class TooEarly(WithFlags):
    """The probe comes a little before its time."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        super().__init__(fail_max, reset_timeout * 0.99)


class AfterTheEdge(WithFlags):
    """The probe waits for a moment that is later than reset_timeout."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        super().__init__(fail_max, reset_timeout + 1)


class RaisesOpenForTheLastFailure(WithFlags):
    """The failure that opens the breaker is hidden."""

    async def call(self, action):
        """Raise BreakerOpen as soon as it is open."""
        try:
            return await super().call(action)
        except Exception:
            if self.opened_at is not None:
                raise BreakerOpen("open now") from None
            raise


class KnowsSomeErrors(WithFlags):
    """Other errors are no failures."""

    async def call(self, action):
        """Hide the other errors from the count."""
        hidden = None

        async def counted():
            nonlocal hidden
            try:
                return await action()
            except (RuntimeError, OSError):
                raise
            except Exception as error:
                hidden = error

        value = await super().call(counted)
        if hidden is not None:
            raise hidden
        return value


class LateSuccessCloses(WithFlags):
    """Any success closes the breaker."""

    async def call(self, action):
        """Close after each success."""
        value = await super().call(action)
        self.opened_at, self.failures = None, 0
        return value


class LateFailureProlongs(WithFlags):
    """Any failure sets the moment anew."""

    def note_failure(self, is_probe):
        """Count, and set the moment."""
        super().note_failure(is_probe)
        if self.opened_at is not None:
            self.opened_at = now()


class CancelledProbeKeepsItsPlace(WithFlags):
    """After a cancelled probe nobody gets through any more."""

    async def call(self, action):
        """Put the mark back that finally took away."""
        try:
            return await super().call(action)
        except asyncio.CancelledError:
            self.probe_is_out = True
            raise


class CancelledCallCounts(WithFlags):
    """Being cancelled is taken for a failure."""

    async def call(self, action):
        """Count everything that is raised."""
        try:
            return await super().call(action)
        except asyncio.CancelledError:
            self.note_failure(False)
            raise


class SharedByAll(WithFlags):
    """The state belongs to the class."""

    shared = {}  # noqa: RUF012

    def __init__(self, fail_max=5, reset_timeout=60.0):
        super().__init__(fail_max, reset_timeout)
        loop = asyncio.get_running_loop()
        self.__dict__ = SharedByAll.shared.setdefault(loop, self.__dict__)


class IgnoresItsParameters(WithFlags):
    """Five and sixty, whatever is asked for."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        super().__init__()


class ProbeKeepsTheCount(WithFlags):
    """A closed breaker that still remembers its failures."""

    async def call(self, action):
        """Keep the count through the probe."""
        before, was_open = self.failures, self.opened_at is not None
        value = await super().call(action)
        if was_open:
            self.failures = before
        return value


class WaitsUntilItIsOver(WithFlags):
    """An open breaker makes its callers wait."""

    async def call(self, action):
        """Sleep before refusing."""
        if (
            self.opened_at is not None
            and not self.probe_is_out
            and now() < self.opened_at + self.reset_timeout
        ):
            await asyncio.sleep(0.5)
            raise BreakerOpen
        return await super().call(action)


class CircuitOpen(Exception):
    """An error of one's own."""


class WithAnErrorOfItsOwn(WithFlags):
    """Not the error that was asked for."""

    async def call(self, action):
        """Translate the error."""
        try:
            return await super().call(action)
        except BreakerOpen:
            raise CircuitOpen from None


class AsksForTruth(WithFlags):
    """A falsy value is taken for a failure."""

    async def call(self, action):
        """Return a value that is true."""
        return await super().call(action) or "nothing"


class WithASlip(WithFlags):
    """A mistake in the answer itself."""

    async def call(self, action):
        """Read a name that is not there."""
        return await super().call(action) if self.is_closed else None


class OurBreakerRenamed(OurBreaker):
    """The part that the exercise asks to build."""

    def __init__(self, fail_max=5, reset_timeout=60.0):
        super().__init__(fail_max, reset_timeout)


async def a_function(fail_max=5, reset_timeout=60.0):
    """No class."""


class WithoutParameters:
    """Takes no fail_max."""

    async def call(self, action):
        """Call the action."""
        return await action()


WRONG = [
    Wrong(CountsAllFailures, "not yet", "fewer failures in a row than fail_max leave the breaker closed"),
    Wrong(OneTooLate, "not yet", "at 5 s the action ran"),
    Wrong(NeverOpens, "not yet", "at 5 s the action ran"),
    Wrong(LetsTheCrowdIn, "not yet", "while the probe is on its way, all other calls are refused"),
    Wrong(TooEarly, "not yet", "the breaker stays open for reset_timeout, here 60 s"),
    Wrong(
        AfterTheEdge, "not yet", "at reset_timeout after the opening the next call is let through as a probe"
    ),
    Wrong(RaisesOpenForTheLastFailure, "not yet", "and call raised BreakerOpen('open now')"),
    Wrong(KnowsSomeErrors, "not yet", "after fail_max failures in a row the breaker is open"),
    Wrong(LateSuccessCloses, "not yet", "a call that began before the opening does not close the breaker"),
    Wrong(
        LateFailureProlongs, "not yet", "a late failure does not make an open breaker stay open for longer"
    ),
    Wrong(CancelledProbeKeepsItsPlace, "not yet", "a cancelled probe frees its place"),
    Wrong(CancelledCallCounts, "not yet", "a cancelled call counts neither as a failure nor as a success"),
    Wrong(SharedByAll, "not yet", "another one is still closed"),
    Wrong(IgnoresItsParameters, "not yet", "with fail_max=1 the first failure opens the breaker"),
    Wrong(ProbeKeepsTheCount, "not yet", "closes the breaker, and the count begins anew"),
    Wrong(WaitsUntilItIsOver, "not yet", "an open breaker answers at once"),
    Wrong(WithAnErrorOfItsOwn, "not yet", "the call raised CircuitOpen()"),
    Wrong(AsksForTruth, "not yet", "the action returned 0 (int), and call gave 'nothing' (str)"),
    Wrong(WithASlip, "error", "AttributeError: 'WithASlip' object has no attribute 'is_closed'"),
    Wrong(OurBreakerRenamed, "not yet", "Breaker did the work"),
    Wrong(a_function, "error", "gave a coroutine (an await is missing), which has no method call"),
    Wrong(WithoutParameters, "error", "give WithoutParameters these parameters: (fail_max, reset_timeout)"),
]
