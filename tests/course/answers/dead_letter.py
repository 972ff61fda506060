"""dead-letter: a consumer that survives its failures."""

from __future__ import annotations

import asyncio

from answers import Wrong
from tutorial_lib import ANY
from tutorial_lib.course import NotAttempted


async def stub(tasks, results, dead, process):
    """Take tasks for ever; results to results, failures to dead."""
    raise NotAttempted


# Right answers ---------------------------------------------------------------------------------------


async def try_except_else(tasks, results, dead, process):
    """The plain form."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            value = await process(n)
        except Exception as error:
            print("failed:", n, error)
            await dead.write("dead", n, str(error))
        else:
            await results.write("result", n, value)


async def many_at_once(tasks, results, dead, process):
    """Tasks overlap: each one is worked on by a task of its own."""

    async def handle(n):
        try:
            await results.write("result", n, await process(n))
        except Exception as error:
            await dead.write("dead", n, f"{type(error).__name__}: {error}")

    async with asyncio.TaskGroup() as group:
        while True:
            _, n = await tasks.take("task", int)
            group.create_task(handle(n))


class Clerk:
    """An object that is called, with claims and a method for each ending."""

    __name__ = "clerk"

    async def __call__(self, tasks, results, dead, process):
        """Claim one task after another."""
        while True:
            async with tasks.claim("task", int, lease=1000) as claim:
                number = claim.fields[1]
                try:
                    await claim.complete("result", number, await process(number), to=results)
                except Exception as error:
                    await claim.complete("dead", number, repr(error) + str(error), to=dead)


async def with_polling_and_tidying_up(tasks, results, dead, process):
    """try_take and a pause; a cancellation is caught, and raised again."""
    try:
        while True:
            found = await tasks.try_take("task", int)
            if found is None:
                await asyncio.sleep(0.05)
                continue
            outcome = await asyncio.gather(process(found[1]), return_exceptions=True)
            if isinstance(outcome[0], Exception):
                await dead.write("dead", found[1], str(outcome[0]))
            else:
                await results.write("result", found[1], outcome[0])
    except asyncio.CancelledError:
        print("closing down")
        raise


RIGHT = [try_except_else, many_at_once, Clerk(), with_polling_and_tidying_up]


# Wrong answers ---------------------------------------------------------------------------------------


async def dies_at_the_first_error(tasks, results, dead, process):
    """Nothing is caught."""
    while True:
        _, n = await tasks.take("task", int)
        await results.write("result", n, await process(n))


async def drops_the_task(tasks, results, dead, process):
    """The error is caught, and nobody hears of it."""
    while True:
        _, n = await tasks.take("task", int)
        try:  # noqa: SIM105
            await results.write("result", n, await process(n))
        except Exception:
            pass


async def writes_to_both_places(tasks, results, dead, process):
    """What stands after try is done in any case."""
    while True:
        _, n = await tasks.take("task", int)
        value = None
        try:
            value = await process(n)
        except Exception as error:
            await dead.write("dead", n, str(error))
        await results.write("result", n, value)


async def swallows_cancellation(tasks, results, dead, process):
    """A bare except catches the cancellation as well."""
    while True:
        try:
            _, n = await tasks.take("task", int)
            await results.write("result", n, await process(n))
        except Exception as error:
            await dead.write("dead", n, str(error))
        except:  # noqa: E722
            pass


async def buries_what_was_cancelled(tasks, results, dead, process):
    """Being cancelled is no failure of the task."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            value = await process(n)
        except BaseException as error:
            await dead.write("dead", n, str(error))
            if not isinstance(error, Exception):
                raise
        else:
            await results.write("result", n, value)


async def returns_when_cancelled(tasks, results, dead, process):
    """The cancellation ends the consumer, but who cancelled it does not see that."""
    try:
        await try_except_else(tasks, results, dead, process)
    except asyncio.CancelledError:
        return


async def takes_falsy_for_failed(tasks, results, dead, process):
    """0, None and "" are results."""
    while True:
        _, n = await tasks.take("task", int)
        reason = "no value"
        try:
            value = await process(n)
        except Exception as error:
            value, reason = None, str(error)
        if value:
            await results.write("result", n, value)
        else:
            await dead.write("dead", n, reason)


async def drops_falsy_values(tasks, results, dead, process):
    """A result of nothing is not written at all."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            if value := await process(n):
                await results.write("result", n, value)
        except Exception as error:
            await dead.write("dead", n, str(error))


async def writes_the_value_as_text(tasks, results, dead, process):
    """0 and "0" are two values."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            await results.write("result", n, str(await process(n)))
        except Exception as error:
            await dead.write("dead", n, str(error))


