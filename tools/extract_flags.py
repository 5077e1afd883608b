"""Record an engine version's command line: its real argparse parser, pins and version gates, as JSON.

    python tools/extract_flags.py WHEEL_DIR... [--python PYTHON] [--path DIR]... [--out rules/sglang/flags]

WHEEL_DIR is an unzipped sglang wheel (`pip download --no-deps sglang==V`, then unzip). PYTHON must have the
engine's pure-Python import dependencies and torch. The CPU build is enough: the child process tells the
engine that a CUDA device is there, and stands empty modules in for native packages that are not installed.
`--path` adds folders to import from (such as another transformers), `--preload` a library to map first.

The parser is the one that `prepare_server_args` builds, caught when it starts to parse. `pins` and `ranges`
are the wheel's requirements on Linux x86-64, `minimums` what the start-up demands. One entry an option:

dest, flags  as argparse has them
action       store, store_true, store_false, store_const, append, help; boolean_optional (flags with --no-X);
             deprecated (takes no value, stores nothing); lora_path (a list; a word in braces is JSON)
nargs        null (one value), 0 (none), "?", "*", "+"; a deprecated store_const may have null: it reads one
             value, checks it against choices and stores const instead
type         the converter by the engine's name, which argparse quotes ("invalid loads value"); null when the
             action reads no value; the last two and the ones marked + refuse in their own words
  str, int, float      the builtins (int takes "1_000" and " 7 ")
  loads                json.loads: any JSON value
  json_list_type +     orjson.loads: despite its name any strict JSON value (no NaN)
  human_readable_int + stripped; digits with k M G T (powers of 1000; decimals allowed, the product cut to
                       a whole number) or Ki Mi Gi Ti (powers of 1024, no decimals), case matters; else int()
  nullable_str         "" and "None" are None
  parse_cuda_graph_backend_arg  a string, but not one that `converters` has under `retired`
  parse_cuda_graph_config_arg   a JSON object {phase: {key: value}} of the `phases` in `converters`; a
                                `backend` in it is checked as above
default      what the dest gets when no flag is given. Of several options with one dest argparse takes the
             first default that is not suppressed, and all of them show it here; null when there is none
suppress     the option itself sets no default
const        of store_const, and of "?" without a value
choices      as values after conversion; sorted and `unordered` where the engine has a set, whose order in
             messages changes between runs
required, hidden   present when true
deprecated   the replacement that the engine names, or "" when it names none; the flag works, with a warning
message      the engine's text when the flag ends the launch
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import types
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FLAGS: Final = Path(__file__).parent.parent / "rules" / "sglang" / "flags"
ACTIONS: Final = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_true",
    "_StoreFalseAction": "store_false",
    "_StoreConstAction": "store_const",
    "_AppendAction": "append",
    "_HelpAction": "help",
    "BooleanOptionalAction": "boolean_optional",
    "LoRAPathAction": "lora_path",
    "DeprecatedAction": "deprecated",
    "DeprecatedStoreTrueAction": "store_true",
    "DeprecatedStoreConstAction": "store_const",
    "DeprecatedAliasStoreAction": "store",
    "EnableDisableAction": "boolean_optional",
    "DeprecatedLogConfigFileAction": "store",
    "LoRAParserAction": "store",
}
# The engine's own names, which argparse puts in its messages.
CONVERTERS: Final = (
    "str",
    "int",
    "float",
    "loads",
    "json_list_type",
    "human_readable_int",
    "nullable_str",
    "parse_cuda_graph_config_arg",
    "parse_cuda_graph_backend_arg",
)
# What markers in the metadata are judged by: the machine that serves.
SERVER: Final = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "python_version": "3.12",
    "python_full_version": "3.12.0",
    "implementation_name": "cpython",
    "os_name": "posix",
    "extra": "",
}
# Native packages of a CUDA install that the engine imports before it parses, in one version or another.
NATIVE: Final = (
    "av",
    "cuda",
    "cutlass",
    "datasets",
    "decord",
    "deep_gemm",
    "flash_attn",
    "flash_mla",
    "humming",
    "kernels",
    "mistral_common",
    "numba",
    "outlines",
    "quack",
    "sgl_kernel",
    "soundfile",
    "tilelang",
    "timm",
    "torch_memory_saver",
    "torchao",
    "torchaudio",
    "xgrammar",
)
RETIRED_BACKENDS: Final = ("tc_piecewise",)


class ExtractError(Exception):
    """Something in a wheel that this tool does not know how to record."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """An unzipped engine wheel."""

    folder: Path
    version: str
    requirements: tuple[Requirement, ...]


def read_wheel(folder: Path, engine: str = "sglang") -> Wheel:
    """Read a wheel's version and the requirements that a Linux x86-64 server installs."""
    found = sorted(folder.glob(f"{engine}-*.dist-info/METADATA"))
    if len(found) != 1:
        raise ExtractError(f"{folder}: no single {engine}-*.dist-info; give the folder of an unzipped wheel")
    header = found[0].read_text(encoding="utf-8").partition("\n\n")[0]
    version = re.search(r"^Version: (.+)$", header, re.MULTILINE)
    if version is None:
        raise ExtractError(f"{found[0]}: no version")
    listed = [Requirement(text) for text in re.findall(r"^Requires-Dist: (.+)$", header, re.MULTILINE)]
    wanted = tuple(one for one in listed if one.marker is None or one.marker.evaluate(SERVER))
    return Wheel(folder, version[1].strip(), wanted)


