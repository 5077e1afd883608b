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
# `as-is`: nothing anywhere, as a plain log-sum-exp does.
EMPTY_RANKS: Final = ("merge", "lengths", "as-is")


def merge(
    outputs: torch.Tensor,
    lses: torch.Tensor,
    *,
    lse_base: str,
    empty_ranks: str = "merge",
    lengths: Sequence[Sequence[int]] | None = None,
    comm: str = "ag_rs",
) -> torch.Tensor:
    """Merge [ranks, batch, ..., latent] outputs and [ranks, batch, ...] LSEs, in float32 or wider.

    `comm` is how ranks exchange: ag_rs weighs each rank's own output by exp(LSE - total) and sums, a2a
    gathers and divides the weighted sum. A weight of 0 does not stop a NaN output, with either.
    """
    work = torch.promote_types(outputs.dtype, torch.float32)
    outputs, lses = outputs.to(work), lses.to(work)
    if empty_ranks == "lengths" and lengths is not None:
        outputs, lses = neutral(outputs, lses, lengths)
    if empty_ranks != "as-is":
        lses = torch.where(lses.isnan() | (lses == math.inf), -math.inf, lses)
    power = torch.exp if lse_base == "e" else torch.exp2
    logarithm = torch.log if lse_base == "e" else torch.log2
    highest = lses.amax(0)
    anchor = torch.where(highest == -math.inf, 0.0, highest)
    weights = power(lses - anchor)
    total = weights.sum(0)
    if comm == "ag_rs":
        below = lses - (logarithm(total) + anchor)
        below = torch.where(below.isnan(), -math.inf, below) if empty_ranks != "as-is" else below
        return (power(below).unsqueeze(-1) * outputs).sum(0)
    return (weights.unsqueeze(-1) * outputs).sum(0) / total.clamp_min(1.0).unsqueeze(-1)


def neutral(
    outputs: torch.Tensor, lses: torch.Tensor, lengths: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Set [ranks, batch, ...] rows to output 0 and LSE -inf wherever the local length is 0."""
    none = (torch.tensor(lengths, device=lses.device) == 0).view(*lses.shape[:2], *[1] * (lses.dim() - 2))
    return torch.where(none.unsqueeze(-1), 0.0, outputs), torch.where(none, -math.inf, lses)
