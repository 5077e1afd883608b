"""A matrix of combinations as a table for a terminal of 80 columns, and as JSON."""

from __future__ import annotations

import itertools
from math import prod
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import as_dict
from mlacheck.matrix import DIES, REFUSED, UNKNOWN, WARNS, WORKS, WRONG
from mlacheck.report.layout import wrap
from mlacheck.report.summary import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mlacheck.matrix import Axis, Matrix

# What stands in a cell; every mark fits the narrowest column.
MARKS: Final = {WORKS: "ok", WARNS: "ok*", REFUSED: "no", DIES: "dies", WRONG: "LIES", UNKNOWN: "?"}
_COLUMN: Final = 5


def text_lines(matrix: Matrix, width: int, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Lay a matrix out; `paint` colours a mark by its state."""
    yield from wrap(head(matrix), width, "", "  ")
    for assumption in matrix.assumptions:
        yield from wrap(f"assumed: {assumption}", width, "  ", "    ")
    cells = {(cell.row, cell.column): cell for cell in matrix.cells}
    label = max(map(len, (*matrix.rows.values, *(axis.name for axis in matrix.columns)))) + 2
    column_width = _column(matrix)
    # As many values of the first axis side by side as fit.
    first, rest = matrix.columns[0], matrix.columns[1:]
    inner = list(itertools.product(*(axis.values for axis in rest)))
    block = max(1, (width - label) // (column_width * len(inner)))
    for start in range(0, len(first.values), block):
        outer = first.values[start : start + block]
        columns = [(one, *more) for one in outer for more in inner]
        yield ""
        yield from _heads(matrix, columns, label, column_width)
        for row in matrix.rows.values:
            line = row.ljust(label)
            for column in columns:
                state = cells[row, column].state
                line += paint(MARKS[state], state) + " " * (column_width - len(MARKS[state]))
            yield line.rstrip()
    yield ""
    legend = ", ".join(f"{MARKS[state]} {state} ({count})" for state, count in matrix.counts.items())
    yield from wrap(legend, width, "  ", "  ")
    if matrix.reasons:
        yield ""
        for reason, state, count in matrix.reasons:
            text = f"{MARKS[state]} {reason.id} in {counted(count, 'cell')}, such as: {reason.message}"
            yield from wrap(text, width, "  ", "      ")


def head(matrix: Matrix) -> str:
    """Name the target."""
    target = matrix.target
    flashinfer = target.get("flashinfer")
    parts = [
        f"{matrix.engine} {matrix.named}",
        "FlashInfer unknown" if flashinfer is None else f"FlashInfer {flashinfer}",
        f"{target.get('gpu') or 'unknown GPU'}" + (f" (SM{target['sm']})" if target.get("sm") else ""),
        str(target.get("model") or "unknown model"),
    ]
    return " · ".join(parts)


def _column(matrix: Matrix) -> int:
    """Give the width of a column in which every value's name, or its short one, is whole."""
    width = _COLUMN
    for depth, axis in enumerate(matrix.columns):
        span = _span(matrix, depth)
        width = max(width, *(-(-(len(_short(axis, value)) + 1) // span) for value in axis.values))
    return width


def _span(matrix: Matrix, depth: int) -> int:
    return prod(len(later.values) for later in matrix.columns[depth + 1 :])


def _heads(matrix: Matrix, columns: list[tuple[str, ...]], label: int, width: int) -> Iterator[str]:
    """Write one line for each axis; a value stands where it begins."""
    for depth, axis in enumerate(matrix.columns):
        room = width * _span(matrix, depth)
        values = (column[depth] for column in columns[:: _span(matrix, depth)])
        texts = ((one if len(one) < room else _short(axis, one)).ljust(room) for one in values)
        yield (axis.name.ljust(label) + "".join(texts)).rstrip()


def _short(axis: Axis, value: str) -> str:
    """Shorten a value to its first part where that still tells it from the others."""
    first = value.split("_", maxsplit=1)[0]
    return value if sum(one.split("_", maxsplit=1)[0] == first for one in axis.values) > 1 else first


def to_dict(matrix: Matrix) -> dict[str, Any]:
    """Give a matrix as plain data."""
    return {"schema_version": 1, **as_dict(matrix), "counts": matrix.counts}
