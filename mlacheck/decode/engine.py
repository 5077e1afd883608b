"""How an engine version calls its decode kernel: the data of `rules/decode`, by backend."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from mlacheck.data import load_yaml
from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class Handling:
    """What one engine version does around the kernel of one backend."""

    adapter: str | None
    page: int | None = None
    kv: str = "cache"
    lse_base: str | None = None
    empty_ranks: str = "merge"
    never_merges: str | None = None
    several: str | None = None
    not_covered: str | None = None
    source: Mapping[str, str] | None = None


def handling(engine: str, version: str | None, backend: str) -> Handling | None:
    """Find the row of a backend for an engine version; None where nothing is recorded."""
    rows = _load(engine).get(backend, ())
    try:
        number = Version(version) if version else None
    except InvalidVersion:
        number = None
    for row in rows:
        if number is None or SpecifierSet(row["versions"]).contains(number.base_version, prereleases=True):
            given = {name: value for name, value in row.items() if name != "versions"}
            return Handling(**{"adapter": None, **given})
    return None


@cache
def _load(engine: str) -> Mapping[str, Any]:
    try:
        data = load_yaml("decode", f"{engine}.yaml")
    except FileNotFoundError:
        return {}
    return data["backends"] if isinstance(data, dict) else {}
