"""The closed expression language of the rules: parsed with `ast`, checked, then compiled.

An expression becomes Python source made only from nodes checked here: fast, and it raises `Undecided` where
an unknown value is needed. For exactly those cases `interpreter` walks the same tree.
"""

from __future__ import annotations

import ast
import itertools
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mlacheck.facts import Undecided
from mlacheck.frozen import field, frozen, record
from mlacheck.ruleset.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

# What a compiled expression may raise when a value is unknown, or None where the engine needs a number.
UNDECIDABLE: Final = (Undecided, TypeError, ZeroDivisionError, AttributeError)

COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "==",
    ast.IsNot: "!=",
}
ARITHMETIC: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
}
# A derived fact of at most this many characters is written out where it is read; longer ones are called.
_INLINE: Final = 110
# An operand of at most this many characters is quickly told.
_QUICK: Final = 60


Condition: TypeAlias = "Callable[[Mapping[str, object]], object]"


class ExpressionError(ValueError):
    """An expression outside the language, or over names and values that nobody declared."""


@frozen
class Declaration:
    """What is declared of a fact: its type, the values it may take (empty: any) and what it is."""

    type: str
    values: tuple[object, ...] = ()
    doc: str = ""
    config: tuple[str, ...] = ()


@record
class Scope:
    """The names an expression may use: declared facts, derived facts (by their text), and tables."""

    declarations: Mapping[str, Declaration]
    derives: Mapping[str, str]
    tables: Mapping[str, object]
    # What generated code calls its derived facts, tables and functions; empty until a program is compiled.
    namespace: dict[str, Any] = field(default_factory=dict)
    # Arguments that this engine version does not have: nothing is above or below them.
    absent: frozenset[str] = frozenset()
    # Derived facts that no rule can change, in the order in which they can be computed.
    settled: tuple[str, ...] = ()
    _trees: dict[str, ast.expr] = field(default_factory=dict)
    _references: dict[str, frozenset[str]] = field(default_factory=dict)
    # By expression, the facts and tables that it reads itself; a generated module brings those of its rules.
    known_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What derived facts are where some of what they read is open.
        self.opened: Memory[str] = Memory(lambda name: self.references(self.derives[name]))

    def tree(self, text: str) -> ast.expr:
        """Parse an expression once."""
        tree = self._trees.get(text)
        if tree is None:
            tree = self._trees[text] = parse(text)
        return tree

    def names(self, text: str) -> tuple[str, ...]:
        """Name the facts and tables that an expression reads itself, in its order."""
        found = self.known_names.get(text)
        if found is None:
            found = self.known_names[text] = tuple(dict.fromkeys(names_of(self.tree(text))))
        return found

    def references(self, text: str) -> frozenset[str]:
        """Name every fact that an expression reads that is not derived, through derived ones too."""
        found = self._references.get(text)
        if found is None:
            names = self.names(text)
            found = frozenset(
                itertools.chain.from_iterable(
                    self.references(self.derives[name]) if name in self.derives else (name,)
                    for name in names
                    if name not in self.tables
                )
            )
            self._references[text] = found
        return found

    def inputs(self, text: str) -> tuple[str, ...]:
        """Name them in one order."""
        found = self._inputs.get(text)
        if found is None:
            found = self._inputs[text] = tuple(sorted(self.references(text)))
        return found

    def derived(self, *texts: str) -> frozenset[str]:
        """Name every derived fact that expressions read, through others too."""
        named = [name for text in texts for name in self.names(text) if name in self.derives]
        return frozenset(named).union(*(self.derived(self.derives[name]) for name in named))

    def find_settled(self, changing: Collection[str]) -> tuple[str, ...]:
        """Find the derived facts that read nothing which `set` rules change, each after those it reads."""
        settled = {name for name, text in self.derives.items() if self.references(text).isdisjoint(changing)}
        order: dict[str, None] = {}

        def visit(name: str) -> None:
            for inner in self.names(self.derives[name]):
                if inner in settled and inner not in order and inner != name:
                    visit(inner)
            order[name] = None

        for name in self.derives:
            if name in settled and name not in order:
                visit(name)
        return tuple(order)

    def derive(self, name: str, facts: Mapping[str, object]) -> object:
        """Compute a derived fact with the function generated for it; raises one of `UNDECIDABLE`."""
        return self.namespace[self.identifiers[name]](facts)

    def source(self, text: str) -> str:
        """Generate the Python expression over `f` (facts) of a checked expression, once."""
        source = self._sources.get(text)
        if source is None:
            source = self._sources[text] = _emit(self.tree(text), self)
        return source

    def condition(self, text: str) -> str:
        """Generate the Python expression of a condition that asks what is known and quickly told first.

        One operand of an `and` that is false settles it, whatever those are that may not be known.
        """
        tree = self.tree(text)
        if not isinstance(tree, ast.BoolOp) or not isinstance(tree.op, ast.And):
            return self.source(text)
        parts = sorted(((self._waits(node), _emit(node, self)) for node in tree.values), key=itemgetter(0))
        return "(" + " and ".join(source for _, source in parts) + ")"

    def _waits(self, node: ast.expr) -> bool:
        """Tell whether an operand is long or reads more than a line settles: its arguments and variables."""
        groups = {name.partition(".")[0] for name in self.references(ast.unparse(node)) if "." in name}
        return len(_emit(node, self)) > _QUICK or not groups <= {"env"}

    def function(self, text: str) -> Condition:
        """Make a function over facts of a checked expression; it may raise one of `UNDECIDABLE`."""
        source = f"lambda f: {self.source(text)}"
        made: Condition = eval(source, self.namespace)  # noqa: S307 - generated from a checked expression only
        return made

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """Map derived facts and tables to the Python names that generated code uses for them."""
        names = {name: f"d{index}" for index, name in enumerate(self.derives)}
        names.update({name: f"t{index}" for index, name in enumerate(self.tables)})
        return names


