"""One suite, run against a space in memory and against one on a server: the program must not notice.

Where a network makes a promise weaker, the weaker one stands here; `tutorial_lib.engine` lists them.
"""

from __future__ import annotations

import asyncio

import pytest
from server_help import LONG, claimed, ended, pass_time, promised, started

from tutorial_lib import ANY, SpaceClosed, SpaceManager, StaleClaim, Trace, actor, where

# --- Matching ----------------------------------------------------------------------------------------

EVERY_KIND = (
    None,
    True,
    7,
    -(2**80),
    1.5,
    float("inf"),
    "text",
    b"bytes",
    [1, [2]],
    (1, (2,)),
    {"a": (1, 2)},
)


@promised
async def test_every_kind_of_value_comes_back_as_it_was(manager: SpaceManager) -> None:
    """Also nested, and a tuple stays a tuple."""
    space = manager.space("tasks")
    await space.write(*EVERY_KIND)
    found = await space.take(*[ANY] * len(EVERY_KIND))
    assert found == EVERY_KIND
    assert [type(value) for value in found] == [type(value) for value in EVERY_KIND]


@promised
async def test_every_kind_of_value_is_found_by_itself(manager: SpaceManager) -> None:
    """Anything that is no class, wildcard or test matches an equal value."""
    space = manager.space("tasks")
    await space.write(*EVERY_KIND)
    for number, value in enumerate(EVERY_KIND):
        pattern = [ANY] * len(EVERY_KIND)
        pattern[number] = value
        assert await space.count(*pattern) == 1, value


@promised
async def test_one_true_and_one_point_zero_are_three_different_values(manager: SpaceManager) -> None:
    """And ``int`` does not match ``True``."""
    space = manager.space("tasks")
    await space.write_many([("x", 1), ("x", True), ("x", 1.0)])
    for value in (1, True, 1.0):
        (found,) = await space.read_all("x", value)
        assert type(found[1]) is type(value)
        assert await space.read_all("x", type(value)) == [found]


@promised
async def test_nested_values_are_compared_by_equality(manager: SpaceManager) -> None:
    """Inside a list ``1``, ``True`` and ``1.0`` are the same, and a dictionary has no order."""
    space = manager.space("tasks")
    await space.write([1, {"a": 1, "b": 0.0}])
    assert await space.count([True, {"b": -0.0, "a": 1.0}]) == 1
    assert await space.count((1, {"a": 1, "b": 0.0})) == 0


@promised
async def test_a_nan_equals_nothing(manager: SpaceManager) -> None:
    """Itself included; its class matches all the same."""
    space = manager.space("tasks")
    await space.write(float("nan"))
    assert await space.count(float("nan")) == 0
    assert await space.count(float) == 1


@promised
async def test_zero_equals_minus_zero(manager: SpaceManager) -> None:
    """They are two spellings of one value."""
    space = manager.space("tasks")
    await space.write(-0.0)
    assert await space.try_take(0.0) == (0.0,)


@promised
async def test_lengths_must_be_equal(manager: SpaceManager) -> None:
    """A pattern asks for tuples of its own length."""
    space = manager.space("tasks")
    await space.write("task", 1)
    assert await space.try_read("task") is None
    assert await space.try_read("task", 1, ANY) is None


@promised
async def test_each_class_matches_its_instances(manager: SpaceManager) -> None:
    """Of the kinds that travel."""
    space = manager.space("tasks")
    values = (None, True, 7, 1.5, "text", b"bytes", [1], (1,), {"a": 1})
    await space.write_many([("x", value) for value in values])
    for value in values:
        assert await space.read_all("x", type(value)) == [("x", value)]


@promised
async def test_long_values_are_told_apart(manager: SpaceManager) -> None:
    """Also when they differ only at the end."""
    space = manager.space("tasks")
    await space.write("x" * 10_000 + "a")
    assert await space.try_take("x" * 10_000 + "b") is None
    assert await space.try_take("x" * 10_000 + "a") is not None


@promised
async def test_where_matches_by_its_test(manager: SpaceManager) -> None:
    """In every operation that has a pattern."""
    space = manager.space("tasks")
    await space.write_many([("task", n) for n in range(300)])
    late = where(lambda n: n >= 250, "late")
    assert await space.try_read("task", late) == ("task", 250)
    assert await space.count("task", late) == 50
    assert await space.take("task", late) == ("task", 250)
    assert await space.replace(("task", late), ("new", 0)) == ("task", 251)
    assert await space.take_all("task", late, limit=2) == [("task", 252), ("task", 253)]
    assert len(await space.read_all("task", late)) == 46
    async with space.claim("task", late, lease=LONG) as claim:
        assert claim.fields == ("task", 254)
    assert await space.try_take("task", where(lambda n: n > 900, "none")) is None


