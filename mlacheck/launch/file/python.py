"""Launch commands that Python code starts, also where a part of it is no Python."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

from mlacheck.launch.file.decode import names_entry
from mlacheck.launch.programs import STARTS
from mlacheck.launch.python.flow import Flow
from mlacheck.launch.python.repair import repaired
from mlacheck.launch.python.text import Text
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from mlacheck.launch.frame import Frame
    from mlacheck.launch.piece import Pieces
    from mlacheck.launch.reader import Reader

_WORD: Final = lazy(r"[A-Za-z]\w*")


def read_python(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a Python text without running any of it; what is no Python is told, and the rest is read."""
    if not STARTS & set(_WORD.findall(pieces.text)):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the code's own escapes
        tree, broken = repaired(pieces.text)
    for one in broken:
        reader.problem(
            "not-python",
            f"the file cannot be read as Python: {one.message}",
            "correct the code; the statements around it were read",
            pieces.offset(one.at),
            # Much Python that names an engine launches nothing, and may be written for another version.
            "error" if names_entry(pieces.text[one.start : one.end]) else "info",
        )
    Flow(reader, Text(pieces), frame, tree).run()
