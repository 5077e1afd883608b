from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli

GOOD = "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8"
BAD = f"{GOOD} --attention-backend trtllm_mla --dcp-size 8 --speculative-algorithm EAGLE"
TARGET = ("--gpu", "b200", "--engine-version", "0.5.18", "--no-remedies", "--no-config")


def run(*args, input=None):  # noqa: A002 - click's name
    return CliRunner().invoke(cli, ["validate", *TARGET, *map(str, args)], input=input)


def rows(*args, input=None):  # noqa: A002 - same
    result = run("--format", "jsonl", *args, input=input)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_each_command_of_each_file_is_a_report_with_its_place(tmp_path):
    (tmp_path / "a.sh").write_text(f"{GOOD}\n\n{BAD} \\\n  --page-size 64\n")
    (tmp_path / "b.yaml").write_text(f"script:\n  - {GOOD}\n")
    code, found = rows(tmp_path)
    assert code == 1
    assert [(Path(one["source"]["file"]).name, one["source"]["line"]) for one in found] == [
        ("a.sh", 1),
        ("a.sh", 3),
        ("b.yaml", 2),
    ]
    finding = next(one for one in found[1]["findings"] if one["id"] == "MLA194")
    line = (tmp_path / "a.sh").read_text().splitlines()[finding["location"]["line"] - 1]
    assert line[finding["location"]["column"] - 1 :].startswith("--")


def test_standard_input():
    code, found = rows(
        "-", input=f"kind: Pod\nspec: {{containers: [{{command: [{', '.join(GOOD.split())}]}}]}}\n"
    )
    assert code == 0
    assert [one["verdict"] for one in found] == ["ok"]


@pytest.mark.parametrize(
    ("text", "code", "ids"),
    [
        (GOOD, 0, []),
        (f"{GOOD} --model-path 'x", 1, ["MLA090"]),
        ("vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8", 0, []),
        ("echo hello", 3, []),
    ],
)
def test_exit_codes(tmp_path, text, code, ids):
    (tmp_path / "x.sh").write_text(text + "\n")
    got, found = rows(tmp_path / "x.sh")
    assert got == code
    assert {finding["id"] for one in found for finding in one["findings"]} >= set(ids)


def test_an_unreadable_file_that_names_no_engine_is_an_info(tmp_path):
    (tmp_path / "x.sh").write_bytes(b"\0\1")
    code, [report] = rows("--strict", "--allow-empty", tmp_path / "x.sh")
    assert code == 0
    assert [(one["id"], one["level"]) for one in report["findings"]] == [("MLA091", "info")]
    assert report["verdict"] == "unknown"


def test_a_broken_file_does_not_stop_the_others(tmp_path):
    (tmp_path / "a.yaml").write_text("command: [python3, -m, sglang.launch_server\n")
    (tmp_path / "b.sh").write_text(f"{GOOD}\n")
    code, found = rows(tmp_path / "a.yaml", tmp_path / "b.sh")
    assert code == 1
    assert [one["verdict"] for one in found] == ["error", "ok"]
    assert "everything" in found[0]["not_checked"]


def test_a_file_that_does_not_exist_is_bad_usage_and_the_others_are_checked(tmp_path):
    (tmp_path / "b.sh").write_text(f"{GOOD}\n")
    result = run("--format", "jsonl", tmp_path / "gone.sh", tmp_path / "b.sh")
    assert result.exit_code == 2
    assert "gone.sh does not exist" in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_variants_and_defaults_are_told(tmp_path):
    text = f"TP=${{TP:-8}}\nif [ -n \"$DCP\" ]; then A='--dcp-size 8'; fi\n{GOOD} --tp-size $TP $A\n"
    (tmp_path / "x.sh").write_text(text)
    _, found = rows(tmp_path / "x.sh")
    assert [one["assumptions"][:2] for one in found] == [
        ['variant: line 2: [ -n "$DCP" ]', "TP=8 (default in the text)"],
        ['variant: line 2: not [ -n "$DCP" ]', "TP=8 (default in the text)"],
    ]


