from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli

LINE = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla"
PLAIN = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8"
CONFIG = """
engine-version = "0.5.18"
[profiles.prod]
gpu = "b200"
gpu-count = 8
[profiles.hopper]
gpu = "h200"
env = {SGLANG_X = "1"}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words, config=CONFIG, line=LINE, name="mlacheck.toml"):
        (tmp_path / name).write_text(config)
        return CliRunner().invoke(
            cli, ["validate", "--args", line, "--no-remedies", "--format", "json", *words]
        )

    return run


def target(result):
    return json.loads(result.stdout)["target"]["origins"]


def test_a_profile_gives_the_target_and_its_name(run):
    origins = target(run("--profile", "prod"))
    assert origins["gpu"] == "b200 (profile prod)"
    assert origins["gpu_count"] == "8 (profile prod)"
    assert origins["engine_version"] == "0.5.18 (profile prod)"


def test_flags_go_before_the_profile_and_that_is_a_finding(run):
    result = run("--profile", "prod", "--gpu", "h200")
    assert target(result)["gpu"] == "h200 (--gpu)"
    said = [one["message"] for one in json.loads(result.stdout)["findings"] if one["id"] == "MLA598"]
    assert said == ["gpu: h200 (--gpu) is used, not b200 (profile prod)"]


def test_the_profile_goes_before_the_launch_line_and_that_is_a_finding(run):
    result = run("--profile", "prod", line=f"docker run --gpus all lmsysorg/sglang:v0.5.20 {LINE}")
    said = [one["message"] for one in json.loads(result.stdout)["findings"] if one["id"] == "MLA598"]
    assert "0.5.18 (profile prod) is used, not 0.5.20 (image lmsysorg/sglang:v0.5.20)" in said[0]


BOTH = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8\nvllm serve deepseek-ai/DeepSeek-V3 -tp 8\n"


@pytest.mark.parametrize("text", ["{}={}", "{}=={}", "{}:{}"])
def test_each_engine_of_a_file_has_a_version_of_its_own(tmp_path, text):
    file = tmp_path / "serve.sh"
    file.write_text(BOTH)
    versions = {"sglang": "0.5.23", "vllm": "0.28.0"}
    flags = [word for one in versions.items() for word in ("--engine-version", text.format(*one))]
    done = CliRunner().invoke(cli, ["validate", str(file), "--gpu", "b200", "--format", "jsonl", *flags])
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["engine"]["name"]: one["engine"]["version"] for one in reports} == versions
    one = CliRunner().invoke(cli, ["validate", str(file), "--gpu", "b200", *flags[:2]])
    assert "vllm 0.33.0 is assumed" in one.stdout


def test_a_version_that_only_another_engine_has_is_told(tmp_path):
    file = tmp_path / "serve.sh"
    file.write_text(BOTH)
    done = CliRunner().invoke(cli, ["validate", str(file), "--gpu", "b200", "--engine-version", "0.5.23"])
    said = " ".join(done.stdout.split())
    assert "judged as 0.18.1, the nearest one; name vllm's own with --engine-version vllm=V" in said


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        (["0.5.23", "0.5.22"], "given twice"),
        (["sglang=0.5.23", "sglang=0.5.22"], "given twice"),
        (["trtllm=1.0"], "is not ENGINE=V with sglang or vllm"),
        (["vllm="], "is not ENGINE=V"),
    ],
)
def test_versions_that_say_nothing_are_bad_usage(versions, said):
    flags = [word for one in versions for word in ("--engine-version", one)]
    done = CliRunner().invoke(cli, ["validate", "--args", PLAIN, *flags])
    assert done.exit_code == 2
    assert said in done.stderr


VLLM = "vllm serve deepseek-ai/DeepSeek-V3 -tp 8"


@pytest.mark.parametrize(
    ("flags", "words", "said"),
    [
        (["--engine", "sglang"], ["validate", "--args", VLLM], "--engine sglang is not used"),
        (["--engine", "sglang"], ["validate", "--", *VLLM.split()], "what is started here is vllm"),
        (["--engine-version", "sglang=0.5.23"], ["validate", "--args", VLLM], "sglang=0.5.23 is not used"),
        (["--engine", "sglang"], ["decode-check", "--args", VLLM], "what is started here is vllm"),
        (["--engine", "sglang"], ["compare", "0.28.0", "0.33.0", "--args", VLLM], "is vllm"),
        (
            ["--engine", "sglang"],
            ["compare", "0.28.0", "0.33.0", "--args", "-tp 8"],
            "0.28.0 is not recorded",
        ),
        ([], ["compare", "0.5.17rc1", "0.5.23", "--args", "--tp 8"], "0.5.17rc1 is not recorded"),
        (["--engine", "vllm"], ["validate", "--cases", "-"], "--engine and --cases do not go together"),
        (
            ["--engine", "vllm", "--engine-version", "sglang=0.5.23"],
            ["matrix", "--model", "deepseek-v3"],
            "--engine vllm is not used: --engine-version names sglang",
        ),
    ],
)
def test_flags_about_an_engine_that_a_line_does_not_start_are_bad_usage(flags, words, said):
    done = CliRunner().invoke(cli, [words[0], *flags, *words[1:]], input="")
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("command", ["validate", "fix"])
def test_flags_about_an_engine_that_no_file_starts_are_noted(tmp_path, command):
    one, both = tmp_path / "one.sh", tmp_path / "both.sh"
    one.write_text(f"{VLLM}\n")
    both.write_text(BOTH)
    words = [command, "--no-config", "--gpu", "b200", "--engine", "sglang"]
    assert "note: --engine sglang is not used" in CliRunner().invoke(cli, [*words, str(one)]).stderr
    assert "note" not in CliRunner().invoke(cli, [*words, str(one), str(both)]).stderr


def test_one_of_two_versions_is_enough_for_a_line_and_a_named_engine_takes_the_version(tmp_path):
    flags = ["--no-config", "--gpu", "b200", "--engine-version", "vllm=0.28.0"]
    words = ["validate", *flags, "--engine-version", "sglang=0.5.23", "--args", VLLM, "--format", "json"]
    assert json.loads(CliRunner().invoke(cli, words).stdout)["engine"]["version"] == "0.28.0"
    file = tmp_path / "serve.sh"
    file.write_text(BOTH)
    flags = ["--no-config", "--gpu", "b200", "--engine", "sglang", "--engine-version", "0.5.23"]
    done = CliRunner().invoke(cli, ["validate", *flags, str(file)])
    assert "vllm 0.33.0 is assumed" in done.stdout
    assert "sglang 0.5.23 ·" in done.stdout


@pytest.mark.parametrize("command", ["validate", "fix"])
def test_flags_that_stand_alone_are_the_engines_whose_version_is_named(command):
    words = ["--engine-version", "vllm=0.33.0", "--args", "--model Qwen/Qwen3-8B -tp 2"]
    done = CliRunner().invoke(cli, [command, "--no-config", "--gpu", "h200", *words])
    assert done.exit_code == 0, done.output
    assert "sglang" not in done.output


def test_without_a_profile_the_rest_of_the_file_counts(run):
    origins = target(run())
    assert origins["engine_version"] == "0.5.18 (config)"
    assert origins["gpu"].startswith("unknown")


def test_a_projects_table_counts_too(run):
    result = run(config="[tool.mlacheck]\ngpu = 'gb200'\n", name="pyproject.toml")
    assert target(result)["gpu"] == "gb200 (config)"


def test_files_can_be_named_or_left_out(run, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text("gpu = 'h100'")
    assert target(run("--config-file", str(other)))["gpu"] == "h100 (config)"
    assert "assumed" in target(run("--no-config"))["engine_version"]
    both = run("--no-config", "--config-file", str(other))
    assert both.exit_code == 2
    assert "do not go together" in both.stderr


def test_what_fails_a_run_can_be_configured_and_overruled(run):
    strict = "strict = true\ngpu = 'b200'\n"
    assert run(config=strict, line=PLAIN).exit_code == 1
    assert run("--no-strict", config=strict, line=PLAIN).exit_code == 0
    picky = "fail-on = 'info'\ngpu = 'b200'\nengine-version = '0.5.18'\n"
    info = f"docker run lmsysorg/sglang:v0.5.20 {PLAIN}"
    assert run(config=picky, line=info).exit_code == 1
    assert run("--fail-on", "error", config=picky, line=info).exit_code == 0
    quiet = "ignore = ['error']\ngpu = 'b200'\nengine-version = '0.5.18'\n"
    refused = f"{LINE} --speculative-algorithm EAGLE"
    assert run(config=quiet, line=refused).exit_code == 0
    assert run("--ignore", "silent", config=quiet, line=refused).exit_code == 1


@pytest.mark.parametrize(
    ("config", "words", "said"),
    [
        ("gpus = 'h200'", (), "mlacheck.toml: gpus is not a key here"),
        ("", ("--profile", "prod"), "there is no profile 'prod'; it has none"),
        ("gpu = 'h2000'", (), "config of"),
        ("engine-version = 'x'", (), "sglang version 'x' cannot be read"),
        ("model = './none'", (), "./none does not exist"),
        ("[profiles.p]\nmodel = 'nobody/knows'", ("--profile", "p"), "profile p of"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_bad_usage(run, config, words, said):
    result = run(*words, config=config)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_profile_on_a_machine_that_has_another_engine_is_a_finding(run, monkeypatch):
    from mlacheck.probes import target as module
    from mlacheck.probes.distribution import Installation
    from mlacheck.probes.machine import Machine

    here = Machine(_installation=Installation("this environment", {"sglang": "0.5.20"}))
    monkeypatch.setattr(module, "here", lambda: here)
    result = run("--profile", "prod")
    said = [one["message"] for one in json.loads(result.stdout)["findings"] if one["id"] == "MLA598"]
    assert said == [
        "sglang version: 0.5.18 (profile prod) is used, not 0.5.20 (installed in this environment)"
    ]


def test_an_environment_that_differs_from_the_lines_is_a_finding(run):
    result = run("--profile", "hopper", line=f"SGLANG_X=0 {LINE}")
    said = [one["message"] for one in json.loads(result.stdout)["findings"] if one["id"] == "MLA598"]
    assert said == ["env.SGLANG_X: 1 is used, not 0 (launch line)"]
