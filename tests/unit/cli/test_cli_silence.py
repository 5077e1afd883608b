from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli

LINE = (
    "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla "
    "--speculative-algorithm EAGLE"
)


def run(*words, line=LINE, form="json"):
    target = ("--gpu", "b200", "--engine-version", "0.5.18", "--no-remedies", "--format", form)
    return CliRunner().invoke(cli, ["validate", "--args", line, *target, *words])


def test_a_comment_above_the_command_silences_it_and_the_report_keeps_it():
    result = run(line=f"# mlacheck: ignore[MLA194] waits for 0.5.24\n{LINE}")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    (finding,) = report["findings"]
    assert (finding["suppressed"], finding["suppressed_by"], finding["suppressed_reason"]) == (
        True,
        "comment",
        "waits for 0.5.24",
    )
    assert report["verdict"] == "ok"


def test_a_refused_comment_silences_nothing():
    result = run(line=f"# mlacheck: ignore\n{LINE}", form="concise")
    assert result.exit_code == 1
    assert "<command line>:1:1: warning[MLA511]" in result.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--ignore", "MLA194"), 0),
        (("--ignore", "MLA2,mla1"), 0),
        (("--ignore", "MLA2", "--ignore", "error"), 0),
        (("--ignore", "MLA2"), 1),
        (("--select", "MLA2"), 0),
        (("--select", "backend-factory"), 1),
    ],
)
def test_the_flags_decide_what_counts(words, code):
    assert run(*words).exit_code == code


def test_a_misspelt_name_is_bad_usage():
    result = run("--ignore", "trtllm-mla-dcp-speculativ")
    assert result.exit_code == 2
    assert "did you mean MLA194 trtllm-mla-dcp-speculative" in result.stderr


def test_a_baseline_accepts_what_is_there_and_nothing_else(tmp_path):
    path = str(tmp_path / "baseline.json")
    made = run("--write-baseline", path)
    assert made.exit_code == 0
    assert "1 finding accepted" in made.stderr
    assert run("--baseline", path).exit_code == 0
    assert run("--baseline", path, line=LINE.replace("EAGLE", "EAGLE3")).exit_code == 1
    clean = run("--baseline", path, line=LINE.replace("--speculative-algorithm EAGLE", ""))
    assert "1 finding not found any more" in clean.stderr


def test_a_baseline_that_is_not_there_is_bad_usage(tmp_path):
    result = run("--baseline", str(tmp_path / "none.json"))
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
