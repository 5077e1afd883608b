"""A diagnosis of a log, for a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlacheck.frozen import as_dict
from mlacheck.report.layout import wrap, wrap_command
from mlacheck.report.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.diagnosis.diagnose import Diagnosis, Result, Rule
    from mlacheck.finding import Finding

_LONGEST = 300


def text_lines(result: Result, width: int) -> Iterator[str]:
    """Lay a diagnosis out."""
    version = f"{result.engine} {result.version}" if result.version else f"{result.engine}, version unknown"
    yield from wrap(f"{version} ({result.version_from})", width, "", "  ")
    for one in result.diagnoses:
        yield ""
        yield from _diagnosis(one, result, width)
    for strange in result.strange:
        yield ""
        said = f"line {strange.line} holds an exception that no rule knows: {strange.text[:_LONGEST]}"
        yield from wrap(said, width, "", "  ")
        if strange.place:
            yield from wrap(f"raised in {strange.place}", width, "  ", "    ")
        if strange.near:
            yield from wrap(f"rules about that place: {', '.join(strange.near)}", width, "  ", "    ")
    if result.command is not None:
        yield ""
        yield from wrap(f"launch line ({result.command_from}):", width, "")
        yield from wrap_command(result.command, width, "  ")
    for assumption in result.report.assumptions if result.report else ():
        yield from wrap(f"assumed: {assumption}", width, "  ", "    ")
    for finding in result.unsaid:
        yield from wrap(
            f"{finding.level}[{finding.id}] {finding.slug}: {finding.message}", width, "  ", "    "
        )
        yield from wrap(f"more: mlacheck explain {finding.id}", width, "    ")
    lines = _corrected(result)
    for number, (text, command, cost) in enumerate(lines):
        if not number:
            yield ""
            yield from wrap("corrected lines, checked against every rule:", width)
        yield from wrap(text, width, "  ", "    ")
        yield from wrap_command(command, width, "    ")
        if cost:
            yield from wrap(cost, width, "    ")
    yield ""
    found = counted(len(result.diagnoses), "error")
    more = f"; {counted(len(result.unsaid), 'error')} of the launch line" if result.unsaid else ""
    yield f"read {counted(result.lines, 'line')}: {found} that the rules know{more}"


def _diagnosis(one: Diagnosis, result: Result, width: int) -> Iterator[str]:
    times = f", {one.count} times" if one.count > 1 else ""
    yield from wrap(f"line {one.line}{times}: {one.said[:_LONGEST]}", width, "", "  ")
    if one.place:
        yield from wrap(f"raised in {one.place}", width, "  ", "    ")
    if one.note:
        yield from wrap(one.note, width, "  ", "    ")
    for rule in one.rules:
        yield from wrap(f"{rule.level}[{rule.id}] {rule.slug}: {rule.title}", width, "  ", "    ")
        if rule.versions:
            ends = (
                rule.versions[0] if len(rule.versions) == 1 else f"{rule.versions[0]} to {rule.versions[-1]}"
            )
            yield from wrap(f"in {result.engine} {ends}", width, "    ")
        if rule.confirmed:
            yield from wrap("it fires on the launch line of this log", width, "    ")
        if not _corrected(result) or not rule.confirmed:
            for remedy in rule.remedies:
                yield from wrap(f"fix: {remedy}", width, "    ", "      ")
    if one.rules:
        yield from wrap(f"more: mlacheck explain {one.rules[0].id}", width, "    ")


def _corrected(result: Result) -> list[tuple[str, str, str]]:
    findings: tuple[Finding, ...] = result.report.findings if result.report else ()
    remedies = [remedy for finding in findings if finding.level == "error" for remedy in finding.remedies]
    seen: dict[str, tuple[str, str, str]] = {}
    for remedy in remedies:
        if remedy.command:
            seen.setdefault(remedy.command, (remedy.text, remedy.command, remedy.cost or ""))
    return list(seen.values())


def to_dict(result: Result) -> dict[str, Any]:
    """Give a diagnosis as plain data."""
    return {
        "schema_version": 1,
        "engine": {"name": result.engine, "version": result.version, "from": result.version_from},
        "lines": result.lines,
        "errors": [_error(one) for one in result.diagnoses],
        "unknown_exceptions": [as_dict(one) for one in result.strange],
        "command": None if result.command is None else {"text": result.command, "from": result.command_from},
        "of_the_line": [
            {"id": one.id, "slug": one.slug, "level": one.level, "phase": one.phase, "message": one.message}
            for one in result.unsaid
        ],
        "corrected": [
            {"text": text, "command": command, "cost": cost} for text, command, cost in _corrected(result)
        ],
    }


def _error(one: Diagnosis) -> dict[str, Any]:
    return {
        "line": one.line,
        "said": one.said,
        "count": one.count,
        "place": one.place,
        "note": one.note,
        "rules": [_rule(rule) for rule in one.rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return as_dict(rule)
