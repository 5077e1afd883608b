"""Reads the signatures of FlashInfer callables from source, by `ast` alone: nothing is imported or run."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

from mlacheck.data import load_yaml
from mlacheck.frozen import field, frozen, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A chain of re-exports longer than this is a cycle.
MOST_HOPS = 16

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@frozen
class Signature:
    """The parameters of one callable as written: `name`, or `name=default`, without `self`."""

    callable: str
    parameters: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Give the names alone."""
        return tuple(parameter.partition("=")[0] for parameter in self.parameters)


@frozen
class SourceProblem:
    """Why a callable could not be read from source."""

    callable: str
    message: str


@frozen
class Watched:
    """What is asked of a FlashInfer: callables by signature, modules and functions by presence."""

    decode: str
    callables: tuple[str, ...]
    present: tuple[str, ...]


@functools.cache
def load_watched() -> Watched:
    """Read the names that are watched."""
    data = load_yaml("flashinfer", "watched.yaml")
    if not isinstance(data, dict):  # the file is ours: a broken one is a packaging fault
        raise TypeError("rules/flashinfer/watched.yaml holds no mapping")
    return Watched(data["decode"], tuple(data["callables"]), tuple(data["present"]))


@record
class SourceTree:
    """One package's sources; `root` is the folder that holds its `__init__.py`."""

    root: Path
    _modules: dict[str, ast.Module | None] = field(default_factory=dict)

    def signature(self, dotted: str) -> Signature | SourceProblem:
        """Read one callable named from the package's root, e.g. `decode.f` or `mla.Wrapper.run`."""
        try:
            node = self._locate(dotted)
        except (SyntaxError, ValueError, OSError) as error:
            return SourceProblem(dotted, f"its source cannot be read: {error}")
        if node is None:
            return SourceProblem(dotted, f"{self.root.name}.{dotted} is not defined in this source")
        if isinstance(node, ast.ClassDef):
            return SourceProblem(dotted, f"{self.root.name}.{dotted} is a class")
        return Signature(dotted, parameters(node))

    def has(self, dotted: str) -> bool:
        """Tell whether a module, function or class of that name exists."""
        if self._path(dotted) is not None or self.root.joinpath(*dotted.split(".")).is_dir():
            return True
        try:
            return self._locate(dotted) is not None
        except (SyntaxError, ValueError, OSError):
            return False

    def _locate(self, dotted: str) -> Definition | None:
        parts = dotted.split(".")
        # The longest leading part that is a module; what follows is a name, or a class and its method.
        for split in range(len(parts) - 1, -1, -1):
            module = ".".join(parts[:split])
            if self._path(module) is None:
                continue
            node = self._definition(module, parts[split], MOST_HOPS)
            if node is None or split == len(parts) - 1:
                return node
            return _member(node, parts[split + 1]) if len(parts) == split + 2 else None
        return None

    def _definition(self, module: str, name: str, hops: int) -> Definition | None:
        tree = self._parse(module)
        if tree is None or hops == 0:
            return None
        found: ast.stmt | None = None
        stars: list[ast.ImportFrom] = []
        for statement in _statements(tree.body):
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                stars.append(statement)
            elif _binds(statement, name):
                found = statement
        if isinstance(found, Definition):
            return found
        if isinstance(found, ast.ImportFrom):
            original = next(alias.name for alias in found.names if (alias.asname or alias.name) == name)
            source = self._origin(module, found)
            return None if source is None else self._definition(source, original, hops - 1)
        if isinstance(found, ast.Assign) and isinstance(found.value, ast.Name) and found.value.id != name:
            return self._definition(module, found.value.id, hops - 1)
        for star in stars:
            source = self._origin(module, star)
            node = None if source is None else self._definition(source, name, hops - 1)
            if node is not None:
                return node
        return None

    def _origin(self, module: str, statement: ast.ImportFrom) -> str | None:
        """Name the module that an import reads, from the package's root; None outside the package."""
        named = statement.module or ""
        if statement.level == 0:
            head, _, rest = named.partition(".")
            return rest if head == self.root.name else None
        path = self._path(module)
        parts = module.split(".") if module else []
        up = statement.level - (1 if path is not None and path.name == "__init__.py" else 0)
        if up > len(parts):
            return None
        return ".".join([*parts[: len(parts) - up], *([named] if named else [])])

    def _path(self, module: str) -> Path | None:
        base = self.root.joinpath(*module.split(".")) if module else self.root
        package = base / "__init__.py"
        if package.is_file():
            return package
        plain = base.with_name(base.name + ".py")
        return plain if module and plain.is_file() else None

    def _parse(self, module: str) -> ast.Module | None:
        if module not in self._modules:
            path = self._path(module)
            self._modules[module] = None if path is None else ast.parse(path.read_bytes(), filename=path.name)
        return self._modules[module]


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """List the parameters of one definition in order, with their defaults as source."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    listed = [
        _parameter(argument.arg, default) for argument, default in zip(positional, defaults, strict=True)
    ]
    if listed and listed[0] == "self":
        del listed[0]
    if arguments.vararg is not None:
        listed.append("*" + arguments.vararg.arg)
    listed += [
        _parameter(argument.arg, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        listed.append("**" + arguments.kwarg.arg)
    return tuple(listed)


def _parameter(name: str, default: ast.expr | None) -> str:
    return name if default is None else f"{name}={ast.unparse(default)}"


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that bind names of a module or class, those under `if` and `try` included."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _statements(statement.orelse)
            yield from _statements(statement.body)  # last: the preferred branch wins
        elif isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from _statements(handler.body)
            yield from _statements([*statement.body, *statement.orelse, *statement.finalbody])
        else:
            yield statement


def _binds(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, Definition):
        return statement.name == name
    if isinstance(statement, ast.ImportFrom):
        return any((alias.asname or alias.name) == name for alias in statement.names)
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    return False


def _member(node: Definition, name: str) -> Definition | None:
    if not isinstance(node, ast.ClassDef):
        return None
    # The last definition is the implementation: `overload` variants stand before it.
    found = [one for one in _statements(node.body) if isinstance(one, Definition) and one.name == name]
    return found[-1] if found else None
