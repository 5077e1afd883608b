"""Reads rule files: YAML to plain data, with the line of every value kept for error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import yaml

from mlacheck.data import yaml_loader
from mlacheck.frozen import frozen
from mlacheck.ruleset.error import RuleError

if TYPE_CHECKING:
    from pathlib import Path

# Rule files are written by people; anything larger is a mistake or an attack.
LARGEST_FILE: Final = 5_000_000

_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp")
)

Key = tuple[str | int, ...]


@frozen
class Source:
    """The data of one YAML file and the 1-based line of each key path in it."""

    name: str
    data: object
    lines: dict[Key, int]

    def line(self, path: Key) -> int | None:
        """Give the line of a path, or of its nearest parent that has one."""
        for length in range(len(path), -1, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return None

    def error(self, message: str, path: Key = ()) -> RuleError:
        """Make an error at a path of this file."""
        return RuleError(message, file=self.name, line=self.line(path))


def read(path: Path, name: str | None = None) -> Source:
    """Read a YAML file without anchors, aliases or tags of its own; raise `RuleError` otherwise."""
    shown = name or str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RuleError(f"cannot be read: {error.strerror}", file=shown) from None
    if len(raw) > LARGEST_FILE:
        raise RuleError(f"has {len(raw)} bytes; rule files may have {LARGEST_FILE}", file=shown)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RuleError(f"is not UTF-8 text (byte {error.start})", file=shown) from None
    return parse(text, shown)


def parse(text: str, name: str) -> Source:
    """Parse YAML text; see `read`."""
    loader_type = yaml_loader()
    loader = loader_type(text)
    try:
        # Aliases can expand a few bytes into gigabytes, and rules need none.
        for event in yaml.parse(text, Loader=loader_type):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                mark = event.start_mark
                line = None if mark is None else mark.line + 1
                raise RuleError("anchors and aliases are not allowed in rule files", file=name, line=line)
        node = loader.get_single_node()
        lines: dict[Key, int] = {}
        data = None if node is None else _plain(loader, node, (), lines, name)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or "is not YAML"
        raise RuleError(str(message), file=name, line=None if mark is None else mark.line + 1) from None
    except RecursionError:
        raise RuleError("is nested too deeply", file=name) from None
    finally:
        loader.dispose()
    return Source(name, data, lines)


def _plain(loader: yaml.SafeLoader, node: yaml.Node, path: Key, lines: dict[Key, int], name: str) -> object:
    lines.setdefault(path, node.start_mark.line + 1)
    if node.tag not in _TAGS:
        raise RuleError(f"tag {node.tag!r} is not allowed", file=name, line=node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        result: dict[object, object] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str | int):
                raise RuleError("a key is not a word", file=name, line=key_node.start_mark.line + 1)
            if key in result:
                raise RuleError(f"{key!r} is given twice", file=name, line=key_node.start_mark.line + 1)
            place = (*path, key)
            lines[place] = key_node.start_mark.line + 1
            result[key] = _plain(loader, value_node, place, lines, name)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_plain(loader, item, (*path, index), lines, name) for index, item in enumerate(node.value)]
    value: object = loader.construct_object(node)
    return value
