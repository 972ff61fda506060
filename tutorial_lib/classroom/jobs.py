"""Jobs: the only functions that ever run on a student's machine.

A task names one of them and gives its arguments; anything else is refused, and so are arguments that would
keep a machine busy for long. To add a job, write a function and a check here, and tell every machine.

>>> JOBS["count_primes"].function(0, 100)
25
>>> JOBS["count_primes"].check((0, "100"))
Traceback (most recent call last):
ValueError: count_primes: high is a whole number from 0 to 10000000, got '100'.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tutorial_lib.patterns import shown

__all__ = ["JOBS", "Job", "run_here"]

LARGEST_NUMBER: Final = 10_000_000
LONGEST_RANGE: Final = 500_000
LARGEST_PICTURE: Final = 400  # rows, and characters in a row
LONGEST_NAP: Final = 10.0  # seconds
DEPTH: Final = 200  # steps after which a point counts as one of the Mandelbrot set
SHADES: Final = " .:-=+*%@#"


@dataclass(frozen=True)
class Job:
    """A function that machines may run, by its name.

    ``check`` raises `ValueError`, saying what is wrong, unless the tuple of arguments is allowed. ``samples``
    are the arguments of a ready-made hand-out, one tuple for each task; ``text`` says what it does.
    """

    name: str
    function: Callable[..., Any]
    check: Callable[[tuple[Any, ...]], None]
    samples: tuple[tuple[Any, ...], ...]
    text: str


def count_primes(low: int, high: int) -> int:
    """Return how many primes p there are with ``low <= p < high``, by trial division.

    >>> count_primes(0, 10)
    4
    """
    return sum(_is_prime(number) for number in range(low, high))


def _is_prime(number: int) -> bool:
    if number < 4:
        return number > 1
    if number % 2 == 0:
        return False
    divisor = 3
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 2
    return True


def mandelbrot_row(row: int, rows: int, width: int) -> str:
    """Return line ``row`` of a picture of the Mandelbrot set that is ``rows`` high and ``width`` wide.

    A point c belongs to the set if z = z * z + c, begun at 0, stays small for ever; a character tells after
    how many steps it does not.

    >>> mandelbrot_row(1, 5, 24)
    '  .....::::@#######-... '
    """
    imaginary = 1.2 - 2.4 * (row + 0.5) / rows
    return "".join(_shade(complex(-2.2 + 3.2 * (column + 0.5) / width, imaginary)) for column in range(width))


def _shade(point: complex) -> str:
    z = 0j
    for step in range(DEPTH):
        z = z * z + point
        if abs(z) > 2:
            return SHADES[min(step // 2, len(SHADES) - 2)]
    return SHADES[-1]


async def nap(seconds: float) -> float:
    """Sleep for ``seconds`` and return them: a job that keeps a machine busy, but not its processor."""
    await asyncio.sleep(seconds)
    return seconds


def _check_count_primes(arguments: tuple[Any, ...]) -> None:
    low, high = _arguments("count_primes", "low, high", arguments)
    _check_whole_number("count_primes", "low", low, 0, LARGEST_NUMBER)
    _check_whole_number("count_primes", "high", high, 0, LARGEST_NUMBER)
    if high - low > LONGEST_RANGE:
        raise ValueError(f"count_primes: at most {LONGEST_RANGE} numbers in one task, got {high - low}.")


def _check_mandelbrot_row(arguments: tuple[Any, ...]) -> None:
    row, rows, width = _arguments("mandelbrot_row", "row, rows, width", arguments)
    _check_whole_number("mandelbrot_row", "rows", rows, 1, LARGEST_PICTURE)
    _check_whole_number("mandelbrot_row", "row", row, 0, rows - 1)
    _check_whole_number("mandelbrot_row", "width", width, 1, LARGEST_PICTURE)


def _check_nap(arguments: tuple[Any, ...]) -> None:
    (seconds,) = _arguments("nap", "seconds", arguments)
    if type(seconds) not in (int, float) or not 0 <= seconds <= LONGEST_NAP:
        raise ValueError(f"nap: seconds is a number from 0 to {LONGEST_NAP:g}, got {shown(seconds)}.")


def _arguments(job: str, names: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments if they are as many as ``names``."""
    if not isinstance(arguments, tuple) or len(arguments) != len(names.split(",")):
        raise ValueError(f"{job} needs a tuple of {names}, got {shown(arguments)}.")
    return arguments


def _check_whole_number(job: str, name: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{job}: {name} is a whole number from {least} to {most}, got {shown(value)}.")


JOBS: Final[dict[str, Job]] = {
    job.name: job
    for job in (
        Job(
            "count_primes",
            count_primes,
            _check_count_primes,
            tuple((low, low + 50_000) for low in range(0, 2_000_000, 50_000)),
            "count the primes in a range of numbers",
        ),
        Job(
            "mandelbrot_row",
            mandelbrot_row,
            _check_mandelbrot_row,
            tuple((row, 60, 160) for row in range(60)),
            "draw one line of a picture of the Mandelbrot set",
        ),
        Job(
            "nap",
            nap,
            _check_nap,
            ((1.0,),) * 40,
            "sleep for a while",
        ),
    )
}
"""The jobs by their names."""


def job_named(name: Any) -> Job:
    """Return the job. Raises `ValueError` if there is none of this name."""
    job = JOBS.get(name) if isinstance(name, str) else None
    if job is None:
        raise ValueError(f"There is no job {shown(name)}. The jobs are: {', '.join(JOBS)}.")
    return job


def checked_job(name: Any, arguments: Any) -> Job:
    """Return the job. Raises `ValueError` if there is none of this name, or its arguments are not allowed."""
    job = job_named(name)
    job.check(arguments)
    return job


async def run_here(name: str, arguments: tuple[Any, ...]) -> Any:
    """Run a job in this program and return its result. Nothing else runs meanwhile, unless it is a `nap`.

    Raises `ValueError` if there is no such job, or its arguments are not allowed.

    >>> asyncio.run(run_here("count_primes", (0, 10)))
    4
    """
    result = checked_job(name, arguments).function(*arguments)
    return await result if inspect.isawaitable(result) else result
