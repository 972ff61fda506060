"""Simulation: run a whole program in virtual time, and get its complete history back.

>>> import asyncio
>>> async def main():
...     await asyncio.sleep(3600)
...     return "an hour later"
>>> run = simulate(main)
>>> run.result, run.elapsed
('an hour later', 3600.0)

==========  =================================================================================
run         what came of a simulated program: its result, and the trace of all that happened
fault       something bad that happens from outside at a given moment: plain data, with a time
`Stalled`   raised when nothing can ever happen again: somebody waits for what never comes
`Runaway`   raised when the program does not let time go on: somebody never waits
==========  =================================================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from tutorial_lib.arguments import check_duration
from tutorial_lib.trace import Trace, life_in, life_variable, trace_variable
from tutorial_lib.virtual_loop import Ending, VirtualLoop, context_of
from tutorial_lib.watchdog import POLL, Stop, StoppableThread, shielded
from tutorial_lib.whereabouts import learners_part, place_of_frame

__all__ = ["Control", "Fault", "Run", "Runaway", "Stalled", "simulate"]

TIME_LIMIT = 3600.0  # virtual seconds
LONG_STEP = 0.1  # real seconds for which one step may hold the loop before it is named
FAREWELL = 1.0  # real seconds in which leftover tasks may clean up after themselves


class Stalled(RuntimeError):
    """Nothing can ever happen again, or the time limit is over. ``run`` is the run up to there."""

    run: Run


class Runaway(RuntimeError):
    """The program did not let virtual time go on. ``run`` is the run up to there."""

    run: Run


class Fault(Protocol):
    """Something that happens from outside: ``at`` is the second, `apply` does it."""

    @property
    def at(self) -> float:
        """The virtual second at which it happens."""

    def apply(self, control: Control) -> object:
        """Do it, by calls of ``control``."""


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """What came of a simulated program. Returned by `simulate`."""

    result: Any
    """What the program returned; None if it did not."""
    trace: Trace
    """Everything that happened, in order."""
    elapsed: float
    """Virtual seconds from the start to the end."""
    finished: bool
    """Whether the program returned."""
    seed: int
    faults: tuple[Fault, ...]
    unused_faults: tuple[Fault, ...]
    """The faults that met nobody, or whose time never came."""
    errors: list[str]
    """What went wrong unseen: tasks that died and were never awaited, steps that held up the loop."""

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        return f"<Run {state}, {self.elapsed:.1f} s, {len(self.trace)} events>"


class Control:
    """What a fault can do to a running simulation. Each call tells whether it took effect.

    Nothing happens to an actor that is absent: that never was, has ended, or has crashed.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.effects = 0

    def crash(self, actor: str) -> bool:
        """End ``actor`` silently: its tasks never resume, and no ``finally`` of theirs tidies up."""
        lives = self._loop.lives_of(actor)
        if lives:
            self._note("crash", actor)
            self._loop.end_lives(lives)
        return bool(lives)

    def hang(self, actor: str, seconds: float | None = None) -> bool:
        """Let ``actor`` do nothing for ``seconds`` (None: for ever), and go on after that."""
        lives = self._loop.lives_of(actor)
        if lives:
            self._note("hang", actor, seconds=seconds)
            self._loop.hold(lives, seconds)
        return bool(lives)

    def slow(self, actor: str, factor: float) -> bool:
        """Let the work of ``actor`` take ``factor`` times as long from now on."""
        is_there = bool(self._loop.lives_of(actor))
        if is_there:
            self._note("slow", actor, factor=factor)
            self._loop.set_pace(actor, factor)
        return is_there

    def mute(self, actor: str, seconds: float | None = None) -> bool:
        """Let the heartbeats of ``actor`` get lost for ``seconds`` (None: for ever)."""
        is_there = bool(self._loop.lives_of(actor))
        if is_there:
            self._note("mute", actor, seconds=seconds)
            self._loop.mute(actor, seconds)
        return is_there

    def hire(self, name: str) -> bool:
        """Let the first crew that is willing hire a worker called ``name``."""
        is_hired = any(hirer(name) for hirer in self._loop.hirers)
        if is_hired:
            self._note("hire", name)
        return is_hired

    def _note(self, kind: str, actor: str, **detail: float | None) -> None:
        self.effects += 1
        given = {name: value for name, value in detail.items() if value is not None}
        self._loop.trace.record(kind, actor=actor, detail=given, time=self._loop.time())


