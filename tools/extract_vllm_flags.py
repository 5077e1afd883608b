"""Record a vLLM version's `vllm serve` command line: its real parser, config classes and pins, as JSON.

    python tools/extract_vllm_flags.py WHEEL_DIR... [--python PYTHON] [--path DIR]... [--out rules/vllm/flags]

WHEEL_DIR is an unzipped vllm wheel. PYTHON must have the engine's pure-Python import dependencies and torch
(the CPU build is enough); `--path` adds folders to import from, such as another transformers. The entries are
those of tools/extract_flags.py, with these converters (`optional_X`: "" and "None" are None, else X;
`parsed_X`: X, refused in the words of an optional one):

json                     json.loads; a value that is not JSON is refused in the engine's own words
union_dict_and_str       text in braces is JSON, all else a string
human_readable_int       k m g t are powers of 1000, K M G T of 1024
human_readable_int_or_auto   the same; "auto" is -1
snake                    lower case, with underscores
parse_reasoning_parser   "none" is ""
id_list                  numbers or names separated by commas
overrides                text in braces is JSON, all else is refused by the model's config
lora_module              `name=path` or a JSON object with name and path
a config class           JSON for a pydantic dataclass, whose fields `converters` describes

`rewrites` names what the parser does to the words before argparse sees them: underscores in flags become
dashes, dotted flags (`--config.key value`) become one JSON value, `-O3` becomes `--optimization-level 3`.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import json
import os
import subprocess
import sys
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Union, cast, get_args, get_origin

import extract_flags as common

if TYPE_CHECKING:
    from collections.abc import Sequence

FLAGS: Final = Path(__file__).parent.parent / "rules" / "vllm" / "flags"
# Packages that the engine imports before it parses and that need not be there for that.
ABSENT: Final = (
    "anthropic",
    "av",
    "cbor2",
    "cuda",
    "cudnn",
    "cv2",
    "depyf",
    "flashinfer",
    "ijson",
    "llguidance",
    "lmformatenforcer",
    "mcp",
    "mistral_common",
    "model_hosting_container_standards",
    "numba",
    "nvtx",
    "openai_harmony",
    "outlines_core",
    "prometheus_fastapi_instrumentator",
    "quack",
    "tilelang",
    "torchaudio",
    "torchvision",
    "uvloop",
    "xgrammar",
)
PLAIN: Final = (
    "str",
    "int",
    "float",
    "loads",
    "union_dict_and_str",
    "human_readable_int",
    "human_readable_int_or_auto",
    "parse_reasoning_parser",
)
# Options whose values are read after the parser took them: by their action, or by the config they are for.
READ_LATER: Final = {"lora_modules": "lora_module", "hf_overrides": "overrides"}
# Bounds of a field: pydantic's marks, and JSON Schema's names.
BOUNDS: Final = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
# Functions without a name, by the flag they convert.
NAMELESS: Final = {
    "--moe-backend": "snake",
    "--linear-backend": "snake",
    "--sparse-indexer-topk-backend": "snake",
    "--device-ids": "id_list",
}


def converter_name(convert: Any, configs: dict[str, Any], flag: str) -> str:
    """Name what converts an option's value; a config class is described in `configs`."""
    name: str = getattr(convert or str, "__name__", repr(convert))
    inner = (
        dict(zip(convert.__code__.co_freevars, convert.__closure__ or (), strict=False))
        if convert and hasattr(convert, "__code__")
        else {}
    )
    if name == "_optional_type":
        return "optional_" + converter_name(inner["return_type"].cell_contents, configs, flag)
    if name == "_parse_type":
        return "parsed_" + converter_name(inner["return_type"].cell_contents, configs, flag)
    if name == "parse_dataclass":
        (cls,) = convert.__defaults__
        configs[cls.__name__] = describe_config(cls)
        return str(cls.__name__)
    if name == "<lambda>" and flag in NAMELESS:
        return NAMELESS[flag]
    if name == "loads":
        return "json"
    if name not in PLAIN:
        raise common.ExtractError(
            f"{flag}: converter {name} is new: read what it does, then add it to this tool"
        )
    return name


