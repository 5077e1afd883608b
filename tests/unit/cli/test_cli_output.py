from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli
from mlacheck.report.writers import FORMATS

LINE = (
    "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla "
    "--speculative-algorithm EAGLE"
)
TARGET = ("--gpu", "b200", "--engine-version", "0.5.18", "--no-remedies")


def run(*words, line=LINE):
    return CliRunner().invoke(cli, ["validate", "--args", line, *TARGET, *words])


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_names_the_finding_and_gives_the_same_exit_code(form):
    result = run("--format", form)
    assert result.exit_code == 1
    assert "MLA194" in result.stdout
    assert run("--format", form, "--exit-zero").exit_code == 0


def test_several_reports_in_one_run(tmp_path):
    paths = {form: tmp_path / form for form in ("sarif", "junit", "markdown")}
    words = [word for form, path in paths.items() for word in ("--format", form, "--output", str(path))]
    result = run("--format", "concise", "--output", "-", *words)
    assert result.exit_code == 1
    assert result.stdout.startswith("<command line>:1:")
    assert json.loads(paths["sarif"].read_text())["version"] == "2.1.0"
    assert paths["junit"].read_text().startswith("<?xml")
    assert paths["markdown"].read_text().startswith("### mlacheck")


def test_the_outcome_is_told_when_every_report_goes_to_a_file(tmp_path):
    words = ("--format", "json", "--output", str(tmp_path / "x"))
    assert run(*words).stderr.strip() == "checked 1 command: 1 error"
    assert run(*words).stdout == ""
    assert run(*words, "-q").stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "text", "--format", "sarif"), "2 --format and no --output"),
        (("--output", "a", "--output", "b"), "1 --format and 2 --output"),
        (("--format", "json", "--output", "-", "--format", "text", "--output", "-"), "given twice"),
        (("--format", "json", "--output", "a", "--format", "text", "--output", "./a"), "given twice"),
        (("--format", "yaml"), "'yaml' is not one of"),
        (("--output", "/nowhere/at/all"), "--output /nowhere/at/all cannot be written: No such file"),
    ],
)
def test_outputs_that_cannot_be_are_bad_usage(words, said):
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_an_output_alone_is_a_text_report(tmp_path):
    run("--output", str(tmp_path / "report.txt"))
    assert (tmp_path / "report.txt").read_text().startswith("ERROR")


def test_cases_can_have_any_format(tmp_path):
    cases = tmp_path / "cases.jsonl"
    case = {
        "args": LINE.split()[3:],
        "model": "deepseek-ai/DeepSeek-V3",
        "gpu": "b200",
        "engine_version": "0.5.18",
    }
    cases.write_text(f"{json.dumps(case | {'flashinfer': 'pin'})}\n" * 2)
    done = CliRunner().invoke(cli, ["validate", "--cases", str(cases), "--format", "concise"])
    assert done.exit_code == 1
    assert done.stdout.count("error[MLA194]") == 2
    assert "checked 2 commands" in done.stdout


def test_a_refused_word_comes_with_the_corrected_command():
    line = "sglang serve meta-llama/Llama-3.1-8B-Instruct --tp_size 2 --atention-backend triton"
    result = CliRunner().invoke(
        cli, ["validate", "--args", line, "--gpu", "h200", "--engine-version", "0.5.18", "--format", "json"]
    )
    findings = json.loads(result.stdout)["findings"]
    right = "sglang serve meta-llama/Llama-3.1-8B-Instruct --tp-size 2 --attention-backend triton"
    assert [one["remedies"][0]["command"] for one in findings] == [right, right]


def test_a_corrected_command_mends_what_else_is_wrong_with_the_line():
    result = run("--format", "json", "--remedies", line=LINE.replace("trtllm_mla", "trtlm_mla"))
    for remedy in json.loads(result.stdout)["findings"][0]["remedies"]:
        again = run("--format", "json", line=remedy["command"])
        assert json.loads(again.stdout)["verdict"] in {"ok", "warning"}
