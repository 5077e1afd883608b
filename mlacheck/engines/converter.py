"""The types that engines' parsers convert values with, by the engine's own name for each."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Converter = Callable[[str], object]

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


class ConversionError(Exception):
    """A value that is refused in the type's own words, in place of `invalid TYPE value`.

    `reason` names the engine's text among the recorded ones, `parts` what is filled into it.
    """

    def __init__(self, text: str, reason: str, **parts: object) -> None:
        super().__init__(text)
        self.reason = reason
        self.parts = parts


def _human_int(text: str) -> int:
    """Read `8192`, `8k`, `1.5M` or `64Ki`."""
    text = text.strip()
    match = _HUMAN.fullmatch(text)
    if match is None:
        try:
            return int(text)
        except ValueError:
            raise ConversionError(
                "not a number such as 8192, 8k or 8Ki (case matters)", "human-int", value=text
            ) from None
    number, unit = match.groups()
    if not unit.endswith("i"):
        return int(Decimal(number) * _STEPS[unit])
    if "." in number:
        parts = {"suffix": unit, "number": number, "whole": int(Decimal(number)), "letter": unit[0]}
        short = unit[0].replace("K", "k")
        raise ConversionError(f"no decimals go with {unit}; write {number}{short}", "human-decimals", **parts)
    return int(number) * _STEPS[unit]


def _nullable(text: str) -> str | None:
    return None if text in {"", "None"} else text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _json_list(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError:
        raise ConversionError("not JSON", "json-list", value=text) from None


def _backend(retired: Mapping[str, str]) -> Converter:
    def convert(value: Any) -> object:
        if isinstance(value, str) and value in retired:
            raise ConversionError("retired", "as-is", said=retired[value])
        return value

    return convert


def _graph_config(phases: Mapping[str, list[str]], backend: Converter) -> Converter:
    """Read a JSON object of settings for each phase."""

    def convert(text: str) -> object:
        try:
            parsed = json.loads(text)
        except ValueError as error:
            raise ConversionError("not JSON", "graph-json", error=error) from None
        if not isinstance(parsed, dict):
            raise ConversionError("not a JSON object", "graph-object", type=type(parsed).__name__)
        for phase, settings in parsed.items():
            if phase not in phases:
                known = " or ".join(phases)
                raise ConversionError(f"{phase} is no phase ({known})", "graph-phase", phase=phase)
            if not isinstance(settings, dict):
                kind = type(settings).__name__
                raise ConversionError(f"{phase} is not an object", "graph-settings", phase=phase, type=kind)
            if "backend" in settings:
                backend(settings["backend"])
            for key in settings:
                if key not in phases[phase]:
                    known = ", ".join(phases[phase])
                    raise ConversionError(
                        f"{phase} has no key {key} ({known})", "graph-key", phase=phase, key=key
                    )
        return parsed

    return convert


# Those that need nothing but the word.
CONVERTERS: Final[dict[str, Converter]] = {
    "int": int,
    "float": float,
    "loads": json.loads,
    "json_list_type": _json_list,
    "human_readable_int": _human_int,
    "nullable_str": _nullable,
}


def converters(details: Mapping[str, Any]) -> dict[str, Converter]:
    """Give the converters by name, with the details that an engine version records for some of them."""
    backend = _backend(details.get("parse_cuda_graph_backend_arg", {}).get("retired", {}))
    graph = details.get("parse_cuda_graph_config_arg")
    return {
        **CONVERTERS,
        "parse_cuda_graph_backend_arg": backend,
        "parse_cuda_graph_config_arg": _graph_config(graph["phases"], backend) if graph else json.loads,
    }
