"""The whole stack inside this process: what a caller gets when all is well, and when a part is not."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from prometheus_client.parser import text_string_to_metric_families
from pybreaker import CircuitBreaker, CircuitBreakerError
from space_help import simulated
from tenacity import AsyncRetrying, wait_fixed

from tutorial_lib import simulate
from tutorial_lib.course import cli
from tutorial_lib.stack import compute_pb2, compute_pb2_grpc, deploy
from tutorial_lib.stack.adapters import LoopClockStorage, TraceListener, record_retry, stop_before
from tutorial_lib.stack.client import ComputeFailed
from tutorial_lib.stack.compute import LARGEST, REQUEST_ID, ComputeServer
from tutorial_lib.stack.embedded import run_stack
from tutorial_lib.stack.logs import LogBook, make_log, working_for
from tutorial_lib.stack.metrics import Metrics
from tutorial_lib.stack.settings import Settings
from tutorial_lib.stack.web import create_app

ROOT = Path(__file__).resolve().parents[1]
NOWHERE = "redis://127.0.0.1:1/0"  # nobody listens at port 1


@pytest.fixture(scope="module")
def stack():
    """One stack for all tests, which leave it in good order. Starting and stopping takes seconds."""
    with run_stack(deadline=0.5, reset_timeout=0.5, first_wait=0.01) as running:
        yield running


def totals(text, name):
    """The values of a metric by its labels, from the page that Prometheus reads."""
    return {
        tuple(sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def front(**settings):
    """A front without worker or server behind it, and its log."""
    book = LogBook()
    return create_app(Settings(**settings), make_log("web", book), Metrics()).test_client(), book


# All is well


def test_a_number_comes_out_squared(stack):
    """The front gives a task id, and the result route of that id the square."""
    code, answer = stack.get("/compute/5")
    assert code == 202
    assert stack.outcome(answer["task_id"]) == (200, {"state": "completed", "result": 25})


@pytest.mark.parametrize("number", [0, -7, LARGEST, -LARGEST])
def test_zero_negative_and_the_largest_numbers_are_squared(stack, number):
    """What fits into 64 bits is right."""
    assert stack.compute(number) == number * number


def test_a_number_that_is_too_large_gets_a_clear_refusal(stack):
    """It is a wrong request, status 400, and is not tried again."""
    _, answer = stack.get(f"/compute/{LARGEST + 1}", X_Request_ID="large")
    code, answer = stack.outcome(answer["task_id"])
    assert code == 400
    assert "largest allowed" in answer["error"]
    assert not [line for line in stack.logs("large") if line["event"] == "trying again"]


def test_one_request_id_is_in_the_lines_of_all_services(stack):
    """The id that the caller sent is found in the front, the worker and the server."""
    _, answer = stack.get("/compute/5", X_Request_ID="story")
    stack.outcome(answer["task_id"])
    assert [(line["service"], line["event"]) for line in stack.logs("story")] == [
        ("web", "accepted"),
        ("worker", "task started"),
        ("compute", "calculated"),
        ("worker", "task completed"),
    ]


def test_the_same_request_id_is_calculated_once(stack):
    """The second task is answered from memory; the same id with another number is another request."""
    for number in (5, 5, 6):
        _, answer = stack.get(f"/compute/{number}", X_Request_ID="twice")
        assert stack.outcome(answer["task_id"])[1]["result"] == number**2
    events = [line["event"] for line in stack.logs("twice") if line["service"] == "compute"]
    assert events == ["calculated", "answered from memory", "calculated"]


def test_concurrent_callers_get_their_own_answers(stack):
    """Twenty at once, nothing mixed up."""
    answers = {}
    callers = [
        threading.Thread(target=lambda number=number: answers.update({number: stack.compute(number)}))
        for number in range(20)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert answers == {number: number**2 for number in range(20)}


def test_an_unknown_task_is_said_to_be_waiting_or_unknown(stack):
    """Celery cannot tell the two apart, and the answer does not pretend to."""
    assert stack.get("/result/never-heard-of") == (202, {"state": "waiting, or unknown"})


# Something is not well


def test_a_stopped_server_gives_clear_errors_and_the_breaker_spares_it(stack):
    """Five failed calls, then none; after the time of the breaker and a new start, all is as before."""
    stack.stop_compute()
    errors = [stack.compute(number).split(":")[0] for number in range(6)]
    assert errors == ["UNAVAILABLE"] + ["The breaker is open"] * 5
    assert totals(stack.metrics(), "tutorial_calls_total")["UNAVAILABLE",] == 5
    assert totals(stack.metrics(), "tutorial_breaker_open") == {(): 1}
    stack.start_compute()
    time.sleep(1.5)
    assert stack.compute(3) == 9
    assert totals(stack.metrics(), "tutorial_breaker_open") == {(): 0}


def test_a_slow_server_is_left_at_the_deadline_and_notices_it(stack):
    """Each try ends at its deadline, and the server throws away what nobody waits for."""
    stack.server.delay = 0.8
    _, answer = stack.get("/compute/7", X_Request_ID="slow")
    assert stack.outcome(answer["task_id"])[1]["error"].startswith("DEADLINE_EXCEEDED")
    stack.server.delay = 0.0
    time.sleep(0.5)
    events = [line["event"] for line in stack.logs("slow") if line["service"] == "compute"]
    assert events == ["the caller has gone"] * 3


def test_the_numbers_agree_with_the_logs(stack):
    """As many tasks are counted as there are lines about their end."""
    stack.compute(1)
    stack.compute(LARGEST + 1)
    logs = Counter(line["event"] for line in stack.logs() if line["service"] == "worker")
    assert totals(stack.metrics(), "tutorial_tasks_total") == {
        ("completed", "w1"): logs["task completed"],
        ("failed", "w1"): logs["task failed"],
    }


def test_a_queue_that_is_away_is_said_at_once():
    """Status 503, and a line in the log with the id of the request."""
    client, book = front(broker=NOWHERE, results=NOWHERE)
    answer = client.get("/compute/5", headers={"X-Request-ID": "lost"})
    assert (answer.status_code, answer.json["request_id"]) == (503, "lost")
    assert [line["event"] for line in book.entries] == ["accepted", "queue is away"]


def test_a_burst_beyond_the_limit_is_refused():
    """Ten in a second are accepted; the others are told to come back."""
    client, _ = front(requests_per_second=10, queue="burst of a test")
    assert Counter(client.get("/compute/5").status_code for _ in range(15)) == {202: 10, 429: 5}


def test_a_port_in_use_is_said():
    """A second server at the same address would get half of the calls."""
    server = ComputeServer(make_log("compute", LogBook()))
    with pytest.raises(RuntimeError, match="is in use"):
        ComputeServer(make_log("compute", LogBook()), server.address)
    server.stop()


def test_an_error_of_the_client_travels_between_processes():
    """Celery sends it to the front as text."""
    assert str(pickle.loads(pickle.dumps(ComputeFailed("UNAVAILABLE: away")))) == "UNAVAILABLE: away"


# Logs, settings, generated files


def test_japanese_text_stays_readable_in_the_log():
    """In the file stand the letters themselves."""
    lines = []

    class Lines(LogBook):
        """Keeps the raw text."""

        def write(self, text):
            """Keep it."""
            lines.append(text)

    with working_for("番号"):
        make_log("web", Lines()).info("受け付けました")
    assert "受け付けました" in lines[0]
    assert json.loads(lines[0])["request_id"] == "番号"


def test_settings_reach_another_process(monkeypatch):
    """By one environment variable, unchanged."""
    settings = Settings(broker=NOWHERE, deadline=0.25, worker="w7")
    for name, value in settings.to_environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment() == settings


def test_the_code_made_from_the_proto_file_is_fresh(tmp_path):
    """The messages and the service are those of compute.proto as it stands."""
    made = tmp_path / "descriptor"
    source = "tutorial_lib/stack/compute.proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", ".", f"--descriptor_set_out={made}", source]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    (fresh,) = FileDescriptorSet.FromString(made.read_bytes()).file
    for message in fresh.message_type:
        for field in message.field:
            field.ClearField("json_name")  # the made code leaves these to be worked out
    ours = FileDescriptorProto()
    compute_pb2.DESCRIPTOR.CopyToProto(ours)
    assert ours == fresh
    methods = [method.name for method in fresh.service[0].method]
    assert [name for name in methods if not hasattr(compute_pb2_grpc.Compute, name)] == []


def test_the_files_of_the_folder_deploy_are_fresh():
    """They are what `python -m tutorial_lib.stack.deploy` writes."""
    for name, text in deploy.files().items():
        assert (ROOT / "deploy" / name).read_text(encoding="utf-8") == text, (
            f"run the module: {name} is stale"
        )


def test_the_dashboard_and_the_alerts_ask_only_for_numbers_that_are_kept(stack):
    """Every name in a query is a name on the page."""
    stack.compute(1)
    page = stack.metrics()
    queries = " ".join(panel["targets"][0]["expr"] for panel in deploy.dashboard()["panels"])
    names = set(re.findall(r"tutorial_\w+", queries + deploy.files()["alerts.yml"]))
    assert names
    assert not {name for name in names if name not in page}


def test_the_command_refuses_what_it_does_not_know(capsys):
    """`tutorial stack sideways` prints the usage."""
    with pytest.raises(SystemExit):
        cli.main(["stack", "sideways"])
    assert "invalid choice" in capsys.readouterr().err


def test_the_command_says_what_to_install(monkeypatch, capsys):
    """Without redis-server there is a sentence, and status 1."""
    monkeypatch.setenv("PATH", "")
    assert cli.main(["stack", "up"]) == 1
    assert "sudo apt install redis-server" in capsys.readouterr().err


# Other libraries on the clock of the loop


@simulated
async def test_a_budget_in_virtual_time_ends_the_tries():
    """No try begins at its end or later, and no wait is begun in vain."""
    moments = []

    async def call():
        moments.append(asyncio.get_running_loop().time())
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await AsyncRetrying(stop=stop_before(30), wait=wait_fixed(10), reraise=True)(call)
    assert moments == [0, 10, 20]
    assert asyncio.get_running_loop().time() == 20


@simulated
async def test_a_budget_is_for_one_call():
    """A second call with the same one is an error, and not a call without tries."""

    async def call():
        raise ConnectionError

    retrying = AsyncRetrying(stop=stop_before(5), wait=wait_fixed(10), reraise=True)
    with pytest.raises(ConnectionError):
        await retrying(call)
    with pytest.raises(RuntimeError, match="inside each call"):
        await retrying(call)


def test_retries_are_in_the_trace():
    """With the number of the try, the wait and the reason."""

    async def main():
        async def call():
            raise ConnectionError("away")

        retrying = AsyncRetrying(
            stop=stop_before(15), wait=wait_fixed(10), before_sleep=record_retry, reraise=True
        )
        with pytest.raises(ConnectionError):
            await retrying(call)

    (event,) = simulate(main).trace.of("retry")
    assert event.detail == {"attempt": 1, "wait": 10, "error": "ConnectionError('away')"}


def test_a_pybreaker_opens_and_closes_in_virtual_time():
    """It stays open for exactly its time, and each change is in the trace."""

    async def main():
        breaker = CircuitBreaker(
            2, 60, state_storage=LoopClockStorage(60), listeners=[TraceListener()], name="mail"
        )

        def fail():
            raise ConnectionError

        for _ in range(2):
            with pytest.raises((ConnectionError, CircuitBreakerError)):
                breaker.call(fail)
        await asyncio.sleep(59.999999)
        with pytest.raises(CircuitBreakerError):
            breaker.call(int)
        await asyncio.sleep(0.000001)
        assert breaker.call(int) == 0

    changes = [(event.time, event.kind, event.fields) for event in simulate(main).trace]
    assert changes == [(0, "open", ("mail",)), (60, "half_open", ("mail",)), (60, "close", ("mail",))]


def test_a_call_without_an_id_is_calculated_every_time():
    """Only named requests are remembered."""
    book = LogBook()
    server = ComputeServer(make_log("compute", book))
    with grpc.insecure_channel(server.address) as channel:
        stub = compute_pb2_grpc.ComputeStub(channel)
        for metadata in ([], [], [(REQUEST_ID, "a")], [(REQUEST_ID, "a")]):
            assert stub.Square(compute_pb2.SquareRequest(number=3), timeout=5, metadata=metadata).square == 9
    server.stop()
    events = [line["event"] for line in book.entries]
    assert events == ["calculated"] * 3 + ["answered from memory"]
