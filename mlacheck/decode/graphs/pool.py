"""The tensors that a captured kernel reads, at addresses that never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode.pages import Shard


class Pool:
    """Room for each of some shards; all have the same batch and query length."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        first = shards[0]
        device = first.cache.device
        pages = max(len(shard.cache) for shard in shards)
        self.width = max(shard.page_table.shape[1] for shard in shards)
        self.cache = first.cache.new_zeros(pages, *first.cache.shape[1:])
        self.page_table = torch.zeros(
            len(first.lengths), self.width, dtype=first.page_table.dtype, device=device
        )
        self.lengths = torch.zeros(len(first.lengths), dtype=torch.int32, device=device)
        self.q_latent = torch.zeros_like(first.q_latent)
        self.q_rope = torch.zeros_like(first.q_rope)

    def put_tensors(self, shard: Shard) -> None:
        """Copy a shard's queries and pages."""
        self.q_latent.copy_(shard.q_latent)
        self.q_rope.copy_(shard.q_rope)
        self.cache[: len(shard.cache)].copy_(shard.cache)

    def put_metadata(self, shard: Shard) -> None:
        """Copy a shard's lengths and page table; places beyond its own width keep no page of an older one."""
        self.page_table.zero_()
        self.page_table[:, : shard.page_table.shape[1]].copy_(shard.page_table)
        self.lengths.copy_(torch.tensor(shard.lengths, dtype=torch.int32))
