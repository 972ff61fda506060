"""The build: from the sources of a lesson to its notebooks."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tutorial_lib.course import build

LESSON = """\
# A tiny lesson

+++ {"tags": ["en"]}

## Words

+++ {"tags": ["ja"]}

## 言葉

+++ {"tags": ["teacher"]}

Two minutes. Ask before you run it.

+++

For everybody.

```{code-cell}
%load_ext tutorial_lib
import asyncio
import ipywidgets
```

```{code-cell}
print("one")
print("two")
```

```{code-cell}
:tags: [raises-exception]

1 / 0
```

```{code-cell}
:tags: [raises-exception]

raise ExceptionGroup("two failed", [ValueError("bad"), KeyError("x")])
```

```{code-cell}
ipywidgets.HTML("<b>a widget</b>")
```

```{code-cell}
await asyncio.sleep(0, "slept")
```
""" + "".join(f"\n```{{code-cell}}\n{number} * {number}\n```\n" for number in range(4))

EXERCISES = '''\
# Exercises of the tiny lesson

```{code-cell}
%load_ext tutorial_lib
from tutorial_lib.course import NotAttempted
```

```{code-cell}
async def double(number):
    """Return twice the number."""
    ### BEGIN SOLUTION
    twice = 2 * number
    return twice
    ### END SOLUTION
```

```{code-cell}
:tags: [stub]

"yours"
```

```{code-cell}
:tags: [solution]

await double(21)
```
'''


def write_sources(root: Path, lesson: str = LESSON, exercises: str = EXERCISES) -> None:
    folder = root / "lessons" / "02_tiny"
    folder.mkdir(parents=True)
    (folder / "lesson.md").write_text(lesson, encoding="utf-8")
    (folder / "exercises.md").write_text(exercises, encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with one small lesson, built. Tests only read it."""
    root = tmp_path_factory.mktemp("checkout")
    write_sources(root)
    assert build.main(["--root", str(root)]) == 0
    return root


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """A copy of the built checkout, to be spoilt."""
    return Path(shutil.copytree(built, tmp_path / "copy"))


def read(path: Path) -> NotebookNode:
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)


def sources(path: Path) -> list[str]:
    return [cell.source for cell in read(path).cells]


def outputs(path: Path) -> list[list[NotebookNode]]:
    return [cell.outputs for cell in read(path).cells if cell.cell_type == "code"]


# ---------------------------------------------------------------------------------------------------
# What is made


def test_each_source_becomes_its_notebooks(built: Path) -> None:
    """A lesson in each of its languages, and the exercises with and without solutions."""
    made = sorted(path.relative_to(built).as_posix() for path in built.rglob("*.ipynb"))
    assert made == [
        "exercises/02_tiny.ipynb",
        "notebooks/02_tiny.ipynb",
        "notebooks/ja/02_tiny.ipynb",
        "solutions/02_tiny.ipynb",
    ]


def test_marked_text_is_for_its_language_alone(built: Path) -> None:
    """English has no folder; unmarked text and code serve both."""
    english, japanese = (
        sources(built / "notebooks/02_tiny.ipynb"),
        sources(built / "notebooks/ja/02_tiny.ipynb"),
    )
    assert [text for text in english if text not in japanese] == ["## Words"]
    assert [text for text in japanese if text not in english] == ["## 言葉"]


def test_the_languages_share_their_outputs(built: Path) -> None:
    """The code is the same, so it is run once."""
    assert outputs(built / "notebooks/02_tiny.ipynb") == outputs(built / "notebooks/ja/02_tiny.ipynb")


def test_the_learner_gets_a_stub_instead_of_the_solution(built: Path) -> None:
    """The stub stands where the solution stood, indented alike, and the lines around it stay."""
    assert sources(built / "exercises/02_tiny.ipynb")[2:] == [
        'async def double(number):\n    """Return twice the number."""\n'
        "    # TODO: write your answer here, in place of the next line.\n    raise NotAttempted",
        '"yours"',
    ]