@promised
async def test_a_waiting_where_is_served_by_a_write(manager: SpaceManager) -> None:
    """And the tuples that it does not want stay."""
    space = manager.space("tasks")
    large = where(lambda n: n > 5, "large")
    taker = await started(space, space.take("task", large))
    reader = await started(space, space.read("task", where(lambda n: n == 1, "one")))
    await space.write_many([("task", 1), ("task", 9)])
    assert await taker == ("task", 9)
    assert await reader == ("task", 1)
    assert await space.read_all() == [("task", 1)]


@promised
async def test_the_error_of_a_test_belongs_to_its_owner(manager: SpaceManager) -> None:
    """The writer does not notice, and the tuple is in the space."""
    space = manager.space("tasks")

    def refuse(value: object) -> bool:
        raise LookupError("the test does not like it")

    taker = await started(space, space.take("task", where(refuse)))
    await space.write("task", 1)
    assert isinstance(await ended(taker), LookupError)
    assert await space.read_all() == [("task", 1)]
    assert (await space.stats()).waiting == 0


@promised
async def test_without_a_pattern_everything_is_meant(manager: SpaceManager) -> None:
    """For read_all, take_all and count; whoever takes one tuple must say which."""
    space = manager.space("tasks")
    await space.write_many([("b",), ("a", 1), (2,)])
    assert await space.count() == 3
    assert await space.read_all() == [("b",), ("a", 1), (2,)]
    assert await space.take_all(limit=2) == [("b",), ("a", 1)]
    for operation in (space.take, space.read, space.try_take, space.try_read):
        with pytest.raises(ValueError, match="pattern"):
            await operation()
    with pytest.raises(ValueError, match="pattern"):
        space.claim(lease=1)


@promised
async def test_patterns_cannot_be_written(manager: SpaceManager) -> None:
    """Neither a wildcard, nor a test, nor a class, nor no field at all."""
    space = manager.space("tasks")
    for fields in ((ANY,), (where(bool),), ("task", int), ()):
        with pytest.raises(ValueError, match=r"pattern|field"):
            await space.write(*fields)
    assert await space.count() == 0


# --- Order -------------------------------------------------------------------------------------------


@promised
async def test_the_oldest_match_comes_first(manager: SpaceManager) -> None:
    """Whatever the pattern."""
    space = manager.space("tasks")
    await space.write_many([("b", 1), ("a", 2), ("a", 1)])
    assert await space.take(str, 1) == ("b", 1)
    assert await space.take("a", ANY) == ("a", 2)


@promised
async def test_waiting_takers_are_served_in_order(manager: SpaceManager) -> None:
    """Whatever their patterns, each gets the first tuple that is for it."""
    space = manager.space("tasks")
    patterns = [("task", int), ("task", ANY), ("task", 3), (str, int)]
    takers = [await started(space, space.take(*pattern)) for pattern in patterns]
    for number in range(1, 5):
        await space.write("task", number)
    assert [await taker for taker in takers] == [("task", 1), ("task", 2), ("task", 3), ("task", 4)]


@promised
async def test_a_write_serves_all_readers_and_one_taker(manager: SpaceManager) -> None:
    """Those who read get it also when somebody takes it."""
    space = manager.space("tasks")
    readers = [await started(space, space.read("task", int)) for _ in range(3)]
    takers = [await started(space, space.take("task", int)) for _ in range(2)]
    await space.write("task", 1)
    assert [await task for task in (*readers, takers[0])] == [("task", 1)] * 4
    assert not takers[1].done()
    await space.write("task", 2)
    assert await takers[1] == ("task", 2)


@promised
async def test_a_released_tuple_returns_to_its_old_place(manager: SpaceManager) -> None:
    """It is still older than what was written after it."""
    space = manager.space("tasks")
    await space.write_many([("task", 1), ("task", 2)])
    claim = await claimed(space, "task", int)
    await claim.release()
    assert await space.read_all() == [("task", 1), ("task", 2)]


