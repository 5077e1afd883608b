"""GitHub workflow commands, which the runner turns into annotations on the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from mlacheck.report.place import NO_FILE, checkout, place, why_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report
    from mlacheck.report.writers import Style

_COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}


def write_github(reports: Sequence[Report], stream: TextIO, style: Style) -> None:
    """Write an annotation for every live finding and for every verdict that is unknown."""
    base = checkout()
    for report in reports:
        for finding in report.live:
            fixes = [remedy.command or remedy.text for remedy in finding.remedies[:1]]
            text = "\n".join([finding.message, *(f"fix: {fix}" for fix in fixes)])
            title = f"{finding.id} {finding.slug}"
            stream.write(annotation(_COMMANDS[finding.level], place(report, finding, base), title, text))
        why = why_unknown(report)
        if why is not None:
            level = "error" if style.strict else "notice"
            stream.write(annotation(level, place(report, None, base), "mlacheck verdict unknown", why))


def annotation(command: str, where: tuple[str, int, int], title: str, text: str) -> str:
    """Write one workflow command; a command without a file has no place to point to."""
    file, line, column = where
    values = {"file": file, "line": line, "col": column} if file != NO_FILE else {}
    properties = ",".join(
        f"{name}={_property(str(value))}" for name, value in {**values, "title": title}.items()
    )
    return f"::{command} {properties}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