def test_the_solution_is_shown_without_the_marks(built: Path) -> None:
    """And with the cells that only the solution has."""
    assert sources(built / "solutions/02_tiny.ipynb")[2:] == [
        'async def double(number):\n    """Return twice the number."""\n'
        "    twice = 2 * number\n    return twice",
        "await double(21)",
    ]


def test_solutions_are_run_and_exercises_are_not(built: Path) -> None:
    """The learner's notebook starts empty."""
    assert outputs(built / "solutions/02_tiny.ipynb")[-1][0].data["text/plain"] == "42"
    assert outputs(built / "exercises/02_tiny.ipynb") == [[], [], []]


def test_cell_ids_are_the_lesson_and_the_place_in_the_source(built: Path) -> None:
    """So a cell has the same id in every language and edition, and in every rebuild."""
    ids = [cell.id for cell in read(built / "notebooks/ja/02_tiny.ipynb").cells]
    assert ids[:4] == ["02-001", "02-003", "02-005", "02-006"]


def test_an_error_keeps_its_name_and_message_and_no_path(built: Path) -> None:
    """The traceback of one machine is not that of another."""
    (error,) = outputs(built / "notebooks/02_tiny.ipynb")[2]
    assert error.traceback == ["ZeroDivisionError: division by zero"]


def test_an_exception_group_keeps_its_tree(built: Path) -> None:
    """The tree says what failed and is alike everywhere."""
    (error,) = outputs(built / "notebooks/02_tiny.ipynb")[3]
    assert error.traceback[1:] == ["├── ValueError: bad", "└── KeyError: 'x'"]


def test_a_widget_keeps_what_can_be_seen_without_a_kernel(built: Path) -> None:
    """The view of its model would be an error message in a reader without a kernel."""
    (widget,) = outputs(built / "notebooks/02_tiny.ipynb")[4]
    assert list(widget.data) == ["text/plain"]
    assert "widgets" not in read(built / "notebooks/02_tiny.ipynb").metadata


def test_the_metadata_names_no_version_and_no_time(built: Path) -> None:
    """What differs between machines is left out."""
    text = (built / "notebooks/02_tiny.ipynb").read_text(encoding="utf-8")
    assert '"version": "3' not in text
    assert "iopub" not in text


def test_a_rebuild_gives_the_same_bytes(copied: Path) -> None:
    """Nothing in a notebook depends on when or where it was made."""
    before = {path: path.read_bytes() for path in copied.rglob("*.ipynb")}
    assert build.main(["02", "--root", str(copied)]) == 0
    assert {path: path.read_bytes() for path in copied.rglob("*.ipynb")} == before


def test_the_teachers_edition_is_made_on_request(built: Path, tmp_path: Path) -> None:
    """It is the lesson with the teacher's text, in each language, in the folder asked for."""
    assert build.main(["--root", str(built), "--teacher", str(tmp_path)]) == 0
    for path in ("02_tiny.ipynb", "ja/02_tiny.ipynb"):
        assert "Two minutes. Ask before you run it." in sources(tmp_path / path)
        assert "Two minutes. Ask before you run it." not in sources(built / "notebooks" / path)


# ---------------------------------------------------------------------------------------------------
# --check


