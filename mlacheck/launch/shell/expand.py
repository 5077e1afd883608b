"""Turn the words of a tree into the fields a shell would pass on, as far as the text itself settles them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from mlacheck.launch.piece import Field, Piece, one_place, split
from mlacheck.launch.quoting import quote
from mlacheck.launch.shell.arithmetic import compute
from mlacheck.launch.shell.world import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from mlacheck.launch.shell.syntax import Syntax

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-]")
_SUBSCRIPT: Final = re.compile(r"\[([^\]]*)\]")
_LIST: Final = re.compile(r"\$@|\$\{@[^}]*\}|\$\{[A-Za-z_][A-Za-z0-9_]*\[@\].*\}", re.DOTALL)
_LEAVES: Final = frozenset(
    {"word", "number", "variable_name", "extglob_pattern", "regex", "special_variable_name"}
)
_ANSI: Final = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "e": "\x1b",
}  # fmt: skip
_LONGEST_NAME: Final = 60


class Variables(Protocol):
    """What expansions read."""

    def read(self, name: str) -> Value | None:
        """Give a variable's value in the present world, None when the text does not set it."""

    def positional(self) -> tuple[Field, ...] | None:
        """Give the words of "$@", None when they are not known."""

    def substituted(self, node: Node) -> tuple[Piece, ...] | None:
        """Give what a command substitution prints, None when the text does not settle it."""


class _Word:
    """A word while it is put together: some fields done, one open."""

    __slots__ = ("begun", "fields", "last", "pieces", "whole")

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self.pieces: list[Piece] = []
        self.begun = False
        self.whole = True  # it is what was written, quotes aside
        self.last: Field | None = None  # the word of an array that the open field is, if nothing joins it

    def close(self) -> None:
        if self.begun:
            self.fields.append(_spliced(self.pieces))
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


