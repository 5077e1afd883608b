"""Every recorded verdict of the real vLLM is replayed."""

from __future__ import annotations

from pathlib import Path

import conformance_vllm as conformance
import pytest

HERE = Path(__file__).parent
FILES = sorted((HERE / "recorded" / "vllm").glob("*.jsonl.gz"))
LEAST = {"0.28.0": 200, "0.33.0": 400}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_the_rules_agree_with_the_engine(agrees, path):
    version = path.name.removesuffix(".jsonl.gz")
    tally = conformance.replay(version, conformance.rows_of(path), HERE / "models")
    assert tally.cases >= LEAST.get(version, 100)
    agrees("vllm", tally)


def test_a_verdict_that_the_engine_did_not_give_is_noticed():
    path = FILES[-1]
    version = path.name.removesuffix(".jsonl.gz")
    rows = list(conformance.rows_of(path))[::15]
    flipped = [
        {**row, "verdict": "error", "message": "made up"}
        if row["verdict"] == "ok"
        else {**row, "verdict": "ok", "resolved": {}}
        for row in rows
    ]
    counts = conformance.replay(version, flipped, HERE / "models").counts
    assert counts["false OK"] >= 10
    assert counts["false alarm"] >= 10
