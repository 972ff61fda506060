"""Rules: what the source of a lesson must keep to, checked without running anything.

====  ====================================================================================
cell  one piece of a lesson's source: text or code, with its tags and the place it stands at
rule  a function from cells to problems, each a sentence that says where, what and what to do
====  ====================================================================================

The build refuses a lesson with problems. What only shows when a lesson runs (an error, a word on stderr)
is found by `tutorial_lib.course.build`.

>>> cell = Cell(number=7, kind="code", source="asyncio.run(main())", tags=(), place="lesson.md, line 40")
>>> print(*loop_problems([cell]))
lesson.md, line 40: starts a loop inside the notebook's own. Write await main(), or tag the cell loop-nesting.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "Cell",
    "count_problems",
    "exercise_ids",
    "heading_problems",
    "hint_problems",
    "length_problems",
    "loop_problems",
    "output_problems",
    "set_up_problems",
    "syntax_problems",
    "tag_problems",
    "uncompared_problems",
    "wait_problems",
]

FEWEST_CODE_CELLS = 10
LONGEST_CODE_CELL = 20

LANGUAGES = ("en", "ja")
EDITION_TAGS = {*LANGUAGES, "teacher", "solution", "stub"}
UNCOMPARED = "nbval-ignore-output"
CELL_TAGS = {"raises-exception", "loop-nesting", "no-timeout", UNCOMPARED}
REASONS = ("# measured: ", "# needs a server: ")
LARGEST_PART_UNCOMPARED = 4


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson's source.

    ``number`` is its position in the source, from 1; ``kind`` is ``"code"`` or ``"markdown"``; ``place``
    says where it stands, for messages.
    """

    number: int
    kind: str
    source: str
    tags: tuple[str, ...]
    place: str


# ---------------------------------------------------------------------------------------------------
# The shape of a lesson


def tag_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Find tags that nobody knows: a slip of the pen would otherwise change nothing, silently."""
    for cell in cells:
        for tag in cell.tags:
            if tag not in EDITION_TAGS | CELL_TAGS:
                known = ", ".join(sorted(EDITION_TAGS | CELL_TAGS))
                yield f"{cell.place}: the tag {tag!r} is unknown. Known are: {known}."
            elif cell.kind == "code" and tag in (*LANGUAGES, "teacher"):
                yield f"{cell.place}: code serves everybody and takes no mark {tag!r}. Mark text instead."


def count_problems(cells: Iterable[Cell], place: str) -> Iterator[str]:
    """Find a lesson with too few code cells; ``place`` names the lesson."""
    count = sum(cell.kind == "code" for cell in cells)
    if count < FEWEST_CODE_CELLS:
        yield f"{place}: has {count} code cells, a lesson has at least {FEWEST_CODE_CELLS}."


def length_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Find code cells that are too long to be read at one glance."""
    for cell in _code(cells):
        lines = len(cell.source.splitlines())
        if lines > LONGEST_CODE_CELL:
            yield f"{cell.place}: has {lines} lines, a code cell has at most {LONGEST_CODE_CELL}. Split it."


def heading_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Find headings out of order: one title first, no level left out, no heading twice."""
    seen: set[str] = set()
    level_before = 0
    for cell in cells:
        for level, title in _headings(cell):
            heading = f"{'#' * level} {title}"
            if level == 1 and level_before:
                yield f"{cell.place}: {heading!r} is a second title. Give it two signs or more."
            elif level > level_before + 1:
                yield f"{cell.place}: {heading!r} leaves a level out. Give it {level_before + 1}."
            if title in seen:
                yield f"{cell.place}: the heading {title!r} stands there twice. Give each its own words."
            seen.add(title)
            level_before = level


def _headings(cell: Cell) -> Iterator[tuple[int, str]]:
    if cell.kind != "markdown":
        return
    text = re.sub(r"^(```|~~~).*?^\1", "", cell.source, flags=re.MULTILINE | re.DOTALL)
    for signs, title in re.findall(r"^(#{1,6}) +(.+?)\s*$", text, flags=re.MULTILINE):
        yield len(signs), title


# ---------------------------------------------------------------------------------------------------
# The code of a lesson


def syntax_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Find code that is not Python, and a last line whose semicolon hides a value only in some programs."""
    for cell in _code(cells):
        try:
            _tree(cell)
        except SyntaxError as error:
            yield f"{cell.place}: is not Python: {error.msg} in its line {error.lineno}."
        if cell.source.rstrip().endswith(";"):
            yield f"{cell.place}: ends with a semicolon, which nbval does not obey. Give the value a name."


def set_up_problems(cells: Iterable[Cell], place: str) -> Iterator[str]:
    """Find a notebook that does not begin with ``%load_ext tutorial_lib``; ``place`` names it.

    Without it a cell that dies of an exception group counts as passed, and a task may die unseen.
    """
    first = next(_code(cells), None)
    if first is None or "%load_ext tutorial_lib" not in first.source.splitlines():
        yield f"{place}: its first code cell must hold the line %load_ext tutorial_lib."


def loop_problems(cells: Iterable[Cell]) -> Iterator[str]:
    """Find cells that run a loop inside the notebook's loop and do not carry the tag ``loop-nesting``."""
    for cell in _code(cells):
        if "loop-nesting" not in cell.tags and any(_nests_a_loop(node) for node in ast.walk(_tree(cell))):
            yield (
                f"{cell.place}: starts a loop inside the notebook's own. "
                "Write await main(), or tag the cell loop-nesting."
            )


