"""SARIF 2.1.0, as code scanning services read it."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TextIO
from urllib.parse import quote

from mlacheck import __version__
from mlacheck.builtin import UNDECIDED
from mlacheck.report.place import checkout, place, relative, why_unknown
from mlacheck.report.rule_help import rule_help

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Finding, Report
    from mlacheck.report.writers import Style

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_RELEASE: Final = re.compile(r"\d+\.\d+\.\d+")


def write_sarif(reports: Sequence[Report], stream: TextIO, style: Style) -> None:
    """Write one run; only rules that fired are described."""
    json.dump(to_sarif(reports, complete=style.complete), stream, indent=2, default=str)
    stream.write("\n")


def to_sarif(reports: Sequence[Report], *, complete: bool = True) -> dict[str, Any]:
    """Give the log as plain data."""
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for report in reports:
        for finding in report.findings:
            rules.setdefault(finding.id, _rule(finding))
            result = _result(report, finding, list(rules).index(finding.id))
            results.append(_fingerprinted(result, report, finding.id, seen))
        why = why_unknown(report)
        if why is not None:
            rules.setdefault(UNDECIDED.id, _rule(UNDECIDED.finding(why)))
            # `open`: what was supplied does not decide it. Such a result has no level.
            result = {
                "ruleId": UNDECIDED.id,
                "ruleIndex": list(rules).index(UNDECIDED.id),
                "kind": "open",
                "level": "none",
                "message": {"text": why},
                **_located(report, None),
            }
            results.append(_fingerprinted(result, report, UNDECIDED.id, seen))
    driver: dict[str, Any] = {"name": "mlacheck", "version": __version__, "rules": list(rules.values())}
    release = _RELEASE.match(__version__)
    if release:
        driver["semanticVersion"] = release.group()
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": complete}],
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> dict[str, Any]:
    title = finding.title or finding.slug.replace("-", " ")
    text = rule_help(finding)
    return {
        "id": finding.id,
        "name": "".join(part.capitalize() for part in re.split(r"[-.]", finding.slug)),
        "shortDescription": {"text": title},
        "fullDescription": {"text": finding.explain or title},
        "help": {"text": text.replace("**", "").replace("`", ""), "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[finding.level]},
        "properties": {"tags": [finding.phase], "slug": finding.slug},
    }


def _result(report: Report, finding: Finding, index: int) -> dict[str, Any]:
    text = "\n".join([finding.message, *(f"because: {one}" for one in finding.because), *_fixes(finding)])
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": _LEVELS[finding.level],
        "message": {"text": text},
        **_located(report, finding),
        "properties": {
            "phase": finding.phase,
            "engine": f"{report.engine} {report.engine_version or 'unknown'}",
            "command": report.command,
            "engineStopsHere": finding.engine_stops_here,
            "extrapolated": finding.extrapolated,
        },
    }
    if report.decode:
        result["properties"]["decode"] = list(report.decode)
    if finding.suppressed:
        kind = "inSource" if finding.suppressed_by == "comment" else "external"
        result["suppressions"] = [{"kind": kind, "justification": finding.suppressed_reason or ""}]
    return result


def _fixes(finding: Finding) -> list[str]:
    return [
        f"fix: {remedy.text}" + (f": {remedy.command}" if remedy.command else "")
        for remedy in finding.remedies
    ]


def _located(report: Report, finding: Finding | None) -> dict[str, Any]:
    if report.file is None:
        return {}
    _, line, column = place(report, finding)
    file = (finding.location.file if finding and finding.location else None) or report.file
    artifact: dict[str, Any] = {"uri": _uri(file)}
    if not _is_outside(file):
        artifact["uriBaseId"] = "%SRCROOT%"
    region = {"startLine": line, "startColumn": column}
    return {"locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]}


def _uri(file: str) -> str:
    path = relative(file, checkout())
    return PurePath(path).as_uri() if _is_outside(file) and PurePath(path).is_absolute() else quote(path)


def _is_outside(file: str) -> bool:
    path = relative(file, checkout())
    return path.startswith("..") or PurePath(path).is_absolute()


def _fingerprinted(result: dict[str, Any], report: Report, rule: str, seen: dict[str, int]) -> dict[str, Any]:
    """Know a result by its rule, file and command, not by its line; a second one of them gets a number.

    The key is the one by which GitHub follows an alert from one upload to the next.
    """
    text = "\n".join(
        (rule, relative(report.file, checkout()) if report.file else "", report.normalised or report.command)
    )
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    seen[digest] = seen.get(digest, 0) + 1
    return {**result, "partialFingerprints": {"primaryLocationLineHash": f"{digest}:{seen[digest]}"}}
