"""One line a finding: `file:line:column: level[ID] message`, for editors, grep and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from mlacheck.report.place import place, shown, why_unknown
from mlacheck.report.summary import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report
    from mlacheck.report.writers import Style


def write_concise(reports: Sequence[Report], stream: TextIO, style: Style) -> None:
    """Write every live finding on a line of its own, and why a verdict is unknown."""
    for report in reports:
        case = "" if report.id is None else f" (case {report.id})"
        for finding in report.live:
            message = " ".join(finding.message.split())
            stream.write(f"{shown(place(report, finding))}: {finding.level}[{finding.id}] {message}{case}\n")
        why = why_unknown(report)
        if why is not None:
            stream.write(f"{shown(place(report))}: unknown: {' '.join(why.split())}{case}\n")
    if not style.quiet:
        stream.write(f"{summary(reports)}\n")
