from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli
from mlacheck.report.writers import FORMATS as EVERY_FORMAT

LLAMA = "--model-path meta-llama/Llama-3.1-8B-Instruct --tp-size 1"
H200 = ("--gpu", "h200", "--engine-version", "0.5.18")
REFUSED = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 "
    "--attention-backend trtllm_mla --speculative-algorithm EAGLE"
)
FORMATS = ["text", "json", "jsonl"]
# The page is snapped by the kernel: a remark, not an error.
REMARK = "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --attention-backend trtllm_mla --page-size 1"


def run(*arguments, **options):
    result = CliRunner().invoke(cli, ["validate", *arguments], **options)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def checked(text, *arguments):
    return run("--args", text, *H200, *arguments)


def report(text, *arguments):
    return json.loads(checked(text, "--format", "json", *arguments).stdout)


def process(*arguments, **options):
    environment = {**os.environ, **options.pop("env", {})}
    command = [sys.executable, "-m", "mlacheck", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, env=environment, timeout=120, **options)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


@pytest.mark.parametrize("form", FORMATS)
def test_0_when_nothing_is_wrong(form):
    assert checked(LLAMA, "--format", form, "--strict").exit_code == 0


@pytest.mark.parametrize("form", FORMATS)
def test_1_when_the_engine_would_refuse(form):
    result = run("--args", REFUSED, "--gpu", "b200", "--engine-version", "0.5.18", "--format", form)
    assert result.exit_code == 1
    assert "MLA194" in result.stdout


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["--args", LLAMA, "--engine-version", "banana"],
        ["--args", LLAMA, "--flashinfer", "banana"],
        ["--args", LLAMA, "--gpu", "banana"],
        ["--args", LLAMA, "--gpu-count", "-1"],
        ["--args", LLAMA, "--nodes", "0"],
        ["--args", LLAMA, "--env", "NAME"],
        ["--args", LLAMA, "--env", "=x"],
        ["--args", LLAMA, "--fail-on", "never"],
        ["--args", LLAMA, "--rules", "/nowhere/rules.yaml"],
        ["--args", LLAMA, "--cases", __file__],
        ["--args", LLAMA, "--", "sglang", "serve"],
        ["--args", "python -m sglang.launch_server --model-path 'x"],
        ["--args", "python -m sglang.launch_server --model-path $(x"],
        ["--cases", "/nowhere/cases.jsonl"],
        [],
    ],
)
def test_2_for_what_cannot_be_read(form, arguments):
    result = run("--format", form, *arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.strip()
    assert not result.stdout


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("text", ["", "  \n", "ls -la", "echo hello", "# nothing here"])
def test_3_without_a_launch_command_or_0_when_that_is_allowed(form, text):
    result = checked(text, "--format", form)
    assert result.exit_code == 3
    assert result.stderr.startswith("error: ")
    assert not result.stdout
    assert checked(text, "--format", form, "--allow-empty").exit_code == 0


def test_allow_empty_does_not_allow_what_cannot_be_read():
    assert checked("python -m sglang.launch_server --model-path 'x", "--allow-empty").exit_code == 2


@pytest.mark.parametrize("form", FORMATS)
def test_4_when_a_requested_check_could_not_run(form):
    result = checked("--model-path nobody/knows --tp-size 1", "--format", form, "--decode-check")
    assert result.exit_code == 4, result.output


def test_findings_come_before_a_check_that_could_not_run():
    refused = checked("--model-path x --tp-size nine", "--decode-check")
    assert refused.exit_code == 1


def test_strict_fails_on_an_unknown_verdict_and_only_then():
    text = "--model-path nobody/knows --tp-size 1"
    assert report(text)["verdict"] == "unknown"
    assert checked(text).exit_code == 0
    assert checked(text, "--strict").exit_code == 1
    assert checked(LLAMA, "--strict").exit_code == 0


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 0), ("info", 1)])
def test_fail_on_sets_the_threshold(level, code):
    blackwell = ("--args", REMARK, "--gpu", "b200", "--engine-version", "0.5.18")
    found = json.loads(run(*blackwell, "--format", "json").stdout)
    assert {finding["level"] for finding in found["findings"]} == {"info"}
    assert run(*blackwell, "--fail-on", level).exit_code == code


