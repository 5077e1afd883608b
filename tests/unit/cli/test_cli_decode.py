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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--backend", "flashinfr"), "Did you mean flashinfer?"),
        (("--backend", "abacus"), "reference, flashinfer, flashinfer-fa2"),
        (("--backend", "abacus"), "--engine E takes the engine's own names"),
        (("--engine", "vllm", "--backend", "flashmla"), "Did you mean FLASHMLA?"),
        (("--engine", "sglang", "--backend", "abacus"), "sglang's backends that are known here"),
    ],
)
def test_an_unknown_backend_is_bad_usage_with_the_names_that_there_are(arguments, words):
    result = run(*SMALL, *arguments)
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.stderr.split())


def test_what_is_missing_is_told_without_importing_torch(monkeypatch):
    from mlacheck.decode import process

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(process, "_converse", never)
    result = run(*SMALL, "--engine", "vllm", "--backend", "FLASHMLA")
    assert result.exit_code == 4
    assert "vllm 0.33.0, FLASHMLA: vllm-flashmla\n" in result.stdout
    assert "vllm is not installed; pip install vllm" in result.stdout


def test_the_reference_is_said_to_be_no_kernel():
    result = run(*SMALL, "--device", "cpu")
    assert result.stdout.startswith("reference verified")
    assert "an engine's kernel: reference is plain torch" in result.stdout


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
        (("--backend", "flashmla", "--page-size", "64"), "not installed; pip install sgl-flash-mla"),
        (
            ("--backend", "flashinfer", "--dcp-size", "3", "--tp-size", "8"),
            "choose a dcp_size that divides it",
        ),
        (("--tp-size", "7"), "choose a tp_size that divides it"),
        (("--dcp-size", "3"), "dcp_size 3 does not divide num_attention_heads 128, as its ranks must"),
        (("--dcp-size", "3"), "choose one of 1, 2, 4, 8, 16, 32, 64"),
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


VLLM = "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -dcp 8"
# A kernel that is not installed here, or that needs a GPU.
NOT_HERE = ("is not installed; pip install", "no CUDA GPU is visible here", "the target has SM")


@pytest.mark.parametrize(
    ("line", "version", "gpu", "adapter", "words"),
    [
        (VLLM, "0.33.0", "b200", "cutedsl_mla", "KV bf16 in pages of 32, 1 query token(s), DCP 8,"),
        (f"{VLLM} --block-size 64", "0.28.0", "b200", "trtllm_mla", "pages of 64"),
        (
            f"{VLLM} --cp-kv-cache-interleave-size 16",
            "0.33.0",
            "h200",
            "vllm-fa3",
            "DCP 8 in runs of 16 tokens",
        ),
        (f"{VLLM} --attention-backend TRITON_MLA", "0.22.1", "h200", "vllm-triton", "pages of 16"),
        (f"{VLLM} --kv-cache-dtype fp8", "0.33.0", "h200", "vllm-flashmla", "KV fp8_e4m3 in pages of 64"),
    ],
)
def test_vllms_lines_choose_their_kernel_by_data(line, version, gpu, adapter, words):
    result = run("--args", line, "--gpu", gpu, "--engine-version", version, "--format", "json")
    assert result.exit_code == 4, result.output
    report = json.loads(result.stdout)
    assert report["backend"] == adapter
    assert words in report["description"]
    assert any(one in report["rows"][0]["detail"] for one in NOT_HERE)


def test_a_decode_check_in_the_validation_of_a_vllm_line():
    arguments = ["validate", "--args", VLLM, "--decode-check", "--gpu", "h200", "--engine-version", "0.33.0"]
    result = CliRunner().invoke(cli, [*arguments, "--format", "json"])
    assert result.exit_code == 4, result.output
    [row] = json.loads(result.stdout)["decode"]
    assert (row["backend"], row["name"], row["state"]) == ("vllm-fa3", "runs", "not run")
    quiet = CliRunner().invoke(cli, [*arguments, "-q"])
    assert quiet.exit_code == 4
    assert f"not run; {row['detail'][:20]}" in quiet.stdout


def test_a_backend_by_its_name_in_an_engine():
    sizes = ("--model", "deepseek-v3", "--dcp-size", "8", "--page-size", "64", "--interleave", "16")
    result = run(*sizes, "--engine", "vllm", "--engine-version", "0.33.0", "--backend", "FLASHINFER_MLA")
    assert result.exit_code == 4
    assert "cutedsl_mla" in result.stdout
    assert "DCP 8 in runs of 16 tokens" in result.stdout
    # Without a version, the newest that is recorded; an adapter's name is none of the engine's.
    assert "vllm-flashmla" in run(*sizes, "--engine", "vllm", "--backend", "FLASHMLA").stdout
    assert run(*sizes, "--engine", "vllm", "--backend", "flashmla").exit_code == 2
    result = run(*sizes, "--engine", "vllm", "--backend", "FLASHMLA", "--lse-base", "2")
    assert result.exit_code == 2
    result = run(*sizes, "--engine", "vllm", "--backend", "FLASHMLA", "--gpu", "h20000")
    assert result.exit_code == 2
    assert "unknown GPU 'h20000'" in result.stderr


@pytest.mark.parametrize("interleave", ["2", "16"])
def test_the_reference_shows_runs_of_tokens(interleave):
    result = run(*SMALL, "--backend", "reference", "--device", "cpu", "--interleave", interleave)
    assert result.exit_code == 0, result.output
    assert f"DCP 2 in runs of {interleave} tokens" in result.stdout


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
