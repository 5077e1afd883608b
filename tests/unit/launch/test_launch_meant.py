from __future__ import annotations

import pytest

from mlacheck.launch import parse_text


@pytest.mark.parametrize(
    ("text", "level", "meant"),
    [
        ("python -m sglang.launch_sever --model-path a/b", "error", "sglang.launch_server"),
        ("vllm server a/b", "error", "serve"),
        ("vlm serve a/b", "error", "vllm"),
        ("vllm bench latency", "info", None),
        ("ls -la", "error", None),
    ],
)
def test_a_misspelt_entry_point_is_told(text, level, meant):
    [problem] = parse_text(text).problems
    assert (problem.kind, problem.level) == ("no-launch-command", level)
    assert problem.hint.startswith(f"did you mean {meant}? give " if meant else "give ")