@promised
async def test_a_waiting_taker_gets_what_is_given_back(manager: SpaceManager) -> None:
    """Before anybody who asks later."""
    space = manager.space("tasks")
    await space.write("task", 1)
    claim = await claimed(space, "task", int)
    taker = await started(space, space.take("task", int))
    await claim.release()
    assert await taker == ("task", 1)


# --- Exactly one place -------------------------------------------------------------------------------


@promised
async def test_each_tuple_goes_to_one_taker(manager: SpaceManager) -> None:
    """Ten takers, a hundred tuples: none twice, none lost."""
    space = manager.space("tasks")
    taken: list[int] = []

    async def consume() -> None:
        for _ in range(10):
            taken.append((await space.take("task", int))[1])

    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(consume())
        await space.write_many([("task", n) for n in range(100)])
    assert sorted(taken) == list(range(100))


@promised
async def test_a_cancelled_taker_has_taken_nothing(manager: SpaceManager) -> None:
    """And it does not stand in the way of the next."""
    space = manager.space("tasks")
    first = await started(space, space.take("task", int))
    second = await started(space, space.take("task", int))
    first.cancel()
    assert isinstance(await ended(first), asyncio.CancelledError)
    await space.write("task", 1)
    assert await second == ("task", 1)


@promised
async def test_a_taker_cancelled_at_any_moment_loses_nothing(manager: SpaceManager) -> None:
    """A tuple on its way to somebody who is gone comes back."""
    space = manager.space("tasks")
    for passes in range(40):
        await space.write("task", passes)
        taker = asyncio.create_task(space.take("task", int))
        for _ in range(passes):
            await asyncio.sleep(0)
        taker.cancel()
        outcome = await ended(taker)
        left = await space.take_all()
        assert (outcome == ("task", passes)) != (left == [("task", passes)]), (passes, outcome, left)


@promised
async def test_a_taker_that_times_out_loses_nothing(manager: SpaceManager) -> None:
    """Writes at about the deadline: the tuple is with the taker or in the space."""
    space = manager.space("tasks")
    for number in range(20):
        taker = asyncio.create_task(space.take("task", int, timeout=0.02))
        await asyncio.sleep(0.016 + number * 0.0004)
        await space.write("task", number)
        outcome = await ended(taker)
        left = await space.take_all()
        assert isinstance(outcome, TimeoutError) == (left == [("task", number)])


# --- Timeouts ----------------------------------------------------------------------------------------


@promised
async def test_a_timeout_of_zero_does_not_wait(manager: SpaceManager) -> None:
    """It takes what is there, or raises."""
    space = manager.space("tasks")
    await space.write("task", 1)
    assert await space.take("task", int, timeout=0) == ("task", 1)
    with pytest.raises(TimeoutError, match=r"take\('task', int\)"):
        await space.take("task", int, timeout=0)
    with pytest.raises(TimeoutError):
        await space.read("task", where(bool), timeout=0)


@promised
async def test_a_wait_ends_at_its_timeout(manager: SpaceManager) -> None:
    """And nobody waits any more."""
    space = manager.space("tasks")
    for pattern in (("task", int), ("task", where(bool))):
        with pytest.raises(TimeoutError, match=r"0\.05 s"):
            await space.take(*pattern, timeout=0.05)
    with pytest.raises(TimeoutError):
        await space.claim("task", int, lease=1, timeout=0.05).__aenter__()
    assert (await space.stats()).waiting == 0


@promised
async def test_the_error_of_a_timeout_names_what_comes_closest(manager: SpaceManager) -> None:
    """In the same words, for every operation, and also for a test."""
    space = manager.space("tasks")
    await space.write_many([("other",), ("task", 3, "queued"), ("flag", True)])
    for pattern, near in (
        (("task", int), "There is ('flag', True): field 1 is 'flag' (str), asked is 'task' (str)."),
        (("flag", 1), "There is ('flag', True): field 2 is True (bool), asked is 1 (int)."),
        (
            ("task", 3, "done"),
            "There is ('task', 3, 'queued'): field 3 is 'queued' (str), asked is 'done' (str).",
        ),
        (("task", 3, ANY, ANY), "There is ('task', 3, 'queued'): 3 fields, 4 asked."),
        (
            ("flag", where(callable)),
            "There is ('flag', True): field 2 is True (bool), asked is where(callable).",
        ),
    ):
        for name in ("take", "read"):
            with pytest.raises(TimeoutError) as error:
                await getattr(space, name)(*pattern, timeout=0.02)
            assert str(error.value).startswith(f"{name}(")
            assert str(error.value).endswith(f": space 'tasks' had no match within 0.02 s. {near}")
    with pytest.raises(TimeoutError, match=r"^claim.*\. There is \('flag', True\): field 1 is"):
        await space.claim("task", int, lease=1, timeout=0.02).__aenter__()
    with pytest.raises(TimeoutError, match=r"had no match at once\.$"):  # whoever polls asks often
        await space.take("task", int, timeout=0)