def check(root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run ``--check``, compare status and text, and return the lines."""
    capsys.readouterr()
    status = build.main(["--check", "--root", str(root)])
    lines = capsys.readouterr().err.splitlines()
    assert status == (1 if lines else 0)
    return lines


STALE = "is stale. Run: python -m tutorial_lib.course.build 02"


def test_what_was_just_built_is_fresh(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check finds nothing and says nothing."""
    assert check(built, capsys) == []


def test_a_changed_source_makes_its_notebooks_stale(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the other source stay fresh; the message says what to run."""
    source = copied / "lessons/02_tiny/lesson.md"
    source.write_text(LESSON.replace('"two"', '"three"'), encoding="utf-8")
    assert check(copied, capsys) == [
        f"notebooks/02_tiny.ipynb {STALE}",
        f"notebooks/ja/02_tiny.ipynb {STALE}",
    ]


def test_a_change_that_no_learner_sees_makes_stale_too(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A notebook says which text it was made from, and that is another one now."""
    source = copied / "lessons/02_tiny/exercises.md"
    source.write_text(EXERCISES + "\n", encoding="utf-8")
    assert check(copied, capsys) == [f"exercises/02_tiny.ipynb {STALE}", f"solutions/02_tiny.ipynb {STALE}"]


@pytest.mark.parametrize(
    ("made", "changed"),
    [("return twice", "return thrice"), ('"42"', '"43"')],
    ids=["a cell", "an output"],
)
def test_a_notebook_changed_by_hand_is_stale(
    made: str, changed: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cells and outputs are as the build left them, or they are stale."""
    path = copied / "solutions/02_tiny.ipynb"
    text = path.read_text(encoding="utf-8")
    assert made in text
    path.write_text(text.replace(made, changed), encoding="utf-8")
    assert check(copied, capsys) == [f"solutions/02_tiny.ipynb {STALE}"]


def test_text_that_became_code_makes_stale(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cell is the same one by its place, and yet another."""
    source = copied / "lessons/02_tiny/exercises.md"
    source.write_text("```{code-cell}\n%load_ext tutorial_lib\n```\n" + EXERCISES[2:], encoding="utf-8")
    assert f"solutions/02_tiny.ipynb {STALE}" in check(copied, capsys)


def test_a_notebook_that_cannot_be_read_is_stale(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As after a merge that left its marks: the cure is the same."""
    path = copied / "solutions/02_tiny.ipynb"
    path.write_text("<<<<<<< ours\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert check(copied, capsys) == [f"solutions/02_tiny.ipynb {STALE}"]


def test_a_missing_notebook_is_stale(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A lesson that was never built is found too."""
    (copied / "exercises/02_tiny.ipynb").unlink()
    assert check(copied, capsys) == [f"exercises/02_tiny.ipynb {STALE}"]


def test_a_notebook_without_a_source_is_a_stray(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named and left where it is: it may be somebody's work."""
    stray = copied / "notebooks/03_gone.ipynb"
    shutil.copy(copied / "notebooks/02_tiny.ipynb", stray)
    assert check(copied, capsys) == [
        "notebooks/03_gone.ipynb belongs to no lesson. Delete it, or write its source under lessons/."
    ]
    assert stray.exists()


# ---------------------------------------------------------------------------------------------------
# What is refused


def refusals(root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Build, expect a refusal that leaves nothing behind, and return its lines."""
    assert build.main(["--root", str(root)]) == 1
    assert list(root.rglob("*.ipynb")) == []
    return capsys.readouterr().err.splitlines()


def test_a_lesson_that_breaks_a_rule_is_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All that is wrong is told at once, with the line in the source."""
    write_sources(tmp_path, LESSON.replace("## Words", "#### Words").replace("0 * 0", "asyncio.run(main())"))
    assert refusals(tmp_path, capsys) == [
        "lessons/02_tiny/lesson.md, line 5: '#### Words' leaves a level out. Give it 2.",
        "lessons/02_tiny/lesson.md, line 51: starts a loop inside the notebook's own. "
        "Write await main(), or tag the cell loop-nesting.",
    ]


def test_a_lesson_that_fails_when_it_runs_is_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even its exercises are, which are right: a lesson is built as a whole."""
    write_sources(tmp_path, LESSON.replace("0 * 0", "0 / 0"))
    (line,) = refusals(tmp_path, capsys)
    assert line.startswith("lessons/02_tiny/lesson.md, cell 02-012 (0 / 0) raised ZeroDivisionError")


@pytest.mark.parametrize(
    ("source", "stub", "problem"),
    [
        ("    ### END SOLUTION\n", "", "line 9: ### BEGIN SOLUTION has no ### END SOLUTION."),
        ("    ### BEGIN SOLUTION\n", "", "line 9: ### BEGIN SOLUTION and ### END SOLUTION must take turns."),
        (
            "    ### BEGIN SOLUTION\n",
            "### BEGIN SOLUTION\n",
            "line 9: ### BEGIN SOLUTION stands at the margin",
        ),
        (":tags: [stub]", ":name: stub", "line 18: a cell has no metadata but tags, got {'name': 'stub'}"),
    ],
)
def test_a_source_of_broken_form_is_refused(
    source: str, stub: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file, the line and what is missing."""
    assert source in EXERCISES
    write_sources(tmp_path, exercises=EXERCISES.replace(source, stub))
    (line,) = refusals(tmp_path, capsys)
    assert line.startswith(f"lessons/02_tiny/exercises.md, {problem}")


def test_a_mark_that_is_not_json_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message shows how a mark is written."""
    write_sources(tmp_path, LESSON.replace('+++ {"tags": ["ja"]}', "+++ ja"))
    (line,) = refusals(tmp_path, capsys)
    assert line.endswith('Tags are written as +++ {"tags": ["ja"]}.')


def test_an_exercise_without_hints_is_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checked exercise must be in the catalog, with hints."""
    write_sources(tmp_path, exercises=EXERCISES.replace('"yours"', 'check("nobody-knows-this", double)'))
    assert refusals(tmp_path, capsys) == [
        "lessons/02_tiny/exercises.md: the exercise 'nobody-knows-this' has no hints. "
        "Write them in the catalog."
    ]


def test_an_unknown_lesson_is_refused_with_the_known_ones(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with the status of a wrong call."""
    with pytest.raises(SystemExit) as ended:
        build.main(["02", "99", "--root", str(built)])
    assert ended.value.code == 2
    assert "no lesson is called 99. There are: 02_tiny" in capsys.readouterr().err


def test_outside_a_checkout_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message sends its reader to the checkout."""
    with pytest.raises(SystemExit):
        build.main(["--root", str(tmp_path)])
    assert "Run this in the checkout." in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------
# Running a notebook. What else is caught: tests/test_lessons.py, "The guard itself"


def notebook_of(*cells: str, tags: tuple[str, ...] = ()) -> NotebookNode:
    metadata = {"tags": list(tags)}
    made = [
        nbformat.v4.new_code_cell(source, id=f"02-{number:03d}", metadata=metadata)
        for number, source in enumerate(cells, start=1)
    ]
    return nbformat.v4.new_notebook(cells=made)


def test_a_cell_that_raises_is_a_problem() -> None:
    """It ends the run; the message names the cell, the error and the way out."""
    assert build.run(notebook_of("x = 1\nint('x')", "print('never')")) == [
        "cell 02-001 (x = 1) raised ValueError: invalid literal for int() with base 10: 'x'. "
        "Mend it, or tag it raises-exception."
    ]


def test_a_cell_that_should_raise_and_does_not_is_a_problem() -> None:
    """A counterexample that no longer fails teaches nothing."""
    assert build.run(notebook_of("x = 1", tags=("raises-exception",))) == [
        "cell 02-001 (x = 1) is tagged raises-exception and raised nothing."
    ]


def test_an_output_that_differs_from_run_to_run_is_a_problem() -> None:
    """Nobody could tell whether it is still true."""
    (problem,) = build.run(notebook_of("object()"))
    assert problem.startswith("cell 02-001 (object()): prints the address of an object (0x")


def test_a_notebook_runs_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds no file of the checkout, imports the package all the same, and keeps its outputs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lessons").mkdir()
    notebook = notebook_of("import os, tutorial_lib\nprint(os.path.exists('lessons'))")
    assert build.run(notebook) == []
    assert notebook.cells[0].outputs[0].text == "False\n"
