"""Finds the guards in an engine's functions: each place that refuses, with its words and its conditions."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine_source import Function, inside, last

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine_source import Module, Unit

# Raised to steer the caller, not to refuse a launch.
_CONTROL: Final = frozenset({"StopIteration", "StopAsyncIteration", "AttributeError", "GeneratorExit"})
# Bounds of a field, in the words with which pydantic refuses what lies beyond.
_BOUNDS: Final = {
    "ge": "greater than or equal to",
    "gt": "greater than",
    "le": "less than or equal to",
    "lt": "less than",
}
_EXITS: Final = frozenset({"exit", "_exit"})
# Longest part of a message that is kept: enough to recognise it.
SAID: Final = 140


@dataclass(frozen=True)
class Guard:
    """One place where the engine refuses."""

    file: str
    symbol: str
    kind: str  # exception class, or SystemExit
    says: str  # message with {} for what is filled in, cut short
    reads: tuple[str, ...]  # names in the conditions on the way to it
    needs: tuple[str, ...]  # of these, the ones that must be set for it to fire
    digest: str  # of these conditions
    line: int
    condition: str
    asserts: str = ""  # what an assertion tests

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Identify it in other versions, apart from guards of the same words."""
        return self.file, self.symbol, self.kind, self.says


def guards_of(unit: Unit) -> list[Guard]:
    """List the guards of one function, nested functions apart."""
    body = [one for one in unit.node.body if not _is_docstring(one)]
    if all(isinstance(one, ast.Pass) or _is_abstract(one) for one in body):
        return []
    return [Guard(unit.file, unit.symbol, *rest) for rest in _Walk(unit.node).found()]


def handed(unit: Unit, call: ast.Call, called: Unit) -> dict[str, set[str]]:
    """Give the parameters of a called function with the names that a call in a function fills them from."""
    walk = _Walk(unit.node)
    parameters = [one.arg for one in (*called.node.args.posonlyargs, *called.node.args.args)]
    if called.owner and parameters[:1] in (["self"], ["cls"]):
        del parameters[0]
    filled = {
        **dict(zip(parameters, call.args, strict=False)),
        **{keyword.arg: keyword.value for keyword in call.keywords if keyword.arg},
    }
    return {name: walk.names([value]) for name, value in filled.items()}


def bounds_of(module: Module) -> list[Guard]:
    """List the bounds that fields of config classes declare, which pydantic compares values with."""
    found = []
    for symbol, declared in module.fields.items():
        calls = (one for one in ast.walk(declared) if isinstance(one, ast.Call) and last(one.func) == "Field")
        for keyword in (one for call in calls for one in call.keywords):
            if keyword.arg in _BOUNDS:
                condition = f"{symbol} {keyword.arg} {ast.unparse(keyword.value)}"
                words = f"Input should be {_BOUNDS[keyword.arg]} {ast.unparse(keyword.value)}"
                name = symbol.rpartition(".")[2]
                found.append(
                    Guard(
                        module.file,
                        symbol,
                        "ValidationError",
                        words,
                        (name,),
                        (),
                        _digest(condition),
                        declared.lineno,
                        condition,
                    )
                )
    return found


def _digest(condition: str) -> str:
    return hashlib.sha256(condition.encode()).hexdigest()[:6]


def _is_abstract(node: ast.stmt) -> bool:
    return isinstance(node, ast.Raise) and node.exc is not None and last(node.exc) == "NotImplementedError"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


Found = tuple[str, str, tuple[str, ...], tuple[str, ...], str, int, str, str]


