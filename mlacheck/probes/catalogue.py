"""The catalogue of published models: config values by id, to judge a launch line without its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from mlacheck.data import load_compiled, load_yaml, rules_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Rows = dict[str, dict[str, Any]]  # by id

FOLDER: Final = "models"
INDEX: Final = "models-index.json"
EXTRAS: Final = ("hf_quant_config", "weights_gib", "drafts")


class Models(Mapping[str, "dict[str, Any]"]):
    """The entries by id, each read and resolved when it is asked for: a run asks for few."""

    def __init__(self, files: dict[str, str], rows: Callable[[str], Rows]) -> None:
        self._files = files  # by id
        self._rows = rows  # of a file
        self._done: dict[str, dict[str, Any]] = {}

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Give one; ValueError names an entry that is wrong."""
        return self._resolve(key, ())

    def __iter__(self) -> Iterator[str]:
        """Name them."""
        return iter(self._files)

    def __len__(self) -> int:
        """Count them."""
        return len(self._files)

    def _resolve(self, key: str, followed: tuple[str, ...]) -> dict[str, Any]:
        """Resolve `like`: the other entry's config less the keys in `without`, this one's keys over it."""
        if key in self._done:
            return self._done[key]
        file = self._files[key]
        row = self._rows(file)[key]
        config = {name: _unfold(value) for name, value in row.get("config", {}).items()}
        base = row.get("like")
        if base is not None:
            if base not in self._files or base in (key, *followed):
                raise ValueError(f"rules/{FOLDER}/{file}: {key} is like {base}, which is no other entry")
            inherited = self._resolve(base, (*followed, key))["config"]
            config = {
                name: value for name, value in inherited.items() if name not in row.get("without", ())
            } | config
        extra: dict[str, Any] = {name: row[name] for name in EXTRAS if name in row}
        self._done[key] = {
            "config": config,
            "file": f"rules/{FOLDER}/{file}",
            "source": row["source"],
            "certainty": row["certainty"],
            **extra,
        }
        return self._done[key]


@cache
def load_catalogue() -> dict[str, Any]:
    """Give `{"models": {id: entry}, "index": {lower-case id or alias: id}}`, plain data, not to be changed.

    An entry has config, file, source, certainty; where known hf_quant_config, weights_gib, drafts.
    """
    sources = sorted((rules_root() / FOLDER).glob("*.yaml"))
    names: Any = load_compiled(
        INDEX, sources, lambda: index_of({one.name: _rows(one.name) for one in sources})
    )
    return {"models": Models(names["files"], _rows), "index": names["index"]}


@cache
def _rows(file: str) -> Rows:
    return by_id(load_yaml(FOLDER, file), file)


def build_catalogue(files: dict[str, Any]) -> dict[str, Any]:
    """Build the whole catalogue from the parsed files by name; ValueError names the entry that is wrong."""
    rows = {name: by_id(content, name) for name, content in files.items()}
    names = index_of(rows)
    return {"models": dict(Models(names["files"], rows.__getitem__)), "index": names["index"]}


def by_id(content: Any, file: str) -> Rows:
    """Give the entries of a parsed file by id; ValueError names one that stands twice."""
    rows: Rows = {}
    for row in content["models"]:
        if row["id"] in rows:
            raise ValueError(f"{FOLDER}/{file}: {row['id']} stands twice")
        rows[row["id"]] = row
    return rows


def index_of(files: dict[str, Rows]) -> dict[str, dict[str, str]]:
    """Give `{"files": {id: file}, "index": {lower-case id or alias: id}}`; ValueError names a name of two."""
    places: dict[str, str] = {}
    index: dict[str, str] = {}
    for file, rows in files.items():
        for key in rows:
            if key in places:
                raise ValueError(f"{FOLDER}/{file}: {key} stands twice")
            places[key] = file
    for file, rows in files.items():
        for key, row in rows.items():
            for spelling in (key, *row.get("aliases", ())):
                other = index.setdefault(spelling.lower(), key)
                if other != key:
                    raise ValueError(f"rules/{FOLDER}/{file}: {spelling} names both {other} and {key}")
    return {"files": places, "index": index}


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