@pytest.mark.parametrize("level", ["error", "warning", "info"])
def test_an_error_reaches_every_threshold_and_exit_zero_forgives_it(level):
    assert checked(REFUSED, "--fail-on", level).exit_code == 1
    assert checked(REFUSED, "--fail-on", level, "--exit-zero", "--strict").exit_code == 0


def test_exit_zero_forgives_neither_bad_usage_nor_an_empty_input():
    assert run("--args", LLAMA, "--engine-version", "banana", "--exit-zero").exit_code == 2
    assert checked("", "--exit-zero").exit_code == 3


def test_every_command_of_a_text_is_reported_and_one_error_is_enough():
    text = f"python -m sglang.launch_server {LLAMA}; {REFUSED}"
    assert checked(text).exit_code == 1
    [first, second] = report(text)
    assert [first["verdict"], second["verdict"]] == ["ok", "error"]
    lines = checked(text, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["ok", "error"]


def test_flags_cut_off_from_their_command_leave_no_ok():
    found = report(f"python -m sglang.launch_server {LLAMA}\n--dcp-size 8\n")
    assert found["verdict"] == "unknown"
    assert [problem["kind"] for problem in found["problems"]] == ["detached-flags"]


def test_a_command_after_two_dashes_is_one_argv():
    result = run(*H200, "--format", "json", "--", "python3", "-m", "sglang.launch_server", *LLAMA.split())
    assert json.loads(result.stdout)["verdict"] == "ok"


def test_the_environment_counts():
    text = "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8"
    origins = report(text, "--env", "SGLANG_NOTHING_READS_THIS=1")
    assert origins["verdict"] == report(text)["verdict"]


def test_a_model_given_beside_the_line_is_the_one_that_is_checked():
    found = report("--model-path ./mine", "--model", "meta-llama/Llama-3.1-8B-Instruct")
    assert found["verdict"] == "ok"
    assert found["target"]["model"] == "meta-llama/Llama-3.1-8B-Instruct"


@pytest.mark.parametrize(
    "content", [b'{"a":', b"", b"[]", b"\xff\xfe\x00", b'{"a": NaN}', b'"x"', b"[" * 100_000, b'{"a":' * 9000]
)
def test_a_config_that_cannot_be_read_is_unknown_never_ok(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)
    found = report(f"--model-path {tmp_path} --tp-size 1")
    assert found["verdict"] == "unknown"
    assert found["problems"]
    assert found["problems"][0]["hint"]


def test_a_huge_config_is_not_read(tmp_path):
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    found = report(f"--model-path {tmp_path} --tp-size 1")
    assert found["verdict"] == "unknown"
    assert "MB" in found["problems"][0]["message"]


HEAD = "subject: mine\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (HEAD + "derive:\n  aa: bb\n  bb: aa\n", "circle"),
        (HEAD + "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "anchors and aliases"),
        (HEAD + "rules: [\n", "yaml:"),
        (HEAD + "rulez: []\n", "rulez"),
        ("", "empty"),
        ("- 1\n", "yaml"),
        (HEAD + "x: " + "[" * 3000, "yaml"),
        ("\x00\x01", "yaml"),
        (HEAD + "facts: !!python/object/apply:os.system ['true']\n", "tag"),
    ],
)
def test_a_rule_file_that_cannot_be_used_is_bad_usage_and_is_named(tmp_path, content, said):
    path = tmp_path / "own.yaml"
    path.write_text(content)
    result = checked(LLAMA, "--rules", str(path))
    assert result.exit_code == 2
    assert f"error: {path}" in result.stderr
    assert said in result.stderr


