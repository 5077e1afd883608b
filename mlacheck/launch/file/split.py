"""Words of a string that no shell reads: compose and Docker split it by the shell's quoting rules alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.piece import Field, Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

_PART: Final = re.compile(r"\\\n|\\(.)|'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|([^\s'\"\\]+)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(?=[\"\\$`])")


def split_words(pieces: Iterable[Piece]) -> list[Field]:
    """Split a text into words; quotes count, expansions do not."""
    whole = Pieces(pieces)
    text = whole.text
    fields: list[Field] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        parts: list[Piece] = []
        while at < len(text) and (match := _PART.match(text, at)):
            for group in (1, 2, 3, 4):
                if match[group]:
                    parts.extend(_cut(whole, match, group))
            at = match.end()
            if match.group() == "\\\n" and at < len(text) and text[at].isspace():
                break
        if at == start:  # a quote that is never closed: taken as a letter
            parts.extend(whole.cut(at, at + 1))
            at += 1
        if not parts and text[start:at].strip("\\\n") == "":
            continue
        begin, stop = whole.span(start, at)
        inner = whole.cut(start, start + 1)[0]
        fields.append(
            Field(tuple(parts), begin, stop, whole.offset(start), whole.spelled(start, at), inner.within)
        )
    return fields


def _cut(whole: Pieces, match: re.Match[str], group: int) -> list[Piece]:
    start, end = match.span(group)
    if group != 3 or "\\" not in match[3]:
        return whole.cut(start, end)
    cut: list[Piece] = []
    at = start
    for escape in _ESCAPED.finditer(whole.text, start, end):
        if escape.start() < at:
            continue
        cut.extend(whole.cut(at, escape.start()))
        at = escape.end()
    return [*cut, *whole.cut(at, end)]
