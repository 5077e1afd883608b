from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

# How long it takes to draw a value says how busy the machine is.
settings.register_profile("shared", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("shared")


def pytest_terminal_summary(terminalreporter):
    """Print the table of the recorded verdicts, whose rows come from any process as properties of tests."""
    reports = [one for ended in ("passed", "failed") for one in terminalreporter.stats.get(ended, ())]
    rows = sorted(
        value for one in reports for name, value in getattr(one, "user_properties", ()) if name == "tally"
    )
    if rows:
        from conformance import Tally, table  # a tool

        terminalreporter.section("recorded verdicts")
        tallies = (Tally(name, cases, Counter(counts)) for name, cases, counts in rows)
        terminalreporter.write_line(table(tallies))
