"""The report a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.ruleset.machine import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import Console
    from rich.text import Text

    from mlacheck.finding import Finding, Report

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


def write_text(reports: Iterable[Report], console: Console, *, verbose: bool = False) -> None:
    """Write reports to a rich console."""
    counts = {"error": 0, "warning": 0, "info": 0}
    undecided = commands = 0
    for report in reports:
        commands += 1
        undecided += len(report.undecided)
        for finding in report.findings:
            counts[finding.level] += 1
        for line in _report(report, verbose=verbose):
            console.print(line, soft_wrap=True, highlight=False)
    told = ", ".join(
        f"{number} {level}{'s' if number != 1 else ''}" for level, number in counts.items() if number
    )
    tail = f"; {undecided} rules undecided" if undecided else ""
    console.print(
        f"checked {commands} command{'s' if commands != 1 else ''}: {told or 'no findings'}{tail}",
        highlight=False,
        soft_wrap=True,
    )


def _report(report: Report, *, verbose: bool) -> Iterator[Text | str]:
    yield _head(report)
    for assumption in report.assumptions:
        yield _styled(f"  assumed: {assumption}", "dim")
    for problem in report.problems:
        place = (
            f" (line {problem.location.line}, column {problem.location.column})" if problem.location else ""
        )
        yield _styled(f"  {problem.message}{place}", "yellow")
        yield f"    {problem.hint}"
    yield from _resolved(report, verbose=verbose)
    for finding in report.findings:
        yield ""
        yield from _finding(report, finding, verbose=verbose)
    yield from _boundary(report, verbose=verbose)
    for row in report.decode:
        yield _decode_row(row)
    yield ""


def _head(report: Report) -> Text:
    from rich.text import Text  # loaded only when text is written

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
    line = Text()
    line.append(report.verdict.upper(), style=_STYLES[report.verdict])
    if report.file:
        line.append(f"  {report.file}" + (f":{report.location.line}" if report.location else ""))
    line.append("  " + " · ".join(parts))
    return line


def _resolved(report: Report, *, verbose: bool) -> Iterator[Text | str]:
    shown = [name for name in (report.resolved if verbose else _RUNS) if name in report.resolved]
    if not shown:
        return
    yield "  would run:"
    width = max(len(name) for name in shown)
    for name in shown:
        one = report.resolved[name]
        yield _row(name.ljust(width), "-" if one.value is None else show(one.value), one.origin)


def _row(name: str, value: str, origin: str) -> Text:
    from rich.text import Text  # loaded only when text is written

    line = Text(f"    {name}  ")
    line.append(value.ljust(14), style="bold")
    line.append(f"  {origin}", style="dim")
    return line


def _finding(report: Report, finding: Finding, *, verbose: bool) -> Iterator[Text | str]:
    from rich.text import Text  # loaded only when text is written

    line = Text("  ")
    line.append(f"{finding.level}[{finding.id}]", style=_STYLES[finding.level])
    line.append(f" {finding.message}")
    yield line
    notes = [_STOPS] if finding.engine_stops_here else []
    if finding.phase in _LATER:
        notes.append(_LATER[finding.phase])
    if finding.extrapolated:
        notes.append("extrapolated from the nearest recorded version")
    where = f"{finding.phase}, {'; '.join(notes)}" if notes else finding.phase
    yield _styled(f"    when: {where}", "dim")
    if finding.location and report.file:
        yield _styled(f"    at: {report.file}:{finding.location.line}:{finding.location.column}", "dim")
    if finding.because:
        yield _styled("    because: " + "; ".join(finding.because), "dim")
    for remedy in finding.remedies:
        cost = f" ({remedy.cost})" if remedy.cost else ""
        yield _styled(f"    fix: {remedy.text}{cost}", "green")
        if remedy.command:
            yield f"      {remedy.command}"
    if finding.confirm and verbose:
        yield _styled(f"    would confirm it: {finding.confirm}", "dim")
    if finding.source:
        proof = "  " + ", ".join(finding.evidence) if finding.evidence else ""
        yield _styled(f"    source: {finding.source}{proof}", "dim")


def _boundary(report: Report, *, verbose: bool) -> Iterator[Text | str]:
    if report.undecided:
        needs = sorted({need for one in report.undecided for need in one.needs})
        yield ""
        yield _styled(
            f"  undecided: {len(report.undecided)} rules wait for {', '.join(needs[:8])}", "magenta"
        )
        for one in report.undecided if verbose else report.undecided[:5]:
            yield _styled(f"    {one.rule} {one.title} (needs {', '.join(one.needs)})", "dim")
        if not verbose and len(report.undecided) > 5:
            yield _styled(f"    and {len(report.undecided) - 5} more: --verbose lists them", "dim")
    if report.not_checked:
        yield ""
        yield _styled("  not checked: " + "; ".join(report.not_checked), "dim")


def _decode_row(row: Mapping[str, object]) -> Text:
    style = {"passes": "green", "fails": "red", "wrong": "bold red"}.get(str(row.get("state")), "yellow")
    parts = [f"  decode: {row.get('name')}: {row.get('state')}"]
    if row.get("measured") is not None:
        parts.append(f"measured {row['measured']}, limit {row.get('limit')}")
    if row.get("detail"):
        parts.append(str(row["detail"]))
    return _styled("  ".join(parts), style)


def _styled(text: str, style: str) -> Text:
    from rich.text import Text  # loaded only when text is written

    return Text(text, style=style)
