"""Turn lexed words into the fields a shell would pass on, as far as the text itself settles them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.launch.lexer import Part, Token

_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_LIST = re.compile(r"[@*]|.*\[[@*]\]")  # "$@" and "${A[@]}" are any number of words even in quotes


@frozen
class Field:
    """One word after expansion; `segments` map its characters to the source (see `Origin.inner`)."""

    text: str
    start: int
    raw: str
    unknown: tuple[str, ...] = ()
    splits: bool = False
    segments: tuple[tuple[int, int, bool], ...] = ()
    live_spans: tuple[tuple[int, int, str], ...] = ()  # open expansions in `text`: start, end, name

    @property
    def live(self) -> tuple[str, ...]:
        """The open expansions in it, as written."""
        return tuple(dict.fromkeys(self.text[start:end] for start, end, _ in self.live_spans))


@dataclass(slots=True)
class _Building:
    start: int
    chunks: list[str] = field(default_factory=list)
    length: int = 0
    begun: bool = False
    splits: bool = False
    unknown: list[str] = field(default_factory=list)
    live: list[tuple[int, int, str]] = field(default_factory=list)
    segments: list[tuple[int, int, bool]] = field(default_factory=list)

    def add(self, text: str, offset: int, *, moves: bool) -> None:
        self.segments.append((self.length, offset, moves))
        self.chunks.append(text)
        self.length += len(text)
        self.begun = True

    @property
    def text(self) -> str:
        return "".join(self.chunks)

    def done(self, raw: str) -> Field:
        return Field(
            self.text,
            self.start,
            raw,
            tuple(dict.fromkeys(self.unknown)),
            self.splits,
            tuple(self.segments),
            tuple(self.live),
        )


def quote(text: str) -> str:
    """Quote `text` for a POSIX shell only where it needs it."""
    return text if _SAFE.fullmatch(text) else shlex.quote(text)


def settled(part: Part, variables: Mapping[str, str]) -> str | None:
    """Give the value of an expansion, or None when the text does not settle it.

    `${A:-b}` with A not set in the text stays open too: the environment may set A.
    """
    value = variables.get(part.name)
    if value is None:
        return None
    operator = part.operator
    if operator == "" or (operator.startswith(("-", ":?", "?", "="))):
        return value
    if operator.startswith((":-", ":=")):
        return value or None
    return None


def expand(token: Token, variables: Mapping[str, str], *, split: bool = True) -> list[Field]:
    """Expand one word; with `split` an unquoted settled variable is split at blanks as the shell does."""
    fields: list[Field] = []
    building = _Building(token.start)
    for part in token.parts or ():
        if not part.name:
            building.add(part.text, part.start, moves=True)
            continue
        value = settled(part, variables)
        if value is None:
            building.add(part.text, part.start, moves=True)
            building.unknown.append(part.name)
            building.live.append((building.length - len(part.text), building.length, part.name))
            building.splits |= split and (not part.quoted or bool(_LIST.fullmatch(part.name)))
        elif part.quoted or not split:
            building.add(value, part.start, moves=False)
        else:
            building = _split(value, part, building, fields)
    if building.begun:
        whole = not fields and "\n" not in token.raw
        fields.append(building.done(token.raw if whole or building.unknown else quote(building.text)))
    return fields


def _split(value: str, part: Part, building: _Building, fields: list[Field]) -> _Building:
    pieces = value.split()
    if building.begun and value[:1].isspace():
        fields.append(building.done(quote(building.text)))
        building = _Building(part.start)
    for index, piece in enumerate(pieces):
        if index:
            fields.append(building.done(quote(building.text)))
            building = _Building(part.start)
        building.add(piece, part.start, moves=False)
    if pieces and value[-1].isspace():
        fields.append(building.done(quote(building.text)))
        building = _Building(part.start)
    return building
