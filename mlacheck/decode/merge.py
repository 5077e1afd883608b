"""The merge of rank results by LSE, step by step as the engine's merge kernels do it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

NATS: Final = {"e": 1.0, "2": math.log(2.0)}
# What is done about ranks that hold no token before the merge kernel runs. `merge`: nothing, the kernel
# itself reads NaN and +inf LSEs as -inf. `lengths`: output 0 and LSE -inf wherever the local length is 0.
# `forced`: LSE -inf wherever the local length is 0, and the kernel reads outputs of weight 0 as 0.
# `as-is`: nothing anywhere, as a plain log-sum-exp does.
EMPTY_RANKS: Final = ("merge", "lengths", "forced", "as-is")
# What ag_rs scales and sums the ranks' outputs in: float32, or the dtype in which the kernel gave them.
SUMS: Final = ("float32", "output")


def merge(
    outputs: torch.Tensor,
    lses: torch.Tensor,
    *,
    lse_base: str,
    empty_ranks: str = "merge",
    lengths: Sequence[Sequence[int]] | None = None,
    comm: str = "ag_rs",
    sums: str = "float32",
) -> torch.Tensor:
    """Merge [ranks, batch, ..., latent] outputs and [ranks, batch, ...] LSEs, in float32 or wider.

    `comm` is how ranks exchange: ag_rs weighs each rank's own output by exp(LSE - total) and sums, a2a
    gathers and divides the weighted sum. Unless empty ranks are forced, a weight of 0 does not stop a NaN
    output, with either.
    """
    given = outputs.dtype
    work = torch.promote_types(given, torch.float32)
    outputs, lses = outputs.to(work), lses.to(work)
    if empty_ranks in {"lengths", "forced"} and lengths is not None:
        cleared, lses = neutral(outputs, lses, lengths)
        outputs = cleared if empty_ranks == "lengths" else outputs
    if empty_ranks != "as-is":
        lses = torch.where(lses.isnan() | (lses == math.inf), -math.inf, lses)
    power = torch.exp if lse_base == "e" else torch.exp2
    logarithm = torch.log if lse_base == "e" else torch.log2
    highest = lses.amax(0)
    anchor = torch.where(highest == -math.inf, 0.0, highest)
    weights = power(lses - anchor)
    total = weights.sum(0)
    if empty_ranks == "forced":
        outputs = torch.where(weights.unsqueeze(-1) == 0, 0.0, outputs)
    if comm == "ag_rs":
        below = lses - (logarithm(total) + anchor)
        below = torch.where(below.isnan(), -math.inf, below) if empty_ranks != "as-is" else below
        scaled = power(below).unsqueeze(-1) * outputs
        return scaled.sum(0) if sums == "float32" else _summed(scaled.to(given))
    return (weights.unsqueeze(-1) * outputs).sum(0) / total.clamp_min(1.0).unsqueeze(-1)


def _summed(parts: torch.Tensor) -> torch.Tensor:
    """Add the ranks' parts one after another in their own dtype, as a ring does."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def neutral(
    outputs: torch.Tensor, lses: torch.Tensor, lengths: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Set [ranks, batch, ...] rows to output 0 and LSE -inf wherever the local length is 0."""
    none = (torch.tensor(lengths, device=lses.device) == 0).view(*lses.shape[:2], *[1] * (lses.dim() - 2))
    return torch.where(none.unsqueeze(-1), 0.0, outputs), torch.where(none, -math.inf, lses)
