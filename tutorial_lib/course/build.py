"""Build: make the notebooks of the course from the sources under ``lessons/``.

Run it in the checkout, for all lessons or for some::

    python -m tutorial_lib.course.build               make everything
    python -m tutorial_lib.course.build 00 02         make lessons 00 and 02
    python -m tutorial_lib.course.build --check       make nothing, tell what is stale or stray
    python -m tutorial_lib.course.build --teacher DIR make the teacher's edition, into the folder DIR

========  ==================================================================================
source    ``lessons/NN_name/lesson.md`` and ``exercises.md``: MyST notebooks, edited by hand
page      one notebook to be made: in a folder, in a language, for learner or teacher
seal      the fingerprint in a notebook's metadata: of its source's text, its cells and outputs
========  ==================================================================================

``lesson.md`` becomes ``notebooks/NN_name.ipynb``. ``exercises.md`` becomes ``solutions/NN_name.ipynb`` and,
for the learner, ``exercises/NN_name.ipynb``, in which every part between the lines ``### BEGIN SOLUTION``
and ``### END SOLUTION`` is replaced by a TODO and ``raise NotAttempted``. Lessons and solutions are run and
keep their outputs.

The tags of a cell say who gets it. Text tagged ``en`` or ``ja`` is for one language (Japanese goes to the
folder ``ja`` beside the English notebooks), ``teacher`` is for the teacher's edition alone. A cell tagged
``solution`` is left out for the learner, one tagged ``stub`` is for nobody else. Tags of text stand in a line
``+++ {"tags": ["ja"]}`` above it, which holds up to the next such line or code cell. Untagged text and code
serve everybody. ``raises-exception`` marks a cell that must fail, ``no-timeout`` one that waits on purpose,
``loop-nesting`` one that shows a loop inside a loop, ``nbval-ignore-output`` one whose output differs from
machine to machine, since it is measured or needs a server.

``--check`` is fast because it runs nothing: it compares what the sources would give with what is there, and
each notebook with its seal, so that it also finds outputs that were changed by hand or saved from
JupyterLab. Whether the outputs are still true is nbval's question.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.reader import NotJSONError

from tutorial_lib.course import rules
from tutorial_lib.course.catalog import HINTS
from tutorial_lib.course.rules import Cell

__all__ = ["build", "check", "main", "run"]

formats: Any = nbformat  # its functions have no type hints

GENERATED = ("notebooks", "exercises", "solutions")
COMMAND = "python -m tutorial_lib.course.build"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = ("# TODO: write your answer here, in place of the next line.", "raise NotAttempted")

# The same on every machine and every Python, hence no version.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}


class SourceError(Exception):
    """A source cannot be read as cells; the message says where and why."""


# ---------------------------------------------------------------------------------------------------
# From a source to pages


@dataclass(frozen=True)
class Page:
    """One notebook to be made.

    ``path`` says where it goes, below the checkout or the teacher's folder; ``source`` and ``text`` what it
    is made of; ``cells`` what is in it; ``runs`` whether it is run and keeps its outputs.
    """

    path: Path
    source: Path
    text: str
    cells: tuple[Cell, ...]
    runs: bool


def read_cells(text: str, place: str) -> list[Cell]:
    """Read the text of a source as cells. Raises `SourceError` if its form is broken."""
    try:
        notebook = myst_to_notebook(text, add_source_map=True)
    except MystMetadataParsingError as error:
        raise SourceError(f'{place}: {error}. Tags are written as +++ {{"tags": ["ja"]}}.') from None
    cells = []
    lines = text.splitlines()
    for number, (cell, start) in enumerate(zip(notebook.cells, notebook.metadata.source_map, strict=True), 1):
        line = next(line for line in range(start, len(lines)) if lines[line].strip())
        cell_place = f"{place}, line {line + 1}"
        if set(cell.metadata) - {"tags"}:
            raise SourceError(f"{cell_place}: a cell has no metadata but tags, got {dict(cell.metadata)}.")
        tags = tuple(cell.metadata.get("tags", ()))
        cells.append(Cell(number, cell.cell_type, cell.source, tags, cell_place))
    return cells


def edition(
    cells: Iterable[Cell], *, language: str = "en", teacher: bool = False, learner: bool = False
) -> tuple[Cell, ...]:
    """Choose what one reader gets: in a language, as teacher or not, with or without the solutions.

    >>> cells = read_cells('+++ {"tags": ["en"]}\\n\\nTea\\n\\n+++ {"tags": ["ja"]}\\n\\nお茶', "lesson.md")
    >>> [cell.source for cell in edition(cells, language="ja")]
    ['お茶']
    """
    chosen = []
    for cell in cells:
        languages = set(cell.tags) & set(rules.LANGUAGES)
        if languages and language not in languages:
            continue
        if "teacher" in cell.tags and not teacher:
            continue
        if ("solution" if learner else "stub") in cell.tags:
            continue
        tags = tuple(tag for tag in cell.tags if tag not in rules.EDITION_TAGS)
        chosen.append(replace(cell, tags=tags, source=without_marks(cell, learner=learner)))
    return tuple(chosen)


def without_marks(cell: Cell, *, learner: bool) -> str:
    r"""Return the code of a cell with the solution in it or, for the learner, with the stub instead.

    >>> code = "def double(n):\n    ### BEGIN SOLUTION\n    return 2 * n\n    ### END SOLUTION"
    >>> print(without_marks(Cell(2, "code", code, (), "exercises.md, line 9"), learner=True))
    def double(n):
        # TODO: write your answer here, in place of the next line.
        raise NotAttempted
    """
    lines: list[str] = []
    inside = False
    for line in cell.source.splitlines():
        if line.strip() in (BEGIN, END):
            if inside is (line.strip() == BEGIN):
                raise SourceError(f"{cell.place}: {BEGIN} and {END} must take turns.")
            inside = not inside
            indentation = line[: line.index("#")]
            if inside and not indentation:
                raise SourceError(
                    f"{cell.place}: {BEGIN} stands at the margin, where the stub would stop the notebook. "
                    "Put it inside a function, or write two cells, tagged stub and solution."
                )
            if inside and learner:
                lines += [indentation + stub for stub in STUB]
        elif not (inside and learner):
            lines.append(line)
    if inside:
        raise SourceError(f"{cell.place}: {BEGIN} has no {END}.")
    return "\n".join(lines)


def pages(root: Path, lesson: Path, *, teacher: bool = False) -> list[Page]:
    """List the pages of one lesson's folder, in each language that its text is marked with."""
    made: list[Page] = []
    sources = ["lesson.md"] if teacher else ["lesson.md", "exercises.md"]
    for source in (lesson / name for name in sources):
        if not source.exists():
            continue
        text = source.read_text(encoding="utf-8")
        cells = read_cells(text, source.relative_to(root).as_posix())
        folders = ["notebooks"] if source.name == "lesson.md" else ["exercises", "solutions"]
        for language in rules.LANGUAGES:
            if language != "en" and not any(language in cell.tags for cell in cells):
                continue
            for folder in folders:
                below = Path() if language == "en" else Path(language)
                chosen = edition(cells, language=language, teacher=teacher, learner=folder == "exercises")
                path = Path("" if teacher else folder) / below / f"{lesson.name}.ipynb"
                made.append(Page(path, source.relative_to(root), text, chosen, folder != "exercises"))
    return made


