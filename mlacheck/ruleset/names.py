"""The ids and slugs of all rules, read as text: a name is looked up without parsing any YAML."""

from __future__ import annotations

import difflib
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from mlacheck.builtin import BUILTINS, OTHER_REFUSALS
from mlacheck.data import rules_root
from mlacheck.ruleset.error import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

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


def close_names(name: str, names: Iterable[str], like: float = 0.75) -> Sequence[str]:
    """Give the names that are meant, perhaps: ids in capitals, as they are written."""
    close = difflib.get_close_matches(name.lower(), list(names), n=3, cutoff=like)
    return [one.upper() if re.fullmatch(r"[a-z]{3}\d{3}", one) else one for one in close]
