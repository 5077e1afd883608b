from __future__ import annotations

import pytest

from mlacheck.ruleset.wording import says


@pytest.mark.parametrize(
    ("text", "template", "expected"),
    [
        ("is not supported", "{} is not supported with {}", True),
        (
            "trtllm_mla cannot serve decode context parallelism",
            "{} cannot serve decode context parallelism",
            True,
        ),
        ("cannot serve decode context parallelism of x", "{} cannot serve decode context para", False),
        ("context parallelism with speculation", f"{'w' * 114} {{}} context parallelism wit", True),
        ("context parallelism of speculation", f"{'w' * 114} {{}} context parallelism wit", False),
        ("--a requires FA3, got fa2", "--a requires {}, got {}", True),
        ("--all requires FA3 of Hopper", "{} requires {}", False),
        ("--response-store is not supported with PD", "head.pt {} is not supported", False),
        ("tp_size must be divisible", "dp_size must be positive", False),
        ("integer modulo by zero", "tp_size must be divisible by number of nodes", False),
        ("anything", "", False),
        ("", "", True),
        ("", "words", False),
        ("made elsewhere", "{}", True),
    ],
)
def test_a_text_is_recognised_in_a_message_with_values_filled_in(text, template, expected):
    assert says(text, template) is expected
