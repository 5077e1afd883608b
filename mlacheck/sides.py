"""Several matrices of one model and GPU side by side: what each engine does with the same combination."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen
from mlacheck.matrix import AUTO, STATES, WARNS, WORKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.matrix import Cell, Matrix

# Between what two engines call the same value, shown and in values that are asked for.
BETWEEN: Final = "/"


@frozen
class Side:
    """What one engine does with a combination."""

    state: str  # of the backend that it chooses by itself, else of the best one
    decode: str  # what it decodes with then; empty where it does not work
    working: tuple[str, ...]  # the named backends that work
    backends: int  # how many were named


@frozen
class Combination:
    """One column of all matrices: its values in each engine's words, and what each engine does with them."""

    values: tuple[str, ...]
    sides: tuple[Side, ...]


def combinations(matrices: Sequence[Matrix]) -> tuple[Combination, ...]:
    """Lay matrices of the same columns side by side."""
    products = [itertools.product(*(axis.values for axis in one.columns)) for one in matrices]
    found = []
    for columns in zip(*products, strict=True):
        values = tuple(BETWEEN.join(dict.fromkeys(each)) for each in zip(*columns, strict=True))
        sides = tuple(_side(one, column) for one, column in zip(matrices, columns, strict=True))
        found.append(Combination(values, sides))
    return tuple(found)


def mismatch(matrices: Sequence[Matrix]) -> str | None:
    """Say in what the columns of matrices differ that cannot stand side by side."""
    first, *others = matrices
    for other in others:
        for ours, theirs in itertools.zip_longest(first.columns, other.columns):
            if ours is None or theirs is None or ours.name != theirs.name:
                return f"{first.engine} and {other.engine} have other columns"
            if len(ours.values) != len(theirs.values):
                return f"{ours.name}: {first.engine} and {other.engine} have other numbers of values"
    return None


def _side(matrix: Matrix, column: tuple[str, ...]) -> Side:
    cells = [cell for cell in matrix.cells if cell.column == column]
    named = [cell for cell in cells if cell.row != AUTO]
    working = tuple(cell.row for cell in named if _works(cell))
    own = next((cell for cell in cells if cell.row == AUTO), None)
    shown = own or min(named, key=lambda cell: STATES.index(cell.state))
    return Side(shown.state, shown.decode if _works(shown) else "", working, len(named))


def _works(cell: Cell) -> bool:
    return cell.state in {WORKS, WARNS}
