from __future__ import annotations

from mlacheck.evaluation import Evaluation

RULES = """
facts:
  is_mla: {type: bool}
derive:
  effective: coalesce(decode, backend)
rules:
  - slug: default
    title: default backend
    when: backend is None
    set: {backend: fa3}
  - id: TOY001
    slug: first
    title: t
    phase: resolve
    level: error
    when: dcp_size > 1 and algorithm is not None
    message: "{algorithm} with dcp {dcp_size}"
    remedies:
      - edit: {algorithm: unset}
      - edit: {dcp_size: unset}
  - id: TOY002
    slug: hangs-on-first
    title: t
    phase: backend-init
    level: error
    when: algorithm is not None and dcp_size > 1 and page_size == 1
    message: x
    remedies: [{edit: {page_size: 64}}]
  - id: TOY003
    slug: independent
    title: t
    phase: first-decode
    level: error
    when: dcp_size > 1 and effective == "fa3"
    message: x
    remedies:
      - edit: {decode: flashinfer}
        cost: slower
      - edit: {decode: triton}
  - id: TOY004
    slug: next-wall
    title: t
    phase: silent
    level: error
    when: dcp_size > 1 and effective == "triton"
    message: x
    remedies: [{edit: {dcp_size: unset}}]
  - id: TOY005
    slug: remark
    title: t
    phase: resolve
    level: warning
    when: algorithm is not None
    message: x
"""


def evaluation(rules, **given):
    compiled = rules.compile(RULES)
    defaults = {"dcp_size": 1, "page_size": None, "backend": None, "decode": None, "algorithm": None}
    facts = {**compiled.program.defaults, **given}
    compiled.settle(facts)
    return Evaluation(compiled, facts, defaults)


def ids(checked, hits):
    return [checked.step(hit).id for hit in hits]


def test_a_finding_that_vanishes_with_the_first_remedy_is_not_reported(rules):
    checked = evaluation(rules, dcp_size=8, algorithm="EAGLE", page_size=1)
    said, stop = checked.independent()
    assert ids(checked, said) == ["TOY001", "TOY003"]
    assert checked.step(stop).id == "TOY001"


def test_without_a_refusal_nothing_stops_the_engine(rules):
    checked = evaluation(rules, dcp_size=8)
    said, stop = checked.independent()
    assert ids(checked, said) == ["TOY003"]
    assert stop is None


def test_origins_name_the_flag_or_the_rule(rules):
    checked = evaluation(rules)
    outcome = checked.outcome()
    assert checked.origin("effective", outcome, {}) == "default backend"
    checked = evaluation(rules, decode="triton")
    assert checked.origin("effective", checked.outcome(), {"decode": "--decode"}) == "--decode"
    assert checked.origin("page_size", checked.outcome(), {}) == "default"
