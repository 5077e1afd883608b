"""Turn the words of a tree into the fields a shell would pass on, as far as the text itself settles them."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final, Protocol

from mlacheck.launch.piece import Field, Piece, joined, split
from mlacheck.launch.shell.arithmetic import compute
from mlacheck.launch.shell.parameter import expand_variable
from mlacheck.launch.shell.word import Word, spliced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from mlacheck.launch.shell.syntax import Syntax
    from mlacheck.launch.shell.world import Value

_LIST: Final = re.compile(r"\$@|\$\{@[^}]*\}|\$\{[A-Za-z_][A-Za-z0-9_]*\[@\].*\}", re.DOTALL)
_LEAVES: Final = frozenset(
    {"word", "number", "variable_name", "extglob_pattern", "regex", "special_variable_name"}
)
_ANSI: Final = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "?": "?", "a": "\a", "b": "\b",
    "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U(0{0,2}[0-9A-Fa-f]{1,6}))|([0-7]{1,3})|(.))", re.DOTALL
)
_LONGEST_NAME: Final = 60


class Variables(Protocol):
    """What expansions read."""

    def read(self, name: str) -> Value | None:
        """Give a variable's value in the present world, None when the text does not set it."""

    def positional(self) -> tuple[Field, ...] | None:
        """Give the words of "$@", None when they are not known."""

    def substituted(self, node: Node) -> tuple[Piece, ...] | None:
        """Give what a command substitution prints, None when the text does not settle it."""

    def there(self, pieces: Sequence[Piece]) -> bool | None:
        """Tell that a file is there, None when nobody knows."""


