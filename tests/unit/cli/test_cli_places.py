"""Where what is found stands."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli

VLLM = ("--gpu", "h200", "--engine-version", "0.33.0")
SGLANG = ("--gpu", "h200", "--engine-version", "0.5.23")
EAGLE = "sglang serve deepseek-ai/DeepSeek-V3 \\\n --speculative-algorithm EAGLE"


def told(path, *target, command="validate"):
    options = (
        ("--no-config", "--no-remedies", "--format", "concise") if command == "validate" else ("--no-config",)
    )
    result = CliRunner().invoke(cli, [command, str(path), *options, *target])
    return [line.removeprefix(str(path)) for line in (result.stdout + result.stderr).splitlines()]


@pytest.mark.parametrize(
    ("line", "target", "id_", "place"),
    [
        ("vllm serve Qwen/Qwen3-8B \\\n --max-model-len 4096 -tp 3", VLLM, "MLV014", "2:23"),
        ("vllm serve deepseek-ai/DeepSeek-V3 \\\n -tp 8 -dcp 3", VLLM, "MLV006", "2:2"),
        ("vllm serve deepseek-ai/DeepSeek-V3 \\\n -tp 8 --attention-backend X", VLLM, "MLV013", "2:8"),
        ("vllm serve Qwen/Qwen3-30B-A3B \\\n -tp 8 -dcp 4", VLLM, "MLV016", "2:8"),
        ("vllm serve Qwen/Qwen3-8B \\\n --attention-backend FLASHMLA", VLLM, "MLV030", "2:2"),
        ("vllm serve Qwen/Qwen3-8B \\\n --block-size 7", VLLM, "MLV031", "2:2"),
        ("sglang serve Qwen/Qwen3-8B \\\n --tp 3", SGLANG, "MLA894", "2:2"),
        ("sglang serve Qwen/Qwen3-8B \\\n --attention-backend flashmla", SGLANG, "MLA899", "2:2"),
        (
            EAGLE + " \\\n --speculative-num-steps 3",
            SGLANG,
            "MLA362",
            "3:2",
        ),
    ],
)
def test_a_finding_stands_at_the_argument_that_it_names_reads_or_changes(tmp_path, line, target, id_, place):
    (tmp_path / "x.sh").write_text(line)
    found = {
        one.split("[")[1][:6]: one.split(": ")[0] for one in told(tmp_path / "x.sh", *target) if "[" in one
    }
    assert found[id_] == f":{place}"


def test_validate_and_fix_name_a_command_alike(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(
        "a:\n  command:\n  - sglang\n  - serve\n  - Qwen/Qwen3-8B\n  - --foo\n"
        "b:\n  command: [bash, -c]\n  args:\n  - |\n    sglang serve x/y --bar\n"
    )
    validated = CliRunner().invoke(cli, ["validate", "--no-config", str(path), *SGLANG]).stdout
    heads = re.findall(r"^ERROR\s+(\S+)", validated, re.MULTILINE)
    assert [one.rpartition(":")[2] for one in heads] == ["3", "11"]
    fixed = [line.split(":")[1] for line in told(path, *SGLANG, command="fix") if " mended: " in line]
    assert fixed == ["3", "11"]


def test_a_case_stands_on_its_line_and_says_its_id(tmp_path):
    path = tmp_path / "c.jsonl"
    case = {"id": "a", "engine": "vllm", "engine_version": "0.33.0", "model": "Qwen/Qwen3-8B", "gpu": "h200"}
    path.write_text("\n" + json.dumps({**case, "args": "-tp 2 --foo"}) + "\n")
    result = CliRunner().invoke(cli, ["validate", "--cases", str(path), "--format", "concise"])
    line = result.stdout.splitlines()[0]
    assert line.partition("c.jsonl")[2].startswith(":2:1: error[MLA001]")
    assert line.endswith("(case a)")


def test_what_a_config_file_says_stands_in_that_file(tmp_path):
    (tmp_path / "c.yaml").write_text("# ours\nmax-model-len: 4096\ntensor-parallel-size: 3\n")
    path = tmp_path / "x.sh"
    path.write_text("vllm serve Qwen/Qwen3-8B --config c.yaml\n")
    assert told(path, *VLLM)[0].partition("c.yaml")[2].startswith(":3:1: error[MLV014]")
    result = CliRunner().invoke(cli, ["validate", "--no-config", str(path), "--format", "json", *VLLM])
    [finding] = json.loads(result.stdout)["findings"]
    assert finding["location"] == {"file": str(tmp_path / "c.yaml"), "line": 3, "column": 1}
    result = CliRunner().invoke(cli, ["validate", "--no-config", str(path), "--format", "sarif", *VLLM])
    assert "c.yaml" in json.dumps(json.loads(result.stdout)["runs"][0]["results"][0]["locations"])


def test_a_diff_is_shown_of_what_is_written_too(tmp_path):
    path = tmp_path / "x.sh"
    path.write_text("vllm serve Qwen/Qwen3-8B -tp 3\n")
    lines = told(path, *VLLM, "--diff", "--write", command="fix")
    assert "+vllm serve Qwen/Qwen3-8B -tp 8" in lines
    assert path.read_text() == "vllm serve Qwen/Qwen3-8B -tp 8\n"


def test_a_version_of_one_engine_says_whose_flags_stand_alone(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("model: Qwen/Qwen3-8B\ntensor-parallel-size: 3\n")
    assert "[MLV014]" in told(path, *VLLM)[0]
    assert "[MLA894]" in told(path, *SGLANG)[0]
    assert "[MLA894]" in told(path, *VLLM, "--engine", "sglang")[0]
    result = CliRunner().invoke(cli, ["validate", "--no-config", str(path), "--gpu", "h200"])
    assert "several engines have all of these flags" in result.stdout
