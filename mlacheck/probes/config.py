"""A model's config.json: read it as data, look values up in it by path."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mlacheck.facts import UNKNOWN
from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

# Published config.json files stay under 1 MB, quantization ignore lists included.
MOST_BYTES: Final = 5 * 1024 * 1024
# Published ones nest five deep; the bound keeps whatever walks a config later from recursing without end.
MOST_LEVELS: Final = 64

# The keys under which a multimodal config keeps the language model's, first match wins.
_TEXT_KEYS: Final = (
    ("thinker_config", "text_config"),
    ("thinker_config",),
    ("llm_config",),
    ("language_config",),
    ("text_config",),
)


@frozen
class ConfigProblem:
    """Why a JSON file gives no config: a kind, what is wrong, and what to do."""

    kind: str
    message: str
    hint: str


class _NotJsonError(ValueError):
    """The text is JSON to Python's reader but not by the standard."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotJsonError(f"{name} is not a JSON value")


def read_object(path: Path) -> dict[str, object] | ConfigProblem:
    """Read one JSON object from a regular file of a sane size."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return ConfigProblem("not-a-file", f"{path} is not a regular file", "name a config.json")
        if status.st_size > MOST_BYTES:
            size = f"{status.st_size / 1024 / 1024:.1f} MB"
            limit = f"{MOST_BYTES // 1024 // 1024} MB"
            return ConfigProblem(
                "too-large", f"{path} is {size}, a model's config.json at most {limit}", "name a config.json"
            )
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)  # the file may have grown since
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return ConfigProblem("unreadable", f"{path} cannot be read: {reason}", "make it readable")
    return parse_object(data[:MOST_BYTES], str(path))


def parse_object(data: bytes, where: str) -> dict[str, object] | ConfigProblem:
    """Parse one JSON object; `where` is what messages call it."""
    hint = "correct the file or download it again"
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}:{error.colno}"
        return ConfigProblem("malformed", f"{place}: not valid JSON: {error.msg}", hint)
    except UnicodeDecodeError as error:
        return ConfigProblem("malformed", f"{where}: not UTF-8 text (byte {error.start})", hint)
    except RecursionError:
        return ConfigProblem("too-deep", f"{where}: JSON nested too deep", hint)
    except ValueError as error:  # NaN, or an integer of thousands of digits
        return ConfigProblem("malformed", f"{where}: not valid JSON: {error}", hint)
    if not isinstance(value, dict):
        return ConfigProblem("not-an-object", f"{where} holds {_json_type(value)}, not a JSON object", hint)
    if _levels_exceed(value, MOST_LEVELS):
        return ConfigProblem("too-deep", f"{where}: JSON nested more than {MOST_LEVELS} levels deep", hint)
    return value


def shape_problem(config: Mapping[str, object], where: str) -> ConfigProblem | None:
    """Tell why an object is no model's config, if it is none."""
    architectures = config.get("architectures")
    if architectures is None and not isinstance(config.get("model_type"), str):
        message = f"{where} is no model's config: it has neither `architectures` nor `model_type`"
        return ConfigProblem(
            "not-a-model-config", message, "name the config.json of a Hugging Face checkpoint"
        )
    listed = isinstance(architectures, list) and all(isinstance(name, str) for name in architectures)
    if architectures is not None and not listed:
        message = f"{where}: `architectures` is {_json_type(architectures)}, not a list of names"
        return ConfigProblem("not-a-model-config", message, "correct `architectures`")
    return None


def read_overrides(given: object) -> dict[str, Any]:
    """Read what a line changes in a model's config; what is no JSON object changes nothing."""
    try:
        read = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def overridden(
    config: Mapping[str, Any], overrides: Mapping[str, Any], kept: Collection[str] = (), at: str = ""
) -> dict[str, Any]:
    """Put values of a line over those of a config; parts at paths in `kept` keep what they do not name."""
    merged = dict(config)
    for key, value in overrides.items():
        old, path = config.get(key), f"{at}{key}"
        if path in kept and isinstance(old, dict) and isinstance(value, dict):
            merged[key] = overridden(old, value, kept, f"{path}.")
        else:
            merged[key] = value
    return merged


def config_value(config: object, path: str) -> object:
    """Give the value at a dotted path (`text_config.kv_lora_rank`, `architectures.0`), None where none is."""
    value = config
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def first_value(config: object, paths: Iterable[str], kind: str = "any") -> object:
    """Give the first value neither absent nor null; UNKNOWN when it is not of the fact's type `kind`."""
    for path in paths:
        value = config_value(config, path)
        if value is not None:
            return _as_kind(value, kind)
    return None


def text_config(config: Mapping[str, object]) -> Mapping[str, object]:
    """Give the part that describes the language model: a sub-config of a multimodal model, else all of it."""
    name = config_value(config, "architectures.0")
    if isinstance(name, str) and name.startswith("Llava") and name.endswith("ForCausalLM"):
        return config  # these keep an unused default text_config beside the real values
    for keys in _TEXT_KEYS:
        part = config_value(config, ".".join(keys))
        if isinstance(part, dict):
            # Overrides can add a part of a few values to a config that has none.
            return part if "num_attention_heads" in part else {**config, **part}
    return config


def _as_kind(value: object, kind: str) -> object:
    if kind == "int":
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else UNKNOWN
    if kind == "float":
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value if number else UNKNOWN
    expected = {"str": str, "bool": bool, "list": list, "set": list}.get(kind)
    return value if expected is None or isinstance(value, expected) else UNKNOWN


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "something else")


def _levels_exceed(value: object, limit: int) -> bool:
    """Walk level by level, without recursion."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)  # type: ignore[attr-defined]
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True
