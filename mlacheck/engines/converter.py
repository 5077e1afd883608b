"""The types that engines' parsers convert values with, by name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_HUMAN: Final = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
_STEPS: Final = {
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


class ConversionError(ValueError):
    """A value that says itself what is wrong with it, in place of `invalid TYPE value`."""


def _human_int(text: str) -> int:
    """Read `8192`, `8k`, `1.5M` or `64Ki`."""
    match = _HUMAN.fullmatch(text.strip())
    if match is None:
        return int(text)
    number, unit = match.groups()
    if unit.endswith("i"):
        if "." in number:
            raise ConversionError(f"decimals are not allowed before {unit}")
        return int(number) * _STEPS[unit]
    value = float(number) * _STEPS[unit]
    if not value.is_integer():
        raise ConversionError(f"{text} is not a whole number")
    return int(value)


def _nullable(text: str) -> str | None:
    return None if text in {"", "None"} else text


# The engine's own names for its types; one that is not here takes any text, as far as is known.
CONVERTERS: Final[dict[str, Callable[[str], object]]] = {
    "int": int,
    "float": float,
    "json": json.loads,
    "loads": json.loads,
    "human_int": _human_int,
    "human_readable_int": _human_int,
    "json_list": json.loads,
    "json_list_type": json.loads,
    "nullable_str": _nullable,
}
