from __future__ import annotations

import pytest

from mlacheck.facts import UNKNOWN
from mlacheck.probes.config import config_value, first_value, text_config

CONFIG: dict[str, object] = {
    "architectures": ["A", "B"],
    "kv_lora_rank": None,
    "rope_theta": 10000.0,
    "text_config": {"kv_lora_rank": 512, "flag": False, "layers": [1, 2]},
    "broken": "12",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("architectures.0", "A"),
        ("architectures.2", None),
        ("architectures.-1", None),
        ("architectures.x", None),
        ("text_config.kv_lora_rank", 512),
        ("text_config.flag", False),
        ("text_config.layers.1", 2),
        ("rope_theta.x", None),
        ("missing.deeper", None),
        ("", None),
    ],
)
def test_paths(path: str, expected: object) -> None:
    assert config_value(CONFIG, path) == expected


def test_the_first_value_that_is_there() -> None:
    assert first_value(CONFIG, ["kv_lora_rank", "text_config.kv_lora_rank"], "int") == 512
    assert first_value(CONFIG, ["text_config.flag"], "bool") is False
    assert first_value(CONFIG, ["nothing"], "int") is None


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("rope_theta", "int", 10000),
        ("rope_theta", "float", 10000.0),
        ("text_config.kv_lora_rank", "float", 512),
        ("architectures", "list", ["A", "B"]),
        ("architectures", "any", ["A", "B"]),
        ("broken", "str", "12"),
    ],
)
def test_types(path: str, kind: str, expected: object) -> None:
    assert first_value(CONFIG, [path], kind) == expected


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("broken", "int"),
        ("text_config.flag", "int"),
        ("text_config", "list"),
        ("rope_theta", "str"),
        ("architectures", "bool"),
    ],
)
def test_a_value_of_another_type_is_unknown(path: str, kind: str) -> None:
    assert first_value(CONFIG, [path], kind) is UNKNOWN


def test_the_language_part() -> None:
    inner = {"num_attention_heads": 4}
    assert text_config({"text_config": inner}) is inner
    assert text_config({"text_config": {}, "llm_config": inner}) is inner
    assert text_config({"thinker_config": {"text_config": inner}, "llm_config": {}}) is inner
    assert text_config({"thinker_config": inner}) is inner
    assert text_config(inner) is inner
    llava = {"architectures": ["LlavaLlamaForCausalLM"], "text_config": inner}
    assert text_config(llava) is llava