def page_problems(page: Page) -> Iterator[str]:
    """Find where a page breaks the rules, without running it."""
    place = page.source.as_posix()
    unreadable = [*rules.tag_problems(page.cells), *rules.syntax_problems(page.cells)]
    yield from unreadable
    if unreadable:
        return
    yield from rules.set_up_problems(page.cells, place)
    yield from rules.heading_problems(page.cells)
    yield from rules.loop_problems(page.cells)
    yield from rules.wait_problems(page.cells)
    yield from rules.uncompared_problems(page.cells, place)
    if page.source.name == "lesson.md":
        yield from rules.count_problems(page.cells, place)
    else:
        yield from rules.hint_problems(page.cells, HINTS, place)
    if page.path.parts[0] != "solutions":  # an answer may be longer than what is read at one glance
        yield from rules.length_problems(page.cells)


# ---------------------------------------------------------------------------------------------------
# From a page to a notebook


def bare_notebook(page: Page) -> NotebookNode:
    """Make the notebook of a page, without outputs.

    A cell's id is the lesson's number (its name, if it has none) and the cell's place in the source, so
    that it stays the same in every edition and language.
    """
    name = page.path.stem
    prefix = name[:2] if name[:2].isdigit() else name
    cells = []
    for cell in page.cells:
        make = formats.v4.new_code_cell if cell.kind == "code" else formats.v4.new_markdown_cell
        metadata = {"tags": list(cell.tags)} if cell.tags else {}
        cells.append(make(cell.source, id=f"{prefix}-{cell.number:03d}", metadata=metadata))
    notebook: NotebookNode = formats.v4.new_notebook(cells=cells, metadata=copy.deepcopy(METADATA))
    notebook.nbformat_minor = 5
    return notebook


def seal(notebook: NotebookNode, page: Page) -> None:
    """Note in the metadata what the notebook was made from, and how it looked when it was made."""
    notebook.metadata.tutorial = {
        "source": page.source.as_posix(),
        "fingerprint": fingerprint(notebook, page.text),
    }


