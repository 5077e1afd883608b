"""Mappings of flags to values: the engine's own `--config` files, and those of tools that write them out."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Final

import yaml

from mlacheck.data import load_json
from mlacheck.frozen import replace
from mlacheck.launch.file.node import Mapping, Node, Scalar, Sequence
from mlacheck.launch.finder import Environment
from mlacheck.launch.piece import Field, Piece
from mlacheck.launch.programs import Module
from mlacheck.probes.engine import ENGINES, entry_points, recorded_versions

if TYPE_CHECKING:
    from mlacheck.launch.frame import Frame, Surroundings
    from mlacheck.launch.reader import Reader

_FEWEST: Final = 2
_DEEPEST: Final = 5


def _options(engine: str, versions: slice = slice(-1, None)) -> list[dict[str, Any]]:
    """Give the options of some of the recorded versions, of the newest alone if not told."""
    rows = (load_json(engine, "flags", f"{version}.json") for version in recorded_versions(engine)[versions])
    return [option for row in rows if isinstance(row, dict) for option in row["options"]]


@functools.cache
def _flags(engine: str) -> dict[str, str]:
    """Give the action of every long flag and dest of the newest version, with underscores."""
    names: dict[str, str] = {}
    for option in _options(engine):
        for flag in (*option["flags"], "--" + option["dest"]):
            if flag.startswith("--"):
                names[flag[2:].replace("-", "_")] = option["action"]
    return names


@functools.cache
def _switches(engine: str) -> frozenset[str]:
    """Name the arguments that are plain switches in some version; no other version has them with a value."""
    options = _options(engine, slice(None))
    return frozenset(one["dest"] for one in options if one["action"] == "store_true")


@functools.cache
def _telling(engine: str) -> frozenset[str]:
    """Name what a launch names in one way or another; without one of these a mapping is others' settings."""
    known = frozenset(entry_points(engine)["maps"])
    if not known:
        return known
    flags = (flag for one in _options(engine) if one["dest"] in known for flag in one["flags"])
    return known | {flag[2:].replace("-", "_") for flag in flags}


class FlagMaps:
    """Reads flag maps of one file."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def config_of(self, node: Mapping) -> str | None:
        """Give the engine whose flags a mapping plainly holds, as its own configuration files do."""
        keys = {key.text.replace("-", "_") for key, _ in node.pairs}
        telling = keys & frozenset().union(*map(_telling, ENGINES))
        if not telling:
            return None
        # Engines share flags: it is whose flags most of them are, and of several the caller's.
        known = {engine: len(keys & _flags(engine).keys()) for engine in ENGINES}
        engine = max(ENGINES, key=lambda one: (known[one], one == self.reader.default_engine))
        count = known[engine]
        # A few are known by two that tell, spelled as flags are: others' settings have underscores.
        flags = not any("_" in key.text for key, _ in node.pairs)
        sure = flags and len(telling) >= _FEWEST and len(keys) - count <= 1
        # They are the engine's settings all the same where it is named, or where each one is a flag of it.
        named = entry_points(engine)["maps"] or engine == self.reader.default_engine
        likely = count * 5 >= len(keys) * 4 and (flags or named)
        own = count == len(keys) > _FEWEST
        if count < _FEWEST or not (sure or likely or own):
            return None
        if sum(one == count for one in known.values()) > 1:
            self.reader.problem(
                "either-engine",
                f"several engines have all of these flags; they are read as {engine}'s",
                "--engine NAME says whose they are, and so does the line that names the file: --config FILE",
                node.start,
                "info",
            )
        return engine

    def read_under(
        self, node: Mapping, name: str, parent: Mapping, frame: Frame, around: Surroundings
    ) -> bool:
        """Read the mapping under a key that names an engine, or the mappings of its roles."""
        engine = next((one for one in ENGINES if one in name.lower()), ENGINES[0])
        roles = [(key, value) for key, value in node.pairs if isinstance(value, Mapping)]
        whole = [value for _, value in node.pairs if not isinstance(value, Mapping)]
        if not whole and roles:
            if not any(self._plausible(value, engine) for _, value in roles):
                return False
            for key, value in roles:
                env = self._environment(parent, key.text)
                self.read(value, engine, replace(frame, around=replace(around, label=key.text)), env)
            return True
        if not self._plausible(node, engine):
            return False
        self.read(node, engine, replace(frame, around=around), self._environment(parent, ""))
        return True

    def _plausible(self, node: Mapping, engine: str) -> bool:
        """Tell whether a mapping that is said to be an engine's holds flags."""
        known = _flags(engine) or _flags(ENGINES[0])
        keys = [key.text.replace("-", "_") for key, _ in node.pairs]
        return len(keys) >= _FEWEST and sum(key in known or "parallel" in key for key in keys) * 2 >= len(
            keys
        )

    def _environment(self, parent: Mapping, role: str) -> Environment:
        env = Environment()
        for name in (f"{role}_environment" if role else "environment", "environment", "env"):
            held = parent.get(name)
            if isinstance(held, Mapping):
                for key, (_, value) in held.all().items():
                    if isinstance(value, Scalar):
                        env.put(key, value.text)
                break
        return env

    def read(self, node: Mapping, engine: str, frame: Frame, env: Environment | None = None) -> None:
        """Read a mapping as the engine reads its config file."""
        fields = config_fields(node, engine)
        self.reader.flags(fields, Module(engine, "config"), frame, env or Environment(), node.start, node.end)


