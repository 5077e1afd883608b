"""Markdown for a comment on a pull request: a table of findings, then what mends them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TextIO

from mlacheck.report.place import place, shown, why_unknown
from mlacheck.report.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.finding import Finding, Report
    from mlacheck.report.writers import Style

# GitHub refuses a comment of more than 65,536 characters; the rest is room for a caller's own words.
MOST_CHARACTERS: Final = 60_000
_MOST_MESSAGE: Final = 1_000
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&$#])")
_SIGNS: Final = {"error": "❌ error", "warning": "⚠️ warning", "info": "ℹ️ info", "unknown": "❔ unknown"}  # noqa: RUF001 - that sign is meant


def write_markdown(reports: Sequence[Report], stream: TextIO, _: Style) -> None:
    """Write a comment that stays below the limit; what is left out is counted."""
    head = f"### mlacheck\n\n{escape(summary(reports))}\n"
    rows = list(_rows(reports))
    table = ["\n| | where | what |\n|---|---|---|\n", *rows] if rows else []
    blocks = [*table, *_details(reports)]
    text, left = head, 0
    for at, block in enumerate(blocks):
        if len(text) + len(block) > MOST_CHARACTERS:
            left = len(blocks) - at
            break
        text += block
    if left:
        text += f"\n{left} more parts do not fit here; the text or JSON report has everything.\n"
    stream.write(text)


def escape(text: str) -> str:
    """Make text that Markdown shows as it is, on one line, and that calls nobody."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("@", "@\u200b")


def code(text: str) -> str:
    """Write text as inline code, whatever backticks it holds."""
    text = " ".join(text.split()).replace("|", "\\|")
    fence = _fence(text, 1)
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def _fence(text: str, least: int) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


def _rows(reports: Sequence[Report]) -> Iterator[str]:
    for report in reports:
        for finding in report.live:
            where = code(shown(place(report, finding)))
            message = escape(_short(finding.message))
            yield f"| {_SIGNS[finding.level]} | {where} | **{finding.id}** {message} |\n"
        why = why_unknown(report)
        if why is not None:
            yield f"| {_SIGNS['unknown']} | {code(shown(place(report)))} | {escape(_short(why))} |\n"


def _details(reports: Sequence[Report]) -> Iterator[str]:
    for report in reports:
        for finding in report.live:
            if finding.remedies or finding.because:
                yield _detail(report, finding)


def _detail(report: Report, finding: Finding) -> str:
    lines = [f"\n#### {finding.id} {escape(finding.slug)} at {code(shown(place(report, finding)))}\n"]
    lines += [f"* {escape(_short(because))}" for because in finding.because]
    for remedy in finding.remedies:
        cost = f" ({escape(remedy.cost)})" if remedy.cost else ""
        lines.append(f"\nFix: {escape(_short(remedy.text))}{cost}")
        if remedy.command:
            fence = _fence(remedy.command, 3)
            lines.append(f"\n{fence}bash\n{remedy.command}\n{fence}")
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_MESSAGE else f"{text[: _MOST_MESSAGE - 1]}…"
