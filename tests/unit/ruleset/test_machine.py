from __future__ import annotations

import pytest
from packaging.version import Version

from mlacheck.facts import UNKNOWN, Possible

FIND = """
rules:
  - id: TOY001
    slug: toy
    title: toy
    phase: resolve
    level: error
    when: >-
      {when}
    message: "backend {{backend}} with dcp {{dcp_size}}"
"""


def fired(rules, when, **facts):
    _, run = rules.run(FIND.format(when=when), **facts)
    return "fires" if run.hits else "undecided" if run.undecided else "silent"


@pytest.mark.parametrize(
    ("when", "facts", "expected"),
    [
        ("dcp_size > 1 and backend == 'fa3'", {"dcp_size": 2, "backend": "fa3"}, "fires"),
        ("dcp_size > 1 and backend == 'fa3'", {"dcp_size": 1, "backend": UNKNOWN}, "silent"),
        ("dcp_size > 1 and backend == 'fa3'", {"dcp_size": 2, "backend": UNKNOWN}, "undecided"),
        ("backend == 'fa3' and dcp_size > 1", {"dcp_size": 1, "backend": UNKNOWN}, "silent"),
        ("backend == 'fa3' or dcp_size > 1", {"dcp_size": 2, "backend": UNKNOWN}, "fires"),
        ("not (backend == 'fa3' or dcp_size > 1)", {"dcp_size": 2, "backend": UNKNOWN}, "silent"),
        ("backend in ['fa3', 'triton']", {"backend": Possible(("fa3", "triton"))}, "fires"),
        ("backend in ['fa3']", {"backend": Possible(("fa3", "triton"))}, "undecided"),
        ("backend in ['fa3']", {"backend": Possible(("flashinfer", "triton"))}, "silent"),
        ("backend is None", {"backend": UNKNOWN}, "undecided"),
        ("backend is None", {"backend": None}, "fires"),
        ("backend is not None", {"backend": None}, "silent"),
        ("page_size > 1", {"page_size": None}, "undecided"),
        ("page_size % dcp_size == 0", {"page_size": 64, "dcp_size": 0}, "undecided"),
        ("page_size % dcp_size == 0", {"page_size": 64, "dcp_size": 2}, "fires"),
        ("coalesce(decode, backend) == 'fa3'", {"backend": "fa3"}, "fires"),
        ("coalesce(decode, backend) == 'fa3'", {"decode": UNKNOWN, "backend": "fa3"}, "undecided"),
        ("version.flashinfer >= '0.6.17'", {"version__flashinfer": Version("0.6.17.post1")}, "fires"),
        ("version.flashinfer >= '0.6.17'", {"version__flashinfer": Version("0.6.17rc1")}, "silent"),
        ("version.flashinfer >= '0.6.17'", {"version__flashinfer": UNKNOWN}, "undecided"),
        ("version.flashinfer >= '0.6.17'", {"version__flashinfer": None}, "undecided"),
        ("'enable_dcp' in parameters", {"parameters": frozenset({"enable_dcp"})}, "fires"),
        ("'enable_dcp' in parameters", {"parameters": UNKNOWN}, "undecided"),
        ("(4 if is_mla else 4) == 4", {"is_mla": UNKNOWN}, "fires"),
        ("upper(algorithm) == 'EAGLE'", {"algorithm": "eagle"}, "fires"),
        ("upper(algorithm) == 'EAGLE'", {"algorithm": None}, "undecided"),
        ("1 < dcp_size <= 4", {"dcp_size": 4}, "fires"),
        ("gpu.sm // 10 == 10", {"gpu__sm": 103}, "fires"),
        ("-dcp_size + 3 == 1", {"dcp_size": 2}, "fires"),
        ("max(dcp_size, page_size) == 64", {"dcp_size": 2, "page_size": 64}, "fires"),
    ],
)
def test_conditions_are_three_valued(rules, when, facts, expected):
    assert fired(rules, when, **facts) == expected


def test_a_message_shows_the_values(rules):
    _, run = rules.run(FIND.format(when="dcp_size > 1"), dcp_size=2)
    assert run.hits[0].message == "backend none with dcp 2"
    assert run.hits[0].values == (("dcp_size", 2),)