def parse(text: str) -> ast.expr:
    """Parse one expression; raise `ExpressionError` for anything that is not one."""
    try:
        # YAML block text may go over several lines.
        return ast.parse(" ".join(text.split("\n")).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"not an expression: {text!r} ({reason})") from None


def dotted(node: ast.expr) -> str | None:
    """Give the fact name of `a` or `a.b.c`, remembered on the node: trees are walked again and again."""
    try:
        name: str | None = node.fact  # type: ignore[attr-defined]  # set below
    except AttributeError:
        name = node.fact = _dotted(node)  # type: ignore[attr-defined]  # same
    return name


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    return None


def names_of(node: ast.expr) -> Iterator[str]:
    """Yield each fact or table name that a tree uses."""
    name = dotted(node)
    if name is not None:
        yield name
        return
    children: Sequence[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):
        children = node.args
    for child in children:
        if isinstance(child, ast.expr):
            yield from names_of(child)


def literal(node: ast.expr) -> object:
    """Give the value of a literal (with list literals as tuples); raise ValueError for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(literal(item) for item in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand)
        if isinstance(value, int | float):
            return -value
    raise ValueError(ast.unparse(node))


def _emit(node: ast.expr, scope: Scope) -> str:
    name = dotted(node)
    if name is not None:
        if name in scope.derives and name not in scope.settled:
            short = scope.source(scope.derives[name])
            return short if len(short) <= _INLINE else f"{scope.identifiers[name]}(f)"
        return scope.identifiers[name] if name in scope.tables else f"f[{name!r}]"
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.List | ast.Tuple):
        return "(" + "".join(_emit(item, scope) + ", " for item in node.elts) + ")"
    if isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        return "(" + word.join(_emit(item, scope) for item in node.values) + ")"
    if isinstance(node, ast.UnaryOp):
        return f"({'not ' if isinstance(node.op, ast.Not) else '-'}{_emit(node.operand, scope)})"
    if isinstance(node, ast.BinOp):
        return f"({_emit(node.left, scope)} {ARITHMETIC[type(node.op)]} {_emit(node.right, scope)})"
    if isinstance(node, ast.IfExp):
        return f"({_emit(node.body, scope)} if {_emit(node.test, scope)} else {_emit(node.orelse, scope)})"
    if isinstance(node, ast.Call):
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if function == "coalesce" and len(node.args) == 2 and dotted(node.args[0]) in scope.declarations:
            first, second = (_emit(item, scope) for item in node.args)
            return f"({first} if {first} is not None else {second})"
        return f"{function}({', '.join(_emit(item, scope) for item in node.args)})"
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        parts = [_emit(operand, scope) for operand in operands]
        for index in range(len(operands) - 1):
            left, right = operands[index], operands[index + 1]
            if is_version(left, scope):
                parts[index + 1] = _compared(right, parts[index + 1], scope)
            if is_version(right, scope):
                parts[index] = _compared(left, parts[index], scope)
        if compares_absent(node, scope):
            return "False"
        words = [COMPARISONS[type(sign)] for sign in node.ops]
        return "(" + parts[0] + "".join(f" {w} {p}" for w, p in zip(words, parts[1:], strict=True)) + ")"
    raise ExpressionError(f"{ast.unparse(node)!r} is outside the language")


def compares_absent(node: ast.Compare, scope: Scope) -> bool:
    """Tell whether a comparison orders an argument that this version does not have, which is then false."""
    ordered = any(isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for sign in node.ops)
    return ordered and any(dotted(operand) in scope.absent for operand in (node.left, *node.comparators))


def is_version(node: ast.expr, scope: Scope) -> bool:
    """Tell whether a node is a version fact, whose comparisons are version comparisons."""
    name = dotted(node)
    declared = scope.declarations.get(name) if name else None
    return declared is not None and declared.type == "version"


def _compared(node: ast.expr, source: str, scope: Scope) -> str:
    """Write what a version is compared with; a text is read as one."""
    declared = scope.declarations.get(dotted(node) or "")
    literal = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return f"version({source})" if literal or (declared is not None and declared.type == "str") else source
