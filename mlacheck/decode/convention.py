"""What an engine does around its decode kernel; plain values, made from `rules/decode`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Convention:
    """How rank results become one: where a field is None, what the kernel documents holds."""

    engine: str | None = None  # "sglang 0.5.18", for messages
    backend: str | None = None  # the engine's own name of the backend
    lse_base: str | None = None  # what the engine takes the kernel's LSE for
    empty_ranks: str = "merge"  # what it does about ranks with no token: see `merge.EMPTY_RANKS`
    comm: str = "ag_rs"
    sums: str = "float32"  # what ranks are summed in: see `merge.SUMS`
    never_merges: str | None = None  # why no merge ever sees this backend's results
    several: str | None = None  # what it does with several query tokens under DCP
    options: dict[str, Any] = field(default_factory=dict)  # how that version calls the kernel

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return asdict(self)

    @property
    def who(self) -> str:
        """Name the engine and its backend."""
        return f"{self.engine} with {self.backend}" if self.engine else "the engine"
