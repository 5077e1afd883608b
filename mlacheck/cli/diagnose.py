"""`mlacheck diagnose`: a log in, the rules behind its errors out."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.configure import config_options
from mlacheck.cli.options import format_option, names_engine, target_options
from mlacheck.cli.targets import make_session
from mlacheck.probes.engine import ENGINES, recorded_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def _text_of(log: str, lines: Iterable[str]) -> Iterator[str]:
    """Give the lines of a log; what begins with bytes of no text is none."""
    for number, line in enumerate(lines):
        # A log that was cut while it was written may begin with nulls.
        if not number and "\0" in line.lstrip("\0"):
            raise codes.InputError(
                f"{log} is no log: it holds bytes that are no text; give the server's output"
            )
        yield line


def _engines(given: dict[str, Any]) -> Sequence[str]:
    """Give the engines that the log may be of: the one named, else those that have the version named."""
    if names_engine():
        return (given["engine"],)
    named = dict(given["engine_version"])
    if len(named) == 1 and None not in named:
        return [engine for engine in named if engine]
    return [one for one in ENGINES if named.get(None) in recorded_versions(one)] or ENGINES


@click.command(
    "diagnose",
    epilog="Exit codes: 1 an error that the rules know, or one of the launch line, 2 bad usage, "
    "3 nothing that the rules know.",
)
@click.argument("log", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@target_options
@config_options
@format_option
def command(log: str, format_: str, **given: Any) -> None:
    """Say which rule is behind the errors of a server log or traceback (- reads standard input).

    The engine, its version and its launch line are taken from the log where it prints them.

    \b
    mlacheck diagnose server.log
    kubectl logs deploy/llm | mlacheck diagnose - --engine-version 0.5.18 --gpu b200
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    from mlacheck.diagnosis.diagnose import diagnose  # not needed for --help
    from mlacheck.diagnosis.log import read_log  # same
    from mlacheck.report.diagnosis import text_lines, to_dict  # same
    from mlacheck.report.layout import width_of  # same

    try:
        with click.open_file(log, encoding="utf-8", errors="replace") as lines:
            read = read_log(_text_of(log, lines), _engines(given))
    except OSError as error:
        click.echo(f"error: {log} cannot be read: {error.strerror}", err=True)
        sys.exit(codes.USAGE)
    session = make_session(given)
    result = diagnose(read, session, session.flags.version_of(read.engine))
    if format_ == "json":
        click.echo(json.dumps(to_dict(result), indent=2))
    else:
        click.echo("\n".join(text_lines(result, width_of(sys.stdout))))
    sys.exit(codes.FINDINGS if result.diagnoses or result.unsaid else codes.NOTHING)
