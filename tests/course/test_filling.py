"""Programs with gaps: what is said about each of them, untouched, filled well and filled badly."""

from __future__ import annotations

import ast
import gc
import importlib
import linecache
import re
import sys
from dataclasses import replace

import pytest

from tutorial_lib import TupleSpace
from tutorial_lib.course import filling
from tutorial_lib.course.catalog import FADED
from tutorial_lib.course.desk import check, hint, solution
from tutorial_lib.course.exercise_cells import faded_cell, filled_cell, read_notebook, source_of
from tutorial_lib.course.filling import fill
from tutorial_lib.course.gaps import count_gaps, filled
from tutorial_lib.course.workspace import material_root

LESSONS = sorted({example.lesson[:2] for example in FADED.values()})
TRIED = {
    id: tried
    for lesson in LESSONS
    for id, tried in importlib.import_module(f"fillings.lesson_{lesson}").TRIED.items()
}


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    """An empty folder, since hints are kept with the learner's progress."""
    monkeypatch.chdir(tmp_path)


def set_up(example):
    """Return the first code cell of the example's lesson, without the lines that belong to the notebook."""
    notebook = read_notebook(material_root() / "notebooks" / f"{example.lesson}.ipynb")
    code = next(source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code")
    return "\n".join(line for line in code.splitlines() if not line.startswith("%"))


def made_from(source, first_cell="from tutorial_lib import TupleSpace, note"):
    """Run two cells as a notebook would, and return the function that the second one defines."""
    name = f"cell {hash(source)}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {"__name__": "__main__"}
    exec(first_cell, namespace)
    exec(compile(source, name, "exec"), namespace)
    return namespace[ast.parse(source).body[-1].name]


def said_about(id, fillings, capsys):
    """Fill the gaps of the program in its lesson, and return what fill prints, as one line."""
    example = FADED[id]
    program = filled(faded_cell(material_root(), example), fillings)
    fill(id, made_from(program, set_up(example)))
    return as_one_line(capsys)


def as_one_line(capsys):
    """Return what was printed, wherever the lines were broken."""
    return " ".join(capsys.readouterr().out.split())


# Every example of the lessons ------------------------------------------------------------------------


@pytest.mark.parametrize("id", FADED)
def test_an_untouched_program_gets_one_fixed_line(id, capsys):
    """Run All of a fresh lesson neither fails nor waits, and prints the same every time."""
    example = FADED[id]
    program = made_from(faded_cell(material_root(), example), set_up(example))
    fill(id, program)
    fill(id, program)
    line = f"{len(example.fillings)} gaps to fill: the `...` in {program.__name__}.\n"
    assert capsys.readouterr() == (line * 2, "")


@pytest.mark.parametrize("id", FADED)
def test_one_gap_left_is_still_only_counted(id, capsys):
    """A program is run when nothing is missing in it."""
    fillings = [*FADED[id].fillings[:-1], "..."]
    assert said_about(id, fillings, capsys).startswith("1 gap to fill: ")


@pytest.mark.parametrize("id", FADED)
def test_the_worked_solution_is_right(id, capsys):
    """What the catalog writes into the gaps of the lesson passes, and is told why."""
    assert said_about(id, FADED[id].fillings, capsys) == f"Right. {FADED[id].why}"


@pytest.mark.parametrize(
    ("id", "fillings"), [(id, fillings) for id, tried in TRIED.items() for fillings in tried.right]
)
def test_another_right_filling_is_right(id, fillings, capsys):
    """What counts is what the program does, and not how it is written."""
    assert said_about(id, fillings, capsys) == f"Right. {FADED[id].why}"


@pytest.mark.parametrize(
    ("id", "fillings", "says"),
    [(id, fillings, says) for id, tried in TRIED.items() for fillings, says in tried.wrong.items()],
)
def test_a_wrong_filling_is_told_what_happened(id, fillings, says, capsys):
    """With words of its own."""
    said = said_about(id, fillings, capsys)
    assert said.startswith("Not yet. ")
    assert says in said


@pytest.mark.parametrize("id", FADED)
def test_there_are_enough_fillings_to_tell_apart(id):
    """At least one more right one, and three wrong ones with different messages."""
    assert TRIED[id].right
    assert len(set(TRIED[id].wrong.values())) >= 3


@pytest.mark.parametrize("id", FADED)
def test_the_catalog_fills_every_gap_of_the_lesson(id):
    """Lesson and catalog speak of the same program, which has two or three gaps."""
    gaps = count_gaps(faded_cell(material_root(), FADED[id]))
    assert gaps == len(FADED[id].fillings)
    assert gaps in (2, 3)


def test_every_lesson_that_simulates_has_a_program_with_gaps():
    """The step between reading a program and writing one; lessons 08 and 09 are about real processes."""
    assert {example.lesson[:2] for example in FADED.values()} >= {f"0{number}" for number in range(1, 8)}


@pytest.mark.parametrize("id", FADED)
def test_the_id_of_an_example_begins_with_its_lesson(id):
    """So that an id tells where it belongs, and the catalog calls it by the same name."""
    assert id == FADED[id].id
    assert id[:3] == f"{FADED[id].lesson[:2]}-"


# hint and solution -----------------------------------------------------------------------------------


@pytest.mark.parametrize("id", FADED)
def test_solution_shows_the_program_without_gaps(id, capsys):
    """The whole program, ready to be run."""
    solution(id)
    printed = capsys.readouterr().out
    assert printed == filled_cell(material_root(), FADED[id]) + "\n"
    assert count_gaps(printed) == 0


@pytest.mark.parametrize("id", FADED)
def test_hint_goes_one_further_each_time(id, capsys):
    """From a first question to the last hint, which points to the solution."""
    hints = FADED[id].hints
    for _ in hints:
        hint(id)
    lines = [f"Hint {number} of {len(hints)}: {text}" for number, text in enumerate(hints, 1)]
    last = f'That was the last hint. solution("{id}") shows a worked solution.'
    assert capsys.readouterr().out.splitlines() == [*lines, last]


# Whatever else a learner may write -------------------------------------------------------------------

ID = "03-hand-on"
HAND_ON = "async def hand_on():\n    return ..."


@pytest.fixture
def lenient_judge(monkeypatch):
    """A judge that finds nothing, so that the general words are heard."""
    monkeypatch.setitem(filling.FADED, ID, replace(FADED[ID], judge=lambda run: None))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('await TupleSpace("s").take("x")', "Nothing can ever happen again"),
        ("while True: pass", "Give the loop something to wait for"),
        ('raise KeyError("oh")', "At 0 s it raised KeyError: 'oh', in"),
        ('return TupleSpace("s").write("x")', "returned a coroutine. Write await before the call"),
        ('TupleSpace("s").write("x")', "write(...) was called and never awaited. Write await before it."),
    ],
)
def test_a_program_that_goes_wrong_is_ended_and_told_plainly(body, says, lenient_judge, capsys):
    """A hang, a loop without an end, an error and a forgotten await; none of them is ever right."""
    fill(ID, made_from(f"async def wrong():\n    {body}"))
    said = as_one_line(capsys)
    assert said.startswith("Not yet. ")
    assert says in said