def describe_config(cls: type[Any], *, deep: bool = True) -> dict[str, Any]:
    """Describe the fields of a config class by its JSON schema, and those of its strict parts."""
    from pydantic import TypeAdapter  # the child only

    described: dict[str, Any] = {}
    shown = {"fields": described}
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        members = _enum_members(field.type)
        if members is not None:
            described[field.name] = {"members": [*members], **_refusals(cls, field.name, members)}
            continue
        try:
            schema = TypeAdapter(cast("Any", field.type)).json_schema()
        except Exception:  # noqa: BLE001 - a type without a schema is just not described
            schema = {}
        described[field.name] = {**_brief(schema), **_bounds(cls, field.name)}
        kinds = described[field.name].get("type", [])
        if kinds and "string" not in kinds and _takes(cls, field.name, "text"):
            described[field.name]["type"] = [*kinds, "string"]
        told = [
            one for one in described[field.name].get("choices", ()) if isinstance(one, str) and "_" in one
        ]
        if told and _takes(cls, field.name, told[0].upper().replace("_", "-")):
            described[field.name]["snake"] = True
        part = _strict_part(field.type) if deep else None
        if part is not None:
            described[field.name] |= describe_config(part)
    return shown


def _takes(cls: type[Any], name: str, text: str) -> bool:
    """Tell whether the class makes of a text what the field's type asks for."""
    try:
        cls(**{name: text})
    except Exception:  # noqa: BLE001 - it is refused, whatever says so
        return False
    return True


def _strict_part(hint: Any) -> type[Any] | None:
    """Give the config class that a field holds, where it refuses keys that are not its own."""
    options = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    for one in options:
        if dataclasses.is_dataclass(one) and getattr(one, "__pydantic_config__", {}).get("extra") == "forbid":
            return cast("type[Any]", one)
    return None


def _bounds(cls: type[Any], name: str) -> dict[str, Any]:
    """Give the bounds that a class sets for a field beside its type."""
    field = getattr(cls, "__pydantic_fields__", {}).get(name)
    found: dict[str, Any] = {}
    for one in getattr(field, "metadata", ()):
        for mark, bound in BOUNDS.items():
            if getattr(one, mark, None) is not None:
                found[bound] = getattr(one, mark)
    return found


def _enum_members(hint: Any) -> dict[str, Enum] | None:
    """List the members of an enumeration, which the engine reads by name in any case."""
    options = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    for one in options:
        if isinstance(one, type) and issubclass(one, Enum):
            return dict(one.__members__)
    return None


def _refusals(cls: type[Any], name: str, members: dict[str, Enum]) -> dict[str, Any]:
    """Tell how the class takes what is no member: a bare KeyError, and which numbers stand for members."""
    told: dict[str, Any] = {}
    numbers = [one.value for one in members.values() if isinstance(one.value, int)]
    if numbers:
        told["numbers"] = numbers
    try:
        cls(**{name: "no member"})
    except KeyError:
        told["raises"] = "KeyError"
    except Exception:  # noqa: BLE001, S110 - pydantic's own refusal, or another field's
        pass
    return told


def _brief(schema: dict[str, Any]) -> dict[str, Any]:
    definitions = schema.get("$defs", {})
    kinds: list[str] = []
    brief: dict[str, Any] = {}
    for option in schema.get("anyOf", [schema]):
        reference = option.get("$ref", "").rpartition("/")[2]
        one = definitions.get(reference, option)
        if "enum" in one or "const" in one:
            brief["choices"] = [*brief.get("choices", []), *one.get("enum", [one.get("const")])]
        kind = one.get("type")
        if isinstance(kind, str):
            kinds.append(kind)
        for bound in BOUNDS.values():
            if bound in one:
                brief[bound] = one[bound]
    if kinds.count("string") > 1:
        brief.pop("choices", None)  # any text beside the literals
    if kinds:
        brief["type"] = [*dict.fromkeys(kinds)]
    return brief


