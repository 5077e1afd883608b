"""The contract: the plain kernel passes it, and each planted fault is caught by its own row."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the decode check itself needs it")

import planted_faults as faults  # noqa: E402

from mlacheck.decode import decode_check, trial  # noqa: E402
from mlacheck.decode.backend import load_backend  # noqa: E402
from mlacheck.decode.backends.plain import Plain  # noqa: E402
from mlacheck.decode.check import Contract  # noqa: E402
from mlacheck.decode.contract import GRAPH, TIME, row_names  # noqa: E402
from mlacheck.decode.convention import Convention  # noqa: E402
from mlacheck.decode.problem import DecodeProblem  # noqa: E402
from mlacheck.decode.requirements import Gpu, Requirements, missing, wrong_gpu  # noqa: E402

torch.set_num_threads(1)  # small matrices, and other processes share the cores
CPU = torch.device("cpu")
# CI runs some of them; the whole number was run when limits or inputs last changed.
RANDOM = int(os.environ.get("MLACHECK_RANDOM_PROBLEMS", "16"))
PROBLEM = DecodeProblem(
    heads=2,
    latent_dim=512,
    rope_dim=64,
    softmax_scale=0.135234,
    dcp_size=4,
    page_size=16,
    q_len=2,
    context_lengths=(120, 65),
)
# With room for several rounds of runs.
RUNS = PROBLEM.with_(context_lengths=(600, 65))
# What a rank's kernel does wrong shows in these too.
EVERYWHERE = {
    "rank output",
    "rank lse",
    "merged",
    "ragged lengths",
    "empty ranks",
    "page table",
    "padding",
    "causal mask",
}
# Rows that a CPU cannot have.
ON_A_GPU = {GRAPH, TIME}


def states(backend, problem=PROBLEM, convention=Convention()):  # noqa: B008 - frozen
    rows = Contract(problem, backend, None, CPU, convention).rows()
    return {row.name: row for row in rows if row.needed}


def bad(rows):
    return {name for name, row in rows.items() if row.state in {"fails", "wrong"}}


class Fp8Queries(Plain):
    """Rounds queries to FP8 with an FP8 cache, as the kernels for SM100 want them."""

    traits = replace(Plain.traits, fp8_queries=True, scales="one")


def test_the_plain_kernel_passes_every_row():
    rows = states(Plain(), PROBLEM.with_(kv_dtype="fp8_e4m3", long_context=3001))
    names = row_names(PROBLEM.with_(kv_dtype="fp8_e4m3", long_context=3001))
    assert list(rows) == [name for name in names if name not in ON_A_GPU]
    assert {row.state for row in rows.values()} == {"passes"}
    assert "causal mask" in rows
    assert "kv scales" in rows
    assert rows["long context"].margin > 2
    assert "LSE -inf, output zero" in rows["empty ranks"].detail


@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8_e4m3"])
def test_a_kernel_that_only_nan_behind_the_last_token_disturbs_passes_and_is_told(kv_dtype):
    row = states(faults.ReadsPadding(), PROBLEM.with_(kv_dtype=kv_dtype))["padding"]
    assert row.state == "passes"
    assert "NaN there, which a request that decoded to NaN leaves, reaches the output" in row.detail
    assert "NaN" not in states(Plain())["padding"].detail


def test_base_2_passes_where_it_is_documented():
    rows = states(faults.GivesBase2())
    assert not bad(rows)
    assert rows["lse base"].measured == "2"


# Fault, the row meant for it, and rows that must not blame it.
PLANTED = [
    (faults.WrongBase, "lse base", {"rank output", "rank lse", "page table", "padding", "ragged lengths"}),
    (faults.WrongBase, "merged", {"one-rank decode"}),
    (faults.NoLse, "lse returned", {"one-rank decode", "rank output"}),
    (faults.NanLse, "lse returned", {"one-rank decode", "rank output"}),
    (faults.DroppedRank, "merged", {"one-rank decode", "rank output"}),
    (faults.SwappedOutputs, "rank output", {"one-rank decode", "lse base", "rank lse"}),
    (faults.GlobalLength, "rank output", {"one-rank decode"}),
    (faults.FloorLength, "ragged lengths", {"one-rank decode", "rank output", "rank lse"}),
    (faults.RankZeroLength, "empty ranks", {"one-rank decode", "rank output", "rank lse"}),
    (faults.WrongScale, "one-rank decode", set()),
    (faults.ShiftedTable, "page table", set()),
    (faults.ContiguousTable, "page table", {"one-rank decode", *EVERYWHERE} - {"page table"}),
    (faults.CountsPadding, "padding", {"one-rank decode", *EVERYWHERE} - {"padding"}),
    (faults.UntouchedOutput, "empty ranks", {"one-rank decode", *EVERYWHERE} - {"empty ranks"}),
    (faults.FiniteEmpty, "empty ranks", {"one-rank decode", *EVERYWHERE} - {"empty ranks"}),
    (faults.LocalBound, "causal mask", {"one-rank decode", *EVERYWHERE} - {"causal mask"}),
    (faults.PlainMask, "causal mask", {"one-rank decode", *EVERYWHERE} - {"causal mask"}),
    (faults.OffByOneMask, "causal mask", {"one-rank decode", *EVERYWHERE} - {"causal mask"}),
    (faults.OneHeadOff, "rank output", {"lse base", "rank lse"}),
    (faults.WrongShape, "rank output", {"one-rank decode"}),
]
# Those that every KV dtype must show.
EVERY_DTYPE = [
    (fault, row, innocent)
    for fault, row, innocent in PLANTED
    if fault not in {faults.FloorLength, faults.RankZeroLength, faults.OneHeadOff, faults.WrongShape}
]


@pytest.mark.parametrize(("fault", "row", "innocent"), PLANTED)
def test_planted_faults_are_caught_by_their_row(fault, row, innocent):
    found = bad(states(fault()))
    assert row in found
    assert not found & innocent


@pytest.mark.parametrize("kv_dtype", ["fp32", "fp16", "fp8_e4m3", "fp8_e5m2", "fp8 queries"])
@pytest.mark.parametrize(("fault", "row", "innocent"), EVERY_DTYPE)
def test_planted_faults_are_caught_on_every_dtype(fault, row, innocent, kv_dtype):
    inner = Fp8Queries() if kv_dtype == "fp8 queries" else Plain()
    problem = PROBLEM.with_(kv_dtype="fp8_e4m3" if kv_dtype == "fp8 queries" else kv_dtype)
    found = bad(states(fault(inner), problem))
    assert row in found
    assert not found & innocent


def test_swapped_ranks_show_in_each_rank_though_the_merge_is_right(monkeypatch):
    make_shard = trial.make_shard

    def swapped(problem, inputs, *, dcp_size, rank, **options):
        other = {0: 1, 1: 0}.get(rank, rank) if dcp_size > 1 else rank
        return make_shard(problem, inputs, dcp_size=dcp_size, rank=other, **options)

    monkeypatch.setattr(trial, "make_shard", swapped)
    found = bad(states(Plain(), PROBLEM.with_(q_len=1)))
    assert {"rank output", "rank lse"} <= found
    assert "merged" not in found


@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8_e4m3"])
@pytest.mark.parametrize("q_len", [1, 4])
@pytest.mark.parametrize("interleave", [2, 16, 64])
def test_runs_of_tokens_are_no_fault(interleave, q_len, kv_dtype):
    rows = states(Plain(), RUNS.with_(interleave=interleave, q_len=q_len, kv_dtype=kv_dtype))
    assert {row.state for row in rows.values()} == {"passes"}
    assert "LSE -inf, output zero" in rows["empty ranks"].detail


# Fault, the rows meant for it, and rows that must not blame it.
OF_RUNS = [
    (faults.CyclicLength, {"ragged lengths", "page table"}, {"one-rank decode", "rank output"}),
    (faults.CyclicBound, {"causal mask"}, {"one-rank decode", *EVERYWHERE} - {"causal mask"}),
    (faults.CyclicBoundAlways, {"ragged lengths", "causal mask"}, {"one-rank decode", "rank output"}),
    (faults.GivesBase2, set(), EVERYWHERE),
    (faults.WrongBase, {"lse base", "merged"}, {"one-rank decode", "rank output"}),
]


@pytest.mark.parametrize("interleave", [2, 16])
@pytest.mark.parametrize(("fault", "rows", "innocent"), OF_RUNS)
def test_faults_about_runs_are_caught_by_their_rows(fault, rows, innocent, interleave):
    problem = RUNS.with_(interleave=interleave, q_len=4)
    found = bad(states(fault(), problem))
    assert rows <= found
    assert not found & innocent
    if fault in {faults.CyclicLength, faults.CyclicBound, faults.CyclicBoundAlways}:
        assert not bad(states(fault(), problem.with_(interleave=1)))


def test_tokens_laid_out_in_other_runs_show_in_each_rank_though_the_merge_is_right(monkeypatch):
    make_shard = trial.make_shard

    def cyclic(problem, inputs, **options):
        return make_shard(problem.with_(interleave=1), inputs, **options)

    monkeypatch.setattr(trial, "make_shard", cyclic)
    found = bad(states(Plain(), RUNS.with_(interleave=16)))
    assert {"rank output", "rank lse"} <= found
    assert "merged" not in found


def test_an_lse_of_16_bits_costs_the_merge_its_exactness():
    rows = states(faults.HalfLse())
    assert not bad(rows)
    assert "in 16 bits" in rows["rank lse"].detail
    exact = states(Plain())
    assert rows["merged"].measured > 2 * exact["merged"].measured
    assert rows["rank lse"].measured > exact["rank lse"].limit
    # What it must not hide, each in the row that is left for it.
    assert "lse base" in bad(states(faults.HalfLse(faults.WrongBase())))
    assert {"lse returned", "rank lse"} <= bad(states(faults.HalfLse(faults.DroppedRank())))
    assert "rank output" in bad(states(faults.HalfLse(faults.GlobalLength())))


@pytest.mark.parametrize("comm", ["ag_rs", "a2a"])
@pytest.mark.parametrize("base", ["e", "2"])
def test_an_engine_that_sums_in_16_bits_is_no_fault(base, comm):
    kernel = faults.GivesBase2() if base == "2" else Plain()
    convention = Convention(lse_base=base, empty_ranks="forced", sums="output", comm=comm)
    assert not bad(states(kernel, PROBLEM, convention))
    wrong = Convention(lse_base="e" if base == "2" else "2", empty_ranks="forced", sums="output", comm=comm)
    assert {"lse base", "merged"} <= bad(states(kernel, PROBLEM, wrong))


@pytest.mark.parametrize("kernel", [Plain, Fp8Queries])
@pytest.mark.parametrize("kv_dtype", ["fp8_e4m3", "fp8_e5m2"])
def test_ignored_fp8_scales(kernel, kv_dtype):
    found = bad(states(faults.IgnoresScales(kernel()), PROBLEM.with_(kv_dtype=kv_dtype)))
    assert found == {"kv scales"}


def test_an_empty_rank_that_says_plus_infinity_needs_a_merge_that_treats_it():
    assert not bad(states(faults.PlusInfinity()))
    rows = states(faults.PlusInfinity(), convention=Convention(empty_ranks="as-is"))
    assert bad(rows) == {"empty ranks"}
    assert "LSE +inf, output finite up to 3" in rows["empty ranks"].detail
    assert "does not survive" in rows["empty ranks"].detail


@pytest.mark.parametrize("empty_ranks", ["lengths", "forced"])
@pytest.mark.parametrize("interleave", [1, 16])
@pytest.mark.parametrize("fault", [faults.PlusInfinity, faults.UntouchedOutput, faults.FiniteEmpty])
def test_an_engine_that_clears_empty_ranks_by_length_survives_anything(fault, interleave, empty_ranks):
    problem = PROBLEM.with_(q_len=1, interleave=interleave)
    assert not bad(states(fault(), problem, Convention(empty_ranks=empty_ranks)))
    # The same ranks, not cleared; one that says 0 nats weighs next to nothing beside a run of tokens.
    if fault is faults.UntouchedOutput or (fault is faults.FiniteEmpty and interleave == 1):
        assert bad(states(fault(), problem)) == {"empty ranks"}


def test_a_kernel_without_a_cyclic_bound_shows_how_far_its_own_mask_is_off():
    class Local(Plain):
        traits = replace(Plain.traits, cyclic=False)

    convention = Convention(engine="sglang 0.5.18", backend="flashinfer", several="verifies elsewhere")
    rows = states(faults.PlainMask(Local()), convention=convention)
    row = rows["causal mask"]
    assert row.state == "unsupported by the kernel"
    assert row.measured > 5 * row.limit
    assert "off by" in row.detail
    assert row.detail.endswith("sglang 0.5.18 with flashinfer verifies elsewhere")
    # One rank holds everything, so that the kernel's own mask is right.
    assert states(Local(), PROBLEM.with_(dcp_size=1))["causal mask"].state == "passes"


def test_an_engine_that_never_merges():
    convention = Convention(engine="sglang 0.5.18", backend="fa3", never_merges="it asks for no LSE")
    rows = states(faults.UntouchedOutput(), convention=convention)
    assert rows["merged"].state == "not run"
    assert rows["merged"].detail == "sglang 0.5.18 with fa3 merges nothing: it asks for no LSE"
    assert rows["empty ranks"].state == "passes"


def test_a_kernel_with_one_scale_or_none():
    class One(Plain):
        traits = replace(Plain.traits, scales="one")

    class Without(Plain):
        traits = replace(Plain.traits, scales="none")

    problem = PROBLEM.with_(kv_dtype="fp8_e4m3", q_len=1)
    assert "rope scale 0.37" in states(One(), problem)["kv scales"].detail
    assert "kv scales" not in states(Without(), problem)


def test_the_engine_that_merges_in_the_other_base():
    rows = states(faults.GivesBase2(), convention=Convention(lse_base="e"))
    assert bad(rows) == {"lse base", "merged", "empty ranks"}
    assert "the engine merges in base e" in rows["lse base"].detail
    assert rows["merged"].measured > 5 * rows["merged"].limit


def test_a_kernel_that_raises_gives_its_first_line():
    rows = states(faults.Raises())
    assert rows["runs"].state == "passes"
    assert rows["merged"].state == "fails"
    assert rows["merged"].detail == "RuntimeError: no kernel image is available"


def test_one_rank_has_no_rows_about_ranks():
    rows = states(Plain(), PROBLEM.with_(dcp_size=1, q_len=1, page_size=1))
    assert list(rows) == ["runs", "one-rank decode", "page table"]
    assert not bad(rows)


def test_a_kernel_that_cannot_take_the_problem():
    class Picky(Plain):
        def unsupported(self, problem, gpu):  # noqa: ARG002
            return "latent 512 only" if problem.latent_dim == 512 else None

    rows = states(Picky())
    assert rows["runs"].state == "unsupported by the kernel"
    assert {row.state for name, row in rows.items() if name != "runs"} == {"not run"}


def random_problem(seed):
    draw = random.Random(seed)  # noqa: S311 - sizes of test problems
    return DecodeProblem(
        heads=draw.choice((1, 3, 4)),
        latent_dim=draw.choice((64, 256, 512)),
        rope_dim=draw.choice((16, 64)),
        softmax_scale=draw.choice((192**-0.5, 0.135234)),
        page_size=draw.choice((1, 2, 32, 64)),
        kv_dtype=draw.choice(("bf16", "fp16", "fp32", "fp8_e4m3", "fp8_e5m2")),
        q_len=draw.choice((1, 2, 4)),
        dcp_size=draw.choice((1, 2, 3, 4, 8)),
        context_lengths=tuple(draw.randint(1, 400) for _ in range(draw.randint(1, 4))),
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(RANDOM))
def test_random_problems_without_a_fault_pass(seed):
    rows = states(Plain(), random_problem(seed))
    assert not {name: row for name, row in rows.items() if row.state != "passes"}


def test_the_whole_check_through_the_child_process():
    config = {"num_attention_heads": 16, "kv_lora_rank": 64, "qk_rope_head_dim": 16, "qk_nope_head_dim": 32}
    told: list[str] = []
    report = decode_check(
        config,
        backend="reference",
        tp_size=8,
        dcp_size=4,
        page_size=4,
        batch=1,
        device="cpu",
        on_progress=told.append,
    )
    assert report.ok
    assert report.device == "cpu"
    assert "merged" in {row.name for row in report.rows}
    assert any("decoding on cpu" in text for text in told)
    elsewhere = decode_check(config, backend="reference", device="cpu", target_sm=100)
    assert elsewhere.rows[0].state == "not run"
    assert "the target has SM100, this machine has no GPU" in elsewhere.rows[0].detail


H200, B200 = Gpu("H200", 90), Gpu("B200", 100)


@pytest.mark.parametrize(
    ("name", "gpu", "changes", "words"),
    [
        ("flashinfer-fa3", Gpu("A100", 80), {}, "fa3 needs SM90"),
        ("flashinfer-fa2", H200, {"kv_dtype": "fp8_e4m3"}, "FP8 KV needs fa3"),
        ("flashinfer", Gpu("A100", 80), {"kv_dtype": "fp8_e4m3"}, "FP8 KV needs fa3"),
        ("flashinfer", H200, {"kv_dtype": "fp8_e5m2"}, "e4m3"),
        ("flashinfer", H200, {"kv_dtype": "fp32"}, "not fp32"),
        ("flashinfer", H200, {}, None),
        ("flashinfer", H200, {"kv_dtype": "fp8_e4m3"}, None),
        ("flashmla", H200, {}, "pages of 64 tokens, not 16"),
        ("flashmla", H200, {"page_size": 64, "latent_dim": 256}, "latent 512"),
        ("flashmla", H200, {"page_size": 64, "kv_dtype": "fp8_e5m2"}, "not fp8_e5m2"),
        ("flashmla", H200, {"page_size": 64}, None),
        ("trtllm_mla", B200, {"page_size": 1}, "pages of 32 or 64"),
        ("trtllm_mla", B200, {"page_size": 64, "heads": 256}, None),
        ("cutedsl_mla", B200, {"page_size": 64, "heads": 256}, "at most 128 heads, not 256"),
        ("cutedsl_mla", B200, {"page_size": 32}, None),
        ("tokenspeed_mla", B200, {"page_size": 128}, "pages of 32 or 64"),
        ("tokenspeed_mla", B200, {"page_size": 64, "kv_dtype": "fp32"}, "not fp32"),
        ("fa3", H200, {"kv_dtype": "fp8_e5m2"}, "not fp8_e5m2"),
        ("triton", H200, {}, "pages of 1, not 16"),
        ("triton", H200, {"page_size": 1}, None),
    ],
)
def test_what_kernels_do_not_take(name, gpu, changes, words):
    reason = load_backend(name).unsupported(PROBLEM.with_(**changes), gpu)
    assert (words in reason) if words else reason is None


@pytest.mark.parametrize(
    ("name", "gpu", "words"),
    [
        ("flashinfer", Gpu("T4", 75), "needs SM80 or newer, T4 has SM75"),
        ("flashmla", B200, "needs SM90, B200 has SM100; run the check on such a GPU"),
        ("trtllm_mla", H200, "needs SM100 or SM103, H200 has SM90"),
        ("cutedsl_mla", Gpu("RTX 5090", 120), "needs SM100 or SM103"),
        ("tokenspeed_mla", None, "there is no GPU here"),
        ("flashmla", H200, None),
        ("reference", None, None),
    ],
)
def test_which_gpus_kernels_need(name, gpu, words):
    reason = wrong_gpu(load_backend(name).requirements, gpu)
    assert (words in reason) if words else reason is None


def test_a_wrong_gpu_is_told_before_anything_is_loaded():
    class Loads(Plain):
        requirements = Requirements(("torch",), sms=(100,))

        def decode(self, shard):  # noqa: ARG002
            raise AssertionError("the kernel was called")

    contract = Contract(PROBLEM, Loads(), H200, CPU, Convention())
    rows = {row.name: row for row in contract.rows()}
    assert rows["runs"].state == "unsupported by the kernel"
    assert "needs SM100" in rows["runs"].detail


def test_missing_requirements_name_the_next_step():
    requirements = load_backend("flashinfer").requirements
    reason = missing(requirements, None)
    assert "flashinfer-python is not installed; pip install" in reason or "no CUDA GPU" in reason
