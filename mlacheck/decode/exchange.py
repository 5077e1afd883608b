"""The merge over real ranks, with the collectives and the arithmetic of the engines.

A process holds k of the N ranks: outputs [k, tokens, heads, latent] and LSEs [k, tokens, heads]. It gets
the merged output of its own share of the heads.

All-gather + reduce-scatter: the LSEs go to all, each rank scales its output in float32 by
exp(LSE - merged LSE), and the sum over ranks is scattered by heads. All-to-all: each rank sends every other
one its output and LSE for that one's heads, packed together as bytes; the receiver merges them in float32.
In both, a NaN or +inf LSE counts as -inf. An output of weight 0 is multiplied by 0, which NaN survives, or
read as 0 by engines that stop it there; and some engines scatter-sum in the outputs' own dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
import torch.distributed as dist

from mlacheck.decode.contract import A2A, AG_RS

# Newer releases renamed them.
_reduce_scatter: Any = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
_all_gather: Any = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


@dataclass(frozen=True, slots=True)
class Manner:
    """In what engines differ."""

    weightless: bool = False  # outputs of weight 0 are read as 0
    in_float32: bool = True  # outputs are scaled and summed in float32, not in their own dtype


def all_gather_reduce_scatter(
    outputs: torch.Tensor, lses: torch.Tensor, base: str, group: dist.ProcessGroup, manner: Manner
) -> torch.Tensor:
    """Give the merged output [tokens, heads / processes, latent] of this process's heads."""
    power, log = _POWERS[base]
    held, tokens, heads, latent = outputs.shape
    processes = dist.get_world_size(group)
    lses = lses.float().contiguous()
    gathered = lses.new_empty(processes * held, tokens, heads)
    _all_gather(gathered, lses, group=group)
    clean = _clean(gathered)
    highest = _finite(clean.amax(0))
    merged = log(power(clean - highest).sum(0)) + highest
    factors = power(_clean(lses - merged)).unsqueeze(-1)
    parts = _stopped(outputs.float(), factors, manner) * factors
    parts = parts if manner.in_float32 else parts.to(outputs.dtype)
    scaled = parts.sum(0).transpose(0, 1).contiguous()
    own = scaled.new_empty(heads // processes, tokens, latent)
    _reduce_scatter(own, scaled, group=group)
    return own.to(outputs.dtype).transpose(0, 1)


def all_to_all(
    outputs: torch.Tensor, lses: torch.Tensor, base: str, group: dist.ProcessGroup, manner: Manner
) -> torch.Tensor:
    """Give the merged output [tokens, heads / processes, latent] of this process's heads."""
    held, tokens, heads, latent = outputs.shape
    processes = dist.get_world_size(group)
    share = heads // processes
    packed = torch.cat((outputs, lses.float().contiguous().unsqueeze(-1).view(outputs.dtype)), -1)
    sent = packed.view(held, tokens, processes, share, -1).permute(2, 0, 1, 3, 4).contiguous()
    received = torch.empty_like(sent)
    dist.all_to_all_single(received.view(-1).view(torch.uint8), sent.view(-1).view(torch.uint8), group=group)
    received = received.flatten(0, 1)
    own = received[..., latent:].contiguous().view(torch.float32).squeeze(-1)
    return combine(received[..., :latent], own, base, manner).to(outputs.dtype)


def combine(
    outputs: torch.Tensor,
    lses: torch.Tensor,
    base: str,
    manner: Manner = Manner(),
) -> torch.Tensor:
    """Merge [ranks, tokens, heads, latent] outputs in float32, as the receiver of an all-to-all does."""
    power, _ = _POWERS[base]
    clean = _clean(lses)
    weights = power(clean - _finite(clean.amax(0)))
    merged = (_stopped(outputs.float(), weights.unsqueeze(-1), manner) * weights.unsqueeze(-1)).sum(0)
    return merged / weights.sum(0).clamp_min(1.0).unsqueeze(-1)


WAYS: Final = {AG_RS: all_gather_reduce_scatter, A2A: all_to_all}
_Power = Callable[[torch.Tensor], torch.Tensor]
_POWERS: Final[dict[str, tuple[_Power, _Power]]] = {
    "e": (torch.exp, torch.log),
    "2": (torch.exp2, torch.log2),
}


def _stopped(outputs: torch.Tensor, weights: torch.Tensor, manner: Manner) -> torch.Tensor:
    return torch.where(weights == 0, 0.0, outputs) if manner.weightless else outputs


def _clean(lses: torch.Tensor) -> torch.Tensor:
    return torch.where(lses.isnan() | (lses == math.inf), -math.inf, lses)


def _finite(highest: torch.Tensor) -> torch.Tensor:
    return torch.where(highest == -math.inf, 0.0, highest)
