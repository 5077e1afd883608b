from __future__ import annotations

import pytest

from mlacheck.data import load_json
from mlacheck.engines import Grammar
from mlacheck.evaluation import Evaluation
from mlacheck.probes.engine import recorded_versions
from mlacheck.remedies.candidates import Candidates
from mlacheck.remedies.cost import Costs
from mlacheck.remedies.preference import Keep, Preferences, preferences
from mlacheck.remedies.search import Search
from mlacheck.ruleset.check import check
from mlacheck.ruleset.load import load_program

GRAMMAR = Grammar(
    "toy",
    "1.0",
    [
        {"dest": "dcp_size", "flags": ["--dcp-size"], "type": "int", "default": 1},
        {"dest": "page_size", "flags": ["--page-size"], "type": "int", "default": None},
        {"dest": "algorithm", "flags": ["--algorithm"], "default": None},
        {
            "dest": "backend",
            "flags": ["--backend"],
            "choices": ["fa3", "triton", "flashinfer"],
            "default": None,
        },
        {
            "dest": "decode",
            "flags": ["--decode"],
            "choices": ["fa3", "triton", "flashinfer"],
            "default": None,
        },
    ],
)
PREFERENCES = Preferences(
    frozenset({"page_size"}),
    {"backend": ("trtllm_mla", "flashinfer", "triton")},
    {"triton": "gpu.sm == 90"},
    (
        Keep("dcp_size", (1,), 40, 15, None, None, "keeps DCP {old}", "DCP goes", "DCP {old} becomes {new}"),
        Keep("algorithm", (None,), 40, 20, None, None, "keeps speculation ({old})", "speculation goes"),
        Keep("effective", change=3, kept="decode stays {old}", changed="decode moves from {old} to {new}"),
    ),
)
RULES = """
facts:
  gpu.sm: {type: int}
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
    message: x
    remedies: [{edit: {algorithm: unset}}, {edit: {dcp_size: unset}}]
  - id: TOY003
    slug: independent
    title: t
    phase: first-decode
    level: error
    when: dcp_size > 1 and effective == "fa3"
    message: x
    remedies: [{edit: {decode: flashinfer}}, {edit: {decode: triton}}]
  - id: TOY004
    slug: next-wall
    title: t
    phase: silent
    level: error
    when: dcp_size > 1 and effective == "triton"
    message: x
  - id: TOY006
    slug: no-remedy
    title: t
    phase: resolve
    level: error
    when: effective == "trtllm_mla"
    message: x
  - id: TOY007
    slug: pages
    title: t
    phase: resolve
    level: error
    when: page_size == 3
    message: x
"""


def searched(rules, given, most=3, **facts):
    compiled = rules.compile(RULES)
    values = {**compiled.program.defaults, "gpu.sm": 100, **given, **facts}
    compiled.settle(values)
    evaluation = Evaluation(compiled, values, GRAMMAR.defaults)
    candidates = Candidates(evaluation, GRAMMAR, frozenset(given), PREFERENCES)
    search = Search(evaluation, candidates, Costs(PREFERENCES, evaluation.outcome()))
    return evaluation, search, search.run(most)


def tried(search):
    """Give the backends that the search would put in place of the line's own."""
    [hit] = search.evaluation.errors(search.before)
    edits = search.candidates.derived(hit, search.before)
    return [one["backend"] for one in edits if one.get("backend") not in {None, "unset"}]


def test_a_remedy_is_completed_until_the_whole_line_passes(rules):
    evaluation, _, found = searched(rules, {"dcp_size": 8, "algorithm": "EAGLE"})
    assert {"dcp_size": "unset"} in found
    assert {"algorithm": "unset", "decode": "flashinfer"} in found
    assert all(not evaluation.errors(evaluation.outcome(edits)) for edits in found)


def test_a_remedy_that_only_leads_to_the_next_wall_is_not_proposed(rules):
    _, _, found = searched(rules, {"dcp_size": 8})
    assert found[0] == {"decode": "flashinfer"}
    assert {"decode": "triton"} not in found


def test_what_keeps_more_comes_first_and_says_so(rules):
    evaluation, search, found = searched(rules, {"dcp_size": 8})
    assert (
        search.costs.words(evaluation.outcome(found[0])) == "keeps DCP 8; decode moves from fa3 to flashinfer"
    )
    assert search.costs.words(evaluation.outcome({"dcp_size": "unset"})) == "DCP goes; decode stays fa3"
    assert search.costs.words(evaluation.outcome({"dcp_size": 4, "decode": "fa3"})).startswith(
        "DCP 8 becomes 4"
    )


def test_a_rule_without_edits_is_mended_by_what_its_condition_reads(rules):
    _, _, found = searched(rules, {"decode": "trtllm_mla"})
    assert {"decode": "unset"} in found


def test_values_are_tried_only_where_they_are_at_home_and_known_to_the_version(rules):
    _, search, _ = searched(rules, {"backend": "trtllm_mla"})
    assert tried(search) == ["flashinfer"]
    _, search, _ = searched(rules, {"backend": "trtllm_mla"}, **{"gpu.sm": 90})
    assert tried(search) == ["flashinfer", "triton"]


def test_fixed_arguments_are_left_alone(rules):
    _, search, found = searched(rules, {"page_size": 3, "dcp_size": 1})
    assert found == []
    assert search.spent <= 400


def test_no_more_changes_than_allowed(rules):
    assert searched(rules, {"dcp_size": 8, "algorithm": "EAGLE"}, most=1)[2] == [{"dcp_size": "unset"}]
    assert searched(rules, {"dcp_size": 8, "algorithm": "EAGLE"}, most=0)[2] == []


@pytest.mark.parametrize("version", recorded_versions("sglang"))
def test_the_shipped_preferences_name_facts_and_arguments_of_every_version(version):
    program = load_program("sglang", version).program
    scope, known = program.scope(), preferences("sglang")
    every = {
        option["dest"]
        for one in recorded_versions("sglang")
        for option in load_json("sglang", "flags", f"{one}.json")["options"]
    }
    assert set(known.levers) <= every
    variables = {name for name in program.declarations if name.startswith("env.")}
    assert known.fixed <= every | variables
    assert set(known.companions) | {one for some in known.companions.values() for one in some} <= every
    assert {keep.fact for keep in known.keeps} <= set(program.declarations)
    for text in known.suits.values():
        check(text, scope)


def test_every_value_to_try_is_a_choice_of_some_version():
    choices = {}
    for version in recorded_versions("sglang"):
        for option in Grammar.load("sglang", version).options.values():
            choices.setdefault(option.dest, set()).update(option.choices or [None])
    for dest, values in preferences("sglang").levers.items():
        assert None in choices[dest] or set(values) <= choices[dest], dest
