"""Decide a test where the text itself settles it."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from mlacheck.launch.piece import Field, Piece
    from mlacheck.launch.shell.expand import Expander

_FILE_TESTS: Final = frozenset({"-f", "-e", "-r", "-s", "-a"})
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")


def decide(node: Node, expander: Expander) -> bool | None:
    """Decide the inside of `[ ... ]` or `[[ ... ]]`, None when it depends on something open."""
    kind = node.type
    parts = node.children
    if kind == "test_command":
        return decide(parts[1], expander) if len(parts) == 3 else None
    if kind == "parenthesized_expression":
        return decide(parts[1], expander) if len(parts) == 3 else None
    if kind == "unary_expression" and len(parts) == 2:
        operator = expander.syntax.source(parts[0])
        if operator == "!":
            inner = decide(parts[1], expander)
            return None if inner is None else not inner
        if operator in _FILE_TESTS:
            fields = expander.word([parts[1]], splits=False)
            return expander.variables.there(fields[0].pieces) if len(fields) == 1 else None
        return _unary(operator, _settled(parts[1], expander))
    if kind == "binary_expression" and len(parts) == 3:
        operator = expander.syntax.source(parts[1])
        if operator in ("&&", "||", "-a", "-o"):
            left, right = decide(parts[0], expander), decide(parts[2], expander)
            if operator in ("&&", "-a"):
                return False if left is False or right is False else None if None in (left, right) else True
            return True if left or right else None if None in (left, right) else False
        return _binary(operator, _settled(parts[0], expander), _settled(parts[2], expander))
    if kind in ("string", "word", "simple_expansion", "expansion", "concatenation", "raw_string"):
        text = _settled(node, expander)
        return None if text is None else bool(text)
    return None


def decide_words(fields: Sequence[Field], there: Callable[[Sequence[Piece]], bool | None]) -> bool | None:
    """Decide the words of `test`."""
    if len(fields) == 2 and fields[0].text in _FILE_TESTS:
        return there(fields[1].pieces)
    texts = [_text(field) for field in fields]
    if any(text is None for text in texts):
        return None
    if len(texts) == 3:
        return _binary(str(texts[1]), texts[0], texts[2])
    return _unary(str(texts[0]), texts[1]) if len(texts) == 2 else None


def matches(pattern: str, text: str) -> bool:
    """Tell whether a `case` pattern matches."""
    return fnmatch.fnmatchcase(text, pattern.replace("[!", "[!"))


def _settled(node: Node, expander: Expander) -> str | None:
    fields = expander.word([node], splits=False)
    if len(fields) > 1:
        return None
    return _text(fields[0]) if fields else ""


def _text(field: Field) -> str | None:
    """Give a word's text, None when the caller's environment could change it."""
    return None if field.unknown or field.assumed else field.text


def _unary(operator: str, text: str | None) -> bool | None:
    if text is None:
        return None
    return {"-n": bool(text), "-z": not text}.get(operator)


def _binary(operator: str, left: str | None, right: str | None) -> bool | None:
    if left is None or right is None:
        return None
    if operator in ("==", "=", "!="):
        return matches(right, left) == (operator != "!=")
    if operator in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
        if not _NUMBER.fullmatch(left) or not _NUMBER.fullmatch(right):
            return None
        one, other = int(left), int(right)
        return {
            "-eq": one == other,
            "-ne": one != other,
            "-lt": one < other,
            "-le": one <= other,
            "-gt": one > other,
            "-ge": one >= other,
        }[operator]
    return None
