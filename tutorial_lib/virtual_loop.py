"""The virtual-time loop: an asyncio event loop whose clock jumps instead of waiting.

Every event loop does the same three things in turn: it runs what is ready, looks which timer is next, and
waits for that timer. This one does not wait: it sets its clock to the moment of the next timer and goes
on. So ``asyncio.sleep``, ``asyncio.timeout`` and task groups work as they are, an hour of heartbeats takes
milliseconds, and nothing depends on how fast the machine is.

=======  ====================================================================================
moment   a point in virtual time, in whole microseconds (a float is too coarse after a year)
handle   a call that the loop has been asked to make, once it is ready or its timer is due
pass     one round over all handles that are ready at its start
strike   something from outside, such as a fault, that happens when a moment is over
=======  ====================================================================================

The loop is made for `simulate`, which gives it a program, strikes, and an end.
"""

from __future__ import annotations

import asyncio
import enum
import heapq
import math
import sys
import threading
from bisect import insort
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context, copy_context
from traceback import clear_frames
from typing import Any, Protocol, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

from tutorial_lib.patterns import safe_repr
from tutorial_lib.trace import Event, Life, Trace, current_life, life_in
from tutorial_lib.unreal_loop import UnrealLoop
from tutorial_lib.virtual_task import VirtualTask, put_away
from tutorial_lib.watchdog import Stop
from tutorial_lib.whereabouts import place_of_coroutine, place_of_error, place_of_frame

__all__ = ["Ending", "VirtualLoop", "context_of"]

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

# Limits on one virtual moment. Constants, so that the speed of the machine never decides an outcome.
QUIET_TURNS = 100_000  # handles run in a row while nothing was recorded, ...
QUIET_PASSES = 1_000  # ... in at least so many passes, since many tasks may have a few turns each
EVENTS_IN_A_MOMENT = 250_000
FAREWELL_PASSES = 1_000  # for leftover tasks to tidy up after themselves
LINES_IN_A_MESSAGE = 10


class Ending(enum.Enum):
    """How a run came to its end."""

    RETURNED = "the program returned or raised"
    UNTIL = "the moment `until` was reached"
    STALLED = "nothing could happen any more"
    RUNAWAY = "the program did not let time go on"
    INTERRUPTED = "the caller was interrupted"


class Space(Protocol):
    """What the loop asks of a tuple space that is used on it."""

    def withdraw_dead(self) -> None:
        """Take back the waiting of those whose life is over."""

    def stuck(self) -> list[str]:
        """Say, a sentence each, who waits for what."""

    def refuse(self, reason: str) -> None:
        """Refuse all further operations."""


