"""A plain torch decode in float32, for any device; planted faults are put into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.layout import local_bound, pages_for
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem


class Plain:
    """Gathers pages and computes one softmax per request, then rounds the output as a kernel would."""

    name = "reference"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base="e", cyclic=True, scales="separate")
    builds = ""

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - takes everything
        """Take every problem."""
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:  # noqa: ARG002 - calls no library
        """Call no library."""
        return ()

    def decode(self, shard: Shard) -> Decoded:
        """Decode one rank's shard; LSE in nats."""
        outputs, lses = [], []
        for request, length in enumerate(shard.lengths):
            output, lse = self._decode_request(shard, request, length)
            outputs.append(output)
            lses.append(lse)
        return Decoded(torch.stack(outputs).to(shard.q_latent.dtype), torch.stack(lses), "e")

    def _decode_request(self, shard: Shard, request: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        q_latent, q_rope = shard.q_latent[request].float(), shard.q_rope[request].float()
        pages = shard.page_table[request, : pages_for(length, shard.page_size)].long()
        width = shard.cache.shape[-1]
        stored = (
            shard.cache.view(torch.uint8)[pages].view(shard.cache.dtype).reshape(-1, width)[:length].float()
        )
        latent = stored[:, : q_latent.shape[-1]] * shard.latent_scale
        rope = stored[:, q_latent.shape[-1] :] * shard.rope_scale
        scores = (q_latent @ latent.T + q_rope @ rope.T) * shard.softmax_scale
        if shard.causal:
            bounds = [
                local_bound(
                    shard.global_lengths[request],
                    len(q_latent),
                    row,
                    shard.dcp_size,
                    shard.dcp_rank,
                    shard.interleave,
                )
                for row in range(len(q_latent))
            ]
            places = torch.arange(length, device=scores.device)
            seen = places[None, :] < torch.tensor(bounds, device=scores.device)[:, None]
            scores = scores.masked_fill(~seen[:, None, :], float("-inf"))
        lse = torch.logsumexp(scores, -1)
        weights = torch.exp(scores - torch.where(lse == float("-inf"), 0.0, lse).unsqueeze(-1))
        return weights @ latent, lse
