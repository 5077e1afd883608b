"""Where reports go: pairs of `--format` and `--output`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mlacheck.cli.options import F, add_options
from mlacheck.report.writers import FORMATS, writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report
    from mlacheck.report.writers import Style

STDOUT: Final = "-"


class OutputError(Exception):
    """A report that cannot be written."""


def output_options(function: F) -> F:
    """Add the flags that say which reports are written, and where."""
    return add_options(
        function,
        click.option(
            "--format",
            "formats",
            multiple=True,
            type=click.Choice(FORMATS),
            help="Format of the report (default: text); repeatable with --output.",
        ),
        click.option(
            "--output",
            "outputs",
            multiple=True,
            metavar="PATH",
            help="Where the report of the same position goes; - is standard output.",
        ),
        click.option("-v", "--verbose", is_flag=True, help="Show every resolved value and undecided rule."),
        click.option("-q", "--quiet", is_flag=True, help="Show findings and unknown verdicts only."),
    )


def pair(formats: Sequence[str], outputs: Sequence[str], default: str = "text") -> list[tuple[str, str]]:
    """Match formats with outputs by position."""
    formats = formats or (default,)
    if len(formats) != len(outputs or (STDOUT,)):
        raise click.UsageError(
            f"{len(formats)} --format and {len(outputs) or 'no'} --output: give one --output PATH for each "
            "--format (- is standard output)"
        )
    outputs = outputs or (STDOUT,)
    places = [output if output == STDOUT else os.path.abspath(output) for output in outputs]  # noqa: PTH100 - never asks for the path itself
    twice = next((output for at, output in enumerate(outputs) if places[at] in places[:at]), None)
    if twice is not None:
        raise click.UsageError(f"--output {twice} is given twice: each report needs a place of its own")
    return list(zip(formats, outputs, strict=True))


def write_reports(reports: Sequence[Report], pairs: Sequence[tuple[str, str]], style: Style) -> None:
    """Write every report. Raises `OutputError`."""
    for format_, output in pairs:
        write = writer(format_)
        if output == STDOUT:
            write(reports, sys.stdout, style)
            continue
        try:
            with Path(output).open("w", encoding="utf-8", errors="backslashreplace") as stream:
                write(reports, stream, style)
        except OSError as error:
            raise OutputError(f"--output {output} cannot be written: {error.strerror}") from error
    if not style.quiet and all(output != STDOUT for _, output in pairs):
        from mlacheck.report.summary import summary  # only where no report is seen

        click.echo(summary(reports), err=True)
