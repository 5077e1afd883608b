"""Dimensions of a model's config that no checkpoint can have: missing, zero, negative, not numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.probes.config import ConfigProblem, text_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What every language model has, and the other names that configs give it.
_NEEDED: Final = {
    "hidden_size": ("n_embd", "d_model", "model_dim"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
    "num_hidden_layers": (
        "n_layer", "n_layers", "num_layers", "layers_block_type", "hybrid_override_pattern",
    ),
}  # fmt: skip
_POSITIVE: Final = (
    *_NEEDED, "num_key_value_heads", "head_dim", "kv_lora_rank", "q_lora_rank", "vocab_size",
    "max_position_embeddings", "intermediate_size",
)  # fmt: skip
_NOT_NEGATIVE: Final = (
    "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_topk", "num_nextn_predict_layers",
)  # fmt: skip
# Keys that only come together: two of a group make the rest of it due.
_TOGETHER: Final = (
    ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"),
    ("index_topk", "index_head_dim", "index_n_heads"),
)
_HINT: Final = "correct the config, or name the right one with --model"


def dimension_problems(config: Mapping[str, object], where: str) -> tuple[ConfigProblem, ...]:
    """Tell which dimensions the engine would trip over."""
    return tuple(ConfigProblem("odd-config", f"{where}: {message}", _HINT) for message in _messages(config))


def _messages(config: Mapping[str, object]) -> Iterator[str]:
    text = text_config(config)
    for name in ("architectures", "model_type"):
        if not config.get(name):
            yield f"`{name}` is missing, and the engine reads it"
    quantization = config.get("quantization_config")
    if quantization is not None and not (isinstance(quantization, dict) and quantization):
        yield f"`quantization_config` is {_shown(quantization)}, not an object that names a method"
    for group in _TOGETHER:
        absent = [name for name in group if text.get(name, config.get(name)) is None]
        if len(group) - len(absent) >= 2:
            yield from (f"`{name}` is missing, and the engine reads it" for name in absent)
    for name, others in _NEEDED.items():
        if all(part.get(one) is None for part in (config, text) for one in (name, *others)):
            yield f"`{name}` is missing, and the engine reads it"
    for least, names in ((1, _POSITIVE), (0, _NOT_NEGATIVE)):
        for name in names:
            value = text.get(name, config.get(name))
            if value is not None and not _is_count(value, least):
                yield f"`{name}` is {_shown(value)}, not a whole number from {least}"


def _is_count(value: object, least: int) -> bool:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**31


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
