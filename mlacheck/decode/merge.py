"""The merge of rank results by LSE; engines compute the same with ag_rs and with a2a."""

from __future__ import annotations

import math
from typing import Final

import torch

NATS: Final = {"e": 1.0, "2": math.log(2.0)}


def merge(
    outputs: torch.Tensor, lses: torch.Tensor, *, lse_base: str, empty_ranks: str = "lse"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Merge [ranks, ..., latent] outputs and [ranks, ...] LSEs; gives float64 output and LSE in nats.

    `empty_ranks` is what to do about ranks that hold no token. `lse`: NaN and +inf LSE count as -inf, outputs
    stay (what the engines' merge kernels do). `neutral`: the output of such a rank is dropped too. `as-is`:
    nothing.
    """
    nats = lses.to(torch.float64) * NATS[lse_base]
    outputs = outputs.to(torch.float64)
    if empty_ranks != "as-is":
        nats = torch.where(nats.isnan() | (nats == math.inf), -math.inf, nats)
    highest = nats.amax(0)
    anchor = torch.where(highest == -math.inf, 0.0, highest)
    weights = torch.exp(nats - anchor)
    total = weights.sum(0)
    shares = (weights / total).unsqueeze(-1)
    if empty_ranks == "neutral":
        outputs = torch.where(shares == 0, 0.0, outputs)
    return (shares * outputs).sum(0), anchor + total.log()
