"""A matrix of combinations as one HTML page: no script, no request, light and dark, a reason in each cell."""

from __future__ import annotations

import itertools
from html import escape
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mlacheck.matrix import DIES, REFUSED, UNKNOWN, WARNS, WORKS, WRONG
from mlacheck.report.matrix import head
from mlacheck.report.sides import counted
from mlacheck.sides import combinations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.matrix import Cell, Matrix
    from mlacheck.sides import Side

# Class, sign and word of each state: nothing is told by colour alone.
_LOOKS: Final = {
    WORKS: ("ok", "✓", "works"),
    WARNS: ("warn", "✓", "warns"),
    REFUSED: ("no", "✕", "refused"),
    DIES: ("dies", "⚡", "dies"),
    WRONG: ("wrong", "≠", "wrong"),
    UNKNOWN: ("unknown", "?", "unknown"),
}


_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_BOUNDARY: Final = (
    "A cell that works is one that no known guard refuses; what lies beyond the rules is not shown."
)


def html_page(matrices: Sequence[Matrix], made_by: str) -> str:
    """Write the page of one matrix, or of several that stand side by side."""
    style = Path(__file__).with_name("matrix.css").read_text(encoding="utf-8")
    first, several = matrices[0], len(matrices) > 1
    title = f"{first.target.get('model') or 'model'} on {first.target.get('gpu') or 'any GPU'}"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{escape(title)}: what works</title><style>{style}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            *(_sides(matrices) if several else ()),
            *(line for one in matrices for line in _section(one, named=several)),
            f"<footer>{escape(made_by)}. {_BOUNDARY}</footer></main></body></html>",
        ]
    )


def _section(matrix: Matrix, *, named: bool) -> Iterator[str]:
    """Write one matrix: its target, its table and the rules behind it."""
    if named:
        yield f"<h2>{escape(f'{matrix.engine} {matrix.named}')}</h2>"
    yield f"<p>{escape(head(matrix))}</p>"
    yield from (f"<p>assumed: {escape(one)}</p>" for one in matrix.assumptions)
    yield from _legend(matrix)
    yield '<div class="scroll"><table>'
    yield from _heads(matrix)
    yield from _rows(matrix)
    yield "</table></div><p>Choose a cell to see why, and its launch line.</p>"
    yield from _rules(matrix)


def _sides(matrices: Sequence[Matrix]) -> Iterator[str]:
    """Write what each engine makes of the same combination, in a column each."""
    names = [axis.name for axis in matrices[0].columns]
    heads = [*names, *(f"{one.engine} {one.named}" for one in matrices)]
    yield "<p>What each engine chooses by itself, and which of the backends that can be named work.</p>"
    yield '<div class="scroll"><table class="sides"><thead><tr>'
    yield "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    yield "</tr></thead><tbody>"
    for row in combinations(matrices):
        values = "".join(f'<th scope="row">{escape(value)}</th>' for value in row.values)
        yield f"<tr>{values}{''.join(map(_side, row.sides))}</tr>"
    yield "</tbody></table></div>"


def _side(side: Side) -> str:
    look, sign, word = _LOOKS[side.state]
    runs = f" <code>{escape(side.decode)}</code>" if side.decode else ""
    others = ", ".join(side.working)
    counts = f"<small>{escape(counted(side))} work{escape(f': {others}' if others else '')}</small>"
    return f'<td><span class="tag {look}">{sign} {word}</span>{runs}{counts if side.backends else ""}</td>'


def _legend(matrix: Matrix) -> Iterator[str]:
    yield '<ul class="legend">'
    for state, count in matrix.counts.items():
        look, sign, _ = _LOOKS[state]
        yield f'<li class="{look}">{sign} {escape(state)}: {count}</li>'
    yield "</ul>"


def _heads(matrix: Matrix) -> Iterator[str]:
    """One head row an axis; a value spans the columns below it."""
    sizes = [len(axis.values) for axis in matrix.columns]
    yield "<thead>"
    for depth, axis in enumerate(matrix.columns):
        span, repeat = prod(sizes[depth + 1 :]), prod(sizes[:depth])
        cells = "".join(
            f'<th class="value" scope="colgroup" colspan="{span}">{escape(value)}</th>'
            for _ in range(repeat)
            for value in axis.values
        )
        yield f'<tr><th scope="row">{escape(axis.name)}</th>{cells}</tr>'
    yield "</thead>"


def _rows(matrix: Matrix) -> Iterator[str]:
    cells = {(cell.row, cell.column): cell for cell in matrix.cells}
    last = len(matrix.columns[-1].values)
    yield "<tbody>"
    for row in matrix.rows.values:
        line = [f'<tr><th scope="row">{escape(row)}</th>']
        for number, column in enumerate(itertools.product(*(axis.values for axis in matrix.columns))):
            edge = ' class="first"' if number % last == 0 else ""
            line.append(f"<td{edge}>{_cell(matrix, cells[row, column])}</td>")
        yield "".join(line) + "</tr>"
    yield "</tbody>"


def _cell(matrix: Matrix, cell: Cell) -> str:
    look, sign, word = _LOOKS[cell.state]
    names = [f"{axis.name} {value}" for axis, value in zip(matrix.columns, cell.column, strict=True)]
    title = " · ".join([cell.row, *names])
    why = "".join(
        f'<p><span class="tag {look}">{escape(one.id)}</span>{escape(one.message)} '
        f"<small>({escape(one.phase)})</small></p>"
        for one in cell.reasons[:4]
    )
    runs = (
        f"<p>Decode runs on <code>{escape(cell.decode)}</code>.</p>"
        if cell.decode and cell.state in {WORKS, WARNS}
        else ""
    )
    return (
        f'<details name="cell"><summary class="{look}" aria-label="{escape(f"{title}: {cell.state}")}">'
        f'{sign} {word}</summary><div class="why"><strong>{escape(title)}: {escape(cell.state)}</strong>'
        f"{why}{runs}<pre><code>{escape(cell.command)}</code></pre></div></details>"
    )


def _rules(matrix: Matrix) -> Iterator[str]:
    reasons = matrix.reasons
    if not reasons:
        return
    yield '<h3>Why</h3><ul class="rules">'
    for reason, state, count in reasons:
        look = _LOOKS[state][0]
        yield (
            f'<li><span class="tag {look}">{escape(reason.id)}</span>{escape(reason.message)} '
            f"<small>{count} cell{'' if count == 1 else 's'}, {escape(reason.phase)}</small></li>"
        )
    yield "</ul>"
