"""Options that an engine refuses in its config file, whatever value they have there."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mlacheck.data import find_json
from mlacheck.frozen import frozen
from mlacheck.probes.version import parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mlacheck.engines.arguments import Option
    from mlacheck.engines.grammar import Grammar


@frozen
class _Merging:
    """What an engine that reads its file key by key says: `refuses` in `config.json` among its rules."""

    said: str  # its words, of the key and the class of the option's action
    # The class of each recorded action that it does not take, and of those of options that are replaced.
    actions: Mapping[str, str]
    replaced: Mapping[str, str]
    # From this version it takes what reads one value, and knows an option by every long spelling.
    by_spelling: str


@cache
def refused_keys(grammar: Grammar) -> Mapping[str, str]:
    """Give the keys, with underscores, that a version refuses in its config file, and how it says so."""
    merging = _merging(grammar.engine)
    if merging is None:
        return {}
    now, since = parse_version(grammar.version), parse_version(merging.by_spelling)
    by_spelling = now is not None and since is not None and now >= since
    refused: dict[str, str] = {}
    taken: set[str] = set()
    for option in {id(one): one for one in grammar.flags.values()}.values():
        action = merging.actions.get(option.action)
        if option.deprecated is not None:
            action = merging.replaced.get(option.action, action)
        keys = tuple(_keys(option)) if by_spelling else (option.dest,)
        if action is None or (by_spelling and option.nargs is None):
            taken.update(keys)
            continue
        for key in keys:
            refused[key] = merging.said.format(key=key, action=action)
    # An older version refuses an argument that one of its options is refused for, whichever is meant.
    return {key: said for key, said in refused.items() if key not in taken} if by_spelling else refused


def _keys(option: Option) -> Iterator[str]:
    yield option.dest
    yield from (flag[2:].replace("-", "_") for flag in option.flags if flag.startswith("--"))


def _merging(engine: str) -> _Merging | None:
    data = (find_json(engine, "config.json") or {}).get("refuses")
    return None if data is None else _Merging(**data)
