"""Text with a memory of where each part of it stands in the document, and what in it is open."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Stands for an open expansion where the text is read again: a letter that no shell treats specially.
_OPEN: Final = "\ue000"
_BLANK: Final = lazy(r"[ \t\n]+")


class Piece(NamedTuple):
    """A part of a text; an open one has the names it waits for, and its text is what was written."""

    text: str
    at: int = -1  # offset in the document, -1 when it is made up
    exact: bool = False  # its characters stand one by one at `at`
    names: tuple[str, ...] = ()
    via: tuple[str, ...] = ()  # variables that it came through
    within: tuple[str, ...] = ()  # quotes around it
    assumed: tuple[str, ...] = ()  # defaults that were taken, as NAME=VALUE
    splits: bool = False  # open, and may become several words

    def cut(self, start: int, end: int) -> Piece:
        """Give a part of it; an open one has no parts."""
        if self.names or (start == 0 and end == len(self.text)):
            return self
        at = self.at + start if self.exact else self.at
        return self._replace(text=self.text[start:end], at=at)


class Lines:
    """Line and column of offsets in a document."""

    __slots__ = ("_column", "_line", "_starts")

    def __init__(self, text: str, line: int = 1, column: int = 1) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._line, self._column = line, column

    def place(self, offset: int) -> tuple[int, int]:
        """Give line and column, both from 1."""
        offset = max(offset, 0)
        row = bisect_right(self._starts, offset) - 1
        column = offset - self._starts[row]
        return self._line + row, column + (self._column if row == 0 else 1)


class Pieces:
    """A text made of pieces, to be read as shell text."""

    __slots__ = ("pieces", "starts", "text")

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.pieces = [piece for piece in pieces if piece.text or piece.names]
        self.starts: list[int] = []
        length = 0
        shown = []
        for piece in self.pieces:
            self.starts.append(length)
            text = _OPEN if piece.names else piece.text
            shown.append(text)
            length += len(text)
        self.text = "".join(shown)

    def cut(self, start: int, end: int) -> list[Piece]:
        """Give the pieces between two offsets."""
        if start >= end:
            return []
        first = bisect_right(self.starts, start) - 1
        cut = []
        for index in range(first, len(self.pieces)):
            begin = self.starts[index]
            if begin >= end:
                break
            piece = self.pieces[index]
            if piece.names:
                cut.append(piece)
            else:
                cut.append(piece.cut(max(start - begin, 0), min(end - begin, len(piece.text))))
        return cut

    def offset(self, at: int) -> int:
        """Give the place in the document of an offset in the text."""
        if not self.pieces:
            return -1
        index = max(bisect_right(self.starts, at) - 1, 0)
        piece = self.pieces[index]
        return piece.at + min(at - self.starts[index], len(piece.text)) if piece.exact else piece.at

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give the span in the document, -1 twice when what is between does not stand there in one piece."""
        pieces = self.cut(start, end)
        at = pieces[0].at if pieces else -1
        for piece in pieces:
            if not piece.exact or piece.at != at:
                return -1, -1
            at += len(piece.text)
        return (pieces[0].at, at) if pieces else (-1, -1)

    def replaced(self, pattern: re.Pattern[str], make: Callable[[re.Match[str], int], Piece]) -> list[Piece]:
        """Give the pieces with what is made of each match and its place in the document."""
        found: list[Piece] = []
        at = 0
        for match in pattern.finditer(self.text):
            found += [*self.cut(at, match.start()), make(match, self.offset(match.start()))]
            at = match.end()
        return [*found, *self.cut(at, len(self.text))]

    def spelled(self, start: int, end: int) -> str:
        """Give the characters between two offsets, open parts as they were written."""
        return "".join(piece.text for piece in self.cut(start, end))


