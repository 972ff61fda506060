"""How fast the pictures are: drawn once, played ten times a second, and live beside a busy space.

Run it with ``python benchmarks/views.py``. Each row has a bar, and says whether it was met. Times are those
of the processor, so that a busy machine changes them little. The exit status is 0 in any case, but 1 with
``--strict`` if a bar was missed.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable

from tutorial_lib import Trace, TupleSpace
from tutorial_lib.views.frame import frame_at
from tutorial_lib.views.history import History
from tutorial_lib.views.live import LiveView
from tutorial_lib.views.player import Player
from tutorial_lib.views.svg import picture_of

REPEATS = 31
PICTURES_PER_SECOND = 10
EVENTS_PER_SECOND = 5_000
LIVE_SECONDS = 3.0


def busy_trace(workers: int, events: int) -> Trace:
    """Return a trace in which ``workers`` take, do and answer tasks, five events for each."""
    steps = []
    for number in range(events // 5):
        begin = 0.05 * number
        end = begin + 0.04 * workers
        name, task, result = f"w{number % workers + 1}", ("task", number), ("result", number)
        steps += [
            (begin, "main", "write", "tasks", task),
            (begin, name, "take", "tasks", task),
            (begin, name, "start", "", task),
            (end, name, "finish", "", task),
            (end, name, "write", "results", result),
        ]
    trace = Trace()
    for moment, name, kind, space, fields in sorted(steps, key=lambda step: step[0]):
        trace.record(kind, actor=name, space=space, fields=fields, time=moment)
    return trace


def milliseconds(act: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of the processor that ``act`` takes."""
    times = []
    for _ in range(repeats):
        began = time.thread_time()
        act()
        times.append(time.thread_time() - began)
    return statistics.median(times) * 1000


class Report:
    """The table of results."""

    def __init__(self) -> None:
        self.missed = 0
        print(f"{'what':52} {'seen':>12}   bar")

    def row(self, what: str, seen: float, bar: float | None, unit: str) -> None:
        """Print one line; ``bar`` is the most that is allowed."""
        is_met = bar is None or seen <= bar
        self.missed += not is_met
        limit = "" if bar is None else f"{bar:g} {unit}, {'met' if is_met else 'MISSED'}"
        print(f"{what:52} {seen:8.2f} {unit:<3}   {limit}")


def draw_once(report: Report) -> None:
    history = History(busy_trace(20, 1_000))

    def draw() -> str:
        return picture_of(frame_at(history), ["lanes"], shows_playhead=True)

    report.row("SVG of 20 workers and 1,000 events", milliseconds(draw), 20, "ms")
    report.row("its size", len(draw().encode()) / 1024, 60, "KiB")


def step_through(report: Report) -> None:
    trace = busy_trace(20, 100_000)
    history: list[History] = []
    reading = milliseconds(lambda: history.append(History(trace)), repeats=1)
    report.row("reading 100,000 events, once", reading, None, "ms")
    moments = iter(range(0, 100_000, 100_000 // REPEATS))

    def step() -> str:
        number = next(moments)
        frame = frame_at(history[0], trace[number].time, number=number)
        return picture_of(frame, ["lanes", "space"], shows_playhead=True)

    report.row("then one step, drawn", milliseconds(step, repeats=REPEATS - 1), 50, "ms")


async def twenty_workers() -> None:
    """Let twenty workers do two hundred tasks; about 1,000 events."""
    from tutorial_lib.crew import Crew, work

    tasks, results = TupleSpace("tasks"), TupleSpace("results")
    await tasks.write_many([("task", number) for number in range(200)])

    async def worker(name: str) -> None:
        while task := await tasks.try_take("task", int):
            await work(1 + task[1] % 3, task)
            await results.write("result", task[1])

    async with Crew(worker, 20) as crew:
        await crew.join()


def play(report: Report) -> None:
    player = Player(twenty_workers)
    slider = player.panel.children[3].children[3]
    positions = iter(range(1, slider.max))

    def show_next() -> None:
        slider.value = next(positions)

    share = milliseconds(show_next) * PICTURES_PER_SECOND / 1000 * 100
    player.close()
    report.row("a player of 20 workers at 10 pictures a second", share, 15, "%")


async def paced(space: TupleSpace, seconds: float) -> None:
    """Write and take tuples, `EVENTS_PER_SECOND` events in each second."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    pairs = 0
    while loop.time() < began + seconds:
        await space.write("task", pairs)
        await space.try_take("task", int)
        pairs += 1
        ahead = pairs * 2 / EVENTS_PER_SECOND - (loop.time() - began)
        if ahead > 0.01:
            await asyncio.sleep(ahead)


async def live_cost() -> tuple[float, float]:
    """Return what a live view costs, in percent of a core, and how many pictures it shows a second."""
    space = TupleSpace("tasks")
    began = time.process_time()
    await paced(space, LIVE_SECONDS)
    alone = time.process_time() - began
    began = time.process_time()
    async with LiveView(space) as view:
        await paced(space, LIVE_SECONDS)
    watched = time.process_time() - began
    return (watched - alone) / LIVE_SECONDS * 100, view.updates / LIVE_SECONDS


def live(report: Report) -> None:
    cost, updates = asyncio.run(live_cost())
    report.row("a live view at 5,000 events a second: messages", updates, 10, "/s")
    report.row("what it costs the run, of one core", cost, 5, "%")


def main() -> int:
    report = Report()
    for measure in (draw_once, step_through, play, live):
        measure(report)
    return 1 if report.missed and "--strict" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