def switched_off(node: Mapping, engine: str) -> list[str]:
    """List the flags that switch off what a mapping sets to false and the engine has on, or may have."""
    on = {
        option["dest"]
        for option in _options(engine)
        if option["action"] == "boolean_optional" and option["default"] is not False
    }
    return [
        f"--no-{key.text}"
        for key, value in node.all().values()
        # The engine looks for the flag as it is written here, and its own are written with hyphens.
        if "_" not in key.text and key.text.replace("-", "_") in on and plain_value(value) is False
    ]


def config_fields(node: Mapping, engine: str) -> list[Field]:
    """Turn a mapping into the words an engine makes of it: lists spread, true a bare flag, null `None`."""
    fields: list[Field] = []
    for key, value in node.all().values():
        flag = key.field()._replace(pieces=(Piece("--"), *key.pieces), style="map")
        if isinstance(value, Sequence):
            if value.items:
                fields.append(flag)
                fields.extend(_scalar(item) for item in value.items if isinstance(item, Scalar))
        elif isinstance(value, Mapping):
            fields += [flag, Field((Piece(json.dumps(_plain(value))),), place=value.start, style="map")]
        else:
            told = plain_value(value)
            known = _flags(engine)
            name = key.text.replace("-", "_")
            action = known.get(name, "" if known else "store_true")
            if isinstance(told, bool) and (
                action == "store_true"
                or not entry_points(engine)["bare_by_action"]
                or name in _switches(engine)
            ):
                if told:
                    fields.append(flag)
            else:
                fields += [flag, _scalar(value)]
    return fields


def _scalar(node: Scalar) -> Field:
    told = plain_value(node)
    text = str(told).lower() if isinstance(told, bool) else str(told)
    if text == node.text:
        return node.field()
    names = tuple(dict.fromkeys(each for piece in node.pieces for each in piece.names))
    return Field(
        (Piece(text, node.start, names=names),), node.start, node.end, node.start, "", (), node.style
    )


def plain_value(node: Node) -> Any:
    """Give what YAML makes of a value."""
    if not isinstance(node, Scalar):
        return _plain(node)
    if not node.plain or any(piece.names for piece in node.pieces):
        return node.text
    try:
        loader = yaml.SafeLoader("")
        tag = loader.resolve(  # type: ignore[no-untyped-call]  # no stub
            yaml.ScalarNode, node.text, (True, False)
        )
        return loader.construct_object(yaml.ScalarNode(tag, node.text))
    except (yaml.YAMLError, ValueError, OverflowError):
        return node.text


def _plain(node: Node, depth: int = 0) -> Any:
    if isinstance(node, Scalar):
        return plain_value(node)
    if depth > _DEEPEST:  # aliases can make a small text huge
        return None
    if isinstance(node, Mapping):
        return {key: _plain(value, depth + 1) for key, (_, value) in node.all().items()}
    return [_plain(item, depth + 1) for item in node.items]
