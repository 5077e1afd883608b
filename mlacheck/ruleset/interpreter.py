"""Three-valued evaluation of rule expressions, where compiled code meets a value that is not known."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from packaging.version import Version

from mlacheck.facts import UNKNOWN, Possible, Unknown, is_known, one_of
from mlacheck.frozen import field, record
from mlacheck.ruleset.expression import (
    ARITHMETIC,
    COMPARISONS,
    UNDECIDABLE,
    ExpressionError,
    compares_absent,
    dotted,
    is_version,
)
from mlacheck.ruleset.functions import FUNCTIONS, coalesce

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mlacheck.ruleset.expression import Scope

# Combining possible values is exponential; past this many combinations they are taken as unknown.
_MOST_COMBINATIONS: Final = 32

version = cache(Version)


def evaluate(text: str, facts: Mapping[str, object], scope: Scope) -> object:
    """Evaluate an expression three-valued: a value, `Possible` values, or UNKNOWN."""
    if text in scope.declarations and text not in scope.derives:
        return facts[text]
    return Moment(facts, scope).evaluate(text)


def decide(text: str, facts: Mapping[str, object], scope: Scope) -> bool | None:
    """Decide a condition: True, False, or None when it cannot be decided."""
    return Moment(facts, scope).decide(text)


class Moment:
    """Facts that stay as they are while expressions are asked about them: these share what they read."""

    def __init__(self, facts: Mapping[str, object], scope: Scope) -> None:
        self.facts, self.scope = facts, scope
        self._worlds: dict[tuple[str, ...], list[_World]] = {}

    def evaluate(self, text: str) -> object:
        """Evaluate an expression three-valued: a value, `Possible` values, or UNKNOWN."""
        results = list(self._results(text))
        value = results[0] if len(results) == 1 else one_of(results)
        # Where some worlds leave the value open and all agree on its truth, only that is known.
        open_ = len(results) > 1 and len(set(map(truth, results))) == 1 and not all(map(is_known, results))
        return UNKNOWN if open_ or isinstance(value, Unknown) else value

    def decide(self, text: str) -> bool | None:
        """Decide a condition: True, False, or None when it cannot be decided."""
        truths = (truth(result) for result in self._results(text))
        first = next(truths)
        # The first combination that is open, or that says otherwise, settles that nothing is settled.
        return first if first is not None and all(other is first for other in truths) else None

    def _results(self, text: str) -> Iterator[object]:
        """Yield what an expression comes to, once for each combination of what the facts in it may be."""
        facts = self.facts
        names = tuple([name for name in self.scope.inputs(text) if isinstance(facts.get(name), Possible)])
        worlds = self._worlds.get(names)
        if worlds is None:
            worlds = self._worlds[names] = self._combine(names)
        part = _part(self.scope.tree(text), self.scope)
        for world in worlds:
            yield part(world)

    def _combine(self, names: tuple[str, ...]) -> list[_World]:
        """Give a world for each combination of what some facts may be; too many are left open."""
        options = [value.options for name in names if isinstance(value := self.facts[name], Possible)]
        if prod(map(len, options)) > _MOST_COMBINATIONS:
            return [_World(self.facts, self.scope)]
        return [
            _World(
                {**self.facts, **dict(zip(names, values, strict=True))} if names else self.facts, self.scope
            )
            for values in itertools.product(*options)
        ]


@record
class _World:
    """Facts without alternatives, and what derived facts came to in them."""

    facts: Mapping[str, object]
    scope: Scope
    derived: dict[str, object] = field(default_factory=dict)


_Part = Callable[[_World], object]


def _derive(name: str, text: str, world: _World) -> object:
    scope = world.scope
    if scope.namespace:
        try:
            return scope.derive(name, world.facts)
        except UNDECIDABLE:
            pass
    return scope.opened.recall(name, world.facts, lambda: _part(scope.tree(text), scope)(world))


# An unknown value of which at least the truth is known: `UNKNOWN or True`, `UNKNOWN and False`.
_TRUTHY: Final = Unknown()
_FALSY: Final = Unknown()


def truth(value: object) -> bool | None:
    """Give a value's truth, None when it cannot be decided."""
    if is_known(value):
        return bool(value)
    if isinstance(value, Possible):
        truths = {bool(option) for option in value.options}
        return truths.pop() if len(truths) == 1 else None
    return value is _TRUTHY if value is _TRUTHY or value is _FALSY else None


def decide_node(node: ast.expr, facts: Mapping[str, object], scope: Scope) -> bool | None:
    """Decide a part of a checked expression."""
    return truth(_part(node, scope)(_World(facts, scope)))


def _part(node: ast.expr, scope: Scope) -> _Part:
    """Give what evaluates a node, made once and kept on it: trees are of one scope and walked often."""
    try:
        part: _Part = node.part  # type: ignore[attr-defined]  # set below
    except AttributeError:
        part = node.part = _make(node, scope)  # type: ignore[attr-defined]  # same
    return part