class VirtualLoop(UnrealLoop):
    """An event loop in virtual time.

    ``trace`` is where its events go. ``seed`` is the order in which ready tasks run: 0 is asyncio's own.
    ``until`` is the second at which the run ends quietly, ``time_limit`` the one after which it counts
    as stalled.
    """

    def __init__(
        self, trace: Trace, *, seed: int = 0, until: float | None = None, time_limit: float | None = None
    ) -> None:
        super().__init__()
        self._clock_resolution = 1e-6
        self.trace = trace
        self.seed = seed
        self._until = math.inf if until is None else to_moment(until)
        self._time_limit = math.inf if time_limit is None else to_moment(time_limit)

        self._now = 0
        self._timers: list[tuple[int, int, asyncio.TimerHandle]] = []  # a heap of (moment, number, timer)
        self._timers_armed = 0
        self._timers_cancelled = 0
        self._strikes: deque[tuple[float, Callable[[], object]]] = deque()
        self._events_now = 0
        self._quiet_turns = 0
        self._quiet_passes = 0

        self._tasks_made = 0
        self._unfinished: dict[int, VirtualTask[Any]] = {}  # held here, or a waiting task could be collected
        self._failed: list[VirtualTask[Any]] = []
        self._generators: WeakKeyDictionary[AsyncGenerator[Any, Any], Life | None] = WeakKeyDictionary()

        self._held: dict[Life, list[asyncio.Handle]] = {}  # what hanging actors will do if they go on
        self._holds: dict[Life, int] = {}
        self._paces: dict[str, float] = {}
        self._pace_waiters: dict[str, list[asyncio.Future[None]]] = {}
        self._muted_until: dict[str, float] = {}
        self.hirers: list[Callable[[str], bool]] = []

        self._spaces: list[Space] = []
        self._refusal = ""
        self.errors: list[str] = []

        self.ending: Ending | None = None
        self.reason = ""
        self._is_winding_down = False
        self._ending_lock = threading.Lock()
        self.steps = 0  # rises with every handle: the watchdog sees by it whether the loop is held up
        self.current: asyncio.Handle | None = None
        trace.on_event = self._count_event

    # -----------------------------------------------------------------------------------------------
    # Time

    def time(self) -> float:
        """Return the virtual time in seconds since the run began."""
        return self._now / 1_000_000

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call ``callback`` in ``delay`` seconds. Any positive delay is at least one microsecond."""
        moment = self._now + max(1, to_moment(delay)) if delay > 0 else self._now
        return self._arm(moment, asyncio.TimerHandle(moment / 1_000_000, callback, args, self, context))

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call ``callback`` when `time` says ``when``. Never happens if that is infinite."""
        moment = max(self._now + 1, to_moment(when)) if when > self.time() else self._now
        return self._arm(moment, asyncio.TimerHandle(moment / 1_000_000, callback, args, self, context))

    def _arm(self, moment: float, timer: asyncio.TimerHandle) -> asyncio.TimerHandle:
        if moment != math.inf:
            self._timers_armed += 1
            heapq.heappush(self._timers, (int(moment), self._timers_armed, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Drop the cancelled timers when they are the greater part. Called by asyncio."""
        self._timers_cancelled += 1
        if self._timers_cancelled > 100 and self._timers_cancelled > len(self._timers) / 2:
            self._keep_timers(lambda timer: not timer.cancelled())
            self._timers_cancelled = 0

    def _keep_timers(self, is_wanted: Callable[[asyncio.TimerHandle], bool]) -> None:
        self._timers = [entry for entry in self._timers if is_wanted(entry[2])]
        heapq.heapify(self._timers)

    def strike_at(self, seconds: float, strike: Callable[[], object]) -> None:
        """Call ``strike`` when everything that happens at ``seconds`` has happened.

        That is just before the clock moves on, so a strike never changes what was recorded up to and
        including its own moment. Several at one moment strike in the order in which they were given.
        """
        insort(self._strikes, (to_moment(seconds), strike), key=lambda entry: entry[0])

    # -----------------------------------------------------------------------------------------------
    # The loop itself

    def _run_once(self) -> None:
        """Make one turn. asyncio's ``run_forever`` calls this until `stop`."""
        if self._is_winding_down:
            self._say_farewell()
        elif self._now >= self._until:  # until=0: the end comes before the first step
            self.end(Ending.UNTIL)
        else:
            self._advance()

    def _advance(self) -> None:
        self._wake_due_timers()
        if not self._ready:
            self._strike_now()
        if self._ready:
            self._run_pass()
        else:
            self._move_clock()

    def _wake_due_timers(self) -> None:
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])

    def _strike_now(self) -> None:
        while self._strikes and self._strikes[0][0] <= self._now:
            strike = self._strikes.popleft()[1]
            strike()

    def _move_clock(self) -> None:
        """Nothing is left to do at this moment: jump to the next one, or end the run."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        next_timer = self._timers[0][0] if self._timers else math.inf
        next_strike = self._strikes[0][0] if self._strikes else math.inf
        moment = min(next_timer, next_strike, self._until)
        if moment == math.inf:
            self.end(Ending.STALLED, self._why_stalled("Nothing can ever happen again"))
            return
        self._now = int(min(moment, self._time_limit))
        self._events_now = self._quiet_turns = self._quiet_passes = 0
        if moment > self._time_limit:
            self.end(Ending.STALLED, self._why_stalled("The time limit is over"))
        elif moment == self._until:
            self.end(Ending.UNTIL)

    def _run_pass(self) -> None:
        if self._quiet_turns >= QUIET_TURNS and self._quiet_passes >= QUIET_PASSES:
            self.end(Ending.RUNAWAY, self._why_quiet_runaway())
            return
        self._quiet_passes += 1
        self._quiet_turns += len(self._ready)
        if self.seed:
            self._reorder()
        for _ in range(len(self._ready)):
            if self.ending is not None and not self._is_winding_down:
                break
            handle = self._ready.popleft()
            if handle.cancelled():
                continue
            life = life_in(context_of(handle))
            if life is not None:
                if not life.alive:
                    continue  # a crash: whoever should do this is no longer there
                if life in self._held:
                    self._held[life].append(handle)
                    continue
            self.steps += 1
            self.current = handle
            handle._run()
        self.current = None

    def _reorder(self) -> None:
        """Put the steps of tasks into the order that the seed wants; other callbacks keep their places.

        Each ready task still runs once in this pass. The order depends on nothing but the seed, the
        numbers of the tasks and their numbers of steps.
        """
        handles = list(self._ready)
        places = []
        drawn = []
        for place, handle in enumerate(handles):
            task = _task_of(handle)
            if task is not None:
                task.steps += 1
                places.append(place)
                drawn.append((_mix(_mix(_mix(self.seed) + task.number) + task.steps), task.number, place))
        drawn.sort()
        self._ready = deque(handles)
        for place, (_, _, origin) in zip(places, drawn, strict=True):
            self._ready[place] = handles[origin]

    def _count_event(self, event: Event) -> None:
        """Stop whoever records without end at one moment, also a loop that never lets others run."""
        self._quiet_turns = self._quiet_passes = 0
        self._events_now += 1
        if self._events_now > EVENTS_IN_A_MOMENT:
            place = place_of_frame(sys._getframe())
            self.end(
                Ending.RUNAWAY,
                f"{event.actor} did {EVENTS_IN_A_MOMENT:,} things at {self.time():g} s{_at(place)} and never "
                "paused, so virtual time stands still. Let time pass in the loop: await asyncio.sleep(...), "
                "work(...), or a take that waits.",
            )
            raise Stop

    # -----------------------------------------------------------------------------------------------
    # The end

    def end(self, ending: Ending, reason: str = "") -> bool:
        """Decide how the run ends, if that is not decided yet: tell so. From here on nothing is recorded."""
        with self._ending_lock:
            is_first = self.ending is None
            if is_first:
                self.reason = reason
                self.ending = ending
                self.trace.freeze()
        self._stopping = True
        return is_first

    def _why_stalled(self, what: str) -> str:
        waiting = [sentence for space in self._spaces for sentence in space.stuck()]
        others = [self._why_silent(task, names_place=not waiting) for task in self._unfinished.values()]
        lines = [*waiting, *dict.fromkeys(line for line in others if line)]
        if len(lines) > LINES_IN_A_MESSAGE:
            lines[LINES_IN_A_MESSAGE:] = [f"and {len(lines) - LINES_IN_A_MESSAGE} more"]
        return "\n  ".join([f"{what} at {self.time():g} s, and the program has not returned.", *lines])

    def _why_silent(self, task: VirtualTask[Any], names_place: bool) -> str:
        life = life_in(task.context)
        if life is not None and not life.alive:
            return f"{task.actor} crashed and will never answer."
        if life in self._held:
            return f"{task.actor} hangs."
        return f"{task.actor} waits{_at(place_of_coroutine(task.get_coro()))}" if names_place else ""

    def _why_quiet_runaway(self) -> str:
        spinning = [task for handle in self._ready if (task := _task_of(handle)) is not None]
        who = spinning[0].actor if spinning else "main"
        place = place_of_coroutine(spinning[0].get_coro()) if spinning else ""
        return (
            f"{who} asked {self._quiet_passes:,} times at {self.time():g} s{_at(place)} and never paused, so "
            "virtual time stands still. Use take, which waits, or await asyncio.sleep(0.1) between two tries."
        )

    def name_unseen_failures(self, raised: BaseException | None) -> None:
        """Add to ``errors`` the tasks that died before the end and that nobody ever awaited.

        ``raised`` is what the run itself ends with, so that is seen: sys.exit() in a task ends the loop.
        """
        for task in [*self._failed, *self._unfinished.values()]:
            if task.done() and task._log_traceback:  # asyncio's mark of an error that nobody has seen
                error = task.exception()
                assert error is not None
                if isinstance(error, Stop):
                    clear_frames(error.__traceback__)  # now, while what may come of it is kept quiet
                elif error is not raised:
                    place = _at(place_of_error(error))
                    self.errors.append(f"{task.actor} died of {safe_repr(error)}{place}; nobody awaited it")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Name in ``errors`` what asyncio would print. After the end nothing is worth naming."""
        error = context.get("exception")
        if self.ending is None and error is not None and not isinstance(error, Stop):
            self.errors.append(f"{context['message']}: {safe_repr(error)}{_at(place_of_error(error))}")

    def wind_down(self) -> None:
        """Let the leftover tasks clean up after themselves: they are cancelled, unrecorded.

        The clock stands still meanwhile. What crashed or hangs does not even notice.
        """
        self._is_winding_down = True
        self._quiet_passes = 0
        for task in self._unfinished.values():
            task.cancel()
        self.run_forever()
        for generator, life in list(self._generators.items()):
            if not self.is_silent(life):
                self.create_task(generator.aclose())
        self.run_forever()

    def _say_farewell(self) -> None:
        if self._ready and self._quiet_passes < FAREWELL_PASSES:
            self._run_pass()
        else:
            self.stop()

    def dispose(self) -> None:
        """Close the loop, and put away for good what has not ended."""
        self.trace.on_event = None
        self.set_exception_handler(None)
        self._thread_id = None  # asyncio sees to both, unless it was stopped while it did so
        asyncio._set_running_loop(None)
        for task in self._unfinished.values():
            if not task.done():
                put_away(task)
        self.close()

    def is_silent(self, life: Life | None) -> bool:
        """Tell whether what belongs to ``life`` does not run: it crashed, or it hangs."""
        return life is not None and (not life.alive or life in self._held)

    # -----------------------------------------------------------------------------------------------
    # Tasks and lives

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
        **options: object,
    ) -> VirtualTask[T]:
        """Start ``coro`` as a task. A task with a name begins a life of that name.

        Further options of later Pythons (``eager_start``) have no effect: a task starts in the next pass.
        """
        self._tasks_made += 1
        own_context = copy_context() if context is None else context
        task = VirtualTask(coro, loop=self, number=self._tasks_made, context=own_context)
        if name is not None:
            task.set_name(name)
        self._unfinished[task.number] = task
        task.add_done_callback(self._forget, context=Context())
        return task

    def _forget(self, task: VirtualTask[Any]) -> None:
        del self._unfinished[task.number]
        if task._log_traceback:
            self._failed.append(task)  # kept, since its error may yet be seen

    def _asyncgen_firstiter_hook(self, agen: AsyncGenerator[Any, Any]) -> None:
        super()._asyncgen_firstiter_hook(agen)  # type: ignore[misc]
        self._generators[agen] = current_life()

    def lives_of(self, name: str) -> list[Life]:
        """Return the lives of the actor ``name`` that still have something to do."""
        contexts = [task.context for task in self._unfinished.values() if not task.done()]
        pending = [*self._ready, *(timer for _, _, timer in self._timers)]
        contexts += [context_of(handle) for handle in pending if not handle.cancelled()]
        lives = dict.fromkeys([*map(life_in, contexts), *self._held])
        return [life for life in lives if life is not None and life.alive and life.name == name]

    def end_lives(self, lives: list[Life]) -> None:
        """Crash: nothing that belongs to these lives ever runs again, and nothing of theirs tidies up."""
        for life in lives:
            life.end()
            self._held.pop(life, None)
            self._paces.pop(life.name, None)
            self._muted_until.pop(life.name, None)
        self._keep_timers(lambda timer: life_in(context_of(timer)) not in lives)
        for space in self._spaces:
            space.withdraw_dead()

    def hold(self, lives: list[Life], seconds: float | None) -> None:
        """Hang: keep back what these lives would do, in order, for ``seconds`` (None: for ever)."""
        for life in lives:
            self._held.setdefault(life, [])
            self._holds[life] = self._holds.get(life, 0) + 1
            if seconds is not None:
                self.call_later(seconds, self._release, life)

    def _release(self, life: Life) -> None:
        self._holds[life] -= 1
        if not self._holds[life]:
            self._ready.extend(self._held.pop(life, ()))

    # -----------------------------------------------------------------------------------------------
    # Pace and silence of an actor, obeyed by whoever works or beats under that name

    def pace_of(self, name: str) -> float:
        """Return how many times longer than normal the work of ``name`` takes now: 1.0 normally."""
        return self._paces.get(name, 1.0)

    def pace_changed(self, name: str) -> asyncio.Future[None]:
        """Return a future that is done at the next change of the pace of ``name``."""
        waiters = [waiter for waiter in self._pace_waiters.get(name, ()) if not waiter.done()]
        waiter = self.create_future()
        self._pace_waiters[name] = [*waiters, waiter]
        return waiter

    def set_pace(self, name: str, factor: float) -> None:
        """Let the work of ``name`` take ``factor`` times as long from now on."""
        self._paces[name] = factor
        for waiter in self._pace_waiters.pop(name, ()):
            if not waiter.done():
                waiter.set_result(None)

    def is_muted(self, name: str) -> bool:
        """Tell whether what ``name`` would report is to be left out now."""
        return self._now < self._muted_until.get(name, 0)

    def mute(self, name: str, seconds: float | None) -> None:
        """Mute ``name`` for ``seconds`` (None: for ever)."""
        end = math.inf if seconds is None else self._now + to_moment(seconds)
        self._muted_until[name] = max(end, self._muted_until.get(name, 0))

    # -----------------------------------------------------------------------------------------------
    # Spaces

    def adopt_space(self, space: Space) -> None:
        """Note that ``space`` is used on this loop. A space calls this when it is first used here."""
        if self._refusal:
            raise RuntimeError(self._refusal)
        if not any(known is space for known in self._spaces):
            self._spaces.append(space)

    def refuse_spaces(self, reason: str) -> None:
        """Refuse every further operation on a space: the run is over, but its thread would not end."""
        self._refusal = reason
        for space in self._spaces:
            space.refuse(reason)


# ---------------------------------------------------------------------------------------------------
# Helpers


def context_of(handle: asyncio.Handle) -> Context:
    """Return the context that ``handle`` runs in; it tells the life that the handle belongs to."""
    context: Context = handle._context  # type: ignore[attr-defined]  # public only from Python 3.12 on
    return context


def _task_of(handle: asyncio.Handle) -> VirtualTask[Any] | None:
    """Return the task whose step or wake-up this handle is, if any."""
    owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    return owner if isinstance(owner, VirtualTask) else None


def to_moment(seconds: float) -> float:
    """Return ``seconds`` as a moment: whole microseconds, rounded to the nearest. Infinity stays."""
    return seconds if seconds == math.inf else round(seconds * 1_000_000)


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _mix(number: int) -> int:
    """Scatter ``number`` over 64 bits, equally on every machine: one step of splitmix64.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    number = (number + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return number ^ (number >> 31)