@promised
async def test_the_error_of_a_timeout_in_an_empty_space_names_nothing(manager: SpaceManager) -> None:
    """And what is claimed is out of sight here, too."""
    space = manager.space("tasks")
    await space.write("task", 1)
    await claimed(space, "task", int)
    with pytest.raises(TimeoutError, match=r"had no match within 0\.02 s\.$"):
        await space.take("task", int, timeout=0.02)


@promised
async def test_wrong_durations_are_refused(manager: SpaceManager) -> None:
    """Negative ones, and none where there must be one."""
    space = manager.space("tasks")
    with pytest.raises(ValueError, match="timeout"):
        await space.take("task", timeout=-1)
    with pytest.raises(ValueError, match="ttl"):
        await space.write("task", ttl=0)
    with pytest.raises(TypeError, match="lease"):
        space.claim("task", lease=None)  # type: ignore[arg-type]


# --- ttl ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("movable_clock")
@promised
async def test_what_is_expired_is_never_seen_again(manager: SpaceManager) -> None:
    """By no operation."""
    space = manager.space("tasks")
    await space.write("task", 1, ttl=LONG)
    await space.write("task", 2)
    assert await space.count() == 2
    await pass_time(manager, LONG)
    assert await space.read_all() == [("task", 2)]
    assert await space.count("task", int) == 1
    assert await space.take("task", int) == ("task", 2)


@promised
async def test_an_expired_tuple_frees_its_room(manager: SpaceManager) -> None:
    """A writer that waited for room gets it."""
    space = manager.space("small", capacity=1)
    await space.write("task", 1, ttl=0.05)
    await space.write("task", 2)
    assert await space.read_all() == [("task", 2)]


@pytest.mark.usefixtures("movable_clock")
@promised
async def test_a_tuple_given_back_keeps_its_deadline(manager: SpaceManager) -> None:
    """A claim does not prolong its life."""
    space = manager.space("tasks")
    await space.write("task", 1, ttl=LONG)
    claim = await claimed(space, "task", int, lease=2 * LONG)
    await pass_time(manager, LONG)
    await claim.release()
    assert await space.count() == 0


# --- capacity ----------------------------------------------------------------------------------------


@promised
async def test_a_write_waits_for_room(manager: SpaceManager) -> None:
    """Until then its tuple is not in the space. Waiting writers are served in order."""
    space = manager.space("small", capacity=1)
    await space.write("task", 0)
    writers = [await started(space, space.write("task", n)) for n in (1, 2)]
    assert await space.read_all() == [("task", 0)]
    assert [await space.take("task", int) for _ in range(3)] == [("task", 0), ("task", 1), ("task", 2)]
    for writer in writers:
        await writer


@promised
async def test_a_write_without_room_times_out(manager: SpaceManager) -> None:
    """It has not written."""
    space = manager.space("small", capacity=1)
    await space.write("task", 0)
    for timeout in (0, 0.05):
        with pytest.raises(TimeoutError, match="room"):
            await space.write("task", 1, timeout=timeout)
    assert await space.take_all() == [("task", 0)]
    assert await space.count() == 0


@promised
async def test_a_claimed_tuple_needs_its_room(manager: SpaceManager) -> None:
    """It may come back. When it is completed the room is free."""
    space = manager.space("small", capacity=1)
    await space.write("task", 0)
    claim = await claimed(space, "task", int)
    writer = await started(space, space.write("task", 1))
    await claim.complete()
    await writer
    assert await space.read_all() == [("task", 1)]


@promised
async def test_a_wanted_tuple_is_handed_over_though_the_space_is_full(manager: SpaceManager) -> None:
    """Both when the taker was first, and when the writer was."""
    space = manager.space("small", capacity=1)
    await space.write("other")
    taker = await started(space, space.take("task", int))
    await space.write("task", 1)
    assert await taker == ("task", 1)
    writer = await started(space, space.write("task", 2))
    assert await space.take("task", int) == ("task", 2)
    await writer
    assert await space.read_all() == [("other",)]