def simulate(
    program: Callable[..., Any],
    *args: Any,
    seed: int = 0,
    faults: Iterable[Fault] = (),
    until: float | None = None,
    time_limit: float | None = TIME_LIMIT,
    wall_limit: float | None = 10.0,
) -> Run:
    """Run ``program(*args)`` in virtual time and return the `Run`.

    It works alike in a script, a test and a notebook cell, since the program has an event loop and a
    thread of its own. The clock starts at 0 and jumps from one moment to the next, so that an hour takes
    milliseconds. The same program with the same arguments has the same history every time.

    ``program`` is an async function, or anything that returns an awaitable when called.
    ``seed`` decides the order of tasks that are ready at the same moment: 0 is asyncio's own order, every
    other number is another one. The global `random` is seeded with it too, and restored afterwards.
    ``faults`` is a list such as ``[crash("w1", at=3)]``. A fault strikes when everything else that happens
    at that moment has happened: adding one never changes what came before.
    ``until`` ends the run quietly at that virtual second; nothing at that moment happens any more.
    ``time_limit`` is the virtual second after which a program counts as stuck (None: no limit); left at its
    default, it gives way to a later ``until``. ``wall_limit`` is the same in real seconds.

    Whatever the program raises, is raised here, with the run up to there as ``error.run``. Raises `Stalled`
    if nothing can ever happen again, or at the time limit, and `Runaway` if virtual time stands still, or
    at the wall limit; both with ``.run``. Raises `TypeError` or `ValueError` if an argument makes no sense.

    >>> async def greet(name):
    ...     await asyncio.sleep(1.5)
    ...     return f"hello {name}"
    >>> simulate(greet, "Ada")
    <Run finished, 1.5 s, 0 events>
    """
    _check_program(program)
    faults = _checked_faults(faults)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed is a whole number, got {seed!r}.")
    check_duration("until", until)
    check_duration("time_limit", time_limit)
    check_duration("wall_limit", wall_limit, zero=False)
    if time_limit == TIME_LIMIT and until is not None:
        time_limit = max(time_limit, until)
    loop = VirtualLoop(Trace(), seed=seed, until=until, time_limit=time_limit)
    simulation = _Simulation(loop, partial(_call, program, args), faults)
    with _seeded_random(seed):
        simulation.run(wall_limit)
    run = simulation.outcome()
    if simulation.error is not None:
        with contextlib.suppress(Exception):  # some exceptions take no attributes
            simulation.error.run = run  # type: ignore[attr-defined]
        raise simulation.error
    return run


# ---------------------------------------------------------------------------------------------------
# Arguments


def _check_program(program: object) -> None:
    if inspect.iscoroutine(program):
        program.close()  # or Python complains that it was never awaited
        name = program.__name__
        raise TypeError(
            f"Pass the function itself, and its arguments after it: simulate({name}), not simulate({name}())."
        )
    if not callable(program):
        raise TypeError(f"simulate() needs an async function, got {program!r}. Write simulate(main).")


