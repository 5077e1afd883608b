from __future__ import annotations

import pytest

from mlacheck.engines import Grammar


def read(flag, value, version="0.5.23"):
    grammar = Grammar.load("sglang", version)
    arguments = grammar.parse(["--model-path", "m", flag, value])
    said = [problem.engine_message for problem in arguments.problems]
    return said or arguments.values[grammar.flags[flag].dest]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8192", 8192),
        ("8k", 8000),
        ("8Ki", 8192),
        ("1.5M", 1_500_000),
        ("1.2345k", 1234),
        (" 2T ", 2 * 10**12),
        ("1_000", 1000),
    ],
)
def test_a_number_may_have_a_unit(text, value):
    assert read("--context-length", text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8K", "Invalid integer value: '8K'. "),
        ("8.5", "Invalid integer value: '8.5'. "),
        ("1.5Ki", "Decimals are not allowed with IEC suffixes like 'Ki'. "),
    ],
)
def test_a_number_is_refused_in_the_engines_words(text, said):
    [message] = read("--context-length", text)
    assert message.startswith(f"argument --context-length: {said}")


def test_json_is_read_and_refused():
    assert read("--preferred-sampling-params", '{"a": 1}') == {"a": 1}
    assert read("--preferred-sampling-params", "{") == [
        "argument --preferred-sampling-params: invalid loads value: '{'"
    ]
    assert read("--sidecar-args", "[1]") == [1]
    [message] = read("--sidecar-args", "[NaN]")
    assert message.startswith("argument --sidecar-args: Invalid JSON list: [NaN].")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "must be JSON: "),
        ("[1]", "must be a JSON object, got list"),
        ('{"x": {}}', "unknown phase 'x'"),
        ('{"decode": 1}', "['decode'] must be a JSON object, got int"),
        ('{"decode": {"nope": 1}}', "['decode']: unknown key 'nope'"),
        ('{"prefill": {"backend": "tc_piecewise"}}', "tc_piecewise was removed"),
    ],
)
def test_a_graph_config_is_refused_where_it_is_wrong(text, said):
    [message] = read("--cuda-graph-config", text)
    assert message.startswith("argument --cuda-graph-config: ")
    assert said in message


def test_a_graph_config_is_read():
    assert read("--cuda-graph-config", '{"decode": {"bs": [1]}}') == {"decode": {"bs": [1]}}
    assert read("--cuda-graph-backend-prefill", "breakable") == "breakable"


def test_adapters_are_paths_or_objects():
    assert read("--lora-paths", "a=b") == ["a=b"]
    assert read("--lora-paths", '{"lora_name": "a", "lora_path": "b"}') == [
        {"lora_name": "a", "lora_path": "b"}
    ]
    for wrong in ('{"lora_name": "a"}', "{nope}"):
        [message] = read("--lora-paths", wrong)
        assert not message.startswith("argument")  # the engine dies of a traceback here
