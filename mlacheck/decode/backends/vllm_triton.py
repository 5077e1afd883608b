"""The Triton decode of vLLM's wheel, one row of queries a token, with an LSE of the query's precision."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

_MODULE: Final = "v1.attention.ops.triton_decode_attention"
_TOKENS_PER_SPLIT: Final = 512
_SPLITS_PER_PROCESSOR: Final = 2


class VllmTriton:
    """Calls what vLLM's `TRITON_MLA` calls.

    `splits` is the number of KV splits that older versions fix; `mla` says that the call has `is_mla`.
    """

    name = "vllm-triton"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base="e", scales="one", lse_bits=16)
    builds = "the first call compiles the kernel, which takes some seconds"

    def __init__(self, splits: int | None = None, *, mla: bool = True) -> None:
        self._splits = splits
        self._mla = mla

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:
        """Say why the kernel cannot take the problem, or None."""
        if problem.page_size % 16:
            return f"the backend takes pages of 16 tokens or a multiple, not {problem.page_size}"
        if problem.kv_dtype not in {"bf16", "fp16", "fp8_e4m3"}:
            return f"the kernel takes bf16, fp16 and fp8_e4m3 caches, not {problem.kv_dtype}"
        if problem.kv_dtype == "fp8_e4m3" and gpu is not None and gpu.sm < 89:
            return f"FP8 caches need SM89 or newer, {gpu.name} has SM{gpu.sm}"
        if problem.q_len > 1 and problem.dcp_size > 1:
            return "the backend decodes one query token under DCP"
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the call; several query tokens become rows of their own, each with its own length."""
        batch, q_len, heads, latent = shard.q_latent.shape
        device = shard.q_latent.device
        rows = batch * q_len
        query = torch.cat([shard.q_latent, shard.q_rope], -1).flatten(0, 1)
        lengths = torch.tensor(shard.lengths, dtype=torch.int32, device=device)
        table = shard.page_table
        if q_len > 1:
            table = table.repeat_interleave(q_len, dim=0)
            offsets = torch.arange(1 - q_len, 1, dtype=torch.int32, device=device)
            lengths = (lengths.unsqueeze(1) + offsets).flatten().clamp(min=0)
        splits = self._splits or _kv_splits(shard)
        scale = torch.tensor(shard.latent_scale, dtype=torch.float32, device=device)
        keys = shard.cache.unsqueeze(2)
        arguments: dict[str, Any] = {
            "q": query,
            "k_buffer": keys,
            "v_buffer": keys[..., :latent],
            "o": query.new_zeros((rows, heads, latent)),
            "lse": query.new_zeros((rows, heads)),
            "req_to_token": table,
            "b_seq_len": lengths,
            "attn_logits": torch.empty((rows, heads, splits, latent + 1), dtype=torch.float32, device=device),
            "num_kv_splits": splits,
            "sm_scale": shard.softmax_scale,
            "page_size": shard.page_size,
            "k_scale": scale,
            "v_scale": scale,
        }
        if self._mla:
            arguments["is_mla"] = True
        return (Call(f"vllm:{_MODULE}.decode_attention_fwd", arguments),)

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel; LSE in nats."""
        (run,) = self.calls(shard)
        return self.run(run.arguments, shard.q_latent.shape)

    def run(self, arguments: dict[str, Any], shape: torch.Size) -> Decoded:
        """Run a call."""
        import_module(f"vllm.{_MODULE}").decode_attention_fwd(**arguments)
        out, lse = arguments["o"].view(shape), arguments["lse"].view(shape[:-1])
        return Decoded(out, lse, self.traits.lse_base)


def _kv_splits(shard: Shard) -> int:
    """Give the power of two that the engine takes for the longest local context."""
    device = shard.q_latent.device
    round_tokens = shard.dcp_size * shard.interleave
    longest = -(max(shard.global_lengths) // -round_tokens) * shard.interleave
    ideal = 1 << (max(1, longest // _TOKENS_PER_SPLIT) - 1).bit_length()
    if device.type != "cuda":
        return ideal
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    return min(ideal, processors * _SPLITS_PER_PROCESSOR)
