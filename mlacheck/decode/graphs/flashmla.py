"""FlashMLA under a graph: each replay gets a new schedule, copied to where the graph reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from mlacheck.decode.graphs.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode.backend import Decoded
    from mlacheck.decode.backends.flashmla import FlashMla
    from mlacheck.decode.pages import Shard


class StagedFlashMla:
    """The kernel's call on fixed tensors."""

    def __init__(self, backend: FlashMla, shards: Sequence[Shard]) -> None:
        self.pool = Pool(shards)
        self._adapter = backend
        _, run = backend.calls(shards[0])
        tiles, splits = backend.schedule(shards[0])
        self._tiles, self._splits = tiles.clone(), splits.clone()
        self._query = torch.zeros_like(run.arguments["q"])
        self._run: dict[str, Any] = run.arguments | {
            "q": self._query,
            "k_cache": self.pool.cache.unsqueeze(2),
            "block_table": self.pool.page_table,
            "cache_seqlens": self.pool.lengths,
        }

    def stage(self, shard: Shard) -> None:
        """Copy tensors and the schedule."""
        self.pool.put_tensors(shard)
        self._query.copy_(self._adapter.calls(shard)[1].arguments["q"])
        self.pool.put_metadata(shard)
        self.plan(shard)

    def plan(self, shard: Shard) -> None:
        """Compute the schedule."""
        tiles, splits = self._adapter.schedule(shard)
        self._tiles.copy_(tiles)
        self._splits.copy_(splits)

    def launch(self) -> Decoded:
        """Run; LSE in nats."""
        return self._adapter.run(self._run, self._tiles, self._splits)
