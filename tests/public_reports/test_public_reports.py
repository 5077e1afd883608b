"""Lines that people reported, judged for each released version as its source says and by the right rule."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlacheck.cases import Cases

REPORTS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "reports.yaml").read_text(encoding="utf-8")
)
ROWS = [
    pytest.param(version, case, id=f"{report['report'].rsplit('/', 1)[-1]}-{number}-{version}")
    for report in REPORTS
    for number, case in enumerate(report["cases"])
    for version in case["versions"]
]
LEVELS = ("ok", "info", "warning", "error")


@pytest.fixture(scope="module")
def cases() -> Cases:
    return Cases()


@pytest.mark.parametrize(("version", "case"), ROWS)
def test_a_reported_line_is_judged_as_the_source_says(
    cases: Cases, version: str, case: dict[str, Any]
) -> None:
    report = cases.report(
        {
            "engine": case.get("engine", "sglang"),
            "engine_version": version,
            "model": case["model"],
            "gpu": case["gpu"],
            "flashinfer": case.get("flashinfer", "pin"),
            "args": shlex.split(case["args"]),
            "env": case.get("env", {}),
        }
    )
    found = {finding.id: finding for finding in report.findings}
    assert not report.undecided
    assert max((finding.level for finding in report.findings), default="ok", key=LEVELS.index) == case["says"]
    named = [found[rule] for rule in case.get("rules", [])]  # KeyError: a rule that did not fire
    assert all(finding.level == case["says"] for finding in named)
    assert not named or named[0].phase == case.get("phase", named[0].phase)


def test_every_report_is_a_public_thread() -> None:
    assert len({report["report"] for report in REPORTS}) == len(REPORTS) >= 12
    assert all(report["report"].startswith("https://github.com/") and report["about"] for report in REPORTS)
