from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlacheck.engines.conversion import ConversionError
from mlacheck.engines.converter import converters

DETAILS = {
    "parse_cuda_graph_config_arg": {"phases": {"decode": ["backend", "bs"], "prefill": ["bs"]}},
    "parse_cuda_graph_backend_arg": {"retired": {"old": "old was removed"}},
}
PLAIN = converters({})
DETAILED = converters(DETAILS)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8192", 8192),
        (" 7 ", 7),
        ("1_000", 1000),
        ("-3", -3),
        ("8k", 8000),
        ("8M", 8_000_000),
        ("2G", 2_000_000_000),
        ("1T", 10**12),
        ("1.5M", 1_500_000),
        ("1.0005k", 1000),
        ("0.1k", 100),
        ("8Ki", 8192),
        ("1Mi", 1 << 20),
        ("1Gi", 1 << 30),
        ("1Ti", 1 << 40),
        (" 8k ", 8000),
    ],
)
def test_a_number_of_tokens_may_have_a_unit(text, number):
    assert PLAIN["human_readable_int"](text) == number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("8K", "human-int"),
        ("8 k", "human-int"),
        ("k", "human-int"),
        ("", "human-int"),
        ("1.5", "human-int"),
        ("1e3", "human-int"),
        ("1.5Ki", "human-decimals"),
    ],
)
def test_other_units_are_refused_in_the_types_own_words(text, reason):
    with pytest.raises(ConversionError) as caught:
        PLAIN["human_readable_int"](text)
    assert caught.value.reason == reason


@given(st.integers(0, 10**6), st.sampled_from(["k", "M", "G", "T"]))
def test_a_unit_multiplies_without_rounding(number, unit):
    power = {"k": 3, "M": 6, "G": 9, "T": 12}[unit]
    assert PLAIN["human_readable_int"](f"{number}{unit}") == number * 10**power
    assert PLAIN["human_readable_int"](f"{number}.25{unit}") == number * 10**power + 10**power // 4


@pytest.mark.parametrize(("text", "value"), [("", None), ("None", None), ("none", "none"), ("x", "x")])
def test_an_empty_text_is_none(text, value):
    assert PLAIN["nullable_str"](text) == value


def test_any_json_is_taken_but_only_strict_json_for_lists():
    assert PLAIN["json_list_type"]('{"a": [1]}') == {"a": [1]}
    assert PLAIN["loads"]("[NaN]")
    for text in ("[NaN]", "{", "x"):
        with pytest.raises(ConversionError):
            PLAIN["json_list_type"](text)
    with pytest.raises(ValueError):
        PLAIN["loads"]("{")


def test_a_retired_value_is_refused_with_what_the_engine_says():
    convert = DETAILED["parse_cuda_graph_backend_arg"]
    assert convert("full") == "full"
    with pytest.raises(ConversionError) as caught:
        convert("old")
    assert caught.value.parts == {"said": "old was removed"}
    assert PLAIN["parse_cuda_graph_backend_arg"]("old") == "old"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "graph-json"),
        ("[1]", "graph-object"),
        ('{"train": {}}', "graph-phase"),
        ('{"decode": 1}', "graph-settings"),
        ('{"decode": {"backend": "old"}}', "as-is"),
        ('{"prefill": {"backend": "full"}}', "graph-key"),
    ],
)
def test_settings_of_phases_are_checked(text, reason):
    with pytest.raises(ConversionError) as caught:
        DETAILED["parse_cuda_graph_config_arg"](text)
    assert caught.value.reason == reason


def test_good_settings_are_kept_and_a_version_without_details_takes_any_json():
    text = '{"decode": {"backend": "full", "bs": [1]}, "prefill": {}}'
    assert DETAILED["parse_cuda_graph_config_arg"](text)["decode"]["bs"] == [1]
    assert PLAIN["parse_cuda_graph_config_arg"]('{"train": 1}') == {"train": 1}
