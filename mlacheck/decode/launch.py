"""The decode check of one launch line: model config and sizes in, report out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlacheck.decode.problem import DecodeProblem, ProblemError
from mlacheck.decode.process import run
from mlacheck.decode.row import NOT_RUN, DecodeReport, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def decode_check(
    model_config: Mapping[str, Any],
    *,
    backend: str,
    dcp_size: int = 1,
    tp_size: int = 1,
    dp_size: int = 1,
    page_size: int = 1,
    kv_cache_dtype: str = "auto",
    q_len: int = 1,
    context_len: int | None = None,
    batch: int | None = None,
    lse_base: str | None = None,
    empty_ranks: str = "lse",
    target_sm: int | None = None,
    device: str = "auto",
    seed: int = 0,
    time_limit: float = 300.0,
    on_progress: Callable[[str], None] | None = None,
) -> DecodeReport:
    """Check a decode kernel on the problem that a launch poses.

    `page_size` is the one the kernel sees; `lse_base` ("e" or "2") and `empty_ranks` say how the engine
    merges; `target_sm` is the launch's GPU: where it is not this machine's, nothing runs.
    """
    try:
        problem = DecodeProblem.from_config(
            model_config,
            tp_size=tp_size,
            dp_size=dp_size,
            dcp_size=dcp_size,
            page_size=page_size,
            kv_cache_dtype=kv_cache_dtype,
            q_len=q_len,
            context_len=context_len,
            batch=batch,
            device=device,
            seed=seed,
        )
    except ProblemError as error:
        return DecodeReport((Row("runs", NOT_RUN, detail=str(error)),), backend)
    return run(
        problem.to_dict(),
        backend,
        time_limit,
        lse_base=lse_base,
        empty_ranks=empty_ranks,
        target_sm=target_sm,
        on_progress=on_progress,
    )
