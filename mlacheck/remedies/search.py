"""Finds the smallest sets of flag changes with which the whole line passes every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.evaluation import Edits, Evaluation
    from mlacheck.ruleset.machine import Hit

# More changes than this make another launch, not a corrected one.
MOST_CHANGES: Final = 3
# Rule sets propose a handful of edits each; this bounds a pathological one.
_MOST_STATES: Final = 80


def search(evaluation: Evaluation, hit: Hit) -> Iterator[Edits]:
    """Yield sets of edits, one from each that a finding's rule proposes, completed until nothing fails."""
    outcome = evaluation.outcome()
    for first in evaluation.edits(hit, outcome.facts):
        complete = _complete(evaluation, first)
        if complete is not None:
            yield complete


def _complete(evaluation: Evaluation, start: Edits) -> Edits | None:
    queue: list[Edits] = [start]
    seen: set[frozenset[tuple[str, str]]] = set()
    while queue and len(seen) < _MOST_STATES:
        edits = queue.pop(0)
        key = frozenset((name, repr(value)) for name, value in edits.items())
        if key in seen:
            continue
        seen.add(key)
        outcome = evaluation.outcome(edits)
        errors = evaluation.errors(outcome)
        if not errors:
            return edits
        for edit in evaluation.edits(errors[0], outcome.facts):
            more = {**edit, **edits}  # an earlier choice stands: the start is what the reader asked to see
            if len(more) <= MOST_CHANGES and more != edits:
                queue.append(more)
    return None
