from __future__ import annotations

import pytest

from mlacheck.probes.catalogue import load_catalogue
from mlacheck.probes.dimensions import dimension_problems

NAMED: dict[str, object] = {"architectures": ["SomeForCausalLM"], "model_type": "some"}
CONFIG: dict[str, object] = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32}


def messages(config: dict[str, object]) -> list[str]:
    problems = dimension_problems({**NAMED, **config}, "c.json")
    return [problem.message.removeprefix("c.json: ") for problem in problems]


@pytest.mark.parametrize("name", sorted(CONFIG))
def test_what_the_engine_reads_must_be_there(name: str) -> None:
    without = {key: value for key, value in CONFIG.items() if key != name}
    assert messages(without) == [f"`{name}` is missing, and the engine reads it"]
    assert messages({**without, "text_config": {name: 8}}) == []


@pytest.mark.parametrize("value", [0, -1, "32", 1.5, True, [], {}, 10**30, float("inf")])
def test_nonsense_numbers_are_named(value: object) -> None:
    (message,) = messages({**CONFIG, "num_attention_heads": value})
    assert message.startswith("`num_attention_heads` is ")
    assert message.endswith(", not a whole number from 1")


@pytest.mark.parametrize("value", [1, 128.0, 2**20])
def test_whole_numbers_pass(value: object) -> None:
    assert messages({**CONFIG, "num_attention_heads": value, "kv_lora_rank": None}) == []


def test_some_dimensions_may_be_zero() -> None:
    assert messages({**CONFIG, "qk_rope_head_dim": 0}) == []
    assert messages({**CONFIG, "qk_rope_head_dim": -64}) == [
        "`qk_rope_head_dim` is -64, not a whole number from 0"
    ]


def test_the_language_model_of_a_multimodal_config_counts() -> None:
    config = {**CONFIG, "text_config": {"kv_lora_rank": -1}}
    assert messages(config) == ["`kv_lora_rank` is -1, not a whole number from 1"]


def test_old_names_of_dimensions_are_known() -> None:
    assert messages({"n_embd": 768, "n_head": 12, "n_layer": 12}) == []


def test_a_long_value_is_cut() -> None:
    (message,) = messages({**CONFIG, "vocab_size": "9" * 500})
    assert len(message) < 100


def test_every_model_of_the_catalogue_has_sound_dimensions() -> None:
    for name, entry in load_catalogue()["models"].items():
        assert not dimension_problems(entry["config"], name)


@pytest.mark.parametrize("name", sorted(NAMED))
@pytest.mark.parametrize("value", [None, [], ""])
def test_a_model_must_be_named(name: str, value: object) -> None:
    assert messages({**CONFIG, name: value}) == [f"`{name}` is missing, and the engine reads it"]


@pytest.mark.parametrize("value", ["fp8", {}, ["fp8"], 8])
def test_a_quantization_is_an_object(value: object) -> None:
    (message,) = messages({**CONFIG, "quantization_config": value})
    assert message.startswith("`quantization_config` is ")


LATENT: dict[str, object] = {
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}


@pytest.mark.parametrize("name", sorted(LATENT))
def test_dimensions_that_come_together_are_all_due(name: str) -> None:
    rest = {key: value for key, value in LATENT.items() if key != name}
    assert messages({**CONFIG, **LATENT}) == []
    assert messages({**CONFIG, **rest}) == [f"`{name}` is missing, and the engine reads it"]
    assert messages({**CONFIG, name: LATENT[name]}) == []
    assert messages({**CONFIG, "text_config": LATENT}) == []
