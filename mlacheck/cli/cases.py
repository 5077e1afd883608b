"""Writes the reports of a cases file: line by line while it is read, or together in other formats."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mlacheck.cases import CaseProblem, Cases
from mlacheck.cli import exit as codes
from mlacheck.cli.options import names_engine
from mlacheck.cli.output import STDOUT, write_reports
from mlacheck.cli.silence import make_selection
from mlacheck.frozen import replace
from mlacheck.report.json_ import SCHEMA_VERSION, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report
    from mlacheck.report.writers import Style

# JSON of cases is one object a line, written as each is done.
_STREAMED = ([("jsonl", STDOUT)], [("json", STDOUT)])

# Flags about a target, and what each case is asked for alone.
_NOT_BESIDE: Final = (
    "engine",
    *("engine_version", "flashinfer", "gpu", "gpu_count", "nodes", "model", "env", "profile"),
    *("config_file", "decode_check", "context_len", "batch", "q_len", "evidence", "probe_import"),
    *("baseline", "write_baseline"),
)


def refuse_beside(given: dict[str, Any]) -> None:
    """Refuse flags that a cases file cannot follow, for they would be ignored without a word."""
    given = {**given, "engine": names_engine()}
    for name in _NOT_BESIDE:
        if given[name] not in (None, (), False):
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} and --cases do not go together: each case names its own target")


def check_cases(
    path: str,
    pairs: list[tuple[str, str]],
    style: Style,
    *,
    exit_zero: bool,
    remedies: bool,
    extra: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> int:
    """Check every line of a file (`-`: standard input), in order."""
    failed = seen = False
    usage = False
    kept: list[Report] = []
    streamed = pairs in _STREAMED
    rules = tuple(map(Path, extra))
    selection = make_selection(select, ignore, rules)
    with click.open_file(path, encoding="utf-8", errors="surrogateescape") as lines:
        for result in Cases(remedies=remedies, extra_rules=rules).check(lines):
            seen = True
            if isinstance(result, CaseProblem):
                usage = True
                click.echo(f"error: {path}:{result.line}: {result.message}", err=True)
                if streamed:
                    sys.stdout.write(json.dumps(_unread(result)) + "\n")
                continue
            (report,) = selection.apply([result])
            failed = failed or codes.reaches(report, style.fail_on, strict=style.strict)
            if streamed:
                sys.stdout.write(to_json(report) + "\n")
            else:
                kept.append(_placed(report, "<stdin>" if path == "-" else path))
    if not streamed:
        write_reports(kept, pairs, style)
    if usage:
        return codes.USAGE
    if not seen:
        click.echo(f"error: {path} has no cases; give one JSON object a line", err=True)
        return codes.NOTHING
    return codes.FINDINGS if failed and not exit_zero else codes.OK


def _placed(report: Report, path: str) -> Report:
    """Place a report at the line of its case: places inside its args say nothing to who reads the file."""
    findings = tuple(replace(one, location=None) for one in report.findings)
    return replace(report, file=path, findings=findings)


def _unread(problem: CaseProblem) -> dict[str, object]:
    """Give the report of a line that is no case, with every key that reports have."""
    told = {"kind": "case", "message": problem.message, "hint": "see --cases in the README"}
    return {
        "schema_version": SCHEMA_VERSION,
        "id": problem.id,
        "command": "",
        "source": {"file": None, "line": problem.line, "column": 1},
        "engine": {"name": None, "version": None},
        "target": {},
        "assumptions": [],
        "verdict": "unknown",
        "findings": [],
        "resolved": {},
        "undecided": [],
        "not_checked": ["everything: the line is no case"],
        "decode": [],
        "problems": [{**told, "line": problem.line, "column": 1}],
    }