def _make(node: ast.expr, scope: Scope) -> _Part:
    name = dotted(node)
    if name is not None:
        return _make_fact(name, scope)
    if isinstance(node, ast.Constant):
        value = node.value
        return lambda _: value
    if isinstance(node, ast.BoolOp):
        return _make_bool(node, scope)
    if isinstance(node, ast.IfExp):
        return _make_choice(node, scope)
    if isinstance(node, ast.Compare):
        return _make_compare(node, scope)
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, ast.Call):
        children = node.args
    parts = [_part(child, scope) for child in children]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "coalesce":
        return lambda world: coalesce(*[part(world) for part in parts])
    if isinstance(node, ast.List | ast.Tuple):
        return lambda world: tuple([part(world) for part in parts])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _make_not(parts[0])
    return _make_applied(_function(node), parts)


def _make_fact(name: str, scope: Scope) -> _Part:
    text = scope.derives.get(name)
    if text is not None:

        def derived(world: _World) -> object:
            if name not in world.derived:
                world.derived[name] = _derive(name, text, world)
            return world.derived[name]

        return derived
    if name in scope.tables:
        table = scope.tables[name]
        return lambda _: table
    return lambda world: world.facts[name]


def _make_not(part: _Part) -> _Part:
    def negated(world: _World) -> object:
        known = truth(part(world))
        return UNKNOWN if known is None else not known

    return negated


def _make_choice(node: ast.IfExp, scope: Scope) -> _Part:
    test, body, orelse = (_part(part, scope) for part in (node.test, node.body, node.orelse))

    def choice(world: _World) -> object:
        known = truth(test(world))
        if known is not None:
            return body(world) if known else orelse(world)
        return one_of((body(world), orelse(world)))

    return choice


def _make_applied(function: Callable[..., object], parts: Sequence[_Part]) -> _Part:
    def applied(world: _World) -> object:
        values = [part(world) for part in parts]
        if not all(map(is_known, values)):
            return UNKNOWN
        try:
            return function(*values)
        except UNDECIDABLE:
            return UNKNOWN

    return applied


def _function(node: ast.expr) -> Callable[..., object]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id]
    if isinstance(node, ast.UnaryOp):
        return lambda value: _arithmetic("-", 0, value)
    if isinstance(node, ast.BinOp):
        return partial(_arithmetic, ARITHMETIC[type(node.op)])
    raise ExpressionError(f"{ast.unparse(node)!r} is outside the language")


def _arithmetic(sign: str, left: object, right: object) -> object:
    if not isinstance(left, int | float | str) or not isinstance(right, int | float | str):
        raise TypeError
    return _SUMS[sign](left, right)


def _make_bool(node: ast.BoolOp, scope: Scope) -> _Part:
    decisive = isinstance(node.op, ast.Or)
    parts = [_part(item, scope) for item in node.values]

    def joined(world: _World) -> object:
        undecided = False
        value: object = None
        for part in parts:
            value = part(world)
            known = truth(value)
            if known is decisive:
                # The value is this operand only when none before it could have been decisive.
                return value if not undecided else (_TRUTHY if decisive else _FALSY)
            undecided = undecided or known is None
        return UNKNOWN if undecided else value

    return joined


def _make_compare(node: ast.Compare, scope: Scope) -> _Part:
    if compares_absent(node, scope):
        return lambda _: False
    operands = [node.left, *node.comparators]
    pairs = [
        (
            _part(left, scope),
            _comparison(sign),
            _part(right, scope),
            is_version(left, scope),
            is_version(right, scope),
        )
        for left, sign, right in zip(operands, node.ops, operands[1:], strict=False)
    ]

    def compared(world: _World) -> object:
        undecided = False
        for left, test, right, left_is_version, right_is_version in pairs:
            a, b = left(world), right(world)
            if left_is_version and isinstance(b, str):
                b = version(b)
            if right_is_version and isinstance(a, str):
                a = version(a)
            result = test(a, b)
            if result is None:
                undecided = True
            elif not result:
                return False
        return UNKNOWN if undecided else True

    return compared


_TESTS: Final[dict[str, Callable[[Any, Any], object]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, container: item in container,
    "not in": lambda item, container: item not in container,
}
_SUMS: Final[dict[str, Callable[[Any, Any], object]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
}


def _comparison(sign: ast.cmpop) -> Callable[[object, object], bool | None]:
    test = _TESTS[COMPARISONS[type(sign)]]

    def compare(left: object, right: object) -> bool | None:
        if not is_known(left) or not is_known(right):
            return None
        try:
            return bool(test(left, right))
        except UNDECIDABLE:
            return None

    if not isinstance(sign, ast.In | ast.NotIn):
        return compare
    found = isinstance(sign, ast.In)

    def contained(item: object, container: object) -> bool | None:
        if not isinstance(container, tuple) or not is_known(item):
            return compare(item, container)
        try:
            # One known equal item decides membership, whatever the other items are.
            if any(is_known(one) and one == item for one in container):
                return found
        except UNDECIDABLE:  # the item is a list, and something in it is not known
            return None
        return not found if all(map(is_known, container)) else None

    return contained
