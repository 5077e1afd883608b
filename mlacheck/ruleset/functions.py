"""The functions of the rules' language; where what they need is unknown, they raise what is undecidable."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mlacheck.facts import Undecided

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "number": (int, float),
    "array": (list, tuple),
    "object": dict,
}
_NO_JSON: Final = object()  # in the place of what a text would hold


def coalesce(*values: object) -> object:
    """Give the first value that is not None."""
    for value in values:
        if value is not None:
            return value
    return None


def lookup(table: Mapping[object, object], key: object, default: object = None) -> object:
    """Give a map table's value for a key."""
    return table.get(key, default)


def path(value: object, keys: str) -> object:
    """Give what stands under dotted keys in a JSON value; None where there is nothing."""
    for key in keys.split("."):
        if value is None:
            return None
        value = value.get(key)  # type: ignore[attr-defined]  # what has no keys is undecidable
    return value


def json_kind(value: object) -> str | None:
    """Name what a JSON text holds, or a value that was read from one; None for a text that is no JSON."""
    read = _read(value) if isinstance(value, str) else value
    return None if read is _NO_JSON else _kind_of(read)


def _kind_of(read: object) -> str:
    if read is None or isinstance(read, bool):
        return "null" if read is None else "boolean"
    for name, types in _KINDS.items():
        if isinstance(read, types):
            return name
    raise Undecided


def from_json(value: object) -> object:
    """Read a JSON text; one that is none has no value, and what was read already stays."""
    read = _read(value) if isinstance(value, str) else value
    if read is _NO_JSON:
        raise Undecided
    return read


@lru_cache(maxsize=1024)
def _read(text: str) -> object:
    """Read a text once: many rules ask for parts of the same one, and none changes it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


def without(values: Iterable[object], known: Collection[object]) -> tuple[object, ...]:
    """Give the items of a list, or the keys of an object, that are none of those known."""
    return tuple(value for value in values if value not in known)


def listed(*pairs: object) -> str:
    """Join the texts whose conditions hold, each once, from condition, text, condition, text, ..."""
    texts = (str(text) for when, text in zip(pairs[::2], pairs[1::2], strict=True) if when)
    return ", ".join(dict.fromkeys(texts))


def mentioned(items: Sequence[str], text: str) -> bool:
    """Tell whether one of several texts holds a text."""
    return any(text in item for item in items)


def entries(value: Mapping[str, Mapping[str, object]] | None, part: str, key: str) -> tuple[object, ...]:
    """List what stands under a key in the items of an object whose names hold a text."""
    return tuple(item.get(key) for name, item in (value or {}).items() if part in name)


def parts(values: Iterable[object], keys: str) -> tuple[object, ...]:
    """List what stands under dotted keys in each item of a list."""
    return tuple(path(value, keys) for value in values)


def item(values: Sequence[object], number: int) -> object:
    """Give one item of a list; None where the list ends before it."""
    return values[number] if number < len(values) else None


def numbers(texts: Sequence[str], start: int) -> tuple[float, ...] | None:
    """Read the numbers in a list of texts from an item on; None where one of them is none."""
    try:
        return tuple(map(float, texts[start:]))
    except ValueError:
        return None


def distinct(values: Iterable[object]) -> tuple[object, ...]:
    """List each value once."""
    return tuple(dict.fromkeys(values))


def whole(text: str | None, default: int | None) -> int | None:
    """Read a whole number from a text, such as an environment variable; the default where it holds none."""
    try:
        return default if text is None else int(text)
    except ValueError:
        return default


def real(text: str | None, default: float) -> float:
    """Read a number from a text; the default where it holds none."""
    try:
        return default if text is None else float(text)
    except ValueError:
        return default


def integers(text: str) -> tuple[int, ...] | None:
    """Read whole numbers between commas; None where one of them is none."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        return None


def unlike(values: Iterable[str], pattern: str) -> tuple[str, ...]:
    """Give the texts that a pattern does not describe from their first letter to the last."""
    return tuple(value for value in values if not re.fullmatch(pattern, value))


def descending(values: Iterable[str]) -> tuple[str, ...]:
    """Give the texts that hold a range of numbers, such as 4-7, which ends before it starts."""
    ranges = re.compile(r"(\d+)-(\d+)")
    return tuple(one for one in values if any(int(start) > int(end) for start, end in ranges.findall(one)))


def kinds(values: Iterable[object]) -> tuple[str, ...]:
    """Name the kinds of JSON values in a list, each once."""
    return tuple(dict.fromkeys(map(_kind_of, values)))


def misfits(given: Mapping[str, object], kinds: Mapping[str, str]) -> tuple[str, ...]:
    """Give the keys of an object whose values are not of the kind asked for; integer? takes null too."""

    def fits(value: object, kind: str) -> bool:
        if value is None:
            return kind.endswith("?")
        return kind.removesuffix("?") in {_kind_of(value), "integer" if type(value) is int else ""}

    return tuple(key for key, kind in kinds.items() if key in given and not fits(given[key], kind))


# `min`, `max`, `sum` and `len` of an unknown value raise by themselves.
FUNCTIONS: Final[dict[str, Callable[..., object]]] = {
    "coalesce": coalesce,
    "lookup": lookup,
    "path": path,
    "listed": listed,
    "json_kind": json_kind,
    "from_json": from_json,
    "without": without,
    "integers": integers,
    "unlike": unlike,
    "descending": descending,
    "kinds": kinds,
    "misfits": misfits,
    "min": min,
    "max": max,
    "sum": sum,
    "len": len,
    "int": int,
    "mentioned": mentioned,
    "entries": entries,
    "parts": parts,
    "item": item,
    "numbers": numbers,
    "distinct": distinct,
    "whole": whole,
    "real": real,
    "lower": str.lower,
    "upper": str.upper,
    "replace": str.replace,
    "startswith": str.startswith,
    "endswith": str.endswith,
}
