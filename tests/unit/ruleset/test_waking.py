"""Rules sleep until a line says what they ask for."""

from __future__ import annotations

import pytest

from mlacheck.launch import parse_text
from mlacheck.probes.target import TargetFlags
from mlacheck.ruleset import awake
from mlacheck.ruleset.awake import Awake
from mlacheck.session import Session

RULES = """
facts:
  dcp_size: {type: int}
  page_size: {type: int, default: 1}
  backend: {type: str, values: [a, b, c]}
  decode: {type: str, values: [a, b, c]}
derive:
  used: coalesce(decode, backend)
rules:
- {slug: sets, set: {page_size: 64}, when: "backend == 'a'"}
- {slug: woken, set: {decode: b}, when: page_size == 64}
- {slug: either, set: {dcp_size: 3}, when: "used == 'c' or dcp_size == 2"}
- {slug: always, set: {dcp_size: 1}, when: dcp_size != 2}
"""


def test_a_rule_sleeps_until_its_fact_has_a_value_that_it_asks_for(rules, unknown):
    compiled = rules.compile(RULES)

    def flags(**facts):
        return compiled.sleepers.awake({**compiled.program.defaults, **facts}).flags

    assert flags() == [False, False, False]
    assert flags(backend="b") == [False, False, True]
    assert flags(backend="a") == [True, False, True]
    assert flags(page_size=2) == [False, False, False]
    assert flags(page_size=unknown) == [False, True, False]


def test_a_rule_wakes_another(rules):
    values, run = rules.run(RULES, backend="a")
    assert (values["page_size"], values["decode"]) == (64, "b")
    assert run.awake.flags == [True, True, True]


@pytest.mark.parametrize("gpu", ["b200", "h200", None])
@pytest.mark.parametrize(
    "line",
    [
        "sglang serve deepseek-ai/DeepSeek-V3 --tp 8 --dcp-size 8 --attention-backend trtllm_mla",
        "sglang serve deepseek-ai/DeepSeek-V3 --tp 8 --dcp-size 2 --speculative-algorithm EAGLE",
        "sglang serve nobody/knows --tp $TP --kv-cache-dtype fp8_e4m3",
        "sglang serve Qwen/Qwen3-8B --page-size 0 --enable-dp-attention --dp 3",
        "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --decode-context-parallel-size 3 --kv-cache-dtype fp8",
        "vllm serve nobody/knows --block-size 7 --quantization awq",
    ],
)
def test_with_every_rule_awake_nothing_else_is_said(line, gpu, monkeypatch):
    [command] = parse_text(line).commands

    def report():
        return Session(TargetFlags(gpu=gpu)).check(command)

    sparse = report()
    monkeypatch.setattr(awake.Sleepers, "awake", lambda self, _: Awake({}, [True] * len(self._asleep)))
    assert report() == sparse
