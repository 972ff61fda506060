"""Test set-up: notebooks are tests too, and their kernels import the package of this checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
collect_ignore_glob = ["tests/notebooks/*"]  # these must fail; tests/test_lessons.py runs them


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval run every notebook strictly, in this very environment.

    It is set here and not in pyproject.toml because the core is also tested on Pythons without Jupyter,
    where pytest does not know nbval's options.
    """
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        # The plain command promises to need no server. So it uses none, and says the same on every machine.
        os.environ["TUTORIAL_SERVER"] = ""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    if config.pluginmanager.hasplugin("nbval") and not config.option.nbval_lax:
        config.option.nbval = True
        config.option.nbval_current_env = True
        config.option.nbval_cell_timeout = 60.0  # seconds; nbval's own limit is half an hour


def pytest_report_header(config: pytest.Config) -> str:
    """Say plainly what the plain command leaves out."""
    return (
        "lesson 09 runs without a server here; asked for by name only: tests/engine and tests/stack "
        "(need servers), tests/browser (needs Chromium)"
    )
