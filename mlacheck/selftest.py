"""Runs the launch lines that every rule carries as its own test."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from mlacheck.cases import Cases
from mlacheck.frozen import frozen
from mlacheck.probes.model import ModelConfig

if TYPE_CHECKING:
    from mlacheck.ruleset.files import RuleSet
    from mlacheck.ruleset.schema import TestRow


_FIRES: Final = "fires"
_STILL: Final = "keeps still"
_WAITS: Final = "stays undecided"


@frozen
class Result:
    """How one row went."""

    rule: str
    place: str
    expected: str
    row: str
    ok: bool
    detail: str = ""


def run_tests(ruleset: RuleSet, names: set[str]) -> list[Result]:
    """Run the rows of all rules, or of those named by id or slug; a rule without both kinds of row fails."""
    cases = Cases()
    results = []
    for source, path, rule in ruleset.finds():
        if names and not names & {rule.id.lower(), rule.slug}:
            continue
        place = f"{source.name}:{source.line(path)}"
        tests = rule.tests
        if not (tests.fails or tests.undecided) or not tests.passes:
            missing = "row on which it keeps still" if not tests.passes else "row on which it fires"
            results.append(Result(rule.id, place, "has tests", "-", ok=False, detail=f"no {missing}"))
        for rows, expected in ((tests.fails, _FIRES), (tests.passes, _STILL), (tests.undecided, _WAITS)):
            results.extend(_run(cases, ruleset.engine, rule.id, place, row, expected) for row in rows)
    return results


def _run(cases: Cases, engine: str, rule: str, place: str, row: TestRow, expected: str) -> Result:
    args = shlex.split(row.args) if isinstance(row.args, str) else row.args
    case: dict[str, object] = {"engine": engine, "engine_version": row.version, "args": args, "env": row.env}
    if row.packages:
        case["packages"] = row.packages
    if row.config is not None:
        name = row.model or "config in the row"
        model = ModelConfig(ref=name, name=name, config=row.config, origin="the row")
        case["model"] = cases.models.add(model)
    elif row.model is not None:
        case["model"] = row.model
    for name in ("gpu", "gpu_count", "nodes"):
        if getattr(row, name) is not None:
            case[name] = getattr(row, name)
    case["flashinfer"] = row.flashinfer
    report = cases.report(case)
    fired = sorted({finding.id for finding in report.findings})
    undecided = [one for one in report.undecided if one.rule == rule]
    detail = f"found {', '.join(fired) or 'nothing'}"
    if undecided:
        detail += f"; undecided, needs {', '.join(undecided[0].needs)}"
    outcome = _FIRES if rule in fired else _WAITS if undecided else _STILL
    return Result(
        rule,
        place,
        expected,
        f"{row.version} {row.gpu} {row.model} {' '.join(args)}",
        ok=outcome == expected,
        detail=detail,
    )
