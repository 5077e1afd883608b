from __future__ import annotations

from typing import Any

import pytest

from mlacheck.probes.catalogue import load_catalogue
from mlacheck.probes.weights import least_weights

MODELS: dict[str, Any] = load_catalogue()["models"]
# Its config says nothing of the FP8 that its files have.
UNSAID = {"mistralai/Mistral-Large-3-675B-Instruct-2512"}
DENSE: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 4,
    "vocab_size": 1000,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 4096,
    "hidden_act": "silu",
}
GIB = 1024**3


def config_of(key: str) -> dict[str, Any]:
    entry = MODELS[key]
    quant = {"hf_quant_config": entry["hf_quant_config"]} if "hf_quant_config" in entry else {}
    return {**entry["config"], **quant}


@pytest.mark.parametrize("key", [key for key in MODELS if MODELS[key].get("weights_gib")])
def test_what_a_config_tells_is_no_more_than_the_files_take(key: str) -> None:
    counted = least_weights(config_of(key), None)
    files = MODELS[key]["weights_gib"]
    known = least_weights(config_of(key), files)
    assert known is not None
    assert known.total <= files
    assert known.attention <= known.total
    if counted is not None and key not in UNSAID:
        assert counted.total <= files * 1.03  # sizes in the catalogue are rounded


def test_a_dense_model_is_counted() -> None:
    least = least_weights({**DENSE, "tie_word_embeddings": False}, None)
    assert least is not None
    attention = 4 * (2 * 1024 * 128 * 8 + 2 * 1024 * 128 * 2)
    mlp = 4 * 3 * 1024 * 4096
    assert least.attention == attention * 2 / GIB
    assert least.total == (attention + mlp + 2 * 1000 * 1024) * 2 / GIB


def test_tied_or_unsaid_heads_count_once() -> None:
    tied, unsaid = least_weights({**DENSE, "tie_word_embeddings": True}, None), least_weights(DENSE, None)
    assert tied == unsaid
    assert tied is not None


def test_latent_models_and_experts_are_counted() -> None:
    least = least_weights(config_of("deepseek-ai/DeepSeek-V3"), None)
    assert least is not None
    assert 0.95 < least.total / 641 < 1  # without the layer for further tokens


@pytest.mark.parametrize(
    "odd",
    [
        {"hidden_size": 0},
        {"hidden_size": "1024"},
        {"vocab_size": None},
        {"num_hidden_layers": float("inf")},
        {"num_hidden_layers": 10**400},
        {"quantization_config": {"quant_method": "something new"}},
        {"quantization_config": {"bits": 3}},
    ],
)
def test_nothing_is_claimed_of_what_is_not_known(odd: dict[str, Any]) -> None:
    assert least_weights({**DENSE, **odd}, None) is None


@pytest.mark.parametrize(
    "odd",
    [
        {"intermediate_size": [4096, 2048]},
        {"num_experts": [8, 4]},
        {"num_experts": 8},
        {"layer_types": ["linear_attention", "full_attention"]},
        {"block_configs": []},
        {"num_attention_heads": None},
        {
            "moe_layer_freq": [0, 1],
            "num_experts": 8,
            "moe_intermediate_size": 512,
            "first_k_dense_replace": 1,
        },
    ],
)
def test_parts_of_unknown_shape_count_nothing(odd: dict[str, Any]) -> None:
    whole, part = least_weights(DENSE, None), least_weights({**DENSE, **odd}, None)
    assert whole is not None
    assert part is not None
    assert part.total < whole.total


def test_quantization_and_wide_files_shrink() -> None:
    plain = least_weights(DENSE, None)
    four = least_weights({**DENSE, "quantization_config": {"quant_method": "AWQ"}}, None)
    assert plain is not None
    assert four is not None
    assert four.total == plain.total / 4
    wide = least_weights({**DENSE, "torch_dtype": "float32"}, 10.0)
    assert wide is not None
    assert wide.total == 5.0


def test_layers_for_further_tokens_are_taken_off() -> None:
    least = least_weights({**DENSE, "num_nextn_predict_layers": 1}, 11.0)
    assert least is not None
    assert least.total == pytest.approx(11.0 * 4 / 5.5)
