"""Paged shards: a rank's tokens in pages, with a shuffled page table and poison where no kernel may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from mlacheck.decode.inputs import rank_tokens
from mlacheck.decode.layout import local_length, pages_for

if TYPE_CHECKING:
    from mlacheck.decode.inputs import Inputs
    from mlacheck.decode.problem import DecodeProblem


# Integers of an element's size: not every device indexes fp8 tensors.
_RAW: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
_MOST_UNMAPPED: Final = 256
_STALE: Final = 8.0
# Around the page table: no page has this number, so that a kernel that reads beyond the table faults.
NO_PAGE: Final = 2**30
_GUARD: Final = 64


@dataclass(frozen=True, slots=True)
class Shard:
    """What one rank's kernel is handed; `causal` asks for the mask of the last q_len tokens."""

    q_latent: torch.Tensor  # [batch, q_len, heads, latent]
    q_rope: torch.Tensor  # [batch, q_len, heads, rope]
    cache: torch.Tensor  # [pages, page_size, latent + rope]
    page_table: torch.Tensor  # [batch, most pages of a request], int32; unused places hold an unmapped page
    lengths: tuple[int, ...]  # tokens on this rank
    global_lengths: tuple[int, ...]
    dcp_rank: int
    dcp_size: int
    interleave: int  # tokens that go to one rank before the next one's turn
    softmax_scale: float
    latent_scale: float = 1.0
    rope_scale: float = 1.0
    causal: bool = False

    @property
    def page_size(self) -> int:
        """Give the tokens a page holds."""
        return int(self.cache.shape[1])

    @property
    def latent_cache(self) -> torch.Tensor:
        """Give the latent part of each token, as a view into the cache, like the engines do."""
        return self.cache[..., : self.q_latent.shape[-1]]

    @property
    def rope_cache(self) -> torch.Tensor:
        """Give the rope part of each token, as a view into the cache."""
        return self.cache[..., self.q_latent.shape[-1] :]


def make_shard(
    problem: DecodeProblem,
    inputs: Inputs,
    *,
    dcp_size: int,
    rank: int,
    shuffle: bool = False,
    poison_unmapped: bool = False,
    poison_padding: bool = False,
    stale_padding: bool = False,
) -> Shard:
    """Lay out the tokens that a rank holds; poison is NaN where no kernel may let a value through.

    Stale padding holds finite values, as an earlier request leaves them.
    """
    size = problem.page_size
    global_lengths = tuple(len(tokens) for tokens in inputs.tokens)
    interleave = problem.interleave
    lengths = tuple(local_length(n, dcp_size, rank, interleave) for n in global_lengths)
    counts = [pages_for(n, size) for n in lengths]
    mapped = sum(counts)
    total = mapped + min(mapped // 4, _MOST_UNMAPPED) + 2
    stored = inputs.tokens[0]
    raw, device, width = _RAW[stored.dtype.itemsize], stored.device, stored.shape[1]
    zero, nan, stale = torch.tensor([0.0, float("nan"), _STALE]).to(stored.dtype).view(raw).tolist()
    padding = nan if poison_padding else stale if stale_padding else zero
    slots = torch.full((total * size, width), nan if poison_unmapped else zero, dtype=raw, device=device)
    generator = torch.Generator().manual_seed(problem.seed + rank)
    order = torch.randperm(total, generator=generator) if shuffle else torch.arange(total)
    table = torch.full((len(lengths), max(*counts, 1)), int(order[-1]), dtype=torch.int32)
    start = 0
    for request, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        own = order[start : start + count]
        start += count
        table[request, :count] = own
        places = (own[:, None] * size + torch.arange(size)).flatten().to(device)
        tokens = inputs.tokens[request].view(raw)
        held = rank_tokens(0, len(tokens), dcp_size, rank, interleave, device)
        slots.index_copy_(0, places[:length], tokens[held])
        slots.index_fill_(0, places[length:], padding)
    cache = slots.view(stored.dtype).view(total, size, width)
    return Shard(
        q_latent=inputs.q_latent,
        q_rope=inputs.q_rope,
        cache=cache,
        page_table=_guarded(table).to(device)[_GUARD : _GUARD + table.numel()].view(table.shape),
        lengths=lengths,
        global_lengths=global_lengths,
        dcp_rank=rank,
        dcp_size=dcp_size,
        interleave=interleave,
        softmax_scale=problem.softmax_scale,
        latent_scale=inputs.latent_scale,
        rope_scale=inputs.rope_scale,
        causal=inputs.q_latent.shape[1] > 1,
    )


def _guarded(table: torch.Tensor) -> torch.Tensor:
    fence = torch.full((_GUARD,), NO_PAGE, dtype=table.dtype)
    return torch.cat([fence, table.flatten(), fence])
