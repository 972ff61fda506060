"""The rules for the source of a lesson: what is refused, and what is let through."""

from __future__ import annotations

import pytest

from tutorial_lib.course import rules
from tutorial_lib.course.rules import Cell


def code(source: str, *tags: str) -> Cell:
    return Cell(number=1, kind="code", source=source, tags=tags, place="here")


def text(source: str, *tags: str) -> Cell:
    return Cell(number=1, kind="markdown", source=source, tags=tags, place="here")


def test_an_unknown_tag_is_refused_with_the_known_ones() -> None:
    """A slip of the pen (raise-exception) would otherwise change nothing, silently."""
    (problem,) = rules.tag_problems([code("1", "raise-exception")])
    assert problem.startswith("here: the tag 'raise-exception' is unknown. Known are: en, ja, ")


@pytest.mark.parametrize("tag", ["en", "ja", "teacher"])
def test_code_takes_no_language_mark(tag: str) -> None:
    """Code serves everybody, else the languages would come apart."""
    assert list(rules.tag_problems([code("1", tag)])) == [
        f"here: code serves everybody and takes no mark {tag!r}. Mark text instead."
    ]


def test_a_lesson_has_at_least_ten_code_cells() -> None:
    """Nine are refused, ten are not; text does not count."""
    nine = [code("1")] * 9 + [text("more")] * 5
    assert list(rules.count_problems(nine, "lesson.md")) == [
        "lesson.md: has 9 code cells, a lesson has at least 10."
    ]
    assert list(rules.count_problems([*nine, code("1")], "lesson.md")) == []


def test_a_code_cell_has_at_most_twenty_lines() -> None:
    """Twenty lines are let through, one more is not."""
    assert list(rules.length_problems([code("x = 1\n" * 20)])) == []
    assert list(rules.length_problems([code("x = 1\n" * 21)])) == [
        "here: has 21 lines, a code cell has at most 20. Split it."
    ]


@pytest.mark.parametrize(
    ("headings", "problem"),
    [
        ("## Idea", "leaves a level out. Give it 1"),
        ("# Title\n\n### Detail", "leaves a level out. Give it 2"),
        ("# Title\n\n# Another", "is a second title"),
        ("# Title\n\n## Idea\n\n## Idea", "the heading 'Idea' stands there twice"),
    ],
)
def test_headings_out_of_order_are_refused(headings: str, problem: str) -> None:
    """One title first, no level left out, no heading twice."""
    assert [problem in found for found in rules.heading_problems([text(headings)])] == [True]


def test_headings_in_order_are_let_through() -> None:
    """Going up by any number of levels is in order, and what looks like a heading in code is none."""
    headings = "# Title\n\n## One\n\n### Two\n\n#### Three\n\n```\n# a remark\n```\n\n## Four"
    assert list(rules.heading_problems([text(headings), code("# no heading\n###### either")])) == []


@pytest.mark.parametrize(
    "source",
    [
        "asyncio.run(main())",
        "with asyncio.Runner() as runner: pass",
        "asyncio.get_event_loop().run_until_complete(main())",
        "import nest_asyncio",
        "import nest_asyncio2",
        "from nest_asyncio2 import apply",
        "from asyncio import run",
    ],
)
def test_a_loop_inside_the_notebooks_loop_needs_the_tag(source: str) -> None:
    """Only the cells that show why it fails may do it, and they say so."""
    (problem,) = rules.loop_problems([code(source)])
    assert problem.startswith("here: starts a loop inside the notebook's own. Write await main()")
    assert list(rules.loop_problems([code(source, "loop-nesting")])) == []


def test_a_remark_about_asyncio_run_is_no_loop() -> None:
    """Code is read as code: words in remarks and texts do not count."""
    assert list(rules.loop_problems([code("# asyncio.run(main()) fails here\nprint('asyncio.run()')")])) == []


@pytest.mark.parametrize(
    "source",
    [
        "await space.take('task', int)",
        "fields = await space.read('task', ANY)",
        "async with space.claim('task', int, lease=5) as claim:\n    pass",
        "async def consumer():\n    await space.take('task')\n\nawait consumer()",
        "async def f():\n    await space.take('task')\n\nasync def g():\n    await f()\n\nawait g()",
        "async def consumer():\n    await space.take('task')\n\ntask = asyncio.create_task(consumer())",
    ],
)
def test_a_wait_in_real_time_needs_a_timeout(source: str) -> None:
    """At the top of a cell, or in a function that a cell calls; the tag no-timeout lets it through."""
    (problem,) = rules.wait_problems([code(source)])
    assert "may wait for ever. Add timeout=..." in problem
    assert list(rules.wait_problems([code(source, "no-timeout")])) == []


