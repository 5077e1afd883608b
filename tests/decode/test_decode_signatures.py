"""Adapters' calls against the signatures of released kernel libraries."""

from __future__ import annotations

import json

import pytest
from packaging.version import Version

torch = pytest.importorskip("torch", reason="torch is not installed: the decode check itself needs it")

from mlacheck.data import rules_root  # noqa: E402
from mlacheck.decode.backend import BACKENDS, Call, load_backend  # noqa: E402
from mlacheck.decode.binding import misfit, unbound  # noqa: E402
from mlacheck.decode.problem import DecodeProblem  # noqa: E402
from mlacheck.decode.trial import Setting, draw_inputs, draw_shard  # noqa: E402
from mlacheck.probes.flashinfer import signature_table  # noqa: E402

RECORDED = json.loads((rules_root() / "decode" / "signatures.json").read_text(encoding="utf-8"))
FLASHINFER = ("0.6.15.post1", "0.6.17", "0.6.18.post1", "0.7.2", "0.7.4")
OF_FLASHINFER = ("flashinfer", "flashinfer-fa2", "flashinfer-fa3", "trtllm_mla", "cutedsl_mla")


def calls(name, *, dcp_size=4, q_len=4, kv_dtype="fp8_e4m3", scale=1.0, **options):
    problem = DecodeProblem(8, 512, 64, 0.1, page_size=64, dcp_size=dcp_size, kv_dtype=kv_dtype)
    setting = Setting((65,), dcp_size, q_len=q_len, latent_scale=scale, rope_scale=scale)
    inputs = draw_inputs(problem, setting, torch.device("cpu"))
    return load_backend(name, options).calls(draw_shard(problem, setting, inputs, dcp_size - 1))


def reasons(name, table, **sizes):
    found = {}
    for call in calls(name, **sizes):
        _, _, path = call.function.partition(":")
        reason = unbound(table[path], call.arguments)
        if reason:
            found[path] = reason
    return found


@pytest.mark.parametrize("version", FLASHINFER)
@pytest.mark.parametrize("name", OF_FLASHINFER)
@pytest.mark.parametrize("dcp_size", [1, 4])
def test_flashinfer_takes_the_calls_or_the_missing_argument_is_named(version, name, dcp_size):
    table = signature_table(Version(version)).signatures
    for kv_dtype, scale in (("bf16", 1.0), ("fp8_e4m3", 0.5)):
        found = reasons(name, table, dcp_size=dcp_size, kv_dtype=kv_dtype, scale=scale)
        if (name, version, dcp_size) == ("cutedsl_mla", "0.6.15.post1", 4):
            assert found == {
                "decode.trtllm_batch_decode_with_kv_cache_mla": "takes no enable_dcp, cp_world, cp_rank, "
                "causal_seqlens_kv_global"
            }
        else:
            assert found == {}


def test_older_flashinfer_names_what_it_lacks():
    table = signature_table(Version("0.6.13")).signatures
    assert "takes no multi_ctas_kv_counter_buffer" in str(
        unbound(table["decode.trtllm_batch_decode_with_kv_cache_mla"], calls("trtllm_mla")[1].arguments)
    )
    assert "return_lse" in str(
        reasons("cutedsl_mla", signature_table(Version("0.6.10")).signatures, dcp_size=1)
    )


@pytest.mark.parametrize("version", ["0.1.8", "2.0.3", "2.0.4"])
@pytest.mark.parametrize("dcp_size", [1, 4])
def test_tokenspeed_takes_the_call(version, dcp_size):
    assert reasons("tokenspeed_mla", RECORDED["tokenspeed_mla"][version], dcp_size=dcp_size) == {}


VLLMS = {
    "0.18.1": {"flashinfer": "0.6.6", "splits": 4, "mla": False},
    "0.22.1": {"flashinfer": "0.6.11.post2"},
    "0.28.0": {"flashinfer": "0.6.16.post3"},
    "0.33.0": {"flashinfer": "0.7.2.post1"},
}


@pytest.mark.parametrize("version", VLLMS)
@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8_e4m3"])
def test_vllms_own_kernels_take_the_calls(version, kv_dtype):
    table = RECORDED["vllm"][version]
    options = {name: value for name, value in VLLMS[version].items() if name != "flashinfer"}
    for name in ("vllm-flashmla", "vllm-fa3", "vllm-cutlass", "vllm-triton"):
        sizes = {"q_len": 1, **(options if name == "vllm-triton" else {})}
        assert reasons(name, table, kv_dtype=kv_dtype, **sizes) == {}
    if version == "0.18.1":
        assert "takes no is_mla" in str(reasons("vllm-triton", table, kv_dtype=kv_dtype, q_len=1))


