from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli
from mlacheck.comparison import compare
from mlacheck.launch import parse_text
from mlacheck.probes.target import TargetFlags
from mlacheck.session import Session

DEEPSEEK = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8"


def compared(text, old="0.5.17", new="0.5.23"):
    [command] = parse_text(text).commands
    sessions = [Session(TargetFlags(engine_version=one, gpu="b200")) for one in (old, new)]
    return compare(command, *(one.check(command) for one in sessions), sessions[-1].evaluations(command))


def test_a_flag_that_is_gone_names_its_successor():
    one = compared(f"{DEEPSEEK} --cuda-graph-max-bs 32")
    [flag] = one.flags
    assert flag.kind == "gone"
    assert "--cuda-graph-max-bs-decode takes its place" in flag.text
    first = one.fresh[0].remedies[0]
    assert first.command == f"{DEEPSEEK} --cuda-graph-max-bs-decode 32"


def test_a_choice_that_is_gone():
    one = compared(f"{DEEPSEEK} --attention-backend cutlass_mla")
    assert [flag.kind for flag in one.flags] == ["choice-gone"]
    assert one.new.verdict == "error"


def test_findings_and_values_that_change():
    one = compared(f"{DEEPSEEK} --dcp-size 8 --kv-cache-dtype fp8_e4m3 --attention-backend tokenspeed_mla")
    assert "MLA430" in [finding.id for finding in one.fresh]
    changed = {value.name: (value.old, value.new) for value in one.values}
    assert changed["decode_backend"] == ("tokenspeed_mla", "cutedsl_mla")
    assert "--dcp-comm-backend" in [value.name for value in one.defaults]
    assert not one.same


def test_defaults_that_nothing_of_the_line_depends_on_are_left_out():
    assert [one.name for one in compared(DEEPSEEK).defaults] == []
    told = [one.name for one in compared(f"{DEEPSEEK} --dcp-size 8").defaults]
    assert told == ["--dcp-comm-backend"]


def test_the_same_version_changes_nothing():
    one = compared(f"{DEEPSEEK} --dcp-size 8", "0.5.23", "0.5.23")
    assert one.same
    assert one.defaults == ()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["0.5.17", "0.5.23", "--args", DEEPSEEK], 0),
        (["0.5.17", "0.5.23", "--args", f"{DEEPSEEK} --attention-backend cutlass_mla"], 1),
        (["0.5.17", "9.9.9", "--args", DEEPSEEK], 2),
        (["0.5.17", "0.5.23"], 2),
        (["0.5.17", "0.5.23", "--args", "echo nothing"], 3),
        (["0.5.17", "0.5.23", "--engine-version", "0.5.18", "--args", DEEPSEEK], 2),
        (["0.5.17", "0.5.23", "--", "sglang", "serve", "deepseek-ai/DeepSeek-V3"], 0),
    ],
)
def test_exit_codes(arguments, code):
    assert CliRunner().invoke(cli, ["compare", "--gpu", "b200", *arguments]).exit_code == code


def test_what_both_versions_find_is_named_too():
    line = f"{DEEPSEEK} --dcp-size 8 --attention-backend fa3"
    done = CliRunner().invoke(cli, ["compare", "0.5.18", "0.5.23", "--gpu", "b200", "--args", line])
    assert done.exit_code == 0
    assert "verdict:     error\n" in done.stdout
    assert "on both:\n    error[MLA191]" in done.stdout
    passing = CliRunner().invoke(cli, ["compare", "0.5.18", "0.5.23", "--gpu", "b200", "--args", DEEPSEEK])
    assert "on both" not in passing.stdout


@pytest.mark.parametrize(
    ("text", "count"),
    [("echo nothing", "no launch command"), (f"{DEEPSEEK}; {DEEPSEEK}", "2 launch commands")],
)
def test_how_many_lines_were_found_instead_of_one(text, count):
    done = CliRunner().invoke(cli, ["compare", "0.5.17", "0.5.23", "--gpu", "b200", "--args", text])
    assert f"error: {count} found; compare takes one: --args" in done.stderr


def test_json():
    done = CliRunner().invoke(
        cli, ["compare", "0.5.17", "0.5.23", "--gpu", "b200", "--format", "json", "--args", DEEPSEEK]
    )
    data = json.loads(done.stdout)
    assert data["old"]["engine"]["version"] == "0.5.17"
    assert isinstance(data["values"], list)


def test_the_engine_is_the_commands_own():
    line = ["vllm", "serve", "deepseek-ai/DeepSeek-V3", "--tensor-parallel-size", "8"]
    done = CliRunner().invoke(cli, ["compare", "0.18.1", "0.33.0", "--gpu", "b200", "--", *line])
    assert done.exit_code == 0, done.output
    assert "vllm" in done.stdout
    done = CliRunner().invoke(cli, ["compare", "0.5.17", "0.33.0", "--", *line])
    assert done.exit_code == 2
    assert "vllm 0.5.17 is not recorded" in done.stderr


def test_bare_flags_are_those_of_the_engine_that_has_the_versions():
    words = ["--gpu", "h200", "--args", "--model deepseek-ai/DeepSeek-V3 -tp 8"]
    done = CliRunner().invoke(cli, ["compare", "0.18.1", "0.33.0", *words])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("vllm 0.18.1 to 0.33.0")
    done = CliRunner().invoke(cli, ["compare", "0.5.17", "0.33.0", *words])
    assert done.exit_code == 2
    assert "sglang 0.33.0 is not recorded" in done.stderr
