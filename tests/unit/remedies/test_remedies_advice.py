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
