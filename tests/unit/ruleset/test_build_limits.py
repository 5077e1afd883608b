from __future__ import annotations

import pytest

from mlacheck.ruleset.files import read_ruleset
from mlacheck.ruleset.source import RuleError

RULE = """
  - id: TOY001
    slug: toy
    title: t
    phase: resolve
    level: error
    when: dcp_size > 1
    message: m
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("facts:\n  x: {type: int}\n  gpu.sm: {type: words}\n", "facts"),
        ("facts: {}\nrules:\n  - {slug: s, when: nope > 1, set: {page_size: 1}}\n", "'nope'"),
        (
            "facts: {}\nrules:\n  - slug: s\n    cases:\n      - {when: nope > 1, set: {page_size: 1}}\n",
            "'nope'",
        ),
        ("facts: {}\nrules:\n  - slug: s\n    set: {page_size: '= nope'}\n", "'nope'"),
        ("facts: {}\nrules:\n  - {slug: s, set: {page_size: 1}, level: info}\n", "go together"),
        ("facts: {}\nrules:\n  - {slug: s, set: {page_size: 1}, level: info, message: m}\n", "go together"),
        ("facts: {}\nrules:" + RULE + "    remedies: [{edit: {dcp_size: 1}, when: nope}]\n", "'nope'"),
        ("facts: {}\nrules:" + RULE.replace("TOY001", "toy1"), "id"),
        ("facts: {}\nrules:" + RULE.replace("slug: toy", "slug: Not a slug"), "slug"),
        ("facts: {}\nrules:" + RULE.replace("phase: resolve", "phase: later"), "phase"),
        ("facts: {}\nrules:" + RULE + "    remedies: [{edit: {dcp_size: 1}, none: x}]\n", "exactly one of"),
        ("facts: {}\nrules:" + RULE + "    engine_says: ''\n", "engine_says"),
        ("facts: {}\nrules: [7]\n", "rules"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused_with_its_place(rules, text, said):
    with pytest.raises(RuleError, match=r"a\.yaml") as caught:
        rules.compile(text)
    assert said in str(caught.value)


def two_files(rules, first, second):
    folder = rules.root / "toy"
    (folder / "program.yaml").write_text(
        "engine: toy\nmodel: backend\ndraft: decode\nfiles: [a.yaml, later.yaml]\n"
    )
    (folder / "a.yaml").write_text("subject: a\n" + first)
    extra = rules.root / "own.yaml"
    extra.write_text("subject: own\n" + second)
    return read_ruleset(rules.root, "toy", [extra])


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("derive: {x: dcp_size}\n", "derive: {x: dcp_size}\n", "x is derived twice"),
        ("tables: {x: [{values: [1]}]}\n", "tables: {x: [{values: [1]}]}\n", "table x is given twice"),
        ("facts: {x: {type: int}}\n", "facts: {x: {type: str}}\n", "x is declared as int elsewhere"),
    ],
)
def test_two_files_may_not_contradict_each_other(rules, first, second, said):
    from mlacheck.ruleset.build import build

    with pytest.raises(RuleError, match=said) as caught:
        build(two_files(rules, first, second), "1.0", {}, {})
    assert "own.yaml" in str(caught.value)


def test_a_file_of_the_order_that_is_not_there_yet_is_left_out_and_extra_ones_come_last(rules):
    found = two_files(
        rules, "rules:" + RULE, "rules:" + RULE.replace("TOY001", "OWN001").replace("toy", "own")
    )
    assert [rule.id for _, _, rule in found.rules()] == ["TOY001", "OWN001"]
    assert [rule.id for _, _, rule in found.finds()] == ["TOY001", "OWN001"]


def test_what_no_version_range_covers_is_nothing(rules):
    text = """
    tables:
      served:
        - {versions: {toy: ">=9"}, values: [fa3]}
    derive:
      limit:
        - {versions: {toy: ">=9"}, value: "8"}
    rules:
      - id: TOY001
        slug: toy
        title: t
        phase: resolve
        level: error
        when: backend not in served and limit is None
        message: m
        source:
          - {file: new.py, versions: {toy: ">=9"}}
          - {file: old.py, symbol: make}
        remedies:
          - {edit: {dcp_size: 1}, versions: {toy: ">=9"}}
          - {edit: {page_size: 1}}
    """
    _, run = rules.run(text, backend="fa3")
    assert run.hits
    step = run.program.steps[0]
    assert step.source == "old.py::make"
    assert [remedy["edit"] for remedy in step.remedies] == [{"page_size": 1}]


def test_a_resolved_name_that_is_no_fact_is_an_error_of_the_order(rules):
    with pytest.raises(RuleError, match="no fact 'nope' is declared"):
        rules.compile("rules: []\n", order="resolved: [nope]\n")


def test_an_order_that_is_empty_is_an_error(rules):
    rules.read("rules: []\n")
    (rules.root / "toy" / "program.yaml").write_text("")
    with pytest.raises(RuleError, match=r"program\.yaml.*is empty"):
        read_ruleset(rules.root, "toy")
