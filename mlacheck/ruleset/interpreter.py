"""Three-valued evaluation of rule expressions, where compiled code meets a value that is not known."""

from __future__ import annotations

import ast
import itertools
import operator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from packaging.version import Version

from mlacheck.facts import UNKNOWN, Possible, Unknown, is_known, one_of
from mlacheck.ruleset.expression import (
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    UNDECIDABLE,
    ExpressionError,
    coalesce,
    compares_absent,
    dotted,
    is_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mlacheck.ruleset.expression import Scope

# Combining possible values is exponential; past this many combinations the answer is simply unknown.
_MOST_COMBINATIONS: Final = 32

version = cache(Version)


def evaluate(text: str, facts: Mapping[str, object], scope: Scope) -> object:
    """Evaluate an expression three-valued: a value, `Possible` values, or UNKNOWN."""
    results = list(_results(text, facts, scope))
    value = results[0] if len(results) == 1 else one_of(results)
    # Where some worlds leave the value open and all agree on its truth, only that is known.
    open_ = len(results) > 1 and len(set(map(truth, results))) == 1 and not all(map(is_known, results))
    return UNKNOWN if open_ or isinstance(value, Unknown) else value


def _results(text: str, facts: Mapping[str, object], scope: Scope) -> Iterator[object]:
    """Yield what an expression comes to, once for each combination of what the facts in it may be."""
    uncertain = [
        (name, value)
        for name in sorted(scope.references(text))
        if isinstance(value := facts.get(name), Possible)
    ]
    combinations = 1
    for _, value in uncertain:
        combinations *= len(value.options)
    if combinations > _MOST_COMBINATIONS:
        yield UNKNOWN
        return
    if not uncertain:
        yield _evaluate(scope.tree(text), _World(facts, scope))
        return
    names = [name for name, _ in uncertain]
    decided = dict(facts)
    for options in itertools.product(*(value.options for _, value in uncertain)):
        decided.update(zip(names, options, strict=True))
        yield _evaluate_text(text, _World(decided, scope))


@dataclass(slots=True)
class _World:
    """Facts that stay as they are during one evaluation, and what derived facts came to in it."""

    facts: Mapping[str, object]
    scope: Scope
    derived: dict[str, object] = field(default_factory=dict)


def _evaluate_text(text: str, world: _World) -> object:
    if world.scope.namespace:
        try:
            return world.scope.function(text)(world.facts)
        except UNDECIDABLE:
            pass
    return _evaluate(world.scope.tree(text), world)


# An unknown value of which at least the truth is known: `UNKNOWN or True`, `UNKNOWN and False`.
_TRUTHY: Final = Unknown()
_FALSY: Final = Unknown()


def truth(value: object) -> bool | None:
    """Give a value's truth, None when it cannot be decided."""
    if value is _TRUTHY or value is _FALSY:
        return value is _TRUTHY
    if isinstance(value, Possible):
        truths = {bool(option) for option in value.options}
        return truths.pop() if len(truths) == 1 else None
    return bool(value) if is_known(value) else None


def decide_node(node: ast.expr, facts: Mapping[str, object], scope: Scope) -> bool | None:
    """Decide a part of a checked expression."""
    return truth(_evaluate(node, _World(facts, scope)))


def decide(text: str, facts: Mapping[str, object], scope: Scope) -> bool | None:
    """Decide a condition: True, False, or None when it cannot be decided."""
    truths = (truth(result) for result in _results(text, facts, scope))
    first = next(truths)
    # The first combination that is open, or that says otherwise, settles that nothing is settled.
    return first if first is not None and all(other is first for other in truths) else None


def _evaluate(node: ast.expr, world: _World) -> object:
    name = dotted(node)
    if name is not None:
        return _fact(name, world)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BoolOp):
        return _evaluate_bool(node, world)
    if isinstance(node, ast.IfExp):
        test = truth(_evaluate(node.test, world))
        if test is not None:
            return _evaluate(node.body if test else node.orelse, world)
        return one_of((_evaluate(node.body, world), _evaluate(node.orelse, world)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "coalesce":
        return coalesce(*(_evaluate(item, world) for item in node.args))
    if isinstance(node, ast.Compare):
        return _evaluate_compare(node, world)
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, ast.Call):
        children = node.args
    values = [_evaluate(child, world) for child in children]
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        known = truth(values[0])
        return UNKNOWN if known is None else not known
    if not all(map(is_known, values)):
        return UNKNOWN
    try:
        return _apply(node, values)
    except UNDECIDABLE:
        return UNKNOWN


def _fact(name: str, world: _World) -> object:
    text = world.scope.derives.get(name)
    if text is None:
        tables = world.scope.tables
        return tables[name] if name in tables else world.facts[name]
    if name not in world.derived:
        world.derived[name] = _evaluate_text(text, world)
    return world.derived[name]


def _apply(node: ast.expr, values: list[object]) -> object:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id](*values)
    if isinstance(node, ast.UnaryOp):
        return _arithmetic("-", 0, values[0])
    if isinstance(node, ast.BinOp):
        return _arithmetic(ARITHMETIC[type(node.op)], values[0], values[1])
    raise ExpressionError(f"{ast.unparse(node)!r} is outside the language")


def _arithmetic(sign: str, left: object, right: object) -> object:
    if not isinstance(left, int | float | str) or not isinstance(right, int | float | str):
        raise TypeError
    return _SUMS[sign](left, right)


def _evaluate_bool(node: ast.BoolOp, world: _World) -> object:
    decisive = isinstance(node.op, ast.Or)
    undecided = False
    value: object = None
    for item in node.values:
        value = _evaluate(item, world)
        known = truth(value)
        if known is decisive:
            # The value is this operand only when none before it could have been decisive.
            return value if not undecided else (_TRUTHY if decisive else _FALSY)
        undecided = undecided or known is None
    return UNKNOWN if undecided else value


def _evaluate_compare(node: ast.Compare, world: _World) -> object:
    scope = world.scope
    if compares_absent(node, scope):
        return False
    operands = [node.left, *node.comparators]
    undecided = False
    for left, sign, right in zip(operands, node.ops, operands[1:], strict=False):
        a, b = _evaluate(left, world), _evaluate(right, world)
        if is_version(left, scope) and isinstance(b, str):
            b = version(b)
        if is_version(right, scope) and isinstance(a, str):
            a = version(a)
        result = _compare(sign, a, b)
        if result is None:
            undecided = True
        elif not result:
            return False
    return UNKNOWN if undecided else True


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


def _compare(sign: ast.cmpop, left: object, right: object) -> bool | None:
    if isinstance(sign, ast.In | ast.NotIn) and isinstance(right, tuple) and is_known(left):
        # One known equal item decides membership, whatever the other items are.
        if any(is_known(item) and item == left for item in right):
            return isinstance(sign, ast.In)
        return isinstance(sign, ast.NotIn) if all(map(is_known, right)) else None
    if not is_known(left) or not is_known(right):
        return None
    try:
        return bool(_TESTS[COMPARISONS[type(sign)]](left, right))
    except UNDECIDABLE:
        return None
