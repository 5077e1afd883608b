"""Writes the reports of a cases file while it is read."""

from __future__ import annotations

import json
import sys

import click

from mlacheck.cases import CaseProblem, Cases
from mlacheck.cli import exit as codes
from mlacheck.report.json_ import SCHEMA_VERSION, to_json


def check_cases(path: str, *, fail_on: str, strict: bool, exit_zero: bool, remedies: bool) -> int:
    """Check every line of a file (`-`: standard input); write one JSON object a line, in order."""
    failed = seen = False
    usage = False
    with click.open_file(path, encoding="utf-8", errors="surrogateescape") as lines:
        for result in Cases(remedies=remedies).check(lines):
            seen = True
            if isinstance(result, CaseProblem):
                usage = True
                click.echo(f"error: {path}:{result.line}: {result.message}", err=True)
                sys.stdout.write(json.dumps(_unread(result)) + "\n")
                continue
            failed = failed or codes.reaches(result, fail_on, strict=strict)
            sys.stdout.write(to_json(result) + "\n")
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
