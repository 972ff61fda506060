"""Compute: the gRPC server. It squares numbers, and remembers what it has answered.

As a program: ``python -m tutorial_lib.stack.compute DELAY`` serves at the address of the settings, and takes
DELAY seconds for a calculation.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc

from tutorial_lib.stack import compute_pb2, compute_pb2_grpc
from tutorial_lib.stack.logs import make_log, open_log, working_for
from tutorial_lib.stack.settings import Settings

__all__ = ["LARGEST", "REQUEST_ID", "ComputeServer"]

LARGEST: Final = 3_037_000_499  # the square of a larger number needs more than 64 bits
REQUEST_ID: Final = "request-id"  # the name of the metadata that carries the id of the request
_REMEMBERED: Final = 10_000  # answers
_THREADS: Final = 8
_PATIENCE: Final = 1.0  # seconds for calls under way when the server stops


class ComputeServer:
    """Serves at ``address`` from the moment it is made until `stop`. Port 0 takes any free port.

    ``address`` then says which. ``delay`` is how long a calculation takes, in seconds; change it to make the
    server slow. Raises `RuntimeError` if the port is in use.
    """

    def __init__(self, log: Any, address: str = "127.0.0.1:0", delay: float = 0.0) -> None:
        self.delay = delay
        self._log = log
        self._answers: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._lock = threading.Lock()
        # Without so_reuseport=0 a second server on the same port would silently get half of the calls.
        self._server = grpc.server(
            ThreadPoolExecutor(_THREADS, thread_name_prefix="compute"), options=[("grpc.so_reuseport", 0)]
        )
        compute_pb2_grpc.add_ComputeServicer_to_server(_Servicer(self), self._server)  # type: ignore[no-untyped-call]
        host = address.rpartition(":")[0]
        try:
            self.address = f"{host}:{self._server.add_insecure_port(address)}"
        except RuntimeError:
            raise RuntimeError(f"{address} is in use. Stop the other server, or take port 0.") from None
        self._server.start()

    def stop(self) -> None:
        """Stop serving. Calls under way have a moment to end."""
        self._server.stop(_PATIENCE).wait()

    def square(self, number: int, request_id: str, context: grpc.ServicerContext) -> int:
        """Return the square of ``number``, calculated once for each request id; without an id, every time."""
        if abs(number) > LARGEST:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, f"{number} is over {LARGEST}, the largest allowed."
            )
        with self._lock:
            answer = self._answers.get((request_id, number))
        if request_id and answer is not None:
            self._log.info("answered from memory", number=number)
            return answer
        threading.Event().wait(self.delay)
        if not context.is_active():
            self._log.warning("the caller has gone", number=number)
            return 0  # nobody receives it
        answer = number * number
        with self._lock:
            self._answers[request_id, number] = answer
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        self._log.info("calculated", number=number)
        return answer


class _Servicer(compute_pb2_grpc.ComputeServicer):
    """Takes calls apart and puts answers together."""

    def __init__(self, server: ComputeServer) -> None:
        self._server = server

    def Square(
        self, request: compute_pb2.SquareRequest, context: grpc.ServicerContext
    ) -> compute_pb2.SquareReply:
        """Answer one call."""
        request_id = str(dict(context.invocation_metadata()).get(REQUEST_ID, ""))
        with working_for(request_id):
            return compute_pb2.SquareReply(square=self._server.square(request.number, request_id, context))


def main() -> None:
    """Serve until the process is told to stop."""
    settings = Settings.from_environment()
    log = make_log("compute", open_log(settings.log_file))
    server = ComputeServer(log, settings.compute, delay=float(sys.argv[1]))
    told_to_stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told_to_stop.set())
    told_to_stop.wait()
    server.stop()


if __name__ == "__main__":
    main()
