"""`validate --evidence`: kept decode reports beside a launch line, at info level where they speak for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlacheck.builtin import BAD_EVIDENCE, EVIDENCE, OTHER_EVIDENCE
from mlacheck.decode.evidence import (
    Evidence,
    EvidenceError,
    Kernel,
    mismatches,
    problem_sha256,
    read_evidence,
)
from mlacheck.facts import is_known
from mlacheck.finding import Finding, judged
from mlacheck.frozen import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mlacheck.decode import Overrides
    from mlacheck.finding import Report
    from mlacheck.probes.model import ModelConfig
    from mlacheck.probes.target import Target


def read_all(paths: Iterable[str]) -> tuple[Evidence, ...]:
    """Read kept reports; one that cannot be read is bad usage."""
    try:
        return tuple(kept for path in paths for kept in read_evidence(Path(path)))
    except EvidenceError as error:
        raise click.UsageError(f"--evidence {error}") from None


def add_evidence(
    report: Report,
    model: ModelConfig | None,
    target: Target,
    evidence: Sequence[Evidence],
    overrides: Overrides | None = None,
) -> Report:
    """Add a finding for each kept check: what it found, or what it is about instead."""
    kernels, why_none = _kernels(report, model, target, overrides)
    found = tuple(_finding(kept, kernels, why_none) for kept in evidence)
    return judged(replace(report, findings=(*report.findings, *found)))


def _finding(kept: Evidence, kernels: Sequence[Kernel], why_none: str) -> Finding:
    if not kernels:
        return OTHER_EVIDENCE.finding(f"{kept.file} says nothing of this line: {why_none}")
    differs = min((mismatches(kept, kernel) for kernel in kernels), key=len)
    if differs:
        return OTHER_EVIDENCE.finding(
            f"{kept.file} is about something else: {'; '.join(differs)}", because=(kept.describe(),)
        )
    shows = BAD_EVIDENCE if kept.bad else EVIDENCE
    problem = f"problem {kept.kernel.problem_sha256[:12]}"
    return shows.finding(f"{kept.file}: {kept.describe()}", because=(problem,))


def _kernels(
    report: Report, model: ModelConfig | None, target: Target, overrides: Overrides | None
) -> tuple[tuple[Kernel, ...], str]:
    """Give the kernels that a line decodes with, or why none can be named."""
    from mlacheck.decode.launch import Posed, pose  # only for a line that can be checked

    stops = next((one for one in report.findings if one.level == "error" and one.engine_stops_here), None)
    if stops is not None:
        return (), f"the engine refuses it ({stops.id})"
    if model is None:
        return (), "the model's config is not known: --model PATH supplies it"
    resolved = {name: one.value for name, one in report.resolved.items()}
    posed = pose(report.engine, report.engine_version, resolved, model.config, overrides)
    sm, gpu = report.target.get("sm"), report.target.get("gpu")
    kernels = []
    for one in posed:
        if not isinstance(one, Posed):
            continue
        problem = one.problem.to_dict()
        kernels.append(
            Kernel(
                adapter=one.adapter,
                problem_sha256=problem_sha256(problem),
                lse_base=one.convention.lse_base if one.problem.dcp_size > 1 else None,
                sm=sm if isinstance(sm, int) else None,
                gpu=gpu if isinstance(gpu, str) and not gpu.startswith("sm") else None,
                packages=_packages(target, report),
                problem=problem,
            )
        )
    why = "; ".join(one.rows[0].detail for one in posed if not isinstance(one, Posed))
    return tuple(kernels), why


def _packages(target: Target, report: Report) -> dict[str, str]:
    """Give the versions that the line will have, by distribution; the engine's own wheel may hold kernels."""
    from mlacheck.probes.distribution import DISTRIBUTIONS  # same

    known = {**target.packages, "flashinfer": target.flashinfer}
    own = dict.fromkeys(DISTRIBUTIONS.get(report.engine, ()), str(report.engine_version))
    return own | {
        distribution: str(sourced.value)
        for name, sourced in known.items()
        if is_known(sourced.value) and sourced.value is not None
        for distribution in DISTRIBUTIONS[name]
    }
