"""Trees of structured files, with the place of every value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from mlacheck.launch.piece import Field, Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK: Final = re.compile(r"\s+|\S+")
_DEEPEST_MERGE: Final = 10


@dataclass(slots=True, eq=False)
class Scalar:
    """A value without parts; `start` and `end` are its spelling, quotes included."""

    text: str
    pieces: tuple[Piece, ...]
    start: int
    end: int
    style: str = "flow"  # how words are set apart there, see Word.style
    plain: bool = False  # not quoted: what it means depends on what it looks like
    place: int = -1  # where a reader finds it, when its spelling does not stand in one piece

    def field(self) -> Field:
        """Give it as one word."""
        place = self.place if self.place >= 0 else self.start
        return Field(self.pieces, self.start, self.end, place, "", (), self.style)


@dataclass(slots=True, eq=False)
class Sequence:
    """A list."""

    items: list[Node] = field(default_factory=list)
    start: int = 0
    end: int = 0


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping; keys that are no scalars are left out."""

    pairs: list[tuple[Scalar, Node]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    held: dict[str, tuple[Scalar, Node]] | None = None  # made once: merges can stand inside each other

    def get(self, *names: str) -> Node | None:
        """Give the value of the first of these keys that is there."""
        held = self.all()
        return next((held[name][1] for name in names if name in held), None)

    def text(self, *names: str) -> str | None:
        """Give the value of the first of these keys, if it is a scalar."""
        value = self.get(*names)
        return value.text if isinstance(value, Scalar) else None

    def all(self, depth: int = 0) -> dict[str, tuple[Scalar, Node]]:
        """Give what the mapping holds, keys of YAML merges included; the last of equal keys counts."""
        if self.held is not None:
            return self.held
        held: dict[str, tuple[Scalar, Node]] = {}
        self.held = held  # for a mapping that is merged into itself
        for key, value in self.pairs:
            if key.text == "<<" and key.plain and depth < _DEEPEST_MERGE:
                for one in value.items if isinstance(value, Sequence) else [value]:
                    if isinstance(one, Mapping) and one is not self:
                        held = one.all(depth + 1) | held
        held.update(
            (key.text, (key, value)) for key, value in self.pairs if key.text != "<<" or not key.plain
        )
        self.held = held
        return held


Node: TypeAlias = Scalar | Sequence | Mapping


class TreeError(Exception):
    """The text is not what its kind should be, from an offset on."""

    def __init__(self, kind: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.kind, self.message, self.offset = kind, message, offset


def scalars(node: Node | None) -> list[Scalar]:
    """Give the scalars of a list, or a scalar alone."""
    if isinstance(node, Scalar):
        return [node]
    return [item for item in node.items if isinstance(item, Scalar)] if isinstance(node, Sequence) else []


def aligned(text: str, source: str, start: int, end: int, within: str) -> tuple[Piece, ...]:
    """Find the parts of a value in its spelling: all of it, or chunk by chunk where lines are folded."""
    quotes = (within,) if within else ()
    at = source.find(text, start, end) if text else -1
    if at >= 0 and "\n" not in text:
        return (Piece(text, at, exact=True, within=quotes),)
    pieces = []
    at = start
    for match in _CHUNK.finditer(text):
        chunk = match.group()
        if chunk.isspace():
            exact = source.startswith(chunk, at)
            pieces.append(Piece(chunk, at, exact=exact, within=quotes))
            at += len(chunk) if exact else 0
            continue
        found = source.find(chunk, at, end)
        if found >= 0:
            at = found
        pieces.append(Piece(chunk, at, exact=found >= 0, within=quotes))
        at += len(chunk) if found >= 0 else 0
    return tuple(pieces)


def placed(root: Node, whole: Pieces) -> Node:
    """Turn offsets in a text into offsets in the document that the text comes from."""
    if len(whole.pieces) == 1 and whole.pieces[0].exact and whole.pieces[0].at == 0:
        return root
    for node in walk(root, keys=True):
        if not isinstance(node, Scalar):
            node.start = whole.offset(node.start)
            continue
        pieces: list[Piece] = []
        for piece in node.pieces:
            if piece.exact:
                cut = whole.cut(piece.at, piece.at + len(piece.text))
                pieces += [one._replace(within=(*one.within, *piece.within)) for one in cut]
            else:
                pieces.append(piece._replace(at=whole.offset(piece.at)))
        node.pieces = tuple(pieces)
        node.text = "".join(piece.text for piece in pieces)
        place = whole.offset(node.start)
        node.start, node.end = whole.span(node.start, node.end)
        node.place = place
    return root


def walk(node: Node, limit: float = math.inf, *, keys: bool = False) -> Iterator[Node]:
    """Give every node once, whatever refers to it; `keys` are nodes too where they are asked for."""
    seen: set[int] = set()
    waiting = [node]
    while waiting and len(seen) < limit:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, Sequence):
            waiting.extend(reversed(one.items))
        elif isinstance(one, Mapping):
            waiting.extend(value for _, value in reversed(one.pairs))
            waiting.extend(key for key, _ in one.pairs if keys)
