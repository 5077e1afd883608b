"""A word of a command while it is put together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mlacheck.launch.piece import Field, Piece, one_place
from mlacheck.launch.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Sequence


class Word:
    """A word while it is put together: some fields done, one open."""

    __slots__ = ("begun", "fields", "last", "pieces", "whole")

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self.pieces: list[Piece] = []
        self.begun = False
        self.whole = True  # it is what was written, quotes aside
        self.last: Field | None = None  # the word of an array that the open field is, if nothing joins it

    def close(self) -> None:
        """End the open field."""
        if self.begun:
            self.fields.append(spliced(self.pieces))
            self.pieces, self.begun = [], False

    def add_list(self, items: Sequence[Field]) -> None:
        """Add the words of an array; the first and the last one join what stands beside them."""
        self.whole = False
        for index, item in enumerate(items):
            if index:
                self.close()
            if not self.begun and index + 1 < len(items):
                self.fields.append(item)
                continue
            alone = not self.begun
            self.pieces.extend(item.pieces)
            self.begun = True
            if alone and index + 1 == len(items):
                self.last = item


def spliced(pieces: Sequence[Piece]) -> Field:
    """Make a word of text that a variable holds."""
    start, end = one_place(pieces)
    place = next((piece.at for piece in pieces if piece.at >= 0), -1)
    return Field(tuple(pieces), start, end, place, _written(pieces), pieces[0].within if pieces else ())


def _written(pieces: Sequence[Piece]) -> str:
    """Write a word so that its open parts stay open."""
    text = "".join(piece.text for piece in pieces)
    if not any(piece.names for piece in pieces):
        return quote(text)
    if any(piece.splits for piece in pieces):
        return text
    return '"' + "".join(p.text if p.names else re.sub(r'([\\"$`])', r"\\\1", p.text) for p in pieces) + '"'
