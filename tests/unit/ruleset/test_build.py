from __future__ import annotations

import pytest

from mlacheck.ruleset.error import RuleError

HEAD = """
rules:
  - id: TOY001
    slug: toy
    title: toy
    phase: resolve
    level: error
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + "    when: dcp_sise > 1\n    message: x\n",
            r"a\.yaml:\d+: no fact or table 'dcp_sise'.*dcp_size",
        ),
        (HEAD + "    when: backend == 'fa4'\n    message: x\n", "backend never has the value 'fa4'"),
        (HEAD + "    when: dcp_size == '2'\n    message: x\n", "dcp_size is a number"),
        (HEAD + "    when: __import__('os')\n    message: x\n", "no function '__import__'"),
        (HEAD + "    when: backend.upper()\n    message: x\n", "no function"),
        (HEAD + "    when: '[x for x in backend]'\n    message: x\n", "outside the language"),
        (HEAD + "    when: dcp_size ** 9\n    message: x\n", "outside the language"),
        (HEAD + "    when: backend is 'fa3'\n    message: x\n", "only compares with None"),
        (HEAD + "    when: 'dcp_size >'\n    message: x\n", "not an expression"),
        (HEAD + "    when: dcp_size > 1\n    message: '{nope}'\n", "no fact 'nope'"),
        (HEAD + "    when: dcp_size > 1\n    message: '{dcp_size // 2}'\n", "name of a fact, nothing else"),
        (HEAD + "    when: dcp_size > 1\n    mesage: x\n", "mesage"),
        (HEAD + "    when: dcp_size > 1\n    message: x\n    versions: {other: '>1'}\n", "is not the engine"),
        (HEAD + "    when: dcp_size > 1\n    message: x\n    versions: {toy: 'later'}\n", "versions"),
        (HEAD + "    when: dcp_size > 1\n    message: x\n    remedies: [{cost: none}]\n", "exactly one of"),
        (
            HEAD + "    when: dcp_size > 1\n    message: x\n    remedies: [{edit: {nope: 1}}]\n",
            "no argument 'nope'",
        ),
        ("derive:\n  a: b\n  b: a\nrules: []\n", "circle: a -> b -> a"),
        ("derive:\n  a: a\nrules: []\n", "circle"),
        ("rules:\n  - slug: s\n    set: {nope: 1}\n", "no fact 'nope'"),
        ("derive:\n  a: dcp_size\nrules:\n  - slug: s\n    set: {a: 1}\n", "derived and cannot be set"),
        ("rules:\n  - slug: s\n    set: {dcp_size: 1}\n    cases: []\n", "exactly one of set and cases"),
        ("rules: &x []\n", "anchors and aliases"),
        ("rules: []\nrules: []\n", "given twice"),
        ("rules: [\n", "a.yaml:"),
        ("rules: !!python/object:os.system {}\n", "tag .* is not allowed"),
    ],
)
def test_a_wrong_rule_file_names_file_and_line(rules, text, message):
    with pytest.raises(RuleError, match=message) as caught:
        rules.compile("facts: {}\n" + text)
    assert "a.yaml" in str(caught.value)


def test_the_line_is_that_of_the_wrong_key(rules):
    text = HEAD + "    when: dcp_sise > 1\n    message: x\n"
    with pytest.raises(RuleError) as caught:
        rules.compile("facts: {}\n" + text)
    written = (rules.root / "toy" / "a.yaml").read_text().splitlines()
    assert "dcp_sise" in written[caught.value.line - 1]


def test_ids_and_slugs_are_used_once(rules):
    rule = (
        "  - {id: TOY001, slug: a, title: t, phase: resolve, level: error, when: dcp_size > 1, message: x}\n"
    )
    with pytest.raises(RuleError, match="TOY001 is already used"):
        rules.compile("facts: {}\nrules:\n" + rule + rule)


def test_an_alias_bomb_is_refused_before_it_expands(rules):
    bomb = "a: &a [x, x]\n" + "".join(
        f"k{i}: &k{i} [*{'a' if i == 0 else f'k{i - 1}'}, *a]\n" for i in range(30)
    )
    with pytest.raises(RuleError, match="anchors and aliases"):
        rules.read(bomb)


def test_deep_nesting_and_large_files_are_refused(rules):
    with pytest.raises(RuleError):
        rules.read("x: " + "[" * 5000)
    with pytest.raises(RuleError, match="bytes"):
        rules.read("# " + "x" * 6_000_000)
