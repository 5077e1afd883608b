"""What a check ran on: versions of the packages that make a kernel, the driver, the day."""

from __future__ import annotations

import contextlib
import re
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from mlacheck import __version__
from mlacheck.probes.distribution import DISTRIBUTIONS

# Kernels and what compiles or loads them, beside what engines bring.
_DISTRIBUTIONS: Final = (
    "torch",
    "triton",
    "flashinfer-python",
    "flashinfer-cubin",
    "flashinfer-jit-cache",
    "sgl-flash-mla",
    "sgl-deep-gemm",
    "tokenspeed-mla",
    "nvidia-cutlass-dsl",
    "apache-tvm-ffi",
    "nvidia-nccl-cu13",
    "nvidia-nccl-cu12",
)
_DRIVER: Final = Path("/proc/driver/nvidia/version")


def environment() -> dict[str, Any]:
    """Describe this process's surroundings as plain values."""
    packages = {"mlacheck": __version__}
    engines = (name for names in DISTRIBUTIONS.values() for name in names)
    for name in dict.fromkeys((*_DISTRIBUTIONS, *engines)):
        with contextlib.suppress(metadata.PackageNotFoundError):
            packages[name] = metadata.version(name)
    today = datetime.now(tz=timezone.utc).date().isoformat()
    return {"date": today, "packages": packages, "driver": driver()}


def driver(told: Path = _DRIVER) -> str | None:
    """Give the NVIDIA driver's version, as the kernel module tells it."""
    try:
        text = told.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"Kernel Module.*?(\d+(?:\.\d+)+)", text)
    return found.group(1) if found else None