def fingerprint(notebook: NotebookNode, text: str) -> str:
    """Return the SHA-256 of a source's text and of the cells and outputs made from it."""
    content = json.dumps([text, notebook.cells], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


# ---------------------------------------------------------------------------------------------------
# Running a notebook


class ThisInterpreter(KernelSpecManager):
    """Finds one kernel only, whatever else is installed: that of the interpreter that runs the build."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return the kernel of this interpreter; ``kernel_name`` does not matter."""
        return KernelSpec(**get_kernel_dict())


def kernel_environment(folder: str) -> dict[str, str]:
    """Return the environment of a kernel that imports this package and keeps its files in ``folder``."""
    package = str(Path(__file__).resolve().parents[2])
    search_path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": search_path, "IPYTHONDIR": str(Path(folder) / "ipython")}


# Run after the last cell, to hear of tasks that died while nobody awaited them.
UNSEEN = "from tutorial_lib.notebook import unseen_errors\nprint(*unseen_errors(), sep='\\n', end='')"


def run(notebook: NotebookNode, *, cell_timeout: float = 60.0) -> list[str]:
    """Run a notebook in a kernel of its own, keep the outputs in it, and return the problems.

    The kernel works in an empty temporary folder, so that nothing relies on the checkout. ``cell_timeout``
    is in seconds. A problem is: a cell that raises without the tag ``raises-exception`` or does not raise
    with it, takes too long or ends the kernel, writes to stderr, prints what differs in every run; and a
    task that died while nobody awaited it. The run ends with the first cell that fails.
    """
    last = formats.v4.new_code_cell(UNSEEN)
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            formats.v4.new_notebook(cells=[*notebook.cells, last]),
            km=AsyncKernelManager(kernel_spec_manager=ThisInterpreter()),
            timeout=cell_timeout,
            coalesce_streams=True,
            record_timing=False,
            shutdown_kernel="immediate",
            extra_arguments=["--log-level=ERROR"],
        )
        with client.setup_kernel(cleanup_kc=True, cwd=folder, env=kernel_environment(folder)):
            for number, cell in enumerate([*notebook.cells, last]):
                problems += run_cell(client, cell, number)
                if problems:
                    return problems
    if last.outputs:
        problems.append(last.outputs[0].text)
    return problems


def run_cell(client: NotebookClient, cell: NotebookNode, number: int) -> list[str]:
    """Run one cell, make its outputs the same for every run and machine, and return the problems."""
    if cell.cell_type != "code":
        return []
    place = f"cell {cell.id} ({cell.source.splitlines()[0] if cell.source else 'empty'})"
    try:
        client.execute_cell(cell, number)
    except CellExecutionError as error:
        return [f"{place} raised {error.ename}: {error.evalue}. Mend it, or tag it raises-exception."]
    except CellTimeoutError:
        return [f"{place} did not end within {client.timeout:g} s."]
    except DeadKernelError:
        return [f"{place} ended the kernel."]
    cell.outputs = [normal_output(output) for output in cell.outputs]
    problems = []
    kinds = {output.output_type for output in cell.outputs}
    if "raises-exception" in cell.metadata.get("tags", ()) and "error" not in kinds:
        problems.append(f"{place} is tagged raises-exception and raised nothing.")
    for output in cell.outputs:
        if output.get("name") == "stderr":
            problems.append(f"{place} writes to stderr: {output.text.strip()}")
        problems += rules.output_problems(output_text(output), place)
    return problems


def normal_output(output: NotebookNode) -> NotebookNode:
    """Return an output without what differs from run to run, from machine to machine.

    Of an error the name and the message stay (of a group its tree too, which `tutorial_lib.notebook` draws).
    Of a widget the picture stays: its model lives only as long as the kernel.
    """
    output = copy.deepcopy(output)
    if output.output_type == "error" and "ExceptionGroup" not in output.ename:
        output.traceback = [f"{output.ename}: {output.evalue}"]
    output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    return output


def output_text(output: NotebookNode) -> str:
    """Return what a reader of an output can read: all of its text, pictures drawn as text included."""
    data: Mapping[str, str] = output.get("data", {})
    shown = [text for kind, text in data.items() if kind.startswith("text/") or kind == "image/svg+xml"]
    return "\n".join([output.get("text", ""), *output.get("traceback", ()), *shown])


# ---------------------------------------------------------------------------------------------------
# Building and checking


