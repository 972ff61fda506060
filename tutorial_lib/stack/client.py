"""Client: calls the gRPC server as a careful caller does.

Three things stand between a task and the server, from the outside in:

=========  ==================================================================================
retry      tries again what may go away, with growing waits; never a wrong request
breaker    after too many failures in a row, calls nothing for a while
deadline   each call carries the moment after which nobody waits for its answer
=========  ==================================================================================
"""

from __future__ import annotations

from typing import Any, Final

import grpc
from pybreaker import CircuitBreaker, CircuitBreakerError, CircuitBreakerStorage
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from tutorial_lib.stack import compute_pb2, compute_pb2_grpc
from tutorial_lib.stack.compute import REQUEST_ID
from tutorial_lib.stack.metrics import Metrics
from tutorial_lib.stack.settings import Settings

__all__ = ["ComputeClient", "ComputeFailed", "WrongRequest"]

_MAY_GO_AWAY: Final = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
}


class ComputeFailed(Exception):
    """The gRPC server gave no answer: it is away, too slow, or the breaker is open.

    A plain exception with a text, so that Celery can carry it to the front. gRPC's own errors cannot travel.
    """


class WrongRequest(Exception):
    """The gRPC server refused the request, and would refuse it again."""


def _may_go_away(error: BaseException) -> bool:
    return isinstance(error, grpc.RpcError) and error.code() in _MAY_GO_AWAY


def _is_our_fault(error: BaseException) -> bool:
    return not _may_go_away(error)


class ComputeClient:
    """Calls the server at ``settings.compute``, over one channel that is opened at the first call.

    It is opened late because a channel does not survive a fork, and Celery may fork its workers.
    ``storage`` is where the breaker keeps its state: in memory if left out, in Redis to share it.
    """

    def __init__(
        self, settings: Settings, log: Any, metrics: Metrics, storage: CircuitBreakerStorage | None = None
    ) -> None:
        self._settings = settings
        self._log = log
        self._metrics = metrics
        self._channel: grpc.Channel | None = None
        self.breaker = CircuitBreaker(
            fail_max=settings.fail_max,
            reset_timeout=settings.reset_timeout,
            exclude=[_is_our_fault],
            state_storage=storage,
            throw_new_error_on_trip=False,  # the failure that opens it is raised as itself
        )
        self._retrying = Retrying(
            retry=retry_if_exception(_may_go_away),  # so an open breaker ends it at once
            stop=stop_after_attempt(settings.attempts),
            wait=wait_exponential(settings.first_wait) + wait_random(0, settings.first_wait),
            before_sleep=lambda state: log.warning("trying again", failed=state.attempt_number),
            reraise=True,
        )

    def square(self, number: int, request_id: str) -> int:
        """Return the square of ``number``.

        Raises `ComputeFailed` if there is no answer, and `WrongRequest` if asking again would not help.
        """
        try:
            answer: int = self._retrying(self.breaker.call, self._call, number, request_id)
            return answer
        except CircuitBreakerError:
            self._log.warning("breaker is open")
            raise ComputeFailed(
                "The breaker is open: the compute server failed too often just now."
            ) from None
        except grpc.RpcError as error:
            reason = f"{error.code().name}: {error.details()}"
            if _may_go_away(error):
                raise ComputeFailed(reason) from None
            raise WrongRequest(reason) from None
        finally:
            self._metrics.breaker_open.set(self.breaker.current_state == "open")

    def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _call(self, number: int, request_id: str) -> int:
        if self._channel is None:
            # A server that comes back is looked for within a second, not after gRPC's two minutes.
            self._channel = grpc.insecure_channel(
                self._settings.compute, options=[("grpc.max_reconnect_backoff_ms", 1000)]
            )
        stub = compute_pb2_grpc.ComputeStub(self._channel)  # type: ignore[no-untyped-call]
        try:
            reply = stub.Square(
                compute_pb2.SquareRequest(number=number),
                timeout=self._settings.deadline,
                metadata=[(REQUEST_ID, request_id)],
            )
        except grpc.RpcError as error:
            self._metrics.calls.labels(error.code().name).inc()
            raise
        self._metrics.calls.labels("OK").inc()
        return int(reply.square)
