"""Every limit of the decode check, with the value measured and the smallest fault that it still separates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limit:
    """`measured` is the worst right value seen, `smallest_fault` the least visible planted fault: limit lies between."""

    quantity: str
    precision: str
    limit: float
    measured: float
    measured_on: str
    smallest_fault: float
    fault: str


# output, merged: worst relative error of one (request, query, head) vector. lse: worst error in nats.
LIMITS: Final = (
    Limit("output", "bf16", 1e-2, 3e-3, "TBD", 0.07, "TBD"),
    Limit("merged", "bf16", 1e-2, 3e-3, "TBD", 0.07, "TBD"),
    Limit("lse", "bf16", 1e-2, 1.4e-3, "TBD", 0.07, "TBD"),
    Limit("output", "fp16", 1e-2, 3e-3, "TBD", 0.07, "TBD"),
    Limit("merged", "fp16", 1e-2, 3e-3, "TBD", 0.07, "TBD"),
    Limit("lse", "fp16", 1e-2, 1.4e-3, "TBD", 0.07, "TBD"),
    Limit("output", "fp32", 1e-4, 3e-6, "TBD", 0.07, "TBD"),
    Limit("merged", "fp32", 1e-4, 3e-6, "TBD", 0.07, "TBD"),
    Limit("lse", "fp32", 1e-4, 1.4e-6, "TBD", 0.07, "TBD"),
    Limit("output", "fp8", 2e-2, 1e-2, "TBD", 0.07, "TBD"),
    Limit("merged", "fp8", 2e-2, 1e-2, "TBD", 0.07, "TBD"),
    Limit("lse", "fp8", 2e-2, 1e-2, "TBD", 0.07, "TBD"),
)
_BY_KEY: Final = {(item.quantity, item.precision): item for item in LIMITS}


def limit_for(quantity: str, kv_dtype: str) -> Limit:
    """Find the limit of a quantity for a KV dtype."""
    return _BY_KEY[quantity, "fp8" if kv_dtype.startswith("fp8") else kv_dtype]
