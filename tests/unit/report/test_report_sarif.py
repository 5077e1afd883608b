from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from mlacheck.finding import Location
from mlacheck.report.sarif import to_sarif

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(
    SCHEMA, format_checker=jsonschema.FormatChecker(["uri", "uri-reference"])
)


def results(*reports):
    return to_sarif(reports)["runs"][0]["results"]


def test_the_schema_can_fail():
    log = to_sarif(())
    log["runs"][0]["results"] = [{"message": {"text": "x"}, "level": "fatal"}]
    assert list(VALIDATOR.iter_errors(log))


@pytest.mark.parametrize("complete", [True, False])
def test_the_log_is_valid_against_the_schema(several, write, complete):
    log = json.loads(write("sarif", *several, complete=complete))
    assert not [error.message for error in VALIDATOR.iter_errors(log)]
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is complete
    assert not list(VALIDATOR.iter_errors(json.loads(write("sarif"))))


def test_each_rule_that_fired_is_described_once_and_found_by_its_index(several):
    run = to_sarif((*several, *several))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TOY001", "TOY002", "TOY003", "TOY004", "MLA519"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert "`file.py::symbol`" in rules[0]["help"]["markdown"]
    assert "ignore[TOY001]" in rules[0]["help"]["text"]


def test_paths_are_relative_uris_and_places_start_at_one(several, made, finding, tmp_path, monkeypatch):
    first, *_ = results(*several)
    where = first["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "deploy/run%20it.sh", "uriBaseId": "%SRCROOT%"}
    assert where["region"] == {"startLine": 5, "startColumn": 6}
    monkeypatch.chdir(tmp_path)
    inside = made(file=str(tmp_path / "a" / "b.sh"), findings=(finding(),))
    uri = results(inside)[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a/b.sh"
    outside = made(file="/elsewhere/x.sh", findings=(finding(),))
    artifact = results(outside)[0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "file:///elsewhere/x.sh"}
    assert "locations" not in results(made(findings=(finding(),)))[0]


def test_a_fingerprint_survives_a_moved_command_and_tells_two_findings_apart(made, finding):
    def prints(line, *findings, normalised="sglang --a 1"):
        report = made(file="a.sh", location=Location(line, 1), findings=findings, normalised=normalised)
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in results(report)]

    assert prints(3, finding()) == prints(30, finding())
    assert prints(3, finding()) != prints(3, finding(), normalised="sglang --a 2")
    assert prints(3, finding()) != prints(3, finding(id="TOY002"))
    assert len(set(prints(3, finding(), finding()))) == 2


def test_levels_suppressions_and_open_questions(several):
    found = results(*several)
    assert [one["level"] for one in found] == ["error", "warning", "note", "error", "none"]
    assert found[3]["suppressions"] == [{"kind": "inSource", "justification": "known, see #3"}]
    assert "suppressions" not in found[0]
    assert found[4]["kind"] == "open"
    assert "--gpu NAME" in found[4]["message"]["text"]
    assert found[0]["properties"]["decode"][1]["measured"] == 0.13
