"""The trace: what is recorded, who signs it, and how it is kept."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path

import pytest

from tutorial_lib import simulate
from tutorial_lib.trace import Event, Trace, actor, current_actor, current_trace, note


def test_an_event_has_the_seven_parts():
    """Views and checks read these names, in this order."""
    assert Event._fields == ("seq", "time", "actor", "kind", "space", "fields", "detail")


def test_without_a_trace_nothing_is_recorded():
    """A component may record at any time; where nobody listens nothing happens."""
    note("unheard")
    assert current_trace() is None


def test_with_makes_a_trace_the_current_one():
    """``with Trace() as trace`` records, inside and nowhere else."""
    with Trace() as trace:
        assert current_trace() is trace
        note("inside")
    note("outside")
    assert [event.detail["text"] for event in trace] == ["inside"]


def test_the_innermost_trace_records():
    """A trace inside a trace takes over, and the outer one goes on afterwards."""
    with Trace() as outer:
        with Trace() as inner:
            note("in")
        note("out")
    assert [len(inner), len(outer), outer[0].detail["text"]] == [1, 1, "out"]


def test_the_same_trace_may_be_entered_twice():
    """Entering a trace again is harmless: one list, and both blocks end well."""
    with Trace() as trace:
        with trace:
            note("one")
        note("two")
    assert len(trace) == 2
    assert current_trace() is None


def test_events_are_numbered_from_zero():
    """``seq`` is the place of an event in its trace."""
    with Trace() as trace:
        note("a")
        note("b")
    assert [event.seq for event in trace] == [0, 1]


def test_a_note_carries_its_text_and_details():
    """``note`` is the learner's own remark, with whatever belongs to it."""
    with Trace() as trace:
        note("half way", done=5)
    assert trace[0].kind == "note"
    assert trace[0].detail == {"text": "half way", "done": 5}


def test_the_time_is_the_running_loops_clock():
    """Virtual time under `simulate`, real time on an ordinary loop, 0 where no loop runs."""

    async def main() -> tuple[float, float, float]:
        before = asyncio.get_running_loop().time()
        note("now")
        return before, trace[0].time, asyncio.get_running_loop().time()

    with Trace() as trace:
        before, time, after = asyncio.run(main())
    assert before <= time <= after
    with Trace() as quiet:
        note("no loop")
    assert quiet[0].time == 0.0


def test_the_actor_is_main_by_default():
    """Code that nobody named is signed ``main``."""
    assert current_actor() == "main"


def test_actor_names_what_is_inside():
    """``with actor(...)`` holds to the end of its block; the inner one wins."""
    with actor("boss"):
        with actor("w1"):
            assert current_actor() == "w1"
        assert current_actor() == "boss"
    assert current_actor() == "main"


def test_actor_holds_for_tasks_started_inside_even_named_ones():
    """A name that was chosen wins over the explicit name of a task."""

    async def who() -> str:
        return current_actor()

    async def main() -> list[str]:
        with actor("w1"):
            tasks = [asyncio.create_task(who()), asyncio.create_task(who(), name="loud")]
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == ["w1", "w1"]


def test_a_named_task_signs_with_its_name():
    """The explicit ``name=`` of the current task signs what it does."""

    async def who() -> str:
        return current_actor()

    async def main() -> str:
        return await asyncio.create_task(who(), name="w1")

    assert asyncio.run(main()) == "w1"


def test_automatic_names_never_count():
    """``Task-7`` says nothing about who acts."""

    async def who() -> str:
        return current_actor()

    async def main() -> str:
        return await asyncio.create_task(who())

    assert asyncio.run(main()) == "main"


def test_a_nameless_task_signs_with_the_name_of_its_starter():
    """What a named task starts belongs to it, unless it has a name of its own."""

    async def who() -> str:
        return current_actor()

    async def worker() -> list[str]:
        note("an ordinary loop learns the name of a task at its first event")
        return [await asyncio.create_task(who()), await asyncio.create_task(who(), name="w2")]

    async def main() -> list[str]:
        with Trace():
            return await asyncio.create_task(worker(), name="w1")

    assert asyncio.run(main()) == ["w1", "w2"]


def test_under_simulate_the_name_is_inherited_from_the_start():
    """On the virtual loop a task belongs to its starter although that one recorded nothing."""

    async def who() -> str:
        return current_actor()

    async def worker() -> str:
        return await asyncio.create_task(who())

    async def main() -> str:
        return await asyncio.create_task(worker(), name="w1")

    assert simulate(main).result == "w1"


@pytest.mark.parametrize(
    ("wrong", "error"), [(None, TypeError), (7, TypeError), (b"w", TypeError), ("", ValueError)]
)
def test_actor_wants_a_name(wrong, error):
    """A name is text of at least one letter."""
    with pytest.raises(error, match="actor"), actor(wrong):
        pass


def test_an_actor_block_ends_on_an_error():
    """An exception inside the block does not leave the name behind."""
    with pytest.raises(KeyError), actor("w1"):
        raise KeyError
    assert current_actor() == "main"


def test_a_frozen_trace_keeps_nothing_more():
    """What is tidied up after the end of a run is no part of it."""
    with Trace() as trace:
        note("before")
        trace.freeze()
        note("after")
    assert len(trace) == 1


def test_on_event_hears_every_event_kept():
    """A listener is called with each event, and not with what a frozen trace drops."""
    heard = []
    trace = Trace()
    trace.on_event = heard.append
    first = trace.record("note")
    trace.freeze()
    trace.record("note")
    assert heard == [first]