@promised
async def test_write_many_waits_in_between(manager: SpaceManager) -> None:
    """On a timeout the tuples before that are in the space, and the error says how many."""
    space = manager.space("small", capacity=2)
    with pytest.raises(TimeoutError, match="2 of the 3"):
        await space.write_many([(1,), (2,), (3,)], timeout=0.05)
    assert await space.take_all() == [(1,), (2,)]
    writer = await started(space, space.write_many([(n,) for n in range(5)]))
    assert [(await space.take(int))[0] for _ in range(5)] == list(range(5))
    assert await writer == 5


@promised
async def test_the_capacity_of_a_space_is_fixed(manager: SpaceManager) -> None:
    """Who asks for another is refused."""
    await manager.space("small", capacity=2).write(1)
    with pytest.raises(ValueError, match=r"small.*2.*3"):
        await manager.space("small", capacity=3).write(1)


# --- replace -----------------------------------------------------------------------------------------


@promised
async def test_replace_changes_the_oldest_match_and_returns_it(manager: SpaceManager) -> None:
    """The new tuple stands at the end."""
    space = manager.space("tasks")
    await space.write_many([("state", 1), ("state", 2)])
    assert await space.replace(("state", int), ("state", 3)) == ("state", 1)
    assert await space.read_all() == [("state", 2), ("state", 3)]


@promised
async def test_replace_without_a_match_writes_only_with_insert(manager: SpaceManager) -> None:
    """And returns None both times."""
    space = manager.space("tasks")
    assert await space.replace(("state", 1), ("state", 2)) is None
    assert await space.count() == 0
    assert await space.replace(("state", 1), ("state", 2), insert=True) is None
    assert await space.read_all() == [("state", 2)]


@promised
async def test_replace_with_a_test_inserts_when_nothing_passes(manager: SpaceManager) -> None:
    """And replaces when something does."""
    space = manager.space("tasks")
    large = where(lambda n: n > 5, "large")
    assert await space.replace(("state", large), ("state", 9), insert=True) is None
    assert await space.replace(("state", large), ("state", 1), insert=True) == ("state", 9)
    assert await space.read_all() == [("state", 1)]


@promised
async def test_replace_needs_no_room_but_insert_waits_for_it(manager: SpaceManager) -> None:
    """In a full space."""
    space = manager.space("small", capacity=1)
    await space.write("a")
    assert await space.replace(("a",), ("b",)) == ("a",)
    inserting = await started(space, space.replace(("c",), ("d",), insert=True))
    assert await space.take("b") == ("b",)
    assert await inserting is None
    assert await space.read_all() == [("d",)]


@pytest.mark.usefixtures("movable_clock")
@promised
async def test_replace_is_offered_to_waiters_and_forgets_the_old_deadline(manager: SpaceManager) -> None:
    """As a write is."""
    space = manager.space("tasks")
    taker = await started(space, space.take("new", int))
    await space.write_many([("old", 1), ("old", 2)], ttl=LONG)
    await space.replace(("old", int), ("new", 1))
    await space.replace(("old", int), ("kept", 2))
    assert await taker == ("new", 1)
    await pass_time(manager, LONG)
    assert await space.read_all() == [("kept", 2)]


# --- Claims ------------------------------------------------------------------------------------------


@promised
async def test_a_claimed_tuple_is_out_of_sight(manager: SpaceManager) -> None:
    """For read, count and take; it is counted as claimed."""
    space = manager.space("tasks")
    await space.write("task", 1)
    async with space.claim("task", int, lease=LONG) as claim:
        assert (claim.fields, claim.attempt) == (("task", 1), 1)
        assert await space.count() == 0
        assert await space.try_take("task", int) is None
        assert (await space.stats()).claimed == 1
    assert (await space.stats())[1:3] == (0, 0)


@promised
async def test_completing_writes_the_result_into_another_space(manager: SpaceManager) -> None:
    """As one step with the removal of the task."""
    tasks, results = manager.space("tasks"), manager.space("results")
    await tasks.write("task", 3)
    async with tasks.claim("task", int, lease=LONG) as claim:
        await claim.complete("result", 9, to=results)
    assert await results.read_all() == [("result", 9)]
    assert (await tasks.stats())[1:3] == (0, 0)


