"""One decode problem: what a kernel is handed for one layer of one model under one parallel layout."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

KV_BYTES: Final = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
# Spellings that engines and model configs use.
_DTYPES: Final = {
    "float32": "fp32", "float": "fp32", "fp32": "fp32",
    "bfloat16": "bf16", "bf16": "bf16",
    "float16": "fp16", "half": "fp16", "fp16": "fp16",
    "fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "float8_e4m3fn": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2", "float8_e5m2": "fp8_e5m2",
}  # fmt: skip
# Lengths that cross page and split boundaries; the short ones show a token lost or gained.
_LENGTHS: Final = (1000, 65, 2500, 300)
# float64 work per second that a modest CPU, or any data-centre GPU, does in the reference.
_FLOPS: Final = {"cpu": 1e10, "cuda": 5e12}
_ELEMENTS_PER_BLOCK: Final = 8192
_MOST_NAMED: Final = 8


class ProblemError(ValueError):
    """The model config or the sizes describe no MLA decode problem; the message says what and where."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rough need of one whole check, before anything is allocated."""

    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DecodeProblem:
    """Sizes and conventions of one decode call; `heads` is what a kernel sees after the DCP gather."""

    heads: int
    latent_dim: int
    rope_dim: int
    softmax_scale: float
    page_size: int = 1
    kv_dtype: str = "bf16"
    q_len: int = 1
    dcp_size: int = 1
    interleave: int = 1  # tokens that go to one rank before the next one's turn
    context_lengths: tuple[int, ...] = _LENGTHS
    long_context: int | None = None
    device: str = "auto"
    seed: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("heads", "latent_dim", "page_size", "q_len", "dcp_size", "interleave"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.rope_dim < 0:
            raise ProblemError(f"rope_dim is {self.rope_dim}; it must not be negative")
        if not (math.isfinite(self.softmax_scale) and self.softmax_scale > 0):
            raise ProblemError(f"softmax_scale is {self.softmax_scale}; it must be a positive number")
        if self.kv_dtype not in KV_BYTES:
            raise ProblemError(f"kv_dtype is {self.kv_dtype!r}; known are {', '.join(KV_BYTES)}")
        if not self.context_lengths or min(self.context_lengths) < 1:
            raise ProblemError(f"context_lengths is {self.context_lengths}; each must be at least 1")

    @property
    def batch(self) -> int:
        """Count the requests decoded together."""
        return len(self.context_lengths)

    @property
    def even_lengths(self) -> tuple[int, ...]:
        """Give context lengths that fill whole rounds, so that all ranks hold as many tokens."""
        return tuple(-(n // -self.round_tokens) * self.round_tokens for n in self._lengths())

    @property
    def ragged_lengths(self) -> tuple[int, ...]:
        """Give context lengths that end within a round, and within a run, with different remainders."""
        if self.dcp_size == 1:
            return self._lengths()
        runs = (1 + index % (self.dcp_size - 1) for index in range(self.batch))
        return tuple(
            n // self.round_tokens * self.round_tokens + run * self.interleave - self.interleave // 2
            for n, run in zip(self._lengths(), runs, strict=True)
        )

    @property
    def short_lengths(self) -> tuple[int, ...]:
        """Give context lengths below one round, so that ranks hold no token, and one that is long."""
        runs = (max(self.dcp_size // 2, 1), max(self.dcp_size - 1, 1))
        shorts = dict.fromkeys((1, *(run * self.interleave for run in runs)))
        return (*shorts, self.round_tokens * 8 + 1)

    @property
    def round_tokens(self) -> int:
        """Count the tokens after which the first rank has its turn again."""
        return self.dcp_size * self.interleave

    @property
    def timed_lengths(self) -> tuple[int, ...]:
        """Give the context lengths whose decode is timed."""
        return (self.long_context,) if self.long_context else self.even_lengths

    def _lengths(self) -> tuple[int, ...]:
        return tuple(max(n, self.q_len, self.round_tokens) for n in self.context_lengths)

    def estimate(self, device: str = "cpu") -> Estimate:
        """Give the memory and time that a check needs, to an order of magnitude, without JIT builds."""
        longest = max(*self.even_lengths, self.long_context or 1) + self.round_tokens
        tokens = sum(self.even_lengths) + (self.long_context or 0)
        width = self.latent_dim + self.rope_dim
        rows = self.batch * self.q_len * self.heads
        cache = 3 * tokens * width * max(KV_BYTES[self.kv_dtype], 2)
        block = min(longest, _ELEMENTS_PER_BLOCK) * (width + 3 * self.q_len * self.heads) * 8
        results = rows * (2 * self.latent_dim + self.rope_dim) * 8 * (self.dcp_size + 2)
        # Rank by rank and whole, for about six sets of inputs.
        work = 2 * 6 * 2 * tokens * self.q_len * self.heads * (width + self.latent_dim)
        return Estimate(
            cache + block + results + 2**28, 1.0 + work / _FLOPS["cuda" if "cuda" in device else "cpu"]
        )

    @staticmethod
    def describe_lengths(lengths: tuple[int, ...]) -> str:
        """Say context lengths, each where they are few."""
        if len(lengths) <= _MOST_NAMED:
            return f"contexts {', '.join(map(str, lengths))}"
        return f"{len(lengths)} contexts of {min(lengths)} to {max(lengths)}"

    def describe(self) -> str:
        """Say the problem in one line."""
        long = f", then {self.long_context}" if self.long_context else ""
        runs = f" in runs of {self.interleave} tokens" if self.interleave > 1 else ""
        return (
            f"{self.heads} heads, latent {self.latent_dim} + rope {self.rope_dim}, "
            f"scale {self.softmax_scale:.6g}, "
            f"KV {self.kv_dtype} in pages of {self.page_size}, {self.q_len} query token(s), "
            f"DCP {self.dcp_size}{runs}, {self.describe_lengths(self.context_lengths)}{long}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        return {**asdict(self), "context_lengths": list(self.context_lengths), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DecodeProblem:
        """Read what `to_dict` gave."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ProblemError(f"unknown problem field {unknown[0]!r}; known are {', '.join(sorted(known))}")
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        try:
            return cls(**plain)
        except TypeError as error:
            raise ProblemError(f"incomplete problem: {error}") from None

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        *,
        tp_size: int = 1,
        dp_size: int = 1,
        dcp_size: int = 1,
        interleave: int = 1,
        page_size: int = 1,
        kv_cache_dtype: str = "auto",
        copied_kv: bool = False,
        q_len: int = 1,
        context_len: int | None = None,
        batch: int | None = None,
        device: str = "auto",
        seed: int = 0,
    ) -> DecodeProblem:
        """Build the problem that one layer of a model poses; `config` is the model's raw config.json.

        With `copied_kv` the engine copies the pool to the model's dtype before the kernel reads it.
        """
        text = _text_config(config)
        latent = _size(text, "kv_lora_rank")
        rope = (
            0
            if text.get("use_mla_nope") and "qk_rope_head_dim" not in text
            else _size(text, "qk_rope_head_dim")
        )
        heads = _size(text, "num_attention_heads")
        sizes = {"tp_size": tp_size, "dp_size": dp_size, "dcp_size": dcp_size, "interleave": interleave}
        for name, value in sizes.items():
            if value < 1:
                raise ProblemError(f"{name} is {value}; it must be at least 1")
        if tp_size % dp_size:
            raise ProblemError(f"tp_size {tp_size} is not a multiple of dp_size {dp_size}")
        attention_tp = tp_size // dp_size
        if attention_tp % dcp_size:
            raise ProblemError(
                f"attention TP (tp_size / dp_size = {attention_tp}) is not a multiple of dcp_size {dcp_size}"
                ": choose a dcp_size that divides it"
            )
        if heads % dcp_size:
            fit = ", ".join(str(size) for size in range(1, heads) if heads % size == 0)
            raise ProblemError(
                f"dcp_size {dcp_size} does not divide num_attention_heads {heads}, as its ranks must: "
                f"choose one of {fit}"
            )
        if heads % attention_tp:
            raise ProblemError(
                f"num_attention_heads {heads} is not a multiple of the attention TP size {attention_tp}: "
                "choose a tp_size that divides it"
            )
        lengths = tuple(_LENGTHS[index % len(_LENGTHS)] for index in range(batch or len(_LENGTHS)))
        if context_len is not None:
            lengths = tuple(min(n, context_len) for n in lengths)
        notes = []
        interleave = interleave if dcp_size > 1 else 1
        round_tokens = dcp_size * interleave
        if context_len is not None and context_len < round_tokens:
            empty = dcp_size + (context_len // -interleave)
            which = f"leave {empty} of {dcp_size} ranks empty" if empty else "do not fill the last rank's run"
            notes.append(
                f"contexts of {context_len} tokens {which}: "
                f"the row 'empty ranks' decodes such, the others take {round_tokens}"
            )
        kv_dtype = pool = _kv_dtype(kv_cache_dtype, config, text)
        if copied_kv and (kv_dtype := _model_dtype(text)) != pool:
            notes.append(f"the KV pool is {pool}; the kernel reads the engine's copy of it in {kv_dtype}")
        if text.get("index_topk"):
            notes.append(
                f"the model attends to {text['index_topk']} selected tokens; its dense form is decoded here"
            )
        return cls(
            heads=heads // attention_tp * dcp_size,
            latent_dim=latent,
            rope_dim=rope,
            softmax_scale=softmax_scale(text),
            page_size=page_size,
            kv_dtype=kv_dtype,
            q_len=q_len,
            dcp_size=dcp_size,
            interleave=interleave,
            context_lengths=lengths,
            long_context=context_len if context_len and context_len > max(lengths) else None,
            device=device,
            seed=seed,
            notes=tuple(notes),
        )

    def with_(self, **changes: Any) -> DecodeProblem:
        """Give a copy with some fields changed."""
        return replace(self, **changes)


def softmax_scale(text: Mapping[str, Any]) -> float:
    """Give 1 / sqrt(d_nope + d_rope), times the square of YaRN's mscale where the config asks for it."""
    scale = 1.0 / math.sqrt(_size(text, "qk_nope_head_dim") + int(text.get("qk_rope_head_dim") or 0))
    rope = text.get("rope_parameters") or text.get("rope_scaling") or {}
    kind = rope.get("rope_type") or rope.get("type")
    all_dim = rope.get("mscale_all_dim")
    if (
        kind == "default"
        or not all_dim
        or rope.get("apply_yarn_scaling") is False
        or rope.get("apply_scale") is False
    ):
        return scale
    factor = float(rope.get("factor", 1.0))
    mscale = 1.0 if factor <= 1 else 0.1 * float(all_dim) * math.log(factor) + 1.0
    return scale * mscale * mscale


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for nested in (config, config.get("text_config"), config.get("language_config")):
        if nested and nested.get("kv_lora_rank"):
            return cast("Mapping[str, Any]", nested)
    raise ProblemError(
        "the model config has no kv_lora_rank: the model does not use MLA, so there is no MLA decode to "
        "check; validate without --decode-check covers it"
    )


def _size(text: Mapping[str, Any], name: str) -> int:
    value = text.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ProblemError(f"the model config has {name} = {value!r}; a positive integer is needed")
    return value


def _kv_dtype(spelling: str, config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    if spelling == "auto":
        return "fp8_e4m3" if _declares_fp8_cache(config) or _declares_fp8_cache(text) else _model_dtype(text)
    return _dtype(spelling)


def _declares_fp8_cache(config: Mapping[str, Any]) -> bool:
    """Tell whether a checkpoint asks for an FP8 KV cache, which engines follow where the dtype is auto."""
    quantization = config.get("quantization_config") or {}
    beside = (config.get("hf_quant_config") or {}).get("quantization") or {}
    named = quantization.get("kv_cache_quant_algo") or beside.get("kv_cache_quant_algo")
    scheme = quantization.get("kv_cache_scheme")
    if not named and isinstance(scheme, dict) and "modelopt" in str(quantization.get("quant_method")):
        return bool(scheme.get("type") == "float" and scheme.get("num_bits") == 8)
    return isinstance(named, str) and named.upper() == "FP8"


def _model_dtype(text: Mapping[str, Any]) -> str:
    return _dtype(str(text.get("dtype") or text.get("torch_dtype") or "bfloat16"))


def _dtype(spelling: str) -> str:
    name = spelling.removeprefix("torch.")
    if name not in _DTYPES:
        raise ProblemError(
            f"no decode problem is known for KV cache dtype {name!r}; known are {', '.join(_DTYPES)}"
        )
    return _DTYPES[name]
