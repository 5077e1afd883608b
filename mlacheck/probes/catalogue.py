"""The catalogue of published models: config values by id, to judge a launch line without its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from mlacheck.data import load_yaml, rules_root

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = "models"
EXTRAS: Final = ("hf_quant_config", "weights_gib", "drafts")


class Models(Mapping[str, "dict[str, Any]"]):
    """The entries by id, each resolved when it is asked for: a run asks for few."""

    def __init__(self, rows: dict[str, dict[str, Any]]) -> None:
        self._rows = rows
        self._done: dict[str, dict[str, Any]] = {}

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Give one; ValueError names an entry that is wrong."""
        return _resolve(key, self._rows, self._done, ())

    def __iter__(self) -> Iterator[str]:
        """Name them."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Count them."""
        return len(self._rows)


@cache
def load_catalogue() -> dict[str, Any]:
    """Give `{"models": {id: entry}, "index": {lower-case id or alias: id}}`, plain data, not to be changed.

    An entry has config, file, source, certainty; where known hf_quant_config, weights_gib, drafts.
    """
    return _catalogue(
        {path.name: load_yaml(FOLDER, path.name) for path in sorted((rules_root() / FOLDER).glob("*.yaml"))}
    )


def build_catalogue(files: dict[str, Any]) -> dict[str, Any]:
    """Build the whole catalogue from the parsed files by name; ValueError names the entry that is wrong."""
    found = _catalogue(files)
    return {**found, "models": dict(found["models"])}


def _catalogue(files: dict[str, Any]) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {}
    index: dict[str, str] = {}
    for name, content in files.items():
        for row in content["models"]:
            key, file = row["id"], f"{FOLDER}/{name}"
            if key in rows:
                raise ValueError(f"{file}: {key} stands twice")
            rows[key] = {**row, "file": f"rules/{file}"}
    for key, row in rows.items():
        for spelling in (key, *row.get("aliases", ())):
            other = index.setdefault(spelling.lower(), key)
            if other != key:
                raise ValueError(f"{row['file']}: {spelling} names both {other} and {key}")
    return {"models": Models(rows), "index": index}


def _resolve(
    key: str, rows: dict[str, dict[str, Any]], done: dict[str, dict[str, Any]], followed: tuple[str, ...]
) -> dict[str, Any]:
    """Resolve `like`: the other entry's config less the keys in `without`, this one's keys over it."""
    if key in done:
        return done[key]
    row = rows[key]
    config = {name: _unfold(value) for name, value in row.get("config", {}).items()}
    base = row.get("like")
    if base is not None:
        if base not in rows or base in (key, *followed):
            raise ValueError(f"{row['file']}: {key} is like {base}, which is no other entry")
        inherited = _resolve(base, rows, done, (*followed, key))["config"]
        config = {
            name: value for name, value in inherited.items() if name not in row.get("without", ())
        } | config
    extra: dict[str, Any] = {name: row[name] for name in EXTRAS if name in row}
    done[key] = {
        "config": config,
        "file": row["file"],
        "source": row["source"],
        "certainty": row["certainty"],
        **extra,
    }
    return done[key]


def _unfold(value: Any) -> Any:
    """Write out lists given as `{first: [..], repeat: [..], length: N}`."""
    if isinstance(value, list):
        return [_unfold(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "repeat" not in value:
        return {name: _unfold(part) for name, part in value.items()}
    first, pattern = value.get("first", []), value["repeat"]
    return (first + pattern * value["length"])[: value["length"]]
