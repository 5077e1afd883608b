"""Planted faults: each wraps a kernel, the plain one by default, and breaks one thing."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from mlacheck.decode.backend import Decoded
from mlacheck.decode.backends.plain import Plain
from mlacheck.decode.layout import local_length


class Faulty:
    """Hands a changed shard to the kernel inside, or changes its result."""

    name = "faulty"

    def __init__(self, inner=None):
        self.inner = inner or Plain()
        self.requirements, self.traits = self.inner.requirements, self.inner.traits
        self.builds = self.inner.builds

    def unsupported(self, problem, gpu):
        return self.inner.unsupported(problem, gpu)

    def calls(self, shard):
        return self.inner.calls(shard)

    def before(self, shard):
        return shard

    def after(self, shard, decoded):  # noqa: ARG002 - for subclasses
        return decoded

    def decode(self, shard):
        shard = self.before(shard)
        return self.after(shard, self.inner.decode(shard))


class WrongBase(Faulty):
    """Documents the other base than the one it gives."""

    def after(self, shard, decoded):  # noqa: ARG002
        return replace(decoded, lse_base="2" if decoded.lse_base == "e" else "e")


class GivesBase2(Faulty):
    """Gives base 2 and says so, as FlashInfer does: no fault by itself."""

    def after(self, shard, decoded):  # noqa: ARG002
        return Decoded(decoded.out, decoded.lse / math.log(2), "2")


class NoLse(Faulty):
    def after(self, shard, decoded):  # noqa: ARG002
        return replace(decoded, lse=None)


class NanLse(Faulty):
    """Gives one LSE that is not a number."""

    def after(self, shard, decoded):
        lse = decoded.lse.clone()
        if shard.dcp_rank == 1:
            lse[0, 0, 0] = math.nan
        return replace(decoded, lse=lse)


class DroppedRank(Faulty):
    """Rank 1 tells the merge that it holds nothing."""

    def after(self, shard, decoded):
        if shard.dcp_rank != 1:
            return decoded
        return replace(decoded, lse=torch.full_like(decoded.lse, -math.inf))


class SwappedOutputs(Faulty):
    """The merge takes rank 0's output for rank 1's."""

    _first = None

    def after(self, shard, decoded):
        if shard.dcp_size == 1:
            return decoded
        if shard.dcp_rank == 0:
            self._first = decoded.out
        return replace(decoded, out=self._first) if shard.dcp_rank == 1 else decoded


class GlobalLength(Faulty):
    """Reads as many tokens as the whole context has, as far as the page table goes."""

    def before(self, shard):
        most = shard.page_table.shape[1] * shard.page_size
        return replace(shard, lengths=tuple(min(n, most) for n in shard.global_lengths))


class FloorLength(Faulty):
    """Computes the local length as floor(n / dcp): right whenever dcp divides n."""

    def before(self, shard):
        return replace(shard, lengths=tuple(n // shard.dcp_size for n in shard.global_lengths))


class RankZeroLength(Faulty):
    """Computes every rank's length as rank 0's, one token too many on some ranks."""

    def before(self, shard):
        most = shard.page_table.shape[1] * shard.page_size
        lengths = (local_length(n, shard.dcp_size, 0) for n in shard.global_lengths)
        return replace(shard, lengths=tuple(min(n, most) for n in lengths))


class WrongScale(Faulty):
    """Forgets YaRN's mscale."""

    def before(self, shard):
        return replace(shard, softmax_scale=192**-0.5)


class ShiftedTable(Faulty):
    """Reads each request's pages one place on."""

    def before(self, shard):
        return replace(shard, page_table=shard.page_table.roll(-1, 1))


