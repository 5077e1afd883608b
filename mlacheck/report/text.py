"""The report a person reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias

from mlacheck.ruleset.machine import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mlacheck.finding import Finding, Report

# A line in pieces of one style each; rich is loaded only where there is a terminal to show styles.
Line: TypeAlias = tuple[tuple[str, str], ...]

_STYLES: Final = {
    "error": "bold red",
    "warning": "bold yellow",
    "info": "cyan",
    "unknown": "bold magenta",
    "ok": "bold green",
}
_RUNS: Final = (
    "prefill_backend",
    "decode_backend",
    "verify_backend",
    "draft_backend",
    "page_size",
    "kv_cache_dtype",
)
_STOPS: Final = "the engine stops here"
_LATER: Final = {
    "first-decode": "the engine starts, then fails at graph capture or the first decode",
    "silent": "the engine starts and says nothing",
}


def write_text(reports: Iterable[Report], stream: TextIO, *, verbose: bool = False) -> None:
    """Write reports for a person: in colour on a terminal that wants it, plain elsewhere."""
    write = _styled_writer(stream) if _wants_colour(stream) else _plain_writer(stream)
    counts = {"error": 0, "warning": 0, "info": 0}
    undecided = commands = 0
    for report in reports:
        commands += 1
        undecided += len(report.undecided)
        for finding in report.findings:
            counts[finding.level] += 1
        for line in _report(report, verbose=verbose):
            write(line)
    told = ", ".join(
        f"{number} {level}{'s' if number != 1 else ''}" for level, number in counts.items() if number
    )
    tail = f"; {undecided} rule{'s' if undecided != 1 else ''} undecided" if undecided else ""
    write(_line(f"checked {commands} command{'s' if commands != 1 else ''}: {told or 'no findings'}{tail}"))


def _wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def _plain_writer(stream: TextIO) -> Callable[[Line], None]:
    def write(line: Line) -> None:
        stream.write("".join(text for text, _ in line) + "\n")

    return write


def _styled_writer(stream: TextIO) -> Callable[[Line], None]:
    from rich.console import Console  # only for a terminal
    from rich.text import Text  # same

    console = Console(file=stream, force_terminal=True)

    def write(line: Line) -> None:
        console.print(Text.assemble(*line), soft_wrap=True, highlight=False)

    return write


def _report(report: Report, *, verbose: bool) -> Iterator[Line]:
    yield _head(report)
    for assumption in report.assumptions:
        yield _line(f"  assumed: {assumption}", "dim")
    for problem in report.problems:
        place = (
            f" (line {problem.location.line}, column {problem.location.column})" if problem.location else ""
        )
        yield _line(f"  {problem.message}{place}", "yellow")
        yield _line(f"    {problem.hint}")
    yield from _resolved(report, verbose=verbose)
    for finding in report.findings:
        yield _line("")
        yield from _finding(report, finding, verbose=verbose)
    yield from _boundary(report, verbose=verbose)
    for row in report.decode:
        yield _decode_row(row)
    yield _line("")


def _head(report: Report) -> Line:
    target = report.target
    gpu = target.get("gpu") or ("unknown GPU" if target.get("sm") is None else "")
    sm = f" (SM{target['sm']})" if target.get("sm") else ""
    count = f"{target['gpu_count']}x " if target.get("gpu_count") else ""
    flashinfer = target.get("flashinfer")
    parts = [
        f"{report.engine} {report.engine_version or 'version unknown'}",
        "FlashInfer unknown" if flashinfer is None else f"FlashInfer {flashinfer}",
        f"{count}{gpu}{sm}",
    ]
    if target.get("model"):
        parts.append(str(target["model"]))
    place = f":{report.location.line}" if report.location else ""
    where = f"  {report.file}{place}" if report.file else ""
    return ((report.verdict.upper(), _STYLES[report.verdict]), (f"{where}  {' · '.join(parts)}", ""))


def _resolved(report: Report, *, verbose: bool) -> Iterator[Line]:
    shown = [name for name in (report.resolved if verbose else _RUNS) if name in report.resolved]
    if not shown:
        return
    yield _line("  would run:")
    width = max(len(name) for name in shown)
    for name in shown:
        one = report.resolved[name]
        yield _row(name.ljust(width), "-" if one.value is None else show(one.value), one.origin)


def _row(name: str, value: str, origin: str) -> Line:
    return ((f"    {name}  ", ""), (value.ljust(14), "bold"), (f"  {origin}", "dim"))


def _finding(report: Report, finding: Finding, *, verbose: bool) -> Iterator[Line]:
    yield (
        ("  ", ""),
        (f"{finding.level}[{finding.id}]", _STYLES[finding.level]),
        (f" {finding.message}", ""),
    )
    notes = [_STOPS] if finding.engine_stops_here else []
    if finding.phase in _LATER:
        notes.append(_LATER[finding.phase])
    if finding.extrapolated:
        notes.append("extrapolated from the nearest recorded version")
    where = f"{finding.phase}, {'; '.join(notes)}" if notes else finding.phase
    yield _line(f"    when: {where}", "dim")
    if finding.location and report.file:
        yield _line(f"    at: {report.file}:{finding.location.line}:{finding.location.column}", "dim")
    if finding.because:
        yield _line("    because: " + "; ".join(finding.because), "dim")
    for remedy in finding.remedies:
        cost = f" ({remedy.cost})" if remedy.cost else ""
        yield _line(f"    fix: {remedy.text}{cost}", "green")
        if remedy.command:
            yield _line(f"      {remedy.command}")
    if finding.confirm and verbose:
        yield _line(f"    would confirm it: {finding.confirm}", "dim")
    if finding.source:
        proof = "  " + ", ".join(finding.evidence) if finding.evidence else ""
        yield _line(f"    source: {finding.source}{proof}", "dim")


def _boundary(report: Report, *, verbose: bool) -> Iterator[Line]:
    if report.undecided:
        needs = sorted({need for one in report.undecided for need in one.needs})
        yield _line("")
        named = ", ".join(needs[:8])
        yield _line(f"  undecided: {len(report.undecided)} rules wait for {named}", "magenta")
        for one in report.undecided if verbose else report.undecided[:5]:
            yield _line(f"    {one.rule} {one.title} (needs {', '.join(one.needs)})", "dim")
        if not verbose and len(report.undecided) > 5:
            yield _line(f"    and {len(report.undecided) - 5} more: --verbose lists them", "dim")
    if report.not_checked:
        yield _line("")
        yield _line("  not checked: " + "; ".join(report.not_checked), "dim")


def _decode_row(row: Mapping[str, object]) -> Line:
    style = {"passes": "green", "fails": "red", "wrong": "bold red"}.get(str(row.get("state")), "yellow")
    parts = [f"  decode: {row.get('name')}: {row.get('state')}"]
    if row.get("measured") is not None:
        parts.append(f"measured {row['measured']}, limit {row.get('limit')}")
    if row.get("detail"):
        parts.append(str(row["detail"]))
    return _line("  ".join(parts), style)


def _line(text: str, style: str = "") -> Line:
    return ((text, style),)
