"""CUDA graphs: a kernel captured once and replayed with other lengths and page tables, as engines run it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode.backend import Backend, Decoded
    from mlacheck.decode.pages import Shard


class Staged(Protocol):
    """A kernel whose inputs and metadata stand at fixed addresses."""

    def stage(self, shard: Shard) -> None:
        """Put a shard there and do what the engine does before each replay."""

    def launch(self) -> Decoded:
        """Only launch kernels: nothing that waits for the GPU, or reads a length on the host."""


# By the adapter's class: module and class here.
_FORMS: Final = {
    "Plain": ("plain", "StagedPlain"),
    "FlashInfer": ("flashinfer", "StagedFlashInfer"),
    "FlashMla": ("flashmla", "StagedFlashMla"),
    "VllmFlashMla": ("vllm", "StagedVllmFlashMla"),
    "VllmFa3": ("vllm", "StagedVllmFa3"),
    "VllmTriton": ("vllm", "StagedVllmTriton"),
}


def staged_form(backend: Backend, shards: Sequence[Shard]) -> Staged | None:
    """Make a kernel's graph form with room for each of the shards; None where nobody wrote one."""
    for cls in type(backend).__mro__:
        if cls.__name__ in _FORMS:
            module, name = _FORMS[cls.__name__]
            form = getattr(import_module(f"mlacheck.decode.graphs.{module}"), name)
            staged: Staged = form(backend, shards)
            return staged
    return None
