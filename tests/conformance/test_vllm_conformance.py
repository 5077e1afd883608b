"""Every recorded verdict of the real vLLM is replayed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOOLS = HERE.parent.parent / "tools"
FILES = sorted((HERE / "recorded" / "vllm").glob("*.jsonl.gz"))
LEAST = {"0.28.0": 200, "0.33.0": 400}


@pytest.fixture(scope="module")
def replayed():
    sys.path.insert(0, str(TOOLS))
    spec = importlib.util.spec_from_file_location("conformance_vllm", TOOLS / "conformance_vllm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(TOOLS))
    done = {}

    def replay(path):
        if path not in done:
            version = path.name.removesuffix(".jsonl.gz")
            done[path] = module.replay(version, module.rows_of(path), HERE / "models")
        return done[path]

    replay.module = module
    return replay


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
@pytest.mark.parametrize(
    ("kind", "share"),
    [("false OK", 0), ("false alarm", 0), ("wrong value", 0), ("wrong reason", 0.01), ("undecided", 0.01)],
)
def test_the_rules_agree_with_the_engine(replayed, path, kind, share):
    tally = replayed(path)
    differing = [f"{row['id']}: {detail}" for one, row, detail in tally.rows if one == kind]
    assert tally.cases >= LEAST.get(tally.version, 100)
    assert len(differing) <= share * tally.cases, "\n".join(differing[:20])


def test_a_verdict_that_the_engine_did_not_give_is_noticed(replayed):
    path = FILES[-1]
    version = path.name.removesuffix(".jsonl.gz")
    rows = list(replayed.module.rows_of(path))[:80]
    flipped = [
        {**row, "verdict": "error", "message": "made up"}
        if row["verdict"] == "ok"
        else {**row, "verdict": "ok", "resolved": {}}
        for row in rows
    ]
    counts = replayed.module.replay(version, flipped, HERE / "models").counts
    assert counts["false OK"] >= 10
    assert counts["false alarm"] >= 10