def child(_: Sequence[str]) -> dict[str, Any]:
    """Build the engine's parser and describe it."""
    importlib.import_module("torch")
    importlib.import_module("transformers")
    sys.meta_path.append(common._StandIns(ABSENT))  # noqa: SLF001 - the sister tool's
    platforms = cast("Any", importlib.import_module("vllm.platforms"))
    # The parser is not built on a machine without a device; choices and defaults are wanted for CUDA.
    type(platforms.current_platform).device_type = "cuda"
    parsers = cast("Any", importlib.import_module("vllm.utils.argparse_utils"))
    serve = cast("Any", importlib.import_module("vllm.entrypoints.cli.serve"))
    top = parsers.FlexibleArgumentParser(prog="vllm")
    parser = serve.ServeSubcommand().subparser_init(top.add_subparsers(dest="subparser"))
    configs: dict[str, Any] = {}
    actions = [action for action in parser._actions if action.option_strings]  # noqa: SLF001 - argparse has no public list
    options = []
    for action in actions:
        (row,) = common.describe_all(
            [_plain_default(action)],
            lambda convert, flag=action.option_strings[0]: converter_name(convert, configs, flag),  # type: ignore[misc]
        )
        negative = sorted(getattr(action, "negative_option_strings", ()))
        if negative:
            row["flags"] = [*row["flags"], *(flag for flag in negative if flag not in row["flags"])]
            row["negative"] = negative
        options.append(row)
    # Read as plain JSON by the parser, and by its class when the engine's config is built.
    speculative = cast("Any", importlib.import_module("vllm.config.speculative"))
    engine = cast("Any", importlib.import_module("vllm.engine.arg_utils")).EngineArgs
    dashes = 'replace("-", "_")' in inspect.getsource(engine.create_speculative_config)
    described = describe_config(speculative.SpeculativeConfig, deep=False)
    configs["SpeculativeConfig"] = {**described, "late": True, "dashes": dashes}
    for row in options:
        if row["dest"] == "speculative_config":
            row["type"] = "optional_SpeculativeConfig"
        if row["dest"] in READ_LATER:
            row["type"] = READ_LATER[row["dest"]]
    units = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    converters = {"human_readable_int": {"units": units}, **configs}
    return {
        "prog": parser.prog,
        "abbreviations": parser.allow_abbrev,
        "converters": converters,
        "options": options,
    }


def _plain_default(action: argparse.Action) -> argparse.Action:
    """Keep only what JSON can hold of a default; config objects are described by their classes."""
    try:
        common.plain(action.default)
    except common.ExtractError:
        action.default = None
    return action


def needs(wheel: common.Wheel) -> dict[str, Any]:
    """Give what a wheel pins; its start-up asks for no least versions of its own."""
    pins, ranges = common.read_pins(wheel.requirements)
    return {"pins": pins, "ranges": ranges, "minimums": {}}


def extract(
    wheel: common.Wheel,
    python: str,
    paths: Sequence[str],
    _: Sequence[str] = (),  # libraries to map first, which the sister tool takes
) -> dict[str, Any]:
    """Run the child and put the record of one version together."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(wheel.folder.resolve()), *paths]),
        "PYTHONHASHSEED": "0",
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
    }
    done = subprocess.run(  # noqa: S603 - this file, under the interpreter that the maintainer named
        [python, __file__, '{"child": []}'], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise common.ExtractError(f"{wheel.version}: {done.stderr.strip()[-3000:]}")
    found = json.loads(done.stdout.rpartition("\n")[2])
    head = {"engine": "vllm", "version": wheel.version, "prog": found.pop("prog")}
    rewrites = ["dashes", "dotted", "optimization-level"]
    # What `vllm serve` makes its model.
    positional = {"name": "model_tag", "gives": "model"}
    return {**head, "rewrites": rewrites, "positional": positional, **needs(wheel), **found}


def main() -> int:
    """Write one file for each wheel."""
    parser = argparse.ArgumentParser(
        description="Record vLLM versions' command lines; the module's docstring says how."
    )
    parser.add_argument("wheels", nargs="+", type=Path, metavar="WHEEL_DIR")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the engine's dependencies")
    parser.add_argument("--path", action="append", default=[], help="folder to import from, after the wheel")
    parser.add_argument("--out", type=Path, default=FLAGS, help="folder of the JSON files")
    given = parser.parse_args()
    try:
        for folder in given.wheels:
            wheel = common.read_wheel(folder, "vllm")
            record = extract(wheel, given.python, given.path)
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{wheel.version}.json").write_text(common.render(record), encoding="utf-8")
            print(f"{wheel.version}: {len(record['options'])} options")
    except common.ExtractError as problem:
        print(f"extract_vllm_flags: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith('{"child"'):
        sys.stdout.write("\n" + json.dumps(child(json.loads(sys.argv[1])["child"])))
        sys.exit(0)
    sys.exit(main())
