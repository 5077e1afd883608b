"""How an engine version calls its decode kernel: the data of `rules/decode`, by backend."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from mlacheck.data import load_yaml
from mlacheck.facts import is_known
from mlacheck.frozen import field, frozen
from mlacheck.ruleset.expression import Scope, names_of
from mlacheck.ruleset.interpreter import evaluate, truth

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCOPE: Final = Scope(declarations={}, derives={}, tables={})


@frozen
class Handling:
    """What one engine version does around the kernel of one backend."""

    adapter: str | None
    page: int | None = None
    kv: str = "cache"
    queries: int | None = None  # query tokens that the kernel sees of a request; None: all
    options: Mapping[str, Any] = field(default_factory=dict)
    lse_base: str | None = None
    empty_ranks: str = "merge"
    sums: str = "float32"
    never_merges: str | None = None
    several: str | None = None
    not_covered: str | None = None
    source: Mapping[str, str] | None = None


def knows(engine: str, version: str | None, backend: str) -> bool:
    """Tell whether anything is recorded of a backend in an engine version."""
    return any(_holds(row, version) for row in _load(engine)["backends"].get(backend, ()))


def backends_of(engine: str) -> tuple[str, ...]:
    """Name the backends of which anything is recorded."""
    return tuple(_load(engine)["backends"])


def handling(engine: str, version: str | None, backend: str, sizes: Mapping[str, Any]) -> Handling | None:
    """Find the row of a backend for an engine version and these sizes; None where nothing is recorded."""
    for row in _load(engine)["backends"].get(backend, ()):
        if _holds(row, version) and ("when" not in row or truth(_value(row["when"], sizes))):
            given = {name: value for name, value in row.items() if name not in {"versions", "when"}}
            for name in ("page", "queries"):
                if name in given:
                    given[name] = _value(given[name], sizes)
            return Handling(**{"adapter": None, **given})
    return None


def read_line(engine: str, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a launch line says about its decode, each size by the name that it has here."""
    return {name: _value(text, resolved) for name, text in _load(engine)["line"].items()}


def uncovered(engine: str, resolved: Mapping[str, Any]) -> str | None:
    """Say why a line's decode is none that the check knows, or None."""
    rows = _load(engine)["not_covered"]
    return next((row["why"] for row in rows if truth(_value(row["when"], resolved))), None)


def _holds(row: Mapping[str, Any], version: str | None) -> bool:
    try:
        number = Version(version) if version else None
    except InvalidVersion:
        number = None
    return number is None or SpecifierSet(row["versions"]).contains(number.base_version, prereleases=True)


def _value(text: object, facts: Mapping[str, Any]) -> Any:
    """Evaluate an expression of the rules; a name that is not there is None, and so is what stays open."""
    if not isinstance(text, str):
        return text
    names = names_of(_SCOPE.tree(text))
    value = evaluate(text, {**dict.fromkeys(names), **facts}, _SCOPE)
    return value if is_known(value) else None


@cache
def _load(engine: str) -> Mapping[str, Any]:
    try:
        data = load_yaml("decode", f"{engine}.yaml")
    except FileNotFoundError:
        data = None
    return {"line": {}, "not_covered": (), "backends": {}, **(data if isinstance(data, dict) else {})}
