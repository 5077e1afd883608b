"""What a launch line hands to the decode check: the problem, the kernel, and the engine's own conventions."""

from __future__ import annotations

import math

import pytest

from mlacheck.data import load_yaml
from mlacheck.decode import Overrides, check_backend, check_launch, launch
from mlacheck.decode.backend import BACKENDS, load_backend
from mlacheck.decode.engine import handling, knows
from mlacheck.decode.merge import EMPTY_RANKS, SUMS
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


SIZES = {"heads": 128, "dcp_size": 8, "interleave": 1, "page_size": 64, "q_len": 1, "kv_dtype": "bf16"}
FIELDS = {
    *("versions", "when", "adapter", "options", "page", "kv", "queries", "lse_base", "empty_ranks", "sums"),
    *("never_merges", "several", "not_covered", "source"),
}


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_the_data_is_whole(engine):
    data = load_yaml("decode", f"{engine}.yaml")
    assert {"tp_size", "dcp_size", "page_size", "kv_cache_dtype", "comm", "q_len"} <= set(data["line"])
    for backend, rows in data["backends"].items():
        for row in rows:
            assert set(row) <= FIELDS
            assert row.get("adapter") in {*BACKENDS, None}
            assert bool(row.get("adapter")) != bool(row.get("not_covered"))
            if row.get("adapter"):
                load_backend(row["adapter"], row.get("options"))
                assert bool(row.get("lse_base") and row.get("empty_ranks")) != bool(row.get("never_merges"))
                assert row.get("empty_ranks", "merge") in EMPTY_RANKS
                assert row.get("sums", "float32") in SUMS
                assert row["several"]
                assert set(row["source"]) == {"file", "symbol"}
        for version in recorded_versions(engine):
            if (backend, version) in ABSENT:
                assert not knows(engine, version, backend)
            else:
                assert handling(engine, version, backend, SIZES) is not None, (backend, version)


# TokenSpeed came with 0.22.
ABSENT = {("TOKENSPEED_MLA", "0.18.1")}


def test_what_is_not_recorded():
    assert not knows("sglang", "0.5.18", "abacus")
    assert handling("sglang", "0.5.18", "abacus", SIZES) is None
    assert not knows("vllm", "0.28.0", "flashinfer")
    assert handling("sglang", None, "flashinfer", SIZES).adapter == "flashinfer"


VLLM = {
    "tensor_parallel_size": 8,
    "decode_context_parallel_size": 8,
    "prefill_context_parallel_size": 1,
    "cp_kv_cache_interleave_size": 1,
    "block_size": 64,
    "kv_cache_dtype": "auto",
    "dcp_comm_backend": "ag_rs",
    "speculative_method": None,
    "num_speculative_tokens": None,
}


def posed_by_vllm(version, backend, config=V3, **resolved):
    (posed,) = launch.pose("vllm", version, {**VLLM, "decode_backend": backend, **resolved}, config)
    return posed


@pytest.mark.parametrize(
    ("version", "backend", "adapter", "base", "empty"),
    [
        ("0.18.1", "FLASHMLA", "vllm-flashmla", "e", "merge"),
        ("0.22.1", "FLASH_ATTN_MLA", "vllm-fa3", "e", "merge"),
        ("0.22.1", "TRITON_MLA", "vllm-triton", "e", "merge"),
        ("0.22.1", "CUTLASS_MLA", "vllm-cutlass", "e", "merge"),
        ("0.28.0", "FLASHINFER_MLA", "trtllm_mla", "2", "forced"),
        ("0.28.0", "TOKENSPEED_MLA", "tokenspeed_mla", "2", "forced"),
        ("0.28.0", "FLASHMLA", "vllm-flashmla", "e", "forced"),
        ("0.33.0", "FLASHINFER_MLA", "cutedsl_mla", "e", "forced"),
        ("0.33.0", "TOKENSPEED_MLA", "tokenspeed_mla", "2", "forced"),
        ("0.33.0", "FLASH_ATTN_MLA", "vllm-fa3", "e", "forced"),
        ("0.33.0", "CUTLASS_MLA", "vllm-cutlass", "e", "forced"),
        ("0.33.0", "TRITON_MLA", "vllm-triton", "e", "forced"),
    ],
)
def test_the_base_and_the_merge_of_each_vllm(version, backend, adapter, base, empty):
    posed = posed_by_vllm(version, backend)
    assert (posed.adapter, posed.convention.lse_base) == (adapter, base)
    assert (posed.convention.empty_ranks, posed.convention.sums) == (empty, "output")
    assert posed.problem.heads == 128
    assert posed.convention.who == f"vllm {version} with {backend}"


@pytest.mark.parametrize(("heads", "tiled"), [(8, True), (16, True), (24, False), (64, True), (96, False)])
def test_heads_that_one_kernel_cannot_tile_go_to_another(heads, tiled):
    config = {**V3, "num_attention_heads": heads}
    posed = posed_by_vllm("0.28.0", "FLASHINFER_MLA", config)
    assert posed.problem.heads == heads
    assert posed.adapter == ("trtllm_mla" if tiled else "cutedsl_mla")
    # One base is declared for both kernels, and the other one is not told its rank.
    assert (posed.convention.lse_base, posed.convention.options) == ("2", {} if tiled else {"dcp": False})
    alone = {"decode_context_parallel_size": 1}
    assert posed_by_vllm("0.33.0", "FLASHINFER_MLA", config).adapter == "cutedsl_mla"
    adapter = posed_by_vllm("0.33.0", "FLASHINFER_MLA", config, tensor_parallel_size=1, **alone).adapter
    assert adapter == ("trtllm_mla" if tiled else "cutedsl_mla")


