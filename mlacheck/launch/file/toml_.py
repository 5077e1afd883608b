"""TOML as trees with places: checked by tomllib, read again by a small scanner that keeps the places."""

from __future__ import annotations

import re
from typing import Final

from mlacheck.launch.file.node import Mapping, Node, Scalar, Sequence, TreeError, aligned

_HEADER: Final = re.compile(r"\s*\[(\[?)\s*([^\]\n]+?)\s*\]\]?")
_NAME: Final = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_KEY: Final = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=[ \t]*")
_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_PLAIN: Final = re.compile(r"[^\s,\]}#]+(?: \d\d:\d\d:\d\d\S*)?")
_QUOTES: Final = ('"""', "'''", '"', "'")
_DEEPEST: Final = 100


def documents(text: str) -> list[Node]:
    """Read a TOML text as one tree."""
    try:
        import tomllib  # type: ignore[import-not-found, unused-ignore]  # Python 3.11
    except ModuleNotFoundError:  # pragma: no cover - Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]  # the same before
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        offset = len(text)
        if match:
            lines = text.split("\n")
            offset = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
        raise TreeError("not-toml", re.sub(r" \(at .*\)$", "", str(error)), min(offset, len(text))) from None
    except RecursionError:
        raise TreeError("too-large", "the TOML is nested too deep", 0) from None
    root = Mapping([], 0, len(text))
    table = root
    at = _skip(text, 0)
    while at < len(text):
        if match := _HEADER.match(text, at):
            path = _path(text, *match.span(2))
            table = _table(root, path, repeated=bool(match[1]))
            at = match.end()
        elif match := _KEY.match(text, at):
            *path, name = _path(text, *match.span(1))
            node, at = _value(text, match.end(), 0)
            _table(table, path).pairs.append((name, node))
        else:
            at = len(text) if (stop := text.find("\n", at)) < 0 else stop + 1
        at = _skip(text, at)
    return [root]


def _path(text: str, start: int, end: int) -> list[Scalar]:
    """Read the names of a key, set apart by dots."""
    names = []
    for match in re.finditer(_NAME, text[start:end]):
        name, begin, stop = match.group().strip("\"'"), start + match.start(), start + match.end()
        names.append(Scalar(name, aligned(name, text, begin, stop, ""), begin, stop))
    return names


def _table(root: Mapping, path: list[Scalar], *, repeated: bool = False) -> Mapping:
    """Give the table of a path, made where it is not there yet; of `repeated` ones a new one."""
    table = root
    for number, name in enumerate(path, 1):
        held = next((node for key, node in table.pairs if key.text == name.text), None)
        if repeated and number == len(path):
            if not isinstance(held, Sequence):
                held = Sequence([], name.start)
                table.pairs.append((name, held))
            held.items.append(Mapping([], name.start, name.end))
        if isinstance(held, Sequence):
            held = held.items[-1] if held.items else None
        if not isinstance(held, Mapping):
            held = Mapping([], name.start, name.end)
            table.pairs.append((name, held))
        table = held
    return table


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > _DEEPEST:
        raise TreeError("too-large", f"the TOML has more than {_DEEPEST} levels", at)
    quote = next((one for one in _QUOTES if text.startswith(one, at)), None)
    if quote is not None:
        return _string(text, at, quote)
    if text[at : at + 1] == "[":
        items = Sequence([], at)
        at = _skip(text, at + 1)
        while at < len(text) and text[at] != "]":
            item, at = _value(text, at, depth + 1)
            items.items.append(item)
            at = _skip(text, at)
            at = _skip(text, at + 1) if text[at : at + 1] == "," else at
        items.end = at + 1
        return items, at + 1
    if text[at : at + 1] == "{":
        table = Mapping([], at)
        at = _skip(text, at + 1)
        while at < len(text) and text[at] != "}":
            match = _KEY.match(text, at)
            if match is None:
                break
            item, at = _value(text, match.end(), depth + 1)
            *path, name = _path(text, *match.span(1))
            _table(table, path).pairs.append((name, item))
            at = _skip(text, at)
            at = _skip(text, at + 1) if text[at : at + 1] == "," else at
        table.end = at + 1
        return table, at + 1
    match = _PLAIN.match(text, at)
    end = match.end() if match else at + 1
    told = text[at:end]
    return Scalar(told, aligned(told, text, at, end, ""), at, end, "flow", plain=True), end


def _string(text: str, at: int, quote: str) -> tuple[Scalar, int]:
    inner = at + len(quote)
    end = inner
    while not text.startswith(quote, end):
        end += 2 if quote[0] == '"' and text[end] == "\\" else 1
    while len(quote) == 3 and text.startswith(quote, end + 1):  # a quote may stand before the closing ones
        end += 1
    told = text[inner:end]
    if len(quote) == 3:
        told = told.removeprefix("\r\n").removeprefix("\n")
    if quote[0] == '"':
        told = re.sub(r"\\\s*\n\s*", "", told)
        told = re.sub(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", _unescaped, told, flags=re.DOTALL)
    return Scalar(told, aligned(told, text, inner, end, "toml"), at, end + len(quote)), end + len(quote)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "uU":
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(code, code)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
