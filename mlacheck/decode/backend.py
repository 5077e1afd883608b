"""What a decode kernel must offer to be checked, and how its requirements are told from its faults."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Final, Protocol

from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    import torch

    from mlacheck.decode.pages import Shard
    from mlacheck.decode.problem import DecodeProblem


@dataclass(frozen=True, slots=True)
class Gpu:
    """The device that kernels run on here."""

    name: str
    sm: int


@dataclass(frozen=True, slots=True)
class Requirements:
    """What must be installed: a distribution, its least version, and parameters that a function must take."""

    distribution: str | None = None
    least_version: str | None = None
    function: str | None = None  # "module:attribute.path"
    parameters: tuple[str, ...] = ()
    least_sm: int | None = None
    install: str = "pip install 'mlacheck[gpu]'"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A kernel's result for one shard; `lse_base` is the base that the kernel documents, "e" or "2"."""

    out: torch.Tensor  # [batch, q_len, heads, latent]
    lse: torch.Tensor | None  # [batch, q_len, heads]
    lse_base: str | None


class Backend(Protocol):
    """One adapter: a thin translation from `Shard` to a kernel call, without corrections of its own."""

    name: str
    requirements: Requirements
    builds: bool  # the first call compiles

    def unsupported(self, problem: DecodeProblem, gpu: Gpu | None) -> str | None:
        """Say why the kernel cannot take the problem on this device, or None."""

    def decode(self, shard: Shard) -> Decoded:
        """Decode one rank's shard."""


# Adapter by name: module and class. Imported only in the child process.
_ADAPTERS: Final = {
    "reference": ("mlacheck.decode.backends.plain", "Plain", {}),
    "flashinfer": ("mlacheck.decode.backends.flashinfer", "FlashInfer", {"variant": "auto"}),
    "flashinfer-fa2": ("mlacheck.decode.backends.flashinfer", "FlashInfer", {"variant": "fa2"}),
    "flashinfer-fa3": ("mlacheck.decode.backends.flashinfer", "FlashInfer", {"variant": "fa3"}),
}
BACKENDS: Final = tuple(_ADAPTERS)


def load_backend(name: str) -> Backend:
    """Make an adapter; importing it imports no kernel library yet."""
    module, cls, options = _ADAPTERS[name]
    backend: Backend = getattr(import_module(module), cls)(**options)
    return backend


def installed_version(requirements: Requirements) -> str | None:
    """Give the installed version of what an adapter needs."""
    if requirements.distribution is None:
        return None
    try:
        return metadata.version(requirements.distribution)
    except metadata.PackageNotFoundError:
        return None


def missing(requirements: Requirements, gpu: Gpu | None) -> str | None:
    """Say what is missing to run an adapter here, with the next step, or None."""
    if requirements.distribution is not None:
        version = installed_version(requirements)
        if version is None:
            return f"{requirements.distribution} is not installed; {requirements.install}"
        if requirements.least_version and not _at_least(version, requirements.least_version):
            older = f"is older than {requirements.least_version}, the oldest adapted"
            return f"{requirements.distribution} {version} {older}; {requirements.install}"
    if requirements.least_sm is not None and gpu is None:
        return "no CUDA GPU is visible here; run the check on the target machine"
    return None


def lacks_parameters(requirements: Requirements) -> str | None:
    """Import the kernel library and say which parameter of its function is missing, or None."""
    if requirements.function is None:
        return None
    module, _, path = requirements.function.partition(":")
    function = import_module(module)
    for name in path.split("."):
        function = getattr(function, name)
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    absent = [name for name in requirements.parameters if name not in parameters]
    return f"{requirements.function} takes no {', '.join(absent)}" if absent else None


def _at_least(version: str, least: str) -> bool:
    try:
        return Version(version) >= Version(least)
    except InvalidVersion:
        return True
