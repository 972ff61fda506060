"""The house rules that a reader relies on, checked by reading the source and never by running it."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tutorial_lib

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "tutorial_lib"
PYTHON_FOLDERS = ("tutorial_lib", "tests", "benchmarks")
TEXT_FOLDERS = (*PYTHON_FOLDERS, "lessons", "notebooks", "exercises", "solutions", "docs", ".ci")

LAYERS = {
    "patterns": 0,
    "trace": 0,
    "store": 1,
    "near_miss": 1,
    "arguments": 1,
    "watching": 1,
    "claims": 1,
    "board": 1,
    "space": 1,
    "manager": 1,
    "whereabouts": 1,
    "watchdog": 1,
    "unreal_loop": 1,
    "virtual_task": 1,
    "virtual_loop": 1,
    "simulation": 1,
    "tasks": 2,
    "heartbeat": 2,
    "members": 2,
    "tables": 2,
    "crew": 2,
    "master": 2,
    "flow": 2,
    "service_process": 2,
    "resilience": 2,
    "recovery": 3,
    "supervisor": 3,
    "faults": 3,
    "views": 4,
    "engine": 4,
    "stack": 4,
    "classroom": 5,
    "course": 5,
    "notebook": 6,
}
"""The storeys of the house. A module imports from its own storey or from below."""

CORE = [name for name, layer in LAYERS.items() if layer < LAYERS["views"]]

OUTSIDE = {
    "engine": {"redis", "msgpack"},
    "views": {"ipywidgets", "matplotlib", "IPython"},
    "classroom.server": {"redis"},
    "classroom.page": {"tornado"},
    "classroom.widget": {"ipywidgets", "IPython"},
    "notebook": {"IPython"},
    "stack": {
        *("celery", "flask", "google", "grpc", "kombu", "prometheus_client", "pybreaker", "redis"),
        *("structlog", "tenacity", "werkzeug"),
    },
    "course.build": {"jupytext", "nbformat", "nbclient", "ipykernel", "jupyter_client"},
    "course.cli": {"jupyterlab"},
    "course.doctor": {"jupyter_client", "packaging", "matplotlib", "ipywidgets"},
}
"""The packages beyond the standard library that a module, or a module below it, may import."""

NEVER_CALLED = {
    *("Claim", "Event", "Run", "SpaceManager", "SpaceStats"),  # made by other calls, whose examples show them
    *("load_ipython_extension", "unload_ipython_extension"),  # called by IPython
}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the dotted name below the library: "space", "views.text"; the package itself is ""."""
    return ".".join(path.relative_to(LIBRARY).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those under ``if TYPE_CHECKING:``, which never run."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from running_nodes(node)


def imported(path: Path) -> set[str]:
    """The full dotted names that a file imports, also inside functions."""
    names: set[str] = set()
    for node in running_nodes(syntax_tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: write the full name in place of a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported_modules(path: Path) -> set[str]:
    """The modules of the library that a file imports, by their names below the library."""
    known = {module_name(file) for file in python_files("tutorial_lib")}
    found = set()
    for name in imported(path):
        if name.split(".")[0] == "tutorial_lib":
            inside = name.removeprefix("tutorial_lib").lstrip(".")
            found.add(inside if inside in known else inside.rpartition(".")[0])
    return found


def layer_of(module: str) -> int:
    return LAYERS[module.split(".")[0]]


def test_every_module_has_a_layer() -> None:
    """A new module is given its storey on purpose, and a storey has no module that is gone."""
    found = {module_name(path).split(".")[0] for path in python_files("tutorial_lib")} - {""}
    assert found <= set(LAYERS)


def test_imports_point_downwards() -> None:
    """No module imports from a storey above its own.

    The package itself gathers the public names, so only the two upper storeys, course and notebook, may
    import from it.
    """
    for path in python_files("tutorial_lib"):
        module = module_name(path)
        if module == "":
            continue
        for other in imported_modules(path):
            allowed = layer_of(module) >= (LAYERS["course"] if other == "" else layer_of(other))
            assert allowed, f"{module} imports {other or 'tutorial_lib'}, which lies above it"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """The modules can be put in an order in which each one needs only those before it."""
    waiting = {module_name(path): imported_modules(path) for path in python_files("tutorial_lib")}
    facade = waiting.pop("")
    assert facade
    while ready := {module for module, needs in waiting.items() if not (needs - {"", module}) & set(waiting)}:
        waiting = {module: needs for module, needs in waiting.items() if module not in ready}
    assert not waiting, f"these import each other in a circle: {sorted(waiting)}"


def test_packages_from_outside_are_imported_only_where_they_belong() -> None:
    """The core needs only the standard library; each other module only what it is there for."""
    for path in python_files("tutorial_lib"):
        module = module_name(path)
        allowed = set().union(*(OUTSIDE[place] for place in OUTSIDE if f"{module}.".startswith(f"{place}.")))
        roots = {name.split(".")[0] for name in imported(path)}
        foreign = roots - sys.stdlib_module_names - {"tutorial_lib"}
        assert foreign <= allowed, f"{module or 'tutorial_lib'} imports {sorted(foreign - allowed)}"


def test_pyplot_is_never_imported() -> None:
    """Pyplot keeps figures in a global list; a picture here belongs to whoever asked for it."""
    for path in python_files("tutorial_lib"):
        assert not any("pyplot" in name for name in imported(path)), path.name


def test_the_library_never_reads_the_wall_clock() -> None:
    """The running loop is the clock: the time of day has no place in the library."""
    forbidden = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}
    for path in python_files("tutorial_lib"):
        tree = syntax_tree(path)
        used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | imported(
            path
        )
        clocks = {name for name in used for clock in forbidden if f".{name}".endswith(f".{clock}")}
        assert not clocks, f"{path.name} uses {sorted(clocks)}; use loop.time()"


def test_every_file_is_opened_with_a_named_encoding() -> None:
    """The default encoding differs between machines, and on Japanese Windows it cannot read our files."""
    for path in python_files(*PYTHON_FOLDERS):
        for call in (node for node in ast.walk(syntax_tree(path)) if isinstance(node, ast.Call)):
            function = ast.unparse(call.func)
            opens_text = function == "open" and not any(
                "b" in str(ast.unparse(word)) for word in call.args[1:2]
            )
            if opens_text or function.endswith((".read_text", ".write_text")):
                named = {keyword.arg for keyword in call.keywords}
                assert "encoding" in named, f"{path.name}, line {call.lineno}: say encoding='utf-8'"


def public_things() -> list[object]:
    """The public classes and functions; a plain value such as ``ANY`` is described where it is assigned."""
    things = [getattr(tutorial_lib, name) for name in tutorial_lib.__all__]
    return [thing for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]


def public_calls() -> list[object]:
    """What a learner calls by its name."""
    errors = [thing for thing in public_things() if inspect.isclass(thing) and issubclass(thing, Exception)]
    return [thing for thing in public_things() if thing not in errors and thing.__name__ not in NEVER_CALLED]


@pytest.mark.parametrize("thing", public_things())
def test_every_public_name_is_documented(thing: object) -> None:
    """Every public class and function says what it is, and so does every public method of a class."""
    assert inspect.getdoc(thing)
    for part, member in vars(thing).items():
        if inspect.isfunction(member) and not part.startswith("_"):
            assert inspect.getdoc(member), f"{thing}: {part} has no docstring"


@pytest.mark.parametrize("thing", public_calls())
def test_every_public_call_has_an_example(thing: object) -> None:
    """What a learner calls by name shows an example in its docstring, which runs with the tests."""
    assert ">>> " in (inspect.getdoc(thing) or "")


def committed_texts() -> Iterator[tuple[Path, str]]:
    """Every text file of the project that is kept in git, with its content."""
    top = [path for path in ROOT.iterdir() if path.is_file() and path.name != "uv.lock"]
    below = [path for folder in TEXT_FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted(top + below):
        hidden = any(part.startswith(".") and part != ".ci" for part in path.relative_to(ROOT).parts[:-1])
        if not hidden and "__pycache__" not in path.parts and path.suffix != ".png":
            yield path, path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a path of one machine", r"(?<![\w.<])/(?:work|opt|root|Users)/"),
        ("a registry's address", r"https?://[\w.-]*(?:pypi|pythonhosted|npmjs|conda|proxy|mirror)[\w.-]*"),
    ],
)
def test_no_file_is_tied_to_one_machine(what: str, pattern: str) -> None:
    """What is committed is the same for everybody."""
    for path, text in committed_texts():
        found = re.search(pattern, text)
        assert not found, f"{path.relative_to(ROOT)} holds {what}: {found and found.group()}"


def test_git_keeps_no_lock_file() -> None:
    """A lock file records where each package was fetched from, so git ignores it."""
    assert "uv.lock" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
