"""The decode of tokenspeed-mla for SM10x, which takes the global bound of cyclic shards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_DECODE: Final = "tokenspeed_mla:mla_decode.tokenspeed_mla_decode"
_LEAST_QUERIES: Final = 8


class TokenSpeedMla:
    """Passes what SGLang's `tokenspeed_mla` passes, and with other options what vLLM's passes.

    `runs`: it is told how many tokens go to a rank before the next one's turn.
    """

    name = "tokenspeed_mla"
    requirements = REQUIREMENTS[name]
    builds = "the first call compiles the kernel, which takes 20 s or more"

    def __init__(self, *, lse: bool = True, pdl: bool = True, runs: bool = False) -> None:
        self._lse, self._pdl, self._runs = lse, pdl, runs
        self.traits = Traits(lse_base="2" if lse else None, cyclic=lse, fp8_queries=True, scales="one")
        if not lse:
            self.requirements = replace(self.requirements, least_version="0.1.2")

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        if problem.page_size not in {32, 64}:
            return f"tokenspeed_mla needs pages of 32 or 64 tokens, not {problem.page_size}: --page-size 64"
        if problem.kv_dtype not in {"bf16", "fp16", "fp8_e4m3"}:
            return f"tokenspeed_mla takes bf16, fp16 and fp8_e4m3 caches, not {problem.kv_dtype}"
        if (problem.latent_dim, problem.rope_dim) != (512, 64):
            return f"the kernel needs latent 512 and rope 64, not {problem.latent_dim} and {problem.rope_dim}"
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the decode call."""
        query = torch.cat([shard.q_latent, shard.q_rope], -1)
        _, q_len, heads, latent = shard.q_latent.shape
        device = query.device
        processors = (
            torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
        )
        size = processors * heads * max(q_len, _LEAST_QUERIES) * (latent + 1) * 4
        fp8 = shard.cache.dtype == torch.float8_e4m3fn
        arguments: dict[str, Any] = {
            "query": query.to(shard.cache.dtype) if fp8 else query,
            "kv_cache": shard.cache,
            "workspace_buffer": torch.empty(size, dtype=torch.int8, device=device),
            "kv_lora_rank": latent,
            "qk_rope_head_dim": shard.q_rope.shape[-1],
            "block_tables": shard.page_table,
            "seq_lens": torch.tensor(shard.lengths, dtype=torch.int32, device=device),
            "max_seq_len": max(*shard.lengths, 1),
            "softmax_scale": shard.softmax_scale * shard.latent_scale,
            "output_scale": shard.latent_scale,
            "enable_pdl": self._pdl,
        }
        if self._lse:
            arguments |= {
                "return_lse": True,
                "causal_seqs": None,
                "cp_world": shard.dcp_size,
                "cp_rank": shard.dcp_rank,
            }
        if self._runs:
            arguments["cp_interleave_size"] = shard.interleave
        if self._lse and shard.dcp_size > 1:
            arguments["causal_seqs"] = torch.tensor(shard.global_lengths, dtype=torch.int32, device=device)
        return (Call(_DECODE, arguments),)

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel on one shard; LSE in base 2."""
        from tokenspeed_mla import tokenspeed_mla_decode

        (decode,) = self.calls(shard)
        found = tokenspeed_mla_decode(**decode.arguments)
        shape = shard.q_latent.shape
        if not self._lse:
            return Decoded(found.view(shape), None, None)
        out, lse = found
        return Decoded(out.view(shape), lse.view(shape[:-1]), self.traits.lse_base)
