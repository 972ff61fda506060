"""The server that the tests of this folder share, empty at the start of each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from server_help import Server


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    with shared_server.admin() as admin:
        admin.flushall()
    return shared_server


@pytest.fixture(params=["memory", "server"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of spaces in memory, and then of spaces on a server: whatever one promises, both do."""
    return "memory://" if request.param == "memory" else request.getfixturevalue("server").url