@promised
async def test_burying_adds_the_reason(manager: SpaceManager) -> None:
    """As one more field."""
    tasks, dead = manager.space("tasks"), manager.space("dead")
    await tasks.write("task", 3)
    async with tasks.claim("task", int, lease=LONG) as claim:
        await claim.bury(dead, "broken")
    assert await dead.read_all() == [("task", 3, "broken")]


@promised
async def test_leaving_with_an_error_gives_the_tuple_back(manager: SpaceManager) -> None:
    """The error goes on, and the attempt counts."""
    space = manager.space("tasks")
    await space.write("task", 1)
    with pytest.raises(LookupError):
        async with space.claim("task", int, lease=LONG):
            raise LookupError
    claim = await claimed(space, "task", int)
    assert claim.attempt == 2


@promised
async def test_a_delivery_ended_by_cancellation_does_not_count(manager: SpaceManager) -> None:
    """The worker was dismissed; the task is not to blame."""
    space = manager.space("tasks")
    await space.write("task", 1)

    async def work() -> None:
        async with space.claim("task", int, lease=LONG):
            await asyncio.Event().wait()

    worker = asyncio.create_task(work())
    while not (await space.stats()).claimed:
        await asyncio.sleep(0.005)
    worker.cancel()
    await ended(worker)
    assert (await claimed(space, "task", int)).attempt == 1


@promised
async def test_a_lapsed_lease_gives_the_tuple_back(manager: SpaceManager) -> None:
    """To the one who waits for it, as a second attempt with a higher token."""
    space = manager.space("tasks")
    await space.write("task", 1)
    late = await claimed(space, "task", int, lease=0.05)
    second = await claimed(space, "task", int)
    assert second.attempt == 2
    assert second.token > late.token


@promised
async def test_whatever_is_done_too_late_is_refused(manager: SpaceManager) -> None:
    """And changes nothing."""
    space = manager.space("tasks")
    await space.write("task", 1)
    for act in (
        lambda claim: claim.complete("result", 1),
        lambda claim: claim.renew(1),
        lambda claim: claim.release(),
        lambda claim: claim.bury(space, "why"),
    ):
        claim = await claimed(space, "task", int, lease=0.02)
        await asyncio.sleep(0.03)
        with pytest.raises(StaleClaim, match="lease was over"):
            await act(claim)
        assert await space.read_all() == [("task", 1)]


@promised
async def test_who_is_late_cannot_end_the_claim_of_the_next(manager: SpaceManager) -> None:
    """The same tuple is held by somebody else by then."""
    space = manager.space("tasks")
    await space.write("task", 1)
    late = await claimed(space, "task", int, lease=0.02)
    second = await claimed(space, "task", int)
    for act in (late.complete("result", "late"), late.release(), late.renew(60)):
        with pytest.raises(StaleClaim):
            await act
    await second.complete("result", "second")
    assert await space.read_all() == [("result", "second")]


@promised
async def test_leaving_the_block_too_late_is_refused(manager: SpaceManager) -> None:
    """What was done in it does not count."""
    space = manager.space("tasks")
    await space.write("task", 1)
    with pytest.raises(StaleClaim):
        async with space.claim("task", int, lease=0.02):
            await asyncio.sleep(0.03)


@pytest.mark.usefixtures("movable_clock")
@promised
async def test_renewing_keeps_the_claim(manager: SpaceManager) -> None:
    """For the new lease from now on."""
    space = manager.space("tasks")
    await space.write("task", 1)
    async with space.claim("task", int, lease=LONG) as claim:
        before = claim.deadline
        await claim.renew(3 * LONG)
        assert claim.deadline > before
        await pass_time(manager, LONG)
        await claim.complete("done")
    assert await space.read_all() == [("done",)]


@promised
async def test_a_claim_ends_once(manager: SpaceManager) -> None:
    """Then everything is refused."""
    space = manager.space("tasks")
    await space.write("task", 1)
    async with space.claim("task", int, lease=LONG) as claim:
        await claim.complete()
        with pytest.raises(StaleClaim, match="completed already"):
            await claim.complete("twice")
    assert await space.count() == 0


