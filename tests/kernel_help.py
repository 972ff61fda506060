"""A real kernel for tests, spoken to as JupyterLab does: cells with ids, several queued at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty

import nbformat
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tutorial_lib.course.build import ThisInterpreter, kernel_environment, normal_output

PATIENCE = 60  # seconds until a test gives a kernel up
CELL_OUTPUTS = ("stream", "display_data", "execute_result", "error")


@dataclass
class Answer:
    """What a kernel answered to one cell."""

    status: str = ""
    outputs: list = field(default_factory=list)
    late: list = field(default_factory=list)  # what came when the cell had ended

    @property
    def text(self) -> str:
        """All that the cell printed."""
        return "".join(output.text for output in self.outputs if output.output_type == "stream")

    @property
    def error(self) -> str:
        """The name and message of the error that ended the cell; empty if none did."""
        return "".join(f"{o.ename}: {o.evalue}" for o in self.outputs if o.output_type == "error")


class Kernel:
    """A running kernel."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self._manager = manager
        self._client = client

    def send(self, source: str, cell_id: str | None = None, tags: Sequence[str] = ()) -> str:
        """Queue a cell and return the number of the request."""
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": "raises-exception" not in tags,
        }
        request = self._client.session.msg("execute_request", content, metadata={"cellId": cell_id})
        self._client.shell_channel.send(request)
        return request["header"]["msg_id"]

    def answers(self, requests: Sequence[str]) -> list[Answer]:
        """Wait until all requests are answered, and a little longer for what comes late."""
        answers = {request: Answer() for request in requests}
        ended = []
        while len(ended) < len(requests):
            message = self._client.get_iopub_msg(timeout=PATIENCE)
            answer = answers.get(message["parent_header"].get("msg_id"))
            if answer is None:
                continue
            if message["content"].get("execution_state") == "idle":
                ended.append(message["parent_header"]["msg_id"])
            elif message["msg_type"] in CELL_OUTPUTS:
                late = message["parent_header"]["msg_id"] in ended
                (answer.late if late else answer.outputs).append(nbformat.v4.output_from_msg(message))
        assert ended == list(requests), "the cells did not end in the order in which they were queued"
        while not all(answer.status for answer in answers.values()):
            reply = self._client.get_shell_msg(timeout=PATIENCE)
            request = reply["parent_header"]["msg_id"]
            if request in answers:  # else it answers a question that was asked while the kernel started
                answers[request].status = reply["content"]["status"]
        return list(answers.values())

    def run(self, source: str, cell_id: str | None = None, tags: Sequence[str] = ()) -> Answer:
        """Run one cell and wait for its answer."""
        return self.answers([self.send(source, cell_id, tags)])[0]

    def late_messages(self, seconds: float) -> list:
        """Return the outputs that arrive within ``seconds`` although no cell runs."""
        late = []
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=seconds)
            except Empty:
                return late
            if message["msg_type"] in CELL_OUTPUTS:
                late.append(message["content"])

    def wait_for_output(self, request: str) -> None:
        """Wait until the cell of a request has printed something, and so is certainly running."""
        while True:
            message = self._client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") == request and message["msg_type"] == "stream":
                return

    def stop(self) -> None:
        """Press Stop."""
        self._manager.interrupt_kernel()


@contextmanager
def kernel() -> Iterator[Kernel]:
    """Start a kernel of this interpreter in an empty folder, and end it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        manager = KernelManager(kernel_spec_manager=ThisInterpreter())
        manager.start_kernel(
            cwd=folder, env=kernel_environment(folder), extra_arguments=["--log-level=ERROR"]
        )
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=PATIENCE)
            yield Kernel(manager, client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def comparable(outputs: Sequence) -> list:
    """Return outputs without what may differ between two runs: counts, pictures as pixels, chunks of text."""
    kept: list = []
    for output in map(normal_output, outputs):
        output.pop("execution_count", None)
        output.get("data", {}).pop("image/png", None)
        if kept and output.get("name") and kept[-1].get("name") == output.name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept
