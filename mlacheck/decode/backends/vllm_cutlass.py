"""The CUTLASS decode of vLLM's wheel for SM10x, with queries padded to 128 heads."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_MODULE: Final = "_custom_ops"
_HEADS: Final = 128
_PAGE: Final = 128
_AUTOMATIC: Final = -1


class VllmCutlass:
    """Calls what vLLM's `CUTLASS_MLA` calls, one query token a request."""

    name = "vllm-cutlass"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base="e", fp8_queries=True)
    builds = ""

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        if problem.page_size != _PAGE:
            return f"the backend takes pages of {_PAGE} tokens, not {problem.page_size}"
        if problem.kv_dtype not in {"bf16", "fp16", "fp8_e4m3"}:
            return f"the kernel takes bf16, fp16 and fp8_e4m3 caches, not {problem.kv_dtype}"
        if (problem.latent_dim, problem.rope_dim) != (512, 64):
            return f"the kernel needs latent 512 and rope 64, not {problem.latent_dim} and {problem.rope_dim}"
        if problem.heads > _HEADS:
            return f"the kernel takes at most {_HEADS} heads, not {problem.heads}"
        if problem.q_len > 1:
            return "the backend decodes one query token a request"
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the workspace's size call, and the decode call."""
        batch, q_len, _, latent = shard.q_latent.shape
        device, fp8 = shard.q_latent.device, shard.cache.dtype == torch.float8_e4m3fn
        processors = (
            torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
        )
        size = {
            "max_seq_len": q_len * _PAGE,
            "num_batches": batch,
            "sm_count": processors,
            "num_kv_splits": _AUTOMATIC,
        }
        dtype = torch.bfloat16 if fp8 else shard.q_latent.dtype
        decode: dict[str, Any] = {
            "out": torch.empty((batch, _HEADS, latent), dtype=dtype, device=device),
            "lse": torch.empty((batch, _HEADS), dtype=torch.float32, device=device),
            "q_nope": _padded(shard.q_latent.flatten(0, 1).to(shard.cache.dtype)),
            "q_pe": _padded(shard.q_rope.flatten(0, 1).to(shard.cache.dtype)),
            "kv_c_and_k_pe_cache": shard.cache,
            "seq_lens": torch.tensor(shard.lengths, dtype=torch.int32, device=device),
            "page_table": shard.page_table,
            "workspace": None,
            "scale": shard.softmax_scale,
            "num_kv_splits": _AUTOMATIC,
        }
        return (
            Call(f"vllm:{_MODULE}.sm100_cutlass_mla_get_workspace_size", size),
            Call(f"vllm:{_MODULE}.sm100_cutlass_mla_decode", decode),
        )

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel on one shard; LSE in nats."""
        size, decode = self.calls(shard)
        library = import_module(f"vllm.{_MODULE}")
        room = library.sm100_cutlass_mla_get_workspace_size(**size.arguments)
        workspace = torch.empty(room, dtype=torch.uint8, device=shard.q_latent.device)
        library.sm100_cutlass_mla_decode(**decode.arguments | {"workspace": workspace})
        shape = shard.q_latent.shape
        out, lse = (decode.arguments[name][:, : shape[2]] for name in ("out", "lse"))
        return Decoded(out.reshape(shape), lse.reshape(shape[:-1]), self.traits.lse_base)


def _padded(query: torch.Tensor) -> torch.Tensor:
    """Lay a query before room for all heads of the kernel, which reads them whatever they hold."""
    rows, heads, width = query.shape
    room = query.new_empty((rows, _HEADS, width)).resize_((rows, heads, width))
    return room.copy_(query)