def read_pins(requirements: Iterable[Requirement]) -> tuple[dict[str, str], dict[str, str]]:
    """Split requirements into exact versions and ranges, by normalised distribution name."""
    pins: dict[str, str] = {}
    ranges: dict[str, str] = {}
    for one in requirements:
        name, specifiers = canonicalize_name(one.name), list(one.specifier)
        if len(specifiers) == 1 and specifiers[0].operator == "==":
            pins[name] = specifiers[0].version
        elif specifiers:
            ranges[name] = str(one.specifier)
    return dict(sorted(pins.items())), dict(sorted(ranges.items()))


def read_minimums(source: str) -> dict[str, str]:
    """Find the versions that the engine's start-up demands, from its `assert_pkg_version` calls."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "assert_pkg_version"):
            continue
        name, least = (cast("str", ast.literal_eval(argument)) for argument in node.args[:2])
        if found.setdefault(canonicalize_name(name), least) != least:
            raise ExtractError(f"two minimums of {name}")
    return dict(sorted(found.items()))


def plain(value: Any) -> Any:
    """Turn a default or a choice into what JSON can hold."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise ExtractError(f"{value!r} has no plain form")


def _action(kind: type[argparse.Action]) -> str:
    if kind.__name__ not in ACTIONS:
        raise ExtractError(f"action {kind.__name__} is new: read what it does, then add it to this tool")
    return ACTIONS[kind.__name__]


def _converter(convert: object) -> str:
    name: str = getattr(convert or str, "__name__", repr(convert))
    if name not in CONVERTERS:
        raise ExtractError(f"converter {name} is new: read what it does, then add it to this tool")
    return name


