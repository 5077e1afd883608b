from __future__ import annotations

import re

from mlacheck.finding import Location

LINE = re.compile(
    r"(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<level>\w+)(\[(?P<id>\w+)\])?:? (?P<message>.*)"
)


def test_one_line_a_finding_with_its_place(several, write):
    *lines, last = write("concise", *several).split("\n")[:-1]
    found = [LINE.fullmatch(line).groupdict() for line in lines]
    assert [(one["file"], one["line"], one["level"], one["id"]) for one in found] == [
        ("deploy/run it.sh", "5", "error", "TOY001"),
        ("deploy/run it.sh", "3", "warning", "TOY002"),
        ("deploy/run it.sh", "3", "info", "TOY003"),
        ("/elsewhere/b.yaml", "1", "unknown", None),
    ]
    assert "waits for the GPU (--gpu NAME)" in found[3]["message"]
    said, _, notes = last.partition("; ")
    assert said == "checked 3 commands in 2 files: 1 error, 1 warning, 1 info"
    assert notes == "1 unknown; 1 suppressed; 1 rule undecided"


def test_quiet_leaves_the_summary_out(made, write):
    assert write("concise", made(), quiet=True) == ""


def test_what_keeps_a_verdict_open_is_said_and_nothing_else(made, finding, write):
    def why(**more):
        return write("concise", made(verdict="unknown", **more), quiet=True).split("unknown: ")[-1].strip()

    assert why(assumptions=("sglang 1.0 is assumed", "flashinfer 2.0 (pinned)")) == "sglang 1.0 is assumed"
    assert why(assumptions=("variant: x",), findings=(finding("info", message="no rules"),)) == "no rules"
    assert why() == "part of the input is not settled"
    assert write("concise", made(verdict="unknown", command="", file="a"), quiet=True) == ""


def test_a_script_inside_a_manifest_is_shown_where_its_words_are(made, finding, write):
    report = made(file="a.yaml", location=Location(3, 7), better=Location(9, 5), findings=(finding(),))
    assert write("concise", report).startswith("a.yaml:9:5: error")
    above = made(file="a.sh", location=Location(3, 7), findings=(finding(),))
    assert write("concise", above).startswith("a.sh:3:7: error")
