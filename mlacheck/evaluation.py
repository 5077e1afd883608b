"""Runs an engine version's rules over the facts of one launch and keeps what stands on its own.

After its first refusal the engine is dead, so a later finding is kept only if it still fires once the earlier
ones are remedied: a finding that would vanish with the first fix is not reported.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlacheck.facts import is_known
from mlacheck.finding import START_UP_PHASES
from mlacheck.frozen import field, frozen, record, replace
from mlacheck.ruleset.expression import dotted, names_of
from mlacheck.ruleset.interpreter import decide_node
from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mlacheck.ruleset.expression import Scope
    from mlacheck.ruleset.load import Compiled
    from mlacheck.ruleset.machine import Hit, Run
    from mlacheck.ruleset.program import Step

Edits = dict[str, object]


@frozen
class Outcome:
    """The facts after all rules ran, and the rules that fired or stayed undecided."""

    facts: dict[str, object]
    run: Run

    @property
    def fired(self) -> frozenset[int]:
        """Name the steps that fired."""
        return frozenset(hit.step for hit in self.run.hits)


@record
class Evaluation:
    """One launch under one program; outcomes of edited launches are remembered."""

    compiled: Compiled
    facts: dict[str, object]  # settled
    defaults: Mapping[str, object]
    places: Mapping[str, int] = field(default_factory=dict)  # by argument, the word that gives it
    _outcomes: dict[tuple[tuple[str, object], ...], Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.awake = self.compiled.sleepers.awake(self.facts)

    def step(self, hit: Hit) -> Step:
        """Give the rule behind a hit."""
        return self.compiled.program.steps[hit.step]

    def outcome(self, edits: Edits | None = None) -> Outcome:
        """Run the rules, with some arguments changed."""
        key = tuple(sorted((edits or {}).items(), key=lambda item: item[0]))
        key = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in key)
        found = self._outcomes.get(key)
        if found is None:
            facts, awake = self.facts.copy(), self.awake.copy()
            for name, value in (edits or {}).items():
                facts[name] = self.defaults.get(name) if value == UNSET else value
                awake.tell(name, facts[name])
            self.compiled.settle_again(facts, edits or ())
            found = self._outcomes[key] = Outcome(facts, self.compiled.apply(facts, awake, told=not edits))
        return found

    def is_start_up(self, hit: Hit) -> bool:
        """Tell whether the engine itself refuses here."""
        return self.step(hit).phase in START_UP_PHASES

    def errors(self, outcome: Outcome) -> list[Hit]:
        """List the errors in the order they would be met: refusals, then what dies or lies later."""
        errors = [hit for hit in outcome.run.hits if self.step(hit).level == "error"]
        return sorted(errors, key=self._met)

    def _met(self, hit: Hit) -> tuple[int, int]:
        if self.step(hit).phase == "argparse":
            return 0, self.parsed_at(self.step(hit))
        return (1 if self.is_start_up(hit) else 2), 0

    def parsed_at(self, step: Step) -> int:
        """Give the last of the words that a rule reads: the parser takes them in their order; -1 for none."""
        read = self.compiled.scope.references(step.when or "True")
        return max((self.places[name] for name in read if name in self.places), default=-1)

    def independent(self) -> tuple[list[Hit], Hit | None]:
        """List the findings that do not depend on an earlier error, and the one the engine would stop at."""
        outcome = self.outcome()
        errors = self.errors(outcome)
        stop = errors[0] if errors and self.is_start_up(errors[0]) else None
        alive = outcome.fired
        edits: Edits = {}
        kept: set[int] = set()
        for hit in errors:
            if hit.step not in alive:
                continue
            kept.add(hit.step)
            remedy = next(self.curing_edits(hit, edits), None)
            if remedy is None:
                # No edit cures it: what reads the same arguments is taken to hang on it.
                alive = frozenset(
                    step for step in alive if step in kept or not self._shares_arguments(hit, step)
                )
            else:
                edits = {**edits, **remedy}
                alive = alive & (self.outcome(edits).fired | kept)
        # What was said before the first refusal was said; later remarks must survive its remedy.
        first = outcome.run.hits.index(stop) if stop else len(outcome.run.hits)
        said = [
            hit
            for position, hit in enumerate(outcome.run.hits)
            if hit.step in kept
            or (self.step(hit).level != "error" and (position < first or hit.step in alive))
        ]
        return said, stop

    def edits(self, hit: Hit, facts: Mapping[str, object]) -> Iterator[Edits]:
        """Yield the edits that a rule proposes and that apply to these facts and change something."""
        for remedy in self.step(hit).remedies:
            edit = remedy.get("edit")
            if edit and self.applies(remedy, facts):
                changed = {
                    name: value
                    for name, value in edit.items()
                    if self.differs(name, self.defaults.get(name) if value == UNSET else value)
                }
                if changed:
                    yield changed

    def differs(self, name: str, value: object) -> bool:
        """Tell whether an argument would change."""
        old = self.facts.get(name)
        return not is_known(old) or old != value

    def applies(self, remedy: Mapping[str, object], facts: Mapping[str, object]) -> bool:
        """Tell whether a remedy's own condition holds."""
        when = remedy.get("when")
        return not isinstance(when, str) or self.compiled.holds(when, facts)

    def curing_edits(self, hit: Hit, edits: Edits) -> Iterator[Edits]:
        """Yield the edits that make a rule fall silent."""
        for edit in self.edits(hit, self.outcome(edits).facts):
            if hit.step not in self.outcome({**edits, **edit}).fired:
                yield edit

    def _shares_arguments(self, hit: Hit, step: int) -> bool:
        scope, steps = self.compiled.scope, self.compiled.program.steps
        mine = scope.references(self.step(hit).when or "True")
        return any(name in self.defaults for name in mine & scope.references(steps[step].when or "True"))

    def origin(self, name: str, outcome: Outcome, origins: Mapping[str, str]) -> str:
        """Say which flag, default or override gave a fact its value."""
        source = self._source(name, outcome) if name in self.compiled.scope.derives else name
        if not isinstance(source, str):
            return _made_from(source, self.compiled.scope)
        setter = outcome.run.setters.get(source)
        if setter is not None:
            step, arm = setter
            return self.compiled.program.steps[step].arms[arm].title
        found = origins.get(source)
        if found or "." not in source:
            return found or "default"
        # All facts of one model come from one place.
        return origins.get(f"{source.partition('.')[0]}.", "default")

    def then(self, hit: Hit, outcome: Outcome) -> Outcome:
        """Give the outcome as it was when a rule fired: later rules may have set what it reads."""
        return Outcome({**self.facts, **hit.facts}, replace(outcome.run, setters=hit.setters))

    def chosen(self, hit: Hit, outcome: Outcome) -> Iterator[str]:
        """Name the facts that a hit reads, and those whose value derived ones have."""
        for name, _ in hit.values:
            yield name
            source = self._source(name, outcome)
            if isinstance(source, str):
                yield source

    def _source(self, name: str, outcome: Outcome) -> str | ast.expr:
        """Find the fact whose value a fact has, or the expression that makes it."""
        text = self.compiled.scope.derives.get(name)
        return name if text is None else self._source_of(self.compiled.scope.tree(text), outcome)

    def _source_of(self, node: ast.expr, outcome: Outcome) -> str | ast.expr:
        scope, facts = self.compiled.scope, outcome.facts
        name = dotted(node)
        if name is not None and name not in scope.tables:
            return self._source(name, outcome)
        branches: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "coalesce":
            branches = node.args
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            branches = node.values
        elif isinstance(node, ast.IfExp):
            holds = decide_node(node.test, facts, scope)
            if holds is not None:
                return self._source_of(node.body if holds else node.orelse, outcome)
        for branch in branches:
            inner = dotted(branch)
            if inner is None:
                return self._source_of(branch, outcome)
            if outcome.run.value(inner, facts) is not None:
                return self._source(inner, outcome)
        return node

    def unknown(self, outcome: Outcome) -> list[tuple[Step, tuple[str, ...]]]:
        """List the rules that could not be decided and are waited for, with the facts they wait for."""
        waiting = ((self.compiled.program.steps[index], needs) for index, needs in outcome.run.undecided)
        return [(step, needs) for step, needs in waiting if not step.known_only]


def _made_from(node: ast.expr, scope: Scope) -> str:
    """Say what an expression is made from, remembered on the node: many lines ask for the same ones."""
    try:
        told: str = node.made_from  # type: ignore[attr-defined]  # set below
    except AttributeError:
        names = sorted(set(names_of(node)) - scope.tables.keys())
        told = "from " + ", ".join(names[:4]) if names else "engine default"
        node.made_from = told  # type: ignore[attr-defined]  # same
    return told
