"""The plain decode with lengths on the device: one masked softmax over the widest page table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mlacheck.decode.backend import Decoded
from mlacheck.decode.graphs.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode.backend import Backend
    from mlacheck.decode.pages import Shard


class StagedPlain:
    """Decodes one query token a request."""

    def __init__(self, backend: Backend, shards: Sequence[Shard]) -> None:  # noqa: ARG002 - one form for all
        self.pool = Pool(shards)
        self._scale = shards[0].softmax_scale
        self._scales = (shards[0].latent_scale, shards[0].rope_scale)

    def stage(self, shard: Shard) -> None:
        """Copy everything."""
        self.pool.put_tensors(shard)
        self.pool.put_metadata(shard)

    def launch(self) -> Decoded:
        """Decode what the pool holds; LSE in nats."""
        pool = self.pool
        latent_dim = pool.q_latent.shape[-1]
        stored = pool.cache.float()[pool.page_table.long()].flatten(1, 2)
        places = torch.arange(stored.shape[1], device=stored.device)
        seen = places[None, :] < pool.lengths[:, None]
        stored = torch.where(seen.unsqueeze(-1), stored, 0.0)
        latent = stored[..., :latent_dim] * self._scales[0]
        rope = stored[..., latent_dim:] * self._scales[1]
        scores = torch.einsum("bqhd,bnd->bqhn", pool.q_latent.float(), latent)
        scores = (scores + torch.einsum("bqhd,bnd->bqhn", pool.q_rope.float(), rope)) * self._scale
        scores = scores.masked_fill(~seen[:, None, None, :], float("-inf"))
        lse = torch.logsumexp(scores, -1)
        weights = torch.exp(scores - torch.where(lse == float("-inf"), 0.0, lse).unsqueeze(-1))
        out = torch.einsum("bqhn,bnd->bqhd", weights, latent)
        return Decoded(out.to(pool.q_latent.dtype), lse, "e")
