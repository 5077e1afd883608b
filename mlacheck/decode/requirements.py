"""What must be there for a kernel to decode, and how that is told from its faults; never imports torch."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from packaging.version import InvalidVersion, Version


@dataclass(frozen=True, slots=True)
class Gpu:
    """The device that kernels run on here."""

    name: str
    sm: int


@dataclass(frozen=True, slots=True)
class Requirements:
    """What must be there: one of the distributions, its least version, and a GPU capability."""

    distributions: tuple[str, ...] = ()
    least_version: str | None = None
    sms: tuple[int, ...] = ()  # the capabilities that the kernel is built for; empty: any from least_sm
    least_sm: int = 0
    install: str = "pip install 'mlacheck[gpu]'"


# By adapter, so that what is missing is told before torch is imported.
REQUIREMENTS: Final = {
    "reference": Requirements(),
    **dict.fromkeys(
        ("flashinfer", "flashinfer-fa2", "flashinfer-fa3"),
        Requirements(("flashinfer-python",), least_version="0.6.0", least_sm=80),
    ),
    "flashmla": Requirements(
        ("sgl-flash-mla", "sglang-kernel", "sgl-kernel"),
        least_version="1.0.0",
        sms=(90,),
        install="pip install sgl-flash-mla",
    ),
    "trtllm_mla": Requirements(("flashinfer-python",), least_version="0.6.15", sms=(100, 103)),
    "cutedsl_mla": Requirements(("flashinfer-python",), least_version="0.6.13", sms=(100, 103)),
    "tokenspeed_mla": Requirements(
        ("tokenspeed-mla",), least_version="0.1.8", sms=(100, 103), install="pip install tokenspeed-mla"
    ),
    "fa3": Requirements(
        ("sglang-kernel", "sgl-kernel"), sms=(90,), install="install the engine's sglang-kernel"
    ),
    "triton": Requirements(("sglang",), least_sm=70, install="pip install sglang"),
    "vllm-flashmla": Requirements(("vllm",), least_version="0.18.1", sms=(90,), install="pip install vllm"),
    "vllm-fa3": Requirements(("vllm",), least_version="0.18.1", sms=(90,), install="pip install vllm"),
    "vllm-triton": Requirements(("vllm",), least_version="0.18.1", least_sm=80, install="pip install vllm"),
    "vllm-cutlass": Requirements(
        ("vllm",), least_version="0.18.1", sms=(100, 103), install="pip install vllm"
    ),
}


def installed(requirements: Requirements) -> tuple[str, str] | None:
    """Give the name and version of the first installed distribution that an adapter can use."""
    for name in requirements.distributions:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return name, metadata.version(name)
    return None


def missing(requirements: Requirements, gpu: Gpu | None) -> str | None:
    """Say what is missing to run an adapter here, with the next step, or None."""
    if requirements.distributions:
        found = installed(requirements)
        if found is None:
            return f"{' or '.join(requirements.distributions)} is not installed; {requirements.install}"
        name, version = found
        if name == requirements.distributions[0] and not _at_least(version, requirements.least_version):
            older = f"is older than {requirements.least_version}, the oldest adapted"
            return f"{name} {version} {older}; {requirements.install}"
    if (requirements.sms or requirements.least_sm) and gpu is None:
        return "no CUDA GPU is visible here; run the check on the target machine"
    return None


def wrong_gpu(requirements: Requirements, gpu: Gpu | None) -> str | None:
    """Say which GPU capability a kernel needs, or None; asked before anything of the kernel is loaded."""
    sm = gpu.sm if gpu else 0
    if requirements.sms and sm not in requirements.sms:
        needed = " or ".join(f"SM{one}" for one in requirements.sms)
    elif sm < requirements.least_sm:
        needed = f"SM{requirements.least_sm} or newer"
    else:
        return None
    here = f"{gpu.name} has SM{sm}" if gpu else "there is no GPU here"
    return f"the kernel needs {needed}, {here}; run the check on such a GPU or choose a backend for this one"


def surely_missing(adapter: str, target_sm: int | None) -> str | None:
    """Say what is missing to run an adapter here, as far as that is certain without importing torch."""
    requirements = REQUIREMENTS[adapter]
    needs_gpu = bool(requirements.sms or requirements.least_sm)
    bare = needs_gpu and no_gpu()
    if bare and target_sm:
        return wrong_target(target_sm, None)
    if requirements.distributions and installed(requirements) is None:
        return missing(requirements, None)
    return missing(requirements, None) if bare else None


def wrong_target(target_sm: int, gpu: Gpu | None) -> str | None:
    """Say that the GPU asked about is not this machine's, or None."""
    if gpu is not None and gpu.sm == target_sm:
        return None
    here = f"{gpu.name}, SM{gpu.sm}" if gpu else "no GPU"
    return f"the target has SM{target_sm}, this machine has {here}; run the check on the target machine"


def no_gpu() -> bool:
    """Tell that the NVIDIA driver is there and has no GPU, or that neither it nor a torch for GPUs is."""
    from mlacheck.probes.gpu import LIBRARY, probe_gpus  # only when something is to run

    seen = probe_gpus()
    if seen.gpus:
        return False
    with contextlib.suppress(metadata.PackageNotFoundError):
        # Without NVIDIA's driver another vendor's torch may have GPUs.
        return LIBRARY not in (seen.reason or "") or "+cpu" in metadata.version("torch")
    return True


def _at_least(version: str, least: str | None) -> bool:
    try:
        return least is None or Version(version) >= Version(least)
    except InvalidVersion:
        return True
