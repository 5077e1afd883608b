from __future__ import annotations

import time

import pytest

from mlacheck.launch import parse_text
from mlacheck.probes.target import TargetFlags
from mlacheck.session import Session

DEEPSEEK = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8"


def check(text, version="0.5.18", gpu="b200", **session):
    [command] = parse_text(text).commands
    return Session(TargetFlags(engine_version=version, gpu=gpu), **session).check(command)


def corrected(report):
    """Give the corrected lines of the first error, and assert that each error carries some remedy."""
    errors = [finding for finding in report.findings if finding.level == "error"]
    assert all(finding.remedies for finding in errors)
    return [remedy for remedy in errors[0].remedies if remedy.command]


REFUSED = [
    ("--dcpsize 8", "--dcp-size 8"),
    ("--dcp 8", "--dcp-size 8"),
    ("--attention_backend triton", "--attention-backend triton"),
    ("--attention-backend trtllm-mla", "--attention-backend trtllm_mla"),
    ("--attention-backend=trtllm-mla", "--attention-backend=trtllm_mla"),
    ("--kv-cache-dtype fp8-e4m3", "--kv-cache-dtype fp8_e4m3"),
]


@pytest.mark.parametrize(("wrong", "right"), REFUSED)
def test_a_misspelling_is_corrected_in_the_line(wrong, right):
    lines = [remedy.command for remedy in corrected(check(f"{DEEPSEEK} {wrong}", "0.5.23"))]
    assert f"{DEEPSEEK} {right}" in lines[:2]
    assert all(check(line, "0.5.23").verdict in {"ok", "warning"} for line in lines)


@pytest.mark.parametrize(
    "wrong", ["--page-size abc", "--attention-backend", "--no-such-flag 1 2", "--kv-cache-dtype float4000"]
)
def test_what_nobody_can_guess_is_left_out(wrong):
    lines = corrected(check(f"{DEEPSEEK} {wrong} --trust-remote-code"))
    assert lines[0].command == f"{DEEPSEEK} --trust-remote-code"
    assert lines[0].text.startswith("drop --")


def test_a_misspelt_line_with_another_error_is_corrected_as_a_whole():
    text = f"{DEEPSEEK} --dcpsize 8 --attention-backend trtllm_mla --speculative-algorithm EAGLE"
    for remedy in corrected(check(text)):
        assert check(remedy.command).verdict in {"ok", "warning"}


def test_a_missing_model_cannot_be_made_up():
    report = check("python -m sglang.launch_server --tp-size 8")
    assert corrected(report) == []
    assert report.findings[0].remedies[0].kind == "none"


def test_every_corrected_line_passes_and_says_what_becomes_of_dcp():
    report = check(f"{DEEPSEEK} --dcp-size 8 --attention-backend trtllm_mla --speculative-algorithm EAGLE")
    lines = corrected(report)
    assert 1 <= len(lines) <= 3
    for remedy in lines:
        assert check(remedy.command).verdict in {"ok", "warning"}
        assert "DCP" in remedy.cost
        assert "speculation" in remedy.cost
        assert len(remedy.edits) <= 3


def test_without_a_gpu_a_line_that_passes_on_some_says_on_which():
    report = check(f"{DEEPSEEK} --dcp-size 8 --speculative-algorithm EAGLE", version="0.5.16", gpu=None)
    lines = corrected(report)
    assert lines
    for remedy in lines:
        again = check(remedy.command, version="0.5.16", gpu=None)
        partly = remedy.cost.startswith("passes on SM")
        assert (again.verdict == "error" or any(one.level == "error" for one in again.undecided)) == partly


def test_a_variable_given_beside_the_line_is_part_of_the_remedy():
    text = f"{DEEPSEEK} --speculative-algorithm EAGLE"
    report = check(text, version="0.5.23", env={"SGLANG_RAGGED_VERIFY_MODE": "cap_accept"})
    [remedy] = [one for finding in report.findings for one in finding.remedies][:1]
    assert remedy.edits == {"env.SGLANG_RAGGED_VERIFY_MODE": "unset"}
    assert remedy.command is None  # the line as it stands is right


def test_the_search_is_quick_even_where_there_is_no_way_out():
    text = f"{DEEPSEEK} --dcp-size 3 --page-size 3 --speculative-algorithm EAGLE --attention-backend wave"
    check(text)
    start = time.perf_counter()
    check(text)
    assert time.perf_counter() - start < 2


