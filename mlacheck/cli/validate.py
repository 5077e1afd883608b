"""`mlacheck validate`: launch lines in, reports out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.configure import config_options, load_settings
from mlacheck.cli.options import FilesOrCommand, override_options, target_options, words_after_dashes
from mlacheck.cli.output import OutputError, output_options, pair, write_reports
from mlacheck.cli.silence import apply_comments, silence_options, silence_reports
from mlacheck.cli.targets import new_session, read_launch, refuse_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode import Overrides
    from mlacheck.decode.evidence import Evidence
    from mlacheck.finding import Report
    from mlacheck.launch.command import LaunchCommand, LaunchResult
    from mlacheck.session import Session


@click.command(
    "validate",
    cls=FilesOrCommand,
    context_settings={"max_content_width": 110},
    epilog=codes.EPILOG,
)
@click.option("--args", "text", metavar="TEXT", help="A launch command, or only its flags.")
@click.option(
    "--cases",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Check a JSONL file of cases.",
)
@click.argument("files", nargs=-1, metavar="[FILE|FOLDER|-]... [-- COMMAND...]")
@target_options
@config_options
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
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    help="Lowest level that fails (default: error).",
)
@click.option("--exit-zero", is_flag=True, help="Report, and exit 0 whatever was found.")
@click.option(
    "--strict/--no-strict", default=None, help="Fail when the verdict is unknown, too (default: no)."
)
@click.option("--allow-empty", is_flag=True, help="Exit 0 when there is no launch command.")
@click.option(
    "--decode-check", is_flag=True, help="Run the line's decode on this machine's GPU and compare it."
)
@override_options
@click.option(
    "--evidence",
    multiple=True,
    type=click.Path(dir_okay=False),
    metavar="REPORT",
    help="A kept JSON report of a decode check: say what it shows for this line; repeatable.",
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
    mlacheck validate launch.sh k8s/ Dockerfile
    helm template chart | mlacheck validate -
    mlacheck validate --args "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --dcp-size 8" --gpu b200
    mlacheck validate --gpu h200 --engine-version 0.5.23 -- sglang serve deepseek-ai/DeepSeek-V3 --tp 8
    mlacheck validate --cases cases.jsonl > reports.jsonl
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    sys.exit(_run(words=words_after_dashes(), **given))


def _run(**given: Any) -> int:
    pairs = pair(given["formats"], given["outputs"], "text" if given["cases"] is None else "jsonl")
    said = (given["text"] is not None, given["cases"] is not None, bool(given["words"]), bool(given["files"]))
    if sum(said) != 1:
        raise click.UsageError("give exactly one of FILE..., --args TEXT, -- COMMAND..., and --cases FILE")
    if given["evidence"] and given["cases"] is not None:
        raise click.UsageError("--evidence goes with a launch command, not with --cases")
    from mlacheck.config import ConfigError  # not needed for --help
    from mlacheck.ruleset.error import RuleError  # same

    try:
        if given["cases"] is not None:
            return _cases(pairs, given)
        given = _configured(given)
        return _files(pairs, given) if given["files"] else _lines(pairs, given)
    except (RuleError, OutputError, ConfigError) as error:
        for line in str(error).splitlines():
            click.echo(f"error: {line}", err=True)
        return codes.USAGE


def _configured(given: dict[str, Any]) -> dict[str, Any]:
    """Add what the configuration says where the flags say nothing."""
    settings = load_settings(given["config_file"], no_config=given["no_config"])
    named = given["profile"]
    strict = given["strict"]
    return {
        **given,
        "settings": settings,
        "profile": None if named is None else settings.named(named),
        "extra": (*settings.rules, *given["extra"]),
        "fail_on": given["fail_on"] or settings.fail_on or "error",
        "strict": settings.strict if strict is None else strict,
        "select": given["select"] or settings.select,
        "ignore": given["ignore"] or settings.ignore,
        "baseline": given["baseline"] or settings.baseline,
    }


def _cases(pairs: list[tuple[str, str]], given: dict[str, Any]) -> int:
    from mlacheck.cli.cases import check_cases, refuse_beside  # only for --cases
    from mlacheck.report.writers import Style  # same

    refuse_beside(given)
    style = Style(given["verbose"], given["quiet"], given["fail_on"] or "error", bool(given["strict"]))
    return check_cases(
        given["cases"],
        pairs,
        style,
        exit_zero=given["exit_zero"],
        remedies=bool(given["remedies"]),
        extra=given["extra"],
        select=given["select"],
        ignore=given["ignore"],
    )


def _files(pairs: list[tuple[str, str]], given: dict[str, Any]) -> int:
    from mlacheck.cli.files import check, missing_files  # only for files

    missing = missing_files(given["files"])
    if len(missing) == len(given["files"]):
        return codes.USAGE
    session = _session(given)
    measured = _Measured(session, given)
    reports = check(session, given, measured)
    code = _told(reports, pairs, given, ran=measured.ran)
    if missing:
        return codes.USAGE
    if code == codes.OK and not given["allow_empty"] and not any(report.command for report in reports):
        codes.say_nothing_in(given["files"])
        return codes.NOTHING
    return code


def _lines(pairs: list[tuple[str, str]], given: dict[str, Any]) -> int:
    result = read_launch(given["text"], given["words"], given)
    if not result.commands:
        return codes.say_no_command(result, allow_empty=given["allow_empty"])
    reports, ran = _reports(result, given)
    if given["text"] is not None:
        reports = apply_comments(reports, given["text"], given["extra"])
    if any(report.verdict == "error" for report in reports):
        _misplaced(given["words"], reports)
    return _told(reports, pairs, given, ran=ran)


def _misplaced(words: Sequence[str], reports: Sequence[Report]) -> None:
    """Say that an option of ours stands after `--`, where it is the engine's."""
    own = {name for one in click.get_current_context().command.params for name in one.opts}
    given = [name for word in words if (name := word.partition("=")[0]) in own and name.startswith("--")]
    if not given:
        return
    from mlacheck.engines import Grammar  # only where an option of ours stands there
    from mlacheck.probes.engine import recorded_versions  # same

    theirs = Grammar.load(reports[0].engine, recorded_versions(reports[0].engine)[-1]).flags
    wrong = next((one for one in given if one not in theirs), None)
    if wrong is not None:
        click.echo(f"note: {wrong} goes to the engine here; mlacheck's own options stand before --", err=True)


