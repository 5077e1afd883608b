"""Where the parts of a Python text stand, and what its string literals hold."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.piece import Piece, Pieces, templated

if TYPE_CHECKING:
    from collections.abc import Iterator

# A part of a literal that is made when the code runs.
HOLE: Final = Piece("", names=("",))
_LITERAL: Final = re.compile(r"([rRbBuUfF]{0,2})(\"\"\"|'''|\"|')")
_BETWEEN: Final = re.compile(r"(?:\s|\\\n|#[^\n]*)*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": ""}
_SPECIAL: Final = re.compile(r"[\\{}]")
_QUOTED: Final = ("python",)


class Text:
    """A Python text, and the places of its syntax tree in the document."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces, self.text = pieces, pieces.text
        self._starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def offset(self, line: int, column: int) -> int:
        """Give the offset of ast's line and UTF-8 column."""
        start = self._starts[min(line, len(self._starts)) - 1]
        end = self.text.find("\n", start)
        row = self.text[start : len(self.text) if end < 0 else end]
        return start + (column if row.isascii() else len(row.encode()[:column].decode(errors="ignore")))

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Give where an expression stands in the text."""
        start = self.offset(node.lineno, node.col_offset)
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return start, end

    def place(self, node: ast.expr) -> int:
        """Give where an expression starts in the document."""
        return self.pieces.offset(self.span(node)[0])

    def string(self, node: ast.Constant) -> list[Piece]:
        """Give the text of a string; its letters have their places where they are written one by one."""
        value = str(node.value)
        found = self._read(*self.span(node))
        if found is not None and Pieces(found).text == value:
            return [*templated(found)]
        return [Piece(value, self.place(node), within=_QUOTED)] if value else []

    def parts(self, node: ast.JoinedStr) -> list[list[Piece]]:
        """Give the texts before, between and after the expressions of an f-string."""
        texts = [""]
        for value in node.values:
            if isinstance(value, ast.Constant):
                texts[-1] += str(value.value)
            else:
                texts.append("")
        found: list[list[Piece]] = [[]]
        for piece in self._read(*self.span(node)) or ():
            if piece is HOLE:
                found.append([])
            else:
                found[-1].append(piece)
        if [Pieces(part).text for part in found] == texts:
            return found
        at = self.place(node)
        return [[Piece(text, at, within=_QUOTED)] if text else [] for text in texts]

    def _read(self, start: int, end: int) -> list[Piece] | None:
        """Read literals that stand side by side; None where one is written in a way that is not followed."""
        pieces: list[Piece] = []
        at = start
        while at < end:
            match = _LITERAL.match(self.text, at)
            if match is None:
                return None
            raw, formatted = "r" in match[1].lower(), "f" in match[1].lower()
            at = match.end()
            while not self.text.startswith(match[2], at):
                if at >= end:
                    return None
                found = self._one(at, match[2], raw=raw, formatted=formatted)
                if found is None:
                    return None
                more, at = found
                pieces.extend(more)
            at += len(match[2])
            between = _BETWEEN.match(self.text, at, end)
            at = between.end() if between else at
        return pieces

    def _one(self, at: int, quote: str, *, raw: bool, formatted: bool) -> tuple[list[Piece], int] | None:
        """Read the next part of a literal: letters as they are, an escape, or an expression."""
        char = self.text[at]
        after = self.text[at + 1 : at + 2]
        if char == "\\" and not raw:
            if after not in _ESCAPES:
                return None
            text = _ESCAPES[after]
            return ([Piece(text, self.pieces.offset(at), within=_QUOTED)] if text else []), at + 2
        if char == "\\":
            return [*self._cut(at, at + 2)], at + 2
        if formatted and char in "{}":
            if after == char:
                return [Piece(char, self.pieces.offset(at), within=_QUOTED)], at + 2
            closed = self._closed(at) if char == "{" else -1
            return ([HOLE], closed) if closed > 0 else None
        stop = self.text.find(quote, at)
        special = next(
            (one for one in _SPECIAL.finditer(self.text, at, stop) if one.group() == "\\" or formatted), None
        )
        stop = special.start() if special else stop
        return ([*self._cut(at, stop)], stop) if stop > at else None

    def _cut(self, start: int, end: int) -> Iterator[Piece]:
        for piece in self.pieces.cut(start, end):
            yield piece._replace(within=(*piece.within, *_QUOTED))

    def _closed(self, at: int) -> int:
        """Give the offset after the brace that closes the one at an offset, -1 where there is none."""
        depth = 0
        for match in re.finditer(r"[{}]|'[^'\n]*'|\"[^\"\n]*\"", self.text[at:]):
            depth += {"{": 1, "}": -1}.get(match.group(), 0)
            if not depth:
                return at + match.end()
        return -1
