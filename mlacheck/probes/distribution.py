"""Which engine packages are installed, read from their metadata; nothing is imported."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

# By the name that facts use (`version.NAME`); the first distribution that is installed counts.
DISTRIBUTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "sglang": ("sglang",),
    "vllm": ("vllm",),
    "flashinfer": ("flashinfer-python",),
    "flashinfer_cubin": ("flashinfer-cubin",),
    "flashinfer_jit_cache": ("flashinfer-jit-cache",),
    "sglang_kernel": ("sglang-kernel", "sgl-kernel"),
    "tokenspeed_mla": ("tokenspeed-mla",),
    "flash_mla": ("sgl-flash-mla", "flash-mla"),
    "torch": ("torch",),
}


@frozen
class Installation:
    """The versions found in one environment, by fact name, and where FlashInfer's source lies."""

    place: str
    versions: dict[str, str] = field(default_factory=dict)
    flashinfer_source: Path | None = None


def probe_distributions(site_packages: Path | None = None) -> Installation:
    """Read what is installed in this environment, or in another one's site-packages folder."""
    from importlib import metadata  # slow to import, and only this probe needs it

    if site_packages is None:
        found = _versions(metadata.distributions())
        return Installation("this environment", found, _source())
    found = _versions(metadata.distributions(path=[str(site_packages)]))
    source = site_packages / "flashinfer"
    return Installation(str(site_packages), found, source if (source / "__init__.py").is_file() else None)


def _versions(distributions: object) -> dict[str, str]:
    import re
    from collections.abc import Iterable

    installed: dict[str, str] = {}
    for distribution in distributions if isinstance(distributions, Iterable) else ():
        # A half-removed package leaves metadata without a name or version.
        name, version = distribution.metadata["Name"], distribution.metadata["Version"]
        if name and version:
            installed.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    found: dict[str, str] = {}
    for fact, names in DISTRIBUTIONS.items():
        version = next((installed[name] for name in names if name in installed), None)
        if version is not None:
            found[fact] = version
    return found


def _source() -> Path | None:
    from importlib.util import find_spec

    try:
        spec = find_spec("flashinfer")  # a top-level name: finding it runs none of its code
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    root = Path(next(iter(places))) if places else None
    return root if root is not None and (root / "__init__.py").is_file() else None
