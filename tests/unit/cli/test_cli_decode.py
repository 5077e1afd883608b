from __future__ import annotations

import json

from click.testing import CliRunner

from mlacheck.cli import cli


def run(*arguments):
    result = CliRunner().invoke(cli, ["decode-check", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


SMALL = ("--model", "deepseek-v3", "--dcp-size", "2", "--tp-size", "8", "--context-len", "64", "--batch", "2")


def test_the_reference_passes_on_a_cpu():
    result = run(*SMALL, "--backend", "reference", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "  passes  merged" in result.stdout


def test_a_wrong_merge_base_is_a_finding():
    result = run(*SMALL, "--backend", "reference", "--device", "cpu", "--lse-base", "2", "--format", "json")
    assert result.exit_code == 1
    states = {row["name"]: row["state"] for row in json.loads(result.stdout)["rows"]}
    assert (states["lse base"], states["merged"]) == ("wrong", "wrong")
    assert states["one-rank decode"] == "passes"


def test_an_unknown_model_is_bad_usage():
    result = run("--model", "nobody/knows")
    assert result.exit_code == 2
    assert "error: " in result.stderr


def test_a_backend_that_is_not_here_could_not_run():
    result = run(*SMALL, "--backend", "no-such-backend", "--device", "cpu")
    assert result.exit_code == 4, result.output


def test_a_decode_check_of_a_refused_line_says_that_there_is_none():
    arguments = [
        "validate",
        "--args",
        "--model-path deepseek-ai/DeepSeek-V3 --tp-size nine",
        "--decode-check",
    ]
    result = CliRunner().invoke(
        cli, [*arguments, "--gpu", "h200", "--engine-version", "0.5.18", "--format", "json"]
    )
    assert result.exit_code == 1
    [row] = json.loads(result.stdout)["decode"]
    assert (row["name"], row["state"]) == ("runs", "not run")