def test_a_trace_reads_like_a_list():
    """Length, index, slice, iteration and equality are those of the list of its events."""
    trace = Trace()
    events = [trace.record("note", time=float(n)) for n in range(3)]
    assert len(trace) == 3
    assert trace[-1] is events[-1]
    assert trace[1:] == events[1:]
    assert list(trace) == events
    assert trace == Trace(events)
    assert trace != Trace(events[:2])
    assert trace != events


def test_events_do_not_share_their_details():
    """Writing into the detail of one event must not show in another."""
    trace = Trace()
    trace.record("note").detail["stray"] = 1
    assert trace.record("note").detail == {}


def test_of_picks_by_kind_actor_and_space():
    """``of`` filters by any of the three, in order, and gives all without arguments."""
    trace = Trace()
    trace.record("write", actor="w1", space="tasks")
    trace.record("take", actor="w2", space="tasks")
    trace.record("write", actor="w2", space="results")
    assert [event.seq for event in trace.of("write")] == [0, 2]
    assert [event.seq for event in trace.of("write", "take", actor="w2")] == [1, 2]
    assert [event.seq for event in trace.of(space="tasks")] == [0, 1]
    assert trace.of() == list(trace)


def test_the_text_has_a_line_per_event():
    """Each line names time, actor, kind, tuple and space."""
    trace = Trace()
    trace.record("write", actor="w1", time=1.5, space="tasks", fields=("task", 7))
    trace.record("note", actor="main", time=2.0, detail={"text": "done"})
    first, second = trace.text().split("\n")
    for part in ("1.500", "w1", "write", "('task', 7)", "tasks"):
        assert part in first
    assert "done" in second


def saved_and_loaded(trace: Trace, folder: Path) -> Trace:
    """Return the trace that comes back from a file."""
    trace.save(folder / "trace.jsonl")
    return Trace.load(folder / "trace.jsonl")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1,
        1.0,
        -0.0,
        math.inf,
        2**70,
        "",
        "日本語 ✕",
        "two\nlines\r\u2028and\u2029more",
        "half a pair \ud800",
        (),
        (1, (2, [3, (4,)])),
        [],
        {},
        {"a": (1,)},
        {"tuple": [1]},
        {"dict": [[1, 2]]},
        {1: "a", (2, 3): "b"},
    ],
)
def test_a_trace_comes_back_from_its_file(value, tmp_path):
    """What JSON can hold comes back as it was, tuples as tuples and kinds apart."""
    trace = Trace()
    trace.record("note", actor="w1", time=1.25, space="s", fields=("task", value), detail={"old": value})
    loaded = saved_and_loaded(trace, tmp_path)
    assert loaded == trace
    assert repr(list(loaded)) == repr(list(trace))


def test_nan_comes_back_as_nan(tmp_path):
    """A nan equals nothing, so it is checked by itself."""
    trace = Trace()
    trace.record("note", fields=(math.nan,))
    assert math.isnan(saved_and_loaded(trace, tmp_path)[0].fields[0])


def test_every_line_of_the_file_is_plain_json(tmp_path):
    """Other programs read it, too, and JSON knows no nan and no infinity."""
    trace = Trace()
    trace.record("note", fields=(math.nan, math.inf, -math.inf), detail={"float": "nan"})
    loaded = saved_and_loaded(trace, tmp_path)
    assert repr(list(loaded)) == repr(list(trace))
    json.loads((tmp_path / "trace.jsonl").read_text(encoding="utf-8"), parse_constant=pytest.fail)


class Unprintable:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no text for this")


def test_what_json_cannot_hold_is_kept_as_its_repr(tmp_path):
    """A saved trace never fails for a strange value."""
    trace = Trace()
    trace.record("note", fields=({1}, b"a", 2 + 1j, frozenset(), Trace))
    assert saved_and_loaded(trace, tmp_path)[0].fields == (
        "{1}",
        "b'a'",
        "(2+1j)",
        "frozenset()",
        repr(Trace),
    )


@pytest.mark.parametrize("value", [Unprintable(), 10**5000], ids=["no repr", "number too long to print"])
def test_even_what_has_no_repr_can_be_saved(value, tmp_path):
    """A history is not lost because one value in it cannot be shown."""
    trace = Trace()
    trace.record("note", fields=("task", value))
    assert saved_and_loaded(trace, tmp_path)[0].fields[0] == "task"


def test_an_empty_trace_can_be_saved(tmp_path):
    """No events, no lines."""
    assert saved_and_loaded(Trace(), tmp_path) == Trace()


@pytest.mark.parametrize(
    "line",
    [
        *("nonsense", "[1, 2]", "5", '"abcd"', '{"a": 1, "b": 2, "c": 3, "d": 4}', "null"),
        *('{"tuple": 5}', '{"dict": [[[1], 2]]}', "[1, 2, 3, 4, 5, 6, 7]", "[" * 100_000),
    ],
)
def test_a_line_that_is_no_event_is_named(line, tmp_path):
    """A damaged file is refused with the number of the line."""
    trace = Trace()
    trace.record("note")
    path = tmp_path / "trace.jsonl"
    trace.save(path)
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        Trace.load(path)


@pytest.mark.parametrize("detail", [{"pattern": 5}, {"operation": 3}, {"why": None}])
def test_a_note_may_use_any_name_for_any_value(detail):
    """Also a name that means something in the events of a space."""
    with Trace() as trace:
        note("look", **detail)
    [(name, value)] = detail.items()
    assert f"{name}={value}" in trace.text()
