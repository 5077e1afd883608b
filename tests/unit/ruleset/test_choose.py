from __future__ import annotations

import pytest

from mlacheck.ruleset.error import RuleError

RULES = """
facts:
  gpu.sm: {type: int}
  kv: {type: str}
  target.big: {type: bool}
  draft.big: {type: bool}
  draft.exists: {type: bool}
  target.pick: {type: str}
  draft.pick: {type: str}
tables:
  kinds:
    - values: {A: {sm: [90], kv: [auto]}, B: {sm: [90, 100], kv: [auto, fp8]}, C: {sm: [100], kv: [fp8]}}
rules:
  - slug: pick
    choose: runner.pick
    for_each: [target]
    named: backend
    traits: kinds
    among:
      - {when: gpu.sm == 100, values: [C, B]}
      - {values: [A, B]}
    reasons:
      - {when: gpu.sm not in candidate.sm, say: wrong GPU}
      - {when: kv not in candidate.kv, say: wrong KV}
      - {when: 'runner.big and candidate.name == "A"', say: too big}
  - slug: pick-draft
    like: pick
    for_each: [draft]
  - id: TOY001
    slug: refused
    title: t
    phase: resolve
    level: error
    when: backend is not None and target.pick.named_refused
    message: "{backend}: {target.pick.named_reasons}"
  - id: TOY002
    slug: none
    title: t
    phase: resolve
    level: error
    when: target.pick is None
    message: "none: {target.pick.reasons}"
"""
ROW = {
    "gpu__sm": 90,
    "kv": "auto",
    "target__big": False,
    "draft__big": True,
    "draft__exists": True,
    "backend": None,
}


@pytest.mark.parametrize(
    ("row", "target", "draft"),
    [
        ({}, "A", "B"),
        ({"kv": "fp8"}, "B", "B"),
        ({"gpu__sm": 100}, "B", "B"),
        ({"gpu__sm": 100, "kv": "fp8"}, "C", "C"),
        ({"target__big": True, "draft__big": False}, "B", "A"),
        ({"draft__exists": False}, "A", None),
    ],
)
def test_the_first_candidate_that_nothing_refuses_is_taken(rules, row, target, draft):
    values, run = rules.run(RULES, **{**ROW, **row})
    assert (values["target.pick"], values["draft.pick"]) == (target, draft)
    assert run.hits == []


def test_every_reason_of_the_named_one_is_told(rules):
    values, run = rules.run(RULES, **{**ROW, "gpu__sm": 100, "kv": "e5m2", "backend": "A"})
    assert values["target.pick"] == "A"
    assert [hit.message for hit in run.hits] == ["A: wrong GPU, wrong KV"]


def test_when_all_are_refused_each_says_why(rules):
    _, run = rules.run(RULES, **{**ROW, "kv": "e5m2"})
    assert [hit.message for hit in run.hits] == ["none: A: wrong KV, B: wrong KV"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("like: pick", "like: pck", "no choose rule 'pck'"),
        ("traits: kinds", "traits: kind", "no map table 'kind'"),
        ("candidate.kv", "candidate.kw", "lacks trait 'kw'"),
        ("    traits: kinds\n", "", "needs choose, traits and among"),
    ],
)
def test_a_rule_that_cannot_be_written_out_is_named_with_its_line(rules, old, new, said):
    with pytest.raises(RuleError, match=said):
        rules.compile(RULES.replace(old, new, 1))