SGLANG = "sglang serve Qwen/Qwen3-8B"
VLLM = "vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8"


@pytest.mark.parametrize(
    "removed", ["--num-scheduler-steps 8", "--swap-space 16", "--scheduler-klasse 8", "--rope-scaling {}"]
)
def test_a_flag_that_is_gone_is_dropped_and_not_taken_for_another(removed):
    found = corrected(check(f"{VLLM} {removed}", "0.33.0", "h200"))
    assert [one.command for one in found] == [VLLM]


def test_the_successor_of_a_flag_that_is_gone_is_named():
    [found] = corrected(check(f"{VLLM} --rope-scaling {{}}", "0.33.0", "h200"))
    assert "--hf-overrides" in found.text


def test_a_misspelt_switch_is_not_switched_off():
    found = corrected(check(f"{VLLM} --enable-expert-paralel", "0.33.0", "h200"))
    assert [one.command for one in found] == [f"{VLLM} --enable-expert-parallel", VLLM]


def test_a_misspelt_value_is_put_right_before_it_is_dropped():
    found = corrected(check(f"{VLLM} --attention-backend FLASHMLA_", "0.33.0", "h200"))
    assert found[0].command == f"{VLLM} --attention-backend FLASHMLA"


def test_of_several_values_only_the_misspelt_one_is_another():
    found = corrected(check(f"{SGLANG} --lora-target-modules qkv_proj gate_up o_proj", "0.5.20", "h200"))
    assert found[0].command == f"{SGLANG} --lora-target-modules qkv_proj gate_up_proj o_proj"
    assert found[0].text.startswith("set --lora-target-modules qkv_proj gate_up_proj o_proj")
    found = corrected(check(f"{SGLANG} --lora-target-modules qkv_proj gate_up dwn_proj", "0.5.20", "h200"))
    assert found[0].command == f"{SGLANG} --lora-target-modules qkv_proj gate_up_proj down_proj"


def test_a_switch_on_is_not_taken_for_one_that_switches_off():
    found = corrected(check(f"{SGLANG} --enable-flashinfer-cutlass-moe", "0.5.20", "h200"))
    assert [one.command for one in found] == [f"{SGLANG} --moe-runner-backend flashinfer_cutlass", SGLANG]


def test_several_misspelt_words_are_corrected_in_one_line():
    wrong = f"{DEEPSEEK} --atention-backend flashinfer --dcp 8".replace("--model", "--modle")
    found = corrected(check(wrong, "0.5.23", "h200"))
    right = wrong.replace("modle", "model").replace("atention", "attention").replace("--dcp ", "--dcp-size ")
    assert found[0].command == right


def test_a_misspelt_model_flag_is_no_missing_model():
    report = check("python -m sglang.launch_server --modle-path x --no-hope-1 --a-1 --b-1 --c-1 --d-1 --e-1")
    [missing] = [one for one in report.findings if one.slug == "missing-required"]
    assert missing.engine_stops_here
    assert "--modle-path" in missing.message
    assert [one.text for one in missing.remedies] == ["write --model-path for --modle-path"]


@pytest.mark.parametrize("dash", ["\u2014-", "\u2013", "\u2014"])
def test_a_dash_that_is_no_hyphen_is_replaced(dash):
    wrong = DEEPSEEK.replace("--model", f"{dash}model")
    assert corrected(check(wrong, "0.5.23"))[0].command == DEEPSEEK


STAGES = "--pp-size 2 --speculative-algorithm EAGLE"


def test_speculation_goes_with_its_settings():
    settings = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    commands = [one.command for one in corrected(check(f"{DEEPSEEK} {STAGES} {settings}", "0.5.23"))]
    assert f"{DEEPSEEK} --pp-size 2" in commands
    assert all("--speculative-algorithm" in one or "--speculative" not in one for one in commands)


def test_a_variable_that_the_rule_reads_is_changed_first():
    found = corrected(check(f"SGLANG_ENABLE_PP_SPEC=0 {DEEPSEEK} {STAGES}", "0.5.23"))
    assert found[0].command == f"SGLANG_ENABLE_PP_SPEC=1 {DEEPSEEK} {STAGES}"
    line = f"{VLLM} --attention-backend FLASHMLA"
    found = corrected(check(f"VLLM_MLA_DISABLE=1 {line}", "0.33.0", "h200"))
    assert found[0].command == line
    assert "MLA is on again" in found[0].cost


