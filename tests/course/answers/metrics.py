"""metrics: the worker that fails most."""

from __future__ import annotations

import re
from collections import defaultdict

from answers import Wrong
from tutorial_lib.course import NotAttempted


def stub(before, after):
    """Return the name of the worker that fails most."""
    raise NotAttempted


# Right answers ---------------------------------------------------------------------------------------


def read(page):
    """Return the counters of a page, by worker and status."""
    counters = {}
    for line in page.splitlines():
        match = re.fullmatch(r"tasks_total\{(.*)\} (\S+)", line)
        if match:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match[1]))
            counters[labels["worker"], labels["status"]] = float(match[2])
    return counters


def added(before, after):
    """Return what was added to each counter, by worker and status."""
    old = read(before)
    return {
        key: value - old.get(key, 0) if value >= old.get(key, 0) else value
        for key, value in read(after).items()
    }


def with_a_dictionary(before, after):
    """One dictionary from worker and status to what was added."""
    change = added(before, after)
    print(change)

    def share(worker):
        failed = change.get((worker, "failed"), 0)
        return failed / (failed + change.get((worker, "completed"), 0))

    busy = {worker for (worker, _), value in change.items() if value > 0}
    return max(busy, key=share)


def line_by_line(before, after):
    """No regular expression: lines are cut at their brackets."""
    table = defaultdict(lambda: {"completed": [0.0, 0.0], "failed": [0.0, 0.0]})
    for place, page in enumerate((before, after)):
        for line in page.split("\n"):
            if line.startswith("tasks_total{"):
                labels, _, value = line.removeprefix("tasks_total{").rpartition("} ")
                pairs = dict(label.split("=") for label in labels.split(","))
                status, worker = pairs["status"].strip('"'), pairs["worker"].strip('"')
                table[worker][status][place] = float(value)
    worst = ("", -1.0)
    for worker, counters in table.items():
        completed, failed = (
            new if new < old else new - old for old, new in (counters["completed"], counters["failed"])
        )
        if completed + failed and failed / (completed + failed) > worst[1]:
            worst = (worker, failed / (completed + failed))
    return worst[0]


class Report:
    """An object that is called, with sorting at the end."""

    def __call__(self, before, after):
        """Name the worst."""
        change = added(before, after)
        rows = []
        for worker in {worker for worker, _ in change}:
            failed, completed = change.get((worker, "failed"), 0), change.get((worker, "completed"), 0)
            if failed or completed:
                rows.append((failed / (failed + completed), worker))
        return sorted(rows)[-1][1]


report = Report()
report.__name__ = "report"

RIGHT = [with_a_dictionary, line_by_line, report]


# Wrong answers ---------------------------------------------------------------------------------------


def most_failures(before, after):
    """Failures per minute, whatever the worker does in all."""
    change = added(before, after)
    return max((key for key in change if key[1] == "failed"), key=change.get)[0]


def share_of_all_time(before, after):
    """The counters as they stand."""
    now = read(after)
    workers = {worker for worker, _ in now}
    return max(
        workers,
        key=lambda worker: (
            now.get((worker, "failed"), 0)
            / (now.get((worker, "failed"), 0) + now.get((worker, "completed"), 0))
        ),
    )


def failed_by_completed(before, after):
    """A ratio that is undefined where nothing is completed."""
    change = added(before, after)
    workers = {worker for worker, _ in change}
    return max(workers, key=lambda worker: change.get((worker, "failed"), 0) / change[worker, "completed"])


def knows_no_restart(before, after):
    """A counter that fell gives a negative number."""
    old, new = read(before), read(after)
    change = {key: value - old.get(key, 0) for key, value in new.items()}
    workers = {worker for (worker, _), value in change.items() if value}
    return max(
        workers,
        key=lambda worker: (
            change.get((worker, "failed"), 0)
            / max(1, change.get((worker, "failed"), 0) + change.get((worker, "completed"), 0))
        ),
    )