def test_a_binary_rule_file_is_bad_usage(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_bytes(bytes(range(256)))
    assert checked(LLAMA, "--rules", str(path)).exit_code == 2


def test_a_rule_of_ones_own_is_applied(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(
        HEAD + "rules:\n  - {id: OWN001, slug: own.rule, title: mine, phase: resolve, level: error,\n"
        "     when: tp_size > 4, message: 'tp {tp_size} is too large here'}\n"
    )
    assert checked(LLAMA, "--rules", str(path)).exit_code == 0
    result = checked(LLAMA.replace("size 1", "size 8"), "--rules", str(path))
    assert result.exit_code == 1
    assert "OWN001" in result.stdout
    assert "tp 8 is too large here" in result.stdout


def write(tmp_path, *rows):
    path = tmp_path / "cases.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def case(**more):
    return {
        "id": 1,
        "engine_version": "0.5.18",
        "gpu": "h200",
        "flashinfer": "pin",
        "args": LLAMA.split(),
    } | more


def test_cases_give_one_line_each_in_order_with_their_ids(tmp_path):
    rows = [case(id=3), case(id="x", args="--tp-size nine"), "", case(id=None)]
    result = run("--cases", write(tmp_path, *rows))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one.get("id"), one["verdict"]) for one in found] == [(3, "ok"), ("x", "error"), (None, "ok")]
    assert result.exit_code == 1
    assert run("--cases", write(tmp_path, *rows), "--exit-zero").exit_code == 0
    assert run("--cases", write(tmp_path, rows[0])).exit_code == 0


def test_cases_come_from_standard_input_too():
    result = run("--cases", "-", input=json.dumps(case()) + "\n")
    assert json.loads(result.stdout)["verdict"] == "ok"


def test_a_line_that_is_no_case_is_bad_usage_but_the_others_are_checked(tmp_path):
    result = run("--cases", write(tmp_path, case(id=1), "{", case(id=2), case(id=3, args=7)))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["verdict"] for one in found] == ["ok", "unknown", "ok", "unknown"]
    assert found[3]["id"] == 3
    assert len({frozenset(one) | {"id"} for one in found}) == 1
    assert result.exit_code == 2


def test_strict_counts_unknown_cases(tmp_path):
    path = write(tmp_path, case(args=["--model-path", "nobody/knows"]))
    assert run("--cases", path).exit_code == 0
    assert run("--cases", path, "--strict").exit_code == 1


def test_an_empty_cases_file_has_no_launch_command(tmp_path):
    assert run("--cases", write(tmp_path)).exit_code == 3


