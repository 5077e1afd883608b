"""FlashAttention 3 of vLLM's wheel, as its `FLASH_ATTN_MLA` decodes: rope as K, latent as V and with Q."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_MODULE: Final = "vllm_flash_attn.flash_attn_interface"


class VllmFa3:
    """Hands the kernel the ranks and the global lengths, which it knows as single tokens in turn."""

    name = "vllm-fa3"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base="e", cyclic=True)
    builds = ""

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        if problem.kv_dtype not in {"bf16", "fp16"}:
            return f"the kernel takes bf16 and fp16 caches, not {problem.kv_dtype}"
        if problem.page_size % 16:
            return f"the backend takes pages of 16 tokens or a multiple, not {problem.page_size}"
        if problem.latent_dim > 512 or problem.rope_dim not in {64, 128}:
            return f"fa3 needs latent up to 512 and rope 64, not {problem.latent_dim} and {problem.rope_dim}"
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Schedule and run."""
        batch, q_len, heads, latent = shard.q_latent.shape
        device = shard.q_latent.device
        lengths = torch.tensor(shard.lengths, dtype=torch.int32, device=device)
        starts = torch.arange(batch + 1, dtype=torch.int32, device=device) * q_len
        round_tokens = shard.dcp_size * shard.interleave
        most = -(max(shard.global_lengths) // -round_tokens) * shard.interleave
        schedule: dict[str, Any] = {
            "batch_size": batch,
            "max_seqlen_q": q_len,
            "max_seqlen_k": most,
            "num_heads_q": heads,
            "num_heads_kv": 1,
            "headdim": shard.q_rope.shape[-1],
            "cache_seqlens": lengths,
            "qkv_dtype": shard.cache.dtype,
            "headdim_v": latent,
            "page_size": shard.page_size,
            "cu_seqlens_q": starts,
            "causal": True,
            "num_splits": 0,
        }
        run: dict[str, Any] = {
            "q": shard.q_rope.flatten(0, 1),
            "k": shard.rope_cache.unsqueeze(-2),
            "v": shard.latent_cache.unsqueeze(-2),
            "q_v": shard.q_latent.flatten(0, 1),
            "max_seqlen_q": q_len,
            "cu_seqlens_q": starts,
            "max_seqlen_k": most,
            "seqused_k": lengths,
            "block_table": shard.page_table,
            "softmax_scale": shard.softmax_scale,
            "causal": True,
            "return_softmax_lse": True,
            "fa_version": 3,
            "scheduler_metadata": None,
            "num_splits": 0,
            "cp_world_size": shard.dcp_size,
            "cp_rank": shard.dcp_rank,
            "cp_tot_seqused_k": None,
        }
        if shard.dcp_size > 1:
            tokens = torch.tensor(shard.global_lengths, dtype=torch.int32, device=device)
            run["cp_tot_seqused_k"] = tokens
        return (
            Call(f"vllm:{_MODULE}.get_scheduler_metadata", schedule),
            Call(f"vllm:{_MODULE}.flash_attn_varlen_func", run),
        )

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel; LSE in nats, [heads, tokens]."""
        schedule, run = self.calls(shard)
        library = import_module(f"vllm.{_MODULE}")
        metadata = library.get_scheduler_metadata(**schedule.arguments)
        return self.run(run.arguments | {"scheduler_metadata": metadata}, shard.q_latent.shape)

    def run(self, arguments: dict[str, Any], shape: torch.Size) -> Decoded:
        """Run the kernel under a schedule."""
        out, lse = import_module(f"vllm.{_MODULE}").flash_attn_varlen_func(**arguments)
        return Decoded(out.view(shape), lse.transpose(0, 1).reshape(shape[:-1]), self.traits.lse_base)
