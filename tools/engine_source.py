"""Reads an engine's source by static analysis: its functions, and which of them start-up reaches."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Unit:
    """One function with the class that it stands in."""

    file: str
    symbol: str
    node: Function
    owner: str | None


@dataclass
class Module:
    """One parsed file."""

    file: str
    tree: ast.Module
    units: dict[str, Unit] = field(default_factory=dict)
    bases: dict[str, list[str]] = field(default_factory=dict)
    fields: dict[str, ast.AnnAssign] = field(default_factory=dict)  # Class.field -> its declaration
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> (module file, name there)

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """Give the symbols of each bare function name."""
        names: dict[str, list[str]] = {}
        for symbol in self.units:
            names.setdefault(symbol.rpartition(".")[2], []).append(symbol)
        return names


class Source:
    """An unzipped wheel; files are parsed when they are first asked for.

    Rules name files from the package's folder or, with `whole`, from the wheel's, which holds that folder.
    """

    def __init__(self, wheel: Path, package: str = "sglang", *, whole: bool = False) -> None:
        self.root = wheel if whole else wheel / package
        self.package = package
        self._prefix = f"{package}/" if whole else ""
        self._modules: dict[str, Module | None] = {}

    def files(self, pattern: str) -> list[str]:
        """List the files that a glob names, relative to the package."""
        found = self.root.glob(f"{pattern}/*.py" if pattern.endswith("**") else pattern)
        return sorted(path.relative_to(self.root).as_posix() for path in found if path.suffix == ".py")

    def module(self, file: str) -> Module | None:
        """Parse a file."""
        if file not in self._modules:
            path = self.root / file
            self._modules[file] = self._parse(file, path) if path.is_file() else None
        return self._modules[file]

    def _parse(self, file: str, path: Path) -> Module:
        module = Module(file, ast.parse(path.read_text(encoding="utf-8")))
        self._units(module, module.tree.body, "", None)
        for node in ast.walk(module.tree):
            base = self._imported(file, node) if isinstance(node, ast.ImportFrom) else None
            if isinstance(node, ast.ImportFrom) and base is not None:
                for alias in node.names:
                    module.imports[alias.asname or alias.name] = (base, alias.name)
        return module

    def _imported(self, file: str, node: ast.ImportFrom) -> str | None:
        """Give the file, without its ending, that an import is from; None outside the package."""
        path = (node.module or "").replace(".", "/")
        if node.level:
            folder = file.split("/")[: -node.level]
            return "/".join([*folder, path] if path else folder)
        inner = path.removeprefix(f"{self.package}/")
        return None if inner == path else self._prefix + inner

    def file_of(self, module: str) -> str:
        """Name the file of a module of the package, by its dotted path."""
        return self._prefix + module.replace(".", "/").removeprefix(f"{self.package}/") + ".py"

    def _units(self, module: Module, body: Sequence[ast.stmt], prefix: str, owner: str | None) -> None:
        for node in body:
            if isinstance(node, Function):
                symbol = prefix + node.name
                module.units[symbol] = Unit(module.file, symbol, node, owner)
                self._units(module, node.body, f"{symbol}.", owner)
            elif isinstance(node, ast.ClassDef):
                module.bases[node.name] = [last(base) for base in node.bases]
                for one in node.body:
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                        module.fields[f"{prefix}{node.name}.{one.target.id}"] = one
                self._units(module, node.body, f"{prefix}{node.name}.", node.name)
            elif isinstance(node, ast.If | ast.Try | ast.With | ast.For):
                for part in ("body", "orelse", "finalbody"):
                    self._units(module, getattr(node, part, []), prefix, owner)

    def named(self, module: Module, name: str) -> Iterator[tuple[Module, str]]:
        """Find where a name used in a module is defined: its own or an imported one."""
        if name in module.units or name in module.bases:
            yield module, name
            return
        seen = module.imports.get(name)
        for _ in range(4):  # a package may hand on what it imports itself
            if seen is None:
                return
            base, original = seen
            other = self.module(f"{base}.py") or self.module(f"{base}/__init__.py")
            if other is None:
                return
            if original in other.units or original in other.bases:
                yield other, original
                return
            seen = other.imports.get(original)

    def method(self, module: Module, owner: str, name: str, depth: int = 0) -> Iterator[Unit]:
        """Find a method in a class or its bases."""
        unit = module.units.get(f"{owner}.{name}")
        if unit is not None:
            yield unit
            return
        for base in module.bases.get(owner, ()) if depth < 5 else ():
            for other, original in self.named(module, base):
                yield from self.method(other, original, name, depth + 1)

    def calls(self, unit: Unit) -> Iterator[tuple[ast.Call, Unit]]:
        """Find the functions that a function calls, as far as names tell, with each call."""
        module = self.module(unit.file)
        if module is None:
            return
        for node in inside(unit.node):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            if isinstance(function, ast.Name):
                nested = module.units.get(f"{unit.symbol}.{function.id}")
                if nested is not None:
                    yield node, nested
                yield from ((node, one) for one in self._called(module, function.id))
            elif isinstance(function, ast.Attribute):
                yield from ((node, one) for one in self._attribute(module, unit, function))

    def _run(self, unit: Unit) -> Iterator[Unit]:
        """Find what a function calls, and what it hands on to be run: `run_hook(handle_x, server_args)`."""
        yield from (called for _, called in self.calls(unit))
        module = self.module(unit.file)
        if module is None:
            return
        for node in inside(unit.node):
            for argument in node.args if isinstance(node, ast.Call) else ():
                if isinstance(argument, ast.Name):
                    yield from self._called(module, argument.id)

    def _called(self, module: Module, name: str) -> Iterator[Unit]:
        for other, original in self.named(module, name):
            if original in other.units:
                yield other.units[original]
            else:
                for maker in ("__init__", "__post_init__", "__new__"):
                    yield from self.method(other, original, maker)

    def _attribute(self, module: Module, unit: Unit, function: ast.Attribute) -> Iterator[Unit]:
        value = function.value
        if isinstance(value, ast.Name) and value.id in {"self", "cls"} and unit.owner:
            yield from self.method(module, unit.owner, function.attr)
        elif isinstance(value, ast.Call) and last(value.func) == "super" and unit.owner:
            for base in module.bases.get(unit.owner, ()):
                for other, original in self.named(module, base):
                    yield from self.method(other, original, function.attr)
        elif isinstance(value, ast.Name):
            for other, original in self.named(module, value.id):
                if original in other.bases:
                    yield from self.method(other, original, function.attr)

    def reach(self, roots: Iterable[Unit], stop: re.Pattern[str]) -> dict[tuple[str, str], Unit]:
        """Give everything that the roots call, not entering functions whose name `stop` matches."""
        reached: dict[tuple[str, str], Unit] = {}
        waiting = list(roots)
        while waiting:
            unit = waiting.pop()
            name = (unit.file, unit.symbol)
            if name not in reached and not stop.search(f"{unit.file}::{unit.symbol}"):
                reached[name] = unit
                waiting.extend(self._run(unit))
        return reached


def inside(function: Function) -> Iterator[ast.AST]:
    """Walk a function's own statements, without those of functions nested in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def last(node: ast.AST) -> str:
    """Give the last name of a dotted one, or of what a call calls."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return last(node.func) if isinstance(node, ast.Call) else ""
