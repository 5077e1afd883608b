"""Imports FlashInfer's decode in a child process and compares what it finds with the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.frozen import frozen
from mlacheck.probes.child import ask
from mlacheck.probes.signature import load_watched

if TYPE_CHECKING:
    from mlacheck.probes.flashinfer import FlashInferFacts

TIMEOUT_S = 120.0

_CODE = """
import importlib, inspect
module, _, name = {dotted!r}.rpartition(".")
function = getattr(importlib.import_module("flashinfer." + module), name)
answer([p.name for p in inspect.signature(function).parameters.values()])
"""


@frozen
class ImportProbe:
    """The decode function's parameters as imported, or why the import failed."""

    parameters: tuple[str, ...] | None
    failure: str | None = None


@frozen
class ProbeDisagreement:
    """The installed FlashInfer is not what its source says: a broken or mixed installation."""

    message: str
    hint: str


def probe_import(python: str | None = None, timeout_s: float = TIMEOUT_S) -> ImportProbe:
    """Import the decode function in a child process of the given interpreter."""
    answer = ask(_CODE.format(dotted=load_watched().decode), python=python, timeout_s=timeout_s)
    if isinstance(answer.value, list):
        return ImportProbe(tuple(map(str, answer.value)))
    return ImportProbe(None, answer.failure or "the child answered nothing")


def disagreement(source: FlashInferFacts, imported: ImportProbe) -> ProbeDisagreement | None:
    """Compare the source with the import; None when they agree."""
    again = "install flashinfer-python, flashinfer-cubin and flashinfer-jit-cache afresh, at one version"
    if imported.parameters is None:
        if source.decode_parameters is None:
            return None
        return ProbeDisagreement(f"FlashInfer is installed but cannot be imported: {imported.failure}", again)
    read, seen = source.decode_parameters or frozenset(), frozenset(imported.parameters)
    if read == seen:
        return None
    parts = []
    if seen - read:
        parts.append(f"only the import has {', '.join(sorted(seen - read))}")
    if read - seen:
        parts.append(f"only the source has {', '.join(sorted(read - seen))}")
    return ProbeDisagreement(
        f"FlashInfer's decode signature differs from its source: {'; '.join(parts)}", again
    )
