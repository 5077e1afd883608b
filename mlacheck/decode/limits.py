"""Every limit of the decode check, with the value measured and the smallest fault that it still separates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit lies between `measured`, the worst right value seen, and the least visible fault."""

    quantity: str
    precision: str
    limit: float
    measured: float
    measured_on: str
    smallest_fault: float
    fault: str


_FA2 = "NVIDIA H200, FlashInfer 0.6.17 fa2"
_FA3 = "NVIDIA H200, FlashInfer 0.6.17 fa3"
_FLASHMLA = "NVIDIA H200, sgl-flash-mla 1.0.0"
_PLAIN = "CPU, plain torch decode"
_TRITON = "NVIDIA H200, vLLM 0.22.1 Triton MLA"
_FLOOR = "local length floored, contexts of 65 to 1000 tokens over 2 to 8 ranks"
_BASE = "merged in the wrong LSE base"
_SCALES = "FP8 scales ignored"
_GLOBAL = "global instead of local length, DCP 4 and 8"

# output, merged: worst relative error of one (request, query, head) vector, so that one bad head shows.
# lse: worst error in nats. Measured 2026-11-29 with tools/measure_decode.py (heads 16 to 128, latent 512 +
# rope 64, DCP 1 to 8, pages of 1, 32 and 64, contexts of 1 to 2500 tokens and one of 131072).
LIMITS: Final = (
    Limit("output", "bf16", 1e-2, 4.20e-3, _FA3, 2.4e-2, _FLOOR),
    Limit("lse", "bf16", 5e-3, 1.65e-3, _FA2, 1.25e-2, _FLOOR),
    Limit("merged", "bf16", 1.5e-2, 5.25e-3, _FA2, 9.5e-2, _BASE),
    Limit("output", "fp16", 5e-3, 2.7e-4, _PLAIN, 2.4e-2, _FLOOR),
    Limit("lse", "fp16", 5e-3, 5.1e-6, _PLAIN, 1.25e-2, _FLOOR),
    Limit("merged", "fp16", 5e-3, 3.4e-4, _PLAIN, 9.5e-2, _BASE),
    Limit("output", "fp32", 1e-4, 2.2e-6, _PLAIN, 2.4e-2, _FLOOR),
    Limit("lse", "fp32", 1e-4, 6.7e-6, _PLAIN, 1.25e-2, _FLOOR),
    Limit("merged", "fp32", 1e-4, 2.2e-6, _PLAIN, 9.5e-2, _BASE),
    Limit("output", "fp8", 1e-2, 3.91e-3, _FA3, 2.1e-2, _FLOOR),
    Limit("lse", "fp8", 5e-3, 1.34e-5, _FA3, 1.05e-2, _FLOOR),
    Limit("merged", "fp8", 1e-2, 4.60e-3, _FA3, 9.5e-2, _BASE),
    # FP8 queries, and weights rounded to FP8 before they meet the values.
    Limit("output", "fp8 queries", 1e-1, 3.74e-2, _FLASHMLA, 5.0e-1, _GLOBAL),
    Limit("lse", "fp8 queries", 1e-1, 3.94e-2, _FLASHMLA, 7.0e-1, _GLOBAL),
    Limit("merged", "fp8 queries", 8e-2, 2.67e-2, _FLASHMLA, 1.7e-1, _BASE),
    # fa3 rounds the scales, and the values that they stand for, to bf16.
    Limit("output", "fp8 scaled", 5e-2, 1.9e-2, _FA3, 5.0, _SCALES),
    Limit("lse", "fp8 scaled", 0.15, 6.68e-2, _FA3, 14.0, _SCALES),
    # An LSE of 16 bits: at 8 to 16 nats bfloat16 has steps of 0.06. Its base is told by a row of its own.
    Limit("lse", "16-bit LSE", 0.2, 7.55e-2, _TRITON, 7.0e-1, _GLOBAL),
    Limit("merged", "16-bit LSE", 0.1, 3.5e-2, _TRITON, 9.8e-1, "the heaviest rank left out of the merge"),
)
_BY_KEY: Final = {(item.quantity, item.precision): item for item in LIMITS}


def limit_for(
    quantity: str, kv_dtype: str, *, scaled: bool = False, fp8_queries: bool = False, lse_bits: int = 32
) -> Limit:
    """Find the limit of a quantity for a KV dtype; `scaled` is for an FP8 cache whose scales are not 1."""
    precision = "fp8" if kv_dtype.startswith("fp8") else kv_dtype
    if lse_bits == 16 and quantity != "output":
        return _BY_KEY[quantity, "16-bit LSE"]
    if fp8_queries:
        return _BY_KEY[quantity, "fp8 queries"]
    return _BY_KEY[quantity, f"{precision} scaled" if scaled else precision]
