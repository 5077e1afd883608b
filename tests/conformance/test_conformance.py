"""Every recorded verdict of the real engine is replayed, nothing is sampled."""

from __future__ import annotations

from pathlib import Path

import conformance
import pytest
from fired import fired

HERE = Path(__file__).parent
FILES = sorted((HERE / "recorded").glob("*.jsonl.gz"))


def test_verdicts_of_several_versions_are_recorded():
    assert len(FILES) >= 9


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_the_rules_agree_with_the_engine(agrees, path):
    version = path.name.removesuffix(".jsonl.gz")
    tally = conformance.replay(version, conformance.rows_of(path), HERE / "models")
    assert tally.cases >= 400
    agrees("sglang", tally)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_the_recorded_lines_hold_both_verdicts_and_values(path):
    rows = list(conformance.rows_of(path))
    verdicts = [row["verdict"] for row in rows]
    assert verdicts.count("ok") >= 50
    assert verdicts.count("error") >= 50
    assert sum(bool(row.get("resolved")) for row in rows) >= 50
    assert len({row["message"] for row in rows if row["message"]}) >= 20


def flipped(row):
    """Make a verdict that the engine did not give."""
    if row["verdict"] == "ok":
        return row | {"verdict": "error", "stage": "resolve", "exc_type": "ValueError", "message": "made up"}
    return row | {"verdict": "ok", "resolved": {}, "backends": []}


def test_the_replay_notices_a_wrong_verdict_a_wrong_value_and_a_wrong_reason():
    rows = list(conformance.rows_of(FILES[-1]))[:60]
    version = FILES[-1].name.removesuffix(".jsonl.gz")

    def counts(changed):
        return conformance.replay(version, changed, HERE / "models").counts

    accepted = [row for row in rows if row["verdict"] == "ok"]
    refused = [row for row in rows if row["verdict"] == "error"]
    assert accepted
    assert refused
    assert counts(flipped(row) for row in accepted)["false OK"] == len(accepted)
    assert counts(flipped(row) for row in refused)["false alarm"] == len(refused)
    wrong = [row | {"message": "error: made up", "where": "nowhere.py:1"} for row in refused]
    assert counts(wrong)["wrong reason"] == len(refused)
    raised = [row for row in refused if row.get("function")]
    assert raised
    for change in ({"where": "sglang/srt/other.py:1"}, {"function": "other"}, {"message": "made up"}):
        assert counts(row | change for row in raised)["wrong reason"] == len(raised)
    wrong = [row | {"resolved": {**row["resolved"], "page_size": -1}} for row in accepted]
    assert counts(wrong)["wrong value"] == len(accepted)


def test_the_guard_that_fired_is_told_by_file_function_and_message():
    version = FILES[-1].name.removesuffix(".jsonl.gz")
    told = [fired(row, version) for row in conformance.rows_of(FILES[-1]) if row.get("function")]
    found = [one for one in told if one]
    assert len(found) >= 0.6 * len(told) > 100
    # One place, one message: seldom could two guards of one function have said it.
    assert sum(len(one) == 1 for one in found) >= 0.9 * len(found)
