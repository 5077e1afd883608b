"""The syntax tree of a Python text, without the statements in it that are no Python."""

from __future__ import annotations

import ast
import re
from typing import Final

from mlacheck.frozen import frozen

_MOST: Final = 30  # broken statements of one text
_GOES_ON: Final = re.compile(r"[ \t]*(?:$|#|[)\]}]|(?:elif|else|except|finally)\b)")


@frozen
class Broken:
    """A statement that is no Python: its start and end, what is wrong with it, and where that shows."""

    start: int
    end: int
    message: str
    at: int


def repaired(text: str) -> tuple[ast.Module, tuple[Broken, ...]]:
    """Parse a text without the statements that are no Python; with too many of them, nothing is left."""
    broken: list[Broken] = []
    left = text
    while len(broken) < _MOST:
        tree, error = _parsed(left)
        if tree is not None:
            return tree, tuple(broken)
        cut = _cut(left, error)
        if cut is None:
            break
        found, left = cut
        broken.append(found)
    message, at = _said(text, _parsed(text)[1])
    return ast.Module([], []), (Broken(0, len(text), message, at),)


def _parsed(text: str) -> tuple[ast.Module | None, Exception | None]:
    try:
        return ast.parse(text), None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return None, error


def _said(text: str, error: Exception | None) -> tuple[str, int]:
    """Give what is wrong, and the offset of its place."""
    line = min(getattr(error, "lineno", None) or 1, text.count("\n") + 1)
    start = _starts(text)[line - 1]
    column = max(getattr(error, "offset", None) or 1, 1) - 1
    return getattr(error, "msg", None) or type(error).__name__, min(start + column, len(text))


def _starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _cut(text: str, error: Exception | None) -> tuple[Broken, str] | None:
    """Take the smallest statement out after which the text is Python as far as the statement reaches."""
    message, at = _said(text, error)
    starts = _starts(text)
    lines = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    row = text.count("\n", 0, at)
    tried: set[tuple[int, int]] = set()
    for indent in sorted({_indent(line) for line in lines[: row + 1] if line.strip()}, reverse=True):
        first = next(
            (at for at in range(row, -1, -1) if lines[at].strip() and _indent(lines[at]) <= indent), None
        )
        if first is None or _GOES_ON.match(lines[first]):
            continue
        last = next(
            (
                at
                for at in range(row + 1, len(lines))
                if not _GOES_ON.match(lines[at]) and _indent(lines[at]) <= _indent(lines[first])
            ),
            len(lines),
        )
        if (first, last) in tried:
            continue
        tried.add((first, last))
        start, end = starts[first], starts[last] if last < len(lines) else len(text)
        blank = re.sub(r"[^\n]", " ", text[start:end])
        column = _indent(lines[first])
        left = text[:start] + blank[:column] + "0" + blank[column + 1 :] + text[end:]
        _, again = _parsed(left)
        if again is None or _said(left, again)[1] >= end:
            return Broken(start, end, message, at), left
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
