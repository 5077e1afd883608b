"""The contract: the plain kernel passes it, and each planted fault is caught by its own row."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the decode check itself needs it")

import planted_faults as faults  # noqa: E402

from mlacheck.decode import decode_check, trial  # noqa: E402
from mlacheck.decode.backend import Gpu, load_backend, missing  # noqa: E402
from mlacheck.decode.backends.plain import Plain  # noqa: E402
from mlacheck.decode.check import Contract  # noqa: E402
from mlacheck.decode.contract import row_names  # noqa: E402
from mlacheck.decode.problem import DecodeProblem  # noqa: E402
from mlacheck.decode.trial import Convention  # noqa: E402

torch.set_num_threads(1)  # small matrices, and other processes share the cores
CPU = torch.device("cpu")
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


def states(backend, problem=PROBLEM, convention=Convention()):  # noqa: B008 - frozen
    return {row.name: row for row in Contract(problem, backend, None, CPU, convention).rows()}


def bad(rows):
    return {name for name, row in rows.items() if row.state in {"fails", "wrong"}}


def test_the_plain_kernel_passes_every_row():
    rows = states(Plain(), PROBLEM.with_(kv_dtype="fp8_e4m3", long_context=3001))
    assert list(rows) == list(row_names(PROBLEM.with_(kv_dtype="fp8_e4m3", long_context=3001)))
    assert {row.state for row in rows.values()} == {"passes"}
    assert "causal mask" in rows
    assert "kv scales" in rows
    assert rows["long context"].margin > 2
    assert rows["empty ranks"].detail.endswith("LSE -inf, output up to 0")


def test_base_2_passes_where_it_is_documented():
    rows = states(faults.GivesBase2())
    assert not bad(rows)
    assert rows["lse base"].measured == "2"


# Fault, the row meant for it, and rows that must not blame it.
PLANTED = [
    (faults.SaysBase2, "lse base", {"rank output", "rank lse", "page table", "padding", "ragged lengths"}),
    (faults.SaysBase2, "merged", {"one-rank decode"}),
    (faults.NoLse, "lse returned", {"one-rank decode", "rank output"}),
    (faults.NanLse, "lse returned", {"one-rank decode", "rank output"}),
    (faults.DroppedRank, "merged", {"one-rank decode", "rank output"}),
    (faults.SwappedOutputs, "rank output", {"one-rank decode", "lse base", "rank lse"}),
    (faults.GlobalLength, "rank output", {"one-rank decode"}),
    (faults.FloorLength, "ragged lengths", {"one-rank decode", "rank output", "rank lse"}),
    (faults.RankZeroLength, "empty ranks", {"one-rank decode", "rank output", "rank lse"}),
    (faults.WrongScale, "one-rank decode", set()),
    (faults.ShiftedTable, "rank output", set()),
    (faults.ContiguousTable, "page table", {"one-rank decode", *EVERYWHERE} - {"page table"}),
    (faults.ReadsPadding, "padding", {"one-rank decode", *EVERYWHERE} - {"padding"}),
    (faults.UntouchedOutput, "empty ranks", {"one-rank decode", *EVERYWHERE} - {"empty ranks"}),
    (faults.FiniteEmpty, "empty ranks", {"one-rank decode", *EVERYWHERE} - {"empty ranks"}),
    (faults.RankLocalMask, "causal mask", {"one-rank decode", *EVERYWHERE} - {"causal mask"}),
    (faults.OffByOneMask, "causal mask", {"one-rank decode", *EVERYWHERE} - {"causal mask"}),
    (faults.OneHeadOff, "rank output", {"lse base", "rank lse"}),
    (faults.WrongShape, "rank output", {"one-rank decode"}),
]


@pytest.mark.parametrize(("fault", "row", "innocent"), PLANTED)
def test_planted_faults_are_caught_by_their_row(fault, row, innocent):
    found = bad(states(fault()))
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


def test_ignored_fp8_scales():
    found = bad(states(faults.IgnoresScales(), PROBLEM.with_(kv_dtype="fp8_e4m3")))
    assert found == {"kv scales"}


def test_an_empty_rank_that_says_plus_infinity_needs_a_merge_that_treats_it():
    assert not bad(states(faults.PlusInfinity()))
    rows = states(faults.PlusInfinity(), convention=Convention(empty_ranks="as-is"))
    assert bad(rows) == {"empty ranks"}
    assert "LSE inf, output up to 3" in rows["empty ranks"].detail


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


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_without_a_fault_pass(seed):
    draw = random.Random(seed)  # noqa: S311 - sizes of test problems
    problem = DecodeProblem(
        heads=draw.choice((1, 3, 4)),
        latent_dim=draw.choice((64, 256, 512)),
        rope_dim=draw.choice((16, 64)),
        softmax_scale=draw.choice((192**-0.5, 0.135234)),
        page_size=draw.choice((1, 2, 32, 64)),
        kv_dtype=draw.choice(("bf16", "fp16", "fp32", "fp8_e4m3", "fp8_e5m2")),
        q_len=draw.choice((1, 2, 4)),
        dcp_size=draw.choice((2, 3, 4, 8)),
        context_lengths=tuple(draw.randint(1, 400) for _ in range(draw.randint(1, 4))),
        seed=seed,
    )
    rows = states(Plain(), problem)
    wrong = {name: row for name, row in rows.items() if row.state != "passes"}
    assert set(wrong) <= {"lse base"}
    # Where the inputs are too small to tell the base, the row says so instead of passing.
    assert all(row.measured == "undecided" for row in wrong.values())


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


@pytest.mark.parametrize(
    ("name", "gpu", "changes", "words"),
    [
        ("flashinfer-fa3", Gpu("A100", 80), {}, "fa3 needs SM90"),
        ("flashinfer", Gpu("T4", 75), {}, "need SM80"),
        ("flashinfer-fa2", Gpu("H200", 90), {"kv_dtype": "fp8_e4m3"}, "FP8 KV needs fa3"),
        ("flashinfer", Gpu("A100", 80), {"kv_dtype": "fp8_e4m3"}, "FP8 KV needs fa3"),
        ("flashinfer", Gpu("H200", 90), {"kv_dtype": "fp8_e5m2"}, "e4m3"),
        ("flashinfer", Gpu("H200", 90), {"kv_dtype": "fp32"}, "not fp32"),
        ("flashinfer", Gpu("H200", 90), {"q_len": 4}, "rank-local"),
        ("flashinfer", Gpu("H200", 90), {"q_len": 1}, None),
        ("flashinfer", Gpu("H200", 90), {"q_len": 1, "kv_dtype": "fp8_e4m3"}, None),
        ("flashinfer", Gpu("H200", 90), {"q_len": 4, "dcp_size": 1}, None),
    ],
)
def test_what_flashinfer_does_not_take(name, gpu, changes, words):
    reason = load_backend(name).unsupported(PROBLEM.with_(q_len=1).with_(**changes), gpu)
    assert (words in reason) if words else reason is None


def test_missing_requirements_name_the_next_step():
    requirements = load_backend("flashinfer").requirements
    reason = missing(requirements, None)
    assert "flashinfer-python is not installed; pip install" in reason or "no CUDA GPU" in reason
