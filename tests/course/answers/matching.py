"""matching: five questions to a space."""

from __future__ import annotations

from answers import Wrong
from tutorial_lib import ANY, where
from tutorial_lib.course import NotAttempted


async def stub(space):
    """Five lists of tuples."""
    first = await space.read_all("task", ...)
    raise NotAttempted
    return first


# Right answers ---------------------------------------------------------------------------------------


async def five_patterns(space):
    """One pattern for each question."""
    return [
        await space.read_all("task", int),
        await space.read_all("task", ANY),
        await space.read_all("task", ANY, "queued"),
        await space.read_all("flag", 1),
        await space.read_all(ANY, float, ANY),
    ]


async def by_hand(space):
    """Everything is read once and sorted out in Python."""
    everything = await space.read_all()
    print(everything)
    pairs = [fields for fields in everything if len(fields) == 2]
    triples = [fields for fields in everything if len(fields) == 3]
    return (
        [fields for fields in pairs if fields[0] == "task" and type(fields[1]) is int],
        [fields for fields in pairs if fields[0] == "task"],
        [fields for fields in triples if fields[0] == "task" and fields[2] == "queued"],
        [fields for fields in pairs if fields[0] == "flag" and type(fields[1]) is int and fields[1] == 1],
        [fields for fields in triples if isinstance(fields[1], float)],
    )


async def with_tests(space):
    """Predicates in place of classes."""
    whole = where(lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number")
    broken = where(lambda value: isinstance(value, float), "a float")
    patterns = [
        ("task", whole),
        ("task", object),
        ("task", object, "queued"),
        ("flag", 1),
        (ANY, broken, ANY),
    ]
    return [await space.read_all(*pattern) for pattern in patterns]


RIGHT = [five_patterns, by_hand, with_tests]


# Wrong answers ---------------------------------------------------------------------------------------


async def changed(space, number, *pattern):
    """The right five lists, but for one pattern."""
    lists = await five_patterns(space)
    lists[number - 1] = await space.read_all(*pattern)
    return lists


async def forgets_the_number(space):
    """ANY where an int is asked."""
    return await changed(space, 1, "task", ANY)


async def takes_true_for_a_number(space):
    """In plain Python True is an int, and equal to 1."""
    lists = await by_hand(space)
    lists[3][:] = [fields for fields in await space.read_all("flag", ANY) if fields[1] == 1]
    return lists


async def one_field_too_many(space):
    """A pattern of three fields matches no pair."""
    return await changed(space, 2, "task", ANY, ANY)


async def whole_number_for_float(space):
    """int and float are two kinds."""
    return await changed(space, 5, ANY, int, ANY)


async def only_tasks_with_a_float(space):
    """The first field may be anything."""
    return await changed(space, 5, "task", float, ANY)


async def takes_them(space):
    """What is taken is gone."""
    lists = await five_patterns(space)
    lists[0] = await space.take_all("task", int)
    return lists


async def sorted_by_size(space):
    """Oldest first is asked, and not smallest first."""
    lists = await five_patterns(space)
    return [sorted(lists[0]), *lists[1:]]


async def only_the_first_of_each(space):
    """One tuple in place of a list."""
    lists = await five_patterns(space)
    return [found[:1] for found in lists]


async def far_too_many(space):
    """A list that would take long to look through."""
    return [[("task", 3)] * 1_000_000] * 5


async def four_lists(space):
    """One is missing."""
    return (await five_patterns(space))[:4]


async def without_await(space):
    """A coroutine is no list."""
    lists = await five_patterns(space)
    lists[2] = space.read_all("task", ANY, "queued")
    return lists


async def waits(space):
    """read waits for what never comes."""
    return [await space.read("task", complex)]


async def hard_coded(space):
    """The lists of one space, whatever is asked."""
    return [[("task", 3), ("task", 2)], [], [], [], []]


def plain(space):
    """No async function."""
    return [[], [], [], [], []]


async def nothing(space):
    """Forgets to return."""
    await five_patterns(space)


WRONG = [
    Wrong(forgets_the_number, "not yet", "it holds ('task', '3') (tuple), which does not belong there"),
    Wrong(takes_true_for_a_number, "not yet", "it holds ('flag', True) (tuple), which does not belong there"),
    Wrong(one_field_too_many, "not yet", "it holds ('task', 3, 'queued') (tuple), which does not"),
    Wrong(
        whole_number_for_float,
        "not yet",
        "list 5 holds every three-field tuple whose second field is a float",
    ),
    Wrong(only_tasks_with_a_float, "not yet", "('temperature', 21.5, 'kitchen') is missing; it holds 1 of 2"),
    Wrong(takes_them, "not yet", "at 0 s there was a take of ('task', 3)"),
    Wrong(sorted_by_size, "not yet", "in another order; the oldest is ('task', 3)"),
    Wrong(only_the_first_of_each, "not yet", "('task', 2) is missing; it holds 1 of 2"),
    Wrong(far_too_many, "not yet", "it holds 1,000,000 tuples, and 2 match"),
    Wrong(four_lists, "not yet", "it returned 4 things"),
    Wrong(without_await, "not yet", "it is no list but a coroutine (an await is missing)"),
    Wrong(waits, "not yet", "waits in read for ('task', complex)"),
    Wrong(hard_coded, "not yet", "('task', 3) is missing; it holds 0 of 5"),
    Wrong(plain, "error", "which cannot be awaited"),
    Wrong(nothing, "not yet", "it returned None"),
]
