"""What a launch line hands to the decode check: the problem, the kernel, and the engine's own conventions."""

from __future__ import annotations

import math

import pytest

from mlacheck.data import load_yaml
from mlacheck.decode import Overrides, check_launch, launch
from mlacheck.decode.backend import BACKENDS
from mlacheck.decode.engine import handling
from mlacheck.decode.merge import EMPTY_RANKS
from mlacheck.decode.row import DecodeReport, Row
from mlacheck.probes.engine import recorded_versions

V3 = {
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "torch_dtype": "bfloat16",
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0},
}
LINE = {
    "decode_backend": "flashinfer",
    "verify_backend": "flashinfer",
    "tp_size": 8,
    "dcp_size": 8,
    "page_size": 1,
}


@pytest.fixture
def asked(monkeypatch):
    """What would be run, instead of running it."""
    found = []

    def run(problem, adapter, limit, *, convention, target_sm, on_progress):  # noqa: ARG001
        found.append((problem, adapter, convention, target_sm))
        return DecodeReport((Row("runs", "passes"),), adapter)

    monkeypatch.setattr(launch, "run", run)
    return found


def check(asked, version="0.5.18", overrides=None, **resolved):
    reports = check_launch("sglang", version, {**LINE, **resolved}, V3, target_sm=90, overrides=overrides)
    assert not any(report.could_not_run for report in reports)
    return asked[-1]


def test_flashinfer_sees_single_tokens_and_a_copy_of_the_pool(asked):
    problem, adapter, convention, sm = check(asked, page_size=64, kv_cache_dtype="fp8_e4m3")
    assert (adapter, sm) == ("flashinfer", 90)
    assert (problem["heads"], problem["dcp_size"], problem["page_size"]) == (128, 8, 1)
    assert problem["kv_dtype"] == "bf16"
    assert "the KV pool is fp8_e4m3" in problem["notes"][0]
    assert problem["softmax_scale"] == pytest.approx((0.1 * math.log(40) + 1) ** 2 / math.sqrt(192))
    assert (convention.lse_base, convention.empty_ranks, convention.comm) == ("2", "merge", "ag_rs")
    assert convention.who == "sglang 0.5.18 with flashinfer"


def test_attention_under_data_parallelism_has_more_heads_a_rank(asked):
    problem, *_ = check(asked, tp_size=8, dp_size=4, enable_dp_attention=True, dcp_size=2)
    assert problem["heads"] == 128 // 2 * 2
    problem, *_ = check(asked, tp_size=8, dp_size=4, enable_dp_attention=False, dcp_size=2)
    assert problem["heads"] == 128 // 8 * 2


@pytest.mark.parametrize(
    ("version", "backend", "base", "empty"),
    [
        ("0.5.17", "cutedsl_mla", "e", "lengths"),
        ("0.5.23", "cutedsl_mla", "e", "lengths"),
        ("0.5.19", "trtllm_mla", "2", "lengths"),
        ("0.5.22", "tokenspeed_mla", "2", "lengths"),
        ("0.5.15", "flashinfer", "2", "merge"),
    ],
)
def test_the_base_that_each_version_merges_in(asked, version, backend, base, empty):
    _, adapter, convention, _ = check(asked, version, decode_backend=backend, page_size=64)
    assert adapter == backend
    assert (convention.lse_base, convention.empty_ranks) == (base, empty)
    assert convention.never_merges is None


@pytest.mark.parametrize(
    ("version", "backend", "words"),
    [
        ("0.5.18", "trtllm_mla", "no LSE before 0.5.19"),
        ("0.5.16", "cutedsl_mla", "no decode under DCP before 0.5.17"),
        ("0.5.23", "flashmla", "takes no LSE"),
        ("0.5.23", "fa3", "no LSE"),
        ("0.5.23", "triton", "takes no LSE"),
    ],
)
def test_backends_that_no_merge_sees(asked, version, backend, words):
    _, _, convention, _ = check(asked, version, decode_backend=backend, page_size=64)
    assert words in convention.never_merges


def test_the_page_that_the_kernel_sees(asked):
    assert check(asked, decode_backend="trtllm_mla", page_size=32)[0]["page_size"] == 32
    assert check(asked, decode_backend="flashmla", page_size=64)[0]["page_size"] == 64
    assert check(asked, decode_backend="triton", page_size=16)[0]["page_size"] == 1