@promised
async def test_completing_waits_for_room_while_the_lease_lasts(manager: SpaceManager) -> None:
    """In a full space for results."""
    tasks, results = manager.space("tasks"), manager.space("results", capacity=1)
    await results.write("old")
    await tasks.write_many([("task", 1), ("task", 2)])
    completing = await started(results, (await claimed(tasks, "task", int)).complete("new", to=results))
    assert await results.take("old") == ("old",)
    await completing
    assert await results.read_all() == [("new",)]
    late = await claimed(tasks, "task", int, lease=0.05)
    with pytest.raises(StaleClaim):
        await late.complete("newer", to=results)
    assert await tasks.read_all() == [("task", 2)]


@promised
async def test_a_closed_space_for_results_leaves_the_claim_open(manager: SpaceManager) -> None:
    """It can be completed elsewhere."""
    tasks, results = manager.space("tasks"), manager.space("results")
    await results.close()
    await tasks.write("task", 1)
    async with tasks.claim("task", int, lease=LONG) as claim:
        with pytest.raises(SpaceClosed):
            await claim.complete("result", to=results)
        await claim.complete("result")
    assert await tasks.read_all() == [("result",)]


@promised
async def test_a_result_goes_to_a_space_of_the_same_manager(manager: SpaceManager) -> None:
    """Anything else is refused, and the claim stays open."""
    tasks = manager.space("tasks")
    await tasks.write("task", 1)
    async with tasks.claim("task", int, lease=LONG) as claim:
        with pytest.raises(ValueError, match="same manager"):
            await claim.complete("result", to="results")  # type: ignore[arg-type]


# --- watch, stats, close -----------------------------------------------------------------------------


@promised
async def test_a_watch_sees_what_happens_after_it_was_entered(manager: SpaceManager) -> None:
    """In order, with who did it, until the space is closed."""
    space = manager.space("tasks")
    await space.write("before")
    async with space.watch() as events:
        with actor("w1"):
            await space.write("task", 1)
            await space.take("task", int)
            await space.replace(("before",), ("after",))
        async with space.claim("after", lease=LONG) as claim:
            await claim.renew(2 * LONG)
        await space.close()
        seen = [(event.kind, event.actor, event.fields) async for event in events]
    assert seen == [
        ("write", "w1", ("task", 1)),
        ("take", "w1", ("task", 1)),
        ("replace", "w1", ("after",)),
        ("claim", "main", ("after",)),
        ("renew", "main", ("after",)),
        ("complete", "main", ("after",)),
        ("shut", "main", ()),
    ]


@promised
async def test_a_watch_can_be_narrowed(manager: SpaceManager) -> None:
    """To a pattern and to kinds."""
    space = manager.space("tasks")
    async with space.watch("task", int, kinds=["write"]) as events:
        await space.write_many([("other", 1), ("task", 1)])
        await space.take("task", 1)
        await space.close()
        assert [event.fields async for event in events] == [("task", 1)]


@promised
async def test_a_watch_with_a_limit_says_what_it_missed(manager: SpaceManager) -> None:
    """The newest events stay."""
    space = manager.space("tasks")
    async with space.watch(kinds=["write"], limit=2) as events, space.watch(kinds=["write"]) as full:
        await space.write_many([(n,) for n in range(5)])
        await space.close()
        assert [event.fields async for event in full] == [(n,) for n in range(5)]
        seen = [event async for event in events]
    assert [event.fields for event in seen] == [(3,), (4,)]
    assert seen[0].detail["missed"] == 3


@promised
async def test_the_end_of_a_ttl_and_of_a_lease_are_seen(manager: SpaceManager) -> None:
    """Within a second, though nobody uses the space."""
    space = manager.space("tasks")
    await space.write("task", 1)
    async with space.watch(kinds=["expire", "lapse"]) as events:
        await claimed(space, "task", int, lease=0.02)
        await space.write("beat", ttl=0.02)
        seen = {(event.kind, event.fields) for event in [await anext(events), await anext(events)]}
    assert seen == {("lapse", ("task", 1)), ("expire", ("beat",))}


@promised
async def test_a_trace_holds_what_this_program_did(manager: SpaceManager) -> None:
    """The names of the events are the same everywhere."""
    space = manager.space("tasks")
    with Trace() as trace:
        await space.write("task", 1)
        async with space.claim("task", int, lease=LONG) as claim:
            await claim.complete("result", 1)
        await space.take("result", int)
    assert [(event.kind, event.space, event.fields) for event in trace] == [
        ("write", "tasks", ("task", 1)),
        ("claim", "tasks", ("task", 1)),
        ("complete", "tasks", ("task", 1)),
        ("write", "tasks", ("result", 1)),
        ("take", "tasks", ("result", 1)),
    ]


