"""FlashInfer's `BatchMLAPagedAttentionWrapper`: fa2, fa3, or what `auto` picks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Decoded, Gpu, Requirements
from mlacheck.decode.layout import pages_for

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_WORKSPACE: Final = 128 * 2**20


class FlashInfer:
    """One variant of the wrapper."""

    builds = True

    def __init__(self, variant: str) -> None:
        self.name = "flashinfer" if variant == "auto" else f"flashinfer-{variant}"
        self._variant = variant
        self._wrapper: Any = None
        self.requirements = Requirements(
            distribution="flashinfer-python",
            least_version="0.6.0",
            function="flashinfer.mla:BatchMLAPagedAttentionWrapper.run",
            parameters=("out", "return_lse"),
            least_sm=80,
        )

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:
        """Say why this variant cannot take the problem on this GPU, or None."""
        sm = gpu.sm if gpu else 0
        variant = ("fa3" if sm == 90 else "fa2") if self._variant == "auto" else self._variant
        if sm < 80:
            return f"the kernels need SM80, this device has SM{sm}"
        if variant == "fa3" and sm != 90:
            return f"fa3 needs SM90, this device has SM{sm}"
        if problem.kv_dtype == "fp32":
            return "the kernels take bf16 or fp16 queries, not fp32"
        if problem.kv_dtype == "fp8_e5m2":
            return "FP8 KV must be e4m3"
        if problem.kv_dtype == "fp8_e4m3" and (variant, problem.latent_dim, problem.rope_dim) != (
            "fa3",
            512,
            64,
        ):
            return "FP8 KV needs fa3 on SM90, latent 512 and rope 64"
        if problem.q_len > 1 and problem.dcp_size > 1:
            return (
                "the wrapper's causal mask is rank-local, which is wrong for cyclic shards; "
                "several query tokens under DCP need a kernel that takes the global bound"
            )
        return None

    def decode(self, shard: Shard) -> Decoded:
        """Plan and run the wrapper on one shard; LSE in base 2."""
        batch, q_len, heads, latent = shard.q_latent.shape
        device = shard.q_latent.device
        counts = [pages_for(length, shard.page_size) for length in shard.lengths]
        pages = [shard.page_table[request, :count] for request, count in enumerate(counts)]
        starts = torch.tensor([0, *counts]).cumsum(0)
        fp8 = shard.cache.dtype == torch.float8_e4m3fn
        wrapper = self._make(device)
        wrapper.plan(
            torch.arange(batch + 1, dtype=torch.int32, device=device) * q_len,
            starts.to(device=device, dtype=torch.int32),
            torch.cat(pages).to(torch.int32),
            torch.tensor(shard.lengths, dtype=torch.int32, device=device),
            heads,
            latent,
            shard.q_rope.shape[-1],
            shard.page_size,
            shard.causal,
            shard.softmax_scale,
            shard.q_latent.dtype,
            shard.cache.dtype,
        )
        # NaN shows rows that the kernel never writes.
        out = torch.full(
            (batch * q_len, heads, latent), float("nan"), dtype=shard.q_latent.dtype, device=device
        )
        scales = {"ckv_scale": shard.latent_scale, "kpe_scale": shard.rope_scale} if fp8 else {}
        result, lse = wrapper.run(
            shard.q_latent.flatten(0, 1),
            shard.q_rope.flatten(0, 1),
            shard.latent_cache,
            shard.rope_cache,
            out=out,
            return_lse=True,
            **scales,
        )
        return Decoded(result.view(batch, q_len, heads, latent), lse.view(batch, q_len, heads), "2")

    def _make(self, device: torch.device) -> Any:
        if self._wrapper is None:
            from flashinfer.mla import BatchMLAPagedAttentionWrapper

            workspace = torch.zeros(_WORKSPACE, dtype=torch.uint8, device=device)
            self._wrapper = BatchMLAPagedAttentionWrapper(workspace, backend=self._variant)
        return self._wrapper
