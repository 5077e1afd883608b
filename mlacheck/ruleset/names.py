"""The ids and slugs of all rules, read as text: a name is looked up without parsing any YAML."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from mlacheck.builtin import BUILTINS, OTHER_REFUSALS
from mlacheck.data import rules_root
from mlacheck.ruleset.error import RuleError
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_SHORTEST: Final = 3  # of a part of a name that says which ones are meant
_MOST: Final = 3
_LIKE: Final = 0.7
_NAME: Final = re.compile(
    r"^[ ]*(?P<item>-[ ]+)?(?:id:[ ]*[\"']?(?P<id>[A-Z]{3}\d{3})|slug:[ ]*[\"']?(?P<slug>[\w.-]+))",
    re.MULTILINE,
)


def rule_names(extra: Iterable[Path] = ()) -> dict[str, str]:
    """Give every id, and every slug of a rule that has one, in lower case, each with the id.

    Raises `RuleError` for a file of the user's own that cannot be read.
    """
    names = _shipped().copy()
    for path in extra:
        names |= _names_in(path)
    return names


@cache
def _shipped() -> dict[str, str]:
    names = {name: one.id for one in BUILTINS for name in (one.id.lower(), one.slug)}
    names |= dict.fromkeys(OTHER_REFUSALS, names["unexpected-argument"])
    for path in sorted(rules_root().glob("*/*.yaml")):
        names |= _names_in(path)
    return names


def _names_in(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RuleError(f"cannot be read: {error.strerror}", file=str(path)) from error
    names = {}
    id_ = slug = None
    for match in _NAME.finditer(text):
        if match["item"]:
            id_ = slug = None
        id_, slug = match["id"] or id_, match["slug"] or slug
        if id_:
            names[id_.lower()] = id_
            if slug:
                names[slug.lower()] = id_
    return names


def spelt(name: str) -> str:
    """Write a name as the keys of `rule_names` are."""
    return name.lower().replace("_", "-")


def hint(name: str, names: Mapping[str, str]) -> str:
    """Say which rules a name that none has may mean; `names` has each name with its id."""
    slugs = {id_: one for one, id_ in reversed(list(names.items())) if one != id_.lower()}
    told = {}
    for one in _close(spelt(name), names):
        id_ = names[one]
        slug = slugs.get(id_) if one == id_.lower() else one
        told[id_] = id_ if slug in {None, id_} else f"{id_} {slug}"
    return f"did you mean {' or '.join(told.values())}?" if told else "`mlacheck rules list` names them all"


def _close(name: str, names: Iterable[str]) -> Sequence[str]:
    """Give the names that hold all parts of one that is none, else those that are spelt like it."""
    parts = [part for part in name.split("-") if part]
    holding = [one for one in names if parts and all(part in one for part in parts)]
    if holding and len(name) > _SHORTEST:
        return sorted(holding, key=lambda one: (len(one), one))[:_MOST]
    return closest(name, list(names), _MOST, _LIKE)
