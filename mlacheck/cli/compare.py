"""`mlacheck compare`: what another engine version changes for a launch line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.configure import config_options
from mlacheck.cli.options import format_option, launch_options, names_engine, target_options
from mlacheck.cli.targets import make_session, read_launch, refuse_target

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    "compare",
    epilog="Exit codes: 0 the line passes on NEW, 1 an error that OLD does not have, 2 bad usage, 3 no line.",
)
@click.argument("old")
@click.argument("new")
@launch_options
@target_options
@config_options
@format_option
def command(old: str, new: str, text: str | None, words: Sequence[str], format_: str, **given: Any) -> None:
    """Compare a launch line under two versions: verdict, findings, resolved values, flags, defaults.

    \b
    mlacheck compare 0.5.17 0.5.23 --gpu b200 --args "sglang serve deepseek-ai/DeepSeek-V3 --tp 8"
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    if (text is None) == (not words):
        raise click.UsageError("give exactly one of --args TEXT and -- COMMAND...")
    if given["engine_version"]:
        raise click.UsageError("the versions are the two arguments; leave --engine-version out")
    from mlacheck.comparison import compare  # not needed for --help
    from mlacheck.probes.engine import ENGINES, recorded_versions  # same
    from mlacheck.report.comparison import text_lines, to_dict  # same
    from mlacheck.report.layout import width_of  # same

    result = read_launch(text, words, given)
    if not names_engine() and all(one.entry == "flags" for one in result.commands):
        # Bare flags do not say whose they are; versions that only one engine has do.
        have = [one for one in ENGINES if {old, new} <= set(recorded_versions(one))]
        if len(have) == 1 and have[0] != given["engine"]:
            given["engine"] = have[0]
            result = read_launch(text, words, given)
    launches = [one for one in result.commands if recorded_versions(one.engine)]
    if len(launches) != 1:
        count = f"{len(launches)} launch commands" if launches else "no launch command"
        click.echo(f"error: {count} found; compare takes one: --args TEXT or -- COMMAND...", err=True)
        sys.exit(codes.NOTHING if not launches else codes.USAGE)
    reports = []
    for version in (old, new):
        session = make_session(given, engine_version=version)
        refuse_target(session, launches[0])
        if session.checker(launches[0]).target.extrapolated:
            known = ", ".join(recorded_versions(launches[0].engine))
            raise click.UsageError(f"{launches[0].engine} {version} is not recorded; there are {known}")
        reports.append(session.check(launches[0], result.problems))
    one = compare(launches[0], reports[0], reports[1], session.evaluations(launches[0]))
    if format_ == "json":
        click.echo(json.dumps(to_dict(one), indent=2, default=str))
    else:
        click.echo("\n".join(text_lines(one, width_of(sys.stdout))))
    worse = one.new.verdict == "error" and any(finding.level == "error" for finding in one.fresh)
    sys.exit(codes.FINDINGS if worse or (one.new.verdict == "error" != one.old.verdict) else codes.OK)
