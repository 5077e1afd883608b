"""Where a finding stands, and why a verdict is unknown, in the words that several formats share."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlacheck.finding import Finding, Report

# What stands in for a file's name when a command was given on the command line.
NO_FILE = "<command line>"


def relative(file: str) -> str:
    """Give a path relative to the working folder when it is under it, with `/` between its parts."""
    path = os.path.normpath(file)
    if os.path.isabs(path):  # noqa: PTH117 - this never asks the file system
        under = os.path.relpath(path)
        if not under.startswith(os.pardir):
            path = under
    return PurePath(path).as_posix()


def place(report: Report, finding: Finding | None = None) -> tuple[str, int, int]:
    """Give file, line and column of a finding, or of its command."""
    location = (finding.location if finding else None) or report.location
    file = NO_FILE if report.file is None else relative(report.file)
    return file, *((location.line, location.column) if location else (1, 1))


def shown(place_: tuple[str, int, int]) -> str:
    """Write a place as `file:line:column`."""
    return ":".join(map(str, place_))


def why_unknown(report: Report) -> str | None:
    """Say in one line what keeps a verdict from being decided; None when it is decided."""
    if report.verdict != "unknown":
        return None
    parts = [one.message for one in report.problems]
    waiting = [one for one in report.undecided if one.level == "error"]
    if waiting:
        needs = sorted({need for one in waiting for need in one.needs})
        more = f" and {len(needs) - 4} more" if len(needs) > 4 else ""
        rules = "1 rule waits" if len(waiting) == 1 else f"{len(waiting)} rules wait"
        parts.append(f"{rules} for {', '.join(needs[:4])}{more}")
    return "; ".join(parts or report.assumptions) or "part of the input is not settled"
