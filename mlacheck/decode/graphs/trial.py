"""A kernel captured on the shortest contexts, replayed on others, and measured against float64."""

from __future__ import annotations

import math
from itertools import cycle, islice
from typing import TYPE_CHECKING

import torch

from mlacheck.decode.graphs import staged_form
from mlacheck.decode.graphs.recorder import replayed
from mlacheck.decode.inputs import DTYPES
from mlacheck.decode.layout import local_length, pages_for
from mlacheck.decode.merge import NATS
from mlacheck.decode.pages import Shard
from mlacheck.decode.reference import reference_decode
from mlacheck.decode.speed import median_seconds
from mlacheck.decode.trial import Setting, draw_inputs, draw_shard, vector_error

if TYPE_CHECKING:
    from mlacheck.decode.backend import Backend, Decoded
    from mlacheck.decode.graphs.recorder import Recorder
    from mlacheck.decode.problem import DecodeProblem


def graph_lengths(problem: DecodeProblem) -> tuple[tuple[int, ...], ...]:
    """Give the lengths to capture with, one run on each rank as engines do, and those to replay with."""
    # The longest first: a first request with no token is the matter of another row. The shortest
    # next, so that ranks are empty in a batch of two as well.
    *shorts, longest = problem.short_lengths
    short = tuple(islice(cycle((longest, *shorts)), problem.batch))
    return (
        (problem.round_tokens,) * problem.batch,
        problem.even_lengths,
        problem.ragged_lengths[::-1],
        short if problem.dcp_size > 1 else problem.even_lengths[::-1],
    )


def measure_replays(
    backend: Backend, problem: DecodeProblem, device: torch.device, recorder: Recorder[Decoded]
) -> dict[str, float] | None:
    """Give the worst errors of the replays; None where the adapter has no graph form."""
    # Of a short context the first rank has all tokens, and this one none.
    rank = min(1, problem.dcp_size - 1)
    settings = [
        Setting(
            lengths,
            problem.dcp_size,
            shuffle=True,
            poison_unmapped=True,
            fp8_queries=_fp8_queries(backend, problem),
        )
        for lengths in graph_lengths(problem)
    ]
    drawn = [draw_inputs(problem, setting, device) for setting in settings]
    shards = [
        draw_shard(problem, setting, inputs, rank) for setting, inputs in zip(settings, drawn, strict=True)
    ]
    staged = staged_form(backend, shards)
    if staged is None:
        return None
    errors: dict[str, float] = {"output": 0.0}
    for got, inputs in zip(replayed(staged, shards, recorder), drawn[1:], strict=True):
        out, lse = reference_decode(
            inputs,
            problem.softmax_scale,
            dcp_size=problem.dcp_size,
            rank=rank,
            interleave=problem.interleave,
        )
        seen = lse > -math.inf
        errors["output"] = max(errors["output"], vector_error(got.out, out, seen))
        if got.lse is not None and bool(seen.any()):
            off = min(_worst(got.lse.double()[seen] * nats - lse[seen]) for nats in NATS.values())
            errors["lse"] = max(errors.get("lse", 0.0), off)
    return errors


def replay_seconds(
    backend: Backend, problem: DecodeProblem, device: torch.device, recorder: Recorder[Decoded]
) -> tuple[float, int] | None:
    """Give the median time of a replay of the problem's shape on rank 0, and the bytes of KV it reads."""
    shard = _random_shard(problem, device)
    staged = staged_form(backend, [shard])
    if staged is None:
        return None
    staged.stage(shard)
    recorder.capture(staged.launch)
    read = sum(shard.lengths) * shard.cache.shape[-1] * shard.cache.dtype.itemsize
    return median_seconds(recorder.replay, device), read


def _random_shard(problem: DecodeProblem, device: torch.device) -> Shard:
    """Make rank 0's shard of the timed contexts on the device itself: nothing is compared with it."""
    stored = DTYPES[problem.kv_dtype]
    compute = torch.bfloat16 if stored.itemsize == 1 else stored
    lengths = tuple(
        local_length(length, problem.dcp_size, 0, problem.interleave) for length in problem.timed_lengths
    )
    counts = [pages_for(length, problem.page_size) for length in lengths]
    order = torch.randperm(sum(counts), dtype=torch.int32, device=device)
    table = torch.zeros(len(lengths), max(*counts, 1), dtype=torch.int32, device=device)
    start = 0
    for request, count in enumerate(counts):
        table[request, :count] = order[start : start + count]
        start += count
    width = problem.latent_dim + problem.rope_dim
    cache = torch.randn(sum(counts), problem.page_size, width, dtype=compute, device=device).to(stored)
    query = torch.randn(len(lengths), 1, problem.heads, width, dtype=compute, device=device)
    return Shard(
        q_latent=query[..., : problem.latent_dim].contiguous(),
        q_rope=query[..., problem.latent_dim :].contiguous(),
        cache=cache,
        page_table=table,
        lengths=lengths,
        global_lengths=problem.timed_lengths,
        dcp_rank=0,
        dcp_size=problem.dcp_size,
        interleave=problem.interleave,
        softmax_scale=problem.softmax_scale,
    )


def _fp8_queries(backend: Backend, problem: DecodeProblem) -> bool:
    return backend.traits.fp8_queries and problem.kv_dtype.startswith("fp8")


def _worst(errors: torch.Tensor) -> float:
    worst = float(errors.abs().max())
    return worst if math.isfinite(worst) else math.inf
