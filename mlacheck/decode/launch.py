"""The decode checks of one launch line: resolved arguments and model config in, reports out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlacheck.decode.convention import Convention
from mlacheck.decode.engine import handling, knows, read_line, uncovered
from mlacheck.decode.problem import DecodeProblem, ProblemError
from mlacheck.decode.process import run
from mlacheck.decode.row import NOT_RUN, DecodeReport, Row
from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NO_BACKEND = "the line's decode backend is not decided: name the GPU with --gpu, or the backend in the line"
# How a resolved value reads that differs from GPU to GPU.
_UNDECIDED = "one of "


@frozen
class Overrides:
    """What a user sets instead of what the launch line says."""

    context_len: int | None = None
    batch: int | None = None
    q_len: int | None = None
    device: str = "auto"
    seed: int = 0
    time_limit: float = 300.0


def check_launch(
    engine: str,
    version: str | None,
    resolved: Mapping[str, Any],
    config: Mapping[str, Any],
    *,
    target_sm: int | None = None,
    overrides: Overrides | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> tuple[DecodeReport, ...]:
    """Check each kernel that the line decodes with: plain decode, and verify where it runs on another one."""
    overrides = overrides or Overrides()
    return tuple(
        _answer(posed, overrides, target_sm, on_progress)
        for posed in pose(engine, version, resolved, config, overrides)
    )


@frozen
class Posed:
    """A kernel that a launch line decodes with, and what it is asked there."""

    adapter: str
    problem: DecodeProblem
    convention: Convention


def pose(
    engine: str,
    version: str | None,
    resolved: Mapping[str, Any],
    config: Mapping[str, Any],
    overrides: Overrides | None = None,
) -> tuple[Posed | DecodeReport, ...]:
    """Give the decode problems that a line poses, plain decode and verify, or why there is none."""
    overrides = overrides or Overrides()
    backend, verify = resolved.get("decode_backend"), resolved.get("verify_backend")
    if why := uncovered(engine, resolved):
        return (_not_run(why, str(backend or "unknown")),)
    sizes = read_line(engine, resolved)
    q_len = overrides.q_len or _size(sizes.get("q_len"), 1)
    if q_len > 1 and isinstance(verify, str) and verify != backend:
        kernels = [(backend, 1), (verify, q_len)]
    else:
        kernels = [(backend, q_len)]
    return tuple(
        pose_kernel(engine, version, name, {**sizes, "q_len": tokens}, config, overrides)
        for name, tokens in kernels
    )


def pose_kernel(
    engine: str,
    version: str | None,
    backend: object,
    sizes: Mapping[str, Any],
    config: Mapping[str, Any],
    overrides: Overrides,
) -> Posed | DecodeReport:
    """Give the problem that a backend is posed by the sizes of a line, or why there is none."""
    if not isinstance(backend, str) or backend.startswith(_UNDECIDED):
        return _not_run(_NO_BACKEND, str(backend or "unknown"))
    if not knows(engine, version, backend):
        return _not_run(f"no adapter for {engine}'s {backend}: its kernel is not checked", backend)
    pages, q_len = _size(sizes.get("page_size"), 1), _size(sizes.get("q_len"), 1)
    comm = str(sizes.get("comm") or "ag_rs")

    def problem(*, copied_kv: bool = False) -> DecodeProblem:
        return DecodeProblem.from_config(
            config,
            tp_size=_size(sizes.get("tp_size"), 1),
            dp_size=_size(sizes.get("dp_size"), 1),
            dcp_size=_size(sizes.get("dcp_size"), 1),
            interleave=_size(sizes.get("interleave"), 1),
            page_size=pages,
            kv_cache_dtype=str(sizes.get("kv_cache_dtype") or "auto"),
            copied_kv=copied_kv,
            q_len=q_len,
            context_len=overrides.context_len,
            batch=overrides.batch,
            device=overrides.device,
            seed=overrides.seed,
        )

    try:
        plain = problem()
        found = handling(engine, version, backend, {**plain.to_dict(), "comm": comm})
        if found is None or found.adapter is None:
            why = f"{engine} {version or ''} decodes nothing of these sizes with {backend}"
            return _not_run((found and found.not_covered) or why, backend)
        posed = problem(copied_kv=True) if found.kv == "query" else plain
    except ProblemError as error:
        return _not_run(str(error), backend)
    convention = Convention(
        engine=f"{engine} {version}" if version else engine,
        backend=backend,
        lse_base=found.lse_base,
        empty_ranks=found.empty_ranks,
        comm=comm,
        sums=found.sums,
        never_merges=found.never_merges,
        several=found.several,
        options=dict(found.options),
    )
    seen = min(found.queries or q_len, q_len)
    notes = (f"{q_len} query tokens: {convention.who} {found.several}",) if seen < q_len else ()
    changed = posed.with_(page_size=found.page or pages, q_len=seen, notes=(*posed.notes, *notes))
    return Posed(found.adapter, changed, convention)


def check_backend(
    engine: str,
    version: str | None,
    backend: str,
    sizes: Mapping[str, Any],
    config: Mapping[str, Any],
    *,
    overrides: Overrides | None = None,
    target_sm: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> DecodeReport:
    """Check the kernel of an engine's backend on sizes given one by one, by their names in `read_line`."""
    overrides = overrides or Overrides()
    sizes = {**sizes, "q_len": overrides.q_len or 1}
    posed = pose_kernel(engine, version, backend, sizes, config, overrides)
    return _answer(posed, overrides, target_sm, on_progress)