async def catches_value_errors_only(tasks, results, dead, process):
    """Other errors end the consumer."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            await results.write("result", n, await process(n))
        except ValueError as error:
            await dead.write("dead", n, str(error))


async def names_only_the_kind(tasks, results, dead, process):
    """The reason is the name of the error's class."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            await results.write("result", n, await process(n))
        except Exception as error:
            await dead.write("dead", n, type(error).__name__)


async def hands_over_the_error_itself(tasks, results, dead, process):
    """The reason is an exception in place of its text."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            await results.write("result", n, await process(n))
        except Exception as error:
            await dead.write("dead", n, error)


async def buries_the_task_as_it_is(tasks, results, dead, process):
    """The dead letter begins with another word than asked for."""
    while True:
        async with tasks.claim("task", int, lease=100) as claim:
            try:
                value = await process(claim.fields[1])
            except Exception as error:
                await claim.bury(dead, str(error))
            else:
                await claim.complete("result", claim.fields[1], value, to=results)


async def tries_again(tasks, results, dead, process):
    """A failed task gets a second run."""
    while True:
        _, n = await tasks.take("task", int)
        for last in (False, True):
            try:
                await results.write("result", n, await process(n))
                break
            except Exception as error:
                if last:
                    await dead.write("dead", n, str(error))


async def reads_instead_of_taking(tasks, results, dead, process):
    """The same task over and over."""
    while True:
        _, n = await tasks.read("task", int)
        try:
            await results.write("result", n, await process(n))
        except Exception as error:
            await dead.write("dead", n, str(error))


async def stops_when_it_is_quiet(tasks, results, dead, process):
    """Nothing to do is no reason to go."""
    while found := await tasks.try_take("task", int):
        try:
            await results.write("result", found[1], await process(found[1]))
        except Exception as error:
            await dead.write("dead", found[1], str(error))


async def leaves_after_half_a_minute(tasks, results, dead, process):
    """Gives up when there is no task for a while."""
    while True:
        try:
            _, n = await tasks.take("task", int, timeout=30)
        except TimeoutError:
            return
        try:
            value = await process(n)
        except Exception as error:
            await dead.write("dead", n, str(error))
        else:
            await results.write("result", n, value)


async def waits_for_text(tasks, results, dead, process):
    """The numbers are ints."""
    while True:
        await tasks.take("task", str)


async def sleeps(tasks, results, dead, process):
    """Does nothing at all."""
    await asyncio.Event().wait()


async def spins(tasks, results, dead, process):
    """Asks without a pause."""
    while True:
        await tasks.try_take("task", ANY, ANY)


async def forgets_await(tasks, results, dead, process):
    """The dead letter is never written."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            await results.write("result", n, await process(n))
        except Exception as error:
            dead.write("dead", n, str(error))


WRONG = [
    Wrong(dies_at_the_first_error, "not yet", "ended with ValueError: account 11 is closed"),
    Wrong(
        drops_the_task, "not yet", "failed with ValueError('account 11 is closed'), and nothing was written"
    ),
    Wrong(writes_to_both_places, "not yet", "a task ends in one place, once"),
    Wrong(swallows_cancellation, "not yet", "CancelledError passes through consumer"),
    Wrong(buries_what_was_cancelled, "not yet", "task 99 was cancelled"),
    Wrong(returns_when_cancelled, "not yet", "it returned as if nothing had happened"),
    Wrong(takes_falsy_for_failed, "not yet", "but task 3 had succeeded"),
    Wrong(drops_falsy_values, "not yet", "task 3 returned 0, and nothing was written about it"),
    Wrong(
        writes_the_value_as_text, "not yet", "task 3 got the result '0' (str); process had returned 0 (int)"
    ),
    Wrong(catches_value_errors_only, "not yet", "ended with KeyError: 'price'"),
    Wrong(
        names_only_the_kind, "not yet", "got the reason 'ValueError'; the error says 'account 11 is closed'"
    ),
    Wrong(hands_over_the_error_itself, "not yet", 'the form ("dead", n, reason), the reason as text'),
    Wrong(buries_the_task_as_it_is, "not yet", "wrote ('task', 11, 'account 11 is closed') to dead"),
    Wrong(tries_again, "not yet", "processed task 11 a second time"),
    Wrong(reads_instead_of_taking, "not yet", "processed task 4 a second time"),
    Wrong(stops_when_it_is_quiet, "not yet", "it returned, and whatever comes later would wait in vain"),
    Wrong(leaves_after_half_a_minute, "not yet", "consumer goes on for ever"),
    Wrong(waits_for_text, "not yet", "asked is str"),
    Wrong(sleeps, "proved nothing", "nobody took a task or waited for one"),
    Wrong(spins, "not yet", "lets time go on: every loop in it waits somewhere"),
    Wrong(forgets_await, "not yet", "write await before write(...)"),
]
