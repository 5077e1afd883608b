"""Split the plainest lines without a parser: one command, no expansions, nothing special."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.piece import Field, Piece
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from mlacheck.launch.piece import Pieces

_WORD: Final = lazy(r"(?:[A-Za-z0-9_@%+=:,./-]+|'[^'\n]*'|\"[^\"$`\\\n!]*\")+")
_PART: Final = lazy(r"'[^']*'|\"[^\"]*\"|[^'\"]+")
_QUOTES: Final = {"'": "single", '"': "double"}
_GAP: Final = lazy(r"(?:[ \t]|\\\n)+")
_SPECIAL: Final = frozenset(
    {
        "eval",
        "export",
        "declare",
        "local",
        "readonly",
        "typeset",
        "unset",
        "source",
        ".",
        "read",
        "set",
        "exec",
    }
    | {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "function"}
    | {"select", "in", "time", "coproc", "test", "true", "false", "exit", "return", "shift", "printf", "echo"}
)


def plain_words(pieces: Pieces) -> list[Field] | None:
    """Give the words of a line that every shell reads alike, None when a parser has to read it."""
    text = pieces.text.strip(" \t\n")
    at = pieces.text.find(text)
    end = at + len(text)
    text = pieces.text
    fields: list[Field] = []
    while at < end:
        match = _WORD.match(text, at, end)
        if match is None:
            return None
        word = match.group()
        start, stop = pieces.span(at, match.end())
        if start < 0:
            return None
        parts = []
        for part in _PART.finditer(word):
            inner: str = part.group()
            quotes: tuple[str, ...] = ()
            if inner[0] in _QUOTES:
                inner, quotes = inner[1:-1], (_QUOTES[inner[0]],)
            if inner:
                parts.append(Piece(inner, start + part.start() + len(quotes), exact=True, within=quotes))
        fields.append(Field(tuple(parts), start, stop, start, word))
        gap = _GAP.match(text, match.end(), end)
        at = match.end() if gap is None else gap.end()
        if gap is None and at < end:
            return None
    if not fields or fields[0].text in _SPECIAL or re.match(r"[A-Za-z_]\w*\+?=", fields[0].raw):
        return None
    return fields