def test_a_long_text_is_broken_between_words(lenient_judge, capsys):
    """A notebook would break the line anywhere, also in the middle of a word."""
    fill(ID, made_from("async def wrong():\n    await TupleSpace('shelf').take('a word', 'b word', int)"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert all(len(line) <= filling.WIDTH for line in lines)


def test_a_program_that_the_judge_does_not_know_any_more_is_told_so(capsys):
    """A learner may change any line, and a judge that stumbles over it is no reason to fail."""
    changed = "space = TupleSpace('s')\n    await space.write(6)\n    await space.replace((6,), (7,))"
    fill(ID, made_from(f"async def hand_on():\n    {changed}"))
    assert capsys.readouterr().out.startswith("Not yet. The lines around the gaps were changed")


def test_what_a_program_prints_is_shown_above_the_words(lenient_judge, capsys):
    """Printing is how most people look for a mistake."""
    fill(ID, made_from("async def talks():\n    note('an event')\n    print('here I am')"))
    assert capsys.readouterr().out.startswith("here I am\nRight. ")


@pytest.mark.parametrize(
    ("handler", "says"),
    [
        ("except: pass", "Not yet. This except catches everything, and so also CancelledError"),
        ("except asyncio.CancelledError: pass", "Not yet. This except catches asyncio.CancelledError"),
        ("except BaseException: raise", "Right. "),
        ("except Exception: pass", "Right. "),
    ],
)
def test_an_except_must_not_keep_the_order_to_stop_to_itself(handler, says, lenient_judge, capsys):
    """No run shows it, since nobody gives the order; whoever catches it may hand it on."""
    program = f"async def catches():\n    try:\n        note('tried')\n    {handler}"
    fill(ID, made_from(program, "import asyncio\nfrom tutorial_lib import note"))
    assert as_one_line(capsys).startswith(says)


def test_a_text_or_a_remark_with_three_dots_is_no_gap(lenient_judge, capsys):
    """Only code is missing."""
    fill(ID, made_from("async def waits():\n    note('and so on ...')  # and on ..."))
    assert capsys.readouterr().out.startswith("Right.")


def test_gaps_are_counted_before_anything_runs(capsys):
    """A program with a gap may do anything: it is not called."""
    fill(ID, made_from("async def never():\n    while True: ..."))
    assert capsys.readouterr().out == "1 gap to fill: the `...` in never.\n"


async def takes_a_space(space):
    """A program that asks for more than it gets."""


def plain():
    """No async function."""


async def yields():
    """An async generator."""
    yield 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: plain, "plain itself. Write async def"),
        (lambda: yields, "yields itself. Write async def"),
        (lambda: takes_a_space(None), "a coroutine (an await is missing). Write async def"),
        (lambda: None, "got None. Write async def"),
        (lambda: takes_a_space, "takes_a_space() does not fit"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_program_is_refused_with_what_to_write(make, says):
    """The message says what was handed in, and what to do."""
    with pytest.raises(TypeError, match=re.escape(says)):
        fill(ID, make())


def test_the_function_must_not_be_missing():
    """Whoever forgets one of the two is told how both are written."""
    with pytest.raises(TypeError, match=r"takes the id and then the async function .* fill\("):
        fill(ID)


def test_a_cell_that_failed_when_it_was_run_again_is_named(capsys, monkeypatch):
    """Python still has the old function then, and a verdict on that would be about what is not there."""
    program = made_from(HAND_ON)
    broken = HAND_ON.replace(":", "", 1)
    main = sys.modules["__main__"]

    monkeypatch.setattr(main, "In", ["", HAND_ON, broken], raising=False)
    fill(ID, program)
    assert as_one_line(capsys).startswith("The cell with hand_on failed when you ran it last.")

    monkeypatch.setattr(main, "In", ["", broken, HAND_ON, "hand_on"], raising=False)
    fill(ID, program)
    assert as_one_line(capsys) == "1 gap to fill: the `...` in hand_on."


def test_of_a_long_output_only_the_beginning_is_shown(capsys):
    """Otherwise the verdict would be hard to find below it."""
    fill(ID, made_from("async def talks():\n    for number in range(500):\n        print(number)"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["0", "1"]
    assert lines[20] == "... and more lines"
    assert len(lines) < 30


@pytest.mark.filterwarnings("ignore:coroutine")
def test_what_was_forgotten_before_is_not_blamed_on_this_program(lenient_judge, capsys):
    """A coroutine that an earlier cell made and never awaited may be found only now."""
    program = "async def tidies():\n    note('an event')\n    gc.collect()"
    tidies = made_from(program, "import gc\nfrom tutorial_lib import note")
    gc.disable()
    try:
        left = [TupleSpace("earlier").take("x")]
        left.append(left)  # a circle, which only the garbage collector finds
        del left
        fill(ID, tidies)
    finally:
        gc.enable()
    assert as_one_line(capsys).startswith("Right.")


@pytest.mark.parametrize("id", FADED)
def test_a_program_that_does_nothing_is_not_right(id, capsys):
    """Whoever takes out all lines has filled no gap."""
    fill(id, made_from("async def empty():\n    pass"))
    assert as_one_line(capsys).startswith("Not yet. Nothing happened in it.")


def test_a_program_must_return_what_it_found(capsys):
    """The last line of lesson 01's program is part of the answer."""
    example = FADED["01-cubes"]
    program = filled_cell(material_root(), example).replace("    return answers.result()", "")
    fill(example.id, made_from(program, set_up(example)))
    assert as_one_line(capsys).startswith("Not yet. The program returned nothing.")


def test_a_program_without_source_is_refused():
    """Where Python does not keep what was typed, gaps cannot be seen."""
    namespace = {}
    exec("async def typed(): ...", namespace)
    with pytest.raises(ValueError, match="Write the function in a cell of a notebook or in a file"):
        fill(ID, namespace["typed"])


def test_an_id_in_the_second_place_is_told():
    """As check does."""
    with pytest.raises(
        ValueError, match=r'The id comes first, and then the function: fill\("03-hand-on", plain\)'
    ):
        fill(plain, ID)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fill("03-hand-off", plain), r"Did you mean '03-hand-on'\? The examples are: .*03-hand-on"),
        (lambda: fill("matching", plain), r"It is an exercise: check\(\"matching\", its_name\)"),
        (lambda: check(ID), r"It is an example with gaps: fill\(\"03-hand-on\", its_name\)"),
        (lambda: hint("nowhere"), "The exercises are: matching, .*03-hand-on"),
        (lambda: solution("nowhere"), "The exercises are: matching, .*03-hand-on"),
    ],
)
def test_an_unknown_id_is_told_with_those_that_there_are(call, says):
    """And an id of the other kind with the call that knows it."""
    with pytest.raises(ValueError, match=says):
        call()