def test_binary_cases_are_bad_usage(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(bytes(range(256)) * 20)
    assert run("--cases", str(path)).exit_code == 2


def test_the_exit_code_of_the_process_is_the_same():
    assert process("validate", "--args", LLAMA, *H200).returncode == 0
    assert process("validate", "--args", REFUSED, *H200).returncode == 1
    assert process("validate").returncode == 2
    assert process("nothing-such").returncode == 2
    assert process("validate", "--args", "").returncode == 3


@pytest.mark.parametrize("form", FORMATS)
def test_bytes_that_are_no_text_are_no_traceback(form):
    done = process("validate", "--format", form, *H200, "--args", b"--model-path \xff\xfe\x80")
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr


@pytest.mark.parametrize("form", FORMATS)
def test_a_locale_without_the_characters_is_no_traceback(form):
    text = "--model-path modèle --tp-size 1"
    done = process(
        "validate", "--format", form, *H200, "--args", text, env={"PYTHONIOENCODING": "ascii:strict"}
    )
    assert done.returncode == 0
    assert done.stdout.decode("ascii")
    if form != "text":
        assert "modèle" in json.loads(done.stdout)["command"]


def test_half_a_character_in_a_case_is_no_traceback(tmp_path):
    path = write(tmp_path, case(args=["--model-path", "\ud800"]))
    done = process("validate", "--cases", path, env={"PYTHONIOENCODING": "utf-8:strict"})
    assert json.loads(done.stdout)["verdict"] == "unknown"


def test_colour_is_written_only_where_it_is_wanted():
    assert b"\x1b[" in process("validate", "--args", REFUSED, *H200, env={"FORCE_COLOR": "1"}).stdout
    for env in ({"NO_COLOR": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, {}):
        assert b"\x1b[" not in process("validate", "--args", REFUSED, *H200, env=env).stdout


@pytest.mark.parametrize("words", [("rules", "list"), ("--version",), ("validate", "--args", LLAMA, *H200)])
def test_a_closed_pipe_is_quiet_and_no_finding(words):
    command = [sys.executable, "-m", "mlacheck", *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(timeout=60) == 141


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "./no/such/folder"), "--model: ./no/such/folder does not exist on this machine"),
        (("--model", "nobody/knows-this"), "--model: unknown model nobody/knows-this: neither a path"),
        (("--model", "deepseek-ai/DeepSek-V3"), "did you mean deepseek-ai/DeepSeek-V3"),
        (("--gpu", "h2000"), "--gpu: "),
        (("--engine-version", "five"), "--engine-version: sglang version 'five' cannot be read"),
        (("--flashinfer", "new"), "--flashinfer: FlashInfer version 'new' cannot be read"),
    ],
)
def test_a_target_that_a_flag_names_and_that_cannot_be_read_is_bad_usage(words, said):
    result = run("--args", LLAMA, *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_broken_config_of_a_named_model_is_bad_usage(tmp_path):
    (tmp_path / "config.json").write_text("{")
    result = run("--args", LLAMA, "--model", str(tmp_path))
    assert result.exit_code == 2
    assert "config.json:1:2: not valid JSON" in result.stderr


def test_another_model_than_the_lines_is_remarked():
    words = ("--format", "json", "--engine-version", "0.5.18", "--gpu", "h200")
    result = run("--args", LLAMA, "--model", "deepseek-ai/DeepSeek-V3", *words)
    said = [one["message"] for one in json.loads(result.stdout)["findings"] if one["id"] == "MLA515"]
    assert "deepseek-ai/DeepSeek-V3 is checked, but the line serves meta-llama" in said[0]
    same = run("--args", "--model-path deepseek-v3", "--model", "deepseek-ai/DeepSeek-V3", *words)
    assert "MLA515" not in same.stdout


@pytest.mark.parametrize(
    "words",
    [("--gpu", "h200"), ("--env", "A=1"), ("--decode-check",), ("--profile", "prod"), ("--batch", "2")],
)
def test_a_flag_that_cases_cannot_follow_is_refused(tmp_path, words):
    result = run("--cases", write(tmp_path, case()), *words)
    assert result.exit_code == 2
    assert f"{words[0]} and --cases do not go together" in result.stderr


def test_every_target_that_is_wrong_has_a_line_of_its_own():
    result = run("--args", LLAMA, "--gpu", "h2000", "--flashinfer", "new")
    assert result.exit_code == 2
    first, second = result.stderr.splitlines()
    assert first.startswith("error: --flashinfer: ")
    assert second == "error: --gpu: unknown GPU 'h2000'; did you mean h200 or gh200 or h20?"


def test_files_that_are_not_there_make_no_report(tmp_path):
    result = run(str(tmp_path / "none.sh"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "none.sh does not exist" in result.stderr


@pytest.mark.parametrize(
    ("word", "said"), [("validat", "did you mean validate?"), ("zzz", "there is validate, ")]
)
def test_a_command_that_is_not_there_is_named_with_what_is(word, said):
    result = CliRunner().invoke(cli, [word])
    assert result.exit_code == 2
    assert f"there is no command '{word}'; " in result.stderr
    assert said in result.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--gpu", "b200", "--gpu", "h200"], "--gpu is given twice (b200, h200)"),
        (["--flashinfer", "none", "--flashinfer", "0.7.2"], "--flashinfer is given twice"),
        (
            ["--engine", "vllm", "--engine-version", "sglang=0.5.23"],
            "--engine vllm does not go with --engine-version sglang=0.5.23",
        ),
    ],
)
def test_targets_that_contradict_each_other_are_bad_usage(flags, said):
    result = CliRunner().invoke(cli, ["validate", *flags, "--args", "--tp 8"])
    assert result.exit_code == 2
    assert said in result.stderr


def test_quiet_says_why_a_verdict_is_unknown():
    line = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8"
    flags = ["-q", "--gpu", "b200", "--engine-version", "0.5.99"]
    said = " ".join(CliRunner().invoke(cli, ["validate", *flags, "--args", line]).stdout.split())
    assert "0.5.99 is not a recorded version" in said


def test_a_package_that_is_not_there_reads_as_words():
    line = "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --attention-backend flashinfer"
    flags = ["--flashinfer", "none", "--gpu", "b200", "--engine-version", "0.5.23"]
    said = " ".join(CliRunner().invoke(cli, ["validate", *flags, "--args", line]).stdout.split())
    assert "FlashInfer 0.7.2 or newer, and none is installed" in said


EVERYWHERE = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 "
    "--attention-backend trtllm_mla --speculative-algorithm EAGLE"
)


