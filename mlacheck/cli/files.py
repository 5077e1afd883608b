"""`mlacheck validate FILE...`: reads the files, checks what they launch, applies their comments."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli.options import default_engine
from mlacheck.cli.silence import apply_comments
from mlacheck.cli.targets import note_unused, refuse_target
from mlacheck.files import read, reports_of
from mlacheck.launch.file.walk import files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mlacheck.finding import Report
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.session import Session


def missing_files(paths: Sequence[str]) -> list[str]:
    """Say which of the named files do not exist."""
    missing = [path for path in paths if path != "-" and not os.path.lexists(path)]
    for path in missing:
        click.echo(f"error: {path} does not exist; a launch command goes after --", err=True)
    return missing


def check(
    session: Session,
    given: dict[str, Any],
    measured: Callable[[LaunchCommand, Report], Report],
) -> list[Report]:
    """Check files; `measured` adds measurements."""
    named = [path for path in given["files"] if path == "-" or os.path.lexists(path)]
    stdin = sys.stdin.buffer.read() if "-" in named else None
    reports: list[Report] = []
    started: set[str] = set()
    engine = default_engine(given)
    for path in files(named):
        result = read(path, stdin if path == "-" else None, engine, session.env_of(path))
        for command in result.commands:
            refuse_target(session, command)
            started.add(command.engine)
        found = reports_of(result, session, measured)
        reports.extend(apply_comments(found, result.document.text, given["extra"]))
    note_unused(given, started)
    return reports