def _answer(
    posed: Posed | DecodeReport,
    overrides: Overrides,
    target_sm: int | None,
    on_progress: Callable[[str], None] | None,
) -> DecodeReport:
    if isinstance(posed, DecodeReport):
        return posed
    return run(
        posed.problem.to_dict(),
        posed.adapter,
        overrides.time_limit,
        convention=posed.convention,
        target_sm=target_sm,
        on_progress=on_progress,
    )


def decode_check(
    model_config: Mapping[str, Any],
    *,
    backend: str,
    dcp_size: int = 1,
    interleave: int = 1,
    tp_size: int = 1,
    dp_size: int = 1,
    page_size: int = 1,
    kv_cache_dtype: str = "auto",
    q_len: int = 1,
    context_len: int | None = None,
    batch: int | None = None,
    lse_base: str | None = None,
    empty_ranks: str = "merge",
    comm: str = "ag_rs",
    target_sm: int | None = None,
    device: str = "auto",
    seed: int = 0,
    time_limit: float = 300.0,
    on_progress: Callable[[str], None] | None = None,
) -> DecodeReport:
    """Check an adapter's kernel on sizes given one by one.

    `page_size` is the one the kernel sees; `lse_base` ("e" or "2"), `empty_ranks` and `comm` say how ranks
    are merged; `target_sm` is the GPU asked about: where it is not this machine's, nothing runs.
    """
    try:
        problem = DecodeProblem.from_config(
            model_config,
            tp_size=tp_size,
            dp_size=dp_size,
            dcp_size=dcp_size,
            interleave=interleave,
            page_size=page_size,
            kv_cache_dtype=kv_cache_dtype,
            q_len=q_len,
            context_len=context_len,
            batch=batch,
            device=device,
            seed=seed,
        )
    except ProblemError as error:
        return _not_run(str(error), backend)
    return run(
        problem.to_dict(),
        backend,
        time_limit,
        convention=Convention(lse_base=lse_base, empty_ranks=empty_ranks, comm=comm),
        target_sm=target_sm,
        on_progress=on_progress,
    )


def _not_run(why: str, backend: str) -> DecodeReport:
    return DecodeReport((Row("runs", NOT_RUN, detail=why),), backend)


def _size(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