def describe(action: argparse.Action, converter: Callable[[object], str] = _converter) -> dict[str, Any]:
    """Describe one option as the docstring of this module says, with the default that it asks for."""
    kind = type(action)
    name = _action(kind)
    reads = action.nargs != 0 and name not in {"help", "boolean_optional"}
    option: dict[str, Any] = {
        "dest": action.dest,
        "flags": list(action.option_strings),
        "action": name,
        "type": converter(action.type) if reads else None,
        "choices": None,
        "nargs": 0 if name == "boolean_optional" else action.nargs,
        "default": None if action.default is argparse.SUPPRESS else plain(action.default),
    }
    if action.choices is not None:
        choices = [plain(choice) for choice in action.choices]
        unordered = isinstance(action.choices, (set, frozenset))
        option["choices"] = sorted(choices) if unordered else choices
        if unordered:
            option["unordered"] = True
    if action.default is argparse.SUPPRESS:
        option["suppress"] = True
    constant = getattr(action, "const_value", action.const)
    if name == "store_const" or (action.nargs == "?" and constant is not None):
        option["const"] = plain(constant)
    if action.required:
        option["required"] = True
    if action.help is argparse.SUPPRESS:
        option["hidden"] = True
    message = getattr(action, "error_message", None)
    if message is not None:
        option["message"] = message
    elif kind.__name__.startswith("Deprecated"):
        option["deprecated"] = getattr(action, "new_flag", None) or ""
    return option


def describe_all(
    actions: Iterable[argparse.Action], converter: Callable[[object], str] = _converter
) -> list[dict[str, Any]]:
    """Describe every option, with the default that its dest really gets."""
    options = [describe(action, converter) for action in actions]
    effective: dict[str, Any] = {}
    for option in options:
        if not option.get("suppress"):
            effective.setdefault(option["dest"], option["default"])
    for option in options:
        option["default"] = effective.get(option["dest"])
    return options


# --- the child process, which imports the engine ---


class _Look(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls()


class _Thing(metaclass=_Look):
    """What a stand-in module's names are: called, decorated with and looked into, it stays inert."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __call__(self, *_: object, **__: object) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(self)()

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> dict[str, str]:
        return {"type": "any"}


class _Anything(types.ModuleType):
    """A module with every name, for native packages that only have to be importable."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Look(name, (_Thing,), {})


class _Metadata(importlib.metadata.Distribution):
    def read_text(self, filename: str) -> str | None:
        return "Metadata-Version: 2.1\nName: torchvision\nVersion: 1.0\n" if filename == "METADATA" else None

    def locate_file(self, path: object) -> Any:
        raise FileNotFoundError(path)


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Iterable[str]) -> None:
        self.names = {name for name in names if importlib.util.find_spec(name) is None}

    def find_distributions(self, context: Any) -> list[importlib.metadata.Distribution]:
        """Show torchvision's metadata, without which transformers hides classes that the engine extends."""
        return [_Metadata()] if context.name == "torchvision" and "torchvision" in self.names else []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname.partition(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Anything(spec.name)
        module.__dict__.update(__version__="0", __path__=[])
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


class _CaughtError(Exception):
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def _pretend_cuda() -> None:
    """Let the engine see one CUDA device, as platform-dependent choices and defaults are wanted for CUDA."""
    import torch  # the child only

    cuda = cast("Any", torch.cuda)
    device = types.SimpleNamespace(
        name="GPU", major=9, minor=0, total_memory=80 << 30, multi_processor_count=132, gcnArchName=""
    )
    cast("Any", torch.version).cuda = "13.0"
    answers: dict[str, Callable[..., object]] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda *_: (9, 0),
        "get_device_name": lambda *_: "GPU",
        "get_device_properties": lambda *_: device,
        "mem_get_info": lambda *_: (80 << 30, 80 << 30),
    }
    for name, answer in answers.items():
        setattr(cuda, name, answer)


