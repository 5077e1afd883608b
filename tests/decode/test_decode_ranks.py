"""Real ranks: who decodes, the engines' merges, and processes of torchrun over gloo."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the decode check itself needs it")
import torch.distributed as dist  # noqa: E402

from mlacheck.decode.contract import A2A, AG_RS  # noqa: E402
from mlacheck.decode.exchange import WAYS, Manner, combine  # noqa: E402
from mlacheck.decode.merge import merge  # noqa: E402
from mlacheck.decode.ranks import Ranks, ranks_here  # noqa: E402
from mlacheck.decode.roster import Member, choose, unlike  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "::1", "MASTER_PORT": "29500"}


def test_ranks_are_read_from_torchrun():
    assert ranks_here(TORCHRUN) == Ranks(1, 4, 1)
    assert [Ranks(rank, 4, 0).leads for rank in range(2)] == [True, False]
    for changed in ({"MASTER_PORT": None}, {"RANK": None}, {"RANK": "x"}, {"WORLD_SIZE": "1"}, {"RANK": "4"}):
        values = {name: value for name, value in (TORCHRUN | changed).items() if value is not None}
        assert ranks_here(values) is None


@pytest.mark.parametrize(
    ("devices", "dcp_size", "chosen", "words"),
    [
        ("yy", 2, (0, 1), None),
        ("yy", 8, (0, 1), None),
        ("yyyy", 2, (0, 1), None),
        ("yyy", 8, (0, 1), None),
        ("yyyyyy", 12, (0, 1, 2, 3, 4, 5), None),
        ("ynyn", 4, (0, 2), None),  # two nodes with one GPU each and two processes each
        ("yn", 2, (0,), "2 processes were started where 1 GPU is there for them"),
        ("yy", 3, (0,), "DCP 3 cannot be divided among 2 processes"),
        ("yy", 1, (0,), "nothing to merge"),
    ],
)
def test_who_decodes(devices, dcp_size, chosen, words):
    roster = choose([Member(rank, own == "y") for rank, own in enumerate(devices)], dcp_size)
    assert roster.chosen == chosen
    assert (words in roster.alone_because) if words else roster.alone_because is None


def test_processes_that_differ_are_named():
    members = [
        Member(0, True, "H200 with x 1"),
        Member(1, True, "H200 with x 1"),
        Member(2, True, "H100 with x 2"),
    ]
    assert unlike(members, (0, 1)) == ()
    assert unlike(members, (0, 2)) == ("rank 2 has H100 with x 2, rank 0 has H200 with x 1",)


@pytest.fixture(scope="module")
def one_process():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def partials(ranks=4, tokens=3, heads=8):
    generator = torch.Generator().manual_seed(5)
    outputs = torch.randn(ranks, tokens, heads, 32, generator=generator)
    lses = 3 * torch.randn(ranks, tokens, heads, generator=generator)
    return outputs.bfloat16(), lses


@pytest.mark.parametrize("manner", [Manner(), Manner(weightless=True, in_float32=False)])
@pytest.mark.parametrize("base", ["e", "2"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_engines_merges_are_the_merge(one_process, way, base, manner):
    outputs, lses = partials()
    # Ranks with no token, as kernels mark them; request 2 has a token nowhere but on rank 3.
    lses[0, 0], lses[1, 1], lses[:3, 2] = -math.inf, math.inf, math.nan
    want = merge(outputs, lses, lse_base=base)
    got = WAYS[way](outputs, lses, base, one_process, manner)
    assert got.dtype == torch.bfloat16
    assert torch.allclose(got.float(), want, rtol=1e-2, atol=1e-2)
    wrong = WAYS[way](outputs, lses, "2" if base == "e" else "e", one_process, manner)
    assert not torch.allclose(wrong.float(), want, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_nan_in_the_output_of_an_empty_rank_survives_unless_it_is_stopped(one_process, way):
    outputs, lses = partials()
    outputs[2], lses[2] = math.nan, -math.inf
    assert bool(WAYS[way](outputs, lses, "e", one_process, Manner()).isnan().all())
    stopped = WAYS[way](outputs, lses, "e", one_process, Manner(weightless=True))
    want = merge(outputs[[0, 1, 3]], lses[[0, 1, 3]], lse_base="e")
    assert torch.allclose(stopped.float(), want, rtol=1e-2, atol=1e-2)


def test_nothing_anywhere_gives_zero():
    outputs, lses = partials()
    assert not combine(outputs, torch.full_like(lses, -math.inf), "2").any()


# What rank 1 does wrong: its first shard without a token costs it its GPU, its merged heads come in the wrong
# order, and at a shuffled page table it ends itself, or the process that torchrun knows.
CHILD = """
import os, signal, sys, time
import torch
from mlacheck.decode import child, exchange
from mlacheck.decode.backends.plain import Plain

