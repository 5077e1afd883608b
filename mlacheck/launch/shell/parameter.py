"""Expansion of variables: names, subscripts, defaults and the operators on their values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.piece import Field, Piece, joined, split
from mlacheck.launch.shell.word import Word, spliced
from mlacheck.launch.shell.world import Value

if TYPE_CHECKING:
    from tree_sitter import Node

    from mlacheck.launch.shell.expand import Expander

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-]")
_SUBSCRIPT: Final = re.compile(r"\[([^\]]*)\]")


def expand_variable(expander: Expander, word: Word, node: Node, *, quoted: bool, splits: bool) -> None:
    """Add what `$NAME` or `${NAME...}` stands for."""
    start, end = expander.syntax.span(node)
    text = expander.text[start:end].replace("\\\n", "")
    inner = text[2:-1] if text.startswith("${") else text[1:]
    match = _NAME.match(inner)
    if match is not None and not text.startswith("${"):
        # $1d is $1 and a letter.
        width = 1 if inner[0].isdecimal() else match.end()
        if width < len(inner):
            end = start + 1 + width
            inner = inner[:width]
            _simple(expander, word, inner, start, end, quoted=quoted, splits=splits)
            expander.literal(word, end, expander.syntax.span(node)[1], quoted=quoted)
            return
    if match is None or (inner[:1] in "#!" and len(inner) > 1):
        _special(expander, word, node, inner)
        return
    name, rest = match.group(), inner[match.end() :]
    subscript = None
    if sub := _SUBSCRIPT.match(rest):
        subscript, rest = sub.group(1), rest[sub.end() :]
    shown = name if subscript is None else f"{name}[{subscript}]"
    operator = next(
        (one for one in (":-", ":=", ":+", ":?", "-", "=", "+", "?") if rest.startswith(one)), rest
    )
    if name in ("@", "*") or (name.isdecimal() and name != "0"):
        value = _parameter(expander, name)
    elif name in "#?$!-0_":
        value = None
    else:
        value = expander.variables.read(name)
    empty = value is not None and not value.pieces and not value.items
    if operator in (":-", "-", ":=", "=") and (value is None or (empty and operator[0] == ":")):
        _default(expander, word, node, operator, name, unset=value is None, quoted=quoted, splits=splits)
        return
    if operator in ("+", ":+") and value is not None:
        if not empty or (operator == "+" and value.items is None):
            _default(expander, word, node, operator, name, unset=False, quoted=quoted, splits=splits)
        word.begun |= quoted
        word.whole = False
        return
    if value is None or operator in ("+", ":+"):
        listed = name in ("@", "*") or subscript in ("@", "*")
        expander.open(word, start, end, shown, splits=splits and (listed or not quoted))
        return
    changed = _changed(value, subscript, rest if operator not in (":-", "-", ":=", "=", ":?", "?") else "")
    if changed is None:
        expander.open(word, start, end, shown, splits=splits and not quoted)
        return
    word.whole = False
    if changed.items is not None:
        items = [_through(item, name) for item in changed.items]
        if quoted and "*" in (name, subscript):
            between = _separator(expander)
            if between is None:
                expander.open(word, start, end, shown, splits=False)
            else:
                expander.value(word, joined(items, between), (), quoted=True, splits=False)
            return
        if not quoted and splits:
            items = [each for item in items for each in _resplit(item)]
        word.add_list(items)
    else:
        expander.value(word, changed.pieces, (name,), quoted=quoted, splits=splits)


def _separator(expander: Expander) -> str | None:
    """Give what stands between the words of "$*", None where the text leaves that open."""
    value = expander.variables.read("IFS")
    if value is None:
        return " "
    if value.items is not None or any(piece.names for piece in value.pieces):
        return None
    return "".join(piece.text for piece in value.pieces)[:1]


def _simple(
    expander: Expander, word: Word, name: str, start: int, end: int, *, quoted: bool, splits: bool
) -> None:
    """Expand $1 where the grammar took more for its name."""
    value = _parameter(expander, name)
    if value is None:
        expander.open(word, start, end, name, splits=splits and not quoted)
    else:
        expander.value(word, value.pieces, (name,), quoted=quoted, splits=splits)


def _resplit(item: Field) -> list[Field]:
    """Split a word of an unquoted array once more, if it has blanks."""
    if not any(blank in piece.text for piece in item.pieces for blank in " \t\n" if not piece.names):
        return [item] if item.pieces else []
    return [spliced(pieces) for pieces in split(item.pieces) if pieces]


def _parameter(expander: Expander, name: str) -> Value | None:
    words = expander.variables.positional()
    if words is None:
        return None
    if name in ("@", "*"):
        return Value(items=words)
    if not name.isdecimal() or name == "0":
        return None
    at = int(name) - 1
    # After a word that may be several nobody knows which one is the next.
    known = at < len(words) and not any(word.splits for word in words[: at + 1])
    return Value(words[at].pieces) if known else None


def _changed(value: Value, subscript: str | None, rest: str) -> Value | None:
    """Apply a subscript and a pattern operator, None when that is beyond what is followed here."""
    if subscript in ("@", "*") and value.items is None:
        value = Value(items=(Field(value.pieces),) if value.pieces else ())
    elif subscript not in (None, "@", "*"):
        if value.items is None or not str(subscript).isdecimal() or int(str(subscript)) >= len(value.items):
            return None
        value = Value(value.items[int(str(subscript))].pieces)
    elif subscript is None and value.items is not None and rest == "":
        return value
    if not rest:
        return value
    if value.items is not None:
        if rest[0] == ":" and rest[1:].strip().isdecimal():
            # "${@:2}" counts from one, "${A[@]:1}" from nought; both reach here as lists.
            return Value(items=value.items[int(rest[1:]) - (subscript is None) :])
        return None
    if any(piece.names for piece in value.pieces):
        return None
    text = _altered("".join(piece.text for piece in value.pieces), rest)
    return None if text is None else Value((Piece(text, value.pieces[0].at if value.pieces else -1),))


def _special(expander: Expander, word: Word, node: Node, inner: str) -> None:
    """Expand ${#A[@]}, ${#A} and ${!A} where they are settled."""
    start, end = expander.syntax.span(node)
    match = _NAME.match(inner, 1)
    value = expander.variables.read(match.group()) if match and match.group()[0].isidentifier() else None
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
            word.pieces.append(Piece(text, expander.pieces.offset(start), via=(match.group(),)))
            return
    if (
        value is not None
        and match is not None
        and inner[0] == "!"
        and value.items is None
        and match.end() == len(inner)
    ):
        named = "".join(piece.text for piece in value.pieces)
        held = expander.variables.read(named) if named.isidentifier() else None
        if held is not None and held.items is None:
            word.whole = False
            expander.value(word, held.pieces, (named,), quoted=True, splits=False)
            return
    expander.open(word, start, end, match.group() if match else "", splits=False)


def _default(
    expander: Expander,
    word: Word,
    node: Node,
    operator: str,
    name: str,
    *,
    unset: bool,
    quoted: bool,
    splits: bool,
) -> None:
    """Add the word after an operator; a default counts, but the caller may set something else."""
    start, end = expander.syntax.span(node)
    at = expander.text.index(operator, start + 2 + len(name)) + len(operator)
    word.whole = False
    if operator[-1] == "+":
        _add_operand(expander, word, node, at, quoted=quoted, splits=splits)
        return
    inner = Word()
    _add_operand(expander, inner, node, at, quoted=quoted, splits=False)
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
        expander.open(word, start, end, name, splits=splits and not quoted)
        return
    expander.value(word, tuple(pieces), (name,) if not unset else (), quoted=quoted, splits=splits)


def _add_operand(expander: Expander, into: Word, node: Node, at: int, *, quoted: bool, splits: bool) -> None:
    """Add what an expansion holds between a place and its closing brace."""
    end = expander.syntax.span(node)[1]
    for child in node.children[2:]:
        begin, stop = expander.syntax.span(child)
        if begin >= at and child.type != "}":
            expander.literal(into, at, begin, quoted=quoted)
            expander.add(into, child, quoted=quoted, splits=splits)
            at = stop
    expander.literal(into, at, end - 1, quoted=quoted)


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