def _catch(parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
    raise _CaughtError(parser)


def _refusal(convert: Callable[[str], object], text: str) -> str | None:
    try:
        convert(text)
    except argparse.ArgumentTypeError as refusal:
        return str(refusal)
    return None


def child(preload: Sequence[str]) -> dict[str, Any]:
    """Build the engine's parser and describe it."""
    import ctypes

    for library in preload:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    _pretend_cuda()
    sys.meta_path.append(_StandIns(["torchvision"]))
    importlib.import_module("transformers.activations")  # it must see which other packages are really there
    sys.meta_path.append(_StandIns(NATIVE))
    arguments = importlib.import_module("sglang.srt.server_args")
    cast("Any", argparse.ArgumentParser).parse_args = _catch
    try:
        arguments.prepare_server_args(["--model-path", "model"])
    except _CaughtError as caught:
        parser = caught.parser
    else:
        raise ExtractError("prepare_server_args did not parse anything")
    options = describe_all(parser._actions)  # noqa: SLF001 - argparse has no public list
    graph = importlib.import_module("sglang.srt.model_executor.cuda_graph_config")
    phases = {phase: sorted(keys) for phase, keys in graph.ALLOWED_KEYS_PER_PHASE.items()}
    converters: dict[str, Any] = {"parse_cuda_graph_config_arg": {"phases": phases}}
    check = getattr(graph, "parse_cuda_graph_backend_arg", None)
    if check is not None:
        refused = {name: _refusal(check, name) for name in RETIRED_BACKENDS}
        retired = {name: text for name, text in refused.items() if text is not None}
        converters["parse_cuda_graph_backend_arg"] = {"retired": retired}
    return {
        "prog": parser.prog,
        "abbreviations": parser.allow_abbrev,
        "converters": converters,
        "options": options,
    }


# --- the tool ---


def needs(wheel: Wheel) -> dict[str, Any]:
    """Give what a wheel pins, and the versions that its start-up demands."""
    pins, ranges = read_pins(wheel.requirements)
    gates = wheel.folder / "sglang" / "srt" / "entrypoints" / "engine.py"
    return {"pins": pins, "ranges": ranges, "minimums": read_minimums(gates.read_text(encoding="utf-8"))}


def extract(wheel: Wheel, python: str, paths: Sequence[str], preload: Sequence[str]) -> dict[str, Any]:
    """Run the child and put the record of one version together."""
    request = {"child": {"preload": [*preload]}}
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(wheel.folder.resolve()), *paths]),
        "PYTHONHASHSEED": "0",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(  # noqa: S603 - this file, under the interpreter that the maintainer named
        [python, __file__, json.dumps(request)], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ExtractError(f"{wheel.version}: {done.stderr.strip()[-3000:]}")
    found = json.loads(done.stdout.rpartition("\n")[2])
    head = {"engine": "sglang", "version": wheel.version, "prog": found.pop("prog")}
    return {**head, **needs(wheel), **found}


def render(record: dict[str, Any]) -> str:
    """Write a record with one option a line, so that versions can be compared with a line diff."""
    rows = ",\n".join("  " + json.dumps(option) for option in record["options"])
    head = {key: value for key, value in record.items() if key != "options"}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    return "{\n" + ",\n".join([*lines, f' "options": [\n{rows}\n ]']) + "\n}\n"


def main() -> int:
    """Write one file for each wheel."""
    parser = argparse.ArgumentParser(
        description="Record engine versions' command lines; the module's docstring says how."
    )
    parser.add_argument("wheels", nargs="+", type=Path, metavar="WHEEL_DIR")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the engine's dependencies")
    parser.add_argument("--path", action="append", default=[], help="folder to import from, after the wheel")
    parser.add_argument(
        "--preload", action="append", default=[], help="shared library to map before the engine"
    )
    parser.add_argument("--out", type=Path, default=FLAGS, help="folder of the JSON files")
    given = parser.parse_args()
    try:
        for folder in given.wheels:
            wheel = read_wheel(folder)
            record = extract(wheel, given.python, given.path, given.preload)
            (given.out / f"{wheel.version}.json").write_text(render(record), encoding="utf-8")
            print(f"{wheel.version}: {len(record['options'])} options")
    except ExtractError as problem:
        print(f"extract_flags: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith('{"child"'):
        sys.stdout.write("\n" + json.dumps(child(**json.loads(sys.argv[1])["child"])))
        sys.exit(0)
    sys.exit(main())