decode, a2a = Plain.decode, exchange.WAYS["all-to-all"]

def dying(self, shard):
    if 0 in shard.lengths and not os.path.exists({mark!r}):
        open({mark!r}, "w").close()
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    if shard.dcp_rank == 1 and not torch.equal(shard.page_table, shard.page_table.sort().values):
        os.kill({victim}, signal.SIGKILL)
        time.sleep(60)
    return decode(self, shard)

if os.environ["RANK"] == "1":
    Plain.decode = dying
    exchange.WAYS["all-to-all"] = lambda *given: a2a(*given).flip(1)
sys.exit(child.main())
"""
SCRIPT = """
import json, sys
from mlacheck.decode import DecodeProblem, run
from mlacheck.decode.ranks import ranks_here

problem = DecodeProblem(heads=4, latent_dim=512, rope_dim=64, softmax_scale=0.135234, dcp_size=2, page_size=4,
                        context_lengths=(120, 65), device="cpu")
good = run(problem.with_(dcp_size={good}).to_dict(), "reference", 60)  # the ranks meet anew for each check
report = run(problem.to_dict(), "reference", 60, command=[sys.executable, "-c", {child!r}])
if ranks_here().leads:
    print(json.dumps([good.to_dict(), report.to_dict()]))
"""


# As in a launch: `-m mlacheck decode-check` for right ranks, a script for wrong ones.
ARGUMENTS = "--backend reference --model deepseek-v3 --dcp-size 4 --tp-size 16 --batch 2 --context-len 66"
VICTIMS = {"itself": "os.getpid()", "parent": "os.getppid()"}
GOOD = {"itself": 2, "parent": 3}  # DCP size of the check before: two processes cannot share three ranks


class Torchrun:
    """Processes that run."""

    def __init__(self, processes, *arguments):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        )

    def report(self):
        """Give the exit status, rank 0's report and what was told on stderr."""
        out, told = self._process.communicate(timeout=100)
        return self._process.returncode, json.loads(out), told


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Start all at once: most of their time goes into importing torch."""
    check = ("-m", "mlacheck", "decode-check", *ARGUMENTS.split(), "--format", "json")
    started = {processes: Torchrun(processes, *check) for processes in (2, 4)}
    for name, victim in VICTIMS.items():
        script = tmp_path_factory.mktemp("script") / "check.py"
        child = CHILD.format(victim=victim, mark=str(script.with_suffix(".mark")))
        script.write_text(SCRIPT.format(child=child, good=GOOD[name]), encoding="utf-8")
        started[name] = Torchrun(2, str(script))
    return {name: one.report() for name, one in started.items()}


@pytest.mark.parametrize(("processes", "held"), [(2, ", each with 2 DCP ranks"), (4, "")])
def test_torchrun_merges_over_gloo(runs, processes, held):
    code, report, told = runs[processes]
    assert code == 0, told
    rows = {row["name"]: row for row in report["rows"] if row["needed"]}
    assert {row["state"] for row in rows.values()} == {"passes"}
    for way in (AG_RS, A2A):
        assert 0 < rows[way]["measured"] < rows[way]["limit"]
        assert rows[way]["detail"].startswith(f"{processes} processes over gloo between CPU processes{held};")
    assert any(line.startswith("ranks are real") for line in report["boundary"])
    assert not any("simulated" in line for line in report["boundary"])


@pytest.mark.parametrize(
    ("name", "words"), [("itself", "rank 1 ended in the middle"), ("parent", "ended by SIGTERM")]
)
def test_a_rank_that_dies_in_the_middle(runs, name, words):
    _, (_, report), told = runs[name]
    states = {row["name"]: row["state"] for row in report["rows"]}
    assert states["empty ranks"] == "fails", told  # a lost GPU; all processes start and meet again
    assert states[AG_RS] == "passes"
    assert states[A2A] == "wrong"
    row = next(row for row in report["rows"] if row["name"] == "page table")
    assert row["state"] == "fails"
    assert words in row["detail"]
    assert states["padding"] == "not run"
    assert report["seconds"] < 40


def test_a_run_checks_more_than_once(runs):
    _, (real, _), _ = runs["itself"]
    assert {row["state"] for row in real["rows"] if row["needed"]} == {"passes"}
    assert any(line.startswith("ranks are real") for line in real["boundary"])


def test_ranks_that_cannot_be_real_are_simulated(runs):
    _, (simulated, _), _ = runs["parent"]
    rows = {row["name"]: row for row in simulated["rows"] if row["needed"]}
    assert {name for name, row in rows.items() if row["state"] != "passes"} == {AG_RS, A2A}
    assert rows[AG_RS]["state"] == "not run"
    assert "DCP 3 cannot be divided among 2 processes" in rows[AG_RS]["detail"]
    assert any("simulated" in line for line in simulated["boundary"])
