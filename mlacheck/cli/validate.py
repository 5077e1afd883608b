"""`mlacheck validate`: launch lines in, reports out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.options import parse_env, target_options
from mlacheck.cli.output import OutputError, output_options, pair, write_reports
from mlacheck.cli.silence import silence_options, silence_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report
    from mlacheck.launch.command import LaunchResult

# Text with one of these problems may hold a launch command that nobody could read.
UNREADABLE: Final = frozenset(
    {"not-text", "too-large", "unbalanced-quote", "unbalanced-expansion", "nested-too-deep"}
)


@click.command(
    "validate",
    context_settings={"max_content_width": 110},
    epilog=codes.EPILOG,
)
@click.option("--args", "text", metavar="TEXT", help="A launch command, or only its flags.")
@click.option(
    "--cases",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Check a JSONL file of cases.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@target_options
@click.option(
    "--rules",
    "extra",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="A rule file of your own; repeatable.",
)
@output_options
@silence_options
@click.option(
    "--fail-on", type=click.Choice(["error", "warning", "info"]), default="error", show_default=True
)
@click.option("--exit-zero", is_flag=True, help="Report, and exit 0 whatever was found.")
@click.option("--strict", is_flag=True, help="Fail when the verdict is unknown, too.")
@click.option("--allow-empty", is_flag=True, help="Exit 0 when there is no launch command.")
@click.option(
    "--decode-check", is_flag=True, help="Run the line's decode on this machine's GPU and compare it."
)
@click.option(
    "--probe-import", is_flag=True, help="Import FlashInfer in a child process to read its signature."
)
@click.option(
    "--remedies/--no-remedies",
    default=None,
    help="Search for corrected lines (default: yes, not for --cases).",
)
def command(**given: Any) -> None:
    """Check launch lines: would they boot, and decode correctly.

    \b
    mlacheck validate --args "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --dcp-size 8" --gpu b200
    mlacheck validate --gpu h200 --engine-version 0.5.23 -- sglang serve deepseek-ai/DeepSeek-V3 --tp 8
    mlacheck validate --cases cases.jsonl > reports.jsonl
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    sys.exit(_run(**given))


def _run(
    *,
    text: str | None,
    cases: str | None,
    words: Sequence[str],
    extra: Sequence[str],
    fail_on: str,
    exit_zero: bool,
    strict: bool,
    allow_empty: bool,
    formats: Sequence[str],
    outputs: Sequence[str],
    **given: Any,
) -> int:
    pairs = pair(formats, outputs, "text" if cases is None else "jsonl")
    if sum((text is not None, cases is not None, bool(words))) != 1:
        raise click.UsageError("give exactly one of --args TEXT, -- COMMAND..., and --cases FILE")
    from mlacheck.baseline import BaselineError  # not needed for --help
    from mlacheck.report.writers import Style  # same
    from mlacheck.ruleset.error import RuleError  # rules are read only now

    try:
        if cases is not None:
            from mlacheck.cli.cases import check_cases  # only for --cases

            style = Style(given["verbose"], given["quiet"], fail_on, strict)
            return check_cases(
                cases, pairs, style, exit_zero=exit_zero, remedies=bool(given["remedies"]), extra=extra
            )
        result = _launch(text, words, given["engine"])
        if not result.commands:
            _say_nothing_found(result)
            if any(problem.kind in UNREADABLE for problem in result.problems):
                return codes.USAGE
            return codes.OK if allow_empty else codes.NOTHING
        reports, ran = _reports(result, extra, given)
        if text is not None:
            reports = _suppressed(reports, text, extra)
        reports = silence_reports(
            reports,
            select=given["select"],
            ignore=given["ignore"],
            baseline=given["baseline"],
            write_baseline=given["write_baseline"],
            extra=tuple(map(Path, extra)),
            quiet=given["quiet"],
        )
        style = Style(given["verbose"], given["quiet"], fail_on, strict, complete=ran)
        write_reports(reports, pairs, style)
    except (RuleError, OutputError, BaselineError) as error:
        click.echo(f"error: {error}", err=True)
        return codes.USAGE
    return codes.exit_code(reports, fail_on=fail_on, strict=strict, exit_zero=exit_zero, not_run=not ran)


def _launch(text: str | None, words: Sequence[str], engine: str) -> LaunchResult:
    from mlacheck.launch import parse_argv, parse_text  # not needed for --help

    return (
        parse_argv(list(words), default_engine=engine)
        if text is None
        else parse_text(text, default_engine=engine)
    )


def _suppressed(reports: Sequence[Report], text: str, extra: Sequence[str]) -> list[Report]:
    """Apply the suppression comments of the text that the commands come from."""
    if "mlacheck" not in text:
        return list(reports)
    from mlacheck.ruleset.names import rule_names  # only for a text that may have such comments
    from mlacheck.suppression import suppress  # same

    return suppress(reports, text, rule_names(map(Path, extra)))


def _say_nothing_found(result: LaunchResult) -> None:
    for problem in result.problems:
        click.echo(
            f"{problem.level}: {problem.message} (line {problem.line}, column {problem.column})", err=True
        )
        click.echo(f"  {problem.hint}", err=True)
    if not result.problems:
        click.echo("error: no launch command found", err=True)
        click.echo(
            "  give the command that starts the engine, or only its flags: --args '--model-path ... --tp 8'",
            err=True,
        )


def _reports(result: LaunchResult, extra: Sequence[str], given: dict[str, Any]) -> tuple[list[Report], bool]:
    from mlacheck.probes.engine import recorded_versions  # not needed for --help
    from mlacheck.probes.target import TargetFlags  # same
    from mlacheck.session import Session  # same

    flags = TargetFlags(
        engine_version=given["engine_version"],
        flashinfer=given["flashinfer"],
        gpu=given["gpu"],
        gpu_count=given["gpu_count"],
        nodes=given["nodes"],
        probe_import=given["probe_import"],
    )
    session = Session(
        flags,
        model=given["model"],
        env=parse_env(given["env"]),
        extra_rules=tuple(map(Path, extra)),
        remedies=given["remedies"] is not False,
    )
    reports, ran = [], True
    for launch in result.commands:
        if not recorded_versions(launch.engine):
            raise click.UsageError(f"there are no rules for {launch.engine}: this line cannot be checked")
        wrong = session.checker(launch).target.problems
        if wrong:
            raise click.UsageError("; ".join(f"{one.message}: {one.hint}" for one in wrong))
        report = session.check(launch, result.problems)
        if given["decode_check"]:
            from mlacheck.cli.decode_check import add_decode_check  # only when asked for

            report, done = add_decode_check(report, session.model_of(report), report.target.get("sm"))
            ran = ran and done
        reports.append(report)
    return reports, ran
