"""JSON as trees with places."""

from __future__ import annotations

import re
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # no stub
from typing import Final

from mlacheck.launch.file.node import Mapping, Node, Scalar, Sequence, TreeError, aligned

_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)  # comments as editors allow them
_PLAIN: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
_DEEPEST: Final = 100


def value(text: str, at: int = 0, depth: int = 0) -> tuple[Node, int]:
    """Read the value at an offset; also give where it ends."""
    at = _skip(text, at)
    char = text[at : at + 1]
    if depth > _DEEPEST:
        raise TreeError("too-large", f"the JSON has more than {_DEEPEST} levels", at)
    if char == '"':
        return _string(text, at)
    if char == "[":
        return _list(text, at, depth)
    if char == "{":
        return _object(text, at, depth)
    match = _PLAIN.match(text, at)
    if match is None:
        raise TreeError("not-json", "a value is expected", at)
    return Scalar(
        match.group(), aligned(match.group(), text, at, match.end(), ""), at, match.end(), "flow", True
    ), match.end()


def _string(text: str, at: int) -> tuple[Scalar, int]:
    try:
        told, end = scanstring(text, at + 1, False)
    except JSONDecodeError as error:
        raise TreeError("not-json", error.msg, error.pos) from None
    return Scalar(told, aligned(told, text, at + 1, end - 1, "json"), at, end), end


def _list(text: str, start: int, depth: int) -> tuple[Sequence, int]:
    node = Sequence([], start)
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        item, at = value(text, at, depth + 1)
        node.items.append(item)
        at = _comma(text, at, "]")
    node.end = at + 1
    return node, at + 1


def _object(text: str, start: int, depth: int) -> tuple[Mapping, int]:
    node = Mapping([], start)
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise TreeError("not-json", "a key in double quotes is expected", at)
        key, at = _string(text, at)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise TreeError("not-json", "a colon is expected", at)
        item, at = value(text, at + 1, depth + 1)
        node.pairs.append((key, item))
        at = _comma(text, at, "}")
    node.end = at + 1
    return node, at + 1


def _comma(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != closing:
        raise TreeError("not-json", f"a comma or {closing} is expected", at)
    return at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def documents(text: str) -> list[Node]:
    """Read a JSON text, or one JSON value a line."""
    found = []
    at = _skip(text, 0)
    while at < len(text):
        node, at = value(text, at)
        found.append(node)
        at = _skip(text, at)
    return found
