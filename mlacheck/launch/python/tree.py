"""What the syntax tree of Python code says by itself, whatever its names hold."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES: Final = (ast.Module, *FUNCTIONS)
# Methods that change a list in place.
ADDS: Final = frozenset({"append", "extend", "insert"})
TAKES: Final = frozenset({"pop", "remove", "clear", "reverse", "sort"})
# What gives a list with the same items.
_COPIES: Final = frozenset({"list", "tuple", "copy"})
_MOST_ROUNDS: Final = 8  # of a loop whose items are known
_SHOWN: Final = 60


def dotted(node: ast.AST) -> str:
    """Give the name of a variable or attribute, "" for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (inner := dotted(node.value)):
        return f"{inner}.{node.attr}"
    return ""


def called(node: ast.Call) -> str:
    """Give the last part of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def shown(node: ast.AST) -> str:
    """Write an expression, shortened."""
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def is_text(node: ast.expr) -> bool:
    """Tell whether an operation is one on strings, and not on numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return is_text(node.left) or is_text(node.right)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod) and is_text(node.left)
    if isinstance(node, ast.Call):
        return called(node) in ("join", "format", "str")
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Give the expressions of a part of an expression."""
    if isinstance(node, ast.expr):
        yield node
    elif isinstance(node, ast.keyword):
        yield node.value
    elif isinstance(node, ast.comprehension):
        yield node.iter


def lists(node: ast.expr) -> Iterator[str]:
    """Name the lists that an expression puts together."""
    if name := dotted(node):
        yield name
    elif isinstance(node, ast.List | ast.Tuple):
        for one in node.elts:
            if isinstance(one, ast.Starred):
                yield from lists(one.value)
    elif isinstance(node, ast.Call) and called(node) in _COPIES:
        for one in node.args or [getattr(node.func, "value", node.func)]:
            yield from lists(one)
    elif isinstance(node, ast.BinOp | ast.IfExp | ast.Subscript):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                yield from lists(part)


def changed(node: ast.AST) -> str:
    """Name the list that a statement may change in place."""
    if isinstance(node, ast.AugAssign):
        return dotted(node.target)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return dotted(node.func.value) if node.func.attr in ADDS | TAKES else ""
    return ""


def changes(statements: Sequence[ast.stmt]) -> set[str]:
    """Name the lists that the statements of one scope change, those of functions in it left out."""
    names: set[str] = set()
    waiting: list[ast.AST] = [*statements]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, FUNCTIONS):
            names.add(changed(node))
            waiting += ast.iter_child_nodes(node)
    return names


def given_once(tree: ast.Module) -> tuple[dict[str, ast.expr], dict[str, str]]:
    """Give the names to which one value is given in the whole text, and the plain ones of these values."""
    given: dict[str, list[ast.expr | None]] = {}
    plain: dict[int, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            plain[id(node.targets[0])] = node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            plain[id(node.target)] = node.value
        elif isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            given.setdefault(dotted(node), []).append(plain.get(id(node)))
        elif isinstance(node, ast.arg):
            given.setdefault(node.arg, []).append(None)
    once = {name: values[0] for name, values in given.items() if len(values) == 1 and values[0] is not None}
    settled = {
        name: str(value.value)
        for name, value in once.items()
        if isinstance(value, ast.Constant) and type(value.value) in (str, int, float)
    }
    return once, settled


def equals(node: ast.expr) -> tuple[str, str] | None:
    """Give what a condition compares with a plain value, and the value."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        value = node.comparators[0]
        if isinstance(value, ast.Constant):
            return ast.unparse(node.left), repr(value.value)
    return None


def rounds(node: ast.For | ast.AsyncFor) -> list[list[tuple[str, ast.expr]]] | None:
    """Give what the names of a loop are bound to in each round, where its items are written there."""
    given = node.iter
    items: list[ast.expr] = []
    if isinstance(given, ast.List | ast.Tuple):
        items = given.elts
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and called(given) == "items":
        pairs = given.func.value
        if isinstance(pairs, ast.Dict) and all(key is not None for key in pairs.keys):
            items = [
                ast.Tuple([key, value], ast.Load())
                for key, value in zip(pairs.keys, pairs.values, strict=True)
                if key is not None
            ]
    if not 0 < len(items) <= _MOST_ROUNDS:
        return None
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    bound = []
    for item in items:
        values = item.elts if isinstance(node.target, ast.Tuple) and isinstance(item, ast.Tuple) else [item]
        if len(values) != len(targets) or not all(map(dotted, targets)):
            return None
        bound.append([(dotted(target), value) for target, value in zip(targets, values, strict=True)])
    return bound