def test_runs_of_tokens_reach_the_problem_and_the_kernels_that_take_them():
    for version, options in (("0.28.0", {"pdl": False}), ("0.33.0", {"pdl": False, "runs": True})):
        posed = posed_by_vllm(version, "TOKENSPEED_MLA", cp_kv_cache_interleave_size=16, kv_cache_dtype="fp8")
        assert (posed.problem.interleave, posed.convention.options) == (16, options)


@pytest.mark.parametrize(
    ("version", "backend", "resolved", "words"),
    [
        ("0.22.1", "FLASHINFER_MLA", {}, "no LSE before 0.28"),
        ("0.18.1", "FLASHINFER_MLA", {}, "no LSE before 0.28"),
        ("0.22.1", "TOKENSPEED_MLA", {}, "no LSE before 0.28"),
        ("0.22.1", "FLASHMLA", {"kv_cache_dtype": "fp8"}, "no FP8 cache is decoded under DCP"),
        ("0.18.1", "TRITON_MLA", {"kv_cache_dtype": "fp8"}, "no FP8 cache is decoded under DCP"),
        ("0.22.1", "TRITON_MLA", {"dcp_comm_backend": "a2a"}, "does not compile"),
        ("0.18.1", "TRITON_MLA", {"dcp_comm_backend": "a2a"}, None),
        ("0.28.0", "TRITON_MLA", {"dcp_comm_backend": "a2a"}, None),
        ("0.28.0", "FLASHMLA", {"kv_cache_dtype": "fp8"}, None),
        ("0.22.1", "FLASHMLA", {"kv_cache_dtype": "fp8", "decode_context_parallel_size": 1}, None),
    ],
)
def test_what_vllm_never_merges(version, backend, resolved, words):
    found = posed_by_vllm(version, backend, **resolved).convention.never_merges
    assert (words in found) if words else found is None


@pytest.mark.parametrize(
    ("version", "backend", "resolved", "seen"),
    [
        ("0.33.0", "FLASHINFER_MLA", {}, 4),
        ("0.28.0", "FLASHINFER_MLA", {}, 1),
        ("0.28.0", "FLASHINFER_MLA", {"decode_context_parallel_size": 1}, 4),
        ("0.28.0", "TOKENSPEED_MLA", {}, 4),
        ("0.33.0", "FLASHMLA", {}, 1),
        ("0.33.0", "FLASHMLA", {"decode_context_parallel_size": 1}, 4),
        ("0.33.0", "FLASH_ATTN_MLA", {}, 4),
        ("0.33.0", "FLASH_ATTN_MLA", {"cp_kv_cache_interleave_size": 16}, 1),
        ("0.33.0", "CUTLASS_MLA", {"decode_context_parallel_size": 1}, 1),
        ("0.28.0", "TRITON_MLA", {"decode_context_parallel_size": 1}, 1),
        ("0.33.0", "TRITON_MLA", {"decode_context_parallel_size": 1}, 4),
        ("0.33.0", "TRITON_MLA", {}, 1),
    ],
)
def test_how_many_query_tokens_vllm_hands_to_the_kernel(version, backend, resolved, seen):
    draft = {"speculative_method": "mtp", "num_speculative_tokens": 3}
    posed = posed_by_vllm(version, backend, **draft, **resolved)
    assert posed.problem.q_len == seen
    assert any("prefill path" in note for note in posed.problem.notes) == (seen == 1)
    assert posed_by_vllm(version, backend, **resolved).problem.q_len == 1


def test_the_page_that_vllms_kernels_see():
    assert posed_by_vllm("0.33.0", "FLASHMLA", block_size=256).problem.page_size == 64
    assert posed_by_vllm("0.33.0", "CUTLASS_MLA", block_size=256).problem.page_size == 128
    assert posed_by_vllm("0.33.0", "FLASHINFER_MLA", block_size=96).problem.page_size == 32
    assert posed_by_vllm("0.33.0", "TRITON_MLA", block_size=48).problem.page_size == 48


def test_what_of_vllm_is_not_covered():
    sparse = posed_by_vllm("0.33.0", "FLASHMLA_SPARSE")
    assert "sparse attention is not covered" in sparse.rows[0].detail
    both = posed_by_vllm("0.33.0", "FLASHMLA", prefill_context_parallel_size=2)
    assert "prefill context parallelism is not covered" in both.rows[0].detail
    assert "no adapter for vllm's ROCM_AITER_MLA" in posed_by_vllm("0.33.0", "ROCM_AITER_MLA").rows[0].detail


def test_a_backend_by_its_name_in_the_engine(asked):
    sizes = {"tp_size": 8, "dcp_size": 8, "interleave": 16, "page_size": 64, "comm": "a2a"}
    check_backend("vllm", "0.33.0", "FLASHMLA", sizes, V3, target_sm=90)
    problem, adapter, convention, sm = asked[-1]
    assert (adapter, problem["interleave"], sm) == ("vllm-flashmla", 16, 90)
    assert (convention.lse_base, convention.comm) == ("e", "a2a")
    report = check_backend("vllm", "0.33.0", "FLASHMLA", {**sizes, "dcp_size": 3}, V3)
    assert "not a multiple of dcp_size 3" in report.rows[0].detail
