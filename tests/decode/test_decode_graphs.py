"""Capture and replay, with launches called again in place of a CUDA graph."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the decode check itself needs it")

from mlacheck.decode.backends.plain import Plain  # noqa: E402
from mlacheck.decode.graphs import trial  # noqa: E402
from mlacheck.decode.graphs.plain import StagedPlain  # noqa: E402
from mlacheck.decode.limits import limit_for  # noqa: E402
from mlacheck.decode.problem import DecodeProblem  # noqa: E402

CPU = torch.device("cpu")
PROBLEM = DecodeProblem(
    heads=2,
    latent_dim=512,
    rope_dim=64,
    softmax_scale=0.135234,
    dcp_size=4,
    page_size=16,
    context_lengths=(120, 65),
)


class Again:
    """Calls the launch again: all that it reads is read anew, as the graph reads its buffers."""

    def capture(self, launch):
        self._launch = launch
        self._launch()

    def replay(self):
        return self._launch()


class Frozen(StagedPlain):
    """Keeps something of the shard that it was captured with."""

    staged = False

    def stage(self, shard):
        if self.staged:
            self.again(shard)
        else:
            super().stage(shard)
        self.staged = True


class FrozenLengths(Frozen):
    def again(self, shard):
        lengths = self.pool.lengths.clone()
        super(Frozen, self).stage(shard)
        self.pool.lengths.copy_(lengths)


class FrozenTable(Frozen):
    def again(self, shard):
        table = self.pool.page_table.clone()
        super(Frozen, self).stage(shard)
        self.pool.page_table.copy_(table)


class FrozenMetadata(Frozen):
    def again(self, shard):
        self.pool.put_tensors(shard)


class FrozenQueries(Frozen):
    def again(self, shard):
        queries = self.pool.q_latent.clone()
        super(Frozen, self).stage(shard)
        self.pool.q_latent.copy_(queries)


@pytest.mark.parametrize("dcp_size", [1, 2, 4])
@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8_e4m3"])
def test_replays_give_what_the_lengths_of_each_ask_for(dcp_size, kv_dtype):
    errors = trial.measure_replays(Plain(), PROBLEM.with_(dcp_size=dcp_size, kv_dtype=kv_dtype), CPU, Again())
    assert 0 < errors["output"] < limit_for("output", kv_dtype).limit
    assert errors["lse"] < limit_for("lse", kv_dtype).limit


@pytest.mark.parametrize("fault", [FrozenLengths, FrozenTable, FrozenMetadata, FrozenQueries])
@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8_e4m3"])
def test_stale_metadata_is_far_off(monkeypatch, fault, kv_dtype):
    monkeypatch.setattr(trial, "staged_form", fault)
    errors = trial.measure_replays(Plain(), PROBLEM.with_(kv_dtype=kv_dtype), CPU, Again())
    assert max(errors["output"] / limit_for("output", kv_dtype).limit, errors["lse"]) > 10


def test_all_lengths_differ_and_a_rank_is_empty_once():
    captured, *replays = trial.graph_lengths(PROBLEM)
    assert set(captured) == {4}
    assert len({captured, *replays}) == 4
    assert any(min(lengths) == 1 for lengths in replays)
    assert {len(lengths) for lengths in (captured, *replays)} == {PROBLEM.batch}


def test_an_adapter_without_a_graph_form():
    class Unknown:
        traits = Plain.traits

    assert trial.measure_replays(Unknown(), PROBLEM, CPU, Again()) is None


def test_time_and_bytes_of_a_shape():
    seconds, read = trial.replay_seconds(Plain(), PROBLEM, CPU, Again())
    assert seconds > 0
    assert read == (30 + 17) * (512 + 64) * 2
