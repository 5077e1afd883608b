"""Launch commands that Python code starts: lists and strings given to subprocess and the like."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.piece import Field, Piece, Pieces

if TYPE_CHECKING:
    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

_RUNS: Final = frozenset(
    {"run", "Popen", "call", "check_call", "check_output", "system", "popen", "getoutput", "getstatusoutput"}
    | {"create_subprocess_exec", "create_subprocess_shell", "execvp", "execv", "execvpe", "spawn", "split"}
    | {"run_cmd", "run_command", "exec_command", "execute", "sh", "shell", "start_server", "launch", "submit"}
)
_LONGEST: Final = 2000  # words of a command
_QUOTED: Final = re.compile(r"[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')")


class PythonError(Exception):
    """The text is not Python, from an offset on."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


class _Finder(ast.NodeVisitor):
    def __init__(self, reader: Reader, pieces: Pieces, frame: Frame) -> None:
        self.reader, self.pieces, self.frame = reader, pieces, frame
        self.text = pieces.text
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self.names: dict[str, ast.expr] = {}
        self.settled: dict[str, str] = {}  # names that one plain value is given to, once
        self.done: set[int] = set()

    def offset(self, line: int, column: int) -> int:
        """Give the offset of ast's line and UTF-8 column."""
        start = self.starts[min(line, len(self.starts)) - 1]
        end = self.text.find("\n", start)
        row = self.text[start : len(self.text) if end < 0 else end]
        return start + (column if row.isascii() else len(row.encode()[:column].decode(errors="ignore")))

    def span(self, node: ast.expr) -> tuple[int, int]:
        start = self.offset(node.lineno, node.col_offset)
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return start, end

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.names[target.id] = node.value
        self.generic_visit(node)

    def visit_List(self, node: ast.List) -> None:
        self.argv(node)
        self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self.argv(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _RUNS:
            for given in [*node.args, *(keyword.value for keyword in node.keywords)]:
                self.string(given)
            if name == "split" and isinstance(function, ast.Attribute):
                self.string(function.value)
        self.generic_visit(node)

    def argv(self, node: ast.List | ast.Tuple) -> None:
        """Read a list of words."""
        if id(node) in self.done or len(node.elts) > _LONGEST:
            return
        fields = [self.field(item) for item in node.elts]
        if len(fields) > 1 and self.reader.argv(fields):
            self.done.add(id(node))
            start, end = self.span(node)
            self.reader.words(fields, self.frame, text=self.pieces.spelled(start, end))

    def string(self, node: ast.expr) -> None:
        """Read a string that a shell or a splitter gets."""
        if isinstance(node, ast.Name) and node.id in self.names:
            node = self.names[node.id]
        if id(node) in self.done or not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            return
        pieces = self.parts(node)
        if self.reader.mentions("".join(piece.text for piece in pieces)):
            self.done.add(id(node))
            self.reader.script(pieces, replace(self.frame, guess=True))

    def field(self, node: ast.expr) -> Field:
        start, end = self.span(node)
        begin, stop = self.pieces.span(start, end)
        pieces = tuple(self.parts(node))
        open_ = any(piece.names for piece in pieces)
        return Field(
            pieces, -1 if open_ else begin, -1 if open_ else stop, self.pieces.offset(start), "", (), "flow"
        )

    def settle(self, tree: ast.AST) -> None:
        """Note the names that get one plain value in the whole text and nothing else."""
        given: dict[str, list[ast.expr | None]] = {}
        plain: dict[int, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                plain[id(node.targets[0])] = node.value
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                plain[id(node.target)] = node.value
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                given.setdefault(node.id, []).append(plain.get(id(node)))
            elif isinstance(node, ast.arg):
                given.setdefault(node.arg, []).append(None)
        for name, values in given.items():
            value = values[0]
            if (
                len(values) == 1
                and isinstance(value, ast.Constant)
                and type(value.value) in (str, int, float)
            ):
                self.settled[name] = str(value.value)

    def told(self, node: ast.expr) -> str | None:
        """Give the text of a settled name or a number, also through `str()`."""
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            inner = node.args[0]
            if getattr(node.func, "id", "") != "str":
                return None
            if isinstance(inner, ast.Constant) and type(inner.value) in (str, int, float):
                return str(inner.value)
            return self.told(inner)
        return self.settled.get(node.id) if isinstance(node, ast.Name) else None

    def parts(self, node: ast.expr) -> list[Piece]:
        """Give the text of an expression; what is no literal is open."""
        start, end = self.span(node)
        at = self.pieces.offset(start)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            source = self.text[start:end]
            match = _QUOTED.match(source)
            begin = start + (match.end() if match else 0)
            stop = end - len(match[1]) if match else end
            if self.text[begin:stop] == node.value:
                cut = self.pieces.cut(begin, stop)
                return [piece._replace(within=(*piece.within, "python")) for piece in cut]
            return [Piece(node.value, at, within=("python",))] if node.value else []
        if isinstance(node, ast.JoinedStr):
            parts: list[Piece] = []
            for value in node.values:
                if isinstance(value, ast.Constant):
                    parts.append(Piece(str(value.value), at, within=("python",)))
                elif isinstance(value, ast.FormattedValue):
                    name = _name(value.value)
                    told = self.told(value.value)
                    if told is not None and value.conversion < 0 and value.format_spec is None:
                        parts.append(Piece(told, at, via=(name,), within=("python",)))
                        continue
                    parts.append(Piece("{" + name + "}", at, names=(name,)))
            return parts
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return [*self.parts(node.left), *self.parts(node.right)]
        told = self.told(node)
        if told is not None:
            return [Piece(told, at, via=(_name(node),), within=("python",))] if told else []
        name = _name(node)
        starred = isinstance(node, ast.Starred)
        return [Piece(name, at, names=(name.lstrip("*"),), splits=starred)]


def _name(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."


def read_python(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a Python text without running any of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the code's own escapes
            tree = ast.parse(pieces.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        starts = [0, *(match.end() for match in re.finditer("\n", pieces.text))]
        raise PythonError(
            getattr(error, "msg", None) or type(error).__name__, starts[min(line, len(starts)) - 1]
        ) from None
    finder = _Finder(reader, pieces, frame)
    finder.settle(tree)
    try:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        finder.names[target.id] = node.value
        finder.visit(tree)
    except RecursionError:
        raise PythonError("expressions stand inside each other too deep", 0) from None
