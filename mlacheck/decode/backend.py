"""What a decode kernel must offer to be checked, and the adapters that there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem
    from mlacheck.decode.requirements import Gpu, Requirements


@dataclass(frozen=True, slots=True)
class Traits:
    """What a kernel can be asked for; it is held to that and to nothing else."""

    lse_base: str | None  # the base that the kernel documents, "e" or "2"; None: it gives no LSE
    cyclic: bool = False  # it takes the global causal bound of cyclic shards
    fp8_queries: bool = False  # with an FP8 cache the queries are FP8 too
    scales: str = "none"  # FP8 scales that its call takes: none, one, or separate (latent and rope)
    lse_bits: int = 32  # the precision in which it gives the LSE


@dataclass(frozen=True, slots=True)
class Call:
    """One call into a kernel library; `function` is `package:path` as `rules/*/signatures` name it."""

    function: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A kernel's result for one shard; `lse_base` is the base that the kernel documents."""

    out: torch.Tensor  # [batch, q_len, heads, latent]
    lse: torch.Tensor | None  # [batch, q_len, heads]
    lse_base: str | None


class Backend(Protocol):
    """One adapter: a thin translation from `Shard` to a kernel call, without corrections of its own."""

    name: str
    requirements: Requirements
    traits: Traits
    builds: str  # what the first call compiles and for how long; empty: nothing

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:
        """Say why the kernel cannot take the problem on this device, or None."""

    def calls(self, shard: Shard) -> tuple[Call, ...]:
        """Give the calls that decode one shard, for a comparison with the library's signatures."""

    def decode(self, shard: Shard) -> Decoded:
        """Decode one rank's shard."""


# Adapter by name: module, class and options. Imported only in the child process.
_ADAPTERS: Final = {
    "reference": ("plain", "Plain", {}),
    "flashinfer": ("flashinfer", "FlashInfer", {"variant": "auto"}),
    "flashinfer-fa2": ("flashinfer", "FlashInfer", {"variant": "fa2"}),
    "flashinfer-fa3": ("flashinfer", "FlashInfer", {"variant": "fa3"}),
    "flashmla": ("flashmla", "FlashMla", {}),
    "trtllm_mla": ("trtllm", "TrtllmMla", {}),
    "cutedsl_mla": ("trtllm", "CuteDslMla", {}),
    "tokenspeed_mla": ("tokenspeed", "TokenSpeedMla", {}),
    "fa3": ("fa3", "Fa3", {}),
    "triton": ("triton", "Triton", {}),
    "vllm-flashmla": ("vllm_flashmla", "VllmFlashMla", {}),
    "vllm-fa3": ("vllm_fa3", "VllmFa3", {}),
    "vllm-triton": ("vllm_triton", "VllmTriton", {}),
    "vllm-cutlass": ("vllm_cutlass", "VllmCutlass", {}),
}
BACKENDS: Final = tuple(_ADAPTERS)
# Adapters that are no engine's kernel.
NO_KERNEL: Final = {
    "reference": "an engine's kernel: reference is plain torch, and shows what a right one passes"
}
# Kernels that no adapter covers, each with the reason.
NOT_COVERED: Final = dict.fromkeys(
    ("dsa", "nsa"), "sparse attention (DSA) is not covered: only dense MLA decode is checked"
)


def load_backend(name: str, options: Mapping[str, Any] | None = None) -> Backend:
    """Make an adapter; importing it imports no kernel library yet.

    `options` are what an engine version calls its kernel with or without, from `rules/decode`.
    """
    module, cls, fixed = _ADAPTERS[name]
    made = getattr(import_module(f"mlacheck.decode.backends.{module}"), cls)
    backend: Backend = made(**{**fixed, **(options or {})})
    return backend