def test_a_line_that_fails_on_every_gpu_says_so(tmp_path):
    path = tmp_path / "a.sh"
    path.write_text(f"{EVERYWHERE}\n")
    words = ["--no-config", "--engine-version", "0.5.18", str(path)]
    why = "depends on which one it is: MLA100 on SM80, SM89, SM90, MLA194 on SM100, SM103, SM120, SM121"
    for format_ in EVERY_FORMAT:
        done = CliRunner().invoke(cli, ["validate", "--format", format_, *words])
        assert done.exit_code == 1
        assert why in " ".join(done.stdout.replace("%2C", ",").split()), format_
        assert "MLA516" in done.stdout
    said = " ".join(CliRunner().invoke(cli, ["validate", *words]).stdout.split())
    assert "checked 1 command in 1 file: 1 error;" in said
    assert "fix: drop --attention-backend; drop --dcp-size" in said
    done = CliRunner().invoke(cli, ["fix", *words])
    assert "MLA516 can be mended: drop --attention-backend; drop --dcp-size" in done.stderr
    named = CliRunner().invoke(cli, ["validate", *words, "--gpu", "b200"]).stdout
    assert "MLA516" not in named
    assert "error[MLA194]" in named


@pytest.mark.parametrize(
    ("flags", "exit_code", "gone"),
    [
        (["--ignore", "MLA516"], 0, False),
        (["--ignore", "MLA194"], 0, True),
        (["--ignore", "MLA100,MLA194,MLA250"], 0, True),
        (["--select", "MLA516"], 1, False),
        (["--ignore", "MLA100", "--strict"], 1, True),
    ],
)
def test_a_line_that_fails_on_every_gpu_can_be_silenced_whole_or_in_part(flags, exit_code, gone):
    words = ["validate", "--no-config", "--engine-version", "0.5.18", "--format", "json", *flags]
    done = CliRunner().invoke(cli, [*words, "--args", EVERYWHERE])
    assert done.exit_code == exit_code
    found = [one["id"] for one in json.loads(done.stdout)["findings"]]
    assert ("MLA516" not in found) == gone


def test_an_option_of_ours_after_the_dashes_is_told():
    words = ["--no-config", "--engine-version", "0.5.23", "--", "sglang", "serve", "Qwen/Qwen3-8B"]
    done = CliRunner().invoke(cli, ["validate", *words, "--gpu", "h200"])
    assert done.exit_code == 1
    assert "note: --gpu goes to the engine here; mlacheck's own options stand before --" in done.stderr
    assert "note" not in CliRunner().invoke(cli, ["validate", *words, "--tp", "x"]).stderr
