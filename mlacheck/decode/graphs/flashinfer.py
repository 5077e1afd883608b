"""FlashInfer's wrapper in graph mode: planned before each replay, into buffers that the graph reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from mlacheck.decode.backend import Decoded
from mlacheck.decode.graphs.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode.backends.flashinfer import FlashInfer
    from mlacheck.decode.pages import Shard


class StagedFlashInfer:
    """One wrapper with `use_cuda_graph`, as SGLang makes one for each batch size."""

    def __init__(self, backend: FlashInfer, shards: Sequence[Shard]) -> None:
        from flashinfer.mla import BatchMLAPagedAttentionWrapper

        self.pool = Pool(shards)
        self._adapter = backend
        pool, device = self.pool, self.pool.cache.device
        batch = len(pool.lengths)
        make, _, run = backend.calls(shards[0])
        room = {
            name: torch.zeros(size, dtype=torch.int32, device=device)
            for name, size in (
                ("qo_indptr", batch + 1),
                ("kv_indptr", batch + 1),
                ("kv_indices", len(pool.cache)),
                ("kv_len_arr", batch),
            )
        }
        self._wrapper = BatchMLAPagedAttentionWrapper(**make.arguments, use_cuda_graph=True, **room)
        latent = shards[0].q_latent.shape[-1]
        self._run: dict[str, Any] = run.arguments | {
            "q_nope": pool.q_latent.flatten(0, 1),
            "q_pe": pool.q_rope.flatten(0, 1),
            "ckv_cache": pool.cache[..., :latent],
            "kpe_cache": pool.cache[..., latent:],
        }
        self._shape = pool.q_latent.shape

    def stage(self, shard: Shard) -> None:
        """Copy tensors and plan."""
        self.pool.put_tensors(shard)
        self._run["out"].fill_(float("nan"))
        self.plan(shard)

    def plan(self, shard: Shard) -> None:
        """Plan, which fills the wrapper's buffers."""
        _, plan, _ = self._adapter.calls(shard)
        self._wrapper.plan(**plan.arguments)

    def launch(self) -> Decoded:
        """Run; LSE in base 2."""
        out, lse = self._wrapper.run(**self._run)
        return Decoded(out.view(self._shape), lse.view(self._shape[:-1]), "2")
