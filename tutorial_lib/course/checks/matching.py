"""matching: five questions to a space, each a pattern."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tutorial_lib.course.answers import Answer, described, dispose
from tutorial_lib.course.checking import Examination, Exercise, Objection, clock
from tutorial_lib.patterns import ANY, Pattern, matches
from tutorial_lib.space import TupleSpace
from tutorial_lib.trace import Trace

__all__ = ["EXERCISE"]

Fields = tuple[Any, ...]

MOST_LOOKED_AT: Final = 1_000  # tuples of a list, far more than there are in any space here

QUESTIONS: Final[Sequence[tuple[str, Pattern]]] = (
    ('every ("task", int)', ("task", int)),
    ('every two-field tuple that begins with "task"', ("task", ANY)),
    ('every ("task", anything, "queued")', ("task", ANY, "queued")),
    ('every ("flag", 1), the number one and not True', ("flag", 1)),
    ("every three-field tuple whose second field is a float", (ANY, float, ANY)),
)


@dataclass(frozen=True)
class Scenario:
    """A space with some tuples in it."""

    text: str
    tuples: tuple[Fields, ...]


SCENARIOS: Final = (
    Scenario(
        "a space with tuples of many kinds",
        (
            ("task", 3),
            ("flag", True),
            ("task", "3"),
            ("task", 3, "queued"),
            ("temperature", 21.5, "kitchen"),
            ("flag", 1),
            ("task", True),
            ("task", 2),
            ("temperature", 21, "cellar"),
            ("task", None, "queued"),
            ("flag", 1.0),
            ("task", 2.0),
            ("task", 4, "running"),
            ("flag", 1),
            ("task", 0.5, "queued"),
            ("temperature", True, "attic"),
        ),
    ),
    Scenario(
        "a space where nearly everything is almost right",
        (
            ("task",),
            ("flag", 0),
            ("Task", 5),
            ("task", 5, "Queued"),
            ("task", 5, "queued", 1),
            ("flag", "1"),
            ("flag", 1, 1),
            ("note", "1.5", "text"),
            (1.5, 1.5),
            ("task", [1, 2]),
            (2.5, 2.5, 2.5),
        ),
    ),
    Scenario(
        "a space with one tuple of each kind", (("flag", 1), ("task", -1), ("task", 7, "queued"), (0, 0.0, 0))
    ),
    Scenario("an empty space", ()),
)


def judge(examination: Examination) -> None:
    """Ask the answer about every space, in every order of events."""
    for seed in examination.seeds:
        for scenario in SCENARIOS:
            run = examination.run(
                scenario.text, partial(program, scenario), seed=seed, invariants=check_nothing_moved
            )
            check_lists(scenario, run.result)


async def program(scenario: Scenario, answer: Answer) -> Any:
    """Fill a space and hand it over."""
    space = TupleSpace("space")
    await space.write_many(scenario.tuples)
    return await asyncio.create_task(answer(space), name=answer.name)


def check_nothing_moved(trace: Trace) -> None:
    """The answer only reads."""
    for event in trace:
        if event.actor != "main" and event.kind not in ("read", "wait", "leave"):
            raise Objection(
                "the answer only looks: nothing is taken, and nothing is written.",
                f"at {clock(event.time)} there was a {event.kind} of {event.fields!r}.",
                "read_all returns copies of all that match, oldest first, and leaves them where they are.",
                at=event.time,
            )


def check_lists(scenario: Scenario, given: Any) -> None:
    """Five lists, and each holds what its question asks for, oldest first."""
    if not isinstance(given, (list, tuple)) or len(given) != len(QUESTIONS):
        how = f"{len(given)} things" if isinstance(given, (list, tuple)) else described(given)
        dispose(given)
        raise Objection(
            "the answer returns five lists, one for each question.",
            f"it returned {how}.",
            "end with return first, second, third, fourth, fifth.",
        )
    for number, ((question, pattern), answer) in enumerate(zip(QUESTIONS, given, strict=True), start=1):
        expected = [fields for fields in scenario.tuples if matches(pattern, fields)]
        happened = _difference(expected, answer)
        if happened:
            raise Objection(
                f"list {number} holds {question}, oldest first.",
                f"{happened}.",
                f"write the pattern of question {number} field by field: for each, a value, a class, or ANY?",
            )


def _difference(expected: list[Fields], answer: Any) -> str:
    """Say in what way a list is not as expected, or return ``""``."""
    if not isinstance(answer, (list, tuple)):
        what = described(answer)
        dispose(answer)
        return f"it is no list but {what}"
    if len(answer) > MOST_LOOKED_AT:
        return f"it holds {len(answer):,} tuples, and {len(expected)} match"
    extra = [fields for fields in answer if not any(_same(fields, wanted) for wanted in expected)]
    missing = [wanted for wanted in expected if not any(_same(fields, wanted) for fields in answer)]
    if extra:
        return f"it holds {described(extra[0])}, which does not belong there"
    if missing:
        return f"{missing[0]!r} is missing; it holds {len(answer)} of {len(expected)}"
    if len(answer) != len(expected):
        return f"it holds {len(answer)} tuples, and {len(expected)} match"
    if not all(_same(*pair) for pair in zip(answer, expected, strict=True)):
        return f"it holds the right tuples in another order; the oldest is {expected[0]!r}"
    return ""


def _same(fields: Any, wanted: Fields) -> bool:
    """Tell whether two tuples are the same, with ``1``, ``1.0`` and ``True`` kept apart."""
    return (
        type(fields) is tuple
        and len(fields) == len(wanted)
        and all(
            type(value) is type(expected) and value == expected
            for value, expected in zip(fields, wanted, strict=True)
        )
    )


EXERCISE: Final = Exercise(
    id="matching",
    lesson="01_tuple_spaces",
    signature="async def matching(space)  ->  five lists",
    task=(
        "Return five lists of tuples from the space, each oldest first, and take nothing. "
        + " ".join(f"({number}) {question}." for number, (question, _) in enumerate(QUESTIONS, start=1))
    ),
    why="a pattern matches if it is as long as the tuple and every field fits: by value, class, or ANY.",
    hints=(
        'How many fields does each question ask for? Would ("task", 3, "queued") match a pattern of two '
        "fields?",
        "For each field, what do you know: its value, only its kind, or nothing at all?",
        "A value stands for itself, a class such as int for its instances (and True is no int), and ANY for "
        "anything. One read_all for each question.",
    ),
    judge=judge,
    arguments=("space",),
)