class Expander:
    """Expands nodes of one text in one world."""

    def __init__(self, syntax: Syntax, variables: Variables, within: tuple[str, ...] = ()) -> None:
        self.syntax, self.variables, self.within = syntax, variables, within
        self.text, self.pieces = syntax.text, syntax.pieces

    def words(self, nodes: Sequence[Node]) -> list[Field]:
        """Expand the words of a command; the grammar cuts some at a backslash, which are joined again."""
        fields: list[Field] = []
        at = 0
        while at < len(nodes):
            run = [nodes[at]]
            end = self.syntax.span(nodes[at])[1]
            at += 1
            while at < len(nodes):
                start = self.syntax.span(nodes[at])[0]
                gap = self.text[end:start]
                if gap.replace("\\\n", "").strip(" \t\n") == "" and (" " in gap or "\t" in gap or not gap):
                    break
                if gap.replace("\\\n", "")[:1] in (" ", "\t", "\n"):
                    break
                run.append(nodes[at])
                end = self.syntax.span(nodes[at])[1]
                at += 1
            fields.extend(self.word(run))
        return fields

    def word(self, nodes: Sequence[Node], *, splits: bool = True) -> list[Field]:
        """Expand one word; with `splits` an unquoted settled variable is split at blanks."""
        start, end = self.syntax.span(nodes[0])[0], self.syntax.span(nodes[-1])[1]
        node = nodes[0]
        if len(nodes) == 1 and node.type in ("word", "number") and "\\" not in self.text[start:end]:
            pieces = self.pieces.cut(start, end)
            if len(pieces) == 1 and not pieces[0].names:
                piece = pieces[0]
                stop = piece.at + len(piece.text) if piece.exact else -1
                begin = piece.at if piece.exact else -1
                return [Field((piece,), begin, stop, piece.at, piece.text, piece.within)]
        word = Word()
        at = start
        for node in nodes:
            begin, stop = self.syntax.span(node)
            self.literal(word, at, begin, quoted=False)
            self.add(word, node, quoted=False, splits=splits)
            at = stop
        if not word.begun:
            return word.fields
        place = self.pieces.offset(start)
        if word.fields or not word.whole:
            last = word.last if word.last is not None and tuple(word.pieces) == word.last.pieces else None
            # What has no place of its own, a value that is not known, stands where it is read.
            found = [*word.fields, last or spliced(word.pieces)]
            return [one if one.place >= 0 else one._replace(place=place) for one in found]
        begin, stop = self.pieces.span(start, end)
        raw = self.pieces.spelled(start, end).replace("\\\n", "")
        within = self.pieces.cut(start, start + 1)[0].within if end > start else ()
        return [Field(tuple(word.pieces), begin, stop, place, raw, within)]

    def scalar(self, nodes: Sequence[Node]) -> tuple[Piece, ...]:
        """Expand the right side of an assignment."""
        return joined(self.word(nodes, splits=False)) if nodes else ()

    def body(self, node: Node, *, quoted: bool) -> list[Piece]:
        """Expand a here-document."""
        start, end = self.syntax.span(node)
        if quoted:
            return self.pieces.cut(start, end)
        word = Word()
        self._inside(word, node, start, end)
        return word.pieces

    # Parts of a word.

    def add(self, word: Word, node: Node, *, quoted: bool, splits: bool) -> None:
        """Add what a node stands for."""
        kind = node.type
        start, end = self.syntax.span(node)
        if kind in _LEAVES or not node.children:
            if kind == "raw_string":
                self._quoted(word, self.pieces.cut(start + 1, end - 1), "single")
            elif kind == "ansi_c_string":
                self._ansi(word, start, end)
            elif kind == "$" and not quoted and self.text[end : end + 1] == '"':
                pass  # $"..." is "..."
            else:
                self.literal(word, start, end, quoted=quoted)
        elif kind in ("string", "translated_string"):
            opened = start + (kind == "translated_string")
            # "${A[@]}" of an empty array is no word at all.
            word.begun = word.begun or _LIST.fullmatch(self.text, opened + 1, end - 1) is None
            self._inside(word, node, opened + 1, end - 1)
        elif kind in ("concatenation", "command_name", "variable_assignment"):
            at = start
            for child in node.children:
                begin, stop = self.syntax.span(child)
                self.literal(word, at, begin, quoted=quoted)
                self.add(word, child, quoted=quoted, splits=splits)
                at = stop
        elif kind in ("simple_expansion", "expansion"):
            expand_variable(self, word, node, quoted=quoted, splits=splits)
        elif kind == "arithmetic_expansion" or (
            kind == "command_substitution"
            and self.text[start : start + 3] == "$(("
            and self.text[end - 2 : end] == "))"
        ):
            self._arithmetic(word, start, end)
        elif kind == "command_substitution":
            printed = self.variables.substituted(node)
            if printed is None:
                self.open(word, start, end, "", splits=splits and not quoted)
            else:
                word.whole = False
                self.value(word, printed, (), quoted=quoted, splits=splits)
        elif kind == "process_substitution":
            self.variables.substituted(node)
            self.open(word, start, end, "", splits=False)
        else:
            self.literal(word, start, end, quoted=quoted)

    def _inside(self, word: Word, node: Node, start: int, end: int) -> None:
        """Add what stands between double quotes: expansions, and everything else as it is."""
        at = start
        for child in node.children:
            if not child.type.endswith(("expansion", "substitution")):
                continue
            begin, stop = self.syntax.span(child)
            self.literal(word, at, begin, quoted=True)
            self.add(word, child, quoted=True, splits=True)
            at = stop
        self.literal(word, at, end, quoted=True)

    def literal(self, word: Word, start: int, end: int, *, quoted: bool) -> None:
        """Add text as it is, backslashes taken out."""
        if start >= end:
            return
        within = "double" if quoted else ""
        at = start
        back = self.text.find("\\", start, end)
        while back >= 0:
            after = self.text[back + 1 : back + 2]
            if after == "\n":
                keep, skip = back, back + 2
            elif not quoted or after in '"\\$`':
                keep, skip = back, back + 1
            else:
                back = self.text.find("\\", back + 2, end)
                continue
            self._quoted(word, self.pieces.cut(at, keep), within)
            at = skip
            back = self.text.find("\\", skip + (after != "\n"), end)
        self._quoted(word, self.pieces.cut(at, end), within)

    def _quoted(self, word: Word, pieces: Sequence[Piece], within: str) -> None:
        word.begun = True
        for piece in pieces:
            if within and not piece.names:
                word.pieces.append(piece._replace(within=(*piece.within, within)))
            elif piece.names:
                word.pieces.append(piece._replace(splits=piece.splits and not within))
            else:
                word.pieces.append(piece)

    def _ansi(self, word: Word, start: int, end: int) -> None:
        text = self.text[start + 2 : end - 1]
        out = _ESCAPE.sub(_unescaped, text)
        word.begun = True
        word.whole = False
        word.pieces.append(Piece(out, self.pieces.offset(start)))

    def _arithmetic(self, word: Word, start: int, end: int) -> None:
        inner = self.text[start:end]
        inner = inner[3:-2] if inner.startswith("$((") else inner[2:-1]
        names: list[str] = []
        number = compute(inner, self._number, names)
        if number is None:
            self.open(word, start, end, names[0] if len(names) == 1 else "", splits=False)
        else:
            word.whole = False
            word.begun = True
            word.pieces.append(Piece(str(number), self.pieces.offset(start), via=tuple(names)))

    def _number(self, name: str) -> str | None:
        value = self.variables.read(name)
        if value is None or value.items is not None or any(piece.names for piece in value.pieces):
            return None
        return "".join(piece.text for piece in value.pieces)

    def open(self, word: Word, start: int, end: int, name: str, *, splits: bool) -> None:
        """Leave an expansion as it is written."""
        pieces = self.pieces.cut(start, end)
        text = self.pieces.spelled(start, end).replace("\\\n", "")
        inner = [each for piece in pieces for each in piece.names]
        named = name or (text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "...")
        names = tuple(dict.fromkeys(inner or [named]))
        begin, stop = self.pieces.span(start, end)
        word.begun = True
        word.pieces.append(
            Piece(text, begin, exact=begin >= 0 and stop - begin == len(text), names=names, splits=splits)
        )

    def value(
        self, word: Word, pieces: Sequence[Piece], via: tuple[str, ...], *, quoted: bool, splits: bool
    ) -> None:
        """Add what a variable holds, split at blanks where the shell does."""
        named = [
            piece if not via else piece._replace(via=tuple(dict.fromkeys((*via, *piece.via))))
            for piece in pieces
        ]
        word.whole = False
        if quoted or not splits:
            word.begun = word.begun or quoted or bool(named)
            word.pieces.extend(piece._replace(splits=False) if piece.names else piece for piece in named)
            return
        parts = split(named)
        for index, part in enumerate(parts):
            if index:
                word.close()
            if part:
                word.begun = True
                word.pieces.extend(part)


def _unescaped(found: re.Match[str]) -> str:
    """Give the character that an escape within $'...' stands for."""
    *codes, octal, letter = found.groups()
    if letter is not None:
        return _ANSI.get(letter, found[0])
    code = int(octal, 8) if octal else int(next(filter(None, codes)), 16)
    return chr(code) if 0 < code <= sys.maxunicode else found[0]
