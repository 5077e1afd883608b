"""Exit codes, the same for every format; tested and never changed."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Final

import click

from mlacheck.finding import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mlacheck.finding import Report
    from mlacheck.launch.command import LaunchResult

OK: Final = 0
FINDINGS: Final = 1
USAGE: Final = 2
NOTHING: Final = 3
NOT_RUN: Final = 4
# Text with one of these problems may hold a launch command that nobody could read.
UNREADABLE: Final = frozenset(
    {"not-text", "too-large", "unbalanced-quote", "unbalanced-expansion", "nested-too-deep"}
)
_NAMED: Final = 3  # paths that a message names
EPILOG: Final = (
    "Exit codes: 0 nothing at or above the threshold, 1 findings, 2 bad usage, 3 no launch command, "
    "4 a requested check could not run."
)


class InputError(click.ClickException):
    """Something that was named and cannot be used; a line for each."""

    exit_code = USAGE

    def show(self, file: IO[Any] | None = None) -> None:
        """Say what is wrong, without the usage: the flags were right."""
        for line in self.message.splitlines():
            click.echo(f"error: {line}", file=file, err=True)


def say_nothing_in(paths: Sequence[str]) -> None:
    """Say that the named files and folders launch nothing, and what can be done."""
    names = ["standard input" if path == "-" else path for path in paths]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    click.echo(f"error: no launch command found in {', '.join(names[:_NAMED])}{more}", err=True)
    click.echo(
        "  name the file that starts the engine, or give its command: mlacheck validate -- COMMAND; "
        "--allow-empty takes none as passed",
        err=True,
    )


def say_no_command(result: LaunchResult, *, allow_empty: bool = False) -> int:
    """Say that a line of the command line launches nothing, and give the exit code."""
    for problem in result.problems:
        level = "info" if allow_empty and problem.kind == "no-launch-command" else problem.level
        click.echo(f"{level}: {problem.message} (line {problem.line}, column {problem.column})", err=True)
        click.echo(f"  {problem.hint}", err=True)
    if not result.problems:
        click.echo("error: no launch command found", err=True)
        click.echo(
            "  give the command that starts the engine, or only its flags: --args '--model-path ... --tp 8'",
            err=True,
        )
    if any(problem.kind in UNREADABLE for problem in result.problems):
        return USAGE
    return OK if allow_empty else NOTHING


def reaches(report: Report, fail_on: str, *, strict: bool) -> bool:
    """Tell whether a report has something at or above the threshold."""
    threshold = LEVELS.index(fail_on)
    # A file that is no launch file leaves no launch command unknown.
    if strict and report.verdict == "unknown" and report.command:
        return True
    return report.verdict == "error" or any(
        LEVELS.index(finding.level) >= threshold and not finding.suppressed for finding in report.findings
    )


def exit_code(
    reports: Iterable[Report], *, fail_on: str, strict: bool, exit_zero: bool, not_run: bool = False
) -> int:
    """Give the exit code of a run that found commands: findings first, then checks that could not run."""
    if any(reaches(report, fail_on, strict=strict) for report in reports) and not exit_zero:
        return FINDINGS
    return NOT_RUN if not_run else OK
