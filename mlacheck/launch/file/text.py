"""Lines that plainly are a launch, in program text and prose, and in scripts of Windows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.file.logical import logical_lines
from mlacheck.launch.file.markdown import PROMPT
from mlacheck.launch.file.split import split_words
from mlacheck.launch.piece import Piece, Pieces
from mlacheck.launch.programs import starts_program

if TYPE_CHECKING:
    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

_LONGEST_LINE: Final = 20_000
# Of PowerShell and batch files: the sign that continues a line, what calls a program, and a variable.
_CONTINUED: Final = re.compile(r"[`^](?=[ \t]*(?:\n|\Z))")
_CALLED: Final = re.compile(r"^[ \t]*(?:[&@][ \t]*|(?:call|wsl)[ \t]+)+", re.IGNORECASE | re.MULTILINE)
_PERCENT: Final = re.compile(r"[%!]([A-Za-z_]\w*)[%!]")


def read_text(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read the lines one by one."""
    for start, end in logical_lines(pieces.text):
        line = pieces.text[start:end]
        if not reader.mentions(line) or len(line) > _LONGEST_LINE:
            continue
        prompt = re.match(PROMPT, line)
        cut = pieces.cut(start + prompt.end() if prompt else start, end)
        # A list of words in program text is no argument of its first word.
        if starts_program(split_words(cut)):
            reader.script(cut, replace(frame, guess=True))


def read_windows(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read the lines of PowerShell and batch files, which are continued by signs of their own."""
    text = Pieces([piece._replace(text=_CONTINUED.sub("\\\\", piece.text)) for piece in pieces.pieces])
    text = Pieces(text.replaced(_CALLED, lambda match, _: Piece(" " * len(match.group()))))
    opened = text.replaced(
        _PERCENT, lambda match, place: Piece(match.group(), place, names=(match[1],), splits=True)
    )
    read_text(reader, Pieces(opened), frame)
