from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

LIMITS = {"false OK": 0, "false alarm": 0, "wrong value": 0, "wrong reason": 0.01, "undecided": 0.01}
_TALLY = "tally"


@pytest.fixture
def agrees(record_property):
    """Hold a replay to the limits; its row of the table comes back from any process as a test's property."""

    def check(engine, tally):
        record_property(_TALLY, [f"{engine} {tally.version}", tally.cases, dict(tally.counts)])
        for kind, share in LIMITS.items():
            differing = [f"{row['id']}: {detail}" for one, row, detail in tally.rows if one == kind]
            assert len(differing) <= share * tally.cases, "\n".join([kind, *differing[:20]])

    return check


def pytest_terminal_summary(terminalreporter):
    """Print the table after the tests."""
    reports = [one for ended in ("passed", "failed") for one in terminalreporter.stats.get(ended, ())]
    rows = sorted(
        value for one in reports for name, value in getattr(one, "user_properties", ()) if name == _TALLY
    )
    if rows:
        from conformance import Tally, table

        terminalreporter.section("recorded verdicts")
        tallies = (Tally(name, cases, Counter(counts)) for name, cases, counts in rows)
        terminalreporter.write_line(table(tallies))
