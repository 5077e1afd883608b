"""What an expression of Python holds, as far as its text says: words of a list, or parts of a string."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, Protocol

from mlacheck.launch.file.split import split_words
from mlacheck.launch.piece import Field, Piece, Pieces
from mlacheck.launch.python.tree import called, dotted, is_text, shown
from mlacheck.launch.shell.world import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.launch.python.text import Text
    from mlacheck.launch.shell.state import State
    from mlacheck.launch.shell.world import World

_LONGEST: Final = 2000  # words of a command
_FORMAT: Final = re.compile(r"\{\{|\}\}|\{([^{}!:]*)[^{}]*\}")
_PERCENT: Final = re.compile(r"%%|%[sdir]")
# They give what they get, as far as a command is concerned.
_SAME: Final = frozenset({"str", "int", "list", "tuple", "quote", "fspath", "dedent", "strip", "cleandoc"})
_STRIPS: Final = frozenset({"copy", "strip", "rstrip", "lstrip"})


class Asked(Protocol):
    """Settles a condition in a world."""

    def __call__(self, test: ast.expr, world: World, /) -> bool | None:
        """Tell whether it holds; None where that is left open."""


class Values:
    """Reads expressions with the variables of a state."""

    def __init__(
        self, text: Text, state: State, settled: Mapping[str, str], env: Mapping[str, str], asked: Asked
    ) -> None:
        self.text, self.state, self.asked = text, state, asked
        self.settled = settled  # names that one plain value is given to, once
        self.env = env  # what the caller's environment is known to hold

    def of(self, node: ast.expr, world: World) -> Value | None:
        """Give what an expression holds, None where nothing of it is known."""
        words = self.words(node, world)
        if words is not None:
            return Value(items=tuple(words))
        pieces = self.parts(node, world)
        known = any(not piece.names for piece in pieces) or not pieces
        return Value(tuple(pieces)) if known else None

    def words(self, node: ast.expr, world: World) -> list[Field] | None:
        """Give the words of a list, None where it is none."""
        if isinstance(node, ast.List | ast.Tuple):
            if len(node.elts) > _LONGEST:
                return None
            return [word for item in node.elts for word in self._item(item, world)]
        if name := dotted(node):
            value = self.state.read(name, world)
            return list(value.items) if value is not None and value.items is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.words(node.left, world), self.words(node.right, world)
            if left is None and right is None:
                return None
            return [
                *(self._open(node.left) if left is None else left),
                *(self._open(node.right) if right is None else right),
            ]
        if isinstance(node, ast.IfExp):
            holds = self.asked(node.test, world)
            if holds is None:
                either = (
                    self.words(node.body, world) is not None or self.words(node.orelse, world) is not None
                )
                return self._open(node) if either else None
            return self.words(node.body if holds else node.orelse, world)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            whole = node.slice.lower is None and node.slice.upper is None
            return self.words(node.value, world) if whole else None
        return self._called(node, world) if isinstance(node, ast.Call) else None

    def _called(self, node: ast.Call, world: World) -> list[Field] | None:
        name = called(node)
        inner = node.args[0] if len(node.args) == 1 and not node.keywords else None
        method = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
        if name == "split" and (method is not None or inner is not None):
            pieces = self.parts(method or inner or node, world)
            return split_words(pieces) if any(not piece.names for piece in pieces) else None
        if name in _SAME and inner is not None:
            return self.words(inner, world)
        return self.words(method, world) if name in _STRIPS and method is not None else None

    def _item(self, node: ast.expr, world: World) -> list[Field]:
        if isinstance(node, ast.Starred):
            words = self.words(node.value, world)
            return self._open(node) if words is None else words
        return [self.field(node, world)]

    def _open(self, node: ast.expr) -> list[Field]:
        name = shown(node)
        piece = Piece(name, self.text.place(node), names=(name.lstrip("*"),), splits=True)
        return [Field((piece,), place=piece.at, style="flow")]

    def field(self, node: ast.expr, world: World) -> Field:
        """Give an expression as one word."""
        begin, stop = self.text.pieces.span(*self.text.span(node))
        pieces = tuple(piece._replace(splits=False) for piece in self.parts(node, world))
        plain = isinstance(node, ast.Constant) and not any(piece.names for piece in pieces)
        return Field(
            pieces, begin if plain else -1, stop if plain else -1, self.text.place(node), "", (), "flow"
        )

    def parts(self, node: ast.expr, world: World) -> list[Piece]:
        """Give the text of an expression; what is not known of it is open."""
        at = self.text.place(node)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self.text.string(node)
            return [Piece(str(node.value), at, within=("python",))]
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node, world)
        if isinstance(node, ast.BinOp) and is_text(node):
            if isinstance(node.op, ast.Add):
                return [*self.parts(node.left, world), *self.parts(node.right, world)]
            given = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return self._filled(node.left, _PERCENT, given, {}, world)
        if isinstance(node, ast.IfExp) and (holds := self.asked(node.test, world)) is not None:
            return self.parts(node.body if holds else node.orelse, world)
        found = self._looked_up(node, world)
        if found is not None and not all(piece.names for piece in found):
            return [piece._replace(at=at, exact=False) if piece.at < 0 else piece for piece in found]
        name = shown(node)
        return [Piece(name, at, names=(self._environment(node)[0] or name,), splits=True)]

    def _formatted(self, node: ast.JoinedStr, world: World) -> list[Piece]:
        first, *later = self.text.parts(node)
        pieces = [*first]
        holes = [value for value in node.values if isinstance(value, ast.FormattedValue)]
        for hole, text in zip(holes, later, strict=True):
            last = pieces[-1] if pieces and pieces[-1].exact else None
            at = last.at + len(last.text) if last else self.text.place(node)
            plain = hole.conversion < 0 and hole.format_spec is None
            known = self._known(hole.value, world) if plain else None
            if known is None:
                name = shown(hole.value)
                wanted = self._environment(hole.value)[0] or name
                known = [Piece("{" + name + "}", names=(wanted,), splits=True)]
            pieces += [*(piece._replace(at=at, exact=False) for piece in known), *text]
        return pieces

    def _known(self, node: ast.expr, world: World) -> list[Piece] | None:
        """Give the text of an expression that nothing is open in."""
        pieces = self.parts(node, world)
        return None if any(piece.names for piece in pieces) else pieces

    def _looked_up(self, node: ast.expr, world: World) -> list[Piece] | None:
        if name := dotted(node):
            value = self.state.read(name, world)
            if value is not None:
                return None if value.items is not None else _through(value.pieces, name)
            if name in self.state.variables or name not in self.settled:
                return None
            return [Piece(self.settled[name], via=(name,), within=("python",))]
        variable, default = self._environment(node)
        if variable:
            if variable in self.env:
                return [Piece(self.env[variable], via=(variable,), within=("python",))]
            told = None if default is None else self._known(default, world)
            if told is None:
                return None
            assumed = f"{variable}={''.join(piece.text for piece in told)}"
            return [piece._replace(assumed=(*piece.assumed, assumed)) for piece in _through(told, variable)]
        return self._made(node, world) if isinstance(node, ast.Call) else None

    def _made(self, node: ast.Call, world: World) -> list[Piece] | None:
        name = called(node)
        if name == "format" and isinstance(node.func, ast.Attribute):
            named = {one.arg: one.value for one in node.keywords if one.arg}
            return self._filled(node.func.value, _FORMAT, node.args, named, world)
        if name in _STRIPS and isinstance(node.func, ast.Attribute) and not node.args:
            return self.parts(node.func.value, world)
        if len(node.args) != 1 or node.keywords:
            return None
        if name == "join" and isinstance(node.func, ast.Attribute):
            words = self.words(node.args[0], world)
            between = node.func.value
            if words is None or not (isinstance(between, ast.Constant) and isinstance(between.value, str)):
                return None
            pieces: list[Piece] = []
            for number, word in enumerate(words):
                pieces += [Piece(between.value)] * bool(number) + [*word.pieces]
            return pieces
        return self.parts(node.args[0], world) if name in _SAME else None

    def _filled(
        self,
        node: ast.expr,
        holes: re.Pattern[str],
        given: Sequence[ast.expr],
        named: Mapping[str, ast.expr],
        world: World,
    ) -> list[Piece]:
        """Fill the holes of a template."""
        template = Pieces(self.parts(node, world))
        pieces: list[Piece] = []
        at = count = 0
        for match in holes.finditer(template.text):
            pieces += template.cut(at, match.start())
            at = match.end()
            if match.group() in ("{{", "}}", "%%"):
                pieces.append(Piece(match.group()[0]))
                continue
            name = (match[1] if match.re.groups else "") or str(count)
            count += 1
            if name.isdecimal():
                value = given[int(name)] if int(name) < len(given) else None
            else:
                value = named.get(name)
            pieces += [Piece(match.group(), names=(name,))] if value is None else self.parts(value, world)
        return [*pieces, *template.cut(at, len(template.text))]

    @staticmethod
    def _environment(node: ast.AST) -> tuple[str, ast.expr | None]:
        """Give the environment variable that an expression reads, and its default."""
        while isinstance(node, ast.Call) and called(node) in _SAME and len(node.args) == 1:
            node = node.args[0]
        key = default = None
        if isinstance(node, ast.Subscript) and dotted(node.value).endswith("environ"):
            key = node.slice
        elif isinstance(node, ast.Call) and dotted(node.func).endswith(("environ.get", "getenv")):
            key, default = (*node.args[:2], None, None)[:2]
        name = key.value if isinstance(key, ast.Constant) else ""
        return (name, default) if isinstance(name, str) else ("", None)


def _through(pieces: Sequence[Piece], name: str) -> list[Piece]:
    """Give the text of a variable where it is read."""
    return [piece._replace(via=(*piece.via, name)) for piece in pieces]
