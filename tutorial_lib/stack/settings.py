"""Settings: every knob of the stack in one place.

Services in processes of their own receive them through one environment variable.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Final

__all__ = ["Settings"]

_VARIABLE: Final = "TUTORIAL_STACK"


@dataclass(frozen=True)
class Settings:
    """The knobs of the stack. Times are seconds.

    >>> Settings(deadline=0.5).to_environment()["TUTORIAL_STACK"][:30]
    '{"broker": "memory://", "resul'
    """

    broker: str = "memory://"
    """Where Celery's queue lives: ``memory://`` in this process, or ``redis://host:port/0``."""
    results: str = "cache+memory://"
    """Where Celery keeps the results."""
    queue: str = "compute"
    """The name of the queue."""
    redelivery: float = 10.0
    """After this long without an acknowledgement, Redis gives a task to another worker."""
    compute: str = "127.0.0.1:50051"
    """The address of the gRPC server."""
    deadline: float = 1.0
    """How long one call of the gRPC server may take."""
    attempts: int = 3
    """How often the gRPC server is called for one task, at most."""
    first_wait: float = 0.1
    """The wait before the second try. Each further wait is twice as long. To each, up to as much is added."""
    fail_max: int = 5
    """So many failures in a row open the breaker."""
    reset_timeout: float = 5.0
    """How long the breaker stays open before it lets one call try."""
    requests_per_second: int = 100
    """How many requests the front accepts in any second; the others are told to come back."""
    worker: str = "w1"
    """The name of the worker in this process."""
    log_file: str = ""
    """Where the services append their log lines. Empty for standard output."""

    def to_environment(self) -> dict[str, str]:
        """Return the environment variable that hands these settings to another process."""
        return {_VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls) -> Settings:
        """Return the settings that this process was given; the defaults if it was given none."""
        return cls(**json.loads(os.environ.get(_VARIABLE, "{}")))