SET = """
derive:
  effective: coalesce(decode, backend)
rules:
  - slug: default
    title: default backend
    when: backend is None
    cases:
      - {when: gpu.sm // 10 == 9, set: {backend: fa3}, title: default on SM90}
      - {set: {backend: triton, page_size: "= dcp_size * 16"}}
  - id: TOY001
    slug: toy
    title: toy
    phase: resolve
    level: error
    when: effective in ['fa3', 'triton']
    message: "x"
  - id: TOY002
    slug: toy-two
    title: toy
    phase: resolve
    level: error
    when: effective == 'triton'
    message: "x"
"""


def test_a_decision_table_takes_the_first_match_and_remembers_which(rules):
    facts, run = rules.run(SET, gpu__sm=90)
    assert facts["backend"] == "fa3"
    assert facts["page_size"] is None
    assert run.program.steps[0].arms[run.setters["backend"][1]].title == "default on SM90"
    facts, run = rules.run(SET, gpu__sm=80, dcp_size=4)
    assert (facts["backend"], facts["page_size"]) == ("triton", 64)


def test_a_value_given_by_the_user_is_not_set(rules):
    facts, run = rules.run(SET, gpu__sm=90, backend="flashinfer")
    assert facts["backend"] == "flashinfer"
    assert "backend" not in run.setters


def test_an_undecided_set_leaves_possible_values_and_later_rules_see_each(rules):
    facts, run = rules.run(SET, gpu__sm=UNKNOWN, page_size=1)
    assert set(facts["backend"].options) == {"fa3", "triton"}
    assert set(facts["page_size"].options) == {1, 16}
    assert [run.program.steps[hit.step].id for hit in run.hits] == ["TOY001"]
    assert [(run.program.steps[index].id, needs) for index, needs in run.undecided] == [
        ("TOY002", ("backend",))
    ]


def test_a_set_with_a_message_speaks_only_when_it_changes_something(rules):
    text = """
    rules:
      - id: TOY001
        slug: snap
        title: page size of the kernel
        when: backend == "trtllm_mla"
        set: {page_size: 64}
        level: info
        message: "page_size becomes {page_size}"
    """
    _, run = rules.run(text, backend="trtllm_mla", page_size=1)
    assert run.hits[0].message == "page_size becomes 64"
    _, run = rules.run(text, backend="trtllm_mla", page_size=64)
    assert not run.hits


def test_versions_select_rules_tables_and_derived_facts(rules):
    text = """
    tables:
      served:
        - {versions: {toy: ">=2"}, values: [fa3, triton]}
        - {values: [triton]}
    derive:
      limit:
        - {versions: {toy: ">=2"}, value: "8"}
        - {value: "4"}
    rules:
      - id: TOY001
        slug: toy
        title: toy
        versions: {toy: ">=1.0"}
        phase: resolve
        level: error
        when: backend not in served or dcp_size > limit
        message: "x"
    """
    assert rules.run(text, "1.0", backend="fa3")[1].hits
    assert not rules.run(text, "2.0", backend="fa3", dcp_size=8)[1].hits
    assert rules.run(text, "2.0", backend="fa3", dcp_size=9)[1].hits
    assert not rules.run(text, "0.9", backend="fa3")[1].program.steps


def test_a_rule_for_each_runner_reads_the_draft_only_where_there_is_one(rules):
    text = """
    facts:
      target.heads: {type: int, config: [heads]}
      draft.exists: {type: bool}
    rules:
      - id: TOY001
        slug: toy
        title: toy
        for_each: [target, draft]
        phase: backend-init
        level: error
        when: runner.heads > 4
        message: "{runner.heads} heads"
    """
    _, run = rules.run(text, target__heads=8, draft__exists=False, draft__heads=16)
    assert [hit.message for hit in run.hits] == ["8 heads"]
    _, run = rules.run(text, target__heads=8, draft__exists=True, draft__heads=16)
    assert [hit.message for hit in run.hits] == ["8 heads", "16 heads"]
