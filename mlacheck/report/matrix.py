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

    from mlacheck.matrix import Matrix

# What stands in a cell; every mark fits a column.
MARKS: Final = {WORKS: "ok", WARNS: "ok*", REFUSED: "no", DIES: "dies", WRONG: "LIES", UNKNOWN: "?"}
_COLUMN: Final = 5


def text_lines(matrix: Matrix, width: int, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Lay a matrix out; `paint` colours a mark by its state."""
    yield from wrap(head(matrix), width, "", "  ")
    for assumption in matrix.assumptions:
        yield from wrap(f"assumed: {assumption}", width, "  ", "    ")
    cells = {(cell.row, cell.column): cell for cell in matrix.cells}
    label = max(map(len, matrix.rows.values)) + 2
    # As many values of the first axis side by side as fit.
    first, rest = matrix.columns[0], matrix.columns[1:]
    inner = list(itertools.product(*(axis.values for axis in rest)))
    block = max(1, (width - label) // (_COLUMN * len(inner)))
    for start in range(0, len(first.values), block):
        outer = first.values[start : start + block]
        columns = [(one, *more) for one in outer for more in inner]
        yield ""
        yield from _heads(matrix, columns, label)
        for row in matrix.rows.values:
            line = row.ljust(label)
            for column in columns:
                state = cells[row, column].state
                line += paint(MARKS[state], state) + " " * (_COLUMN - len(MARKS[state]))
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
        f"{matrix.engine} {matrix.version}",
        "FlashInfer unknown" if flashinfer is None else f"FlashInfer {flashinfer}",
        f"{target.get('gpu') or 'unknown GPU'}" + (f" (SM{target['sm']})" if target.get("sm") else ""),
        str(target.get("model") or "unknown model"),
    ]
    return " · ".join(parts)


def _heads(matrix: Matrix, columns: list[tuple[str, ...]], label: int) -> Iterator[str]:
    """Write one line for each axis; a value stands where it begins."""
    for depth, axis in enumerate(matrix.columns):
        span = prod(len(later.values) for later in matrix.columns[depth + 1 :])
        texts = (_short(column[depth], _COLUMN * span) for column in columns[::span])
        yield (axis.name[: label - 1].ljust(label) + "".join(texts)).rstrip()


def _short(value: str, room: int) -> str:
    text = value if len(value) < room else value.split("_", maxsplit=1)[0][: room - 1]
    return text.ljust(room)


def to_dict(matrix: Matrix) -> dict[str, Any]:
    """Give a matrix as plain data."""
    return {"schema_version": 1, **as_dict(matrix), "counts": matrix.counts}
