"""The rows of the contract, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mlacheck.decode.problem import DecodeProblem


# The ways to merge with collectives, among processes that torchrun started.
AG_RS: Final = "all-gather + reduce-scatter"
A2A: Final = "all-to-all"
GRAPH: Final = "cuda graph"
TIME: Final = "kernel time"


def row_names(
    problem: DecodeProblem, scales: str = "separate", *, processes: bool = False
) -> tuple[str, ...]:
    """Name the rows that apply to a problem, in order.

    `scales` are the FP8 scales that the kernel takes; `processes`: torchrun started several.
    """
    several = problem.dcp_size > 1
    return (
        "runs",
        "one-rank decode",
        *(("lse returned", "lse base", "rank output", "rank lse", "merged") if several else ()),
        *(("ragged lengths", "empty ranks") if several else ()),
        *((AG_RS, A2A) if several and processes else ()),
        *(("causal mask",) if problem.q_len > 1 else ()),
        *(("kv scales",) if problem.kv_dtype.startswith("fp8") and scales != "none" else ()),
        "page table",
        *(("padding",) if problem.page_size > 1 else ()),
        *(("long context",) if problem.long_context else ()),
        GRAPH,
        TIME,
    )