@promised
async def test_a_trace_notes_who_was_refused(manager: SpaceManager) -> None:
    """Finishing a task after losing it is seen in the picture."""
    space = manager.space("tasks")
    await space.write("task", 1)
    with Trace() as trace, actor("w1"):
        claim = await claimed(space, "task", int, lease=0.01)
        await asyncio.sleep(0.02)
        with pytest.raises(StaleClaim):
            await claim.complete()
    (note,) = [event for event in trace if event.kind == "note"]
    assert (note.actor, note.space, note.fields) == ("w1", "tasks", ("task", 1))
    assert note.detail == {"text": "refused", "step": "complete"}


@promised
async def test_the_waiters_are_known(manager: SpaceManager) -> None:
    """By name, operation and pattern, in order of arrival."""
    space = manager.space("tasks")
    taker = await started(space, space.take("task", int), name="w1")
    reader = await started(space, space.read("task", ANY, where(bool, "true")), name="w2")
    assert (await space.stats()).waiting == 2
    first, second = await space.waiters()
    assert first == ("w1", "take", ("task", int))
    assert (second.actor, second.operation) == ("w2", "read")
    assert repr(second.pattern) == "('task', ANY, where(true))"
    taker.cancel()
    reader.cancel()


@promised
async def test_whoever_waits_for_room_is_known_by_its_tuple(manager: SpaceManager) -> None:
    """Of many tuples, by the one that has no room yet."""
    space, results = manager.space("small", capacity=1), manager.space("tasks")
    await results.write("task", 1)
    writer = await started(space, space.write_many([(0,), (1,), (2,)]), name="w1")
    inserter = await started(space, space.replace(("none",), ("new",), insert=True), name="w2")
    claim = await claimed(results, "task", int)
    finisher = await started(space, claim.complete("done", to=space), name="w3")
    assert await space.waiters() == [
        ("w1", "write_many", (1,)),
        ("w2", "replace", ("new",)),
        ("w3", "complete", ("done",)),
    ]
    assert await space.take(0) == (0,)
    while ("w1", "write_many", (2,)) not in await space.waiters():
        await asyncio.sleep(0.005)
    for task in (writer, inserter, finisher):
        task.cancel()


@promised
async def test_a_closed_space_serves_what_is_left(manager: SpaceManager) -> None:
    """Then it raises in place of waiting, and writes raise at once."""
    space = manager.space("tasks")
    await space.write("task", 1)
    await space.close()
    await space.close()
    assert (await space.stats()).closed
    with pytest.raises(SpaceClosed):
        await space.write("task", 2)
    assert await space.take("task", int) == ("task", 1)
    assert await space.try_take("task", int) is None
    for operation in (space.take("task", int), space.read("task", where(bool))):
        with pytest.raises(SpaceClosed):
            await operation


@promised
async def test_closing_ends_every_wait(manager: SpaceManager) -> None:
    """Of takers, readers, tests, claims and writers. A claim may still complete."""
    space = manager.space("small", capacity=1)
    await space.write("task", 1)
    claim = await claimed(space, "task", int)
    waiting = [
        await started(space, operation)
        for operation in (
            space.take("x"),
            space.read("x"),
            space.take(where(lambda value: value == "x")),
            claimed(space, "x"),
            space.write("y"),
        )
    ]
    await space.close()
    outcomes = [await ended(task) for task in waiting]
    assert [type(outcome) for outcome in outcomes] == [SpaceClosed] * 5
    await claim.complete()


@promised
async def test_a_closed_manager_accepts_nothing(manager: SpaceManager) -> None:
    """Neither for old spaces nor for new ones."""
    space = manager.space("tasks")
    await space.write("task", 1)
    taker = await started(space, space.take("x"))
    await manager.close()
    assert isinstance(await ended(taker), SpaceClosed)
    with pytest.raises(SpaceClosed):
        await space.write("task", 2)
    with pytest.raises(SpaceClosed):
        manager.space("other")


@promised
async def test_names_may_hold_anything(manager: SpaceManager) -> None:
    """Separators, newlines and braces make no difference."""
    names = ["a:b", "a", "b:a", "a\n", "{a}", "", "tuples:a", "é\u0000x", "shapes:1:a"]
    for number, name in enumerate(names):
        await manager.space(name).write("task", number)
    for number, name in enumerate(names):
        assert await manager.space(name).take_all() == [("task", number)]
