"""Kept decode reports: what is read, what is refused, and what they speak for."""

from __future__ import annotations

import json

import pytest

from mlacheck.decode.environment import driver, environment
from mlacheck.decode.evidence import EvidenceError, Kernel, mismatches, problem_sha256, read_evidence
from mlacheck.decode.problem import DecodeProblem

PROBLEM = DecodeProblem(128, 512, 64, 0.135234, page_size=64, dcp_size=8).to_dict()
ABOUT = {
    "schema_version": 1,
    "date": "2026-11-29",
    "adapter": "flashinfer",
    "distribution": "flashinfer-python",
    "packages": {"torch": "2.11.0", "flashinfer-python": "0.6.17"},
    "device": "NVIDIA H200",
    "sm": 90,
    "driver": "580.159.04",
    "lse_base": None,
    "problem": PROBLEM,
    "problem_sha256": problem_sha256(PROBLEM),
}
ROWS = [
    {"name": "runs", "state": "passes"},
    {"name": "lse base", "state": "passes", "measured": "2"},
    {"name": "merged", "state": "passes", "measured": 0.004},
]
LINE = Kernel(
    "flashinfer", problem_sha256(PROBLEM), "2", 90, "h200", {"flashinfer-python": "0.6.17"}, PROBLEM
)


def keep(tmp_path, about=ABOUT, rows=ROWS, **changes):
    path = tmp_path / "kept.json"
    path.write_text(json.dumps({"rows": rows, "evidence": {**about, **changes}}), encoding="utf-8")
    return path


def line(**changes):
    return Kernel(**{name: getattr(LINE, name) for name in Kernel.__match_args__} | changes)


def test_evidence_of_the_same_kernel_matches(tmp_path):
    (kept,) = read_evidence(keep(tmp_path))
    assert mismatches(kept, LINE) == ()
    assert (
        kept.describe()
        == "3 of 3 rows pass: flashinfer of flashinfer-python 0.6.17 on NVIDIA H200, 2026-11-29"
    )
    # A line whose target is only a capability, and an engine that merges in the kernel's own base.
    assert mismatches(kept, line(gpu=None, lse_base=None)) == ()


def test_rows_of_a_validate_report_are_read_check_by_check(tmp_path):
    verify = {**ABOUT, "adapter": "flashmla"}
    rows = [{**row, "evidence": about} for about in (ABOUT, verify) for row in ROWS]
    path = tmp_path / "kept.json"
    path.write_text(json.dumps([{"decode": rows}]), encoding="utf-8")
    assert [(one.kernel.adapter, len(one.rows)) for one in read_evidence(path)] == [
        ("flashinfer", 3),
        ("flashmla", 3),
    ]


def test_bad_and_open_rows_are_named(tmp_path):
    rows = [*ROWS, {"name": "padding", "state": "wrong"}, {"name": "cuda graph", "state": "not run"}]
    (kept,) = read_evidence(keep(tmp_path, rows=rows))
    assert (kept.bad, kept.not_run) == (("padding",), ("cuda graph",))
    assert kept.describe().startswith("3 of 5 rows pass, not: padding, not run: cuda graph: ")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"adapter": "flashmla"}, "backend flashinfer, the line decodes with flashmla"),
        ({"sm": 100, "gpu": "b200"}, "GPU NVIDIA H200, the line's is b200"),
        ({"gpu": "h100"}, "GPU NVIDIA H200, the line's is h100"),
        ({"sm": None, "gpu": None}, "the line's GPU is not known"),
        ({"packages": {"flashinfer-python": "0.7.2"}}, "flashinfer-python 0.6.17, the line has 0.7.2"),
        ({"packages": {}}, "flashinfer-python 0.6.17, the line does not tell which it will have"),
        ({"lse_base": "e"}, "merged in base 2, the line's engine merges in base e"),
    ],
)
def test_each_difference_is_said(tmp_path, changes, words):
    (kept,) = read_evidence(keep(tmp_path))
    (said,) = mismatches(kept, line(**changes))
    assert words in said


@pytest.mark.parametrize(
    "changes",
    [
        {"heads": 64},
        {"dcp_size": 4},
        {"page_size": 1},
        {"kv_dtype": "fp8_e4m3"},
        {"q_len": 4},
        {"softmax_scale": 0.1},
    ],
)
def test_another_problem_is_said_field_by_field(tmp_path, changes):
    other = {**PROBLEM, **changes}
    (kept,) = read_evidence(keep(tmp_path))
    (said,) = mismatches(kept, line(problem=other, problem_sha256=problem_sha256(other)))
    ((name, value),) = changes.items()
    assert said == f"problem with {name} {PROBLEM[name]}, the line has {value}"


def test_the_hash_is_of_what_a_line_settles():
    harder = DecodeProblem.from_dict({**PROBLEM, "context_lengths": [7], "seed": 3, "long_context": 10**6})
    assert problem_sha256(harder.to_dict()) == problem_sha256(PROBLEM)
    assert problem_sha256({**PROBLEM, "rope_dim": 32}) != problem_sha256(PROBLEM)
    # As it reads after JSON.
    assert problem_sha256(json.loads(json.dumps(PROBLEM))) == problem_sha256(PROBLEM)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("{}", "holds no decode check"),
        ("[]", "holds no decode check"),
        ("3", "holds int where a report is expected"),
        ('{"rows": []}', "evidence is NoneType, not an object"),
        ('{"decode": [4]}', "decode[].evidence is NoneType"),
        (
            json.dumps({"rows": ROWS, "evidence": {**ABOUT, "schema_version": 2}}),
            "schema_version is 2, not 1",
        ),
        (json.dumps({"rows": [], "evidence": ABOUT}), "the check has no row"),
        (json.dumps({"rows": [{"name": "x"}], "evidence": ABOUT}), "a row without name and state"),
        (json.dumps({"rows": [4], "evidence": ABOUT}), "a row without name and state"),
        (
            json.dumps({"rows": ROWS, "evidence": {**ABOUT, "problem": {**PROBLEM, "heads": 1}}}),
            "was it edited?",
        ),
        (
            json.dumps({"rows": ROWS, "evidence": {**ABOUT, "packages": None}}),
            "evidence.packages is NoneType",
        ),
        (
            json.dumps({"rows": ROWS, "evidence": {**ABOUT, "device": None}}),
            "evidence.device is None, not text",
        ),
    ],
)
def test_what_is_no_report_is_refused(tmp_path, text, words):
    path = tmp_path / "kept.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EvidenceError) as caught:
        read_evidence(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(EvidenceError, match="cannot be read"):
        read_evidence(tmp_path / "nothing.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EvidenceError, match="is not JSON"):
        read_evidence(tmp_path / "bytes.json")


def test_the_environment_is_plain(tmp_path):
    found = environment()
    assert json.loads(json.dumps(found)) == found
    assert "mlacheck" in found["packages"]
    told = tmp_path / "version"
    told.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n")
    assert driver(told) == "580.159.04"
    told.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6\n")
    assert driver(told) == "535.54.03"
    assert driver(tmp_path / "none") is None
