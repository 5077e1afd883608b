"""The kernels of vLLM's wheel under a graph, with what their metadata builders do before each replay."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call
from mlacheck.decode.graphs.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode.backend import Decoded
    from mlacheck.decode.backends.vllm_fa3 import VllmFa3
    from mlacheck.decode.backends.vllm_flashmla import VllmFlashMla
    from mlacheck.decode.backends.vllm_triton import VllmTriton
    from mlacheck.decode.pages import Shard

# The engine's default bound on KV splits of a captured FlashAttention 3.
_SPLITS: Final = 32
_SLOTS: Final = 4


class StagedVllmFlashMla:
    """FlashMLA; its schedule is made on the GPU, inside the graph."""

    def __init__(self, backend: VllmFlashMla, shards: Sequence[Shard]) -> None:
        self.pool = Pool(shards)
        self._adapter = backend
        calls = backend.calls(shards[0])
        self._query = torch.zeros_like(calls[-1].arguments["q"])
        fixed = {
            "q": self._query,
            "k_cache": self.pool.cache.unsqueeze(2),
            "block_table": self.pool.page_table,
            "cache_seqlens": self.pool.lengths,
        }
        self._calls = tuple(
            Call(call.function, {name: fixed.get(name, value) for name, value in call.arguments.items()})
            for call in calls
        )

    def stage(self, shard: Shard) -> None:
        """Copy everything."""
        self.pool.put_tensors(shard)
        self.pool.put_metadata(shard)
        self._query.copy_(self._adapter.calls(shard)[-1].arguments["q"])

    def launch(self) -> Decoded:
        """Schedule and run; LSE in nats."""
        return self._adapter.run(self._calls)


class StagedVllmFa3:
    """FlashAttention 3; each replay gets a new schedule, copied to where the graph reads it."""

    def __init__(self, backend: VllmFa3, shards: Sequence[Shard]) -> None:
        self.pool = pool = Pool(shards)
        self._adapter = backend
        self._most = max(backend.calls(shard)[1].arguments["max_seqlen_k"] for shard in shards)
        run = backend.calls(shards[0])[1].arguments
        batch, latent = len(pool.lengths), pool.q_latent.shape[-1]
        slots = -(batch // -_SLOTS) * _SLOTS
        self._metadata = torch.zeros(1 + slots * _SLOTS, dtype=torch.int32, device=pool.cache.device)
        self._tokens = torch.zeros_like(pool.lengths)
        self._run: dict[str, Any] = run | {
            "q": pool.q_rope.flatten(0, 1),
            "k": pool.cache[..., latent:].unsqueeze(-2),
            "v": pool.cache[..., :latent].unsqueeze(-2),
            "q_v": pool.q_latent.flatten(0, 1),
            "seqused_k": pool.lengths,
            "block_table": pool.page_table,
            "max_seqlen_k": self._most,
            "scheduler_metadata": self._metadata,
            "num_splits": _SPLITS,
        }
        if run["cp_tot_seqused_k"] is not None:
            self._run["cp_tot_seqused_k"] = self._tokens

    def stage(self, shard: Shard) -> None:
        """Copy tensors and the schedule."""
        self.pool.put_tensors(shard)
        self.pool.put_metadata(shard)
        self._tokens.copy_(torch.tensor(shard.global_lengths, dtype=torch.int32))
        call = self._adapter.calls(shard)[0]
        library = import_module(f"vllm.{call.function.partition(':')[2].rpartition('.')[0]}")
        given = {"max_seqlen_k": self._most, "num_splits": _SPLITS}
        made = library.get_scheduler_metadata(**call.arguments | given)
        self._metadata.zero_()
        self._metadata[: len(made)].copy_(made)
        self._run["scheduler_metadata"] = self._metadata[: len(made)]

    def launch(self) -> Decoded:
        """Run; LSE in nats."""
        return self._adapter.run(self._run, self.pool.q_latent.shape)


class StagedVllmTriton:
    """The Triton decode; the number of KV splits is that of the longest context."""

    def __init__(self, backend: VllmTriton, shards: Sequence[Shard]) -> None:
        self.pool = pool = Pool(shards)
        self._adapter = backend
        calls = [backend.calls(shard)[0].arguments for shard in shards]
        widest = max(calls, key=lambda arguments: int(arguments["num_kv_splits"]))
        self._query = torch.zeros_like(widest["q"])
        keys = pool.cache.unsqueeze(2)
        self._run: dict[str, Any] = widest | {
            "q": self._query,
            "k_buffer": keys,
            "v_buffer": keys[..., : pool.q_latent.shape[-1]],
            "req_to_token": pool.page_table,
            "b_seq_len": pool.lengths,
        }

    def stage(self, shard: Shard) -> None:
        """Copy everything."""
        self.pool.put_tensors(shard)
        self.pool.put_metadata(shard)
        self._query.copy_(self._adapter.calls(shard)[0].arguments["q"])

    def launch(self) -> Decoded:
        """Clear the results and run; LSE in nats."""
        self._run["o"].zero_()
        self._run["lse"].zero_()
        return self._adapter.run(self._run, self.pool.q_latent.shape)