class Field(NamedTuple):
    """One word as a shell passes it on."""

    pieces: tuple[Piece, ...]
    start: int = -1  # its spelling in the document
    end: int = -1
    place: int = -1  # where a reader finds it in the document
    raw: str = ""  # as written; "" when quoting its text gives it
    within: tuple[str, ...] = ()
    style: str = "shell"

    @property
    def text(self) -> str:
        """The word, open parts as they were written."""
        if len(self.pieces) == 1:
            return self.pieces[0].text
        return "".join(piece.text for piece in self.pieces)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names it waits for."""
        return tuple(dict.fromkeys(name for piece in self.pieces for name in piece.names))

    @property
    def splits(self) -> bool:
        """Tell whether it may become no word or several."""
        return any(piece.splits for piece in self.pieces)

    @property
    def via(self) -> tuple[str, ...]:
        """The variables that it came through."""
        return tuple(dict.fromkeys(name for piece in self.pieces for name in piece.via))

    @property
    def assumed(self) -> tuple[str, ...]:
        """The defaults that were taken for it."""
        return tuple(dict.fromkeys(one for piece in self.pieces for one in piece.assumed))

    @property
    def live(self) -> tuple[str, ...]:
        """The open expansions in it, as written."""
        return tuple(dict.fromkeys(piece.text for piece in self.pieces if piece.names))


def literal(text: str, **at: object) -> Field:
    """Make a word of plain text."""
    return Field((Piece(text, **at),) if text else ())  # type: ignore[arg-type]  # Piece's own fields


def elision(what: str, at: int, style: str = "shell") -> Field:
    """Make a word that stands for any number of words; `what` tells what they are waited for from."""
    return Field((Piece("...", at, names=(what,), splits=True),), place=at, style=style)


def joined(fields: Iterable[Field], between: str = " ") -> tuple[Piece, ...]:
    """Give words as one text."""
    pieces: list[Piece] = []
    for index, field in enumerate(fields):
        pieces += [*([Piece(between)] if index and between else []), *field.pieces]
    return tuple(pieces)


def again(pieces: Iterable[Piece]) -> list[Piece]:
    """Give text that another shell reads: there what is open may be any words, unless it is quoted."""
    return [one._replace(splits=True) if one.names and "{{" not in one.text else one for one in pieces]


def one_place(pieces: Sequence[Piece]) -> tuple[int, int]:
    """Give the span in the document of pieces that stand there side by side, else -1 twice."""
    at = pieces[0].at if pieces else -1
    start = at
    for piece in pieces:
        if not piece.exact or piece.at != at or piece.names:
            return -1, -1
        at += len(piece.text)
    return start, at


def split(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Split settled text at blanks as a shell does an unquoted variable; [] marks a blank at an end."""
    words: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.names:
            words[-1].append(piece._replace(splits=True))
            continue
        at = 0
        for match in _BLANK.finditer(piece.text):
            if match.start() > at:
                words[-1].append(piece.cut(at, match.start()))
            words.append([])
            at = match.end()
        if at < len(piece.text):
            words[-1].append(piece.cut(at, len(piece.text)))
    return [words[0], *(word for word in words[1:-1] if word), *words[1:][-1:]]


def document(text: str, *, templates: bool = True) -> Pieces:
    """Make text of a whole document; CR LF counts as LF, and what `templates` fill in is open."""
    if "\r\n" not in text:
        whole = [Piece(text, 0, exact=True)]
        return Pieces(templated(whole) if templates else whole)
    pieces, at = [], 0
    for line in text.split("\r\n"):
        pieces.append(Piece(line + "\n", at, exact=True))
        at += len(line) + 2
    last = pieces.pop()
    pieces.append(last._replace(text=last.text[:-1]))
    return Pieces(templated(pieces) if templates else pieces)


_TEMPLATE: Final = lazy(r"\$?\{\{[^{}\n]*\}\}")


def templated(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Open the parts that a template engine fills in: `{{ x }}` and `${{ x }}`."""
    if not any("{{" in piece.text for piece in pieces):
        return tuple(pieces)
    whole = Pieces(pieces)

    def opened(match: re.Match[str], _: int) -> Piece:
        start, end = whole.span(*match.span())
        text = match.group()
        return Piece(text, start, exact=end - start == len(text), names=(text,))

    return tuple(whole.replaced(_TEMPLATE, opened))
