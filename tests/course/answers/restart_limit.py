"""restart-limit: a supervisor with a limit."""

from __future__ import annotations

import asyncio
from collections import deque

from answers import Wrong
from tutorial_lib import TupleSpace
from tutorial_lib.course import NotAttempted
from tutorial_lib.supervisor import RestartLimitReached, SupervisedSystem


async def stub(child, *, limit=3, period=10.0):
    """Restart a failing child, but not too often."""
    raise NotAttempted


def now():
    """The running loop is the clock."""
    return asyncio.get_running_loop().time()


# Right answers ---------------------------------------------------------------------------------------


async def with_a_list(child, *, limit=3, period=10.0):
    """The moments of the restarts that still count."""
    restarts = []
    while True:
        try:
            return await child()
        except Exception as error:
            print("failed:", error)
            restarts = [moment for moment in restarts if now() - moment < period]
            if len(restarts) >= limit:
                raise RestartLimitReached(f"{limit} restarts in {period} s") from error
            restarts.append(now())


async def with_a_deque_and_a_pause(child, *, limit=3, period=10.0):
    """The last few restarts, each after a breath."""
    last = deque(maxlen=limit)
    while True:
        try:
            await child()
        except Exception:
            moment = now() + 0.05
            if len(last) == limit and moment - last[0] < period:
                raise RestartLimitReached from None
            await asyncio.sleep(0.05)
            last.append(moment)
        else:
            return


class Parent:
    """A class that runs the child as a task of its own, and tidies up."""

    def __init__(self, child, limit, period):
        self.child = child
        self.limit = limit
        self.period = period
        self.recent = 0

    def forget_one(self):
        """One restart is old enough."""
        self.recent -= 1

    async def run(self):
        """Start, and start again."""
        loop = asyncio.get_running_loop()
        while True:
            task = asyncio.create_task(self.child())
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
            if task.exception() is None:
                return
            if self.recent == self.limit:
                raise RestartLimitReached("too often")
            self.recent += 1
            loop.call_later(self.period, self.forget_one)


async def with_a_class(child, *, limit=3, period=10.0):
    """The class at work; old restarts are forgotten by timers."""
    await Parent(child, limit, period).run()


RIGHT = [with_a_list, with_a_deque_and_a_pause, with_a_class]


# Wrong answers ---------------------------------------------------------------------------------------


async def no_limit(child, *, limit=3, period=10.0):
    """Again and again; the child that fails at once is seldom so patient."""
    while True:
        try:
            return await child()
        except Exception:
            await asyncio.sleep(0.01)


async def counts_for_ever(child, *, limit=3, period=10.0):
    """Old failures never expire."""
    for _ in range(limit + 1):
        try:
            return await child()
        except Exception as error:
            last = error
    raise RestartLimitReached from last


async def one_restart_too_few(child, *, limit=3, period=10.0):
    """The first start is counted as a restart."""
    starts = []
    while True:
        starts = [moment for moment in starts if now() - moment < period]
        if len(starts) >= limit:
            raise RestartLimitReached
        starts.append(now())
        try:
            return await child()
        except Exception:
            continue


async def one_restart_too_many(child, *, limit=3, period=10.0):
    """More than limit, and one more."""
    return await with_a_list(child, limit=limit + 1, period=period)