def knows_no_restart_and_no_sign(before, after):
    """Two negative numbers make a share that looks like one."""
    old, new = read(before), read(after)
    change = {key: value - old.get(key, 0) for key, value in new.items()}
    shares = {}
    for worker in {worker for worker, _ in change}:
        failed, completed = change.get((worker, "failed"), 0), change.get((worker, "completed"), 0)
        if failed + completed:
            shares[worker] = failed / (failed + completed)
    return max(shares, key=shares.get)


def sees_a_restart_in_the_sum(before, after):
    """A worker began again if all its counters together fell."""
    old, new = read(before), read(after)

    def total(page, worker):
        return sum(value for (name, _), value in page.items() if name == worker)

    shares = {}
    for worker in {worker for worker, _ in new}:
        base = old if total(new, worker) >= total(old, worker) else {}
        failed, completed = (
            new.get((worker, status), 0) - base.get((worker, status), 0) for status in ("failed", "completed")
        )
        if failed + completed:
            shares[worker] = failed / (failed + completed)
    return max(shares, key=shares.get)


def knows_no_new_worker(before, after):
    """Asks the first page for a series that is not there."""
    old, new = read(before), read(after)
    change = {key: new[key] - old[key] if new[key] >= old[key] else new[key] for key in new}
    workers = {worker for (worker, _), value in change.items() if value}
    return max(
        workers,
        key=lambda worker: (
            change[worker, "failed"] / (change[worker, "failed"] + change[worker, "completed"])
        ),
    )


def divides_by_nothing(before, after):
    """A worker that did nothing has no share."""
    change = added(before, after)
    workers = {worker for worker, _ in change}
    return max(
        workers,
        key=lambda worker: (
            change.get((worker, "failed"), 0)
            / (change.get((worker, "failed"), 0) + change.get((worker, "completed"), 0))
        ),
    )


def idle_is_worst(before, after):
    """Who does nothing is counted as failing always."""
    change = added(before, after)
    workers = {worker for worker, _ in change}

    def share(worker):
        failed, completed = change.get((worker, "failed"), 0), change.get((worker, "completed"), 0)
        return failed / (failed + completed) if failed + completed else 1.0

    return max(workers, key=share)


def returns_the_share(before, after):
    """The number in place of the name."""
    return 0.5


def says_nothing(before, after):
    """Nothing is returned."""
    with_a_dictionary(before, after)


async def async_answer(before, after):
    """Nothing is to be awaited here."""
    return with_a_dictionary(before, after)


def never_ends(before, after):
    """Reads the page for ever."""
    while before:
        after = after.strip()


WRONG = [
    Wrong(
        most_failures,
        "not yet",
        "quick 60 of 660, slow 3 of 5. So it is 'slow'; the answer gave 'quick' (str)",
    ),
    Wrong(share_of_all_time, "not yet", "So it is 'slow'; the answer gave 'quick' (str)"),
    Wrong(failed_by_completed, "error", "ZeroDivisionError"),
    Wrong(knows_no_restart, "not yet", "w1 4 of 10, w2 10 of 50. So it is 'w1'; the answer gave 'w2' (str)"),
    Wrong(knows_no_restart_and_no_sign, "not yet", "w1 4 of 10, w2 10 of 50. So it is 'w1'"),
    Wrong(sees_a_restart_in_the_sum, "not yet", "w1 6 of 9, w2 10 of 50. So it is 'w1'"),
    Wrong(knows_no_new_worker, "error", "KeyError: ('w2',"),
    Wrong(divides_by_nothing, "error", "ZeroDivisionError: float division by zero"),
    Wrong(idle_is_worst, "not yet", "So it is 'w2'; the answer gave 'idle' (str)"),
    Wrong(returns_the_share, "not yet", "the answer gave 0.5 (float)"),
    Wrong(says_nothing, "not yet", "the answer gave None"),
    Wrong(async_answer, "error", "write def async_answer(before, after), without async"),
    Wrong(never_ends, "not yet", "it did not end within 3 s of real time"),
]
