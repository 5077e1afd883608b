from __future__ import annotations

import io

import pytest

from mlacheck.finding import Location, Problem, Remedy, Undecided
from mlacheck.report.writers import Style, writer

# Characters that some format gives a meaning, or cannot carry.
NASTY = "a|b `c` <b>&amp; 100% *x* _y_ @someone #1: a,b\r\nnext [l](http://x) \x00\x1b \udcff ü 🙂"


@pytest.fixture
def nasty():
    return NASTY


@pytest.fixture
def write():
    def write(format_, *reports, stream=None, **style):
        stream = stream or io.StringIO()
        writer(format_)(reports, stream, Style(**style))
        return stream.getvalue()

    return write


@pytest.fixture
def several(made, finding):
    """Reports with everything that formats have to show: places, levels, silenced and undecided."""
    return (
        made(
            verdict="error",
            file="deploy/run it.sh",
            location=Location(3, 1),
            findings=(
                finding(
                    message=NASTY,
                    location=Location(5, 6),
                    because=(NASTY, "dcp_size = 8"),
                    remedies=(Remedy("edit", f"drop {NASTY}", f"run `{NASTY}` ```x```", cost=NASTY),),
                    source="file.py::symbol",
                    evidence=("owner/project#1",),
                    confirm="run it",
                    engine_message="no",
                ),
                finding("warning", id="TOY002"),
                finding("info", id="TOY003"),
                finding(
                    id="TOY004", suppressed=True, suppressed_by="comment", suppressed_reason="known, see #3"
                ),
            ),
            decode=(
                {"name": "runs", "state": "passes"},
                {"name": "merged", "state": "wrong", "measured": 0.13, "limit": 0.01, "detail": NASTY},
                {"name": "graph", "state": "not run", "detail": "no GPU"},
            ),
        ),
        made(
            verdict="unknown",
            file="/elsewhere/b.yaml",
            location=Location(1, 1),
            undecided=(Undecided("TOY005", "t", "error", ("gpu.sm", "is_mla")),),
            problems=(Problem("odd", f"odd {NASTY}", "do this", Location(4, 2)),),
        ),
        made(verdict="ok"),
    )


@pytest.fixture(autouse=True)
def no_runner(monkeypatch):
    """These tests may run on a GitHub runner themselves."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
