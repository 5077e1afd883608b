"""Evidence: what a decode check found, kept as JSON, and whether it speaks for another launch line."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SCHEMA: Final = 1
# What a launch line settles about a decode problem. Lengths, batch, seed and device say how hard one looked.
_SETTLED: Final = (
    "heads",
    "latent_dim",
    "rope_dim",
    "softmax_scale",
    "page_size",
    "kv_dtype",
    "q_len",
    "dcp_size",
    "interleave",
)
_BAD: Final = frozenset({"fails", "wrong", "unsupported by the kernel"})


class EvidenceError(ValueError):
    """A file is no decode report; the message says what and where."""


@frozen
class Kernel:
    """What a decode check is about, or what a launch line needs to be checked."""

    adapter: str
    problem_sha256: str
    lse_base: str | None  # what the merge takes the LSE for; None: what the kernel gives
    sm: int | None
    gpu: str | None  # key in the catalogue
    packages: Mapping[str, str]  # versions by distribution
    problem: Mapping[str, Any]


@frozen
class Evidence:
    """One kept check."""

    file: str
    kernel: Kernel
    device: str
    distribution: str | None  # the package that holds the kernel
    date: str
    rows: tuple[Mapping[str, Any], ...]

    @property
    def bad(self) -> tuple[str, ...]:
        """Name the rows that are wrong, fail, or that the kernel does not support."""
        return tuple(row["name"] for row in self.rows if row["state"] in _BAD)

    @property
    def not_run(self) -> tuple[str, ...]:
        """Name the rows that were not run."""
        return tuple(row["name"] for row in self.rows if row["state"] == "not run")

    def describe(self) -> str:
        """Say what was found, where and when, in one line."""
        passed = sum(row["state"] == "passes" for row in self.rows)
        bad = f", not: {', '.join(self.bad)}" if self.bad else ""
        open_ = f", not run: {', '.join(self.not_run)}" if self.not_run else ""
        package = self.distribution
        held = f" of {package} {self.kernel.packages.get(package, '')}" if package else ""
        what = f"{passed} of {len(self.rows)} rows pass{bad}{open_}"
        return f"{what}: {self.kernel.adapter}{held} on {self.device}, {self.date}"


def problem_sha256(problem: Mapping[str, Any]) -> str:
    """Hash what a launch line settles about a problem, as canonical JSON."""
    text = json.dumps(_settled(problem), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _settled(problem: Mapping[str, Any]) -> dict[str, Any]:
    settled = {name: problem.get(name) for name in _SETTLED}
    if settled["interleave"] in (None, 1):
        del settled["interleave"]  # one token a run, as in all that was kept before there were others
    return settled


def mismatches(evidence: Evidence, line: Kernel) -> tuple[str, ...]:
    """Say each way in which kept evidence is about something else than a launch line."""
    kept = evidence.kernel
    found = []
    if kept.adapter != line.adapter:
        found.append(f"backend {kept.adapter}, the line decodes with {line.adapter}")
    if kept.problem_sha256 != line.problem_sha256:
        found.append(_problems(kept.problem, line.problem) or "problem differs")
    if line.lse_base and kept.lse_base and kept.lse_base != line.lse_base:
        found.append(f"merged in base {kept.lse_base}, the line's engine merges in base {line.lse_base}")
    if line.sm is None:
        found.append(f"GPU {evidence.device}, the line's GPU is not known")
    elif (kept.sm, kept.gpu or line.gpu) != (line.sm, line.gpu or kept.gpu):
        found.append(f"GPU {evidence.device}, the line's is {line.gpu or f'SM{line.sm}'}")
    if (package := evidence.distribution) is not None:
        had, has = kept.packages.get(package), line.packages.get(package)
        if has is None:
            found.append(f"{package} {had}, the line does not tell which it will have")
        elif had != has:
            found.append(f"{package} {had}, the line has {has}")
    return tuple(found)


def _problems(kept: Mapping[str, Any], line: Mapping[str, Any]) -> str:
    kept, line = _settled(kept), _settled(line)
    differ = [name for name in _SETTLED if kept.get(name) != line.get(name)]
    return (
        "problem with "
        + ", ".join(f"{name} {kept.get(name, 1)}, the line has {line.get(name, 1)}" for name in differ)
        if differ
        else ""
    )


def read_evidence(path: Path) -> tuple[Evidence, ...]:
    """Read what `decode-check --format json` or `validate --decode-check --format json` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise EvidenceError(f"{path} is not JSON: {error}") from None
    found = [one for report in (data if isinstance(data, list) else [data]) for one in _checks(report, path)]
    if not found:
        raise EvidenceError(f"{path} holds no decode check: keep the output of decode-check --format json")
    return tuple(_evidence(path, about, rows) for about, rows in found)


