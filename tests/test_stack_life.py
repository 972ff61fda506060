"""The life of an embedded stack: it begins fresh, runs alone, and leaves nothing behind."""

from __future__ import annotations

import threading

import pytest

from tutorial_lib.stack.embedded import run_stack

PATIENCE = 120.0  # seconds after which a test that hangs fails


def test_a_second_stack_starts_at_zero():
    """A cell run twice finds no old numbers, no old log lines, and no port in use."""
    for _ in range(2):
        with run_stack() as stack:
            assert stack.compute(2, timeout=PATIENCE) == 4
            assert 'tutorial_tasks_total{status="completed",worker="w1"} 1.0' in stack.metrics()
            assert len(stack.logs()) == 4


def test_when_the_block_fails_everything_stops_all_the_same():
    """The front no longer answers, and no thread of the services is left."""
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), run_stack() as stack:
        raise ZeroDivisionError
    with pytest.raises(ConnectionError, match="does not answer"):
        stack.get("/health")
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert not {name for name in left if name.startswith(("web", "compute"))}


def test_two_stacks_at_once_are_refused():
    """Since Celery would stop the workers of both; the first goes on."""
    with run_stack() as stack:
        with pytest.raises(RuntimeError, match="Leave its with block first"), run_stack():
            pass
        assert stack.compute(3, timeout=PATIENCE) == 9
