"""What rules come to where facts are open, worked out once for the same facts.

Most lines of a run leave the same facts open, and so do the GPUs that one line is tried for. What a rule
comes to depends on nothing but the facts it names, so nothing here can grow stale.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mlacheck.ruleset.expression import Scope
    from mlacheck.ruleset.program import Program, Step

# Enough for thousands of lines of one kind; some 10 MB.
_MOST: Final = 20_000
T = TypeVar("T")


class Memory:
    """Remembers what the rules of one program came to."""

    def __init__(self, program: Program, scope: Scope) -> None:
        self.program, self.scope = program, scope
        self._readers: dict[int, Callable[[Mapping[str, object]], tuple[object, ...]]] = {}
        self._known: dict[tuple[int, ...], tuple[tuple[object, ...], object]] = {}

    def recall(
        self, index: int, facts: Mapping[str, object], work: Callable[[Step, Mapping[str, object], Scope], T]
    ) -> T:
        """Give what a rule comes to; `work` finds it out, from the rule and the facts that it names alone."""
        reader = self._readers.get(index)
        if reader is None:
            reader = self._readers[index] = self._reader(self.program.steps[index])
        values = reader(facts)
        # By identity, as open values cannot be compared; the entry keeps the objects, so ids stay theirs.
        key = (index, *map(id, values))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[key] = values, work(self.program.steps[index], facts, self.scope)
        return found[1]  # type: ignore[return-value]  # one kind of work for one rule

    def _reader(self, step: Step) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
        names = set(step.targets)
        names.update(*map(self.scope.references, (*step.conditions, *step.values)))
        if len(names) > 1:
            return itemgetter(*sorted(names))
        return lambda facts: tuple(facts[name] for name in names)
