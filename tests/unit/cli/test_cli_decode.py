from __future__ import annotations

import json

import pytest
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


# None of these reaches a kernel, so that none needs a GPU.
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--backend", "dsa", "--dcp-size", "2"), "sparse attention (DSA) is not covered"),
        (("--backend", "abacus"), "adapters exist for reference, flashinfer"),
        (("--backend", "flashmla", "--page-size", "64"), "not installed; pip install sgl-flash-mla"),
        (
            ("--backend", "flashinfer", "--dcp-size", "3", "--tp-size", "8"),
            "choose a dcp_size that divides it",
        ),
        (("--tp-size", "7"), "choose a tp_size that divides it"),
        (("--kv-cache-dtype", "nvfp4"), "known are"),
    ],
)
def test_bad_input_is_not_run_with_the_next_step(arguments, words):
    result = run("--model", "deepseek-v3", *arguments)
    assert result.exit_code == 4, result.output
    assert words in " ".join(result.stdout.split())
    assert result.stdout.startswith("not run: ")


def test_a_model_without_latent_attention_has_nothing_to_check():
    result = run("--model", "meta-llama/Llama-3.1-8B-Instruct")
    assert result.exit_code == 4
    assert "does not use MLA" in result.stdout


def test_a_context_shorter_than_the_ranks_is_told():
    arguments = (
        "--dcp-size",
        "4",
        "--context-len",
        "2",
        "--batch",
        "1",
        "--device",
        "cpu",
        "--tp-size",
        "32",
    )
    result = run("--model", "deepseek-v3", *arguments)
    assert result.exit_code == 0, result.output
    assert "contexts of 2 tokens leave 2 of 4 ranks empty" in result.stdout


LINE = "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8"


@pytest.mark.parametrize(
    ("line", "target", "code", "words"),
    [
        # The first GPU named is not this machine's, the second line dies at start-up.
        (f"{LINE} --attention-backend flashinfer", "b200", 4, "the target has SM100, this machine has"),
        (
            f"{LINE} --attention-backend flashinfer --dcp-size 3",
            "h200",
            4,
            "the engine refuses this line (MLA",
        ),
        (f"{LINE} --attention-backend aiter", "h200", 4, "no adapter for sglang's aiter"),
        ("--model-path nobody/knows --tp-size 8", "h200", 4, "the model's config is not known"),
    ],
)
def test_launch_lines_that_cannot_be_decoded_here(line, target, code, words):
    result = run("--args", line, "--gpu", target, "--engine-version", "0.5.18")
    assert result.exit_code == code, result.output
    assert words in result.stdout


def test_the_gpu_of_a_line_is_this_machines_unless_named(monkeypatch):
    from mlacheck.probes import gpu, hardware

    line = ("--args", LINE, "--engine-version", "0.5.18")
    monkeypatch.setattr(gpu, "probe_gpus", lambda: gpu.SeenGpus((), "NVML", "none"))
    assert "the line's decode backend is not decided: name the GPU" in run(*line).stdout
    seen = gpu.SeenGpus((hardware.as_seen("NVIDIA H200", 90, 139.8, "nvidia"),), "NVML")
    monkeypatch.setattr(gpu, "probe_gpus", lambda: seen)
    result = run(*line)
    assert "the GPU is this machine's: NVIDIA H200" in result.stderr
    # What the line picks on SM90.
    assert "fa3" in result.stdout


def test_a_launch_line_and_sizes_do_not_go_together():
    result = run("--args", LINE, "--page-size", "64")
    assert result.exit_code == 2
    assert "--page-size goes without a launch command" in result.stderr
    assert run().exit_code == 2
    assert run("--args", "echo hello").exit_code == 3


def test_a_verified_kernel_clears_no_finding(monkeypatch):
    from mlacheck.decode import Row, launch
    from mlacheck.decode.row import DecodeReport

    def verdict(state, line):
        report = DecodeReport((Row("runs", "passes"), Row("merged", state)), "flashinfer")
        monkeypatch.setattr(launch, "run", lambda *_, **__: report)
        arguments = [
            "validate",
            "--args",
            line,
            "--gpu",
            "h200",
            "--engine-version",
            "0.5.18",
            "--format",
            "json",
        ]
        done = CliRunner().invoke(cli, [*arguments, "--decode-check", "--no-remedies"])
        found = json.loads(done.stdout)
        return found["verdict"], done.exit_code, found["decode"][0]["outcome"]

    good = f"{LINE} --attention-backend flashinfer"
    dies = f"{LINE} --attention-backend fa3"
    assert verdict("passes", good) == ("warning", 0, "kernel verified")
    assert verdict("wrong", good) == ("error", 1, "kernel wrong: merged")
    assert verdict("not run", good)[:2] == ("warning", 4)
    assert verdict("passes", dies)[:2] == ("error", 1)
