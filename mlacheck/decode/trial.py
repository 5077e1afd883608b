"""One trial: every rank decoded by a kernel, merged as the engine merges, and measured against float64."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import torch

from mlacheck.decode.inputs import make_inputs
from mlacheck.decode.layout import local_length
from mlacheck.decode.merge import NATS, merge
from mlacheck.decode.pages import make_shard
from mlacheck.decode.reference import reference_decode

if TYPE_CHECKING:
    from mlacheck.decode.backend import Backend, Decoded
    from mlacheck.decode.convention import Convention
    from mlacheck.decode.inputs import Inputs
    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem


@dataclass(frozen=True, slots=True)
class Setting:
    """What a trial varies over the problem's own sizes."""

    lengths: tuple[int, ...]
    dcp_size: int
    q_len: int = 1
    latent_scale: float = 1.0
    rope_scale: float = 1.0
    shuffle: bool = False
    poison_unmapped: bool = False
    poison_padding: bool = False
    stale_padding: bool = False
    fp8_queries: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """Errors of one trial, the worst over ranks; LSE errors in nats for each base hypothesis."""

    output: float
    worst_rank: int
    lse_by_base: dict[str, float] | None  # None: a rank returned no LSE
    lse_not_finite: int
    named_base: str | None
    merged: float | None
    empty: str  # what rows that see no token hold
    exchanged: dict[str, float]  # error after each way to merge with collectives, when a team ran it

    @property
    def base(self) -> str | None:
        """Give the base that fits better."""
        errors = self.lse_by_base
        return min(errors, key=lambda name: errors[name]) if errors else None

    @property
    def lse(self) -> float | None:
        """Give the LSE error in that base."""
        return min(self.lse_by_base.values()) if self.lse_by_base else None


class TeamLostError(RuntimeError):
    """A process of the team ended or no longer answers: nothing more can be decoded with it."""


class Team(Protocol):
    """Processes that decode one rank or several each, and merge with the engine's collectives."""

    def decode(
        self, problem: DecodeProblem, setting: Setting, convention: Convention, inputs: Inputs
    ) -> tuple[list[Decoded], dict[str, torch.Tensor]]:
        """Give every rank's result in order, and the merged output of each way to merge by its name."""

    def time(self, way: str, problem: DecodeProblem, convention: Convention) -> float:
        """Give the median seconds of a merge for the problem's shape, once warm."""

    def describe(self) -> str:
        """Say who merges over what."""


def measure(
    backend: Backend,
    problem: DecodeProblem,
    setting: Setting,
    convention: Convention,
    device: torch.device,
    team: Team | None = None,
) -> Measured:
    """Run one trial, its ranks by a team or one after another here; raises whatever the kernel raises."""
    inputs = draw_inputs(problem, setting, device)
    scale, ranks, interleave = problem.softmax_scale, setting.dcp_size, problem.interleave
    exchanged: dict[str, torch.Tensor] = {}
    if team is None:
        decoded = [decode_rank(backend, problem, setting, inputs, rank) for rank in range(ranks)]
    else:
        decoded, exchanged = team.decode(problem, setting, convention, inputs)
    wanted = [
        reference_decode(inputs, scale, dcp_size=ranks, rank=rank, interleave=interleave)
        for rank in range(ranks)
    ]
    outputs = [
        vector_error(got.out, out, lse > -math.inf) for got, (out, lse) in zip(decoded, wanted, strict=True)
    ]
    lses = [got.lse for got in decoded if got.lse is not None]
    by_base, not_finite, merged, by_collective = None, 0, None, {}
    if len(lses) == ranks:
        got_lse, want_lse = torch.stack(lses).double(), torch.stack([lse for _, lse in wanted])
        seen = want_lse > -math.inf
        not_finite = int((~got_lse[seen].isfinite()).sum())
        by_base = {base: _worst(got_lse[seen] * nats - want_lse[seen]) for base, nats in NATS.items()}
        base = convention.lse_base or decoded[0].lse_base
        if base is not None and ranks > 1:
            full = reference_decode(inputs, scale)
            result = merge(
                torch.stack([got.out for got in decoded]),
                torch.stack(lses),
                lse_base=base,
                empty_ranks=convention.empty_ranks,
                lengths=[
                    [local_length(n, ranks, rank, interleave) for n in setting.lengths]
                    for rank in range(ranks)
                ],
                comm=convention.comm,
                sums=convention.sums,
            )
            seen = full[1] > -math.inf
            # The engine's merge ends in the dtype of the ranks' outputs.
            merged = vector_error(result.to(decoded[0].out.dtype), full[0], seen)
            by_collective = {way: vector_error(out, full[0], seen) for way, out in exchanged.items()}
    return Measured(
        output=max(outputs),
        worst_rank=outputs.index(max(outputs)),
        lse_by_base=by_base,
        lse_not_finite=not_finite,
        named_base=decoded[0].lse_base,
        merged=merged,
        empty=_empty_rows(decoded, [lse for _, lse in wanted]),
        exchanged=by_collective,
    )


