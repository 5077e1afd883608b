"""How much memory a model's weights take at the least, from its files or from its config; pure arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import frozen
from mlacheck.probes.config import config_value, first_value, text_config

if TYPE_CHECKING:
    from collections.abc import Mapping

_GIB: Final = 1024**3
# A layer that predicts further tokens has an embedding and a head beside it, at most so many layers in all.
_EXTRA_LAYER: Final = 1.5
# Bits of a weight by quantization method; what is not named here may be of any width.
_BITS: Final = {
    "awq": 4, "gptq": 2, "mxfp4": 4, "compressed-tensors": 4, "modelopt": 4, "modelopt_fp4": 4,
    "modelopt_fp8": 8, "modelopt_mixed": 4, "fp8": 8, "fbgemm_fp8": 8, "w8a8_fp8": 8, "w8a8_int8": 8,
    "mxfp8": 8, "quark": 4, "w4afp8": 4, "bitsandbytes": 4, "auto-round": 2,
}  # fmt: skip
_WIDE: Final = 16  # also where the files hold float32: the engine casts it down
# Gated MLPs have three matrices, others two.
_GATED: Final = ("silu", "swiglu", "swish", "gelu_pytorch_tanh")
_EXPERTS: Final = ("n_routed_experts", "num_experts", "num_local_experts")
# Every layer has experts; `intermediate_size` is the width of one where there is no `moe_intermediate_size`.
_ALL_EXPERTS: Final = ("mixtral", "gpt_oss", "minimax_m2", "qwen3_moe", "qwen3_vl_moe_text")
_MIXERS: Final = (
    "linear_attn_config", "hybrid_override_pattern", "layers_block_type", "block_configs", "attn_type_list",
)  # fmt: skip
# Attention of other shapes than grouped queries, where there is no latent rank.
_OWN_ATTENTION: Final = ("q_lora_rank", "o_lora_rank", "swa_head_dim", "num_attention_groups")


@frozen
class Weights:
    """Lower bounds in GiB: of all weights, and of attention's, which the GPUs may hold in copies."""

    total: float
    attention: float


def least_weights(config: Mapping[str, Any], files_gib: float | None) -> Weights | None:
    """Bound the weights from below; `files_gib` is what the checkpoint's files take, where that is known."""
    counted = _parameters(config)
    bits = _bits(config)
    if files_gib is None:
        if counted is None or bits is None:
            return None
        return Weights(*(count * bits / 8 / _GIB for count in counted))
    total = files_gib * _served_share(config) * (0.5 if _is_float32(config) else 1)
    if counted is None or bits is None or not counted[0]:
        return Weights(total, 0.0)
    # Should the files take less than the count says, attention takes less too.
    gib = bits / 8 / _GIB
    return Weights(total, min(counted[1] * gib, total * counted[1] / counted[0]))


def _served_share(config: Mapping[str, Any]) -> float:
    """Give the part of the files that is not layers for further tokens, which a plain run does not load."""
    text = text_config(config)
    extra = _count(text, "num_nextn_predict_layers") or _count(text, "mtp_num_hidden_layers") or 0
    layers = _count(text, "num_hidden_layers") or _count(text, "num_layers")
    return 1.0 if not extra or not layers else layers / (layers + _EXTRA_LAYER * extra)


def _parameters(config: Mapping[str, Any]) -> tuple[int, int] | None:
    """Count the weights that are certain from the config: all, and those of attention."""
    text = text_config(config)
    hidden, vocabulary = _count(text, "hidden_size"), _count(text, "vocab_size")
    layers = _count(text, "num_hidden_layers") or _count(text, "num_layers")
    if hidden is None or vocabulary is None or layers is None:
        return None
    attention = 0 if _is_mixed(text) else layers * _attention(text, hidden)
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings", True)) is not False
    total = attention + _mlp(text, hidden, layers) + vocabulary * hidden * (1 if tied else 2)
    return total, attention


def _is_mixed(text: Mapping[str, Any]) -> bool:
    """Tell whether some layers have something else than softmax attention, which is not counted."""
    types = text.get("layer_types")
    others = types if isinstance(types, list) else []
    return any("attention" not in str(one) or "linear" in str(one) for one in others) or any(
        text.get(name) is not None for name in _MIXERS
    )


def _attention(text: Mapping[str, Any], hidden: int) -> int:
    heads = _count(text, "num_attention_heads")
    if heads is None:
        return 0
    latent = _count(text, "kv_lora_rank")
    if latent is not None:
        nope, value = _count(text, "qk_nope_head_dim"), _count(text, "v_head_dim")
        if nope is None or value is None:
            return 0
        rope = _count(text, "qk_rope_head_dim") or 0
        low = _count(text, "q_lora_rank")
        query = hidden * heads * (nope + rope) if low is None else low * (hidden + heads * (nope + rope))
        return query + hidden * (latent + rope) + latent * heads * (nope + value) + heads * value * hidden
    if any(text.get(name) is not None for name in _OWN_ATTENTION):
        return 0
    width = _count(text, "head_dim") or hidden // heads
    shared = _count(text, "num_key_value_heads") or 1
    return 2 * hidden * width * heads + 2 * hidden * width * min(shared, heads)


def _mlp(text: Mapping[str, Any], hidden: int, layers: int) -> int:
    """Count the feed-forward layers whose kind is certain."""
    if any(text.get(name) is not None for name in _MIXERS):
        return 0
    matrices = 3 if text.get("hidden_act", text.get("hidden_activation")) in _GATED else 2
    experts = next((text[name] for name in _EXPERTS if text.get(name) is not None), None)
    dense = _count(text, "intermediate_size")
    if experts is None:
        return layers * matrices * hidden * dense if dense is not None else 0
    number = next((found for name in _EXPERTS if (found := _count(text, name)) is not None), None)
    everywhere = text.get("model_type") in _ALL_EXPERTS
    width = _count(text, "moe_intermediate_size") or (dense if everywhere else None)
    first = _count(text, "first_k_dense_replace")
    if number is None or width is None or (first is None and not everywhere):
        return 0
    if text.get("mlp_only_layers") or any(
        text.get(name, 1) != 1 for name in ("decoder_sparse_step", "moe_layer_freq")
    ):
        return 0
    sparse = max(layers - (first or 0), 0)
    return sparse * (hidden * number + number * matrices * hidden * width)


def _bits(config: Mapping[str, Any]) -> int | None:
    """Give the fewest bits that a weight of a matrix may have."""
    method = first_value(
        config, ("quantization_config.quant_method", "text_config.quantization_config.quant_method"), "str"
    )
    if config.get("hf_quant_config") is not None:
        return 4
    if method is None:
        return _WIDE if first_value(config, ("quantization_config", "compression_config")) is None else None
    return _BITS.get(str(method).lower())


def _is_float32(config: Mapping[str, Any]) -> bool:
    return "float32" in (
        config_value(part, name)
        for part in (config, text_config(config))
        for name in ("torch_dtype", "dtype")
    )


def _count(text: Mapping[str, Any], name: str) -> int | None:
    value = text.get(name)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < 2**31 else None