@pytest.mark.parametrize(
    "source",
    [
        "await space.take('task', int, timeout=1)",
        "await space.try_take('task')",
        "async def main():\n    await space.take('task')\n\nrun = simulate(main)",
        "async def main(n):\n    await space.take('task')\n\nrun = simulate(lambda: main(3))",
        "text = file.read()",
    ],
)
def test_other_waits_are_let_through(source: str) -> None:
    """Waits with a timeout, and those in virtual time, where a wait without end is found and explained."""
    assert list(rules.wait_problems([code(source)])) == []


def test_code_that_is_not_python_is_refused_with_the_line() -> None:
    """The message names the line inside the cell."""
    assert list(rules.syntax_problems([code("x = 1\nx = = 2")])) == [
        "here: is not Python: invalid syntax in its line 2."
    ]


def test_magics_and_top_level_await_are_code() -> None:
    """What a notebook understands is let through."""
    assert list(rules.syntax_problems([code("%load_ext tutorial_lib\nawait main()\n!ls")])) == []


def test_a_semicolon_at_the_end_is_refused() -> None:
    """JupyterLab hides the value, nbval compares it all the same."""
    assert len(list(rules.syntax_problems([code("figure;")]))) == 1


def test_the_first_code_cell_loads_the_extension() -> None:
    """Later is too late: an exception group before it would count as passed."""
    load = code("%load_ext tutorial_lib\nimport asyncio")
    assert list(rules.set_up_problems([text("# Title"), load, code("1")], "lesson.md")) == []
    assert list(rules.set_up_problems([code("1"), load], "lesson.md")) == [
        "lesson.md: its first code cell must hold the line %load_ext tutorial_lib."
    ]


def test_an_exercise_without_hints_is_refused() -> None:
    """Every id that is checked is looked up; an empty list of hints counts as none."""
    cells = [code("check('matching', matching)\ncheck('priority', worker)"), code("check('matching')")]
    hints = {"matching": ["Begin with read_all."], "priority": []}
    assert rules.exercise_ids(cells) == ["matching", "priority"]
    assert list(rules.hint_problems(cells, hints, "exercises.md")) == [
        "exercises.md: the exercise 'priority' has no hints. Write them in the catalog."
    ]


@pytest.mark.parametrize(
    "output",
    [
        "FileNotFoundError: " + "/home/" + "ada/notes.txt",
        "C:\\Users\\ada",
        "<object object at 0x7f10a2b3c4d0>",
        "started 2026-01-31",
        "at 12:30:59",
    ],
)
def test_an_output_that_differs_from_run_to_run_is_refused(output: str) -> None:
    """Paths of a machine, addresses, dates and times of day."""
    (problem,) = rules.output_problems(output, "02-007")
    assert problem.startswith("02-007: prints ")


@pytest.mark.parametrize(
    "output",
    ["a/b/c", "https://example.org/home/page", "12.5 s", "('task', 0x10)", "10:30", "</text>", "5/home"],
)
def test_other_outputs_are_let_through(output: str) -> None:
    """What only looks alike is the same in every run."""
    assert list(rules.output_problems(output, "02-007")) == []


def test_an_output_is_left_uncompared_only_for_a_reason_that_the_cell_gives() -> None:
    """A measured figure, or a server that is not everywhere; the reader sees it in the first line."""
    cells = [code("1")] * 8
    good = [
        code("# measured: a trip\n1", rules.UNCOMPARED),
        code("# needs a server: it is killed", rules.UNCOMPARED),
    ]
    assert list(rules.uncompared_problems([*cells, *good], "lesson.md")) == []
    assert list(rules.uncompared_problems([*cells, code("1", rules.UNCOMPARED)], "lesson.md")) == [
        "here: is tagged nbval-ignore-output and does not say why. "
        "Begin it with '# measured:' or '# needs a server:'."
    ]


def test_at_most_a_quarter_of_the_outputs_is_left_uncompared() -> None:
    """A lesson whose outputs nobody compares would not be tested."""
    measured = [code("# measured: time", rules.UNCOMPARED)]
    assert list(rules.uncompared_problems([code("1")] * 3 + measured, "lesson.md")) == []
    assert list(rules.uncompared_problems([code("1")] * 2 + measured, "lesson.md")) == [
        "lesson.md: the outputs of 1 of 3 code cells are not compared, at most a quarter may be. "
        "Print what is the same in every run."
    ]
