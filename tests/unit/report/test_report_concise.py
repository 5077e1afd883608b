from __future__ import annotations

import re

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
