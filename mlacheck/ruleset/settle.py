"""Finds when derived facts stop changing: from there on generated code computes each once, not where read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mlacheck.ruleset.expression import Scope
    from mlacheck.ruleset.program import Program

# Computed where nobody may ask for it, a fact has to be read by this many rules to be worth it.
_LEAST: Final = 3


def settles_after(program: Program, scope: Scope) -> dict[int, list[str]]:
    """Give, for a step, the derived facts that nothing changes after it and that rules after it read."""
    last: dict[str, int] = {}
    for index, step in enumerate(program.steps):
        last.update(dict.fromkeys(step.targets, index))
    conditions = [scope.derived(*step.conditions) for step in program.steps]
    values = [scope.derived(*step.values) for step in program.steps]
    found: dict[int, list[str]] = {}
    # What a fact is made of before the fact.
    for name in sorted(program.derives, key=lambda one: len(scope.derived(program.derives[one]))):
        writes = [last[fact] for fact in scope.references(program.derives[name]) if fact in last]
        if not writes:
            continue
        at = max(writes)
        read = sum(name in names for names in conditions[at + 1 :])
        # Where a rule sets something to it, the rule has to see what it may be while it is open.
        if read >= _LEAST and not any(name in names for names in values[at + 1 :]):
            found.setdefault(at, []).append(name)
    return found
