from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

_REPLAYED = pytest.StashKey[dict]()


@pytest.fixture(scope="session")
def replayed(pytestconfig):
    """Collect what the replay of each recorded file gave."""
    return pytestconfig.stash.setdefault(_REPLAYED, {})


def pytest_terminal_summary(terminalreporter, config):
    """Print the table after the tests."""
    done = config.stash.get(_REPLAYED, {})
    if done:
        from conformance import table

        terminalreporter.section("recorded verdicts")
        terminalreporter.write_line(table(done[path] for path in sorted(done)))
