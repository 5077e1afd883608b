"""What a decode check says: rows with the measured value beside its limit."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

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
    device: str | None = None
    sm: int | None = None
    problem: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    seconds: float = 0.0
    boundary: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether every row passes."""
        return bool(self.rows) and all(row.state == PASSES for row in self.rows)

    @property
    def bad(self) -> tuple[Row, ...]:
        """Give the rows that are wrong or fail, or that the kernel does not support."""
        return tuple(row for row in self.rows if row.state in {FAILS, WRONG, UNSUPPORTED})

    @property
    def could_not_run(self) -> bool:
        """Tell whether a row was not run, which is exit code 4 unless a worse one applies."""
        return not self.rows or any(row.state == NOT_RUN for row in self.rows)

    def to_list(self) -> list[dict[str, Any]]:
        """Give the rows for the JSON report, each with its backend and device."""
        where = {"backend": self.backend, "backend_version": self.backend_version, "device": self.device}
        return [{**row.to_dict(), **where} for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Give the whole report as plain values."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**values, "rows": [row.to_dict() for row in self.rows], "boundary": list(self.boundary)}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
