"""Notebooks: shell lines and cells, and the Python of the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.file.json_ import documents
from mlacheck.launch.file.logical import logical_lines
from mlacheck.launch.file.markdown import read_blocks
from mlacheck.launch.file.node import Mapping, Sequence, placed, scalars
from mlacheck.launch.piece import Piece, Pieces

if TYPE_CHECKING:
    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

_SHELL_CELL: Final = re.compile(
    r"\s*%%(?:bash|sh|system|script[ \t]+(?:--[\w-]+[ \t]+)*(?:ba|z)?sh)\b[^\n]*\n"
)
_WRITTEN: Final = re.compile(r"\s*%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?(\S+)[^\n]*\n")
_SHELL_LINE: Final = re.compile(r"[ \t]*(?:!{1,2}|%(?:sx|system)[ \t]+)(?!\s*\[)")
_VALUE: Final = re.compile(r"(?<![{$])\{([A-Za-z_][\w.\[\]'\"]*)\}")


def read_notebook(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a notebook's cells; what they printed is nobody's command."""
    for document in documents(pieces.text):
        root = placed(document, pieces)
        cells = root.get("cells") if isinstance(root, Mapping) else None
        for cell in cells.items if isinstance(cells, Sequence) else ():
            if not isinstance(cell, Mapping):
                continue
            source = Pieces([piece for one in scalars(cell.get("source")) for piece in one.pieces])
            if not reader.mentions(source.text):
                continue
            if cell.text("cell_type") == "code":
                _code(reader, source, frame)
            else:
                read_blocks(reader, source, frame)


def _code(reader: Reader, source: Pieces, frame: Frame) -> None:
    if match := _SHELL_CELL.match(source.text):
        reader.script(_opened(source, match.end(), len(source.text)), frame)
        return
    if match := _WRITTEN.match(source.text):
        body = source.cut(match.end(), len(source.text))
        text = source.text[match.end() :]
        kind = reader.kind(match[1], text)
        if kind == "shell":
            reader.script(body, replace(frame, file_kind=kind))
        elif kind in reader.readers:
            reader.readers[kind](reader, Pieces(body), replace(frame, file_kind=kind))
        return
    python: list[Piece] = []
    for start, end in logical_lines(source.text):
        line = source.text[start:end]
        if match := _SHELL_LINE.match(line):
            if reader.mentions(line):
                reader.script(_opened(source, start + match.end(), end), frame)
            # Its place is kept: the block that it stands in may hold nothing else.
            indent = len(line) - len(line.lstrip())
            python += [*source.cut(start, start + indent), Piece("pass")]
        elif not line.lstrip().startswith("%"):
            python += source.cut(start, end)
        python.append(Piece("\n"))
    reader.code(python, frame)


def _opened(source: Pieces, start: int, end: int) -> list[Piece]:
    """Open what Python puts into a shell line: `{name}`."""
    found: list[Piece] = []
    at = start
    for match in _VALUE.finditer(source.text, start, end):
        found.extend(source.cut(at, match.start()))
        found.append(Piece(match.group(), source.offset(match.start()), names=(match[1],), splits=True))
        at = match.end()
    return [*found, *source.cut(at, end)]