def test_draft_tokens_are_query_tokens(asked):
    draft = {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 4}
    problem, _, convention, _ = check(asked, **draft)
    assert problem["q_len"] == 4
    assert "returns one tensor" in convention.several
    # A number without an algorithm means nothing.
    assert check(asked, speculative_num_draft_tokens=4)[0]["q_len"] == 1


def test_verify_on_another_kernel_is_a_check_of_its_own(asked):
    draft = {"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 6, "page_size": 64}
    check(asked, "0.5.23", decode_backend="cutedsl_mla", verify_backend="trtllm_mla", **draft)
    assert [(adapter, problem["q_len"]) for problem, adapter, *_ in asked] == [
        ("cutedsl_mla", 1),
        ("trtllm_mla", 6),
    ]


def test_overrides(asked):
    problem, *_ = check(asked, overrides=Overrides(context_len=9000, batch=2, q_len=3, seed=5, device="cpu"))
    assert (problem["long_context"], len(problem["context_lengths"]), problem["q_len"]) == (9000, 2, 3)
    assert (problem["seed"], problem["device"]) == (5, "cpu")


@pytest.mark.parametrize(
    ("resolved", "words"),
    [
        ({"decode_backend": None}, "name the GPU with --gpu"),
        ({"decode_backend": "dsa"}, "sparse attention (DSA) is not covered"),
        ({"decode_backend": "nsa"}, "sparse attention (DSA) is not covered"),
        ({"decode_backend": "aiter"}, "no adapter for sglang's aiter"),
        ({"dcp_size": 3}, "not a multiple of dcp_size 3"),
        ({"kv_cache_dtype": "nvfp4"}, "no decode problem is known for KV cache dtype 'nvfp4'"),
        ({"tp_size": 7, "dcp_size": 1}, "num_attention_heads 128 is not a multiple"),
    ],
)
def test_what_cannot_be_checked_says_why(asked, resolved, words):
    [report] = check_launch("sglang", "0.5.18", {**LINE, **resolved}, V3)
    assert not asked
    assert report.rows[0].state == "not run"
    assert words in report.rows[0].detail
    assert report.outcome.startswith("not run: ")


def test_a_model_without_latent_attention(asked):
    [report] = check_launch("sglang", "0.5.18", LINE, {"num_attention_heads": 32})
    assert "does not use MLA" in report.rows[0].detail
    assert not asked


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({}, "bf16"),
        ({"torch_dtype": "float16"}, "fp16"),
        ({"quantization_config": {"quant_method": "fp8", "kv_cache_quant_algo": "FP8"}}, "fp8_e4m3"),
        ({"hf_quant_config": {"quantization": {"kv_cache_quant_algo": "FP8"}}}, "fp8_e4m3"),
        (
            {
                "quantization_config": {
                    "quant_method": "modelopt",
                    "kv_cache_scheme": {"type": "float", "num_bits": 8},
                }
            },
            "fp8_e4m3",
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "kv_cache_scheme": {"num_bits": 8},
                }
            },
            "bf16",
        ),
        ({"quantization_config": {"quant_method": "fp8"}}, "bf16"),
    ],
)
def test_an_automatic_cache_dtype_follows_the_checkpoint(asked, config, dtype):
    line = {**LINE, "decode_backend": "trtllm_mla", "page_size": 64, "kv_cache_dtype": "auto"}
    check_launch("sglang", "0.5.23", line, {**V3, **config})
    assert asked[-1][0]["kv_dtype"] == dtype


def test_the_data_is_whole():
    known = {"versions", "adapter", "page", "kv", "lse_base", "empty_ranks", "never_merges", "several"}
    for backend, rows in load_yaml("decode", "sglang.yaml")["backends"].items():
        for row in rows:
            assert set(row) <= known | {"not_covered", "source"}
            assert row.get("adapter") in {*BACKENDS, None}
            assert bool(row.get("adapter")) != bool(row.get("not_covered"))
            if row.get("adapter"):
                assert bool(row.get("lse_base") and row.get("empty_ranks")) != bool(row.get("never_merges"))
                assert row.get("empty_ranks", "merge") in EMPTY_RANKS
                assert row["several"]
                assert set(row["source"]) == {"file", "symbol"}
        for version in recorded_versions("sglang"):
            assert handling("sglang", str(version), backend) is not None, (backend, version)
    assert handling("sglang", "0.5.18", "abacus") is None
    assert handling("vllm", "0.28.0", "flashinfer") is None
    assert handling("sglang", None, "flashinfer").adapter == "flashinfer"