def _spliced(pieces: Sequence[Piece]) -> Field:
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
        word = _Word()
        at = start
        for node in nodes:
            begin, stop = self.syntax.span(node)
            self._literal(word, at, begin, quoted=False)
            self._add(word, node, quoted=False, splits=splits)
            at = stop
        if not word.begun:
            return word.fields
        if word.fields or not word.whole:
            last = word.last if word.last is not None and tuple(word.pieces) == word.last.pieces else None
            return [*word.fields, last or _spliced(word.pieces)]
        place = self.pieces.offset(start)
        begin, stop = self.pieces.span(start, end)
        raw = self.pieces.spelled(start, end).replace("\\\n", "")
        within = self.pieces.cut(start, start + 1)[0].within if end > start else ()
        return [Field(tuple(word.pieces), begin, stop, place, raw, within)]

    def scalar(self, nodes: Sequence[Node]) -> tuple[Piece, ...]:
        """Expand the right side of an assignment."""
        fields = self.word(nodes, splits=False) if nodes else []
        pieces: list[Piece] = []
        for index, field in enumerate(fields):
            if index:
                pieces.append(Piece(" "))
            pieces.extend(field.pieces)
        return tuple(pieces)

    def body(self, node: Node, *, quoted: bool) -> list[Piece]:
        """Expand a here-document."""
        start, end = self.syntax.span(node)
        if quoted:
            return self.pieces.cut(start, end)
        word = _Word()
        self._inside(word, node, start, end)
        return word.pieces

    # Parts of a word.

    def _add(self, word: _Word, node: Node, *, quoted: bool, splits: bool) -> None:
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
                self._literal(word, start, end, quoted=quoted)
        elif kind in ("string", "translated_string"):
            opened = start + (kind == "translated_string")
            # "${A[@]}" of an empty array is no word at all.
            word.begun = word.begun or _LIST.fullmatch(self.text, opened + 1, end - 1) is None
            self._inside(word, node, opened + 1, end - 1)
        elif kind in ("concatenation", "command_name", "variable_assignment"):
            at = start
            for child in node.children:
                begin, stop = self.syntax.span(child)
                self._literal(word, at, begin, quoted=quoted)
                self._add(word, child, quoted=quoted, splits=splits)
                at = stop
        elif kind in ("simple_expansion", "expansion"):
            self._variable(word, node, quoted=quoted, splits=splits)
        elif kind == "arithmetic_expansion" or (
            kind == "command_substitution"
            and self.text[start : start + 3] == "$(("
            and self.text[end - 2 : end] == "))"
        ):
            self._arithmetic(word, start, end)
        elif kind == "command_substitution":
            printed = self.variables.substituted(node)
            if printed is None:
                self._open(word, start, end, "", splits=splits and not quoted)
            else:
                word.whole = False
                self._value(word, printed, (), quoted=quoted, splits=splits)
        elif kind == "process_substitution":
            self.variables.substituted(node)
            self._open(word, start, end, "", splits=False)
        else:
            self._literal(word, start, end, quoted=quoted)

    def _inside(self, word: _Word, node: Node, start: int, end: int) -> None:
        """Add what stands between double quotes: expansions, and everything else as it is."""
        at = start
        for child in node.children:
            if not child.type.endswith(("expansion", "substitution")):
                continue
            begin, stop = self.syntax.span(child)
            self._literal(word, at, begin, quoted=True)
            self._add(word, child, quoted=True, splits=True)
            at = stop
        self._literal(word, at, end, quoted=True)

    def _literal(self, word: _Word, start: int, end: int, *, quoted: bool) -> None:
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

    def _quoted(self, word: _Word, pieces: Sequence[Piece], within: str) -> None:
        word.begun = True
        for piece in pieces:
            if within and not piece.names:
                word.pieces.append(piece._replace(within=(*piece.within, within)))
            elif piece.names:
                word.pieces.append(piece._replace(splits=piece.splits and not within))
            else:
                word.pieces.append(piece)

    def _ansi(self, word: _Word, start: int, end: int) -> None:
        text = self.text[start + 2 : end - 1]
        out = re.sub(r"\\(.)", lambda match: _ANSI.get(match[1], match[0]), text, flags=re.DOTALL)
        word.begun = True
        word.whole = False
        word.pieces.append(Piece(out, self.pieces.offset(start)))

    def _arithmetic(self, word: _Word, start: int, end: int) -> None:
        inner = self.text[start:end]
        inner = inner[3:-2] if inner.startswith("$((") else inner[2:-1]
        names: list[str] = []
        number = compute(inner, self._number, names)
        if number is None:
            self._open(word, start, end, names[0] if len(names) == 1 else "", splits=False)
        else:
            word.whole = False
            word.begun = True
            word.pieces.append(Piece(str(number), self.pieces.offset(start), via=tuple(names)))

    def _number(self, name: str) -> str | None:
        value = self.variables.read(name)
        if value is None or value.items is not None or any(piece.names for piece in value.pieces):
            return None
        return "".join(piece.text for piece in value.pieces)

    def _open(self, word: _Word, start: int, end: int, name: str, *, splits: bool) -> None:
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

    def _variable(self, word: _Word, node: Node, *, quoted: bool, splits: bool) -> None:
        start, end = self.syntax.span(node)
        text = self.text[start:end].replace("\\\n", "")
        inner = text[2:-1] if text.startswith("${") else text[1:]
        match = _NAME.match(inner)
        if match is not None and not text.startswith("${"):
            # $1d is $1 and a letter.
            width = 1 if inner[0].isdigit() else match.end()
            if width < len(inner):
                end = start + 1 + width
                inner = inner[:width]
                self._simple(word, inner, start, end, quoted=quoted, splits=splits)
                self._literal(word, end, self.syntax.span(node)[1], quoted=quoted)
                return
        if match is None or (inner[:1] in "#!" and len(inner) > 1):
            self._special(word, node, inner)
            return
        name, rest = match.group(), inner[match.end() :]
        subscript = None
        if sub := _SUBSCRIPT.match(rest):
            subscript, rest = sub.group(1), rest[sub.end() :]
        shown = name if subscript is None else f"{name}[{subscript}]"
        operator = next(
            (one for one in (":-", ":=", ":+", ":?", "-", "=", "+", "?") if rest.startswith(one)), rest
        )
        if name in ("@", "*") or (name.isdigit() and name != "0"):
            value = self._parameter(name)
        elif name in "#?$!-0_":
            value = None
        else:
            value = self.variables.read(name)
        empty = value is not None and not value.pieces and not value.items
        if operator in (":-", "-", ":=", "=") and (value is None or (empty and operator[0] == ":")):
            self._default(word, node, operator, name, unset=value is None, quoted=quoted, splits=splits)
            return
        if operator in ("+", ":+") and value is not None:
            if not empty or (operator == "+" and value.items is None):
                self._default(word, node, operator, name, unset=False, quoted=quoted, splits=splits)
            word.begun |= quoted
            word.whole = False
            return
        if value is None or operator in ("+", ":+"):
            listed = name in ("@", "*") or subscript in ("@", "*")
            self._open(word, start, end, shown, splits=splits and (listed or not quoted))
            return
        changed = self._changed(
            value, subscript, rest if operator not in (":-", "-", ":=", "=", ":?", "?") else ""
        )
        if changed is None:
            self._open(word, start, end, shown, splits=splits and not quoted)
            return
        word.whole = False
        if changed.items is not None:
            items = [_through(item, name) for item in changed.items]
            if not quoted and splits:
                items = [each for item in items for each in self._resplit(item)]
            word.begun |= quoted and subscript == "*"
            word.add_list(items)
        else:
            self._value(word, changed.pieces, (name,), quoted=quoted, splits=splits)

    def _simple(self, word: _Word, name: str, start: int, end: int, *, quoted: bool, splits: bool) -> None:
        """Expand $1 where the grammar took more for its name."""
        value = self._parameter(name)
        if value is None:
            self._open(word, start, end, name, splits=splits and not quoted)
        else:
            self._value(word, value.pieces, (name,), quoted=quoted, splits=splits)

    def _resplit(self, item: Field) -> list[Field]:
        """Split a word of an unquoted array once more, if it has blanks."""
        if not any(blank in piece.text for piece in item.pieces for blank in " \t\n" if not piece.names):
            return [item] if item.pieces else []
        return [_spliced(pieces) for pieces in split(item.pieces) if pieces]

    def _parameter(self, name: str) -> Value | None:
        words = self.variables.positional()
        if words is None:
            return None
        if name in ("@", "*"):
            return Value(items=words)
        at = int(name) - 1
        return Value(words[at].pieces) if at < len(words) else None

    def _changed(self, value: Value, subscript: str | None, rest: str) -> Value | None:
        """Apply a subscript and a pattern operator, None when that is beyond what is followed here."""
        if subscript in ("@", "*") and value.items is None:
            value = Value(items=(Field(value.pieces),) if value.pieces else ())
        elif subscript not in (None, "@", "*"):
            if value.items is None or not str(subscript).isdigit() or int(str(subscript)) >= len(value.items):
                return None
            value = Value(value.items[int(str(subscript))].pieces)
        elif subscript is None and value.items is not None and rest == "":
            return value
        if not rest:
            return value
        if value.items is not None:
            if rest[0] == ":" and rest[1:].strip().isdigit():
                # "${@:2}" counts from one, "${A[@]:1}" from nought; both reach here as lists.
                return Value(items=value.items[int(rest[1:]) - (subscript is None) :])
            return None
        if any(piece.names for piece in value.pieces):
            return None
        text = _altered("".join(piece.text for piece in value.pieces), rest)
        return None if text is None else Value((Piece(text, value.pieces[0].at if value.pieces else -1),))

    def _special(self, word: _Word, node: Node, inner: str) -> None:
        """Expand ${#A[@]}, ${#A} and ${!A} where they are settled."""
        start, end = self.syntax.span(node)
        match = _NAME.match(inner, 1)
        value = self.variables.read(match.group()) if match and match.group()[0].isidentifier() else None
        if value is not None and match is not None and inner[0] == "#":
            rest = inner[match.end() :]
            if value.items is not None and rest in ("[@]", "[*]"):
                text: str | None = str(len(value.items))
            elif value.items is None and not rest and not any(piece.names for piece in value.pieces):
                text = str(sum(len(piece.text) for piece in value.pieces))
            else:
                text = None
            if text is not None:
                word.begun, word.whole = True, False
                word.pieces.append(Piece(text, self.pieces.offset(start), via=(match.group(),)))
                return
        if (
            value is not None
            and match is not None
            and inner[0] == "!"
            and value.items is None
            and match.end() == len(inner)
        ):
            named = "".join(piece.text for piece in value.pieces)
            held = self.variables.read(named) if named.isidentifier() else None
            if held is not None and held.items is None:
                word.whole = False
                self._value(word, held.pieces, (named,), quoted=True, splits=False)
                return
        self._open(word, start, end, match.group() if match else "", splits=False)

    def _default(
        self, word: _Word, node: Node, operator: str, name: str, *, unset: bool, quoted: bool, splits: bool
    ) -> None:
        """Add the word after an operator; a default counts, but the caller may set something else."""
        start, end = self.syntax.span(node)
        at = self.text.index(operator, start + 2 + len(name)) + len(operator)
        word.whole = False
        if operator[-1] == "+":
            for child in node.children[2:]:
                begin, stop = self.syntax.span(child)
                if begin >= at and child.type != "}":
                    self._literal(word, at, begin, quoted=quoted)
                    self._add(word, child, quoted=quoted, splits=splits)
                    at = stop
            self._literal(word, at, end - 1, quoted=quoted)
            return
        inner = _Word()
        for child in node.children[2:]:
            begin, stop = self.syntax.span(child)
            if begin >= at and child.type != "}":
                self._literal(inner, at, begin, quoted=quoted)
                self._add(inner, child, quoted=quoted, splits=False)
                at = stop
        self._literal(inner, at, end - 1, quoted=quoted)
        inner.close()
        pieces = [
            piece
            for index, field in enumerate(inner.fields)
            for piece in ([Piece(" ")] if index else []) + list(field.pieces)
        ]
        told = "".join(piece.text for piece in pieces)
        assumed = (f"{name}={told}",) if unset else ()
        pieces = [
            piece if piece.names else piece._replace(assumed=(*piece.assumed, *assumed)) for piece in pieces
        ]
        if not pieces and unset:
            # `${X:-}`: nothing, unless the caller sets X; that nothing is not known here.
            self._open(word, start, end, name, splits=splits and not quoted)
            return
        self._value(word, tuple(pieces), (name,) if not unset else (), quoted=quoted, splits=splits)

    def _value(
        self, word: _Word, pieces: Sequence[Piece], via: tuple[str, ...], *, quoted: bool, splits: bool
    ) -> None:
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


