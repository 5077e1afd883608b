from __future__ import annotations

import re


def read(line):
    """Read a workflow command as GitHub's runner does: properties at commas and `=`, then unescape."""
    match = re.fullmatch(r"::(\w+)(?: (.*?))?::(.*)", line, re.DOTALL)
    command, properties, data = match.groups()
    pairs = dict(one.split("=", 1) for one in (properties or "").split(",") if one)
    escapes = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))

    def plain(text, pairs):
        for code, char in pairs:
            text = text.replace(code, char)
        return text

    return (
        command,
        {name: plain(value, escapes) for name, value in pairs.items()},
        plain(data, (*escapes[:2], escapes[4])),
    )


def test_every_finding_is_one_line_that_reads_back(several, write, nasty):
    lines = write("github", *several).splitlines()
    found = [read(line) for line in lines]
    assert [command for command, _, _ in found] == ["error", "warning", "notice", "notice"]
    _, properties, data = found[0]
    assert properties == {
        "file": "deploy/run it.sh",
        "line": "5",
        "col": "6",
        "title": "TOY001 toy-rule",
    }
    assert data.startswith(f"{nasty}\nfix: run `")
    assert found[1][1]["line"] == "3"


def test_separators_in_a_file_name_are_escaped(made, finding, write):
    line = write("github", made(file="a,b:c%.sh", findings=(finding(),)))
    assert "file=a%2Cb%3Ac%25.sh," in line
    assert read(line.strip())[1]["file"] == "a,b:c%.sh"


def test_a_command_without_a_file_points_nowhere(made, finding, write):
    _, properties, _ = read(write("github", made(findings=(finding(),))).strip())
    assert set(properties) == {"title"}


def test_silenced_findings_are_not_shown_and_unknown_is_an_error_when_it_fails(several, write):
    assert "TOY004" not in write("github", *several)
    assert write("github", several[1], strict=True).startswith("::error file=/elsewhere/b.yaml")


def test_on_a_runner_paths_are_the_repositorys(made, finding, write, tmp_path, monkeypatch):
    (tmp_path / "deploy").mkdir()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.chdir(tmp_path / "deploy")
    report = made(file="a.sh", findings=(finding(),), verdict="error")
    assert write("github", report).startswith("::error file=deploy/a.sh,")
    assert '"uri": "deploy/a.sh"' in write("sarif", report)
    monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
    assert write("github", report).startswith("::error file=a.sh,")
