"""FlashMLA's dense decode for SM90, from the wheel sgl-flash-mla or from an older sglang-kernel."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu, installed

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_OWN: Final = "flash_mla"
_BUNDLED: Final = "sgl_kernel"
PAGE: Final = 64


def misfit(problem: DecodeProblem) -> str | None:
    """Say why FlashMLA's dense kernel, whoever ships it, cannot take the problem, or None."""
    if (problem.latent_dim, problem.rope_dim) != (512, 64):
        return f"FlashMLA needs latent 512 and rope 64, not {problem.latent_dim} and {problem.rope_dim}"
    if problem.page_size != PAGE:
        return f"FlashMLA needs pages of {PAGE} tokens, not {problem.page_size}: --page-size {PAGE}"
    if problem.kv_dtype not in {"bf16", "fp16", "fp8_e4m3"}:
        return f"FlashMLA takes bf16, fp16 and fp8_e4m3 caches, not {problem.kv_dtype}"
    return None


class FlashMla:
    """Calls the kernel with the schedule tensors that the engine computes for each step."""

    name = "flashmla"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base="e", fp8_queries=True, scales="one")
    builds = ""

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        return misfit(problem)

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Schedule and run; the mask is the kernel's own, on the local length."""
        fp8 = shard.cache.dtype == torch.float8_e4m3fn
        q_len, heads = shard.q_latent.shape[1:3]
        device = shard.q_latent.device
        lengths = torch.tensor(shard.lengths, dtype=torch.int32, device=device)
        query = torch.cat([shard.q_latent, shard.q_rope], -1)
        package, bundled = _package()
        schedule: dict[str, Any] = {
            "cache_seqlens" if bundled else "seqlens_k": lengths,
            "num_q_tokens_per_head_k": q_len * heads,
            "num_heads_k" if bundled else "h_k": 1,
            "is_fp8_kvcache": fp8,
        }
        run: dict[str, Any] = {
            "q": query.to(shard.cache.dtype) if fp8 else query,
            "k_cache": shard.cache.unsqueeze(2),
            "block_table": shard.page_table,
            "cache_seqlens": lengths,
            "head_dim_v": shard.q_latent.shape[-1],
            "softmax_scale": shard.softmax_scale,
            "causal": True,
        }
        if fp8:
            run["descale_q"] = torch.ones(1, dtype=torch.float32, device=device)
            run["descale_k"] = torch.full((1,), shard.latent_scale, dtype=torch.float32, device=device)
        if bundled:
            run |= {"tile_scheduler_metadata": None, "num_splits": None}
            path = "flash_mla.{}"
        else:
            schedule["use_legacy"] = True
            run |= {"tile_scheduler_metadata": None, "use_legacy": True, "is_fp8_kvcache": fp8}
            path = "flash_mla_interface.{}"
        scheduler = "get_mla_metadata" if bundled else "get_mla_decoding_metadata"
        return (
            Call(f"{package}:{path.format(scheduler)}", schedule),
            Call(f"{package}:{path.format('flash_mla_with_kvcache')}", run),
        )

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel; LSE in nats."""
        tiles, splits = self.schedule(shard)
        return self.run(self.calls(shard)[1].arguments, tiles, splits)

    def schedule(self, shard: Shard) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the schedule tensors of a shard's lengths."""
        call = self.calls(shard)[0]
        tiles, splits = getattr(_library(), call.function.rpartition(".")[2])(**call.arguments)
        return tiles, splits

    def run(self, arguments: dict[str, Any], tiles: torch.Tensor, splits: torch.Tensor) -> Decoded:
        """Run the kernel under a schedule; LSE in nats."""
        library, (_, bundled) = _library(), _package()
        if bundled:
            given = {"tile_scheduler_metadata": tiles, "num_splits": splits}
        else:
            given = {"tile_scheduler_metadata": library.FlashMLASchedMeta(
                tile_scheduler_metadata=tiles, num_splits=splits
            )}  # fmt: skip
        out, lse = library.flash_mla_with_kvcache(**{**arguments, **given})
        return Decoded(out, lse.transpose(1, 2), self.traits.lse_base)


def _library() -> Any:
    package, bundled = _package()
    return import_module(f"{package}.flash_mla" if bundled else f"{package}.flash_mla_interface")


def _package() -> tuple[str, bool]:
    """Give the package that holds the kernel, and whether it is the one bundled with older engines."""
    found = installed(FlashMla.requirements)
    bundled = found is not None and found[0] != "sgl-flash-mla"
    return (_BUNDLED if bundled else _OWN), bundled