def _checks(report: Any, path: Path) -> list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Find the checks in a report: its facts beside `rows`, or in each row of `decode`."""
    if not isinstance(report, dict):
        raise EvidenceError(f"{path} holds {type(report).__name__} where a report is expected")
    if isinstance(report.get("rows"), list):
        return [(_mapping(path, report.get("evidence"), "evidence"), report["rows"])]
    by_check: dict[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {}
    decode = report.get("decode")
    for row in decode if isinstance(decode, list) else []:
        about = _mapping(path, row.get("evidence") if isinstance(row, dict) else None, "decode[].evidence")
        by_check.setdefault(json.dumps(about, sort_keys=True), (about, []))[1].append(row)
    return list(by_check.values())


def _evidence(path: Path, about: Mapping[str, Any], rows: Sequence[Any]) -> Evidence:
    if about.get("schema_version") != SCHEMA:
        raise EvidenceError(
            f"{path}: evidence.schema_version is {about.get('schema_version')!r}, not {SCHEMA}"
        )
    if not rows:
        raise EvidenceError(f"{path}: the check has no row")
    for row in rows:
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("name", "state")):
            raise EvidenceError(f"{path}: a row without name and state: {row!r:.60}")
    problem = _mapping(path, about.get("problem"), "evidence.problem")
    digest = problem_sha256(problem)
    if about.get("problem_sha256") != digest:
        raise EvidenceError(f"{path}: problem_sha256 is not the hash of its problem; was it edited?")
    packages = _mapping(path, about.get("packages"), "evidence.packages")
    text = {name: about.get(name) for name in ("adapter", "device", "date")}
    if wrong := [name for name, value in text.items() if not isinstance(value, str)]:
        raise EvidenceError(f"{path}: evidence.{wrong[0]} is {text[wrong[0]]!r}, not text")
    sm = about.get("sm")
    kernel = Kernel(
        adapter=str(text["adapter"]),
        problem_sha256=digest,
        lse_base=_base(about.get("lse_base"), rows),
        sm=sm if isinstance(sm, int) else None,
        gpu=_gpu_key(str(text["device"])),
        packages={str(name): str(version) for name, version in packages.items()},
        problem=problem,
    )
    held = about.get("distribution")
    return Evidence(
        str(path),
        kernel,
        str(text["device"]),
        held if isinstance(held, str) else None,
        str(text["date"]),
        tuple(rows),
    )


def _base(merged_in: object, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Give the base of the merge: what was asked for, else the one that the kernel was seen to give."""
    if isinstance(merged_in, str):
        return merged_in
    seen = next((row.get("measured") for row in rows if row["name"] == "lse base"), None)
    return seen if isinstance(seen, str) else None


def _gpu_key(device: str) -> str | None:
    from mlacheck.probes.hardware import Gpu, find_gpu  # reads the catalogue

    found = find_gpu(device)
    return found.key if isinstance(found, Gpu) else None


def _mapping(path: Path, value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise EvidenceError(
            f"{path}: {where} is {type(value).__name__}, not an object; is this a decode report?"
        )
    return value
