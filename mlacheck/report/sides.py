"""Matrices side by side: a table for a terminal, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import as_dict
from mlacheck.report.layout import wrap
from mlacheck.report.matrix import MARKS, text_lines, to_dict
from mlacheck.sides import combinations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mlacheck.matrix import Matrix
    from mlacheck.sides import Side

_GAP: Final = "  "
_MEANING: Final = (
    "What becomes of each engine's own choice, and how many of the backends that can be named work."
)


def side_lines(matrices: Sequence[Matrix], width: int, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Lay matrices out: first the comparison, then each; `paint` colours a mark by its state."""
    names = [axis.name for axis in matrices[0].columns]
    rows = combinations(matrices)
    widths = [max(len(row.values[at]) for row in rows) for at in range(len(names))]
    widths = [max(len(name), size) for name, size in zip(names, widths, strict=True)]
    heads = [f"{one.engine} {one.named}" for one in matrices]
    cells = [[_cell(side) for side in row.sides] for row in rows]
    sides = [max(len(head), *(len(row[at][1]) for row in cells)) for at, head in enumerate(heads)]
    yield from wrap(_MEANING, width, "", "  ")
    yield ""
    texts = [text.ljust(size) for text, size in zip((*names, *heads), (*widths, *sides), strict=True)]
    yield _GAP.join(texts).rstrip()
    for row, told in zip(rows, cells, strict=True):
        line = [text.ljust(size) for text, size in zip(row.values, widths, strict=True)]
        for (mark, text), side, size in zip(told, row.sides, sides, strict=True):
            line.append(paint(mark, side.state) + text[len(mark) :].ljust(size - len(mark)))
        yield _GAP.join(line).rstrip()
    for matrix in matrices:
        yield from ("", "")
        yield from text_lines(matrix, width, paint)


def _cell(side: Side) -> tuple[str, str]:
    """Give a side's mark, and the mark with what it decodes with and how many backends work."""
    mark = MARKS[side.state]
    return mark, " ".join(filter(None, (mark, side.decode, counted(side))))


def counted(side: Side) -> str:
    """Say how many of the named backends work; nothing where none was named."""
    return f"{len(side.working)}/{side.backends}" if side.backends else ""


def sides_dict(matrices: Sequence[Matrix]) -> dict[str, Any]:
    """Give matrices and their comparison as plain data."""
    rows = [as_dict(one) for one in combinations(matrices)]
    return {"schema_version": 1, "matrices": [to_dict(one) for one in matrices], "side_by_side": rows}
