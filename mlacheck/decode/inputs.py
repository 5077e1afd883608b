"""Inputs that make mistakes visible: unscaled normal values and one planted, heavy key."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from mlacheck.decode.problem import DecodeProblem

DTYPES: Final = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e5m2": torch.float8_e5m2,
}
# How much of each query points along the planted key.
_SHARED: Final = 8.0
# Tokens drawn at a time: a million of them never stand in host memory together.
_BLOCK: Final = 16384
# By how many nats the planted rank outweighs all others together: about there a mistaken LSE base shows most.
_IMBALANCE: Final = 1.3


@dataclass(frozen=True, slots=True)
class Inputs:
    """Queries for all requests, and per request the tokens as the KV cache stores them."""

    q_latent: torch.Tensor  # [batch, q_len, heads, latent]
    q_rope: torch.Tensor  # [batch, q_len, heads, rope]
    tokens: tuple[torch.Tensor, ...]  # per request [length, latent + rope], stored dtype
    latent_scale: float
    rope_scale: float

    def values(
        self,
        request: int,
        places: slice | torch.Tensor = slice(None),
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Give the latent and rope values that the stored tokens of a request stand for, in float64."""
        stored = self.tokens[request][places].to(torch.float64)
        latent = self.q_latent.shape[-1]
        return stored[:, :latent] * self.latent_scale, stored[:, latent:] * self.rope_scale


def make_inputs(
    problem: DecodeProblem,
    lengths: tuple[int, ...],
    device: torch.device,
    *,
    q_len: int = 1,
    latent_scale: float = 1.0,
    rope_scale: float = 1.0,
    salt: int = 0,
) -> Inputs:
    """Draw inputs from the problem's seed; the same on every device."""
    generator = torch.Generator().manual_seed(problem.seed * 1_000_003 + salt)
    stored = DTYPES[problem.kv_dtype]
    compute = torch.bfloat16 if problem.kv_dtype.startswith("fp8") else stored
    direction = torch.randn(problem.latent_dim, generator=generator)
    direction /= direction.norm()
    shape = (len(lengths), q_len, problem.heads)
    q_latent = torch.randn(*shape, problem.latent_dim, generator=generator) + _SHARED * direction
    q_rope = torch.randn(*shape, problem.rope_dim, generator=generator)
    tokens = []
    for request, length in enumerate(lengths):
        # The first query token must see the planted key too.
        place = (request * 7 + 3) % max(length - q_len + 1, 1)
        planted = _planted(problem, length) * direction
        width = problem.latent_dim + problem.rope_dim
        cached = torch.empty(length, width, dtype=stored, device=device)
        for start in range(0, length, _BLOCK):
            values = torch.randn(min(_BLOCK, length - start), width, generator=generator)
            if start <= place < start + _BLOCK:
                values[place - start, : problem.latent_dim] += planted
            values[:, : problem.latent_dim] /= latent_scale
            values[:, problem.latent_dim :] /= rope_scale
            cached[start : start + len(values)] = values.to(stored)
        tokens.append(cached)
    return Inputs(
        q_latent.to(compute).to(device),
        q_rope.to(compute).to(device),
        tuple(tokens),
        latent_scale,
        rope_scale,
    )


def rank_tokens(
    start: int, stop: int, dcp_size: int, rank: int, interleave: int, device: torch.device
) -> torch.Tensor:
    """Give the positions from `start` to `stop` that a rank holds, in order."""
    positions = torch.arange(start, stop, device=device)
    return positions[positions // interleave % dcp_size == rank]


def _planted(problem: DecodeProblem, length: int) -> float:
    """Give the length of the planted key that lets its rank outweigh all others by the wanted imbalance."""
    scale, ranks = problem.softmax_scale, problem.dcp_size
    variance = scale**2 * (problem.latent_dim + problem.rope_dim + _SHARED**2)
    others = math.log(max(length / ranks, 1.0)) + variance / 2
    wanted = others + math.log(max(ranks - 1, 1)) + _IMBALANCE
    return wanted / (scale * _SHARED)
