"""Justfiles: recipe lines and script recipes, with the variables and parameters that the file settles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.file.logical import logical_lines
from mlacheck.launch.finder import Environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mlacheck.launch.frame import Frame
    from mlacheck.launch.piece import Piece, Pieces
    from mlacheck.launch.reader import Reader

_SETTING: Final = re.compile(r"(export[ \t]+)?([A-Za-z_][\w-]*)[ \t]*:=[ \t]*")
_RECIPE: Final = re.compile(r"@?([A-Za-z_][\w-]*)((?:[ \t]+[^:\n]+?)?)[ \t]*:(?!=)")
_PARAMETER: Final = re.compile(r"[*+$]*([A-Za-z_][\w-]*)(?:=(\"[^\"]*\"|'[^']*'|[^\s]+))?")
_STRING: Final = re.compile(r"\"([^\"\\]*)\"|'([^']*)'")
_FROM_ENV: Final = re.compile(
    r"env(?:_var_or_default|_var)?\(\s*[\"'](\w+)[\"']\s*,\s*[\"']([^\"']*)[\"']\s*\)"
)
_INSIDE: Final = re.compile(r"\{\{\s*(?:quote\()?\s*([A-Za-z_][\w-]*)\s*\)?\s*\}\}")


def read_justfile(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a justfile; nothing in it is run."""
    known: dict[str, tuple[Piece, ...]] = {}
    env = Environment()
    recipes: list[tuple[str, dict[str, tuple[Piece, ...]], list[tuple[int, int]]]] = []
    for start, end in logical_lines(pieces.text):
        line = pieces.text[start:end]
        if line[:1] in (" ", "\t"):
            if recipes:
                recipes[-1][2].append((start, end))
        elif match := _SETTING.match(line):
            value = _value(pieces, start + match.end(), end)
            if value is not None:
                known[match[2]] = value
            if match[1]:
                text = "".join(one.text for one in value or ())
                env.put(match[2], text, () if value is not None else (match[2],))
        elif match := _RECIPE.match(line):
            begin = start + match.start(2)
            given = {
                one[1]: value
                for one in _PARAMETER.finditer(match[2])
                if one[2] and (value := _value(pieces, begin + one.start(2), begin + one.end(2))) is not None
            }
            own = {
                name: tuple(one._replace(assumed=(f"{name}={one.text}",)) for one in value)
                for name, value in given.items()
            }
            # A parameter without a default hides a variable of its name.
            hidden = {one[1]: () for one in _PARAMETER.finditer(match[2]) if not one[2]}
            recipes.append((match[1], {**hidden, **own}, []))
    for name, own, lines in recipes:
        values = {key: value for key, value in {**known, **own}.items() if value or key not in own}
        inner = replace(frame, around=replace(frame.around, label=name))
        _body(reader, pieces, lines, values, env, inner)


def _body(
    reader: Reader,
    pieces: Pieces,
    lines: list[tuple[int, int]],
    known: Mapping[str, tuple[Piece, ...]],
    env: Environment,
    frame: Frame,
) -> None:
    if not lines:
        return
    first = pieces.text[lines[0][0] : lines[0][1]].strip()
    if first.startswith("#!"):
        text = tuple(_put_in(pieces.cut(lines[0][0], lines[-1][1]), known))
        if "python" in first:
            reader.code(text, frame)
        elif re.search(r"sh\b", first):
            reader.script(text, frame, env.copy())
        return
    for start, end in lines:
        line = pieces.text[start:end]
        begin = start + len(line) - len(line.lstrip(" \t@-"))
        if reader.mentions(pieces.spelled(begin, end)) or "\ue000" in line:
            text = tuple(_put_in(pieces.cut(begin, end), known))
            if reader.mentions("".join(one.text for one in text)):
                reader.script(text, frame, env.copy())


def _put_in(pieces: Iterable[Piece], known: Mapping[str, tuple[Piece, ...]]) -> Iterable[Piece]:
    for piece in pieces:
        match = _INSIDE.fullmatch(piece.text) if piece.names else None
        value = known.get(match[1]) if match else None
        if match is None:
            yield piece
        elif value is None:
            yield piece._replace(names=(match[1],), splits=True)
        else:
            yield from (one._replace(via=(*one.via, match[1])) for one in value)


def _value(pieces: Pieces, start: int, end: int) -> tuple[Piece, ...] | None:
    """Give a value that is a plain string, or one of the environment with a default."""
    text = pieces.text[start:end].strip()
    start = pieces.text.find(text, start) if text else start
    if match := _STRING.fullmatch(text):
        return tuple(pieces.cut(start + 1, start + len(text) - 1))
    if match := _FROM_ENV.fullmatch(text):
        begin = start + match.start(2)
        cut = pieces.cut(begin, begin + len(match[2]))
        return tuple(one._replace(assumed=(f"{match[1]}={match[2]}",)) for one in cut)
    return tuple(pieces.cut(start, end)) if re.fullmatch(r"[\w./-]+", text) and text.isdecimal() else None
