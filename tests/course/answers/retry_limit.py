"""retry-limit: three tries for each task."""

from __future__ import annotations

import asyncio

from answers import Wrong
from tutorial_lib import ANY, where
from tutorial_lib.course import NotAttempted
from tutorial_lib.recovery import Recovery, bury_after


async def stub(tasks, results, dead, process):
    """Three tries for each task, also across crashes."""
    raise NotAttempted


def now():
    """The running loop is the clock."""
    return asyncio.get_running_loop().time()


# Right answers ---------------------------------------------------------------------------------------


async def with_claims(tasks, results, dead, process):
    """The claim counts, and gives back."""
    while True:
        async with tasks.claim("task", int, lease=30) as claim:
            n = claim.fields[1]
            if claim.attempt > 3:
                await claim.complete("dead", n, "lost three times", to=dead)
                continue
            try:
                value = await process(n)
            except Exception as error:
                print("attempt", claim.attempt, "of task", n, "failed")
                if claim.attempt == 3:
                    await claim.complete("dead", n, str(error), to=dead)
                else:
                    await claim.release()
            else:
                await claim.complete("result", n, value, to=results)


class Careful:
    """A class that renews a short lease while it works, and buries by hand."""

    def __init__(self, lease):
        self.lease = lease

    async def keep(self, claim):
        """Renew the lease again and again."""
        while True:
            await asyncio.sleep(self.lease / 3)
            await claim.renew(self.lease)

    async def work(self, tasks, results, dead, process):
        """Be a worker."""
        while True:
            async with tasks.claim("task", ANY, lease=self.lease) as claim:
                _, n = claim.fields
                if claim.attempt <= 3:
                    keeper = asyncio.create_task(self.keep(claim), name="keeper")
                    try:
                        value = await process(n)
                        await claim.complete("result", n, value, to=results)
                        continue
                    except Exception as error:
                        reason = str(error)
                    finally:
                        keeper.cancel()
                else:
                    reason = "its workers crashed"
                if claim.attempt >= 3:
                    await claim.complete("dead", n, reason, to=dead)
                else:
                    await claim.release()


async def with_states_in_the_space(tasks, results, dead, process):
    """A tuple says who runs what since when, and how often it failed; whoever is idle looks for lost ones."""
    late = where(lambda since: now() - since > 25, "older than 25 s")
    while True:
        lost = await tasks.try_take("running", int, int, late)
        found = lost or await tasks.try_take("again", int, int) or await tasks.try_take("task", int)
        if not found:
            await asyncio.sleep(0.3)
            continue
        n = found[1]
        failures = (found[2] if len(found) > 2 else 0) + (1 if lost else 0)
        if failures >= 3:
            await dead.write("dead", n, "lost")
            continue
        mine = ("running", n, failures, now())
        await tasks.write(*mine)
        try:
            value = await process(n)
        except asyncio.CancelledError:
            await tasks.replace(mine, ("again", n, failures))
            raise
        except Exception as error:
            if await tasks.try_take(*mine):
                if failures == 2:
                    await dead.write("dead", n, f"third failure: {error}")
                else:
                    await tasks.write("again", n, failures + 1)
        else:
            if await tasks.try_take(*mine):
                await results.write("result", n, value)


RIGHT = [with_claims, Careful(6).work, with_states_in_the_space]


# Wrong answers ---------------------------------------------------------------------------------------


def claiming(*, lease=30.0, last=3, catches=Exception, falsy_fails=False, reason=str, buries_third=False):
    """Make an answer with claims that is right but for what is said."""

    async def answer(tasks, results, dead, process):
        while True:
            async with tasks.claim("task", int, lease=lease) as claim:
                n = claim.fields[1]
                if claim.attempt > last or (buries_third and claim.attempt == last):
                    await claim.complete("dead", n, "too often", to=dead)
                    continue
                try:
                    value = await process(n)
                    if falsy_fails and not value:
                        raise ValueError("no value")
                except catches as error:
                    if claim.attempt >= last:
                        await claim.complete("dead", n, reason(error), to=dead)
                    else:
                        await claim.release()
                else:
                    await claim.complete("result", n, value, to=results)

    return answer


def named(name, answer):
    """Give an answer a name."""
    answer.__name__ = name
    return answer


async def counts_in_the_worker(tasks, results, dead, process):
    """Each worker has a count of its own, and it dies with it."""
    failures = {}
    while True:
        _, n = await tasks.take("task", int)
        try:
            await results.write("result", n, await process(n))
        except Exception as error:
            failures[n] = failures.get(n, 0) + 1
            if failures[n] == 3:
                await dead.write("dead", n, str(error))
            else:
                await tasks.write("task", n)


async def takes_without_a_claim(tasks, results, dead, process):
    """Counts in the tuple, and loses it in a crash."""
    while True:
        found = await tasks.try_take("again", int, int) or await tasks.try_take("task", int)
        if not found:
            await asyncio.sleep(0.1)
            continue
        n, failures = found[1], found[2] if len(found) > 2 else 0
        try:
            value = await process(n)
        except asyncio.CancelledError:
            await tasks.write("again", n, failures)
            raise
        except Exception as error:
            if failures == 2:
                await dead.write("dead", n, str(error))
            else:
                await tasks.write("again", n, failures + 1)
        else:
            await results.write("result", n, value)


