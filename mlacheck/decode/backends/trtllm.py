"""FlashInfer's `trtllm_batch_decode_with_kv_cache_mla` with the arguments that engines call it with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_DECODE: Final = "flashinfer:decode.trtllm_batch_decode_with_kv_cache_mla"
_COUNTERS: Final = "flashinfer:utils.get_trtllm_gen_multi_ctas_kv_counter_bytes"
_WORKSPACE: Final = 128 * 2**20
# The rope head leaves 128 dimensions of each query head without position in every model of this shape.
_NOPE: Final = 128


class TrtllmMla:
    """No backend is named, and the counter buffer makes FlashInfer pick trtllm-gen.

    `lse`: the call asks for the LSE, and hands over that buffer; vLLM did neither before 0.28.
    """

    name = "trtllm_mla"
    requirements = REQUIREMENTS[name]
    builds = "the first call loads a prebuilt kernel, which FlashInfer downloads where it is not cached"

    def __init__(self, *, lse: bool = True) -> None:
        self._lse = lse
        self._workspace: torch.Tensor | None = None
        self.traits = Traits(lse_base="2" if lse else None, fp8_queries=True, scales="one")
        if not lse:
            self.requirements = replace(self.requirements, least_version="0.6.6")

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        if problem.page_size not in {32, 64}:
            return f"{self.name} needs pages of 32 or 64 tokens, not {problem.page_size}: --page-size 64"
        if problem.kv_dtype not in {"bf16", "fp16", "fp8_e4m3"}:
            return f"{self.name} takes bf16, fp16 and fp8_e4m3 caches, not {problem.kv_dtype}"
        if (problem.latent_dim, problem.rope_dim) != (512, 64):
            return (
                f"{self.name} needs latent 512 and rope 64, not {problem.latent_dim} and {problem.rope_dim}"
            )
        return self._heads(problem.heads)

    def _heads(self, heads: int) -> str | None:  # noqa: ARG002 - trtllm-gen says itself what it refuses
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the counter buffer's size call, and the decode call."""
        batch, _, heads, _ = shard.q_latent.shape
        device = shard.q_latent.device
        processors = (
            torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
        )
        size = {"batch_size": batch, "num_qo_heads": heads, "sm_count": processors}
        decode = self._arguments(shard) | {"enable_pdl": None}
        if not self._lse:
            return (Call(_DECODE, decode),)
        decode |= {"return_lse": True, "multi_ctas_kv_counter_buffer": None}
        return Call(_COUNTERS, size), Call(_DECODE, decode)

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel on one shard."""
        if not self._lse:
            (decode,) = self.calls(shard)
            return self._run(decode.arguments, shard)
        from flashinfer.utils import get_trtllm_gen_multi_ctas_kv_counter_bytes

        size, decode = self.calls(shard)
        counters = get_trtllm_gen_multi_ctas_kv_counter_bytes(**size.arguments)
        buffer = torch.zeros(counters, dtype=torch.uint8, device=shard.q_latent.device)
        return self._run(decode.arguments | {"multi_ctas_kv_counter_buffer": buffer}, shard)

    def _arguments(self, shard: Shard) -> dict[str, Any]:
        """Give what both backends pass; a value scale is named only where the cache has one."""
        fp8 = shard.cache.dtype == torch.float8_e4m3fn
        query = torch.cat([shard.q_latent, shard.q_rope], -1)
        device = query.device
        if self._workspace is None:
            self._workspace = torch.zeros(_WORKSPACE, dtype=torch.int8, device=device)
        arguments = {
            "query": query.to(shard.cache.dtype) if fp8 else query,
            "kv_cache": shard.cache.unsqueeze(1),
            "workspace_buffer": self._workspace,
            "qk_nope_head_dim": _NOPE,
            "kv_lora_rank": shard.q_latent.shape[-1],
            "qk_rope_head_dim": shard.q_rope.shape[-1],
            "block_tables": shard.page_table,
            "seq_lens": torch.tensor(shard.lengths, dtype=torch.int32, device=device),
            "max_seq_len": max(*shard.lengths, 1),
            "bmm1_scale": shard.softmax_scale * shard.latent_scale,
            "skip_softmax_threshold_scale_factor": None,
        }
        if shard.latent_scale != 1.0:
            arguments["bmm2_scale"] = shard.latent_scale
        return arguments

    def _run(self, arguments: dict[str, Any], shard: Shard) -> Decoded:
        from flashinfer.decode import trtllm_batch_decode_with_kv_cache_mla

        found = trtllm_batch_decode_with_kv_cache_mla(**arguments)
        shape = shard.q_latent.shape
        if not self._lse:
            return Decoded(found.view(shape), None, None)
        out, lse = found
        return Decoded(out.view(shape), lse.view(shape[:-1]), self.traits.lse_base)


class CuteDslMla(TrtllmMla):
    """The cute-dsl kernel, which takes the global bound of cyclic shards.

    `dcp`: the call says which rank it is; without, each rank is decoded as if it were alone.
    """

    name = "cutedsl_mla"
    requirements = REQUIREMENTS[name]
    builds = "the first call compiles the kernel, which takes 20 s or more"

    def __init__(self, *, dcp: bool = True) -> None:
        super().__init__()
        self._dcp = dcp
        self.traits = Traits(lse_base="e", cyclic=dcp, fp8_queries=True, scales="one")

    def _heads(self, heads: int) -> str | None:
        return None if heads <= 128 else f"cute-dsl takes at most 128 heads, not {heads}"

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the decode call, with the DCP arguments where there are several ranks."""
        arguments = self._arguments(shard) | {"return_lse": True, "backend": "cute-dsl"}
        if self._dcp and shard.dcp_size > 1:
            lengths = torch.tensor(shard.global_lengths, dtype=torch.int32, device=shard.q_latent.device)
            arguments |= {
                "enable_dcp": True,
                "cp_world": shard.dcp_size,
                "cp_rank": shard.dcp_rank,
                "causal_seqlens_kv_global": lengths,
            }
        return (Call(_DECODE, arguments),)

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel on one shard."""
        (decode,) = self.calls(shard)
        return self._run(decode.arguments, shard)
