"""A diagnosis of a log, for a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlacheck.frozen import as_dict
from mlacheck.probes.engine import recorded_versions
from mlacheck.report.layout import wrap, wrap_command
from mlacheck.report.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.diagnosis.diagnose import Diagnosis, Result, Rule
    from mlacheck.finding import Finding

_LONGEST = 300


def text_lines(result: Result, width: int) -> Iterator[str]:
    """Lay a diagnosis out."""
    if result.engine is None:
        yield from wrap("no sign of an engine in this log: --engine E says whose it is", width, "", "  ")
    else:
        yield from wrap(f"{_version(result)} ({result.version_from})", width, "", "  ")
    if result.version is None and result.engine is not None:
        yield from wrap("--engine-version V narrows the rules and checks the line", width, "  ", "    ")
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
    if not result.diagnoses and not result.unsaid:
        yield from wrap(_next_step(result), width, "", "  ")


def _version(result: Result) -> str:
    if result.version is not None:
        return f"{result.engine} {result.version}"
    if not result.versions:
        return f"{result.engine}, version unknown"
    return f"{result.engine} {_range(result.versions, recorded_versions(result.engine))}"


def _range(versions: Sequence[str], known: Sequence[str]) -> str:
    """Name versions as a range where none between them is missing."""
    first, last = versions[0], versions[-1]
    between = known[known.index(first) : known.index(last) + 1] if {first, last} <= set(known) else ()
    if len(versions) < 3 or list(between) != list(versions):
        return " or ".join(versions)
    return f"{first} to {last}"


def _next_step(result: Result) -> str:
    """Say what to do about a log that says nothing."""
    if result.report is not None:
        return (
            "next: the launch line passes the rules too; give the whole log, from the line with the "
            "arguments to the end of the traceback"
        )
    if result.command is not None or result.strange:
        return (
            'next: check the launch line itself, mlacheck validate --args "COMMAND" --engine-version V --gpu '
            "NAME; an error may stand earlier in the log"
        )
    return (
        "next: give the server's whole log, from the line with its arguments to the end of the traceback "
        "(kubectl logs --previous after a restart), or check the launch line: "
        'mlacheck validate --args "COMMAND"'
    )


def _diagnosis(one: Diagnosis, result: Result, width: int) -> Iterator[str]:
    times = f", {one.count} times" if one.count > 1 else ""
    yield from wrap(f"line {one.line}{times}: {one.said[:_LONGEST]}", width, "", "  ")
    if one.place:
        yield from wrap(f"raised in {one.place}", width, "  ", "    ")
    if one.note:
        yield from wrap(one.note, width, "  ", "    ")
    if one.title:
        yield from wrap(f"{one.title}; what helps, in this order:", width, "  ", "    ")
        for fix in one.fixes:
            yield from wrap(f"- {fix}", width, "    ", "      ")
        if one.rules:
            may = ", ".join(f"{rule.slug} ({rule.id})" for rule in one.rules)
            yield from wrap(f"rules that the line may break: {may}", width, "  ", "    ")
        return
    for rule in one.rules:
        yield from wrap(f"{rule.level}[{rule.id}] {rule.slug}: {rule.title}", width, "  ", "    ")
        if rule.versions:
            ends = _range(rule.versions, recorded_versions(result.engine))
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
        "engine": {
            "name": result.engine,
            "version": result.version,
            "versions": list(result.versions),
            "from": result.version_from,
        },
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
        "title": one.title,
        "fixes": list(one.fixes),
        "rules": [_rule(rule) for rule in one.rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return as_dict(rule)