async def tries_thrice_on_the_spot(tasks, results, dead, process):
    """Three tries in a row, and no word of it in the space."""
    while True:
        async with tasks.claim("task", int, lease=40) as claim:
            n = claim.fields[1]
            for attempt in (1, 2, 3):
                try:
                    value = await process(n)
                except Exception as error:
                    if attempt == 3:
                        await claim.complete("dead", n, str(error), to=dead)
                else:
                    await claim.complete("result", n, value, to=results)
                    break


async def one_count_for_all(tasks, results, dead, process):
    """The failures of all tasks together."""
    failures = 0
    while True:
        async with tasks.claim("task", int, lease=30) as claim:
            n = claim.fields[1]
            try:
                value = await process(n)
            except Exception as error:
                failures += 1
                if failures >= 3:
                    await claim.complete("dead", n, str(error), to=dead)
                else:
                    await claim.release()
            else:
                await claim.complete("result", n, value, to=results)


async def buries_with_the_wrong_word(tasks, results, dead, process):
    """bury keeps the first field."""
    while True:
        async with tasks.claim("task", int, lease=30) as claim:
            n = claim.fields[1]
            try:
                value = await process(n)
            except Exception as error:
                if claim.attempt >= 3:
                    await claim.bury(dead, str(error))
                else:
                    await claim.release()
            else:
                await claim.complete("result", n, value, to=results)


async def never_gives_back(tasks, results, dead, process):
    """A failed task is dropped."""
    while True:
        _, n = await tasks.take("task", int)
        try:
            await results.write("result", n, await process(n))
        except Exception:
            print("that went wrong")


async def dies_of_the_error(tasks, results, dead, process):
    """Nothing is caught."""
    while True:
        async with tasks.claim("task", int, lease=30) as claim:
            n = claim.fields[1]
            await claim.complete("result", n, await process(n), to=results)


async def goes_home(tasks, results, dead, process):
    """One task, and no more."""
    async with tasks.claim("task", int, lease=30) as claim:
        n = claim.fields[1]
        await claim.complete("result", n, await process(n), to=results)


async def does_nothing(tasks, results, dead, process):
    """Waits for better times."""
    await asyncio.sleep(10_000)


async def uses_our_recovery(tasks, results, dead, process):
    """The part that the exercise asks to build."""
    async with Recovery(tasks, [bury_after(3)], timeout=30, every=5):
        await with_claims(tasks, results, dead, process)


def always(text):
    """Make a reason that does not look at the error."""
    return lambda error: text


WRONG = [
    Wrong(named("two_tries", claiming(last=2)), "not yet", "and it had failed 2 times"),
    Wrong(named("four_tries", claiming(last=4)), "not yet", "after 3 failures"),
    Wrong(
        named("third_success_is_dead", claiming(buries_third=True)), "not yet", "and it had failed 2 times"
    ),
    Wrong(
        named("lease_too_short", claiming(lease=5.0)), "not yet", "nobody runs a task while another worker"
    ),
    Wrong(named("lease_too_long", claiming(lease=100.0)), "not yet", "the task had not begun again"),
    Wrong(
        named("counts_cancellation", claiming(catches=BaseException)),
        "not yet",
        "CancelledError passes through",
    ),
    Wrong(named("falsy_is_failure", claiming(falsy_fails=True)), "not yet", "which had been settled at"),
    Wrong(
        named("says_nothing_of_the_error", claiming(reason=always("gave up"))),
        "not yet",
        "the last error of task 4",
    ),
    Wrong(named("reason_is_no_text", claiming(reason=lambda error: error)), "not yet", "the reason as text"),
    Wrong(named("lease_a_little_too_long", claiming(lease=61.0)), "not yet", "the task had not begun again"),
    Wrong(
        named("catches_what_it_knows", claiming(catches=(RuntimeError, ValueError))),
        "not yet",
        "does not end catches_what_it_knows",
    ),
    Wrong(counts_in_the_worker, "not yet", "crashed at 1.5 s, and at"),
    Wrong(takes_without_a_claim, "not yet", "crashed at 1.5 s, and at"),
    Wrong(tries_thrice_on_the_spot, "not yet", "after 3 failures"),
    Wrong(one_count_for_all, "not yet", "a task is dead after its third failure, and not before"),
    Wrong(buries_with_the_wrong_word, "not yet", "wrote ('task', 4, 'task 4, run 3') to dead"),
    Wrong(never_gives_back, "not yet", "and nothing came after that"),
    Wrong(dies_of_the_error, "not yet", "does not end dies_of_the_error"),
    Wrong(goes_home, "not yet", "does not end goes_home"),
    Wrong(does_nothing, "proved nothing", "nobody took a task or waited for one"),
    Wrong(uses_our_recovery, "not yet", "Recovery did the work"),
]
