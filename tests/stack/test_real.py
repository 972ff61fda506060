"""The whole stack on real servers: what happens to requests while processes die. Needs redis-server.

These tests are asked for by name: ``pytest tests/stack``. Each runs in real time, on free ports.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer

import pytest

from tutorial_lib.stack import deploy
from tutorial_lib.stack.embedded import Front
from tutorial_lib.stack.real import RealStack, run_real_stack
from tutorial_lib.stack.settings import Settings

WORKING = 120.0  # seconds within which every request must have ended


def ask(stack: RealStack, number: int, is_up: Event) -> str:
    """Send one request and say how it ended: "right", "wrong", or the text of the error."""
    code, answer = stack.get(f"/compute/{number}")
    if code == 202:
        code, answer = stack.outcome(answer["task_id"], timeout=WORKING)
    if code != 200:
        is_up.wait(WORKING)  # as a good client does, or one outage would use up all requests
        time.sleep(1.5)  # longer than the breaker stays open
        return str(answer["error"])
    return "right" if answer["result"] == number**2 else "wrong"


def until(is_so, within: float = WORKING) -> None:
    """Wait until something is so; fail if it is not after a while."""
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.2)


def counted(stack: RealStack) -> dict[str, float]:
    """What Prometheus says of the tasks: the number of completed and of failed ones."""
    series = stack.query("sum by (status) (tutorial_tasks_total)")
    return {entry["metric"]["status"]: float(entry["value"][1]) for entry in series}


def logged(stack: RealStack) -> dict[str, float]:
    """What the logs say of the tasks."""
    events = Counter(line["event"] for line in stack.logs() if line["service"] == "worker")
    found = {"completed": events["task completed"], "failed": events["task failed"]}
    return {status: number for status, number in found.items() if number}


def kill_in_the_middle_of_a_task(stack: RealStack, worker: str) -> None:
    """End a worker while it works; one that is killed while it is handed a task loses it (lesson 08)."""
    process = stack.services[worker].process
    assert process is not None
    while True:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # until it stands still
        events = [line["event"] for line in stack.logs() if line.get("worker") == worker]
        if events[-1] == "task started":
            stack.services[worker].kill()
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.01)


def test_requests_survive_a_killed_worker_and_a_restarted_server():
    """Two hundred requests: each ends with the right answer or a clear error, and all are counted."""
    with run_real_stack(2, delay=0.05, redelivery=5.0, reset_timeout=1.0, requests_per_second=1000) as stack:
        is_up = Event()  # set while nothing is known to be down
        is_up.set()
        with ThreadPoolExecutor(20) as callers:
            outcomes = callers.map(lambda number: ask(stack, number, is_up), range(200))
            until(lambda: logged(stack).get("completed", 0) > 20)
            is_up.clear()
            try:
                kill_in_the_middle_of_a_task(stack, "w1")
                stack.services["compute"].stop()
                time.sleep(1)
                stack.services["compute"].start()
                stack.services["w1"].start()
            finally:
                is_up.set()
            ends = Counter(outcome.split(":")[0] for outcome in outcomes)
        assert sum(ends.values()) == 200
        assert set(ends) <= {"right", "UNAVAILABLE", "DEADLINE_EXCEEDED", "The breaker is open"}
        assert ends["right"] > 100
        until(lambda: counted(stack) == logged(stack))

        # The dashboard and the alerts find what they ask for.
        for query in deploy.PANELS.values():
            until(lambda query=query: stack.query(query))  # a rate needs two numbers


def test_a_task_in_the_hands_of_a_killed_worker_is_done_by_another():
    """It is delivered a second time, and the request gets its answer.

    The compute server stands still meanwhile, so that the worker cannot be done before it is killed.
    """
    with run_real_stack(2, deadline=WORKING, redelivery=5.0) as stack:
        compute = stack.services["compute"].process
        compute.send_signal(signal.SIGSTOP)
        code, answer = stack.get("/compute/12", X_Request_ID="doomed")
        assert code == 202
        until(lambda: any(line["event"] == "task started" for line in stack.logs("doomed")))
        (first,) = [line["worker"] for line in stack.logs("doomed") if line["event"] == "task started"]
        stack.services[first].kill()
        compute.send_signal(signal.SIGCONT)
        outcome = stack.outcome(answer["task_id"], timeout=WORKING)
        assert outcome == (200, {"state": "completed", "result": 144})
        starts = [line["worker"] for line in stack.logs("doomed") if line["event"] == "task started"]
        assert len(starts) == 2
        assert starts[1] != first


def test_the_queue_goes_and_comes_back_with_all_it_held():
    """While Redis is away the front says so; afterwards what was accepted is done."""
    with run_real_stack(1, delay=0.5) as stack:
        accepted = [stack.get(f"/compute/{number}")[1]["task_id"] for number in range(4)]
        stack.services["redis"].stop()
        code, answer = stack.get("/compute/5")
        assert (code, answer["error"]) == (503, "The queue is away. Try again later.")
        stack.services["redis"].start()
        results = [stack.outcome(task_id, timeout=WORKING)[1]["result"] for task_id in accepted]
        assert results == [0, 1, 4, 9]
        assert stack.compute(6, timeout=WORKING) == 36


@contextmanager
def stack_up(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start ``tutorial stack up`` as in a terminal: it hears Ctrl-C, also if these tests do not."""
    with subprocess.Popen(
        [sys.executable, "-m", "tutorial_lib.course.cli", "stack", "up", "--workers", "1"],
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # or one that does not end would be waited for for ever


def test_whether_compute_is_up_is_asked_without_its_own_client(tmp_path, monkeypatch):
    """gRPC's client hangs for ever when Ctrl-C comes while it opens or closes a channel."""
    monkeypatch.setattr("grpc.insecure_channel", None)
    service = RealStack(tmp_path, 1, Settings(), 0.0).services["compute"]
    assert not service._is_ready()
    service.start()
    assert service._is_ready()
    service.stop()
    assert not service._is_ready()


@pytest.mark.parametrize("services", [0, 1, 3, 5])
def test_ctrl_c_at_any_moment_leaves_no_process(services, tmp_path):
    """Before the first service has started, in between, and when all are up."""
    with stack_up(tmp_path) as process:
        until(lambda: list(tmp_path.glob("tutorial-stack-*")))
        for _ in range(services):
            assert "is up" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=WORKING) == 0
    # With their environments, in which the processes of this stack have the folder.
    listing = subprocess.run(["ps", "axeww"], capture_output=True, encoding="utf-8", check=True).stdout
    assert str(tmp_path) not in listing
    assert list(tmp_path.glob("tutorial-stack-*")) == []


