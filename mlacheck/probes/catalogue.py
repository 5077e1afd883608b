"""The catalogue of published models: config values by id, to judge a launch line without its checkpoint."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from mlacheck.data import load_yaml, rules_root

FOLDER: Final = "models"
EXTRAS: Final = ("hf_quant_config", "weights_gib", "drafts")


@cache
def load_catalogue() -> dict[str, Any]:
    """Give `{"models": {id: entry}, "index": {lower-case id or alias: id}}`, plain data, not to be changed.

    An entry has config, file, source, certainty; where known hf_quant_config, weights_gib, drafts.
    """
    return build_catalogue(
        {path.name: load_yaml(FOLDER, path.name) for path in sorted((rules_root() / FOLDER).glob("*.yaml"))}
    )


def build_catalogue(files: dict[str, Any]) -> dict[str, Any]:
    """Build the catalogue from the parsed files by name; ValueError names the entry that is wrong."""
    rows: dict[str, dict[str, Any]] = {}
    for name, content in files.items():
        for row in content["models"]:
            if row["id"] in rows:
                raise ValueError(f"{FOLDER}/{name}: {row['id']} stands twice")
            rows[row["id"]] = {**row, "file": f"rules/{FOLDER}/{name}"}
    done: dict[str, dict[str, Any]] = {}
    models = {key: _resolve(key, rows, done, ()) for key in rows}
    index: dict[str, str] = {}
    for key, row in rows.items():
        for spelling in (key, *row.get("aliases", ())):
            other = index.setdefault(spelling.lower(), key)
            if other != key:
                raise ValueError(f"{row['file']}: {spelling} names both {other} and {key}")
    return {"models": models, "index": index}


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