@pytest.mark.parametrize(
    ("version", "options", "reason"),
    [
        ("0.1.2", {"lse": False}, None),
        ("0.1.2", {}, "takes no return_lse"),
        ("0.1.8", {}, None),
        ("0.1.8", {"runs": True}, "takes no cp_interleave_size"),
        ("2.0.3", {"runs": True}, None),
    ],
)
def test_tokenspeed_takes_vllms_call_or_the_missing_argument_is_named(version, options, reason):
    found = reasons("tokenspeed_mla", RECORDED["tokenspeed_mla"][version], pdl=False, **options)
    assert (reason in str(found)) if reason else found == {}


@pytest.mark.parametrize("dcp_size", [1, 4])
def test_flashinfer_takes_the_calls_of_each_vllm(dcp_size):
    for version in ("0.6.6", "0.6.11.post2"):
        table = signature_table(Version(version)).signatures
        assert reasons("trtllm_mla", table, dcp_size=dcp_size, lse=False) == {}
    table = signature_table(Version("0.6.16.post3")).signatures
    assert reasons("trtllm_mla", table, dcp_size=dcp_size) == {}
    assert reasons("cutedsl_mla", table, dcp_size=dcp_size, dcp=False) == {}
    table = signature_table(Version("0.7.2.post1")).signatures
    assert reasons("cutedsl_mla", table, dcp_size=dcp_size) == {}


def test_a_kernel_is_told_the_runs_of_tokens_or_not():
    problem = DecodeProblem(8, 512, 64, 0.1, page_size=64, dcp_size=4, interleave=16, kv_dtype="fp8_e4m3")
    setting = Setting((200,), 4, q_len=2)
    shard = draw_shard(problem, setting, draw_inputs(problem, setting, torch.device("cpu")), 2)
    (told,) = load_backend("tokenspeed_mla", {"runs": True}).calls(shard)
    assert (told.arguments["cp_interleave_size"], told.arguments["seq_lens"].tolist()) == (16, [48])
    (untold,) = load_backend("tokenspeed_mla").calls(shard)
    assert "cp_interleave_size" not in untold.arguments
    _, run = load_backend("vllm-fa3").calls(shard)
    assert run.arguments["max_seqlen_k"] == 64
    assert run.arguments["cp_tot_seqused_k"].tolist() == [200]
    (rows,) = load_backend("vllm-triton").calls(shard)
    assert rows.arguments["b_seq_len"].tolist() == [47, 48]
    assert rows.arguments["lse"].dtype == shard.q_latent.dtype
    _, padded = load_backend("vllm-cutlass").calls(shard)
    query = padded.arguments["q_nope"]
    assert query.untyped_storage().nbytes() >= 2 * 128 * 512
    assert query.shape == (2, 8, 512)


def test_flashmla_takes_the_calls():
    for kv_dtype in ("bf16", "fp8_e4m3"):
        assert reasons("flashmla", RECORDED["flash_mla"]["1.0.0"], kv_dtype=kv_dtype) == {}


def test_several_query_tokens_get_the_global_lengths_from_cyclic_kernels_only():
    for name in BACKENDS:
        if name in {"triton", "vllm-cutlass"}:
            continue
        every = {argument for call in calls(name) for argument in call.arguments}
        cyclic = load_backend(name).traits.cyclic and name != "reference"
        assert bool(every & {"causal_seqs", "causal_seqlens_kv_global", "cp_tot_seqused_k"}) == cyclic
    shard = next(call for call in calls("tokenspeed_mla")).arguments
    assert shard["causal_seqs"].tolist() == [65]
    assert shard["seq_lens"].tolist() == [16]
    assert (shard["cp_world"], shard["cp_rank"]) == (4, 3)


def test_parameters_that_a_function_needs_or_does_not_take():
    assert unbound(("a", "b=1", "*rest"), {"a"}) is None
    assert unbound(("a", "b=1"), ("a", "c", "d")) == "takes no c, d"
    assert unbound(("a", "b", "c=1"), {"a"}) == "needs b, which the engine does not pass"
    assert unbound(("a", "**options"), {"a", "c"}) is None


def test_the_installed_package_is_read_not_imported(tmp_path, monkeypatch):
    package = tmp_path / "somekernel"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "mla.py").write_text("def decode(query, cache, scale=1.0): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    good = Call("somekernel:mla.decode", {"query": 1, "cache": 2})
    bad = Call("somekernel:mla.decode", {"query": 1, "cache": 2, "enable_dcp": True})
    assert misfit([good]) is None
    assert misfit([good, bad]) == "somekernel.mla.decode takes no enable_dcp"
    assert misfit([Call("nowhere_at_all:mla.decode", {"x": 1})]) is None
