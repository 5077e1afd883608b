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
    folder = rules_root() / FOLDER
    files = sorted(folder.glob("*.yaml"))
    # The folder tells of files that came or went.
    names: Any = load_compiled(
        INDEX, (folder, *files), lambda: index_of({one.name: load_yaml(FOLDER, one.name) for one in files})
    )
    return {"models": Models(names["files"], _rows), "index": names["index"]}


@cache
def _rows(file: str) -> Rows:
    return by_id(load_yaml(FOLDER, file))


def by_id(content: Any) -> Rows:
    """Give the entries of a parsed file by id."""
    return {row["id"]: row for row in content["models"]}


def index_of(files: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Index the parsed files by name: `{"files": {id: file}, "index": {lower-case id or alias: id}}`.

    ValueError names an entry that stands twice and a name of two.
    """
    places: dict[str, str] = {}
    index: dict[str, str] = {}
    rows = [(file, row) for file, content in files.items() for row in content["models"]]
    for file, row in rows:
        if row["id"] in places:
            raise ValueError(f"rules/{FOLDER}/{file}: {row['id']} stands twice")
        places[row["id"]] = file
    for file, row in rows:
        for spelling in (row["id"], *row.get("aliases", ())):
            other = index.setdefault(spelling.lower(), row["id"])
            if other != row["id"]:
                raise ValueError(f"rules/{FOLDER}/{file}: {spelling} names both {other} and {row['id']}")
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
