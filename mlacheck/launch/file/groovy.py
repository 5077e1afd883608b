"""Pipelines of Jenkins: the strings that a shell gets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.piece import Piece, Pieces

if TYPE_CHECKING:
    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

# A step with its text, and what Groovy puts in.
_STEP: Final = re.compile(
    r"\bsh\b[\s(]*(?:\w+\s*:\s*(?:\w+|'[^'\n]*'|\"[^\"\n]*\")\s*,\s*)*(?:script\s*:\s*)?"
    r"(?:'''(?P<single>.*?)'''|\"\"\"(?P<double>.*?)\"\"\""
    r"|'(?P<one>(?:[^'\\\n]|\\.)*)'|\"(?P<two>(?:[^\"\\\n]|\\.)*)\")",
    re.DOTALL,
)
_PUT_IN: Final = re.compile(r"\$\{([^{}\n]*)\}|\$([A-Za-z_]\w*)")


def read_groovy(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read the strings of a Jenkins pipeline that a shell gets."""
    for match in _STEP.finditer(pieces.text):
        kind = next(name for name, text in match.groupdict().items() if text is not None)
        cut = pieces.cut(*match.span(kind))
        if kind in ("double", "two"):  # what stands in double quotes is put in before the shell sees it
            cut = Pieces(cut).replaced(
                _PUT_IN,
                lambda hole, place: Piece(hole.group(), place, names=(hole[1] or hole[2],), splits=True),
            )
        if reader.mentions("".join(piece.text for piece in cut)):
            reader.script(cut, frame)
