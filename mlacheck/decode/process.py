"""Runs a decode check in child processes with a time limit; never imports torch."""

from __future__ import annotations

import itertools
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from mlacheck.decode.backend import BACKENDS, NO_KERNEL, NOT_COVERED
from mlacheck.decode.contract import row_names
from mlacheck.decode.convention import Convention
from mlacheck.decode.conversation import Conversation
from mlacheck.decode.problem import DecodeProblem, ProblemError
from mlacheck.decode.ranks import ranks_here
from mlacheck.decode.requirements import surely_missing
from mlacheck.decode.row import FAILS, NOT_RUN, DecodeReport, Row
from mlacheck.frozen import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SIMULATED: Final = "ranks are simulated one after another on one device: no collective is run"
BOUNDARY: Final = ("the engine's own code around the kernel is not run",)
_COMMAND: Final = (sys.executable, "-m", "mlacheck.decode.child")
# A row that hangs must leave time for the rows after it.
_LEAST_ROW_S: Final = 60.0
_SLOWER: Final = 4.0
_MOST_CHILDREN: Final = 8
# All processes of a torchrun count alike, so that those of one check meet each other.
_meetings: Final = itertools.count()


def run(
    problem_spec: Mapping[str, Any],
    backend: str,
    time_limit_s: float = 300.0,
    *,
    convention: Convention | None = None,
    target_sm: int | None = None,
    row_limit_s: float | None = None,
    on_progress: Callable[[str], None] | None = None,
    command: Sequence[str] = _COMMAND,
) -> DecodeReport:
    """Check one backend on one problem; every way to fail ends in a row with its cause.

    A row that ends or hangs its process is followed by the next one in a new process.
    """
    convention = convention or Convention()
    try:
        problem = DecodeProblem.from_dict(problem_spec)
    except ProblemError as error:
        return DecodeReport((Row("runs", NOT_RUN, detail=str(error)),), backend)
    if backend not in BACKENDS:
        why = f"no adapter decodes with {backend!r}; adapters exist for {', '.join(BACKENDS)}"
        row = Row("runs", NOT_RUN, detail=NOT_COVERED.get(backend, why))
        return DecodeReport((row,), backend, problem=problem.to_dict())
    ranks = ranks_here()
    request = {
        "problem": problem.to_dict(),
        "backend": backend,
        "convention": convention.to_dict(),
        "target_sm": target_sm,
        "time_limit": time_limit_s,
        "ranks": as_dict(ranks) if ranks else None,
    }
    row_limit = row_limit_s or max(_LEAST_ROW_S, _SLOWER * problem.estimate().seconds)
    began = time.monotonic()
    # Of several processes each has to tell the others.
    lacks = surely_missing(backend, target_sm) if ranks is None else None
    if lacks is not None:
        return DecodeReport(
            (Row("runs", NOT_RUN, detail=lacks),),
            backend,
            problem=problem.to_dict(),
            convention=convention.to_dict(),
            description=problem.describe(),
        )
    rows, about = _converse(problem, request, command, (time_limit_s, row_limit), on_progress or _quiet)
    told = (NO_KERNEL[backend],) if backend in NO_KERNEL else ()
    return DecodeReport(
        rows=tuple(rows),
        backend=backend,
        backend_version=about.get("version"),
        distribution=about.get("distribution"),
        device=about.get("device"),
        sm=about.get("sm"),
        problem=problem.to_dict(),
        convention=convention.to_dict(),
        environment=about.get("environment", {}),
        description=problem.describe(),
        seconds=time.monotonic() - began,
        boundary=(*told, *about.get("boundary", (SIMULATED,)), *BOUNDARY, *problem.notes),
    )


def _converse(
    problem: DecodeProblem,
    request: dict[str, Any],
    command: Sequence[str],
    limits: tuple[float, float],
    on_progress: Callable[[str], None],
) -> tuple[list[Row], dict[str, Any]]:
    """Go through the rows with as many children as it takes."""
    rows: list[Row] = []
    about: dict[str, Any] = {}
    limit, row_limit = limits
    deadline = time.monotonic() + limit
    alone = None  # why the ranks are simulated although torchrun started several processes
    for _ in range(_MOST_CHILDREN):
        talk = Conversation(command, on_progress)
        left = max(deadline - time.monotonic(), 0.1)
        asked = {**request, "skip": [row.name for row in rows], "meeting": next(_meetings)}
        if alone is not None:
            asked |= {"ranks": None, "alone_because": alone}
        talk.hold(asked, min(left, limit), min(row_limit, left))
        about = talk.about or about
        if talk.boundary is not None:
            about["boundary"] = talk.boundary
        alone = talk.alone or alone
        seen = {row.name for row in rows}
        rows += [row for row in talk.rows if row.name not in seen]
        if talk.failure is None and not talk.lost:
            return rows, about
        team = request["ranks"] if alone is None else None
        if talk.failure is None and team and team["rank"] != 0:
            continue  # rank 0 goes on, so that all meet again
        cause = talk.failure or "the GPU context was lost"
        place = talk.current or (rows[-1].name if rows else "runs")
        if talk.failure is not None and place not in {row.name for row in rows}:
            rows.append(Row(place, FAILS, detail=cause))
        seen_now = {row.name for row in rows}
        rest = [name for name in about.get("rows") or row_names(problem) if name not in seen_now]
        if not rest:
            return rows, about
        why = None
        # Of a process that ended by itself the other ones of its torchrun do not know.
        if place == "runs" or len(seen_now) == len(seen) or (team and talk.failure is not None):
            why = f"the child process ended in {place!r}"
        elif time.monotonic() >= deadline:
            why = f"the time limit of {limit:g} s is over"
        if why:
            return rows + [Row(name, NOT_RUN, detail=why) for name in rest], about
        on_progress(f"{cause}; going on with {rest[0]!r} in a new process")
    seen_now = {row.name for row in rows}
    rest = [name for name in about.get("rows") or row_names(problem) if name not in seen_now]
    why = f"{_MOST_CHILDREN} processes ended before"
    return rows + [Row(name, NOT_RUN, detail=why) for name in rest], about


def _quiet(_: str) -> None:
    """Tell nobody."""
