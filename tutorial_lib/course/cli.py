"""The ``tutorial`` command.

``tutorial lab`` opens the course in JupyterLab, ``tutorial doctor`` checks that everything works, and
``tutorial check`` checks the exercises without opening a notebook.
Each command is one function that takes the parsed arguments and returns the exit status; `_parser` lists
them all.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from tutorial_lib.course.doctor import examine
from tutorial_lib.course.workspace import (
    FIRST_LESSON,
    Preparation,
    WorkspaceError,
    prepare,
    version,
)

__all__ = ["main"]

_DEFAULT_FOLDER: Final = Path("tuplespace-tutorial")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0 if all is well, 1 if something needs doing.

    ``arguments`` are the words after ``tutorial``, by default those of the process. What follows a ``--``
    is handed to JupyterLab unread. Raises `SystemExit` with status 2, after printing the usage, for words
    that make no command.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A Japanese Windows console knows cp932 only: a letter it lacks becomes "?", never an error.
            stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    options = _parser().parse_args(words[:end], argparse.Namespace(for_jupyter=words[end + 1 :]))
    status: int = options.run(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tutorial", description="A course on coordinating concurrent work.")
    parser.add_argument("--version", action="version", version=f"tutorial {version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    lab_parser = commands.add_parser(
        "lab",
        help="open the course in JupyterLab",
        usage="tutorial lab [-h] [FOLDER] [-- JUPYTERLAB OPTIONS]",
        description="Make a working folder if there is none, and open the first lesson in JupyterLab. "
        "A file that you changed is never overwritten. "
        "Options after -- go to JupyterLab, for example: -- --no-browser",
    )
    lab_parser.set_defaults(run=lab)
    doctor_parser = commands.add_parser(
        "doctor",
        help="check that everything works on this machine",
        description="Check this machine and print one line per finding. "
        "The exit status is 1 if something needs doing.",
    )
    doctor_parser.set_defaults(run=doctor)
    stack_parser = commands.add_parser("stack", help="run the services of lesson 08 on this machine")
    stack_parser.add_argument("action", choices=["up"], help="up: start them all, and stop them at Ctrl-C")
    stack_parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="number of worker processes (default: 2)"
    )
    stack_parser.set_defaults(run=stack)
    _add_class_commands(commands)
    _add_exercise_commands(commands)
    for command in (lab_parser, doctor_parser):
        command.add_argument(
            "folder",
            nargs="?",
            type=Path,
            default=_DEFAULT_FOLDER,
            metavar="FOLDER",
            help=f"your working folder (default: {_DEFAULT_FOLDER} in the present folder)",
        )
    return parser


def _add_class_commands(commands: Any) -> None:
    """Add the two sides of a class: host and join."""
    class_parser = commands.add_parser("class", help="hold a class, or take part in one: lesson 09")
    sides = class_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    host = sides.add_parser(
        "host",
        help="hold a class on this machine",
        description="Start a server with a new password, print how students join, and open the board.",
    )
    host.add_argument(
        "--address",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address of this machine at which students reach it (default: only this machine itself)",
    )
    host.add_argument("--port", type=int, default=0, metavar="PORT", help="the port (default: a free one)")
    host.add_argument("--no-browser", action="store_true", help="print the address of the board only")
    host.set_defaults(run=partial(_in_class, "host"))
    join = sides.add_parser(
        "join",
        help="take part with this machine",
        description="Do tasks of the class until it is over or Ctrl-C. Only jobs of the course ever run.",
    )
    join.add_argument(
        "url",
        nargs="?",
        metavar="URL",
        help="the address that the host gave you; - asks for it; by default that in TUTORIAL_CLASS_URL",
    )
    join.add_argument("--name", metavar="NAME", help="the name on the board (default: your login)")
    join.set_defaults(run=partial(_in_class, "join"))


def _add_exercise_commands(commands: Any) -> None:
    """Add what a notebook has as functions: list, check, hint, reset, solution, progress."""
    for name, run, ids, text in (
        ("list", list_exercises, "none", "list the exercises, lesson by lesson"),
        ("check", check, "one or none", "check the answers in your notebooks, all or one"),
        ("hint", partial(_at_the_desk, "hint"), "one", "print the next hint for an exercise"),
        (
            "reset",
            partial(_at_the_desk, "reset"),
            "one",
            "begin an exercise anew; your version is kept aside",
        ),
        ("solution", partial(_at_the_desk, "solution"), "one", "print the worked solution of an exercise"),
        ("progress", progress, "none", "show how all exercises stand"),
    ):
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(run=run)
        if ids != "none":
            command.add_argument(
                "id",
                nargs="?" if ids == "one or none" else None,
                metavar="ID",
                help="the exercise, such as load-balance",
            )


def lab(options: argparse.Namespace) -> int:
    """Prepare the working folder and open it in JupyterLab; returns when JupyterLab ends."""
    try:
        preparation = prepare(options.folder)
    except WorkspaceError as error:
        print(f"tutorial lab: {error}", file=sys.stderr)
        return 1
    print(_report(preparation), flush=True)
    return _open_jupyterlab(options.folder.resolve(), options.for_jupyter)


def _report(preparation: Preparation) -> str:
    """Say in plain sentences what became of the working folder."""
    lines = [f"Your working folder is {preparation.folder.resolve()}."]
    if preparation.added:
        lines.append(f"Files put in: {len(preparation.added)}.")
    if preparation.refreshed:
        lines.append(f"Files brought up to date: {len(preparation.refreshed)}.")
    if preparation.kept:
        lines.append("These are your own work and stay as they are, although the course has another edition:")
        lines.extend(f"  {name}" for name in preparation.kept)
        lines.append("To get that edition, rename your file and run this command again.")
    return "\n".join(lines)


def _open_jupyterlab(folder: Path, extra: list[str]) -> int:
    try:
        from jupyterlab.labapp import LabApp  # here, since it takes a second and nothing else needs it
    except ImportError as error:
        print(f"tutorial lab: JupyterLab cannot be started: {error}. Run: tutorial doctor", file=sys.stderr)
        return 1
    words = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")  # a container has no other user, and JupyterLab would refuse to start
    LabApp.launch_instance(argv=[*words, *extra])
    return 0


def doctor(options: argparse.Namespace) -> int:
    """Print what the doctor finds; the status is 1 if something needs doing."""
    findings = []
    for finding in examine(options.folder):
        print(finding, flush=True)
        findings.append(finding)
    to_do = sum(finding.state == "to do" for finding in findings)
    print(f"Things to do: {to_do}." if to_do else "Everything the course needs is here.")
    return 1 if to_do else 0


def stack(options: argparse.Namespace) -> int:
    """Run the services of lesson 08 until Ctrl-C; the status is 1 if they could not be started."""
    try:
        from tutorial_lib.stack.real import up  # here, since its packages are an extra
    except ImportError as error:
        print(f"tutorial stack: {error}", file=sys.stderr)
        return 1
    return up(options.workers)


def _in_class(side: str, options: argparse.Namespace) -> int:
    """Hold a class, or take part in one; the status is 1 if that is not possible."""
    try:
        from tutorial_lib.classroom import command  # here, since its packages are an extra
    except ImportError as error:
        print(f"tutorial class {side}: {error}", file=sys.stderr)
        return 1
    if side == "host":
        return command.host_class(options.address, options.port, opens_browser=not options.no_browser)
    return command.join_class(options.url, options.name)


# The exercises. Imported when they are asked for, since the checks take a moment to load.


def list_exercises(options: argparse.Namespace) -> int:
    """Print the id, the lesson and the signature of every exercise."""
    from tutorial_lib.course.catalog import EXERCISES

    for exercise in EXERCISES.values():
        print(f"{exercise.id:<14} {exercise.lesson:<21} {exercise.signature}")
    return 0


def check(options: argparse.Namespace) -> int:
    """Check the answers in the learner's notebooks; the status is 0 if all that were asked for passed."""
    from tutorial_lib.course import desk
    from tutorial_lib.course.catalog import EXERCISES
    from tutorial_lib.course.handed_in import answers_in
    from tutorial_lib.course.progress import progress_file

    if options.id is not None and options.id not in EXERCISES:
        print(f"There is no exercise {options.id!r}. tutorial list shows them all.", file=sys.stderr)
        return 1
    kept_in = progress_file()
    folder = (Path.cwd() if kept_in is None else kept_in.parent) / "exercises"
    asked = [EXERCISES[options.id]] if options.id else list(EXERCISES.values())
    all_passed = True
    for lesson in dict.fromkeys(exercise.lesson for exercise in asked):
        notebook = folder / f"{lesson}.ipynb"
        if not notebook.exists():
            print(f"tutorial check: {notebook} is not there. tutorial lab makes a folder.", file=sys.stderr)
            return 1
        answers = answers_in(notebook)
        for exercise in asked:
            if exercise.lesson == lesson:
                verdict = desk.check(exercise.id, answers.get(exercise.id))
                print(f"{exercise.id}: {verdict.message if verdict else ''}", flush=True)
                all_passed = all_passed and verdict is not None and verdict.passed
    return 0 if all_passed else 1


def _at_the_desk(action: str, options: argparse.Namespace) -> int:
    """Call the function of this name that a notebook has, for one exercise."""
    from tutorial_lib.course import desk

    try:
        getattr(desk, action)(options.id)
    except ValueError as error:
        print(f"tutorial {action}: {error}", file=sys.stderr)
        return 1
    return 0


def progress(options: argparse.Namespace) -> int:
    """Print how all exercises stand."""
    from tutorial_lib.course import desk

    print(repr(desk.progress()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
