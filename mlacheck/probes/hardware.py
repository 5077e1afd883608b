"""The GPUs that rules know by name: `B200`, `NVIDIA H100 80GB HBM3`, `sm100`, `none`."""

from __future__ import annotations

import functools
import re
from typing import Any

from mlacheck.data import load_yaml
from mlacheck.frozen import frozen
from mlacheck.pattern import lazy

_CAPABILITY = lazy(r"(?:sm|compute)[ _-]?(\d)(\d)?\.?(\d)[af]?", re.IGNORECASE)


@frozen
class Gpu:
    """One GPU model; None stands for what the name does not tell."""

    key: str | None
    name: str
    sm: int
    memory_gib: float | None
    mnnvl: bool | None
    vendor: str


@frozen
class GpuProblem:
    """A GPU name that nothing is known about."""

    value: str
    suggestions: tuple[str, ...]

    @property
    def message(self) -> str:
        """Say what is wrong."""
        return f"unknown GPU {self.value!r}"

    @property
    def hint(self) -> str:
        """Say what to write instead."""
        if self.suggestions:
            return f"did you mean {' or '.join(self.suggestions)}?"
        return f"use one of {', '.join(load_gpus())}, smXY (e.g. sm100), or none"


NO_GPU = Gpu("none", "none", 0, 0.0, mnnvl=False, vendor="none")


@functools.cache
def load_gpus() -> dict[str, Gpu]:
    """Read the catalogue, by key."""
    return {key: _gpu(key, entry) for key, entry in _entries().items()}


@functools.lru_cache(maxsize=256)
def find_gpu(text: str) -> Gpu | GpuProblem:
    """Look one GPU up by key, by the name that NVML prints, or by capability."""
    plain = _plain(text)
    if plain in ("none", "no", "cpu"):
        return NO_GPU
    key = _index().get(plain)
    if key is not None:
        return load_gpus()[key]
    capability = _CAPABILITY.fullmatch(text.strip())
    if capability is not None:
        sm = int("".join(digit for digit in capability.groups() if digit))
        return by_capability(sm) if sm in _file()["capabilities"] else GpuProblem(text, ())
    import difflib  # only a mistyped name needs it

    close = difflib.get_close_matches(plain, list(_index()), n=3, cutoff=0.6)
    return GpuProblem(text, tuple(dict.fromkeys(_index()[name] for name in close)))


def by_capability(sm: int) -> Gpu:
    """Give what a compute capability alone tells: unknown is where the cards that share it differ."""
    fabric = {gpu.mnnvl for gpu in load_gpus().values() if gpu.sm == sm}
    return Gpu(None, f"sm{sm}", sm, None, mnnvl=None if True in fabric else False, vendor="nvidia")


def as_seen(name: str, sm: int, memory_gib: float | None, vendor: str) -> Gpu:
    """Describe a GPU that a driver reported, in the catalogue or not; the driver's numbers win."""
    known = find_gpu(name)
    if isinstance(known, GpuProblem) or known.vendor != vendor or known is NO_GPU:
        # Engines tell a fabric across nodes by the superchip's name: another name is none.
        return Gpu(None, name, sm, memory_gib, mnnvl=False, vendor=vendor)
    # One product name can carry different memory (A100 PCIe): its key stays, the memory is the driver's.
    memory = known.memory_gib if memory_gib is None else memory_gib
    return Gpu(known.key, name, sm, memory, known.mnnvl, vendor)


def _file() -> dict[str, Any]:
    data = load_yaml("gpus.yaml")
    if not isinstance(data, dict):  # the file is ours: a broken one is a packaging fault
        raise TypeError("rules/gpus.yaml holds no mapping")
    return data


def _entries() -> dict[str, dict[str, object]]:
    entries: dict[str, dict[str, object]] = _file()["gpus"]
    return entries


def _gpu(key: str, entry: dict[str, object]) -> Gpu:
    mib, sm, names = entry.get("mib"), entry["sm"], entry["names"]
    if not (isinstance(sm, int) and isinstance(names, list)):
        raise TypeError(f"rules/gpus.yaml: {key} needs sm and names")
    memory = mib / 1024 if isinstance(mib, int) else None
    vendor = str(entry.get("vendor", "nvidia"))
    return Gpu(key, str(names[0]), sm, memory, bool(entry.get("mnnvl", False)), vendor)


@functools.cache
def _index() -> dict[str, str]:
    index: dict[str, str] = {}
    for key, entry in _entries().items():
        for names in ([key], entry["names"], entry.get("also", [])):
            for name in names if isinstance(names, list) else []:
                index[_plain(name)] = key
    return index


def _plain(text: str) -> str:
    """Compare names without vendor, case and punctuation: Kubernetes writes `NVIDIA-H100-80GB-HBM3`."""
    plain = re.sub(r"[^a-z0-9]", "", text.lower())
    for vendor in ("nvidia", "amdinstinct", "amd"):
        if plain.startswith(vendor) and plain != vendor:
            return plain.removeprefix(vendor).removeprefix("geforce")
    return plain
