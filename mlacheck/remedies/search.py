"""Finds the cheapest sets of flag changes with which the whole line passes every rule."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Final

from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.evaluation import Edits, Evaluation, Outcome
    from mlacheck.remedies.candidates import Candidates
    from mlacheck.remedies.cost import Costs
    from mlacheck.ruleset.machine import Hit

# More changes than this make another launch, not a corrected one.
MOST_CHANGES: Final = 3
# Runs of the rules that a search may take: over what rules propose, for something better, for anything.
_PROPOSED: Final = 40
_BETTER: Final = 60
_MORE: Final = 20
_ANYTHING: Final = 400
# Flags of which all combinations are tried without, and solutions that are enough then.
_FLAGS: Final = 8
_FEW: Final = 2
# A line that gives up nothing of weight is good enough.
_CHEAP: Final = 13.0
_GOOD: Final = 24
# What a rule names is tried before what is only derived from its condition, and that before any other flag.
_NEAREST: Final = 1.0
_DERIVED: Final = 4.0
_UNRELATED: Final = 12.0


class Search:
    """A best-first search from one line."""

    def __init__(self, evaluation: Evaluation, candidates: Candidates, costs: Costs) -> None:
        self.evaluation, self.candidates, self.costs = evaluation, candidates, costs
        self.before = evaluation.outcome()
        self.warned = warnings(evaluation, self.before)
        self.waited = {step for step, _ in self.before.run.undecided}
        self.found: list[tuple[float, Edits]] = []
        self.spent = 0

    def run(self, most_changes: int = MOST_CHANGES) -> list[Edits]:
        """Give the sets of changes that pass, best first; none contains another, no two come to the same."""
        self._explore(most_changes, _PROPOSED, _PROPOSED, derived=False)
        if not self.found:
            self._drop(most_changes)
        self._explore(most_changes, max(_BETTER, self.spent + _MORE), _ANYTHING, derived=True)
        return self._distinct()

    def _explore(self, most_changes: int, enough: int, most: int, *, derived: bool) -> None:
        """Work through the cheapest sets first until enough was spent for what was found."""
        queue: list[tuple[float, int, Edits, int | None]] = [(0, 0, {}, None)]
        seen: set[frozenset[tuple[str, str]]] = set()
        while queue and self.spent < self._allowed(enough, most):
            guess, _, edits, step = heapq.heappop(queue)
            if self.found and guess > self.found[0][0]:
                return
            if any(known.items() <= edits.items() for _, known in self.found):
                continue
            outcome = self._outcome(edits)
            errors = self.evaluation.errors(outcome)
            if not errors:
                self._add(edits, outcome)
                continue
            if len(edits) == most_changes:
                continue
            hit = errors[0]
            # What did not mend the error it was tried for is not worth following, unless a rule says how.
            for penalty, more in self._more(hit, outcome, derived=derived and hit.step != step):
                if any(name in edits for name in more) or len(edits) + len(more) > most_changes:
                    continue
                merged = {**edits, **more}
                key = frozenset((name, repr(value)) for name, value in merged.items())
                if key in seen:
                    continue
                seen.add(key)
                cost = self.costs.guess(merged) + penalty
                heapq.heappush(queue, (cost, len(seen), merged, hit.step))

    def _allowed(self, enough: int, most: int) -> int:
        if not self.found:
            return most
        return _GOOD if self.found[0][0] < _CHEAP else enough

    def _drop(self, most_changes: int) -> None:
        """Try without the flags that any of the errors depends on, few of them first."""
        errors = self.evaluation.errors(self.before)
        causes = dict.fromkeys(
            name for hit in errors for name in self.candidates.given_causes(hit, self.before)
        )
        names = list(causes)[:_FLAGS]
        sets: list[Edits] = [
            dict[str, object].fromkeys(chosen, UNSET)
            for count in range(1, most_changes + 1)
            for chosen in itertools.combinations(names, count)
        ]
        for edits in sorted(sets, key=self.costs.guess):
            if len(self.found) >= _FEW:
                return
            if any(known.items() <= edits.items() for _, known in self.found):
                continue
            outcome = self._outcome(edits)
            if not self.evaluation.errors(outcome):
                self._add(edits, outcome)

    def _outcome(self, edits: Edits) -> Outcome:
        self.spent += 1
        return self.evaluation.outcome(edits)

    def _add(self, edits: Edits, outcome: Outcome) -> None:
        if all(edits != known for _, known in self.found) and self._decided(outcome):
            new = len(warnings(self.evaluation, outcome) - self.warned)
            self.found.append((self.costs.loss(edits, outcome, new), edits))
            self.found.sort(key=lambda item: item[0])

    def _more(self, hit: Hit, outcome: Outcome, *, derived: bool) -> Iterator[tuple[float, Edits]]:
        for edits in self.candidates.proposed(hit, outcome):
            yield 0, edits
        for edits in self.candidates.nearest(hit, outcome):
            yield _NEAREST, edits
        if derived:
            for edits in self.candidates.derived(hit, outcome):
                yield _DERIVED, edits
            for edits in self.candidates.any():
                yield _UNRELATED, edits

    def _decided(self, outcome: Outcome) -> bool:
        """Refuse lines on which a rule waits that did not wait before: they may be worse."""
        steps = self.evaluation.compiled.program.steps
        return all(step in self.waited or steps[step].level != "error" for step, _ in outcome.run.undecided)

    def _distinct(self) -> list[Edits]:
        """Keep the best of those that come to the same for the reader, whatever arguments they use for it."""
        kept: list[Edits] = []
        results: list[tuple[object, ...]] = []
        known = self.costs.preferences
        names = [keep.fact for keep in known.keeps]
        names += sorted({name for _, edits in self.found for name in edits if name not in known.levers})
        for _, edits in self.found:
            outcome = self.evaluation.outcome(edits)
            result = tuple(repr(outcome.run.value(name, outcome.facts)) for name in names)
            if result not in results and not any(one.items() < edits.items() for one in kept):
                kept.append(edits)
                results.append(result)
        return kept


def warnings(evaluation: Evaluation, outcome: Outcome) -> frozenset[int]:
    """Name the rules that warn."""
    return frozenset(hit.step for hit in outcome.run.hits if evaluation.step(hit).level == "warning")
