"""The last line of a report: what was checked and what was found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mlacheck.finding import LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report


def summary(reports: Sequence[Report]) -> str:
    """Count commands, findings by level, what is silenced and what is undecided."""
    commands = sum(bool(report.command) for report in reports)
    files = {report.file for report in reports if report.file}
    where = f" in {counted(len(files), 'file')}" if files else ""
    levels = Counter(finding.level for report in reports for finding in report.live)
    told = [counted(levels[level], level) for level in reversed(LEVELS) if levels[level]]
    unknown = sum(report.verdict == "unknown" for report in reports)
    silenced = sum(finding.suppressed for report in reports for finding in report.findings)
    undecided = sum(len(report.undecided) for report in reports)
    notes = [f"{unknown} unknown"] if unknown else []
    notes += [f"{silenced} suppressed"] if silenced else []
    notes += [f"{counted(undecided, 'rule')} undecided"] if undecided else []
    tail = "".join(f"; {note}" for note in notes)
    return f"checked {counted(commands, 'command')}{where}: {', '.join(told) or 'no findings'}{tail}"


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"
