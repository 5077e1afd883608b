"""Configuration classes that engines read from one JSON argument, checked by their recorded fields."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any, Final

from mlacheck.engines.conversion import ConversionError
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_BOUNDS: Final[dict[str, tuple[str, Callable[[float, float], bool]]]] = {
    "minimum": ("greater than or equal to", operator.ge),
    "exclusiveMinimum": ("greater than", operator.gt),
    "maximum": ("less than or equal to", operator.le),
    "exclusiveMaximum": ("less than", operator.lt),
}
_TRUE: Final = frozenset({"1", "on", "t", "true", "y", "yes"})
_FALSE: Final = frozenset({"0", "off", "f", "false", "n", "no"})


def config_class(name: str, details: Mapping[str, Any]) -> Callable[[str], object]:
    """Give the converter of one class: a JSON object of its fields, as pydantic would take it."""
    fields: Mapping[str, Mapping[str, Any]] = details["fields"]
    # The parser takes any JSON; the class reads it later, in some versions with dashes in its keys too.
    late = bool(details.get("late"))
    dashes = bool(details.get("dashes"))

    def convert(text: str) -> object:
        try:
            given = json.loads(text)
        except ValueError:
            reason = "json" if late else "config-json"
            raise ConversionError("not JSON", reason, name=name, value=text) from None
        try:
            return taken(given, text)
        except ConversionError as error:
            error.late, error.value = late, given
            raise

    def taken(given: object, text: str) -> dict[str, object]:
        if not isinstance(given, dict):
            raise ConversionError("not a JSON object", "config-object", name=name, value=text)
        # A key with dashes keeps that spelling too: engines compare keys before they read them.
        spelled = {key: value for key, value in given.items() if "-" in key} if dashes else {}
        if spelled:
            given = {key.replace("-", "_"): value for key, value in given.items()}
        return {**{key: _value(name, fields, key, value) for key, value in given.items()}, **spelled}

    return convert


def _value(
    name: str, fields: Mapping[str, Mapping[str, Any]], key: str, value: object, inside: str = ""
) -> object:
    """Read the value of a key; `inside` is where it stands, with a dot behind it."""
    field = fields.get(key)
    if field is not None:
        return _read(name, inside + key, field, value)
    close = closest(key, fields, 1, 0.6)
    key = inside + key
    hint = f"; did you mean {inside}{close[0]}?" if close else ""
    raise ConversionError(f"{name} has no field {key!r}{hint}", "config-field", name=name, key=key)


def _read(name: str, key: str, field: Mapping[str, Any], value: object) -> object:
    members = field.get("members")
    if members is not None:
        return _member(name, key, field, value)
    value = _coerce(field.get("type", ()), value)
    choices = field.get("choices")
    if field.get("snake") and isinstance(value, str):
        value = value.lower().replace("-", "_")
    named = isinstance(value, str | int) and not isinstance(value, bool)
    if choices is not None and named and value not in choices:
        shown = ", ".join(map(str, choices))
        raise ConversionError(
            f"{key} has no choice {value!r} (there are {shown})", "config-choice", name=name, key=key
        )
    kinds = tuple(kind for one in field.get("type", ()) for kind in _KINDS.get(one, (object,)))
    if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        wanted = " or ".join(one for one in field["type"] if one != "null")
        raise ConversionError(f"{key} is no {wanted}: {value!r}", "config-type", name=name, key=key)
    _bounded(name, key, field, value)
    parts = field.get("fields")
    if parts is not None and isinstance(value, dict):
        return {part: _value(name, parts, part, one, f"{key}.") for part, one in value.items()}
    return value


def _bounded(name: str, key: str, field: Mapping[str, Any], value: object) -> None:
    """Refuse a number outside its field's bounds."""
    for bound, (words, holds) in _BOUNDS.items():
        limit = field.get(bound)
        if limit is not None and isinstance(value, int | float) and not holds(value, limit):
            raise ConversionError(
                f"{key} is {words} {limit}, not {value!r}",
                "config-bound",
                name=name,
                key=key,
                words=words,
                limit=limit,
            )


def _coerce(kinds: tuple[str, ...], value: object) -> object:
    """Read numbers and switches from text where the class has no text there, and switches from 0 and 1."""
    if value in (0, 1) and "boolean" in kinds and not {"integer", "number"} & {*kinds}:
        return bool(value)
    if not isinstance(value, str) or "string" in kinds:
        return value
    if "boolean" in kinds and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    for kind, read in (("integer", int), ("number", float)):
        if kind in kinds:
            try:
                return read(value)
            except ValueError:
                continue
    return value


def _member(name: str, key: str, field: Mapping[str, Any], value: object) -> object:
    """Read a member of an enumeration by its name, in any case, or by its number."""
    members: list[str] = field["members"]
    bare = "raises" in field  # the class looks the name up and lets the error through
    if isinstance(value, str):
        named = value.upper()
        if named in members:
            return named
        if value.lower() in {"auto", ""} and not bare:
            return None
    elif not isinstance(value, int) or value in field.get("numbers", (value,)):
        return value
    shown = ", ".join(members)
    reason = "config-member" if bare and isinstance(value, str) else "config-choice"
    raise ConversionError(
        f"{key} has no choice {value!r} (there are {shown})",
        reason,
        name=name,
        key=key,
        member=str(value).upper(),
    )
