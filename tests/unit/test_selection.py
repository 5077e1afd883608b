from __future__ import annotations

import pytest

from mlacheck.finding import Undecided
from mlacheck.selection import Selection, TermError

NAMES = {"toy001": "TOY001", "toy-rule": "TOY001", "toy112": "TOY112", "other-rule": "TOY112"}


@pytest.fixture
def report(made, finding):
    return made(
        verdict="error",
        findings=(
            finding(id="TOY001", slug="toy-rule", phase="resolve"),
            finding("warning", id="TOY112", slug="other-rule", phase="silent"),
        ),
        undecided=(Undecided("TOY120", "t", "error", ("gpu.sm",), "third-rule", "first-decode"),),
    )


def live(report, select=(), ignore=()):
    (done,) = Selection(select, ignore).apply([report])
    return done.verdict, [one.id for one in done.live], [one.rule for one in done.undecided]


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        (("TOY001",), ("unknown", ["TOY112"], ["TOY120"])),
        (("toy-rule",), ("unknown", ["TOY112"], ["TOY120"])),
        (("TOY1",), ("error", ["TOY001"], [])),
        (("TOY",), ("ok", [], [])),
        (("silent",), ("error", ["TOY001"], ["TOY120"])),
        (("first-decode", "resolve"), ("warning", ["TOY112"], [])),
        (("error",), ("warning", ["TOY112"], [])),
        (("warning",), ("error", ["TOY001"], ["TOY120"])),
        (("third-rule",), ("error", ["TOY001", "TOY112"], [])),
    ],
)
def test_ignoring_by_id_start_slug_phase_and_level(report, ignore, left):
    assert live(report, ignore=ignore) == left


@pytest.mark.parametrize(
    ("select", "ignore", "left"),
    [
        (("TOY001",), (), ("error", ["TOY001"], [])),
        (("TOY1", "resolve"), (), ("error", ["TOY001", "TOY112"], ["TOY120"])),
        (("TOY",), ("TOY0",), ("unknown", ["TOY112"], ["TOY120"])),
        (("warning",), (), ("warning", ["TOY112"], [])),
    ],
)
def test_selecting_and_ignoring_from_it(report, select, ignore, left):
    assert live(report, select, ignore) == left


def test_what_does_not_count_stays_with_the_reason(report):
    (done,) = Selection(ignore=("TOY0",)).apply([report])
    first = done.findings[0]
    assert (first.suppressed, first.suppressed_by, first.suppressed_reason) == (
        True,
        "option",
        "--ignore TOY0",
    )
    (done,) = Selection(select=("TOY0",)).apply([report])
    assert done.findings[1].suppressed_reason == "not selected"


def test_nothing_asked_changes_nothing(report):
    assert Selection().apply([report]) == [report]


@pytest.mark.parametrize(
    "term", ["TOY001", "toy1", "T", "OTHER-RULE", "error", "argparse", "silent", "input"]
)
def test_terms_that_exist(term):
    Selection((term,)).check(NAMES)


@pytest.mark.parametrize(
    ("term", "hint"),
    [
        ("TOY002", "TOY001"),
        ("TOY9", "'TOY9' is no rule"),
        ("other-rul", "other-rule"),
        ("eror", "error"),
        ("zzz", "rules list"),
    ],
)
def test_a_term_that_selects_nothing_is_named_with_what_is_close(term, hint):
    with pytest.raises(TermError) as caught:
        Selection(ignore=(term,)).check(NAMES)
    assert hint in str(caught.value)
    assert repr(term) in str(caught.value)
