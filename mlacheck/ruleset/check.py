"""Checks an expression of the rules against what is declared: nodes, names, and the values they can have."""

from __future__ import annotations

import ast
import difflib
from typing import TYPE_CHECKING

from mlacheck.ruleset.expression import ARITHMETIC, ExpressionError, dotted, literal
from mlacheck.ruleset.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from mlacheck.ruleset.expression import Scope


def check(text: str, scope: Scope) -> None:
    """Raise `ExpressionError` unless every node, name and compared value of an expression is known."""
    _check(scope.tree(text), scope)


def _check(node: ast.expr, scope: Scope) -> None:
    name = dotted(node)
    if name is not None:
        _check_name(name, scope)
    elif isinstance(node, ast.Constant):
        if not isinstance(node.value, int | float | str | bool | None):
            raise ExpressionError(f"{ast.unparse(node)} is not a literal of this language")
    elif isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            _check(item, scope)
    elif isinstance(node, ast.BoolOp):
        for item in node.values:
            _check(item, scope)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        _check(node.operand, scope)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        _check(node.left, scope)
        _check(node.right, scope)
    elif isinstance(node, ast.IfExp):
        for item in (node.test, node.body, node.orelse):
            _check(item, scope)
    elif isinstance(node, ast.Compare):
        _check_compare(node, scope)
    elif isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if called not in FUNCTIONS or node.keywords:
            raise ExpressionError(f"no function {called!r} here; there are: {', '.join(FUNCTIONS)}")
        for item in node.args:
            _check(item, scope)
    else:
        raise ExpressionError(f"{ast.unparse(node)!r} is outside the language")


def _check_name(name: str, scope: Scope) -> None:
    if name in scope.declarations or name in scope.derives or name in scope.tables:
        return
    known = [*scope.declarations, *scope.derives, *scope.tables]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ExpressionError(f"no fact or table {name!r} is declared{hint}")


def _check_compare(node: ast.Compare, scope: Scope) -> None:
    operands = [node.left, *node.comparators]
    for operand in operands:
        _check(operand, scope)
    for left, sign, right in zip(operands, node.ops, operands[1:], strict=False):
        if isinstance(sign, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise ExpressionError(f"`is` only compares with None: {ast.unparse(node)!r}")
            continue
        _check_values(left, sign, right, scope)
        # On the right of `in` a string is searched, not compared.
        if not isinstance(sign, ast.In | ast.NotIn):
            _check_values(right, sign, left, scope)


def _check_values(fact: ast.expr, sign: ast.cmpop, other: ast.expr, scope: Scope) -> None:
    name = dotted(fact)
    declared = scope.declarations.get(name) if name else None
    if name is None or (declared is None and name not in scope.derives):
        return
    try:
        value = literal(other)
    except ValueError:
        return
    possible: Collection[object] | None = None
    if declared is None or (declared.type == "str" and not declared.values):
        possible = _derived_values(name, scope, ())
    elif declared.type == "str":
        possible = declared.values
    membership = isinstance(sign, ast.In | ast.NotIn)
    for item in value if isinstance(value, tuple) and membership else (value,):
        if declared is not None and declared.type in {"int", "float"} and isinstance(item, str):
            raise ExpressionError(f"{name} is a number and is compared with {item!r}")
        if possible and isinstance(item, str) and item not in possible:
            close = difflib.get_close_matches(item, map(str, possible), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ExpressionError(f"{name} never has the value {item!r}{hint}")


def _derived_values(name: str, scope: Scope, trail: tuple[str, ...]) -> frozenset[object] | None:
    """Give every text that a derived fact can have; None where that is not known."""
    declared = scope.declarations.get(name)
    if declared is not None and declared.values:
        return frozenset(declared.values)
    text = scope.derives.get(name)
    return None if text is None or name in trail else _values_of(scope.tree(text), scope, (*trail, name))


def _values_of(node: ast.expr, scope: Scope, trail: tuple[str, ...]) -> frozenset[object] | None:
    name = dotted(node)
    if name is not None:
        return _derived_values(name, scope, trail)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | None):
        return frozenset() if node.value is None else frozenset((node.value,))
    branches: list[ast.expr] = []
    if isinstance(node, ast.IfExp):
        branches = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        branches = node.values
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "coalesce":
        branches = node.args
    values = [_values_of(branch, scope, trail) for branch in branches]
    if not values or None in values:
        return None
    return frozenset().union(*(value for value in values if value is not None))