class _Walk:
    """Finds the guards of one function, each with the conditions on the way to it."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.assigned: dict[str, list[ast.expr]] = {}
        for node in inside(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._bind(node.targets[0], node.value)
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                self._bind(node.target, node.value)
            elif isinstance(node, ast.For):
                self._bind(node.target, node.iter)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        for one in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(one, ast.Name):
                self.assigned.setdefault(one.id, []).append(value)

    def found(self) -> Iterator[Found]:
        yield from self._block(self.function.body, [])

    def _block(self, body: Sequence[ast.stmt], path: list[ast.expr | str]) -> Iterator[Found]:
        path = list(path)
        for node in body:
            if isinstance(node, ast.If):
                yield from self._block(node.body, [*path, node.test])
                yield from self._block(node.orelse, [*path, _not(node.test)])
                if _leaves(node.body):
                    path.append(_not(node.test))
            elif isinstance(node, ast.For | ast.While | ast.AsyncFor):
                over: ast.expr = node.test if isinstance(node, ast.While) else node.iter
                yield from self._block(node.body, [*path, over])
                yield from self._block(node.orelse, path)
            elif isinstance(node, ast.With | ast.AsyncWith):
                yield from self._block(node.body, path)
            elif isinstance(node, ast.Try):
                yield from self._block(node.body, path)
                for handler in node.handlers:
                    caught = f"except {ast.unparse(handler.type)}" if handler.type else "except"
                    yield from self._block(handler.body, [*path, caught])
                yield from self._block([*node.orelse, *node.finalbody], path)
            elif isinstance(node, ast.Match):
                for case in node.cases:
                    yield from self._block(case.body, [*path, node.subject, ast.unparse(case.pattern)])
            elif isinstance(node, ast.Assert):
                if not (isinstance(node.test, ast.Constant) and node.test.value):
                    yield self._guard(
                        "AssertionError", node.msg, [*path, _not(node.test)], node.lineno, node.test
                    )
            elif isinstance(node, ast.Raise) and node.exc is not None:
                kind = last(node.exc)
                if kind not in _CONTROL and (
                    kind.endswith(("Error", "Exception", "Exit")) or kind == "error"
                ):
                    said = node.exc.args[0] if isinstance(node.exc, ast.Call) and node.exc.args else None
                    yield self._guard(kind, said, path, node.lineno)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                yield from self._exit(node.value, path)

    def _exit(self, call: ast.Call, path: list[ast.expr | str]) -> Iterator[Found]:
        function = call.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            leaves = (function.value.id == "parser" and function.attr == "error") or (
                function.value.id in {"sys", "os"} and function.attr in _EXITS
            )
            if leaves:
                yield self._guard("SystemExit", call.args[0] if call.args else None, path, call.lineno)

    def _guard(
        self,
        kind: str,
        said: ast.expr | None,
        path: list[ast.expr | str],
        line: int,
        asserts: ast.expr | None = None,
    ) -> Found:
        tests = [one for one in path if not isinstance(one, str)]
        needs = sorted({name for one in tests for name in _needed(one)})
        condition = " and ".join(one if isinstance(one, str) else f"({ast.unparse(one)})" for one in path)
        condition = re.sub(r"\b(self|server_args|cfg|args|view)\.", "", condition)
        names = sorted(self.names(tests))
        words = re.sub(r"\s+", " ", self._template(said)).strip()
        tested = "" if asserts is None else ast.unparse(asserts)
        return kind, words[:SAID], tuple(names), tuple(needs), _digest(condition), line, condition, tested

    def names(self, expressions: Iterable[ast.expr]) -> set[str]:
        """Give the names in some expressions, and in what the function assigned to them."""
        names: set[str] = set()
        waiting = [(one, 0) for one in expressions]
        while waiting:
            expression, depth = waiting.pop()
            for node in ast.walk(expression):
                name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    name = node.value  # getattr(args, "x")
                if name is None or name in names:
                    continue
                names.add(name)
                if depth < 3:
                    waiting.extend((value, depth + 1) for value in self.assigned.get(name, ()))
        return names

    def _template(self, node: ast.expr | None, depth: int = 0) -> str:
        if node is None:
            return ""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._template(one) for one in node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._template(node.left, depth) + self._template(node.right, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return re.sub(r"%[sdrf]", "{}", self._template(node.left, depth))
        if isinstance(node, ast.Call) and last(node.func) == "format":
            return re.sub(r"\{[^}]*\}", "{}", self._template(getattr(node.func, "value", None), depth))
        if isinstance(node, ast.Call) and last(node.func) == "dedent" and node.args:
            return self._template(node.args[0], depth)
        values = self.assigned.get(node.id, []) if isinstance(node, ast.Name) else []
        if len(values) == 1 and depth < 3:
            return self._template(values[0], depth + 1)
        return "{}"


def _leaves(body: Sequence[ast.stmt]) -> bool:
    # What follows a refusal is not said to depend on it, or each guard would read what all before it read.
    return bool(body) and isinstance(body[-1], ast.Return | ast.Continue | ast.Break)


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _needed(test: ast.expr, wanted: bool = True) -> Iterator[str]:
    """Name what must be set, not merely compared, for a condition to hold (or not to)."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _needed(test.operand, not wanted)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And if wanted else ast.Or):
            for one in test.values:
                yield from _needed(one, wanted)
    elif wanted and (
        isinstance(test, ast.Name | ast.Attribute) or (isinstance(test, ast.Call) and not test.args)
    ):
        yield last(test)
    elif (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and _sets(test.ops[0], test.comparators[0], wanted)
    ):
        yield last(test.left)


def _sets(operator: ast.cmpop, value: ast.expr, wanted: bool) -> bool:
    """Tell whether a comparison holds (or fails) only when its left side is given a value."""
    if isinstance(value, ast.Constant) and value.value is None:
        return isinstance(operator, ast.IsNot | ast.NotEq if wanted else ast.Is | ast.Eq)
    if not isinstance(value, ast.Constant | ast.Tuple | ast.List | ast.Set):
        return False
    return isinstance(operator, ast.Eq | ast.In | ast.Gt if wanted else ast.NotEq | ast.NotIn | ast.LtE)
