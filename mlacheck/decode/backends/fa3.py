"""FlashAttention 3 of sglang-kernel, as SGLang's `fa3` decodes MLA: rope as K, latent as V and with Q."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_RUN: Final = "sgl_kernel:flash_attn.flash_attn_with_kvcache"


class Fa3:
    """Asks for the LSE, which the kernel has although SGLang does not ask for it under MLA."""

    name = "fa3"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base="e", fp8_queries=True)
    builds = ""

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        if problem.kv_dtype not in {"bf16", "fp16", "fp8_e4m3"}:
            return f"fa3 takes bf16, fp16 and fp8_e4m3 caches, not {problem.kv_dtype}"
        if problem.latent_dim > 512 or problem.rope_dim not in {64, 128}:
            return f"fa3 needs latent up to 512 and rope 64, not {problem.latent_dim} and {problem.rope_dim}"
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the call; several query tokens get the kernel's own causal mask."""
        batch, q_len = shard.q_latent.shape[:2]
        device, stored = shard.q_latent.device, shard.cache.dtype
        lengths = torch.tensor(shard.lengths, dtype=torch.int32, device=device)
        starts = torch.zeros(batch + 1, dtype=torch.int32, device=device)
        starts[1:] = lengths.cumsum(0)
        arguments: dict[str, Any] = {
            "q": shard.q_rope.flatten(0, 1).to(stored),
            "qv": shard.q_latent.flatten(0, 1).to(stored),
            "k_cache": shard.rope_cache.unsqueeze(2),
            "v_cache": shard.latent_cache.unsqueeze(2),
            "page_table": shard.page_table,
            "cache_seqlens": lengths,
            "cu_seqlens_q": torch.arange(batch + 1, dtype=torch.int32, device=device) * q_len,
            "cu_seqlens_k_new": starts,
            "max_seqlen_q": q_len,
            "softmax_scale": shard.softmax_scale,
            "causal": True,
            "return_softmax_lse": True,
        }
        if stored == torch.float8_e4m3fn:
            ones = torch.ones((batch, 1), dtype=torch.float32, device=device)
            arguments |= {"k_descale": ones, "v_descale": ones}
        return (Call(_RUN, arguments),)

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel; LSE in nats, [heads, tokens]."""
        from sgl_kernel.flash_attn import flash_attn_with_kvcache

        (run,) = self.calls(shard)
        out, lse, *_ = flash_attn_with_kvcache(**run.arguments)
        shape = shard.q_latent.shape
        return Decoded(out.view(shape), lse.transpose(0, 1).reshape(shape[:-1]), self.traits.lse_base)
