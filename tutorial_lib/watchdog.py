"""Watchdog: runs something in a thread of its own, watches it, and ends it when it must end.

A simulated program may be one that never lets its loop go on: ``while True: pass``. So it runs in a thread,
and the thread of the caller looks every now and then whether all is well. Python can throw an exception
into a running thread; that is done again and again until the thread ends, since a program may catch it. Only
a call that blocks outside Python cannot be ended so. Its thread is left behind.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import CodeType, FrameType

__all__ = ["Stop", "StoppableThread", "shielded"]

POLL = 0.02  # seconds of real time between two looks
GRACE = 1.0  # seconds of real time that a thread is given to end
GENTLE_PULLS = 5  # so often a thread is asked to end at leisure, then as fast as possible
SHORT_PAUSE = 0.001


class Stop(BaseException):
    """Thrown into a thread that must end. Catching it does not help: it is thrown again."""

    if sys.version_info < (3, 12):
        # A loop that swallows every exception has to be hit outside of its ``try``, thus while it is still
        # busy with swallowing the one before. So each takes a short sleep to be made, in which the next is
        # thrown; a call outside Python, or it would be hit itself. Later Pythons have a better way: below.
        __init__ = staticmethod(partial(time.sleep, 0.002))


_here = threading.local()  # its ``thread`` is the `StoppableThread` that this code runs in, if any


class StoppableThread:
    """A daemon thread that can be made to end from outside."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._thread = threading.Thread(target=self._live, name="simulate", daemon=True)
        self._has_ended = threading.Event()  # since Thread.join takes an interrupt for the end before 3.13
        self._may_stop = False
        self._was_stopped = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def has_ended(self, within: float) -> bool:
        """Wait at most ``within`` seconds for the end; tell whether it has come."""
        if not self._has_ended.wait(within):
            return False
        self._thread.join()
        return True

    def frame(self) -> FrameType | None:
        """Return the frame that the thread is in now."""
        return sys._current_frames().get(self._thread.ident or 0)

    def _live(self) -> None:
        _here.thread = self
        try:
            self._work()
        finally:
            self._has_ended.set()

    def interruptible(self, work: Callable[[], object]) -> BaseException | None:
        """Do ``work`` in such a way that `stop` may cut it short. Return the exception that it ended with.

        To be called in the thread itself: outside of this, nothing is thrown into it.
        """
        ended_with: BaseException | None = None
        try:
            try:
                self._may_stop = True
                work()
            except BaseException as error:
                ended_with = error
            finally:
                self._may_stop = False
            self._settle()
        except Stop:  # one that was on its way already
            self._settle_again()
        return ended_with

    def _settle(self) -> None:
        """Wait until nobody is throwing any more, and let what was thrown arrive. Then it raises `Stop`.

        It cannot be taken back: up to Python 3.12, the interpreter would look for it for ever, in every
        thread, which makes everything slower and lets a profiler hang.
        """
        with self._lock:
            was_stopped = self._was_stopped
        if was_stopped:
            _throw(Stop, self._thread)  # in place of one that is still on its way, if there is one
            for _ in range(1_000):
                pass  # it arrives in here

    def _settle_again(self) -> None:
        with suppress(Stop):  # the last, since nobody throws any more
            self._settle()

    def stop(self) -> bool:
        """Make the thread end. Return False if it does not within the time of grace."""
        while True:
            with suppress(KeyboardInterrupt), _quiet():  # a second press of a stop button changes nothing
                if self._ends_when_asked(GENTLE_PULLS, pause=POLL):
                    return True
                with self._stopping_at_every_line():
                    return self._ends_when_asked(int(GRACE / SHORT_PAUSE), pause=SHORT_PAUSE)

    def _ends_when_asked(self, times: int, pause: float) -> bool:
        pulls = 0
        while pulls < times:
            with self._lock:
                self._was_stopped = True
                if self._may_stop:  # else it ends another thread first, or is at its own end already
                    pulls += 1
                    _throw(Stop, self._thread)
            if self.has_ended(within=pause):
                return True
        return False

    @contextmanager
    def _stopping_at_every_line(self) -> Iterator[None]:
        """Raise `Stop` at every line of what the thread is inside, so that no handler can go on.

        Possible from Python 3.12 on, and needed there: an exception thrown from outside arrives at few
        places, and often at none that lies outside of the ``try``.
        """
        if sys.version_info < (3, 12):
            yield
            return

        def stop(code: CodeType, line_number: int) -> None:
            if self._may_stop and threading.get_ident() == self._thread.ident:
                raise Stop

        monitoring = sys.monitoring
        tool = _use_a_free_tool()
        monitoring.register_callback(tool, monitoring.events.LINE, stop)
        codes = self._codes_inside()
        for code in codes:
            monitoring.set_local_events(tool, code, monitoring.events.LINE)
        try:
            yield
        finally:
            for code in codes:
                monitoring.set_local_events(tool, code, 0)
            monitoring.free_tool_id(tool)

    def _codes_inside(self) -> list[CodeType]:
        """Return the code of the functions that the thread is in, up to `interruptible`."""
        codes = []
        frame = self.frame()
        while frame is not None and frame.f_code.co_filename != __file__:
            codes.append(frame.f_code)
            frame = frame.f_back
        return codes


def _throw(error: type[BaseException], thread: threading.Thread) -> None:
    """Throw ``error`` into a running thread."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(error))


def _use_a_free_tool() -> int:
    """Take one of the six places that Python has for debuggers, profilers and the like."""
    if sys.version_info < (3, 12):
        raise AssertionError("Python cannot be watched before 3.12.")
    for number in range(6):
        with suppress(ValueError):  # taken, perhaps a moment ago by another thread
            sys.monitoring.use_tool_id(number, "simulate")
            return number
    raise RuntimeError("Six tools watch this program, so the run cannot be stopped. End one of them.")


@contextmanager
def shielded() -> Iterator[Callable[[], bool]]:
    """Let nothing be thrown into this thread, and give a way to ask whether it must end.

    For a run inside a run: its thread must end before the one that waits for it, or it would stay behind.
    """
    around: StoppableThread | None = getattr(_here, "thread", None)
    if around is None:
        yield lambda: False
        return
    try:
        around._may_stop = False
        around._settle()
        yield lambda: around._was_stopped
    finally:
        around._may_stop = True


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the traces of throwing `Stop` about off the screen, and give the thrower more turns.

    It may arrive between a coroutine and its await, or in code whose exceptions Python only prints.
    """
    print_unraisable = sys.unraisablehook
    interval = sys.getswitchinterval()
    sys.unraisablehook = deque[object](maxlen=0).append  # no Python code, which could be hit itself
    sys.setswitchinterval(1e-5)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
            yield
    finally:
        sys.setswitchinterval(interval)
        sys.unraisablehook = print_unraisable