def test_an_open_variable_keeps_the_verdict_open_and_is_named(tmp_path):
    (tmp_path / "x.sh").write_text(f"{GOOD} $EXTRA\n")
    code, [report] = rows(tmp_path / "x.sh")
    assert (code, report["verdict"]) == (0, "unknown")
    assert "EXTRA" in report["problems"][0]["message"]


def test_the_file_says_what_it_runs_on(tmp_path):
    (tmp_path / "x.yaml").write_text(
        "spec:\n  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}\n  containers:\n"
        "    - image: lmsysorg/sglang:v0.5.17\n"
        f"      command: [{', '.join(GOOD.split())}]\n      resources: {{limits: {{nvidia.com/gpu: 8}}}}\n"
    )
    result = CliRunner().invoke(
        cli, ["validate", "--no-config", "--format", "jsonl", str(tmp_path / "x.yaml")]
    )
    [report] = [json.loads(line) for line in result.stdout.splitlines()]
    assert report["engine"] == {"name": "sglang", "version": "0.5.17"}
    assert (report["target"]["gpu"], report["target"]["gpu_count"]) == ("h200", 8)
    _, [flags] = rows(tmp_path / "x.yaml")
    assert [one["id"] for one in flags["findings"]].count("MLA598") >= 2


def test_comments_silence_the_next_command(tmp_path):
    (tmp_path / "x.sh").write_text(f"# mlacheck: ignore[MLA194] known\n{BAD}\n")
    code, [report] = rows(tmp_path / "x.sh")
    assert code == 0
    assert [one["suppressed"] for one in report["findings"] if one["id"] == "MLA194"] == [True]


def test_a_config_file_glued_to_its_flag_is_a_finding(tmp_path):
    (tmp_path / "x.sh").write_text(f"{GOOD} --config=c.yaml\n")
    _, [report] = rows(tmp_path / "x.sh")
    [finding] = [one for one in report["findings"] if one["id"] == "MLA093"]
    assert (finding["level"], finding["location"]["line"]) == ("warning", 1)
    assert "warning[MLA093]" in run("--args", f"{GOOD} --config=c.yaml", "--format", "concise").stdout


def test_files_and_a_command_do_not_go_together(tmp_path):
    result = run(tmp_path, "--", "sglang", "serve", "m")
    assert result.exit_code == 2
    assert "exactly one of" in result.stderr


CONFIG = "model-path: deepseek-ai/DeepSeek-V3\ntp-size: 8\n"


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
@pytest.mark.parametrize("way", ["args", "argv", "file"])
def test_a_config_file_is_read_for_every_way_in(tmp_path, monkeypatch, engine, way):
    monkeypatch.chdir(tmp_path)
    keys = CONFIG if engine == "sglang" else "model: deepseek-ai/DeepSeek-V3\ntensor-parallel-size: 8\n"
    Path("c.yaml").write_text(keys)
    found = {}
    for name in ("c.yaml", "nope.yaml"):
        line = f"{engine} serve --config {name}"
        Path("x.sh").write_text(line + "\n")
        given = {"args": ["--args", line], "argv": ["--", *line.split()], "file": ["x.sh"]}[way]
        options = ("--gpu", "h200", "--gpu-count", "8", "--no-config", "--format", "jsonl")
        result = CliRunner().invoke(cli, ["validate", *options, *given])
        [found[name]] = [json.loads(row) for row in result.stdout.splitlines()]
    assert "deepseek-ai/DeepSeek-V3" in json.dumps(found["c.yaml"]["resolved"])
    assert not [one for one in found["nope.yaml"]["findings"] if one["level"] == "error"]
    assert found["nope.yaml"]["verdict"] == "unknown"
    [problem] = [one for one in found["nope.yaml"]["problems"] if "nope.yaml" in one["message"]]
    assert problem["kind"] == "config-unread"
    assert "Qwen/" not in json.dumps(found["nope.yaml"])  # the model that vLLM serves when none is named


def test_words_that_are_open_may_name_the_model():
    _, [report] = rows("--args", "python -m sglang.launch_server $EXTRA --tp-size 8")
    assert "MLA006" not in [one["id"] for one in report["findings"]]
    _, [report] = rows("--args", "python -m sglang.launch_server --tp-size $TP")
    assert "MLA006" in [one["id"] for one in report["findings"]]