def draw_inputs(problem: DecodeProblem, setting: Setting, device: torch.device) -> Inputs:
    """Draw the inputs of a trial; every process draws the same.

    FP8 queries are rounded here, so that the reference reads what the kernel reads.
    """
    inputs = make_inputs(
        problem,
        setting.lengths,
        device,
        q_len=setting.q_len,
        latent_scale=setting.latent_scale,
        rope_scale=setting.rope_scale,
        salt=sum(setting.lengths) + setting.q_len,
    )
    if not setting.fp8_queries:
        return inputs

    def rounded(query: torch.Tensor) -> torch.Tensor:
        return query.to(torch.float8_e4m3fn).to(query.dtype)

    return replace(inputs, q_latent=rounded(inputs.q_latent), q_rope=rounded(inputs.q_rope))


def draw_shard(problem: DecodeProblem, setting: Setting, inputs: Inputs, rank: int) -> Shard:
    """Lay out one rank's tokens as a trial asks."""
    return make_shard(
        problem,
        inputs,
        dcp_size=setting.dcp_size,
        rank=rank,
        shuffle=setting.shuffle,
        poison_unmapped=setting.poison_unmapped,
        poison_padding=setting.poison_padding,
        stale_padding=setting.stale_padding,
    )


def decode_rank(
    backend: Backend, problem: DecodeProblem, setting: Setting, inputs: Inputs, rank: int
) -> Decoded:
    """Decode one rank's shard of a trial."""
    shard = draw_shard(problem, setting, inputs, rank)
    _soil(shard)
    decoded = _checked(backend.decode(shard), shard.q_latent.shape)
    if decoded.out.is_cuda:
        torch.cuda.synchronize()  # so that a kernel's fault is not told by whatever runs next
    return decoded


def _soil(shard: Shard) -> None:
    """Leave NaN in the memory that the next results come to lie in, so that rows never written show."""
    query = shard.q_latent
    if query.device.type == "cuda":
        query.new_full(query.shape, math.nan)
        query.new_full(query.shape[:-1], math.nan, dtype=torch.float32)


def vector_error(got: torch.Tensor, want: torch.Tensor, seen: torch.Tensor) -> float:
    """Give the worst relative error of one (request, query, head) vector among the rows that see a token."""
    if not bool(seen.any()):
        return 0.0
    got, want = got[seen].double(), want[seen]
    return _worst((got - want).norm(dim=-1) / want.norm(dim=-1))


def _worst(errors: torch.Tensor) -> float:
    worst = float(errors.abs().max()) if errors.numel() else 0.0
    return worst if math.isfinite(worst) else math.inf


def _checked(decoded: Decoded, shape: torch.Size) -> Decoded:
    if decoded.out.shape != shape:
        raise ValueError(
            f"the kernel returned an output of shape {list(decoded.out.shape)}, not {list(shape)}"
        )
    if decoded.lse is not None and decoded.lse.shape != shape[:-1]:
        raise ValueError(
            f"the kernel returned an LSE of shape {list(decoded.lse.shape)}, not {list(shape[:-1])}"
        )
    return decoded


def _empty_rows(decoded: list[Decoded], wanted: list[torch.Tensor]) -> str:
    """Name what the kernel gives for rows that see no token: the sentinel in the LSE, and the output."""
    outs, lses = [], []
    for got, want in zip(decoded, wanted, strict=True):
        empty = want == -math.inf
        outs.append(got.out[empty].double().flatten())
        if got.lse is not None:
            lses.append(got.lse[empty].double().flatten())
    out = torch.cat(outs)
    if not out.numel():
        return ""
    kinds = []
    if bool(out.isnan().any()):
        kinds.append("NaN or not written")
    if bool((out == 0).all()):
        kinds.append("zero")
    elif bool(out.isfinite().any()) and float(out[out.isfinite()].abs().max()) > 0:
        kinds.append(f"finite up to {float(out[out.isfinite()].abs().max()):.3g}")
    if bool(out.isinf().any()):
        kinds.append("infinite")
    return f"LSE {_sentinel(torch.cat(lses)) if lses else 'none'}, output {' and '.join(kinds)}"


def _sentinel(values: torch.Tensor) -> str:
    finite = values[values.isfinite()]
    kinds = [
        name
        for name, found in (
            ("-inf", values == -math.inf),
            ("+inf", values == math.inf),
            ("NaN", values.isnan()),
        )
        if bool(found.any())
    ]
    if finite.numel():
        low, high = float(finite.min()), float(finite.max())
        kinds.append(f"finite {low:.4g}" if low == high else f"finite {low:.4g} to {high:.4g}")
    return " and ".join(kinds)
