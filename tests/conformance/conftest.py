from __future__ import annotations

import pytest

LIMITS = {"false OK": 0, "false alarm": 0, "wrong value": 0, "wrong reason": 0.01, "undecided": 0.01}


@pytest.fixture
def agrees(record_property):
    """Hold a replay to the limits; its row of the table comes back from any process as a test's property."""

    def check(engine, tally):
        record_property("tally", [f"{engine} {tally.version}", tally.cases, dict(tally.counts)])
        for kind, share in LIMITS.items():
            differing = [f"{row['id']}: {detail}" for one, row, detail in tally.rows if one == kind]
            assert len(differing) <= share * tally.cases, "\n".join([kind, *differing[:20]])

    return check
