"""What a decode check says: rows with the measured value beside its limit."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from mlacheck.decode.backend import NO_KERNEL
from mlacheck.decode.evidence import SCHEMA, problem_sha256

if TYPE_CHECKING:
    from collections.abc import Mapping

PASSES: Final = "passes"
FAILS: Final = "fails"  # raised, crashed, hung, ran out of memory, or gave nothing to measure
WRONG: Final = "wrong"  # gave a result that is off
UNSUPPORTED: Final = "unsupported by the kernel"
NOT_RUN: Final = "not run"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the contract; `measured` is the value nearest its limit, `margin` is limit / measured."""

    name: str
    state: str
    measured: float | str | None = None
    limit: float | str | None = None
    margin: float | None = None
    detail: str = ""
    values: dict[str, float] = field(default_factory=dict)  # every error measured, by quantity
    needed: bool = True  # False: a row that this device, or this kernel's adapter, cannot have

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON, which has no infinity."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """Read what `to_dict` gave."""
        return cls(**{item.name: values[item.name] for item in fields(cls) if item.name in values})


@dataclass(frozen=True, slots=True)
class DecodeReport:
    """All rows of one check, with what ran where, and what the check does not say."""

    rows: tuple[Row, ...]
    backend: str
    backend_version: str | None = None
    distribution: str | None = None
    device: str | None = None
    sm: int | None = None
    problem: dict[str, Any] = field(default_factory=dict)
    convention: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    seconds: float = 0.0
    boundary: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether every needed row passes."""
        needed = [row for row in self.rows if row.needed]
        return bool(needed) and all(row.state == PASSES for row in needed)

    @property
    def bad(self) -> tuple[Row, ...]:
        """Give the rows that are wrong or fail, or that the kernel does not support."""
        return tuple(row for row in self.rows if row.state in {FAILS, WRONG, UNSUPPORTED})

    @property
    def could_not_run(self) -> bool:
        """Tell whether a needed row was not run, which is exit code 4 unless a worse one applies."""
        return not self.rows or any(row.state == NOT_RUN and row.needed for row in self.rows)

    @property
    def outcome(self) -> str:
        """Say what the check found of the kernel, and of nothing else."""
        what = self.backend if self.backend in NO_KERNEL else "kernel"
        if any(row.state == WRONG for row in self.rows):
            return f"{what} wrong: {_names(self.rows, WRONG)}"
        if self.bad:
            return f"{what} fails: {_names(self.rows, FAILS, UNSUPPORTED)}"
        if not self.rows or not any(row.state == PASSES for row in self.rows):
            return f"not run: {self.rows[0].detail if self.rows else 'no row'}"
        rest = _names(self.rows, NOT_RUN)
        return f"{what} verified" + (f", without {rest}" if rest else "")

    @property
    def evidence(self) -> dict[str, Any]:
        """Give what a later run compares, to tell whether this check speaks for another launch line."""
        return {
            "schema_version": SCHEMA,
            **self.environment,
            "adapter": self.backend,
            "distribution": self.distribution,
            "device": self.device,
            "sm": self.sm,
            "lse_base": self.convention.get("lse_base"),
            "problem": self.problem,
            "problem_sha256": problem_sha256(self.problem),
        }

    def to_list(self) -> list[dict[str, Any]]:
        """Give the rows for the JSON report, each with its backend and device."""
        where = {
            "backend": self.backend,
            "backend_version": self.backend_version,
            "device": self.device,
            "outcome": self.outcome,
            "evidence": self.evidence,
        }
        return [{**row.to_dict(), **where} for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Give the whole report as plain values."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        values |= {"rows": [row.to_dict() for row in self.rows], "boundary": list(self.boundary)}
        return {"outcome": self.outcome, **values, "evidence": self.evidence}


def _names(rows: tuple[Row, ...], *states: str) -> str:
    return ", ".join(row.name for row in rows if row.state in states)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