def _told(
    reports: Sequence[Report], pairs: list[tuple[str, str]], given: dict[str, Any], *, ran: bool
) -> int:
    """Write what was found and give the exit code."""
    from mlacheck.report.writers import Style  # not needed for --help

    reports = silence_reports(
        reports,
        select=given["select"],
        ignore=given["ignore"],
        baseline=given["baseline"],
        write_baseline=given["write_baseline"],
        extra=tuple(map(Path, given["extra"])),
        quiet=given["quiet"],
    )
    if given["decode_check"] and _follows():
        return codes.OK
    fail_on, strict = given["fail_on"], given["strict"]
    write_reports(reports, pairs, Style(given["verbose"], given["quiet"], fail_on, strict, complete=ran))
    return codes.exit_code(
        reports, fail_on=fail_on, strict=strict, exit_zero=given["exit_zero"], not_run=not ran
    )


def _follows() -> bool:
    """Tell whether another process of one torchrun speaks for this one."""
    from mlacheck.decode.ranks import ranks_here  # only with --decode-check

    ranks = ranks_here()
    return ranks is not None and not ranks.leads


def _session(given: dict[str, Any]) -> Session:
    return new_session(
        given,
        probe_import=given["probe_import"],
        extra_rules=tuple(map(Path, given["extra"])),
        remedies=given["remedies"] is not False,
        settings=given["settings"],
        profile=given["profile"],
    )


class _Measured:
    """Adds to a report what a decode check and kept evidence say, where they are asked for."""

    def __init__(self, session: Session, given: dict[str, Any]) -> None:
        self.session, self.given = session, given
        self.ran = True
        self.evidence: tuple[Evidence, ...] = ()
        if given["evidence"]:
            from mlacheck.cli.evidence import read_all  # only when asked for

            self.evidence = read_all(given["evidence"])

    def __call__(self, launch: LaunchCommand, report: Report) -> Report:
        """Add it to the report of one command."""
        if self.given["decode_check"]:
            from mlacheck.cli.decode_check import add_decode_check  # only when asked for

            report, done = add_decode_check(report, self.session.model_of(report), _overrides(self.given))
            self.ran = self.ran and done
        if self.evidence:
            from mlacheck.cli.evidence import add_evidence  # only when asked for

            target = self.session.checker(launch).target
            model = self.session.model_of(report)
            report = add_evidence(report, model, target, self.evidence, _overrides(self.given))
        return report


def _reports(result: LaunchResult, given: dict[str, Any]) -> tuple[list[Report], bool]:
    from mlacheck.probes.engine import ENGINES, recorded_versions  # not needed for --help

    session = _session(given)
    measured = _Measured(session, given)
    reports = []
    for launch in result.commands:
        if not recorded_versions(launch.engine):
            known = ", ".join(engine for engine in ENGINES if recorded_versions(engine))
            raise codes.InputError(
                f"{launch.entry}: there are no rules for {launch.engine}, only for {known}"
            )
        refuse_target(session, launch)
        reports.append(measured(launch, session.check(launch, result.problems)))
    return reports, measured.ran


def _overrides(given: dict[str, Any]) -> Overrides:
    from mlacheck.decode import Overrides  # only with --decode-check

    return Overrides(context_len=given["context_len"], batch=given["batch"], q_len=given["q_len"])