class ContiguousTable(Faulty):
    """Ignores the page table: pages are taken to lie one after another."""

    def before(self, shard):
        counts = [-(n // -shard.page_size) for n in shard.lengths]
        table = shard.page_table.clone()
        start = 0
        for request, count in enumerate(counts):
            table[request, :count] = torch.arange(start, start + count)
            start += count
        return replace(shard, page_table=table)


class ReadsPadding(Faulty):
    """Multiplies the padding of the last page by weight 0, which NaN survives."""

    def after(self, shard, decoded):
        for request, length in enumerate(shard.lengths):
            left = length % shard.page_size
            if left:
                page = shard.page_table[request, length // shard.page_size]
                decoded.out[request] += shard.cache[page, left:].float().sum() * 0
        return decoded


class CountsPadding(Faulty):
    """Lets a little of the padding of the last page into the output."""

    def after(self, shard, decoded):
        for request, length in enumerate(shard.lengths):
            left = length % shard.page_size
            if left:
                page = shard.page_table[request, length // shard.page_size]
                decoded.out[request] += shard.cache[page, left:].float().sum() * 1e-3
        return decoded


class PlusInfinity(Faulty):
    """Gives +inf and garbage for ranks with no token, as FlashMLA does."""

    def after(self, shard, decoded):  # noqa: ARG002
        empty = decoded.lse == -math.inf
        out = torch.where(empty.unsqueeze(-1), torch.full_like(decoded.out, 3.0), decoded.out)
        return replace(decoded, out=out, lse=torch.where(empty, math.inf, decoded.lse))


class UntouchedOutput(Faulty):
    """Leaves NaN in the output of ranks with no token."""

    def after(self, shard, decoded):  # noqa: ARG002
        empty = (decoded.lse == -math.inf).unsqueeze(-1)
        return replace(decoded, out=torch.where(empty, torch.full_like(decoded.out, math.nan), decoded.out))


class FiniteEmpty(Faulty):
    """Gives a finite LSE and garbage for ranks with no token."""

    def after(self, shard, decoded):  # noqa: ARG002
        empty = decoded.lse == -math.inf
        out = torch.where(empty.unsqueeze(-1), torch.full_like(decoded.out, 3.0), decoded.out)
        return replace(decoded, out=out, lse=torch.where(empty, 0.0, decoded.lse))


class LocalBound(Faulty):
    """Hands the kernel the local length where the global one belongs."""

    def before(self, shard):
        return replace(shard, global_lengths=shard.lengths) if shard.causal else shard


class CyclicLength(Faulty):
    """Computes the local length as if single tokens went round: right whenever rounds are full."""

    def before(self, shard):
        lengths = (local_length(n, shard.dcp_size, shard.dcp_rank) for n in shard.global_lengths)
        most = shard.page_table.shape[1] * shard.page_size
        return replace(shard, lengths=tuple(min(n, most) for n in lengths))


class CyclicBound(Faulty):
    """Masks as if single tokens went round, whatever the runs."""

    def before(self, shard):
        return replace(shard, interleave=1)


class CyclicBoundAlways(CyclicBound):
    """The same for one query token too, as a kernel does that is handed the ranks but not the runs."""

    def before(self, shard):
        return replace(shard, interleave=1, causal=shard.dcp_size > 1)


class HalfLse(Faulty):
    """Gives its LSE in 16 bits and says so: no fault by itself."""

    def __init__(self, inner=None):
        super().__init__(inner)
        self.traits = replace(self.traits, lse_bits=16)

    def after(self, shard, decoded):  # noqa: ARG002
        return replace(decoded, lse=decoded.lse.bfloat16())


class OffByOneMask(Faulty):
    """Lets each query token see one token less."""

    def before(self, shard):
        return (
            replace(shard, global_lengths=tuple(n - 1 for n in shard.global_lengths))
            if shard.causal
            else shard
        )


class IgnoresScales(Faulty):
    """Reads the FP8 cache as if its scales were 1."""

    def before(self, shard):
        return replace(shard, latent_scale=1.0, rope_scale=1.0)


class PlainMask(Faulty):
    """Masks the last local tokens, as a plain causal mask does."""

    def before(self, shard):
        if not shard.causal:
            return shard
        return replace(shard, dcp_rank=0, dcp_size=1, global_lengths=shard.lengths)


class OneHeadOff(Faulty):
    """Rounds one head of one request coarsely: an error that a norm over all heads hides."""

    def after(self, shard, decoded):  # noqa: ARG002
        decoded.out[-1, -1, -1] *= 1.12 if decoded.out.dtype == torch.bfloat16 else 1.03
        return decoded


class Raises(Faulty):
    def before(self, shard):
        if shard.dcp_size > 1:
            raise RuntimeError("no kernel image is available\nsecond line")
        return shard


class WrongShape(Faulty):
    def after(self, shard, decoded):
        return replace(decoded, lse=decoded.lse.transpose(1, 2)) if shard.dcp_size > 1 else decoded
