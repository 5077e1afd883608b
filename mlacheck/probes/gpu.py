"""The GPUs of this machine: asked of the NVIDIA driver (NVML), else of torch in a child process."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

from mlacheck.frozen import frozen
from mlacheck.probes.child import ask
from mlacheck.probes.hardware import NO_GPU, Gpu, as_seen

if TYPE_CHECKING:
    from collections.abc import Mapping

LIBRARY = "libnvidia-ml.so.1"
NAME_BYTES = 96  # NVML_DEVICE_NAME_V2_BUFFER_SIZE

_TORCH = """
import torch
cuda = torch.cuda
answer([
    [p.name, p.major * 10 + p.minor, p.total_memory, "amd" if torch.version.hip else "nvidia"]
    for p in (cuda.get_device_properties(i) for i in range(cuda.device_count()))
])
"""


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


@frozen
class SeenGpus:
    """The GPUs that a process here would see, and how that is known; `reason` says why there are none."""

    gpus: tuple[Gpu, ...]
    origin: str
    reason: str | None = None

    @property
    def gpu(self) -> Gpu:
        """Give the one GPU that stands for all: engines size by the smallest memory."""
        if not self.gpus:
            return NO_GPU
        return min(self.gpus, key=lambda gpu: (gpu.sm, gpu.memory_gib or 0.0))

    @property
    def mixed(self) -> bool:
        """Tell whether the GPUs differ in model."""
        return len({(gpu.name, gpu.sm) for gpu in self.gpus}) > 1


def probe_gpus(
    *,
    library: Any = None,
    torch_version: str | None = None,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> SeenGpus:
    """Look for GPUs; `torch_version` is the installed torch, asked only when the NVIDIA driver is absent."""
    environ = os.environ if environ is None else environ
    try:
        nvml = ctypes.CDLL(LIBRARY) if library is None else library
    except OSError:
        return _ask_torch(torch_version, python)
    seen = _ask_nvml(nvml)
    if isinstance(seen, str):
        return SeenGpus((), "NVML", seen)
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not seen:
        return SeenGpus(tuple(seen), "NVML", None if seen else "the NVIDIA driver reports no GPU")
    kept = _visible(seen, visible)
    reason = None if kept else f"CUDA_VISIBLE_DEVICES={visible!r} hides them all"
    return SeenGpus(kept, "NVML, CUDA_VISIBLE_DEVICES", reason)


def _ask_nvml(nvml: Any) -> list[Gpu] | str:
    """List the GPUs, or say what failed."""
    status = nvml.nvmlInit_v2()
    if status != 0:
        return f"the NVIDIA driver does not start (NVML error {status})"
    try:
        count = ctypes.c_uint()
        status = nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        gpus = []
        for index in range(count.value if status == 0 else 0):
            gpu = _device(nvml, index)
            if gpu is None:
                return f"the NVIDIA driver does not describe GPU {index}"
            gpus.append(gpu)
        return gpus if status == 0 else f"the NVIDIA driver does not count its GPUs (NVML error {status})"
    finally:
        nvml.nvmlShutdown()


def _device(nvml: Any, index: int) -> Gpu | None:
    handle, memory = ctypes.c_void_p(), _Memory()
    major, minor, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(NAME_BYTES)
    if (
        nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) != 0
        or nvml.nvmlDeviceGetName(handle, name, ctypes.c_uint(NAME_BYTES)) != 0
        or nvml.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) != 0
    ):
        return None
    # GPUs that share the CPU's memory report none of their own.
    has_memory = nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
    gib = memory.total / 2**30 if has_memory else None
    return as_seen(name.value.decode("utf-8", "replace"), major.value * 10 + minor.value, gib, "nvidia")


def _visible(gpus: list[Gpu], visible: str) -> tuple[Gpu, ...]:
    """Keep what CUDA_VISIBLE_DEVICES names; as in CUDA, the first invalid entry ends the list."""
    kept: list[Gpu] = []
    for entry in (part.strip() for part in visible.split(",")):
        if entry.isdecimal() and int(entry) < len(gpus):
            kept.append(gpus[int(entry)])
        elif entry.startswith(("GPU-", "MIG-")):
            kept.append(
                gpus[min(len(kept), len(gpus) - 1)]
            )  # which one is not resolved; models rarely differ
        else:
            break
    return tuple(kept)


def _ask_torch(version: str | None, python: str | None) -> SeenGpus:
    absent = f"no NVIDIA driver here ({LIBRARY} not found)"
    if version is None or "+cpu" in version:
        return SeenGpus((), "NVML", absent)
    answer = ask(_TORCH, python=python)
    if answer.failure is not None or not isinstance(answer.value, list):
        return SeenGpus((), "torch", f"{absent}, and torch fails: {answer.failure}")
    gpus = tuple(
        # torch gives an AMD GPU's architecture in the place of a CUDA capability.
        as_seen(name, 0 if vendor == "amd" else sm, total / 2**30, vendor)
        for name, sm, total, vendor in answer.value
    )
    return SeenGpus(gpus, "torch", None if gpus else f"{absent}, and torch sees no GPU")
