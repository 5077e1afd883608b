from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mlacheck.probes.catalogue import Models, by_id, index_of, load_catalogue
from mlacheck.probes.config import first_value, shape_problem, text_config
from mlacheck.probes.model import ModelConfig, find_model

if TYPE_CHECKING:
    from pathlib import Path

CATALOGUE = load_catalogue()
MODELS: dict[str, Any] = CATALOGUE["models"]


@pytest.mark.parametrize("key", MODELS)
def test_every_entry_is_complete(key: str) -> None:
    entry = MODELS[key]
    config = entry["config"]
    assert entry["certainty"] in {"published", "recalled", "plausible"}
    assert len(entry["source"]) > 10
    assert shape_problem(config, key) is None
    assert config["architectures"]
    assert isinstance(config["model_type"], str)
    text = text_config(config)
    for name in ("hidden_size", "num_attention_heads", "vocab_size"):
        assert isinstance(text[name], int), name
    blocks = len(text.get("layers_block_type", ())) or None
    assert isinstance(text.get("num_hidden_layers", text.get("num_layers", blocks)), int)
    if text.get("kv_lora_rank") is not None:
        for name in ("kv_lora_rank", "qk_nope_head_dim", "v_head_dim"):
            assert isinstance(first_value(text, [name], "int"), int), name
    for name in ("layer_types", "indexer_types", "mlp_layer_types"):
        assert len(text.get(name, [0] * text.get("num_hidden_layers", 0))) == text.get(
            "num_hidden_layers", 0
        ), name
    weights = entry.get("weights_gib")
    assert weights is None or 0 < weights < 4000
    unlisted = {draft.lower() for draft in entry.get("drafts", ())} - set(CATALOGUE["index"])
    assert not unlisted


def test_the_catalogue_is_plain_json() -> None:
    plain = {**CATALOGUE, "models": dict(MODELS)}
    assert json.loads(json.dumps(plain)) == plain


def test_every_spelling_names_a_model() -> None:
    assert set(CATALOGUE["index"].values()) == set(MODELS)
    assert all(spelling == spelling.lower() for spelling in CATALOGUE["index"])


@pytest.mark.parametrize(
    ("ref", "architecture", "latent", "heads"),
    [
        ("deepseek-ai/DeepSeek-V3", "DeepseekV3ForCausalLM", 512, 128),
        ("deepseek-r1-0528", "DeepseekV3ForCausalLM", 512, 128),
        ("DEEPSEEK-AI/deepseek-v3.2-exp", "DeepseekV32ForCausalLM", 512, 128),
        ("deepseek-v2-lite", "DeepseekV2ForCausalLM", 512, 16),
        ("kimi-k3", "KimiK3ForConditionalGeneration", 512, 96),
        ("moonshotai/Kimi-K2.5", "KimiK25ForConditionalGeneration", 512, 64),
        ("zai-org/GLM-5.2-FP8", "GlmMoeDsaForCausalLM", 512, 64),
        ("openbmb/MiniCPM3-4B", "MiniCPM3ForCausalLM", 256, 40),
        ("Qwen/Qwen3-8B", "Qwen3ForCausalLM", None, 32),
    ],
)
def test_known_models(tmp_path: Path, ref: str, architecture: str, latent: int | None, heads: int) -> None:
    model = find_model(ref, hf_home=tmp_path)
    assert isinstance(model, ModelConfig)
    assert first_value(model.config, ["architectures.0"], "str") == architecture
    text = text_config(model.config)
    assert first_value(text, ["kv_lora_rank"], "int") == latent
    assert first_value(text, ["num_attention_heads"], "int") == heads


def test_lists_are_written_out() -> None:
    types = MODELS["zai-org/GLM-5.2"]["config"]["indexer_types"]
    assert types[:8] == ["full", "full", "full", "shared", "shared", "shared", "full", "shared"]
    assert len(types) == 78


def built(files: dict[str, Any]) -> dict[str, Any]:
    names = index_of(files)
    models = Models(names["files"], lambda file: by_id(files[file]))
    return {"models": dict(models), "index": names["index"]}


def row(key: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "source": "s", "certainty": "recalled", **more}


def test_like_overlays_and_drops() -> None:
    files = {
        "a.yaml": {"models": [row("o/a", config={"x": 1, "y": 2, "z": {"k": 1}})]},
        "b.yaml": {"models": [row("o/b", like="o/a", without=["y"], config={"z": 3}, aliases=["B"])]},
    }
    catalogue = built(files)
    assert catalogue["models"]["o/b"]["config"] == {"x": 1, "z": 3}
    assert catalogue["models"]["o/b"]["file"] == "rules/models/b.yaml"
    assert catalogue["index"] == {"o/a": "o/a", "o/b": "o/b", "b": "o/b"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row("o/a", config={}), row("o/a", config={})], "o/a stands twice"),
        ([row("o/a", aliases=["x"]), row("o/b", aliases=["X"])], "X names both o/a and o/b"),
        ([row("o/a", like="o/none")], "o/a is like o/none"),
        ([row("o/a", like="o/b"), row("o/b", like="o/a")], "no other entry"),
        ([row("o/a", like="o/a")], "no other entry"),
    ],
)
def test_faults_are_named(rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        built({"m.yaml": {"models": rows}})


def assumption(ref: str) -> str | None:
    found = find_model(ref)
    assert isinstance(found, ModelConfig)
    return found.assumption


def test_a_model_that_stands_in_for_another_is_named() -> None:
    said = assumption("Qwen/Qwen3-30B-A3B-Thinking-2507")
    assert (
        said == "Qwen/Qwen3-30B-A3B-Thinking-2507 is judged by the config of Qwen/Qwen3-30B-A3B-Instruct-2507"
    )
    assert assumption("deepseek-v3") is None
    assert assumption("deepseek-ai/DeepSeek-V3/") is None


def test_a_config_that_was_not_read_says_so() -> None:
    said = assumption("Qwen/Qwen3.5-9B")
    assert said is not None
    assert said.startswith("the config of Qwen/Qwen3.5-9B is derived, not read (")