def _nests_a_loop(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="run" | "Runner")):
            return True
        case ast.Call(func=ast.Attribute(attr="run_until_complete")):
            return True
        case ast.Import(names=names):
            return any(name.name.startswith("nest_asyncio") for name in names)
        case ast.ImportFrom(module=str(module), names=names):
            return module.startswith("nest_asyncio") or (
                module == "asyncio" and any(name.name in ("run", "Runner") for name in names)
            )
    return False


def wait_problems(cells: Sequence[Cell]) -> Iterator[str]:
    """Find waits on a space that could hold up the notebook for ever.

    Meant are ``take``, ``read`` and ``claim`` without a timeout, in code that runs in real time: the
    cells themselves and every function they call by name. What is only handed on by name, as in
    ``simulate(main)``, runs in virtual time, and there a wait without an end is found and explained.
    A cell that waits on purpose carries the tag ``no-timeout``.
    """
    functions = {
        statement.name: (statement, cell)
        for cell in _code(cells)
        for statement in _tree(cell).body
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    pending: list[tuple[ast.AST, Cell]] = [
        (statement, cell)
        for cell in _code(cells)
        for statement in _tree(cell).body
        if not isinstance(statement, definitions)
    ]
    for code, cell in pending:  # grows while it is walked: a called function's body is looked at as well
        for node in _in_real_time(code):
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in functions:
                    pending.append(functions.pop(name))
                case ast.Await(value=ast.Call() as call) | ast.withitem(context_expr=ast.Call() as call):
                    if _waits_without_end(call) and "no-timeout" not in cell.tags:
                        yield (
                            f"{cell.place}: {ast.unparse(call)} may wait for ever. "
                            "Add timeout=..., run it by simulate, or tag the cell no-timeout."
                        )


def _in_real_time(code: ast.AST) -> Iterator[ast.AST]:
    if isinstance(code, ast.Call) and isinstance(code.func, ast.Name) and code.func.id == "simulate":
        return
    yield code
    for child in ast.iter_child_nodes(code):
        yield from _in_real_time(child)


def _waits_without_end(call: ast.Call) -> bool:
    waits = isinstance(call.func, ast.Attribute) and call.func.attr in ("take", "read", "claim")
    return waits and all(keyword.arg != "timeout" for keyword in call.keywords)


def uncompared_problems(cells: Sequence[Cell], place: str) -> Iterator[str]:
    """Find outputs that no test compares without a good reason, and too many of them.

    A measured figure is another one in every run, and a server is not on every machine. So the outputs of
    such cells, tagged ``nbval-ignore-output``, are not compared. Their first line says why, for the reader as
    well, and they are at most a quarter of the code cells. ``place`` names the lesson.
    """
    code = list(_code(cells))
    uncompared = [cell for cell in code if UNCOMPARED in cell.tags]
    for cell in uncompared:
        if not cell.source.startswith(REASONS):
            reasons = " or ".join(repr(reason.strip()) for reason in REASONS)
            yield f"{cell.place}: is tagged {UNCOMPARED} and does not say why. Begin it with {reasons}."
    if len(uncompared) * LARGEST_PART_UNCOMPARED > len(code):
        yield (
            f"{place}: the outputs of {len(uncompared)} of {len(code)} code cells are not compared, at most "
            "a quarter may be. Print what is the same in every run."
        )


# ---------------------------------------------------------------------------------------------------
# Exercises


def exercise_ids(cells: Iterable[Cell]) -> list[str]:
    """Return the ids that the cells check, in order: the first argument of every ``check(...)``."""
    ids: dict[str, None] = {}
    for cell in _code(cells):
        for node in ast.walk(_tree(cell)):
            match node:
                case ast.Call(func=ast.Name(id="check"), args=[ast.Constant(value=str(exercise)), *_]):
                    ids[exercise] = None
    return list(ids)


def hint_problems(cells: Iterable[Cell], hints: Mapping[str, Sequence[str]], place: str) -> Iterator[str]:
    """Find exercises that have no hints in ``hints``, which maps an exercise's id to its hints."""
    for exercise in exercise_ids(cells):
        if not hints.get(exercise):
            yield f"{place}: the exercise {exercise!r} has no hints. Write them in the catalog."


# ---------------------------------------------------------------------------------------------------
# Outputs

_VARIES = {
    "a path of one machine": r"(?<![\w.:/])/(?:home|root|tmp|usr|opt|var|work|Users)/\w\S*|\b[A-Z]:\\\w\S*",
    "the address of an object": r"\b0x[0-9a-fA-F]{6,}",
    "a date or a time of day": r"\b\d{4}-\d\d-\d\d\b|\b\d\d:\d\d:\d\d\b",
}


def output_problems(text: str, place: str) -> Iterator[str]:
    """Find what will be different in the next run, in the output ``text`` of the cell at ``place``.

    >>> print(*output_problems("<object object at 0x7f10a2b3c4d0>", "02-7"))
    02-7: prints the address of an object (0x7f10a2b3c4d0), which differs in every run. Print something else.
    """
    for what, pattern in _VARIES.items():
        found = re.search(pattern, text)
        if found:
            yield f"{place}: prints {what} ({found[0]}), which differs in every run. Print something else."


# ---------------------------------------------------------------------------------------------------


def _code(cells: Iterable[Cell]) -> Iterator[Cell]:
    return (cell for cell in cells if cell.kind == "code")


def _tree(cell: Cell) -> ast.Module:
    """Parse a cell. Lines that belong to the notebook and not to Python (``%load_ext``) count as empty."""
    lines = [re.sub(r"^(\s*)[%!].*", r"\1pass", line) for line in cell.source.splitlines()]
    return ast.parse("\n".join(lines))
