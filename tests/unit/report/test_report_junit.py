from __future__ import annotations

import io

import pytest
from junitparser import Failure, JUnitXml, Skipped


def read(text):
    return JUnitXml.fromroot(JUnitXml.fromstring(text.encode())._elem)


def cases(text):
    return {
        (suite.name, case.name): [type(one) for one in case.result] for suite in read(text) for case in suite
    }


def test_a_suite_a_file_and_a_case_a_finding(several, write):
    text = write("junit", *several)
    assert cases(text) == {
        ("deploy/run it.sh", "TOY001 toy-rule"): [Failure],
        ("deploy/run it.sh", "TOY002 toy-rule"): [],
        ("deploy/run it.sh", "TOY003 toy-rule"): [],
        ("deploy/run it.sh", "TOY004 toy-rule"): [Skipped],
        ("deploy/run it.sh", "decode runs"): [],
        ("deploy/run it.sh", "decode merged"): [Failure],
        ("deploy/run it.sh", "decode graph"): [Skipped],
        ("/elsewhere/b.yaml", "verdict"): [Skipped],
        ("command line", "verdict"): [],
    }
    whole = read(text)
    assert (whole.tests, whole.failures, whole.skipped, whole.errors) == (9, 2, 3, 0)
    suite = next(iter(whole))
    counted = (suite.tests, suite.failures, suite.skipped)
    suite.update_statistics()
    assert (suite.tests, suite.failures, suite.skipped) == counted == (7, 2, 2)


@pytest.mark.parametrize(("fail_on", "failed"), [("error", 1), ("warning", 2), ("info", 3)])
def test_what_fails_the_run_fails_here(several, write, fail_on, failed):
    found = cases(write("junit", several[0], fail_on=fail_on))
    assert sum(Failure in result for (_, name), result in found.items() if name.startswith("TOY")) == failed


def test_an_unknown_verdict_fails_when_it_fails_the_run(several, write):
    assert cases(write("junit", several[1], strict=True)) == {("/elsewhere/b.yaml", "verdict"): [Failure]}


def test_text_arrives_and_what_xml_cannot_carry_does_not(several, write, nasty):
    first = next(iter(next(iter(read(write("junit", *several))))))
    message = first.result[0].message
    assert "<b>&amp; 100%" in message
    assert "\x00" not in message
    assert "deploy/run it.sh:5:6: error[TOY001]" in first.result[0].text
    assert "fix: drop" in first.result[0].text
    assert io.StringIO(write("junit", *several)).readline().startswith("<?xml")
    assert "\x1b" in nasty
