"""Makefiles: recipe lines as the shell gets them, with the variables that the file settles."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.file.logical import logical_lines
from mlacheck.launch.finder import Environment
from mlacheck.launch.piece import Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

_ASSIGNMENT: Final = re.compile(
    r"[ ]*((?:export|override|private)[ \t]+)*([A-Za-z_][\w.-]*)[ \t]*(\?=|\+=|:{0,3}=)[ \t]*"
)
_TARGET: Final = re.compile(r"([^\s:=#][^:=#]*?)[ \t]*::?(?!=)[ \t]*")
_EXPORT: Final = re.compile(r"export(?:[ \t]+([\w \t.-]+))?[ \t]*$")
_CLOSING: Final = {"(": ")", "{": "}"}
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")
_CONTINUED: Final = re.compile(r"[ \t]*\\\n[ \t]*")
_COMMENT: Final = re.compile(r"[ \t]*(?<!\\)#.*", re.DOTALL)
_DEEPEST: Final = 8
_LONGEST: Final = 100_000


@dataclass(slots=True)
class _Variables:
    given: dict[str, list[tuple[str, tuple[Piece, ...]]]] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)

    def put(self, name: str, operator: str, pieces: Sequence[Piece], *, exports: bool) -> None:
        self.given.setdefault(name, []).append((operator, tuple(pieces)))
        if exports:
            self.exported.add(name)

    def value(self, name: str) -> tuple[Piece, ...] | None:
        """Give what a variable holds, None when the file leaves it open: several branches set it, or none."""
        given = self.given.get(name, [])
        if not given or any(operator != "+=" for operator, _ in given[1:]):
            return None
        pieces: list[Piece] = []
        for index, (operator, one) in enumerate(given):
            pieces += [Piece(" ")] if index else []
            pieces += one
            if operator == "?=":
                text = "".join(piece.text for piece in one)
                pieces = [piece._replace(assumed=(f"{name}={text}",)) for piece in pieces]
        return tuple(pieces)

    def expand(self, pieces: Sequence[Piece], calls: tuple[str, ...] = ()) -> list[Piece]:
        """Put in `$(NAME)` and `${NAME}`; `$$` is the shell's dollar."""
        whole = Pieces(pieces)
        found: list[Piece] = []
        at = 0
        while (dollar := whole.text.find("$", at)) >= 0 and len(found) < _LONGEST:
            found.extend(whole.cut(at, dollar))
            at = _end(whole.text, dollar)
            text = whole.text[dollar:at]
            if text == "$$":
                found.append(Piece("$", whole.offset(dollar)))
                continue
            inner = text[2:-1].strip() if text[1:2] in _CLOSING else text[1:]
            value = self.value(inner) if inner not in calls and len(calls) < _DEEPEST else None
            if value is None:
                known = _NAME.fullmatch(inner) is not None
                name = inner if known else text if len(text) <= 60 else text[:57] + "..."
                found.append(Piece(text, whole.offset(dollar), names=(name,), splits=True))
            else:
                found.extend(
                    one._replace(via=(*one.via, inner)) for one in self.expand(value, (*calls, inner))
                )
        return [*found, *whole.cut(at, len(whole.text))]


def _end(text: str, dollar: int) -> int:
    """Give where a reference ends."""
    opening = text[dollar + 1 : dollar + 2]
    if opening not in _CLOSING:
        return min(dollar + 2, len(text))
    depth = 0
    for at in range(dollar + 1, len(text)):
        depth += (text[at] == opening) - (text[at] == _CLOSING[opening])
        if depth == 0:
            return at + 1
    return len(text)


def read_makefile(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a Makefile; nothing in it is run."""
    variables = _Variables()
    recipes: list[tuple[str, list[list[Piece]]]] = []
    defines = False
    for start, end in logical_lines(pieces.text):
        line = pieces.text[start:end]
        if defines or line.startswith("define "):
            defines = not line.startswith("endef")
        elif line.startswith("\t"):
            if recipes and line.strip():
                recipes[-1][1].append(pieces.cut(start + 1, end))
        elif match := _ASSIGNMENT.match(line):
            value = _COMMENT.sub("", line[match.end() :])
            stop = start + match.end() + len(value.rstrip())
            exports = "export" in (match[0].split()[:2] if match[1] else ())
            given = _joined(pieces, start + match.end(), stop)
            variables.put(match[2], match[3], given, exports=exports)
        elif match := _EXPORT.match(line):
            variables.exported.update(match[1].split() if match[1] else variables.given)
        elif match := _TARGET.match(line):
            recipes.append((match[1], []))
            rest = line[match.end() :]
            own = _ASSIGNMENT.match(rest)
            if own is not None:  # a value for this target alone
                variables.put(own[2], "=", (), exports=False)
                variables.put(own[2], "=", (), exports=False)
            elif ";" in rest:
                recipes[-1][1].append(pieces.cut(start + match.end() + rest.index(";") + 1, end))
    whole = ".ONESHELL" in pieces.text
    for target, lines in recipes:
        texts = [[one for line in lines for one in (*line, Piece("\n"))]] if whole and lines else lines
        for text in texts:
            _recipe(reader, text, variables, target, frame)


def _joined(pieces: Pieces, start: int, end: int) -> list[Piece]:
    """Give a value whose lines are joined by a blank, as make joins them."""
    return Pieces(pieces.cut(start, end)).replaced(_CONTINUED, lambda *_: Piece(" "))


def _recipe(reader: Reader, line: Sequence[Piece], variables: _Variables, target: str, frame: Frame) -> None:
    expanded = Pieces(variables.expand(line))
    start = len(expanded.text) - len(expanded.text.lstrip(" \t@+-"))
    text = Pieces(expanded.cut(start, len(expanded.text)))
    if not reader.mentions(text.text):
        return
    env = Environment()
    for name in variables.exported:
        value = variables.value(name)
        told = variables.expand(value) if value is not None else []
        unknown = tuple(dict.fromkeys(each for one in told for each in one.names))
        env.put(name, "".join(one.text for one in told), unknown or (() if value is not None else (name,)))
    around = replace(frame.around, label=target)
    reader.script(text.pieces, replace(frame, around=around), env)
