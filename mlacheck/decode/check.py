"""The contract of a decode kernel, row by row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import torch

from mlacheck.decode.binding import misfit
from mlacheck.decode.cause import DownloadError, cause_of, context_lost
from mlacheck.decode.contract import A2A, AG_RS, GRAPH, TIME, row_names
from mlacheck.decode.graphs.recorder import CudaRecorder
from mlacheck.decode.graphs.trial import measure_replays, replay_seconds
from mlacheck.decode.limits import limit_for
from mlacheck.decode.requirements import wrong_gpu
from mlacheck.decode.row import FAILS, NOT_RUN, PASSES, UNSUPPORTED, WRONG, Row
from mlacheck.decode.trial import Measured, Setting, TeamLostError, draw_inputs, draw_shard, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from mlacheck.decode.backend import Backend
    from mlacheck.decode.convention import Convention
    from mlacheck.decode.problem import DecodeProblem
    from mlacheck.decode.requirements import Gpu
    from mlacheck.decode.trial import Team

# A base that fits must fit this much better than the other one.
_SEPARATION: Final = 10
_TELLING_TOKENS: Final = 64
# Scales of the FP8 row: unequal where the kernel takes two, and powers of nothing.
_LATENT_SCALE, _ROPE_SCALE = 0.37, 1.9


class LostError(Exception):
    """The GPU context died in a row, so that the rows after it, if there are any, need another process."""


class Contract:
    """Runs the rows of one problem on one backend and device."""

    def __init__(
        self,
        problem: DecodeProblem,
        backend: Backend,
        gpu: Gpu | None,
        device: torch.device,
        convention: Convention,
        team: Team | None = None,
        alone_because: str | None = None,
    ) -> None:
        self._problem = problem
        self._backend = backend
        self._gpu = gpu
        self._device = device
        self._convention = convention
        self._team = team
        self._alone_because = alone_because
        self._fp8_queries = backend.traits.fp8_queries and problem.kv_dtype.startswith("fp8")
        self._even: Measured | None = None
        self._rows: dict[str, Callable[[str], Row]] = {
            "runs": self._runs,
            "one-rank decode": self._one_rank,
            "lse returned": self._lse_returned,
            "lse base": self._lse_base,
            "rank output": self._rank_output,
            "rank lse": self._rank_lse,
            "merged": self._merged,
            "ragged lengths": self._ragged,
            "empty ranks": self._empty,
            AG_RS: self._exchanged,
            A2A: self._exchanged,
            "causal mask": self._causal,
            "kv scales": self._scales,
            "page table": partial(self._ragged, shuffle=True, poison_unmapped=True),
            "padding": self._padding,
            "long context": self._long,
            GRAPH: self._graph,
            TIME: self._time,
        }

    def rows(
        self, started: Callable[[str], None] = lambda _: None, skip: Collection[str] = ()
    ) -> Iterator[Row]:
        """Give each row as soon as it is known; `started` is told the name of each row before it runs.

        Raises LostError after a row that left the GPU unusable.
        """
        several = self._team is not None or self._alone_because is not None
        names = row_names(self._problem, self._backend.traits.scales, processes=several)
        names = tuple(name for name in names if name not in skip)
        for place, name in enumerate(names):
            started(name)
            lost, gone = False, None
            try:
                row = self._rows[name](name)
            except TeamLostError as error:
                row, gone = Row(name, FAILS, detail=str(error)), str(error)
            except (Exception, DownloadError) as error:  # noqa: BLE001 - whatever a kernel raises is the row's cause
                row, lost = Row(name, FAILS, detail=cause_of(error)), context_lost(error)
            yield row
            if name == "runs" and row.state != PASSES:
                gone = gone or "the kernel did not run"
            if gone is not None:
                for rest in names[place + 1 :]:
                    yield Row(rest, NOT_RUN, detail=gone)
                return
            if lost and names[place + 1 :]:
                raise LostError
            if row.state == FAILS and self._device.type == "cuda":
                torch.cuda.empty_cache()

    def _measure(self, lengths: tuple[int, ...], **changes: object) -> Measured:
        setting = self._setting(lengths, **changes)
        return measure(self._backend, self._problem, setting, self._convention, self._device, self._team)

    def _setting(self, lengths: tuple[int, ...], **changes: object) -> Setting:
        fixed = {"lengths": lengths, "dcp_size": self._problem.dcp_size, "fp8_queries": self._fp8_queries}
        return Setting(**{**fixed, **changes})  # type: ignore[arg-type]  # given by name

    def _measured(self) -> Measured:
        if self._even is None:
            self._even = self._measure(self._problem.even_lengths)
        return self._even

    def _runs(self, name: str) -> Row:
        # What the device and the signature say comes before anything that could load or fetch a kernel.
        if reason := wrong_gpu(self._backend.requirements, self._gpu):
            return Row(name, UNSUPPORTED, detail=reason)
        if reason := self._backend.unsupported(self._problem, self._gpu):
            return Row(name, UNSUPPORTED, detail=reason)
        setting = self._setting((self._problem.round_tokens + self._problem.page_size,))
        inputs = draw_inputs(self._problem, setting, self._device)
        if reason := misfit(self._backend.calls(draw_shard(self._problem, setting, inputs, 0))):
            return Row(name, UNSUPPORTED, detail=reason)
        self._measure((self._problem.page_size + 1,), dcp_size=1)
        return Row(name, PASSES)

    def _one_rank(self, name: str) -> Row:
        measured = self._measure(self._problem.even_lengths, dcp_size=1)
        return self._judge(name, {"output": measured.output})

    def _lse_returned(self, name: str) -> Row:
        measured = self._measured()
        if measured.lse_by_base is None:
            return Row(name, FAILS, "none", "finite", detail=_NO_LSE)
        if measured.lse_not_finite:
            return Row(name, WRONG, f"{measured.lse_not_finite} not finite", "finite")
        return Row(name, PASSES, "finite", "finite")

    def _lse_base(self, name: str) -> Row:
        measured = self._measured()
        if measured.lse_by_base is not None and max(measured.lse_by_base.values()) < self._telling:
            # Short contexts can have LSEs near 0, which are the same in every base.
            least = _TELLING_TOKENS * self._problem.dcp_size
            measured = self._measure(tuple(max(length, least) for length in self._problem.even_lengths))
        if measured.lse_by_base is None or measured.base is None:
            return Row(name, FAILS, detail=_NO_LSE)
        wanted = self._convention.lse_base or measured.named_base
        errors = ", ".join(
            f"base {base} is off by {error:.3g} nats" for base, error in measured.lse_by_base.items()
        )
        limit = self._limit("lse")
        best, other = sorted(measured.lse_by_base.values())
        if best > limit:
            return Row(name, WRONG, "neither", wanted, detail=errors)
        if other < self._telling:
            return Row(name, FAILS, "undecided", wanted, detail=f"the inputs do not tell: {errors}")
        if wanted != measured.base:
            errors = f"{self._convention.who} merges in base {wanted}; {errors}"
        elif measured.named_base != measured.base:
            errors = f"the kernel documents base {measured.named_base}; {errors}"
        elif self._convention.lse_base:
            errors = f"as {self._convention.who} merges; {errors}"
        state = PASSES if measured.base == wanted == measured.named_base else WRONG
        return Row(name, state, measured.base, wanted, detail=errors)

    @property
    def _telling(self) -> float:
        return _SEPARATION * self._limit("lse")

    def _rank_output(self, name: str) -> Row:
        measured = self._measured()
        return self._judge(name, {"output": measured.output}, f"worst on rank {measured.worst_rank}")

    def _rank_lse(self, name: str) -> Row:
        bits = self._backend.traits.lse_bits
        return self._judge(name, {"lse": self._measured().lse}, f"in {bits} bits" if bits < 32 else "")

    def _merged(self, name: str) -> Row:
        convention = self._convention
        if convention.never_merges:
            return Row(name, NOT_RUN, detail=f"{convention.who} merges nothing: {convention.never_merges}")
        both = (self._measured(), self._measure(self._problem.ragged_lengths))
        errors = [measured.merged for measured in both if measured.merged is not None]
        note = f"as {convention.who} merges, {convention.comm}" if convention.engine else ""
        return self._judge(name, {"merged": max(errors) if len(errors) == len(both) else None}, note)

    def _ragged(self, name: str, **changes: object) -> Row:
        return self._judge(name, self._rank_errors(self._measure(self._problem.ragged_lengths, **changes)))

    def _padding(self, name: str) -> Row:
        poisoned = self._ragged(name, poison_padding=True)
        if poisoned.state == PASSES:
            return poisoned
        # Engines allocate the cache zeroed; what a page holds later are an earlier request's values.
        stale = self._ragged(name, stale_padding=True)
        if stale.state != PASSES:
            return stale
        return replace(stale, detail="; ".join(filter(None, (stale.detail, _STALE))))

    def _empty(self, name: str) -> Row:
        measured = self._measure(self._problem.short_lengths)
        errors = self._rank_errors(measured)
        note = f"ranks with no token give {measured.empty}"
        if not self._convention.never_merges:
            errors["merged"] = measured.merged
            if measured.merged is not None:
                survives = "survives" if measured.merged <= self._limit("merged") else "does not survive"
                note += f"; the merge of {self._convention.who} {survives} it"
        return self._judge(name, errors, note)

    def _exchanged(self, name: str) -> Row:
        if self._team is None:
            return Row(name, NOT_RUN, detail=self._alone_because or "")
        problem = self._problem
        trials = [self._measured(), *map(self._measure, (problem.ragged_lengths, problem.short_lengths))]
        errors = [trial.exchanged.get(name) for trial in trials]
        known = [error for error in errors if error is not None]
        seconds = self._team.time(name, problem, self._convention)
        note = f"{self._team.describe()}; the merge takes {seconds * 1e6:.0f} us, warm"
        return self._judge(name, {"merged": max(known) if len(known) == len(errors) else None}, note)

    def _causal(self, name: str) -> Row:
        q_len, problem = self._problem.q_len, self._problem
        lengths = tuple(max(n, q_len) for n in (*problem.ragged_lengths, *problem.short_lengths))
        if problem.dcp_size == 1 or self._backend.traits.cyclic:
            return self._judge(name, self._rank_errors(self._measure(lengths, q_len=q_len)))
        plain = max(problem.round_tokens, q_len)
        measured = self._measure(tuple(max(n, 2 * plain) for n in problem.ragged_lengths), q_len=q_len)
        off = measured.output if measured.merged is None else max(measured.output, measured.merged)
        does = self._convention.several
        detail = f"no global bound: under its own causal mask {q_len} query tokens are off by {off:.0%}"
        if does:
            detail += f"; {self._convention.who} {does}"
        return Row(name, UNSUPPORTED, off, self._limit("output"), detail=detail)

    def _scales(self, name: str) -> Row:
        rope_scale = _ROPE_SCALE if self._backend.traits.scales == "separate" else _LATENT_SCALE
        measured = self._measure(
            self._problem.even_lengths, latent_scale=_LATENT_SCALE, rope_scale=rope_scale
        )
        note = f"latent scale {_LATENT_SCALE}, rope scale {rope_scale}"
        return self._judge(name, self._rank_errors(measured), note, scaled=True)

    def _long(self, name: str) -> Row:
        length = self._problem.long_context or 1
        measured = self._measure((length,))
        merged = {"merged": measured.merged} if self._merges else {}
        return self._judge(name, {**self._rank_errors(measured), **merged}, f"{length} tokens")

    def _graph(self, name: str) -> Row:
        if self._device.type != "cuda":
            return Row(name, NOT_RUN, detail="CUDA graphs need a CUDA GPU", needed=False)
        problem = self._problem.with_(q_len=1)
        errors = measure_replays(self._backend, problem, self._device, CudaRecorder())
        if errors is None:
            return Row(name, NOT_RUN, detail=_NO_GRAPH, needed=False)
        known = {quantity: errors.get(quantity) for quantity in self._rank_quantities}
        note = "captured with one token on each rank, replayed with other lengths and page tables"
        return self._judge(name, known, note)

    def _time(self, name: str) -> Row:
        if self._device.type != "cuda":
            return Row(name, NOT_RUN, detail="it is measured on a CUDA GPU", needed=False)
        problem = self._problem.with_(q_len=1)
        measured = replay_seconds(self._backend, problem, self._device, CudaRecorder())
        if measured is None:
            return Row(name, NOT_RUN, detail=_NO_GRAPH, needed=False)
        seconds, read = measured
        note = f"rank 0 of {problem.dcp_size}, {problem.describe_lengths(problem.timed_lengths)}"
        rate = f"{read / seconds / 1e12:.2g} TB/s of KV"
        detail = f"{note}; {rate}; median of warm replays of a graph, for information"
        return Row(name, PASSES, f"{seconds * 1e6:.1f} us", detail=detail, values={"seconds": seconds})

    @property
    def _merges(self) -> bool:
        return self._problem.dcp_size > 1 and not self._convention.never_merges

    def _rank_errors(self, measured: Measured) -> dict[str, float | None]:
        """Give the errors that are the kernel's alone, whatever the engine's merge does with them."""
        errors = {"output": measured.output, "lse": measured.lse}
        return {quantity: errors[quantity] for quantity in self._rank_quantities}

    @property
    def _rank_quantities(self) -> tuple[str, ...]:
        if self._problem.dcp_size == 1 or self._backend.traits.lse_base is None:
            return ("output",)
        return ("output", "lse")

    def _limit(self, quantity: str, *, scaled: bool = False) -> float:
        return limit_for(
            quantity,
            self._problem.kv_dtype,
            scaled=scaled,
            fp8_queries=self._fp8_queries,
            lse_bits=self._backend.traits.lse_bits,
        ).limit

    def _judge(
        self, name: str, errors: dict[str, float | None], note: str = "", *, scaled: bool = False
    ) -> Row:
        """Make a row of several errors; it shows the one that is closest to, or furthest over, its limit."""
        known = {quantity: error for quantity, error in errors.items() if error is not None}
        if len(known) < len(errors):
            return Row(name, FAILS, detail=_NO_LSE)
        limits = {quantity: self._limit(quantity, scaled=scaled) for quantity in known}
        worst = max(known, key=lambda quantity: known[quantity] / limits[quantity])
        error, limit = known[worst], limits[worst]
        state = PASSES if all(value <= limits[quantity] for quantity, value in known.items()) else WRONG
        margin = limit / error if error else None
        detail = "; ".join(filter(None, (f"{worst} error" if len(known) > 1 else "", note)))
        return Row(name, state, error, limit, margin, detail, known)


_STALE: Final = (
    "finite values behind the last token do no harm; "
    "NaN there, which a request that decoded to NaN leaves, reaches the output"
)
_NO_GRAPH: Final = "no graph form of this adapter is written"
_NO_LSE: Final = "the kernel returned no LSE, without which ranks cannot be merged"
