from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mlacheck.engines import Grammar
from mlacheck.probes.engine import recorded_versions

RECORDED = sorted((Path(__file__).parents[2] / "conformance" / "recorded").glob("*.jsonl.gz"))
# Recorded messages are cut here.
CUT = 150


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name)
def test_recorded_lines_are_refused_by_the_parser_exactly_where_the_engine_refused_them(file):
    grammar = Grammar.load("sglang", file.name.removesuffix(".jsonl.gz"))
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert rows
    for row in rows:
        model = [] if row["model"] is None else ["--model-path", row["model"]]
        arguments = grammar.parse([*model, *row["args"]])
        refused = (row["stage"], row["exc_type"]) == ("parse", "SystemExit")
        assert bool(arguments.problems) == refused, row
        if arguments.problems:
            said = row["message"].partition("error: ")[2].rstrip()  # records have no blanks at the end
            ours = arguments.problems[0].engine_message.rstrip()
            assert ours.startswith(said) if len(row["message"]) > CUT else ours == said


def parse(*words, version="0.5.23", unknown=None):
    return Grammar.load("sglang", version).parse(["--model-path", "m", *words], unknown or {})


def kinds(arguments):
    return [(problem.kind, problem.token) for problem in arguments.problems]


def test_all_problems_are_reported_in_the_order_in_which_the_engine_meets_them():
    arguments = parse(
        "--tp-size", "x", "--dcp", "8", "--cp-size", "2", "--page-size", "--nope", "-1", "--", "z"
    )
    assert kinds(arguments) == [
        ("ambiguous-flag", "--dcp"),
        ("invalid-value", "x"),
        ("missing-value", "--page-size"),
        ("unknown-flag", "--cp-size"),
        ("unknown-flag", "--nope"),
    ]


def test_a_repeated_flag_counts_as_its_last():
    arguments = parse("--tp-size", "2", "--tensor-parallel-size=4", "--tp", "8")
    assert arguments.values["tp_size"] == 8
    given = arguments.given["tp_size"]
    assert (given.flag, given.canonical, given.index, given.end) == ("--tp", "--tp-size", 5, 7)
    assert given.spans == ((2, 4), (4, 5), (5, 7))


def test_several_values_end_at_the_next_flag():
    arguments = parse("--cuda-graph-bs-decode", "1", "2", "-3", "--tp-size", "2")
    assert arguments.values["cuda_graph_bs_decode"] == [1, 2, -3]
    assert arguments.given["cuda_graph_bs_decode"].spans == ((2, 6),)


@pytest.mark.parametrize("flag", ["-h", "--help", "-hh", "--hel"])
def test_help_ends_the_launch(flag):
    assert kinds(parse(flag)) == [("help", flag)]


def test_a_retired_flag_ends_the_launch_and_a_deprecated_one_does_not():
    retired = parse("--enable-expert-distribution-metrics", version="0.5.19")
    assert [problem.kind for problem in retired.problems] == ["retired-flag"]
    assert retired.problems[0].engine_message.startswith("--enable-expert-distribution-metrics ")
    assert not parse("--collect-tokens-histogram", version="0.5.19").problems


def test_a_flag_that_stores_for_another_stores_its_value():
    arguments = parse("--disable-piecewise-cuda-graph", version="0.5.19")
    assert arguments.values["cuda_graph_backend_prefill"] == "disabled"
    assert parse("--monokernel-backend", "amd").values["enable_amd_monokernel"] is True
    assert kinds(parse("--monokernel-backend", "x")) == [("invalid-choice", "x")]


def test_an_option_is_given_as_it_is_best_written():
    grammar = Grammar.load("sglang", "0.5.19")
    assert grammar.option("dsa_prefill_backend").flag == "--dsa-prefill-backend"
    assert grammar.option("cuda_graph_backend_prefill").flag == "--cuda-graph-backend-prefill"
    assert grammar.option("dcp_replicate_q_proj").off == "--no-dcp-replicate-q-proj"
    wanted = {"trust_remote_code": "switch", "tp_size": "value", "cuda_graph_bs_decode": "multi"}
    assert {dest: grammar.option(dest).kind for dest in wanted} == wanted


def test_versions_are_listed_oldest_first():
    versions = recorded_versions("sglang")
    assert versions[0] == "0.5.15"
    assert "0.5.23" in versions


def test_a_flag_made_of_a_variable_is_left_alone():
    assert not parse("--$KIND-size", "8", unknown={2: ("KIND",)}).problems
    assert not parse("--tp-size=$TP", unknown={2: ("TP",)}).problems


def test_what_a_parse_gives_is_not_shared():
    first = parse("--tp-size", "8").values
    assert parse().values["tp_size"] == 1
    assert first["tp_size"] == 8
