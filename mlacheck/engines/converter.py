"""The types that engines' parsers convert values with, by the engine's own name for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mlacheck.engines.conversion import ConversionError
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Converter = Callable[[str], object]

# Units of whole numbers: powers of two stand without decimals.
_UNITS: Final = {
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


def _human_int(units: Mapping[str, int]) -> Converter:
    """Read `8192` or a number with a unit, such as `8k`, `1.5M` or `64Ki`."""
    pattern = lazy(rf"(\d+(?:\.\d+)?)({'|'.join(sorted(units, key=len, reverse=True))})")
    sizes = " ".join(units)

    def convert(text: str) -> int:
        text = text.strip()
        match = pattern.fullmatch(text)
        if match is None:
            try:
                return int(text)
            except ValueError:
                said = f"not a number such as 8192 or with a unit of {sizes} (case matters)"
                raise ConversionError(said, "human-int", value=text, kind="human_readable_int") from None
        from decimal import Decimal  # only for a number with a unit

        number, unit = match.groups()
        if units[unit] % 1000 == 0:
            return int(Decimal(number) * units[unit])
        if "." in number:
            parts = {"suffix": unit, "number": number, "whole": int(Decimal(number)), "letter": unit[0]}
            decimal = next(short for short in units if short.lower() == unit[0].lower())
            raise ConversionError(
                f"no decimals go with {unit}; write {number}{decimal}", "human-decimals", **parts
            )
        return int(number) * units[unit]

    return convert


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


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise ConversionError("not JSON", "json", value=text) from None


def _lora_module(text: str) -> object:
    """Read `name=path`, or a JSON object with both."""
    if text == "" or ("=" in text and "," not in text):
        return text
    try:
        module = json.loads(text)
    except ValueError:
        raise ConversionError("neither NAME=PATH nor JSON", "lora-json", value=text) from None
    if not isinstance(module, dict) or not {"name", "path"} <= module.keys():
        raise ConversionError("no JSON object with name and path", "lora-fields", value=text)
    return module


def _dict_or_text(text: str) -> object:
    stripped = text.strip()
    return _json(text) if stripped.startswith("{") and stripped.endswith("}") else text


def _overrides(text: str) -> object:
    """Read a JSON object; other text is taken by the parser, and refused by what the object is for."""
    value = _dict_or_text(text)
    if isinstance(value, str):
        raise ConversionError("not a JSON object", "overrides", value=text)
    return value


def _optional(convert: Converter | None, nothing: tuple[str, ...] = ("", "None")) -> Converter:
    """Read "" and "None" as nothing, all else as the inner type does."""

    def optional(text: str) -> object:
        if text in nothing:
            return None
        if convert is None:
            return text
        try:
            return convert(text)
        except ValueError as error:
            raise ConversionError(str(error), "optional", value=text, type=convert) from None
        except ConversionError as error:
            inner = _SHOWN.get(error.reason)
            if inner is None:
                raise
            raise ConversionError(str(error), "optional", value=text, type=inner) from None

    return optional


def _or_auto(convert: Converter) -> Converter:
    def number(text: str) -> object:
        if text.strip().lower() in {"auto", "-1"}:
            return -1
        try:
            return convert(text)
        except ConversionError as error:
            kind = "human_readable_int_or_auto"
            raise ConversionError(str(error), error.reason, **{**error.parts, "kind": kind}) from None

    return number


# How Python shows the functions that an optional type names when it refuses a value.
_SHOWN: Final = {"human-int": "<function human_readable_int", "json": "<function loads"}


# Those that need nothing but the word.
CONVERTERS: Final[dict[str, Converter]] = {
    "int": int,
    "float": float,
    "loads": json.loads,
    "json": _json,
    "json_list_type": _json_list,
    "lora_module": _lora_module,
    "nullable_str": _nullable,
    "union_dict_and_str": _dict_or_text,
    "overrides": _overrides,
    "snake": lambda text: text.lower().replace("-", "_"),
    "parse_reasoning_parser": lambda text: "" if text.lower() == "none" else text,
    "id_list": lambda text: [int(one) if one.isdigit() else one for one in map(str.strip, text.split(","))],
}
_OPTIONAL: Final = "optional_"
_PARSED: Final = "parsed_"


def converters(details: Mapping[str, Any], types: Iterable[str] = ()) -> dict[str, Converter]:
    """Give the converters by name, with the details that an engine version records for some of them."""
    backend = _backend(details.get("parse_cuda_graph_backend_arg", {}).get("retired", {}))
    graph = details.get("parse_cuda_graph_config_arg")
    human = _human_int(details.get("human_readable_int", {}).get("units", _UNITS))
    known: dict[str, Converter] = {
        **CONVERTERS,
        "human_readable_int": human,
        "human_readable_int_or_auto": _or_auto(human),
        "parse_cuda_graph_backend_arg": backend,
        "parse_cuda_graph_config_arg": _graph_config(graph["phases"], backend) if graph else json.loads,
    }
    classes = details.keys() - known.keys()
    if classes:
        from mlacheck.engines.config import config_class  # only for engines with such arguments

        known.update({name: config_class(name, details[name]) for name in classes})
    for name in types:
        _wrapped(name, known)
    return known


def _wrapped(name: str, known: dict[str, Converter]) -> Converter | None:
    """Give a converter by its name, made of the inner one's where the name says so."""
    if name not in known:
        if name.startswith(_OPTIONAL):
            known[name] = _optional(_wrapped(name.removeprefix(_OPTIONAL), known))
        elif name.startswith(_PARSED):
            known[name] = _optional(_wrapped(name.removeprefix(_PARSED), known), nothing=())
    return known.get(name)