def children_of(process: subprocess.Popen[str]) -> dict[int, str]:
    """The processes that a process has started: their command lines by their numbers."""
    command = ["ps", "-axwwo", "pid=,ppid=,command="]
    lines = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    rows = [line.split(maxsplit=2) for line in lines]
    return {int(pid): command for pid, parent, command in rows if int(parent) == process.pid}


@pytest.mark.parametrize("service", ["compute", "w1"])
def test_a_service_that_has_died_is_started_again(service, tmp_path):
    """``tutorial stack up`` says so, and what is asked after that is answered."""
    with stack_up(tmp_path) as process:
        patience = Timer(WORKING, process.terminate)  # or a line that never comes is waited for for ever
        patience.start()
        try:
            lines = iter(process.stdout.readline, "")
            (url,) = [line.split()[1] for line in lines_until("Ctrl-C", lines) if line.startswith("Try ")]
            word = {"compute": "tutorial_lib.stack.compute", "w1": "--hostname w1@"}[service]
            (victim,) = [pid for pid, text in children_of(process).items() if word in text]
            os.kill(victim, signal.SIGKILL)
            assert next(lines) == f"{service} has died and is started again\n"
            front = Front(url.removesuffix("/compute/5,"))
            until(lambda: front.compute(5, timeout=WORKING) == 25)
        finally:
            patience.cancel()
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=WORKING) == 0


def lines_until(word: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield lines, the last of which begins with this word."""
    for line in lines:
        yield line
        if line.startswith(word):
            return
