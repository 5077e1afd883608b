"""The steps of a generated module, each made from its JSON text when it is first asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, overload

from mlacheck.ruleset.program import Arm, Step


class Steps(Sequence[Step]):
    """Steps in the engine's order: a run looks at a few dozen of several hundred."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._rows = rows
        self._made: dict[int, Step] = {}

    def __len__(self) -> int:
        """Count them."""
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...

    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        """Give one, or some in order."""
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = _step(json.loads(self._rows[index]))
        return made


def _step(row: dict[str, Any]) -> Step:
    """Make a step; JSON has lists where it has tuples."""
    fields: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in row.items()}
    fields["arms"] = tuple(_arm(**arm) for arm in row.get("arms", ()))
    return Step(**fields)


def _arm(when: str | None, title: str, targets: list[list[Any]]) -> Arm:
    return Arm(when, title, tuple((fact, is_expression, value) for fact, is_expression, value in targets))
