from __future__ import annotations

import json

import pytest

from mlacheck.baseline import BaselineError, apply_baseline, read_baseline, write_baseline
from mlacheck.finding import Location


@pytest.fixture
def report(made, finding):
    def report(*ids, file="deploy/run.sh", line=3, normalised="sglang --tp 8"):
        return made(
            verdict="error" if ids else "ok",
            file=file,
            location=Location(line, 1),
            normalised=normalised,
            findings=tuple(finding(id=id_) for id_ in ids),
        )

    return report


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "baseline.json"


def after(path, *reports):
    done, stale = apply_baseline(path, read_baseline(path), reports)
    return [one.verdict for one in done], stale


def test_what_was_accepted_does_not_count_wherever_it_moves(path, report):
    assert write_baseline(path, [report("TOY001", "TOY002")]) == 2
    assert after(path, report("TOY001", "TOY002", line=70)) == (["ok"], 0)


@pytest.mark.parametrize("other", [{"file": "x.sh"}, {"normalised": "sglang --tp 4"}])
def test_another_file_or_command_is_not_accepted(path, report, other):
    write_baseline(path, [report("TOY001")])
    assert after(path, report("TOY001", **other)) == (["error"], 1)


def test_a_new_finding_counts_and_a_mended_one_is_stale(path, report):
    write_baseline(path, [report("TOY001")])
    assert after(path, report("TOY001", "TOY003")) == (["error"], 0)
    assert after(path, report()) == (["ok"], 1)


def test_silenced_findings_say_where_they_were_accepted(path, report):
    write_baseline(path, [report("TOY001")])
    ((done,), _) = apply_baseline(path, read_baseline(path), [report("TOY001")])
    assert (done.findings[0].suppressed_by, done.findings[0].suppressed_reason) == (
        "baseline",
        "accepted in baseline.json",
    )


def test_paths_are_kept_relative_to_the_file_so_that_any_folder_will_do(path, report, monkeypatch):
    write_baseline(path, [report("TOY001")])
    (path.parent / "deploy").mkdir()
    monkeypatch.chdir(path.parent / "deploy")
    assert after(path, report("TOY001", file="run.sh")) == (["ok"], 0)
    assert json.loads(path.read_text())["findings"][0]["path"] == "deploy/run.sh"


def test_commands_are_not_written_out(path, report):
    write_baseline(path, [report("TOY001", normalised="sglang --api-key geheim")])
    assert "geheim" not in path.read_text()


def test_the_file_is_the_same_whatever_the_order(path, report):
    write_baseline(path, [report("TOY001"), report("TOY002", file="a.sh")])
    first = path.read_text()
    write_baseline(path, [report("TOY002", file="a.sh"), report("TOY001"), report("TOY001")])
    assert path.read_text() == first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is not JSON"),
        ("[]", "schema_version None"),
        ('{"schema_version": 2}', "schema_version 2, not 1"),
        ('{"schema_version": 1}', "no list of findings"),
        ('{"schema_version": 1, "findings": [{"rule": "TOY001"}]}', "finding 1 needs the texts"),
        ('{"schema_version": 1, "findings": [3]}', "finding 1 needs the texts"),
    ],
)
def test_a_baseline_that_cannot_be_read_says_why_and_what_to_do(path, text, said):
    if text is not None:
        path.write_text(text)
    with pytest.raises(BaselineError) as caught:
        read_baseline(path)
    assert said in str(caught.value)
    assert "baseline.json" in str(caught.value)


def test_a_baseline_that_cannot_be_written(tmp_path, report):
    with pytest.raises(BaselineError, match="cannot be written"):
        write_baseline(tmp_path / "no" / "folder.json", [report("TOY001")])
