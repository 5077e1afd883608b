"""Environment variables of a line that its engine does not read, of which it says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mlacheck.builtin import MISSPELT_VARIABLE, UNREAD_VARIABLE
from mlacheck.data import find_json
from mlacheck.probes.engine import entry_points, recorded_versions
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mlacheck.finding import Finding

# One letter wrong in fifteen: people begin names of their own like the engine's (SGLANG_IMAGE, VLLM_MODEL).
_LIKE: Final = 0.93


def unread(names: Iterable[str], engine: str, version: str) -> Iterator[Finding]:
    """Tell of names that only other recorded versions read, or that are a slip away from one that is read."""
    prefixes: dict[str, str] = entry_points(engine)["variables"]
    for name in names:
        prefix = next((one for one in prefixes if name.startswith(one)), None)
        if prefix is None:
            continue
        spans: dict[str, Any] = find_json(engine, "environment.json")["names"]
        first, last = spans.get(name) or spans.get(prefixes[prefix] + name.removeprefix(prefix)) or ("", "")
        if not first:
            known = [one for one, span in spans.items() if _covers(engine, span[0], span[1], version)]
            for meant in closest(name, known, 1, _LIKE):
                yield MISSPELT_VARIABLE.finding(f"{engine} {version} reads no {name}: did you mean {meant}?")
        elif not _covers(engine, first, last, version):
            which = first if first == last else f"{first} to {last}"
            yield UNREAD_VARIABLE.finding(
                f"{engine} {version} does not read {name}, which {which} read: it has no effect here"
            )


def _covers(engine: str, first: str, last: str, version: str) -> bool:
    versions = recorded_versions(engine)
    return versions.index(first) <= versions.index(version) <= versions.index(last)
