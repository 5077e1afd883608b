"""Changes that may mend an error: what its rule proposes, then what its condition depends on."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mlacheck.ruleset.program import UNSET
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.engines import Grammar
    from mlacheck.evaluation import Edits, Evaluation, Outcome
    from mlacheck.remedies.preference import Preferences
    from mlacheck.ruleset.machine import Hit

# How far behind a condition its causes are sought: a default set by a rule that read another default.
_DEPTH: Final = 3
# How like a known value another one is that misspells it.
_LIKE: Final = 0.85
_OFF: Final = frozenset({"", "0", "false", "no", "n", "off"})


class Candidates:
    """Proposes changes for one launch."""

    def __init__(
        self, evaluation: Evaluation, grammar: Grammar, given: frozenset[str], preferences: Preferences
    ) -> None:
        self.evaluation, self.grammar = evaluation, grammar
        self.given, self.preferences = given, preferences

    def proposed(self, hit: Hit, outcome: Outcome) -> Iterator[Edits]:
        """Yield the edits that the rule itself names."""
        for edits in self.evaluation.edits(hit, outcome.facts):
            if all(name.startswith("env.") or name in self.grammar.options for name in edits):
                yield edits

    def nearest(self, hit: Hit, outcome: Outcome) -> Iterator[Edits]:
        """Yield what is likely meant: a value one letter off, and the variables that the condition reads."""
        causes = self._behind(hit, outcome)
        for name in causes:
            if name in self.given and name in self.preferences.levers:
                meant = meant_by(self.evaluation.facts.get(name), self.preferences.levers[name])
                if meant is not None:
                    yield {name: meant}
        for name in causes:
            free = name.startswith("env.") and name not in self.preferences.fixed
            value = self.evaluation.facts.get(name) if free else None
            if isinstance(value, str):
                yield {name: UNSET}
                if value.lower() in _OFF:
                    yield {name: "1"}

    def derived(self, hit: Hit, outcome: Outcome) -> Iterator[Edits]:
        """Yield changes of the arguments that the rule's condition depends on, however indirectly."""
        causes = self._causes(hit, outcome)
        given = [name for name in causes if name in self.given]
        for name in given:
            yield {name: UNSET}
        suits: dict[str, bool] = {}  # by condition: several values and arguments share one
        for name in causes:
            for value in self.preferences.levers.get(name, ()):
                if self._can(name, value, outcome, suits) and self.evaluation.differs(name, value):
                    yield {name: value}
        # Flags that only make sense together have to go together.
        for at, first in enumerate(given):
            for second in given[at + 1 :]:
                yield {first: UNSET, second: UNSET}

    def given_causes(self, hit: Hit, outcome: Outcome) -> list[str]:
        """List the flags of the line that a rule's condition depends on."""
        return [name for name in self._causes(hit, outcome) if name in self.given]

    def any(self) -> Iterator[Edits]:
        """Yield the removal of each flag that the line gives."""
        for name in sorted(self.given - self.preferences.fixed):
            yield {name: UNSET}

    def _can(self, name: str, value: object, outcome: Outcome, suits: dict[str, bool]) -> bool:
        option = self.grammar.options[name]
        text = self.preferences.suits.get(str(value))
        if text is not None:
            if text not in suits:
                suits[text] = self.evaluation.compiled.holds(text, outcome.facts)
            if not suits[text]:
                return False
        if option.takes_value:
            return not option.choices or value in option.choices
        return value == option.switch or option.off is not None

    def _causes(self, hit: Hit, outcome: Outcome) -> list[str]:
        """List the arguments behind a condition, the nearest first."""
        seen = self._behind(hit, outcome)
        return [name for name in seen if name in self.grammar.options and name not in self.preferences.fixed]

    def _behind(self, hit: Hit, outcome: Outcome) -> list[str]:
        """List the facts behind a condition, the nearest first."""
        scope, steps = self.evaluation.compiled.scope, self.evaluation.compiled.program.steps
        seen: dict[str, None] = {}
        front = sorted(scope.references(self.evaluation.step(hit).when or "True"))
        for _ in range(_DEPTH):
            behind: set[str] = set()
            for name in front:
                if name in seen:
                    continue
                seen[name] = None
                setter = outcome.run.setters.get(name)
                if setter is not None:
                    step = steps[setter[0]]
                    for arm in step.arms[: setter[1] + 1]:
                        behind |= scope.references(arm.when or "True")
                    for fact, is_expression, text in step.arms[setter[1]].targets:
                        if fact == name and is_expression:
                            behind |= scope.references(text)
                    behind |= scope.references(step.when or "True")
            front = sorted(behind)
        return list(seen)


def meant_by(value: object, known: tuple[object, ...]) -> str | None:
    """Give the known value that a text misspells."""
    return _meant(value, known) if isinstance(value, str) else None


@lru_cache(maxsize=1024)
def _meant(text: str, known: tuple[object, ...]) -> str | None:
    names = {one.upper(): one for one in known if isinstance(one, str)}
    if text.upper() in names:
        return None
    close = closest(text.upper(), names, 1, _LIKE)
    return names[close[0]] if close else None