async def fixed_windows(child, *, limit=3, period=10.0):
    """The count begins anew at every full period."""
    window, count = 0, 0
    while True:
        try:
            return await child()
        except Exception:
            if int(now() // period) != window:
                window, count = int(now() // period), 0
            count += 1
            if count > limit:
                raise RestartLimitReached from None


async def a_success_in_between(child, *, limit=3, period=10.0):
    """A run of more than a second forgets everything."""
    count = 0
    while True:
        began = now()
        try:
            return await child()
        except Exception:
            count = 1 if now() - began > 1 else count + 1
            if count > limit:
                raise RestartLimitReached from None


async def restarts_after_a_return(child, *, limit=3, period=10.0):
    """A normal return is started again as well."""
    while True:
        await with_a_list(child, limit=limit, period=period)


async def waits_before_a_restart(child, *, limit=3, period=10.0):
    """A pause of a second."""
    restarts = []
    while True:
        try:
            return await child()
        except Exception:
            restarts = [moment for moment in restarts if now() - moment < period]
            if len(restarts) >= limit:
                raise RestartLimitReached from None
            await asyncio.sleep(1)
            restarts.append(now())


async def restarts_what_was_cancelled(child, *, limit=3, period=10.0):
    """Being cancelled is taken for a failure."""
    restarts = []
    while True:
        try:
            return await child()
        except BaseException:
            restarts = [moment for moment in restarts if now() - moment < period]
            if len(restarts) >= limit:
                raise RestartLimitReached from None
            restarts.append(now())


async def leaves_the_child_behind(child, *, limit=3, period=10.0):
    """A task that goes on when its supervisor is cancelled."""

    async def guarded():
        await asyncio.shield(asyncio.create_task(child()))

    await with_a_list(guarded, limit=limit, period=period)


async def ignores_its_parameters(child, *, limit=3, period=10.0):
    """Three in ten seconds, whatever is asked for."""
    await with_a_list(child)


async def windows_from_the_first_restart(child, *, limit=3, period=10.0):
    """A window begins with a restart, and the next one when it is over."""
    begin, count = -period, 0
    while True:
        try:
            return await child()
        except Exception:
            if now() - begin >= period:
                begin, count = now(), 0
            count += 1
            if count > limit:
                raise RestartLimitReached from None


async def counts_whole_seconds(child, *, limit=3, period=10.0):
    """The moments are cut to whole seconds."""
    restarts = []
    while True:
        try:
            return await child()
        except Exception:
            restarts = [moment for moment in restarts if int(now()) - moment < period]
            if len(restarts) >= limit:
                raise RestartLimitReached from None
            restarts.append(int(now()))


async def knows_some_errors(child, *, limit=3, period=10.0):
    """Other errors come out."""

    async def known():
        try:
            await child()
        except (RuntimeError, OSError):
            raise
        except Exception as error:
            others.append(error)

    others = []
    await with_a_list(known, limit=limit, period=period)
    if others:
        raise others[0]


async def cuts_a_long_run(child, *, limit=3, period=10.0):
    """A child may run no longer than the period."""

    async def short():
        async with asyncio.timeout(period):
            await child()

    await with_a_list(short, limit=limit, period=period)


async def raises_the_last_error(child, *, limit=3, period=10.0):
    """The error of the child in place of RestartLimitReached."""
    try:
        await with_a_list(child, limit=limit, period=period)
    except RestartLimitReached as reached:
        raise reached.__cause__ from None


async def gives_up_silently(child, *, limit=3, period=10.0):
    """At the limit it simply returns."""
    try:
        await with_a_list(child, limit=limit, period=period)
    except RestartLimitReached:
        return


async def lets_it_fail(child, *, limit=3, period=10.0):
    """No restart at all."""
    await child()


restarts_of_all = []


async def one_list_for_all(child, *, limit=3, period=10.0):
    """The restarts of all supervisors in one list."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return await child()
        except Exception:
            recent = [m for m in restarts_of_all if m[0] is loop and now() - m[1] < period]
            if len(recent) >= limit:
                raise RestartLimitReached from None
            restarts_of_all.append((loop, now()))


async def two_at_a_time(child, *, limit=3, period=10.0):
    """A child and a spare one."""
    await asyncio.gather(child(), child())


async def forgets_await(child, *, limit=3, period=10.0):
    """A child that is made and never started."""
    child()


async def counts_past_the_end(child, *, limit=3, period=10.0):
    """A mistake in the answer itself."""
    restarts = []
    while True:
        try:
            return await child()
        except RuntimeError:
            if now() - restarts[-limit] < period:
                raise RestartLimitReached from None
            restarts.append(now())


async def uses_our_system(child, *, limit=3, period=10.0):
    """The part that the exercise asks to build."""
    SupervisedSystem(TupleSpace("beats"))
    await with_a_list(child, limit=limit, period=period)


WRONG = [
    Wrong(no_limit, "not yet", "the answer returns"),
    Wrong(counts_for_ever, "not yet", "after start 4, at 16 s, the answer raises RestartLimitReached"),
    Wrong(one_restart_too_few, "not yet", "after start 3, at 0 s, the answer raises RestartLimitReached"),
    Wrong(one_restart_too_many, "not yet", "after start 5, at 0 s, the answer raises RestartLimitReached"),
    Wrong(fixed_windows, "not yet", "comes 1 ms before the period of 10 s is over, limit=3"),
    Wrong(a_success_in_between, "not yet", "comes 1 ms before the period of 10 s is over, limit=3"),
    Wrong(restarts_after_a_return, "not yet", "a normal return ends the supervision"),
    Wrong(waits_before_a_restart, "not yet", "the child was started again, and it had failed at 1 s"),
    Wrong(
        restarts_what_was_cancelled, "not yet", "CancelledError passes through restarts_what_was_cancelled"
    ),
    Wrong(leaves_the_child_behind, "not yet", "and at 6 s a child still ran"),
    Wrong(ignores_its_parameters, "not yet", "the child fails at once, limit=5"),
    Wrong(windows_from_the_first_restart, "not yet", "the child fails once, and often 10 s later"),
    Wrong(counts_whole_seconds, "not yet", "comes 1 ms before the period of 10 s is over, limit=3"),
    Wrong(knows_some_errors, "not yet", "the answer raises OutOfPaper('failure 3')"),
    Wrong(cuts_a_long_run, "not yet", "a child may run for as long as it likes"),
    Wrong(raises_the_last_error, "not yet", "the answer raises RuntimeError('failure 4')"),
    Wrong(gives_up_silently, "not yet", "after start 4, at 0 s, the answer returns"),
    Wrong(lets_it_fail, "not yet", "an exception of the child restarts it, and does not come out"),
    Wrong(one_list_for_all, "not yet", "each call has a count of its own"),
    Wrong(two_at_a_time, "not yet", "while it was still running"),
    Wrong(forgets_await, "proved nothing", "write await before child(...)"),
    Wrong(counts_past_the_end, "error", "IndexError: list index out of range"),
    Wrong(uses_our_system, "not yet", "SupervisedSystem did the work"),
]
