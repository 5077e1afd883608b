"""Whether an adapter's call fits a kernel library's signature, read from source: nothing is imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from mlacheck.probes.signature import Signature, SourceTree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mlacheck.decode.backend import Call


def unbound(parameters: Sequence[str], names: Collection[str]) -> str | None:
    """Say which argument a function with these parameters lacks, or does not get, or None."""
    plain = {one.partition("=")[0]: "=" not in one for one in parameters if not one.startswith("*")}
    if not any(one.startswith("**") for one in parameters):
        unknown = [name for name in names if name not in plain]
        if unknown:
            return f"takes no {', '.join(unknown)}"
    needed = [name for name, required in plain.items() if required and name not in names]
    return f"needs {', '.join(needed)}, which the engine does not pass" if needed else None


def misfit(calls: Iterable[Call]) -> str | None:
    """Compare calls with the installed packages; what cannot be read is left to the call itself."""
    for call in calls:
        package, _, path = call.function.partition(":")
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            continue
        found = SourceTree(Path(next(iter(spec.submodule_search_locations)))).signature(path)
        if isinstance(found, Signature) and (reason := unbound(found.parameters, call.arguments)):
            return f"{package}.{path} {reason}"
    return None
