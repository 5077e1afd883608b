from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlacheck.cases import Cases
from mlacheck.finding import Finding, Location, Problem, Remedy, Resolved, Undecided
from mlacheck.report.json_ import _indented, to_dict, to_json
from mlacheck.report.writers import FORMATS

REPORT = {
    "schema_version",
    "command",
    "source",
    "engine",
    "target",
    "assumptions",
    "verdict",
    "findings",
    "resolved",
    "undecided",
    "not_checked",
    "decode",
    "problems",
}
FINDING = {
    "id",
    "slug",
    "level",
    "phase",
    "message",
    "because",
    "location",
    "engine_stops_here",
    "engine_message",
    "extrapolated",
    "suppressed",
    "remedies",
    "source",
    "evidence",
}
TARGET = {"gpu", "sm", "gpu_count", "flashinfer"}
RESOLVED = {
    "attention_backend",
    "page_size",
    "kv_cache_dtype",
    "speculative_algorithm",
    "prefill_backend",
    "decode_backend",
    "verify_backend",
    "draft_backend",
}
ARGS = "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla"
CASES = [
    {"args": [*ARGS.split(), "--speculative-algorithm", "EAGLE"], "gpu": "b200", "engine_version": "0.5.18"},
    {"args": ARGS.split(), "gpu": "b200"},
    {"args": ["--tp-size", "nine"]},
    {"args": ["--model-path", "nobody/knows"], "gpu": "h200", "id": 7},
    {"args": ["--model-path", "deepseek-ai/DeepSeek-V3"], "gpu": None, "flashinfer": None},
]


@pytest.mark.parametrize("case", CASES)
def test_a_report_has_every_key_whatever_it_is_about(case):
    data = json.loads(to_json(Cases(remedies=True).report(case)))
    assert set(data) - {"id"} == REPORT
    assert data["schema_version"] == 1
    assert data.get("id") == case.get("id")
    assert set(data["engine"]) == {"name", "version"}
    assert set(data["source"]) == {"file", "line", "column"}
    assert set(data["target"]) >= TARGET
    assert data["verdict"] in {"ok", "warning", "error", "unknown"}
    for finding in data["findings"]:
        assert set(finding) >= FINDING
        assert isinstance(finding["engine_stops_here"], bool)
        for remedy in finding["remedies"]:
            assert remedy["kind"] in {"edit", "upgrade", "hardware", "none"}
    assert sum(finding["engine_stops_here"] for finding in data["findings"]) <= 1
    for one in data["resolved"].values():
        assert set(one) == {"value", "from"}
    for one in data["undecided"]:
        assert set(one) >= {"rule", "needs"}
    if data["resolved"]:
        assert set(data["resolved"]) >= RESOLVED


def test_every_value_of_a_finding_arrives(made):
    finding = Finding(
        id="TOY001",
        slug="toy",
        level="error",
        phase="resolve",
        message="m",
        because=("a = 1",),
        location=Location(1, 2),
        engine_stops_here=True,
        engine_message="said",
        extrapolated=True,
        remedies=(Remedy("edit", "drop --x", "x", {"x": "unset"}, "slower"),),
        source="file::symbol",
        evidence=("p#1",),
        confirm="look",
    )
    data = to_dict(made(findings=(finding,)))["findings"][0]
    assert data["location"] == {"line": 1, "column": 2}
    assert data["remedies"] == [
        {"kind": "edit", "text": "drop --x", "command": "x", "edits": {"x": "unset"}, "cost": "slower"}
    ]
    assert (data["engine_message"], data["extrapolated"], data["confirm"]) == ("said", True, "look")


def test_places_sets_and_versions_become_plain_json(made):
    report = made(
        file="a.sh",
        location=Location(3, 5),
        resolved={"a": Resolved({"b", "a"}, "default"), "c": Resolved(object, "default")},
        undecided=(Undecided("TOY001", "t", "error", ("gpu.sm",)),),
        problems=(Problem("kind", "m", "h", Location(2, 1)), Problem("kind", "m", "h")),
    )
    data = json.loads(to_json(report))
    assert data["source"] == {"file": "a.sh", "line": 3, "column": 5}
    assert data["resolved"]["a"]["value"] == ["a", "b"]
    assert isinstance(data["resolved"]["c"]["value"], str)
    assert data["undecided"] == [{"rule": "TOY001", "title": "t", "level": "error", "needs": ["gpu.sm"]}]
    assert [one.get("line") for one in data["problems"]] == [2, None]


def test_the_text_is_ascii_so_that_no_locale_can_break_it(made):
    text = to_json(made(command="modèle \udcff"))
    assert text.isascii()
    assert json.loads(text)["command"] == "modèle \udcff"


def test_every_key_is_documented():
    text = (Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8")
    for key in (*REPORT - {"schema_version"}, *FINDING):
        assert f"`{key}`" in text, key
    for name in FORMATS:
        assert f"| `{name}` |" in text, name


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner)
)


@given(_VALUES)
def test_lines_are_laid_out_as_the_standard_library_does(value):
    assert _indented(value) == json.dumps(value, indent=2)


def test_a_set_is_laid_out_in_order():
    assert json.loads(_indented({"modules": frozenset({"b", "a"}), "none": frozenset()})) == {
        "modules": ["a", "b"],
        "none": [],
    }
