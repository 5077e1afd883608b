"""SGLang's own Triton decode, one query token a request; it returns no LSE."""

from __future__ import annotations

import contextlib
import importlib.util
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch

from mlacheck.decode.backend import Call, Decoded, Traits
from mlacheck.decode.requirements import REQUIREMENTS, Gpu

if TYPE_CHECKING:
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem

# The kernel moved in 0.5.17.
_PLACES: Final = (
    "kernels.ops.attention.decode_attention",
    "srt.layers.attention.triton_ops.decode_attention",
)
_SPLITS: Final = 8


class Triton:
    """Passes what SGLang's `triton` passes for MLA: one KV head, pages of one token."""

    name = "triton"
    requirements = REQUIREMENTS[name]
    traits = Traits(lse_base=None)
    builds = "the first call compiles the kernel, which takes some seconds"

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:  # noqa: ARG002 - SM is a requirement
        """Say why the kernel cannot take the problem, or None."""
        if problem.page_size != 1:
            return f"the kernel addresses single tokens: pages of 1, not {problem.page_size}: --page-size 1"
        if problem.kv_dtype not in {"bf16", "fp16"}:
            return f"only bf16 and fp16 caches are adapted, not {problem.kv_dtype}"
        return None

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the call."""
        batch, q_len, heads, latent = shard.q_latent.shape
        if q_len > 1:
            raise ValueError("the decode kernel takes one query token a request")
        device = shard.q_latent.device
        counts = torch.tensor([0, *shard.lengths]).cumsum(0)
        places = [shard.page_table[request, :length] for request, length in enumerate(shard.lengths)]
        query = torch.cat([shard.q_latent, shard.q_rope], -1).flatten(0, 1)
        keys = shard.cache.flatten(0, 1).unsqueeze(1)
        arguments: dict[str, Any] = {
            "q": query,
            "k_buffer": keys,
            "v_buffer": keys[..., :latent],
            "o": query.new_full((batch, heads, latent), float("nan")),
            "kv_indptr": counts.to(device=device, dtype=torch.int32),
            "kv_indices": torch.cat(places).long(),
            "attn_logits": torch.empty((batch, heads, _SPLITS, latent), dtype=torch.float32, device=device),
            "attn_lse": torch.empty((batch, heads, _SPLITS), dtype=torch.float32, device=device),
            "num_kv_splits": torch.full((batch,), _SPLITS, dtype=torch.int32, device=device),
            "max_kv_splits": _SPLITS,
            "sm_scale": shard.softmax_scale,
            "k_scale": 1.0,
            "v_scale": 1.0,
        }
        return (Call(f"sglang:{_place()}.decode_attention_fwd", arguments),)

    def decode(self, shard: Shard) -> Decoded:
        """Run the kernel."""
        (run,) = self.calls(shard)
        import_module(f"sglang.{_place()}").decode_attention_fwd(**run.arguments)
        return Decoded(run.arguments["o"].view(shard.q_latent.shape), None, None)


def _place() -> str:
    """Name the module that holds the kernel in the installed engine."""
    for place in _PLACES:
        with contextlib.suppress(ModuleNotFoundError):
            if importlib.util.find_spec(f"sglang.{place}"):
                return place
    return _PLACES[0]