async def _call(program: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    awaitable = program(*args)
    if not inspect.isawaitable(awaitable):
        name = getattr(program, "__name__", repr(program))
        raise TypeError(
            f"simulate() needs an async function, but {name}() returned {awaitable!r}, which cannot be "
            "awaited. Write 'async def' before its name, and no yield inside it."
        )
    return await awaitable


def _checked_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    if not isinstance(faults, Iterable):
        raise TypeError(f'faults is a list, got {faults!r}. Write faults=[crash("w1", at=3)].')
    checked = tuple(faults)
    for fault in checked:
        if not callable(getattr(fault, "apply", None)) or not hasattr(fault, "at"):
            raise TypeError(f'{fault!r} is not a fault. Write faults=[crash("w1", at=3)].')
        if fault.at is None:
            raise TypeError(f"{fault!r} has no time: at is a number of seconds.")
        check_duration("at", fault.at)
    return checked


def _surrounding_loop() -> VirtualLoop | None:
    """Return the loop of the run that this code is a part of, if it is simulated itself."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop if isinstance(loop, VirtualLoop) else None


_one_at_a_time = threading.Lock()  # since there is only one global random


@contextlib.contextmanager
def _seeded_random(seed: int) -> Iterator[None]:
    """Seed the global `random` for a run. Runs of different threads take turns, for they share it."""
    with contextlib.nullcontext() if _surrounding_loop() else _one_at_a_time:
        state = random.getstate()
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(state)


# ---------------------------------------------------------------------------------------------------
# One run


class _Simulation:
    """One run: a loop, the thread that it lives in, and the watch over it from the thread of the caller."""

    def __init__(self, loop: VirtualLoop, program: Callable[[], Any], faults: tuple[Fault, ...]) -> None:
        self.error: BaseException | None = None
        self._loop = loop
        self._program = program
        self._faults = faults
        self._unused_faults = dict(enumerate(faults))
        self._result: Any = None
        self._is_winding_down = False
        self._afterword = ""
        self._surrounding = _surrounding_loop()
        context = copy_context()
        context.run(life_variable.set, None)  # the names and the trace of the caller stay outside
        context.run(trace_variable.set, loop.trace)
        self._thread = StoppableThread(partial(context.run, self._live))
        control = Control(loop)
        for number, fault in enumerate(faults):
            loop.strike_at(fault.at, partial(self._strike, control, number, fault))

    def _strike(self, control: Control, number: int, fault: Fault) -> None:
        effects_before = control.effects
        fault.apply(control)
        if control.effects > effects_before:
            del self._unused_faults[number]

    # In the thread of the run

    def _live(self) -> None:
        """Be the thread of the run: all of the program happens in here."""
        loop = self._loop
        error = self._thread.interruptible(self._run_program)
        if loop.ending is None:
            # Something left the loop past all its tasks: sys.exit(), or an error in a fault.
            self.error = error or RuntimeError(
                "The program stopped its event loop itself. Let it return instead."
            )
            loop.end(Ending.RETURNED)
        loop.name_unseen_failures(self.error)
        if loop.ending not in (Ending.RUNAWAY, Ending.INTERRUPTED):
            self._is_winding_down = True
            self._thread.interruptible(loop.wind_down)
        loop.dispose()

    def _run_program(self) -> None:
        root = self._loop.create_task(self._program(), name="main")
        root.add_done_callback(self._on_return)
        self._loop.run_forever()

    def _on_return(self, root: asyncio.Task[Any]) -> None:
        if self._loop.end(Ending.RETURNED):
            try:
                self.error = root.exception()
            except asyncio.CancelledError as error:
                self.error = error
            if self.error is None:
                self._result = root.result()

    # In the thread of the caller

    def run(self, wall_limit: float | None) -> None:
        """Run the program to its end, and watch over it meanwhile."""
        with shielded() as must_end:
            self._thread.start()
            try:
                self._watch(wall_limit, must_end)
            except BaseException:  # the stop button of a notebook, or the end of a run around this one
                self._loop.end(Ending.INTERRUPTED)
                self._stop()
                raise

    def _watch(self, wall_limit: float | None, must_end: Callable[[], bool]) -> None:
        began = looked = time.monotonic()
        ended: float | None = None
        step, held = 0, 0.0
        while not self._thread.has_ended(within=POLL):
            if must_end():
                raise Stop
            earlier, looked = looked, time.monotonic()
            if self._surrounding is not None:
                self._surrounding.steps += 1  # its step takes long, but not by a fault of its own
            if self._loop.ending is not None:
                ended = ended or looked
                if self._loop.ending is Ending.RUNAWAY or looked - ended > FAREWELL:
                    self._stop()
                    return
            elif wall_limit is not None and looked - began > wall_limit:
                self._loop.end(Ending.RUNAWAY, self._why_too_long(wall_limit))
            elif self._loop.steps != step:
                step, held = self._loop.steps, 0.0
            elif step:
                # A late look does not count in full: then it was the machine that was held up.
                already_long = held > LONG_STEP
                held += min(looked - earlier, 3 * POLL)
                if held > LONG_STEP and not already_long:
                    self._loop.errors.append(self._whose_long_step())

    def _stop(self) -> None:
        """Make the thread end, or else leave it behind where it does no harm."""
        if self._is_winding_down:
            self._loop.errors.append(f"Cancelled, but did not end: {self._who_is_where()}")
        if not self._thread.stop():
            self._afterword = (
                " It is inside a call that Python cannot stop, so its thread was left behind, "
                "and its spaces refuse every further operation."
            )
            self._loop.refuse_spaces("This space belongs to a simulated run that had to be stopped.")

    def _who_is_where(self) -> str:
        """Name whoever has its turn now, and the line that it is at: "w1 at lesson.py line 3: ..."."""
        handle = self._loop.current
        life = life_in(context_of(handle)) if handle is not None else None
        place = place_of_frame(self._thread.frame())
        return (life.name if life else "main") + (f" at {place}" if place else "")

    def _why_too_long(self, wall_limit: float) -> str:
        return (
            f"The run took longer than wall_limit={wall_limit:g} s of real time, and is at "
            f"{self._loop.time():g} s of virtual time. It was the turn of {self._who_is_where()}\n"
            "A loop that never pauses needs a take, or await asyncio.sleep(...). "
            "For a long calculation give simulate a higher wall_limit."
        )

    def _whose_long_step(self) -> str:
        return (
            f"Held the loop for over {LONG_STEP:g} s of real time, so that nobody else could run: "
            f"{self._who_is_where()}; await asyncio.sleep(...) or work(...) instead"
        )

    def outcome(self) -> Run:
        """Return the run, and set ``error`` to what is to be raised, if anything."""
        loop = self._loop
        if loop.ending is Ending.STALLED:
            self.error = Stalled(loop.reason)
        elif loop.ending is Ending.RUNAWAY:
            self.error = Runaway(loop.reason + self._afterword)
        elif self.error is not None:
            self.error = self.error.with_traceback(learners_part(self.error.__traceback__))
        return Run(
            result=self._result,
            trace=loop.trace,
            elapsed=loop.time(),
            finished=loop.ending is Ending.RETURNED and self.error is None,
            seed=loop.seed,
            faults=self._faults,
            unused_faults=tuple(self._unused_faults.values()),
            errors=list(loop.errors),
        )
