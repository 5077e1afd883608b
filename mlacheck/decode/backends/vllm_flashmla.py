"""FlashMLA as vLLM's wheel brings it: the schedule is made by the first call, FP8 has a kernel of its own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.backends.flashmla import misfit
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_INTERFACE: Final = "third_party.flashmla.flash_mla_interface"
_OPS: Final = "v1.attention.ops.flashmla"


class VllmFlashMla:
    """Calls what vLLM's `FLASHMLA` calls."""

    name = "vllm-flashmla"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base="e", fp8_queries=True, scales="one")
    builds = ""

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        return misfit(problem)

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Schedule and run; the mask is the kernel's own, on the local length."""
        q_len, heads = shard.q_latent.shape[1:3]
        device = shard.q_latent.device
        lengths = torch.tensor(shard.lengths, dtype=torch.int32, device=device)
        run: dict[str, Any] = {
            "q": torch.cat([shard.q_latent, shard.q_rope], -1),
            "k_cache": shard.cache.unsqueeze(2),
            "block_table": shard.page_table,
            "cache_seqlens": lengths,
            "head_dim_v": shard.q_latent.shape[-1],
            "tile_scheduler_metadata": None,
            "softmax_scale": shard.softmax_scale,
            "causal": True,
        }
        if shard.cache.dtype != torch.float8_e4m3fn:
            run["is_fp8_kvcache"] = False
            return (Call(f"vllm:{_INTERFACE}.flash_mla_with_kvcache", run),)
        schedule = {
            "cache_seqlens": lengths,
            "num_q_tokens_per_head_k": q_len * heads,
            "num_heads_k": 1,
        }
        run |= {
            "q": run["q"].to(shard.cache.dtype),
            "num_splits": None,
            "descale_q": torch.ones(1, dtype=torch.float32, device=device),
            "descale_k": torch.full((1,), shard.latent_scale, dtype=torch.float32, device=device),
        }
        return (
            Call(f"vllm:{_OPS}.get_mla_metadata_dense_fp8", schedule),
            Call(f"vllm:{_OPS}.flash_mla_with_kvcache_fp8", run),
        )

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel; LSE in nats."""
        return self.run(self.calls(shard))

    def run(self, calls: tuple[Call, ...]) -> Decoded:
        """Run given calls under a schedule of their own."""
        *schedule, run = calls
        if schedule:
            library = import_module(f"vllm.{_OPS}")
            tiles, splits = library.get_mla_metadata_dense_fp8(**schedule[0].arguments)
            given = {"tile_scheduler_metadata": tiles, "num_splits": splits}
            out, lse = library.flash_mla_with_kvcache_fp8(**run.arguments | given)
        else:
            library = import_module(f"vllm.{_INTERFACE}")
            fresh, _ = library.get_mla_metadata()
            out, lse = library.flash_mla_with_kvcache(**run.arguments | {"tile_scheduler_metadata": fresh})
        return Decoded(out, lse.transpose(1, 2), self.traits.lse_base)
