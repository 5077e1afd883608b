from __future__ import annotations

import pytest

from mlacheck.data import load_yaml
from mlacheck.engines import Grammar
from mlacheck.probes.engine import recorded_versions


def problem(*words, version="0.5.23"):
    return Grammar.load("sglang", version).parse(["--model-path", "m", *words]).problems[0]


@pytest.mark.parametrize(
    ("flag", "right"),
    [
        ("--cp-size", "--dcp-size"),
        ("--context-parallel-size", "--dcp-size"),
        ("--dcp_size", "--dcp-size"),
        ("--DCP-SIZE", "--dcp-size"),
        ("--mla-backend", "--attention-backend"),
        ("--spec-algo", "--speculative-algorithm"),
        ("--enable-flashmla", "--attention-backend flashmla"),
        ("--gpu_memory_utilization", "--mem-fraction-static"),
        ("--tensor-parrallel-size", "--tensor-parallel-size"),
        ("--attention-bakend", "--attention-backend"),
        ("--dcp-sise", "--dcp-size"),
        ("-dcp-size", "--dcp-size"),
        ("--nsa-prefill-backend", "--dsa-prefill-backend"),
    ],
)
def test_a_wrong_flag_gets_the_right_one_first(flag, right):
    assert problem(flag, "2").suggestions[0] == right


@pytest.mark.parametrize("flag", ["--xyzzy", "--", "--=x", "--q", "--zzzzzz-qqqqqq"])
def test_what_is_like_no_flag_gets_no_flag(flag):
    grammar = Grammar.load("sglang", "0.5.23")
    found = [one for one in grammar.parse(["--model-path", "m", flag]).problems if one.kind == "unknown-flag"]
    assert not any(one.suggestions for one in found)


def test_a_flag_of_other_versions_is_told_with_its_versions():
    assert problem("--speculative-skip-dp-mlp-sync").note == (
        "sglang 0.5.23 removed it (0.5.15 to 0.5.22 had it)"
    )
    assert problem("--dcp-comm-backend", "a2a", version="0.5.16").note == "sglang has it since 0.5.17"


@pytest.mark.parametrize(
    ("flag", "value", "right"),
    [
        ("--attention-backend", "flash_mla", "flashmla"),
        ("--attention-backend", "trtllm-mla", "trtllm_mla"),
        ("--decode-attention-backend", "FlashInfer", "flashinfer"),
        ("--kv-cache-dtype", "fp8", "fp8_e4m3"),
        ("--dcp-comm-backend", "nccl", "ag_rs"),
        ("--attention-backend", "tritn", "triton"),
    ],
)
def test_a_wrong_value_gets_the_right_one_first(flag, value, right):
    assert problem(flag, value).suggestions[0] == right


def test_a_value_that_is_gone_is_told_with_its_versions_and_not_taken_for_a_misspelling():
    found = problem("--attention-backend", "cutlass_mla")
    assert (found.suggestions, found.note) == ((), "sglang 0.5.15 to 0.5.19 had cutlass_mla")


def test_known_spellings_are_wrong_in_every_version_and_lead_to_something_in_one():
    data = load_yaml("sglang", "spellings.yaml")
    grammars = [Grammar.load("sglang", version) for version in recorded_versions("sglang")]
    for flag, entry in data["flags"].items():
        assert not any(flag in grammar.flags for grammar in grammars), flag
        assert set(entry) <= {"flag", "value", "note"}, flag
        assert "flag" in entry or "note" in entry, flag
        if "flag" in entry:
            assert any(entry["flag"] in grammar.flags for grammar in grammars), entry
        if "value" in entry:
            choices = grammars[-1].flags[entry["flag"]].choices
            assert not choices or entry["value"] in choices, entry
    for dest, values in data["values"].items():
        known = {
            choice
            for grammar in grammars
            if dest in grammar.options
            for choice in grammar.option(dest).choices
        }
        assert known, dest
        assert set(values.values()) <= known, dest
        assert not set(values) & known, dest
