"""FlashInfer's `BatchMLAPagedAttentionWrapper`: fa2, fa3, or what `auto` picks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.layout import pages_for
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_WRAPPER: Final = "flashinfer:mla.BatchMLAPagedAttentionWrapper"
_WORKSPACE: Final = 128 * 2**20


class FlashInfer:
    """One variant of the wrapper."""

    requirements = REQUIREMENTS["flashinfer"]
    traits = Traits(lse_base="2", scales="separate")
    builds = "the first call compiles the kernel, which takes 20 s or more"

    def __init__(self, variant: str) -> None:
        self.name = "flashinfer" if variant == "auto" else f"flashinfer-{variant}"
        self._variant = variant
        self._wrapper: Any = None
        self._workspace: torch.Tensor | None = None

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:
        """Say why this variant cannot take the problem on this GPU, or None."""
        sm = gpu.sm if gpu else 0
        variant = ("fa3" if sm == 90 else "fa2") if self._variant == "auto" else self._variant
        if variant == "fa3" and sm != 90:
            return f"fa3 needs SM90, this device has SM{sm}"
        if problem.kv_dtype == "fp32":
            return "the kernels take bf16 or fp16 queries, not fp32"
        if problem.kv_dtype == "fp8_e5m2":
            return "FP8 KV must be e4m3"
        dims = (problem.latent_dim, problem.rope_dim)
        if problem.kv_dtype == "fp8_e4m3" and (variant, *dims) != ("fa3", 512, 64):
            return "FP8 KV needs fa3 on SM90, latent 512 and rope 64"
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Plan and run; several query tokens get the wrapper's own causal mask."""
        batch, q_len, heads, latent = shard.q_latent.shape
        device = shard.q_latent.device
        counts = [pages_for(length, shard.page_size) for length in shard.lengths]
        pages = [shard.page_table[request, :count] for request, count in enumerate(counts)]
        starts = torch.tensor([0, *counts]).cumsum(0)
        plan = {
            "qo_indptr": torch.arange(batch + 1, dtype=torch.int32, device=device) * q_len,
            "kv_indptr": starts.to(device=device, dtype=torch.int32),
            "kv_indices": torch.cat(pages).to(torch.int32),
            "kv_len_arr": torch.tensor(shard.lengths, dtype=torch.int32, device=device),
            "num_heads": heads,
            "head_dim_ckv": latent,
            "head_dim_kpe": shard.q_rope.shape[-1],
            "page_size": shard.page_size,
            "causal": shard.causal,
            "sm_scale": shard.softmax_scale,
            "q_data_type": shard.q_latent.dtype,
            "kv_data_type": shard.cache.dtype,
        }
        # NaN shows rows that the kernel never writes.
        out = shard.q_latent.new_full((batch * q_len, heads, latent), float("nan"))
        run = {
            "q_nope": shard.q_latent.flatten(0, 1),
            "q_pe": shard.q_rope.flatten(0, 1),
            "ckv_cache": shard.latent_cache,
            "kpe_cache": shard.rope_cache,
            "out": out,
            "return_lse": True,
        }
        if shard.cache.dtype == torch.float8_e4m3fn:
            run |= {"ckv_scale": shard.latent_scale, "kpe_scale": shard.rope_scale}
        if self._workspace is None:
            self._workspace = torch.zeros(_WORKSPACE, dtype=torch.uint8, device=device)
        make = {"float_workspace_buffer": self._workspace, "backend": self._variant}
        return (
            Call(f"{_WRAPPER}.__init__", make),
            Call(f"{_WRAPPER}.plan", plan),
            Call(f"{_WRAPPER}.run", run),
        )

    def decode(self, shard: Shard) -> Decoded:
        """Plan and run the wrapper on one shard; LSE in base 2."""
        make, plan, run = self.calls(shard)
        if self._wrapper is None:
            from flashinfer.mla import BatchMLAPagedAttentionWrapper

            self._wrapper = BatchMLAPagedAttentionWrapper(**make.arguments)
        self._wrapper.plan(**plan.arguments)
        out, lse = self._wrapper.run(**run.arguments)
        shape = shard.q_latent.shape
        return Decoded(out.view(shape), lse.view(shape[:-1]), self.traits.lse_base)