def _through(item: Field, name: str) -> Field:
    return item._replace(
        pieces=tuple(piece._replace(via=tuple(dict.fromkeys((name, *piece.via)))) for piece in item.pieces)
    )


def _altered(text: str, rest: str) -> str | None:
    """Apply ${X^^}, ${X,,}, ${X%pattern}, ${X#pattern}, ${X/a/b} and ${X:a:b} with plain patterns."""
    if rest in ("^^", ",,"):
        return text.upper() if rest == "^^" else text.lower()
    if match := re.fullmatch(r"(%%?|##?)(\*?)([^*?\[\]$\\]*)(\*?)", rest):
        operator, before, plain, after = match.groups()
        if operator[0] == "%" and not before and plain:
            at = -1
            if not after:
                at = len(text) - len(plain) if text.endswith(plain) else -1
            else:
                at = text.find(plain) if operator == "%%" else text.rfind(plain)
            return text if at < 0 else text[:at]
        if operator[0] == "#" and not after and plain:
            if not before:
                return text.removeprefix(plain)
            at = text.rfind(plain) if operator == "##" else text.find(plain)
            return text if at < 0 else text[at + len(plain) :]
        return None
    if match := re.fullmatch(r"(//?)([^/*?\[\]$\\]+)/([^$\\]*)", rest):
        return text.replace(match[2], match[3], -1 if match[1] == "//" else 1)
    if match := re.fullmatch(r":(\d+)(?::(\d+))?", rest):
        start = int(match[1])
        return text[start:] if match[2] is None else text[start : start + int(match[2])]
    return None
