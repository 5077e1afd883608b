"""The report a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO, TypeAlias

from mlacheck.builtin import INPUT
from mlacheck.finding import NOT_KNOWN
from mlacheck.launch.quoting import quote, shown_plainly
from mlacheck.report.layout import figure, wants_colour, width_of, wrap, wrap_command
from mlacheck.report.place import place, relative, shown, wanted
from mlacheck.report.summary import counted, summary
from mlacheck.ruleset.machine import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mlacheck.finding import Finding, Report, Resolved
    from mlacheck.report.writers import Style

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
# How a value that is not settled is written: `one of a, b`.
_ONE_OF: Final = "one of "
_MOST_NAMES: Final = 4
_MOST_WIDTHS: Final = 2  # of the terminal, that a word which cannot be broken may take
_STOPS: Final = "the engine stops here"
_LATER: Final = {
    "first-decode": "the engine takes the line, then fails: loading, at graph capture or the first decode",
    "silent": "the engine starts and says nothing",
}


def write_text(reports: Sequence[Report], stream: TextIO, style: Style) -> None:
    """Write reports for a person: in colour on a terminal that wants it, plain elsewhere."""
    write = _styled_writer(stream) if wants_colour(stream) else _plain_writer(stream)
    width = width_of(stream)
    for report in reports:
        # A check that was asked for and did not run fails the run: its row says why.
        unrun = any(row.get("state") == "not run" and row.get("needed") for row in report.decode)
        if style.quiet and report.verdict == "ok" and not report.live and not unrun:
            continue
        for line in _Page(report, style, width).lines():
            write(line)
    if not style.quiet:
        write(_line(summary(reports)))


def _plain_writer(stream: TextIO) -> Callable[[Line], None]:
    def write(line: Line) -> None:
        stream.write(shown_plainly("".join(text for text, _ in line)) + "\n")

    return write


def _styled_writer(stream: TextIO) -> Callable[[Line], None]:
    from rich.console import Console  # only for a terminal
    from rich.text import Text  # same

    console = Console(file=stream, force_terminal=True)

    def write(line: Line) -> None:
        shown = [(shown_plainly(text), style) for text, style in line]
        console.print(Text.assemble(*shown), soft_wrap=True, highlight=False)

    return write


class _Page:
    """The lines of one report."""

    def __init__(self, report: Report, style: Style, width: int) -> None:
        self.report, self.width = report, width
        self.verbose, self.quiet = style.verbose, style.quiet
        self.offered: set[str] = set()  # corrected lines that an earlier finding showed

    def lines(self) -> Iterator[Line]:
        report = self.report
        yield from self._head()
        if not self.quiet:
            for assumption in report.assumptions:
                yield from self._text(f"assumed: {assumption}", "  ", "dim")
        for problem in report.problems:
            place = problem.location
            of = f"{relative(place.file)}, " if place and place.file else ""
            where = f" ({of}line {place.line}, column {place.column})" if place else ""
            yield from self._text(f"{problem.message}{where}", "  ", "yellow")
            yield from self._text(problem.hint, "    ")
        if self.quiet and report.verdict == "unknown" and not report.problems and report.assumptions:
            yield from self._text(f"assumed: {report.assumptions[0]}", "  ", "dim")
        if not self.quiet:
            yield from self._resolved()
        for finding in report.live:
            yield _line("")
            yield from self._finding(finding)
        if not self.quiet:
            yield from self._silenced()
            yield from self._boundary()
        outcome = None
        for row in report.decode:
            # Rows of one kernel stand together.
            if (row.get("backend"), row.get("outcome")) != outcome:
                outcome = (row.get("backend"), row.get("outcome"))
                yield from self._text(f"decode on {outcome[0]}: {outcome[1]}", "  ", "bold")
            yield from self._decode_row(row)
        yield _line("")

    def _text(self, text: str, indent: str, style: str = "", hanging: str = "  ") -> Iterator[Line]:
        for line in wrap(text, self.width, indent, indent + hanging):
            yield _line(line, style)

    def _styled(self, head: str, text: str, indent: str, style: str) -> Iterator[Line]:
        """Write text whose first word, the head, has a style of its own."""
        first, *rest = wrap(f"{head} {text}", self.width, indent, indent + "  ")
        yield (indent, ""), (head, style), (first[len(indent) + len(head) :], "")
        for line in rest:
            yield _line(line)

    def _head(self) -> Iterator[Line]:
        report, target = self.report, self.report.target
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
        line = f":{place(report)[1]}" if report.location else ""
        where = [f"{relative(report.file)}{line}"] if report.file else []
        # A file that could not be read has no target.
        text = "  ".join([*where, *([" · ".join(parts)] if report.command else [])])
        yield from self._styled(report.verdict.upper(), f" {text}", "", _STYLES[report.verdict])

    def _resolved(self) -> Iterator[Line]:
        resolved = self.report.resolved
        shown = [name for name in (resolved if self.verbose else _RUNS) if name in resolved]
        if not shown:
            return
        yield _line("  would run:")
        width = max(len(name) for name in shown)
        for name in shown:
            yield from self._row(name.ljust(width), resolved[name])

    def _row(self, name: str, one: Resolved) -> Iterator[Line]:
        value = self._value(one)
        # Which rule would have set a value that is not settled is a guess too.
        open_ = str(one.value).startswith(_ONE_OF) and not one.origin.startswith("depends on ")
        origin = "" if open_ or one.origin == NOT_KNOWN else one.origin
        head = f"    {name}  "
        if len(head) + len(value) + len(origin) + 2 <= self.width or not origin:
            yield (head, ""), (value.ljust(14), "bold"), (f"  {origin}" if origin else "", "dim")
            return
        for number, line in enumerate(wrap(value, self.width, head)):
            yield (line[: len(head)] if not number else " " * len(head), ""), (line[len(head) :], "bold")
        yield from self._text(origin, " " * len(head) + "  ", "dim", "")

    def _value(self, one: Resolved) -> str:
        if one.value is None:
            return "unknown" if one.origin == NOT_KNOWN else "-"
        several = str(one.value)
        if not several.startswith(_ONE_OF):
            return show(one.value)
        names = ["unset" if name == "None" else name for name in several.removeprefix(_ONE_OF).split(", ")]
        if len(names) > _MOST_NAMES and not self.verbose:
            names[_MOST_NAMES - 1 :] = [f"{len(names) - _MOST_NAMES + 1} more"]
        return f"{', '.join(names[:-1])} or {names[-1]}"

    def _finding(self, finding: Finding) -> Iterator[Line]:
        yield from self._styled(
            f"{finding.level}[{finding.id}]", finding.message, "  ", _STYLES[finding.level]
        )
        notes = [_STOPS] if finding.engine_stops_here else []
        if finding.phase in _LATER:
            notes.append(_LATER[finding.phase])
        if finding.extrapolated:
            notes.append("extrapolated from the nearest recorded version")
        if finding.phase != INPUT and not self.quiet:
            yield from self._text(f"when: {', '.join((finding.phase, *notes))}", "    ", "dim")
        if finding.location and (self.report.file or finding.location.file):
            yield _line(f"    at: {shown(place(self.report, finding))}", "dim")
        if self.quiet:
            return
        if finding.because:
            yield _line("    because:", "dim")
            for because in finding.because:
                yield from self._text(because, "      ", "dim")
        yield from self._remedies(finding)
        if finding.confirm and self.verbose:
            yield from self._text(f"would confirm it: {finding.confirm}", "    ", "dim")
        if finding.source:
            proof = "  " + ", ".join(finding.evidence) if finding.evidence else ""
            yield from self._text(f"source: {finding.source}{proof}", "    ", "dim")

    def _remedies(self, finding: Finding) -> Iterator[Line]:
        """Show ways out; corrected lines mend every error, so those shown before are only pointed to."""
        commands = {remedy.command for remedy in finding.remedies if remedy.command}
        if commands and commands <= self.offered:
            yield _line("    fix: the corrected lines above mend this too", "green")
        for remedy in finding.remedies:
            if remedy.command in self.offered:
                continue
            yield from self._text(f"fix: {remedy.text}", "    ", "green")
            if remedy.command:
                self.offered.add(remedy.command)
                yield from self._command(remedy.command)
            if remedy.cost:
                yield from self._text(remedy.cost, "      ", "dim")

    def _command(self, command: str) -> Iterator[Line]:
        """Show a corrected command; one that stands in a long string of a file is shown by what writes it."""
        lines = wrap_command(command, self.width, "      ")
        file = self.report.file
        if file not in (None, "-") and max(map(len, lines)) > _MOST_WIDTHS * self.width:
            # It writes the first one.
            first = len(self.offered) == 1
            how = f"mlacheck fix {quote(str(file))} --diff, with the same options"
            lines = [f"      in place: {how}"] if first else []
        for line in lines:
            yield _line(line)

    def _silenced(self) -> Iterator[Line]:
        silenced = [finding for finding in self.report.findings if finding.suppressed]
        if silenced:
            yield _line("")
        for finding in silenced:
            why = f": {finding.suppressed_reason}" if finding.suppressed_reason else ""
            text = f"suppressed: {finding.level}[{finding.id}] {finding.slug} by {finding.suppressed_by}{why}"
            yield from self._text(text, "  ", "dim")

    def _boundary(self) -> Iterator[Line]:
        report = self.report
        if report.undecided:
            count = counted(len(report.undecided), "rule")
            waits = "waits" if len(report.undecided) == 1 else "wait"
            yield _line("")
            yield from self._text(
                f"undecided: {count} {waits} for {wanted(report, report.undecided)}", "  ", "magenta"
            )
            for one in report.undecided if self.verbose else report.undecided[:5]:
                yield from self._text(f"{one.rule} {one.title} (needs {', '.join(one.needs)})", "    ", "dim")
            if not self.verbose and len(report.undecided) > 5:
                yield _line(f"    and {len(report.undecided) - 5} more: --verbose lists them", "dim")
        if report.not_checked:
            yield _line("")
            yield from self._text("not checked: " + "; ".join(report.not_checked), "  ", "dim")

    def _decode_row(self, row: Mapping[str, object]) -> Iterator[Line]:
        style = {"passes": "green", "fails": "red", "wrong": "bold red"}.get(str(row.get("state")), "yellow")
        parts = [f"{row.get('name')}: {row.get('state')}"]
        if row.get("measured") is not None:
            parts.append(f"measured {figure(row['measured'])}, limit {figure(row.get('limit'))}")
        if row.get("detail"):
            parts.append(str(row["detail"]))
        yield from self._text("; ".join(parts), "    ", style)


def _line(text: str, style: str = "") -> Line:
    return ((text, style),)
