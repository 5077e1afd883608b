"""Which engine packages are installed, read from their metadata; nothing is imported."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import load_yaml
from mlacheck.frozen import field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENGINES: Final = cast("dict[str, dict[str, Any]]", load_yaml("engines.yaml"))
# By the name that facts use (`version.NAME`); the first distribution that is installed counts.
DISTRIBUTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: tuple(dists) for one in _ENGINES.values() for name, dists in one["distributions"].items()},
    "flashinfer": ("flashinfer-python",),
    "flashinfer_cubin": ("flashinfer-cubin",),
    "flashinfer_jit_cache": ("flashinfer-jit-cache",),
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
    if site_packages is None:
        return Installation("this environment", _versions(sys.path), _source())
    source = site_packages / "flashinfer"
    found = source if (source / "__init__.py").is_file() else None
    return Installation(str(site_packages), _versions([str(site_packages)]), found)


def _versions(folders: Iterable[str]) -> dict[str, str]:
    """Read the metadata of the packages that matter.

    `importlib.metadata` takes longer to import than the rest of a run, and reads that of every package.
    """
    wanted = tuple(name for names in DISTRIBUTIONS.values() for name in names)
    installed: dict[str, str] = {}
    for folder in folders:
        try:
            entries = os.listdir(folder or ".")  # noqa: PTH208 - a Path for each of hundreds takes its time
        except OSError:  # what is no folder, such as a zip file, holds none of these packages
            continue
        for entry in sorted(entries):
            stem, _, kind = entry.rpartition(".")
            if kind in ("dist-info", "egg-info") and _normalised(stem).startswith(wanted):
                name, version = _headers(Path(folder, entry))
                # A half-removed package leaves metadata without a name or version.
                if name and version:
                    installed.setdefault(_normalised(name), version)
    found: dict[str, str] = {}
    for fact, names in DISTRIBUTIONS.items():
        newest = next((installed[name] for name in names if name in installed), None)
        if newest is not None:
            found[fact] = newest
    return found


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _headers(metadata: Path) -> tuple[str, str]:
    """Give the name and version that metadata state."""
    for file in (metadata / "METADATA", metadata / "PKG-INFO", metadata):
        try:
            head = file.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        except OSError:
            continue
        fields = dict(line.split(": ", 1) for line in reversed(head.splitlines()) if ": " in line)
        return fields.get("Name", "").strip(), fields.get("Version", "").strip()
    return "", ""


def _source() -> Path | None:
    from importlib.util import find_spec

    try:
        spec = find_spec("flashinfer")  # a top-level name: finding it runs none of its code
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    root = Path(next(iter(places))) if places else None
    return root if root is not None and (root / "__init__.py").is_file() else None
