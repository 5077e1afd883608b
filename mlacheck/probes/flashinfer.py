"""What a FlashInfer offers: recorded by version, or read from an installed source tree."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from mlacheck.data import load_json
from mlacheck.frozen import field, frozen
from mlacheck.probes.version import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from packaging.version import Version


@frozen
class FlashInferFacts:
    """One FlashInfer: the decode function's parameters (None when it is absent) and what else exists."""

    version: Version | None
    recorded: str | None  # the version whose record this is; None when read from source
    extrapolated: bool
    decode_parameters: frozenset[str] | None
    modules: frozenset[str]
    signatures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def importable(self) -> bool:
        """Tell whether the decode function can be had."""
        return self.decode_parameters is not None


@functools.lru_cache(maxsize=128)
def signature_table(version: Version) -> FlashInferFacts:
    """Give the record of a released version, or of the nearest one."""
    data = _load_table()
    found = nearest(version, tuple(data["versions"]))
    if found is None:  # an empty table: nothing is recorded
        return FlashInferFacts(version, None, extrapolated=True, decode_parameters=None, modules=frozenset())
    order: dict[str, int] = {text: index for index, text in enumerate(data["versions"])}
    at = order[found.version]

    def row(rows: list[list[Any]]) -> Any:
        return next(value for since, value in reversed(rows) if order[since] <= at)

    signatures = {name: row(rows) for name, rows in data["callables"].items()}
    kept = {name: tuple(parameters) for name, parameters in signatures.items() if parameters is not None}
    decode = kept.get(data["decode"])
    return FlashInferFacts(
        version,
        found.version,
        extrapolated=not found.exact,
        decode_parameters=None if decode is None else frozenset(one.partition("=")[0] for one in decode),
        modules=frozenset(name for name, rows in data["present"].items() if row(rows)),
        signatures=kept,
    )


def read_installed(root: Path, version: Version | None) -> FlashInferFacts:
    """Read the watched names from an installed package's source, without importing it."""
    from mlacheck.probes.signature import Signature, SourceTree, load_watched  # most versions are recorded

    tree, watched = SourceTree(root), load_watched()
    read = {name: tree.signature(name) for name in watched.callables}
    signatures = {name: one for name, one in read.items() if isinstance(one, Signature)}
    decode = read[watched.decode]
    return FlashInferFacts(
        version,
        None,
        extrapolated=False,
        decode_parameters=frozenset(decode.names) if isinstance(decode, Signature) else None,
        modules=frozenset(name for name in watched.present if tree.has(name)),
        signatures={name: one.parameters for name, one in signatures.items()},
        problems=() if isinstance(decode, Signature) else (decode.message,),
    )


def recorded_versions() -> tuple[str, ...]:
    """List the recorded FlashInfer versions, oldest first."""
    return tuple(_load_table()["versions"])


def _load_table() -> dict[str, Any]:
    data = load_json("flashinfer", "signatures.json")
    if not isinstance(data, dict):  # the file is ours: a broken one is a packaging fault
        raise TypeError("rules/flashinfer/signatures.json holds no object")
    return data
