"""Findings that are accepted as they are: a file of rule, path and command, whatever line they stand on."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from mlacheck.finding import judged
from mlacheck.frozen import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.finding import Finding, Report

SCHEMA_VERSION: Final = 1
BASELINE: Final = "baseline"
_RENEW: Final = "--write-baseline makes a new one"
_KEYS: Final = ("rule", "path", "command")

Key = tuple[str, str, str]


class BaselineError(Exception):
    """A baseline that cannot be read or written."""


def write_baseline(path: Path, reports: Sequence[Report]) -> int:
    """Accept every live finding; give their number. Commands are hashed: they may hold keys and tokens."""
    entries = {_key(path, report, finding): finding.slug for report in reports for finding in report.live}
    rows = [{**dict(zip(_KEYS, key, strict=True)), "slug": slug} for key, slug in sorted(entries.items())]
    text = json.dumps({"schema_version": SCHEMA_VERSION, "findings": rows}, indent=2)
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise BaselineError(f"baseline {path} cannot be written: {error.strerror}") from error
    return len(entries)


def read_baseline(path: Path) -> frozenset[Key]:
    """Read what is accepted."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(
            f"baseline {path} cannot be read: {error.strerror}; --write-baseline {path} makes one"
        ) from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"baseline {path} is not JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise BaselineError(f"baseline {path} has schema_version {version!r}, not {SCHEMA_VERSION}; {_RENEW}")
    return frozenset(_read(path, data.get("findings")))


def _read(path: Path, rows: Any) -> Iterator[Key]:
    if not isinstance(rows, list):
        raise BaselineError(f"baseline {path} has no list of findings; {_RENEW}")
    for number, row in enumerate(rows, 1):
        values = [row.get(key) if isinstance(row, dict) else None for key in _KEYS]
        if not all(isinstance(value, str) for value in values):
            raise BaselineError(
                f"baseline {path}: finding {number} needs the texts {', '.join(_KEYS)}; {_RENEW}"
            )
        rule, file, command = map(str, values)
        yield rule, file, command


def apply_baseline(
    path: Path, accepted: frozenset[Key], reports: Sequence[Report]
) -> tuple[list[Report], int]:
    """Silence what is accepted; give the number of entries that silence nothing any more."""
    used: set[Key] = set()
    done = []
    for report in reports:
        findings = []
        for finding in report.findings:
            key = _key(path, report, finding)
            if key in accepted and not finding.suppressed:
                used.add(key)
                reason = f"accepted in {path.name}"
                findings.append(
                    replace(finding, suppressed=True, suppressed_by=BASELINE, suppressed_reason=reason)
                )
            else:
                findings.append(finding)
        done.append(judged(replace(report, findings=tuple(findings))))
    return done, len(accepted - used)


def _key(path: Path, report: Report, finding: Finding) -> Key:
    import hashlib  # slow to import, and few runs have a baseline

    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - a path that need not exist
    file = PurePath(os.path.relpath(report.file, folder)).as_posix() if report.file else ""
    command = report.normalised or report.command
    return finding.id, file, hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()[:32]
