"""The JSON report: one object per launch command, `schema_version` 1."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Finding, Location, Remedy, Report
    from mlacheck.report.writers import Style

SCHEMA_VERSION = 1


def write_json(reports: Sequence[Report], stream: TextIO, _: Style) -> None:
    """Write one object, or a list of several."""
    data = [to_dict(report) for report in reports]
    stream.write(f"{_indented(data[0] if len(data) == 1 else data)}\n")


def write_jsonl(reports: Sequence[Report], stream: TextIO, _: Style) -> None:
    """Write one object a line."""
    stream.writelines(f"{to_json(report)}\n" for report in reports)


def to_json(report: Report) -> str:
    """Write one report as JSON text, in ASCII: it survives every locale, and names that are not Unicode."""
    return json.dumps(to_dict(report), default=_plain)


def to_dict(report: Report) -> dict[str, Any]:
    """Give one report as plain data."""
    data: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if report.id is not None:
        data["id"] = report.id
    return data | {
        "command": report.command,
        "source": {"file": report.file, **_location(report.location)},
        "engine": {"name": report.engine, "version": report.engine_version},
        "target": report.target,
        "assumptions": report.assumptions,
        "verdict": report.verdict,
        "findings": [_finding(finding) for finding in report.findings],
        "resolved": {name: {"value": one.value, "from": one.origin} for name, one in report.resolved.items()},
        "undecided": [
            {"rule": one.rule, "title": one.title, "level": one.level, "needs": one.needs}
            for one in report.undecided
        ],
        "not_checked": report.not_checked,
        "decode": report.decode,
        "problems": [
            {"kind": one.kind, "message": one.message, "hint": one.hint, **_location(one.location)}
            for one in report.problems
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "slug": finding.slug,
        "level": finding.level,
        "phase": finding.phase,
        "message": finding.message,
        "because": finding.because,
        "location": _location(finding.location) if finding.location else None,
        "engine_stops_here": finding.engine_stops_here,
        "engine_message": finding.engine_message,
        "extrapolated": finding.extrapolated,
        "suppressed": finding.suppressed,
        "suppressed_by": finding.suppressed_by,
        "suppressed_reason": finding.suppressed_reason,
        "remedies": [_remedy(remedy) for remedy in finding.remedies],
        "source": finding.source,
        "evidence": finding.evidence,
        "confirm": finding.confirm,
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "kind": remedy.kind,
        "text": remedy.text,
        "command": remedy.command,
        "edits": remedy.edits,
        "cost": remedy.cost,
    }


def _location(location: Location | None) -> dict[str, Any]:
    if location is None:
        return {}
    file = {} if location.file is None else {"file": location.file}
    return {**file, "line": location.line, "column": location.column}


def _plain(value: object) -> object:
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


def _indented(value: object, margin: str = "\n") -> str:
    """Write what `json.dumps` writes with `indent=2`, for which it takes several times as long."""
    if isinstance(value, str):
        return _quoted(value)
    deeper = f"{margin}  "
    if isinstance(value, dict) and value:
        items = [f"{_quoted(key)}: {_indented(item, deeper)}" for key, item in value.items()]
        return f"{{{deeper}{f',{deeper}'.join(items)}{margin}}}"
    if isinstance(value, list | tuple | set | frozenset) and value:
        each = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        items = [_indented(item, deeper) for item in each]
        return f"[{deeper}{f',{deeper}'.join(items)}{margin}]"
    return "null" if value is None else json.dumps(value, default=_plain)