def test_a_corrected_line_keeps_a_config_file_that_is_not_there():
    result = run("--remedies", "--args", f"{GOOD} --config nope.yaml --nccl-prot 1")
    assert "--config nope.yaml" in result.stdout.partition("fix:")[2]


def test_a_positional_model_stands_before_what_its_config_file_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("max-model-leng: 4096\ncudagraph-capture-sizes: [1, 2]\n")
    target = ("--engine-version", "vllm=0.33.0", "--gpu", "b200", "--no-config")
    line = "vllm serve Qwen/Qwen3-8B --config c.yaml"
    result = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["validate", *target, "--args", line])
    assert "vllm serve Qwen/Qwen3-8B --max-model-len 4096 --cudagraph-capture-sizes 1 2" in result.stdout


@pytest.mark.parametrize(
    "args",
    [
        '["--model", "{{ .Values.model }}"]',
        "{{ .Values.args }}",
        "\n      - --model\n      - {{ .Values.m }}",
    ],
)
def test_flags_for_an_engines_image_in_an_unrendered_template_are_no_silence(tmp_path, args):
    path = tmp_path / "x.yaml"
    path.write_text(
        "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:{{ .Values.tag }}\n"
        f"    args: {args}\n"
    )
    code, found = rows(path)
    assert code == 1
    assert [one["id"] for report in found for one in report["findings"]] == ["MLA090"]
    path.write_text(path.read_text().replace("vllm/vllm-openai", "nginx"))
    assert rows(path)[1] == []


def test_a_quote_that_is_never_closed_is_told_once(tmp_path):
    path = tmp_path / "x.sh"
    path.write_text(f'{GOOD} --served-model-name "x\n\necho hi\n')
    result = CliRunner().invoke(cli, ["validate", str(path), "--gpu", "b200", "--engine-version", "0.5.18"])
    assert "MLA090" in result.stdout
    assert "UNKNOWN" not in result.stdout


def test_where_nothing_is_launched_the_places_and_the_next_step_are_named(tmp_path):
    (tmp_path / "a.sh").write_text("echo hi\n")
    for name in ("a.sh", ""):
        result = run(tmp_path / name)
        assert result.exit_code == 3
        assert f"no launch command found in {tmp_path / name}\n" in result.stderr
        assert "-- COMMAND" in result.stderr
    assert "found in standard input\n" in run("-", input="echo hi\n").stderr
    many = [tmp_path / f"{one}.sh" for one in "bcdef"]
    for one in many:
        one.write_text("echo hi\n")
    assert f"{many[2]} and 2 more\n" in run(*many).stderr
    assert run("--allow-empty", tmp_path).stderr == ""


def test_python_that_cannot_be_read_is_told_where_it_names_an_engine(tmp_path):
    (tmp_path / "a.py").write_text('run(["python", "-m", "sglang.launch_server", "--tp", "8"]\n')
    (tmp_path / "b.py").write_text("print 'no engine'\n")
    (tmp_path / "c.sh").write_text(f"{GOOD}\n")
    code, found = rows(tmp_path)
    assert code == 1
    assert [(one["verdict"], [f["id"] for f in one["findings"]]) for one in found] == [
        ("error", ["MLA090"]),
        ("ok", []),
    ]
    assert "Python" in found[0]["findings"][0]["message"]


def test_a_folder_is_searched_where_people_write(tmp_path):
    for place in (".github/workflows/a.yml", ".gitlab/b.yml", "env/c.sh", ".git/d.sh", "node_modules/e.sh"):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        step = f"steps:\n- run: {GOOD}\n"
        path.write_text(step if place.endswith(".yml") else f"{GOOD}\n")
    (tmp_path / "py").mkdir()
    (tmp_path / "py" / "pyvenv.cfg").touch()
    (tmp_path / "py" / "f.sh").write_text(f"{GOOD}\n")
    _, found = rows(tmp_path)
    assert [one["source"]["file"].rsplit("/", 1)[1] for one in found] == ["a.yml", "b.yml", "c.sh"]
    fixed = CliRunner().invoke(cli, ["fix", str(tmp_path), *TARGET[:4]])
    assert fixed.exit_code == 0
