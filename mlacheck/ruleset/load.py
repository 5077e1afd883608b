"""Gives an engine version's compiled rules: the generated module if it is fresh, else a new one."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import COMPILED, is_checkout, load_json, rules_root, write_compiled
from mlacheck.facts import UNKNOWN
from mlacheck.frozen import field, frozen, replace
from mlacheck.probes.engine import recorded_versions
from mlacheck.ruleset.awake import Sleepers
from mlacheck.ruleset.expression import UNDECIDABLE, Declaration, Scope
from mlacheck.ruleset.interpreter import decide
from mlacheck.ruleset.machine import Run
from mlacheck.ruleset.memory import Memory
from mlacheck.ruleset.program import Program
from mlacheck.ruleset.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from mlacheck.ruleset.awake import Awake
    from mlacheck.ruleset.expression import Condition
    from mlacheck.ruleset.files import RuleSet
    from mlacheck.ruleset.machine import Runner

# Raise it when the generated form changes.
FORMAT: Final = 20


@frozen
class Compiled:
    """A program ready to run."""

    program: Program
    scope: Scope
    run: Runner
    settle: Callable[[dict[str, object]], None]
    memory: Memory[int]
    # By their text, conditions beside the rules' own; a module brings those of its remedies.
    conditions: dict[str, Condition]
    sleepers: Sleepers
    _readers: dict[str, frozenset[str]] = field(default_factory=dict)
    _settled: list[tuple[str, Condition]] = field(default_factory=list)

    def apply(self, facts: dict[str, object], awake: Awake, *, told: bool = True) -> Run:
        """Run the rules over settled facts, which they change; untold hits do not say what they saw."""
        run = Run(self.program, self.scope, self.memory, awake, told)
        self.run(facts, run)
        return run

    def holds(self, text: str, facts: Mapping[str, object]) -> bool:
        """Tell whether a condition is sure to hold of facts over which the rules ran."""
        condition = self.conditions.get(text)
        if condition is None:
            condition = self.conditions[text] = self.scope.function(text)
        try:
            return bool(condition(facts))
        except UNDECIDABLE:
            return decide(text, facts, self.scope) is True

    def settle_again(self, facts: dict[str, object], changed: Iterable[str]) -> None:
        """Compute anew what no rule can change, where some of what it reads was changed."""
        stale = {name for fact in changed for name in self._reading(fact)}
        if stale:
            for name, derive in self._settling():
                if name in stale:
                    try:
                        facts[name] = derive(facts)
                    except UNDECIDABLE:
                        facts[name] = UNKNOWN

    def _settling(self) -> list[tuple[str, Condition]]:
        """Give the settled facts in their order, with the functions generated for them."""
        if not self._settled:
            names, made = self.scope.identifiers, self.scope.namespace
            self._settled.extend((name, made[names[name]]) for name in self.scope.settled)
        return self._settled

    def _reading(self, fact: str) -> frozenset[str]:
        """Name the settled facts that read a fact."""
        if not self._readers:
            readers: dict[str, list[str]] = {}
            for name in self.scope.settled:
                for one in self.scope.references(self.scope.derives[name]):
                    readers.setdefault(one, []).append(name)
            self._readers.update((one, frozenset(names)) for one, names in readers.items())
        return self._readers.get(fact, frozenset())


def _sources(engine: str) -> list[Path]:
    folder = rules_root() / engine
    return sorted((*folder.glob("*.yaml"), *folder.glob("flags/*.json"), *folder.glob("guards/*.json")))


@cache
def digest(engine: str) -> str:
    """Hash everything that an engine's programs are made from."""
    import hashlib  # only when rules are built

    total = hashlib.sha256(f"format {FORMAT}".encode())
    for path in _sources(engine):
        total.update(path.name.encode())
        total.update(path.read_bytes())
    return total.hexdigest()


@cache
def _stamp(engine: str) -> str:
    """Identify the sources as they lie in a checkout without reading them."""
    marks = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in _sources(engine)]
    return repr((FORMAT, marks))


@cache
def load_program(engine: str, version: str) -> Compiled:
    """Load one version's program. Raises `RuleError` when rule files had to be read and are wrong."""
    name = module_name(engine, version)
    try:
        module: types.ModuleType | None = importlib.import_module(f"mlacheck._compiled.{name}")
    except ImportError:
        module = None
    if module is None or (is_checkout() and module.__dict__.get("STAMP") != _stamp(engine)):
        module = _rebuild(engine, version, name)
    return from_module(module)


