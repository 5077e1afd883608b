"""Where a finding stands, and why a verdict is unknown, in the words that several formats share."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mlacheck.finding import Finding, Report, Undecided

_TARGET: Final = "the model's config (--model PATH)"
_DRAFT: Final = "the draft model's config"
# What a caller can supply, by the start of the facts that come from it.
_SUPPLIED: Final = (
    ("target.", _TARGET),
    ("draft.", _DRAFT),
    ("gpu.", "the GPU (--gpu NAME)"),
    ("flashinfer.", "FlashInfer (--flashinfer VERSION)"),
    ("version.flashinfer", "FlashInfer (--flashinfer VERSION)"),
    ("env.", "the engine's environment (--env K=V)"),
)
# What stands in for a file's name when a command was given on the command line.
NO_FILE = "<command line>"


def relative(file: str, base: str | None = None) -> str:
    """Give a path relative to a folder (the working one) when it is under it, with `/` between its parts."""
    path = os.path.normpath(file)
    if base is not None or os.path.isabs(path):  # noqa: PTH117 - this never asks the file system
        under = os.path.relpath(path, base)
        if under != os.pardir and not under.startswith(os.pardir + os.sep):
            path = under
    return PurePath(path).as_posix()


def checkout() -> str | None:
    """Give the folder of the repository on a GitHub runner: its paths are relative to that one."""
    return os.environ.get("GITHUB_WORKSPACE") or None


def place(report: Report, finding: Finding | None = None, base: str | None = None) -> tuple[str, int, int]:
    """Give file, line and column of a finding, or of its command."""
    file = NO_FILE if report.file is None else relative(report.file, base)
    found = finding.location if finding else None
    if found is not None:
        named = file if found.file is None else relative(found.file, base)
        return named, found.line, found.column
    start = report.location
    if start is None:
        return file, 1, 1
    start = report.better or start
    return file, start.line, start.column


def shown(place_: tuple[str, int, int]) -> str:
    """Write a place as `file:line:column`."""
    return ":".join(map(str, place_))


def wanted(report: Report, waiting: Iterable[Undecided], most: int = 4) -> str:
    """Say what would decide rules: what a caller can supply, else the facts that they wait for."""
    needs = sorted({need for one in waiting for need in one.needs})
    told = {said: None for start, said in _SUPPLIED if any(need.startswith(start) for need in needs)}
    if report.target.get("model") is not None:
        told.pop(_TARGET, None)  # its config was read, and says no more
    if _TARGET in told:
        told.pop(_DRAFT, None)  # it follows from the target
    names = list(told) or needs
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def why_unknown(report: Report) -> str | None:
    """Say in one line what keeps a verdict from being decided; None when it is decided."""
    if report.verdict != "unknown" or not report.command:
        return None
    parts = [one.message for one in report.problems]
    waiting = [one for one in report.undecided if one.level == "error"]
    if waiting:
        rules = "1 rule waits" if len(waiting) == 1 else f"{len(waiting)} rules wait"
        parts.append(f"{rules} for {wanted(report, waiting)}")
    # A version that is assumed, or that is not recorded, is judged as another one.
    doubts = [one for one in report.assumptions if one.startswith(f"{report.engine} ")]
    told = parts or doubts or [finding.message for finding in report.live]
    return "; ".join(told) or "part of the input is not settled"
