"""Writes the reports of a cases file: line by line while it is read, or together in other formats."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlacheck.cases import CaseProblem, Cases
from mlacheck.cli import exit as codes
from mlacheck.cli.output import STDOUT, write_reports
from mlacheck.report.json_ import SCHEMA_VERSION, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report
    from mlacheck.report.writers import Style

# JSON of cases is one object a line, written as each is done.
_STREAMED = ([("jsonl", STDOUT)], [("json", STDOUT)])


def check_cases(
    path: str,
    pairs: list[tuple[str, str]],
    style: Style,
    *,
    exit_zero: bool,
    remedies: bool,
    extra: Sequence[str] = (),
) -> int:
    """Check every line of a file (`-`: standard input), in order."""
    failed = seen = False
    usage = False
    kept: list[Report] = []
    streamed = pairs in _STREAMED
    with click.open_file(path, encoding="utf-8", errors="surrogateescape") as lines:
        for result in Cases(remedies=remedies, extra_rules=tuple(map(Path, extra))).check(lines):
            seen = True
            if isinstance(result, CaseProblem):
                usage = True
                click.echo(f"error: {path}:{result.line}: {result.message}", err=True)
                if streamed:
                    sys.stdout.write(json.dumps(_unread(result)) + "\n")
                continue
            failed = failed or codes.reaches(result, style.fail_on, strict=style.strict)
            if streamed:
                sys.stdout.write(to_json(result) + "\n")
            else:
                kept.append(result)
    if not streamed:
        write_reports(kept, pairs, style)
    if usage:
        return codes.USAGE
    if not seen:
        click.echo(f"error: {path} has no cases; give one JSON object a line", err=True)
        return codes.NOTHING
    return codes.FINDINGS if failed and not exit_zero else codes.OK


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