def from_module(module: types.ModuleType) -> Compiled:
    """Wrap a generated module."""
    names = module.__dict__
    program = program_from(names["DATA"], names["STEPS"])
    scope = program.scope()
    scope.namespace = names
    scope.known_names.update(names["NAMES"])

    def reads(index: int) -> frozenset[str]:
        step = program.steps[index]
        return frozenset(step.targets).union(*map(scope.references, (*step.conditions, *step.values)))

    run, settle = cast("Runner", names["run"]), names["settle"]
    sleepers = Sleepers(names["WAKES"], names["SLEEPERS"], program.defaults)
    return Compiled(program, scope, run, settle, Memory(reads), names["CONDITIONS"], sleepers)


def module_name(engine: str, version: str) -> str:
    """Name the generated module of a version."""
    return f"{engine}_" + "".join(c if c.isalnum() else "_" for c in version)


def _rebuild(engine: str, version: str, name: str) -> types.ModuleType:
    if sys.stderr.isatty():
        sys.stderr.write(f"preparing the rules of {engine} {version}, once\n")
    text = f"{generate(engine, version)}\nSTAMP = {_stamp(engine)!r}\n"
    # A read-only checkout works too, only slower.
    with contextlib.suppress(OSError):
        path = COMPILED / f"{name}.py"
        write_compiled(path, text)
        import py_compile  # only when rules are built

        py_compile.compile(str(path), quiet=2)
    return _execute(name, text)


def _execute(name: str, text: str) -> types.ModuleType:
    module = types.ModuleType(f"mlacheck._compiled.{name}")
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)  # noqa: S102 - text generated from checked expressions only
    sys.modules[module.__name__] = module
    return module


def generate(engine: str, version: str, extra: Sequence[Path] = ()) -> str:
    """Generate one version's module from the rule files."""
    from mlacheck.ruleset.generate import module_text  # pydantic and YAML only when rules are built

    return module_text(build_program(ruleset(engine, tuple(extra)), version), digest(engine))


def load_extended(engine: str, version: str, extra: Sequence[Path]) -> Compiled:
    """Build a program with a user's own rule files after the shipped ones. Raises `RuleError`."""
    return from_module(_execute(module_name(engine, version) + "_extended", generate(engine, version, extra)))


@cache
def ruleset(engine: str, extra: tuple[Path, ...] = ()) -> RuleSet:
    """Read the rule files of an engine. Raises `RuleError`."""
    from mlacheck.ruleset.files import read_ruleset  # pydantic and YAML only when rules are built

    return read_ruleset(rules_root(), engine, extra)


def build_program(rules: RuleSet, version: str) -> Program:
    """Build one version's program with the argument declarations of all recorded versions."""
    from mlacheck.ruleset.build import build  # pydantic and YAML only when rules are built
    from mlacheck.ruleset.guards import guards, unmodelled  # same

    declarations, defaults, absent = _arguments(rules.engine, version)
    program = build(rules, version, declarations, defaults, absent)
    return replace(program, unmodelled=unmodelled(program.steps, guards(rules.engine, version)))


@cache
def _arguments(engine: str, version: str) -> tuple[dict[str, Declaration], dict[str, Any], frozenset[str]]:
    """Declare every argument of any recorded version; one that this version lacks is None."""
    declarations: dict[str, Declaration] = {}
    defaults: dict[str, Any] = {}
    present: set[str] = set()
    for one in recorded_versions(engine):
        data = cast("dict[str, Any]", load_json(engine, "flags", f"{one}.json"))
        for option in data["options"]:
            dest = option["dest"]
            if one == version:
                present.add(dest)
            values = tuple(option.get("choices") or ())
            earlier = declarations.get(dest)
            if earlier is not None:
                values = (
                    (*earlier.values, *(v for v in values if v not in earlier.values))
                    if values and earlier.values
                    else ()
                )
            declarations[dest] = Declaration(_type(option), values)
            if one == version:
                defaults[dest] = option.get("default")
            else:
                defaults.setdefault(dest, None)
    return declarations, defaults, frozenset(declarations) - present


def _type(option: Mapping[str, Any]) -> str:
    if option.get("nargs") in {"+", "*"} or option.get("action") == "append":
        return "list"
    if option.get("action") in {"store_true", "store_false", "boolean_optional"}:
        return "bool"
    kind = option.get("type") or "str"
    return kind if kind in {"int", "float", "str", "bool"} else "any"


def program_from(data: Mapping[str, Any], rows: Sequence[str]) -> Program:
    """Rebuild a program from the plain data in a generated module."""
    declarations = {name: Declaration(**fields) for name, fields in data["declarations"].items()}
    return Program(**{**data, "steps": Steps(rows), "declarations": declarations})