def build(root: Path, lesson: Path, *, teacher: Path | None = None) -> list[str]:
    """Make all notebooks of one lesson and return the problems; with a problem nothing is written.

    ``root`` is the checkout, ``lesson`` the lesson's folder in it. With ``teacher`` only the teacher's
    edition is made, into that folder.
    """
    try:
        todo = pages(root, lesson, teacher=teacher is not None)
    except SourceError as error:
        return [str(error)]
    problems = list(dict.fromkeys(problem for page in todo for problem in page_problems(page)))
    if problems:
        return problems
    made: list[tuple[Path, NotebookNode]] = []
    ran: dict[Path, NotebookNode] = {}
    for page in todo:
        notebook = bare_notebook(page)
        if page.runs and page.source in ran:  # another language: the code is the same, so are its outputs
            copy_outputs(ran[page.source], notebook)
        elif page.runs:
            problems += [f"{page.source.as_posix()}, {problem}" for problem in run(notebook)]
            ran[page.source] = notebook
        seal(notebook, page)
        made.append((page.path, notebook))
    if not problems:
        for path, notebook in made:
            write((root if teacher is None else teacher) / path, notebook)
    return problems


def code_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Return the code cells of a notebook by their ids."""
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}


def copy_outputs(source: NotebookNode, target: NotebookNode) -> None:
    """Give the code cells of ``target`` the outputs of the cells with the same id in ``source``."""
    ran = code_cells(source)
    for cell_id, cell in code_cells(target).items():
        cell.outputs = copy.deepcopy(ran[cell_id].outputs)
        cell.execution_count = ran[cell_id].execution_count


def write(path: Path, notebook: NotebookNode) -> None:
    """Write a notebook, the same bytes on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(formats.writes(notebook) + "\n", encoding="utf-8", newline="\n")


def check(root: Path, lessons: Iterable[Path]) -> list[str]:
    """Return the problems of the lessons and of their notebooks in ``root``, without running anything."""
    problems: list[str] = []
    for lesson in lessons:
        try:
            todo = pages(root, lesson)
        except SourceError as error:
            problems.append(str(error))
            continue
        for page in todo:
            problems += page_problems(page)
            if not is_fresh(root / page.path, page):
                number = lesson.name.partition("_")[0]
                problems.append(f"{page.path.as_posix()} is stale. Run: {COMMAND} {number}")
    return list(dict.fromkeys(problems))


def is_fresh(path: Path, page: Page) -> bool:
    """Tell whether the notebook at ``path`` is just as the build left it, and made from this page."""
    if not path.exists():
        return False
    try:
        found = formats.reads(path.read_text(encoding="utf-8"), as_version=4)
    except NotJSONError:  # such as the marks of a merge conflict
        return False
    expected = bare_notebook(page)
    if code_cells(found).keys() != code_cells(expected).keys():
        return False
    if page.runs:
        copy_outputs(found, expected)
    seal(expected, page)
    return bool(found == expected)


def strays(root: Path, lessons: Iterable[Path]) -> list[str]:
    """Return a problem for every notebook in the generated folders that none of the lessons makes."""
    expected = {page.path for lesson in lessons for page in pages(root, lesson)}
    found = [
        path.relative_to(root) for folder in GENERATED for path in sorted((root / folder).rglob("*.ipynb"))
    ]
    return [
        f"{path.as_posix()} belongs to no lesson. Delete it, or write its source under lessons/."
        for path in found
        if path not in expected and ".ipynb_checkpoints" not in path.parts
    ]


# ---------------------------------------------------------------------------------------------------
# The command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments`` (those of the command line, if left out); return its exit status."""
    parser = command_line()
    options = parser.parse_args(arguments)
    lessons = sorted(path.parent for path in options.root.glob("lessons/*/lesson.md"))
    if not lessons:
        parser.error(f"there is no lesson under {options.root / 'lessons'}. Run this in the checkout.")
    unknown = [name for name in options.lessons if not any(is_named(path, name) for path in lessons)]
    if unknown:
        known = ", ".join(path.name for path in lessons)
        parser.error(f"no lesson is called {' or '.join(unknown)}. There are: {known}")
    names = options.lessons or [path.name for path in lessons]
    chosen = [path for path in lessons if any(is_named(path, name) for name in names)]

    problems: list[str] = []
    if options.check:
        problems += check(options.root, chosen)
        if not problems and not options.lessons:
            problems += strays(options.root, lessons)
    else:
        for lesson in chosen:
            print(lesson.name, flush=True)
            problems += build(options.root, lesson, teacher=options.teacher)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(COMMAND, description="Make the notebooks of the course from lessons/.")
    parser.add_argument("lessons", nargs="*", metavar="NN", help="a lesson's number or folder; else all")
    parser.add_argument("--check", action="store_true", help="make nothing, tell what is stale or stray")
    parser.add_argument("--teacher", type=Path, metavar="DIR", help="make the teacher's edition, into DIR")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout; else the present folder")
    return parser


def is_named(lesson: Path, name: str) -> bool:
    """Tell whether ``name`` means this lesson: it is its folder's name, or the number that begins it."""
    return lesson.name == name or lesson.name.startswith(f"{name}_")


if __name__ == "__main__":
    sys.exit(main())
