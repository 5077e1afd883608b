"""Finds what has to be said before a rule can do anything: most rules ask for what few lines say.

A rule sleeps until a fact is what one of its needs names. Which rules are awake is known without asking them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from mlacheck.ruleset.expression import dotted, is_version, literal
from mlacheck.ruleset.interpreter import decide_node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mlacheck.ruleset.awake import Row, Wakes
    from mlacheck.ruleset.expression import Scope
    from mlacheck.ruleset.program import Program, Step

# The values of a fact of which one is needed; None: any other than its default.
Values: TypeAlias = "tuple[object, ...] | None"
Need: TypeAlias = "tuple[str, Values]"
# How often a need is met, roughly: by an argument or a variable, by one that rules set, by a fact of a probe.
_SAID, _SET, _PROBED = 1, 4, 6


class Waking:
    """The needs of one program's steps, numbered."""

    def __init__(self, program: Program, scope: Scope) -> None:
        self.defaults, self.scope = program.defaults, scope
        self._set = {fact for step in program.steps for fact in step.targets}
        self._numbers: dict[frozenset[Need], int] = {}
        found = [self._of_step(step) for step in program.steps]
        # By step; None for one that is always awake.
        self.numbers = [
            None if needs is None else self._numbers.setdefault(needs, len(self._numbers)) for needs in found
        ]

    def __len__(self) -> int:
        """Count the numbers."""
        return len(self._numbers)

    def wakes(self) -> Wakes:
        """Give, by fact, the numbers that wake for each value, for any other, and where it is not known."""
        by_fact: dict[str, list[tuple[int, Values]]] = {}
        for needs, number in self._numbers.items():
            for fact, values in sorted(needs, key=repr):
                by_fact.setdefault(fact, []).append((number, values))
        return {fact: self._row(fact, found) for fact, found in by_fact.items()}

    def _row(self, fact: str, found: list[tuple[int, Values]]) -> Row:
        other = tuple(number for number, values in found if values is None)
        named = dict.fromkeys(value for _, values in found for value in values or ())
        rows = {
            value: tuple(number for number, values in found if values is None or value in values)
            for value in named
        }
        default = self.defaults[fact]
        if default.__hash__ is not None:
            rows[default] = ()
        return rows, other, tuple(number for number, _ in found)

    def _of_step(self, step: Step) -> frozenset[Need] | None:
        needs = None if step.when is None else self._of(self.scope.tree(step.when))
        arms = [arm.when for arm in step.arms if arm.when is not None]
        if needs is None and arms and len(arms) == len(step.arms):
            needs = self._any(self._of(self.scope.tree(when)) for when in arms)
        return needs

    def _of(self, node: ast.expr) -> frozenset[Need] | None:
        """Give the needs of which one is met where a condition may hold; None where it may at any time."""
        name = dotted(node)
        if name is not None and name in self.scope.derives:
            return self._of(self.scope.tree(self.scope.derives[name]))
        if isinstance(node, ast.BoolOp):
            parts = [self._of(part) for part in node.values]
            if isinstance(node.op, ast.Or):
                return self._any(parts)
            known = [part for part in parts if part is not None]
            if known:
                return min(known, key=self._how_often)
        return self._one_of(node) or self._changed(node)

    @staticmethod
    def _any(parts: Iterable[frozenset[Need] | None]) -> frozenset[Need] | None:
        found = list(parts)
        known = [part for part in found if part is not None]
        return frozenset().union(*known) if len(known) == len(found) else None

    def _one_of(self, node: ast.expr) -> frozenset[Need] | None:
        """Give the need of a comparison with values of which the default is none."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return None
        fact, [right] = dotted(node.left), node.comparators
        if fact not in self.defaults or fact in self.scope.derives or is_version(node.left, self.scope):
            return None
        try:
            if isinstance(node.ops[0], ast.Eq | ast.Is):
                values: object = (literal(right),)
            elif isinstance(node.ops[0], ast.In):
                table = self.scope.tables.get(dotted(right) or "")
                values = literal(right) if table is None else table
            else:
                return None
        except ValueError:  # no literals
            return None
        if not isinstance(values, tuple) or self.defaults[fact] in values:
            return None
        return frozenset({(fact, values)})

    def _changed(self, node: ast.expr) -> frozenset[Need] | None:
        """Give the needs of what does not hold while all that it reads is as it is where nothing is said."""
        read = self.scope.references(ast.unparse(node))
        if not read or not read <= self.defaults.keys():
            return None
        try:
            held = decide_node(node, {name: self.defaults[name] for name in read}, self.scope)
        except (ArithmeticError, LookupError, ValueError):
            return None
        return frozenset((name, None) for name in read) if held is False else None

    def _how_often(self, needs: frozenset[Need]) -> int:
        return sum(map(self._weight, needs))

    def _weight(self, need: Need) -> int:
        fact, values = need
        if "." in fact and not fact.startswith("env."):
            return _PROBED if values is None else _SET
        return _SET if fact in self._set and values is None else _SAID