def test_a_variable_that_lifts_a_check_is_not_set():
    variable = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=0"
    [found] = corrected(check(f"{variable} {DEEPSEEK} --context-length 999999", "0.5.23"))
    assert found.command == f"{variable} {DEEPSEEK}"
    assert "context 999999 becomes 163840" in found.cost


def test_the_context_that_is_given_up_is_told():
    [found] = corrected(check(f"{VLLM} --max-model-len 999999", "0.33.0", "h200"))
    assert "context 999999 becomes 163840" in found.cost


@pytest.mark.parametrize(
    "text",
    [
        f"{DEEPSEEK} --dcp-size 8 --attention-backend trtllm_mla --speculative-algorithm EAGLE",
        f"{DEEPSEEK} --dcp 8 --attention-backend fa3 --page-size abc",
    ],
)
def test_no_line_does_all_that_a_better_one_does_and_more(text):
    [command] = parse_text(text).commands
    found = Session(TargetFlags(engine_version="0.5.23", gpu="h200")).solutions(command)
    for at, one in enumerate(found):
        assert not any(better.changes < one.changes for better in found[:at])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("vllm serve --bogus 3 Qwen/Qwen3-8B", "vllm serve Qwen/Qwen3-8B"),
        (
            "python -m vllm.entrypoints.openai.api_server Qwen/Qwen3-8B",
            "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B",
        ),
        (
            "docker run vllm/vllm-openai:v0.33.0 serve Qwen/Qwen3-8B",
            "docker run vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B",
        ),
        (
            "python -m sglang.launch_server Qwen/Qwen3-8B --tp 2",
            "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2",
        ),
    ],
)
def test_a_correction_keeps_the_model(text, line):
    version = "0.33.0" if "vllm" in text else "0.5.23"
    assert [remedy.command for remedy in corrected(check(text, version, "h200"))] == [line]


def test_a_misspelt_flag_that_is_left_out_takes_with_it_what_it_meant():
    first, *others = corrected(check(f"{DEEPSEEK} --dcp_size 8"))
    assert first.text.startswith("write --dcp-size for --dcp_size")
    dropped = next(one for one in others if one.text.startswith("drop --dcp_size"))
    assert "DCP goes" in dropped.cost


def test_a_misspelt_flag_is_not_put_right_to_be_dropped():
    line = f"{DEEPSEEK} --dcp_size 8 --attention-backend trtllm_mla --speculative-algorithm EAGLE"
    found = corrected(check(line))
    assert any("DCP goes" in one.cost and one.text.startswith("drop --dcp_size") for one in found)
    assert not any("drop --dcp-size" in one.text for one in found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--task embed", "--runner pooling --convert embed"),
        ("--guided-decoding-backend=xgrammar", "--structured-outputs-config.backend xgrammar"),
        ("--cuda-graph-sizes 1 2 4", "--cudagraph-capture-sizes 1 2 4"),
        ("--worker-use-ray", "--distributed-executor-backend ray"),
        ("--limit-mm-per-prompt image=4,video=1", '--limit-mm-per-prompt \'{"image":4,"video":1}\''),
    ],
)
@pytest.mark.parametrize("version", ["0.18.1", "0.33.0"])
def test_what_takes_the_place_of_an_old_flag_takes_its_value(old, new, version):
    report = check(f"vllm serve Qwen/Qwen2.5-VL-7B-Instruct {old}", version, "h200")
    assert corrected(report)[0].command == f"vllm serve Qwen/Qwen2.5-VL-7B-Instruct {new}"


def test_a_value_that_the_new_flag_has_not_is_left_out():
    [only] = corrected(check("vllm serve Qwen/Qwen3-8B --task generate", "0.33.0", "h200"))
    assert only.command == "vllm serve Qwen/Qwen3-8B"


def test_what_is_dropped_is_what_the_line_says():
    model = "moonshotai/Kimi-Linear-48B-A3B-Instruct --trust-remote-code"
    line = f"vllm serve {model} -tp 8 --no-enable-chunked-prefill"
    remedies = corrected(check(line, "0.33.0", "h200"))
    assert remedies[0].text == "drop --no-enable-chunked-prefill"
    assert remedies[0].command == line.removesuffix(" --no-enable-chunked-prefill")
