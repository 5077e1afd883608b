"""The contract of a decode kernel, row by row."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import torch

from mlacheck.decode.backend import lacks_parameters
from mlacheck.decode.contract import A2A, AG_RS, row_names
from mlacheck.decode.limits import limit_for
from mlacheck.decode.row import FAILS, NOT_RUN, PASSES, UNSUPPORTED, WRONG, Row
from mlacheck.decode.trial import Convention, Measured, Setting, TeamLostError, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mlacheck.decode.backend import Backend, Gpu
    from mlacheck.decode.problem import DecodeProblem
    from mlacheck.decode.trial import Team

# A base that fits must fit this much better than the other one.
_SEPARATION: Final = 10
# Scales of the FP8 row: unequal, and powers of nothing.
_LATENT_SCALE, _ROPE_SCALE = 0.37, 1.9


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
        self._lost: str | None = None
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
            "padding": partial(self._ragged, poison_padding=True),
            "long context": self._long,
        }

    def rows(self, started: Callable[[str], None] = lambda _: None) -> Iterator[Row]:
        """Give each row as soon as it is known; `started` is told the name of each row before it runs."""
        stopped: str | None = None
        several = self._team is not None or self._alone_because is not None
        for name in row_names(self._problem, processes=several):
            if stopped is not None:
                yield Row(name, NOT_RUN, detail=stopped)
                continue
            started(name)
            row = self._row(name)
            yield row
            if name == "runs" and row.state != PASSES:
                stopped = "the kernel did not run"
            elif self._lost is not None:
                stopped = self._lost
            elif row.state == FAILS and self._device.type == "cuda" and (lost := _context_lost()):
                stopped = f"the GPU context is lost after {name!r}: {lost}"

    def _row(self, name: str) -> Row:
        try:
            return self._rows[name](name)
        except TeamLostError as error:
            self._lost = str(error)
            return Row(name, FAILS, detail=str(error))
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises is the row's cause
            return Row(name, FAILS, detail=_cause(error))

    def _measure(self, lengths: tuple[int, ...], **changes: object) -> Measured:
        setting = Setting(**{"lengths": lengths, "dcp_size": self._problem.dcp_size, **changes})  # type: ignore[arg-type]
        return measure(self._backend, self._problem, setting, self._convention, self._device, self._team)

    def _measured(self) -> Measured:
        if self._even is None:
            self._even = self._measure(self._problem.even_lengths)
        return self._even

    def _runs(self, name: str) -> Row:
        if reason := lacks_parameters(self._backend.requirements):
            return Row(name, UNSUPPORTED, detail=reason)
        if reason := self._backend.unsupported(self._problem.with_(q_len=1), self._gpu):
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
        if measured.lse_by_base is None or measured.base is None:
            return Row(name, FAILS, detail=_NO_LSE)
        errors = ", ".join(
            f"base {base} is off by {error:.3g} nats" for base, error in measured.lse_by_base.items()
        )
        limit = self._limit("lse")
        best, other = sorted(measured.lse_by_base.values())
        if best > limit:
            return Row(name, WRONG, "neither", self._wanted_base(measured), detail=errors)
        if other < _SEPARATION * limit:
            return Row(
                name,
                FAILS,
                "undecided",
                self._wanted_base(measured),
                detail=f"the inputs do not tell: {errors}",
            )
        wanted = self._wanted_base(measured)
        if measured.named_base != measured.base:
            errors = f"the kernel documents base {measured.named_base}; {errors}"
        elif wanted != measured.base:
            errors = f"the engine merges in base {wanted}; {errors}"
        state = PASSES if measured.base == wanted == measured.named_base else WRONG
        return Row(name, state, measured.base, wanted, detail=errors)

    def _wanted_base(self, measured: Measured) -> str | None:
        return self._convention.lse_base or measured.named_base

    def _rank_output(self, name: str) -> Row:
        measured = self._measured()
        return self._judge(name, {"output": measured.output}, f"worst on rank {measured.worst_rank}")

    def _rank_lse(self, name: str) -> Row:
        return self._judge(name, {"lse": self._measured().lse})

    def _merged(self, name: str) -> Row:
        both = (self._measured(), self._measure(self._problem.ragged_lengths))
        errors = [measured.merged for measured in both if measured.merged is not None]
        return self._judge(name, {"merged": max(errors) if len(errors) == len(both) else None})

    def _ragged(self, name: str, **changes: object) -> Row:
        return self._judge(name, self._rank_errors(self._measure(self._problem.ragged_lengths, **changes)))

    def _empty(self, name: str) -> Row:
        measured = self._measure(self._problem.short_lengths)
        errors = {**self._rank_errors(measured), "merged": measured.merged}
        return self._judge(name, errors, f"ranks with no token: {measured.empty}")

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
        if reason := self._backend.unsupported(self._problem, self._gpu):
            return Row(name, UNSUPPORTED, detail=reason)
        q_len, problem = self._problem.q_len, self._problem
        lengths = tuple(max(n, q_len) for n in (*problem.ragged_lengths, *problem.short_lengths))
        return self._judge(name, self._rank_errors(self._measure(lengths, q_len=q_len)))

    def _scales(self, name: str) -> Row:
        measured = self._measure(
            self._problem.even_lengths, latent_scale=_LATENT_SCALE, rope_scale=_ROPE_SCALE
        )
        note = f"latent scale {_LATENT_SCALE}, rope scale {_ROPE_SCALE}"
        return self._judge(name, self._rank_errors(measured), note, scaled=True)

    def _long(self, name: str) -> Row:
        length = self._problem.long_context or 1
        measured = self._measure((length,))
        merged = {"merged": measured.merged} if self._problem.dcp_size > 1 else {}
        return self._judge(name, {**self._rank_errors(measured), **merged}, f"{length} tokens")

    def _rank_errors(self, measured: Measured) -> dict[str, float | None]:
        """Give the errors that are the kernel's alone, whatever the engine's merge does with them."""
        if self._problem.dcp_size == 1:
            return {"output": measured.output}
        return {"output": measured.output, "lse": measured.lse}

    def _limit(self, quantity: str, *, scaled: bool = False) -> float:
        return limit_for(quantity, self._problem.kv_dtype, scaled=scaled).limit

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


_NO_LSE: Final = "the kernel returned no LSE, without which ranks cannot be merged"


def _cause(error: Exception) -> str:
    if isinstance(error, torch.OutOfMemoryError):
        return f"out of GPU memory: {str(error).splitlines()[0]}"
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def _context_lost() -> str | None:
    try:
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - any error here is sticky
        return _cause(error)
    return None
