"""The server that the tests of this folder share, empty at the start of each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from drill_help import GO_ON, HeldDrills
from server_help import CLOCK_KEY, PATIENCE, Server, run_script

from tutorial_lib.engine import connection


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    with shared_server.admin() as admin:
        admin.flushall()
    return shared_server


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no late answer for a server that is away: for tests that are about something else.

    A machine that stumbles may leave a request unanswered for longer than the second that the library waits.
    """
    monkeypatch.setattr(connection, "LEAST_PATIENCE", PATIENCE)
    monkeypatch.setattr(connection, "FIRST_CONTACT", PATIENCE)


@pytest.fixture
def movable_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `pass_time` put the clock of the server forward."""
    clock = "now = time[1] * 1000000 + time[2]"
    run_script(monkeypatch, clock, f"{clock} + (redis.call('GET', '{CLOCK_KEY}') or 0)")


@pytest.fixture(params=["memory", "server"])
def url(request: pytest.FixtureRequest, patient: None) -> str:
    """The address of spaces in memory, and then of spaces on a server: whatever one promises, both do."""
    return "memory://" if request.param == "memory" else request.getfixturevalue("server").url


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HeldDrills:
    """The workers of `drill_help`: processes find them, and hold their tasks until they are told to go on."""
    monkeypatch.setenv(GO_ON, str(tmp_path / "go on"))
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
    return HeldDrills(tmp_path / "go on")
