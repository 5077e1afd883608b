"""Compare the rules with an engine's unzipped wheel, and say what drifted.

    python tools/audit.py WHEEL_DIR --engine-version V [--engine ENGINE] [--python PYTHON --path DIR]

gone       a rule in whose range V is names a file, a function or a message that V does not have
new        a start-up guard that the version before V does not have, that reads an argument and no rule names
changed    a guard that a rule names and whose conditions differ from the version before V
flags      options, choices and defaults that differ from what is recorded of V, or else of the version before
           it; with PYTHON, an interpreter with the engine's dependencies, which builds its real parser
pins       requirements and minimum versions that differ likewise

The exit status is 1 when something is gone, or recorded flags or pins of V itself differ. A person has
to read `new` and `changed`.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import extract_flags
import extract_vllm_flags
from engine_guards import bounds_of, guards_of
from extract_guards import extract as extract_guards
from extract_guards import fold, source_of
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.data import rules_root
from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.ruleset.guards import guards, guards_in, modelled
from mlacheck.ruleset.load import build_program, ruleset
from mlacheck.ruleset.wording import says

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine_source import Source, Unit

    from mlacheck.ruleset.guards import Guard
    from mlacheck.ruleset.program import Step

_ORDER: Final = ("gone", "flags", "pins", "new", "changed")
# What records an engine's options.
RECORDERS: Final[dict[str, Any]] = {"sglang": extract_flags, "vllm": extract_vllm_flags}
_OPTION: Final = ("flags", "action", "type", "choices", "nargs", "default", "const", "required", "message")


@dataclass(frozen=True)
class Drift:
    """One difference between the rules and a wheel."""

    kind: str
    place: str
    detail: str
    wrong: bool = True  # the rules are wrong for this version, not only to be read again


def gone(steps: Iterable[Step], source: Source) -> Iterator[Drift]:
    """Find the rules whose place or words a wheel does not have."""
    for step in steps:
        name = step.id or step.slug
        if not step.source:
            if step.kind == "find":
                yield Drift("gone", name, "the rule has no source for this version")
            continue
        file, _, symbol = step.source.partition("::")
        module = source.module(file)
        if module is None:
            yield Drift("gone", name, f"no file {file}")
            continue
        units: list[Unit] = []
        bounds: list[str] = []
        for one in symbol.split(", "):
            inside = [unit for at, unit in module.units.items() if not one or f".{one}." in f".{at}."]
            units.extend(inside)
            fields = [guard.says for guard in bounds_of(module) if f".{one}." in f".{guard.symbol}."]
            bounds.extend(fields)
            if not inside and not fields and one not in module.bases and not _assigned(module.tree, one):
                yield Drift("gone", name, f"{file} has no {one}")
        if step.kind == "find" and step.engine_says and not step.crash and (units or bounds):
            lost = [
                text
                for text in step.engine_says
                if not any(says(text, bound) for bound in bounds) and not _said(text, units, module.tree)
            ]
            # Where the words changed, a rule has those of each version.
            if len(lost) == len(step.engine_says):
                yield Drift("gone", name, f"{step.source} does not say {' or '.join(map(repr, lost))}")


def _assigned(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def _said(text: str, units: Sequence[Unit], tree: ast.Module) -> bool:
    if any(says(text, guard.says) for unit in units for guard in guards_of(unit)):
        return True
    # A message that the function puts together, hands to a helper that raises it, or leaves to Python.
    nodes: Sequence[ast.AST] = [unit.node for unit in units] or [tree]
    parts = [part for node in nodes for part in ast.walk(node)]
    words = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
    words.extend(f"has no attribute '{part.attr}'" for part in parts if isinstance(part, ast.Attribute))
    return " ".join(text.split()) in " ".join(" ".join(words).split())


def drifted(steps: Sequence[Step], now: Sequence[Guard], before: Sequence[Guard]) -> Iterator[Drift]:
    """Find the guards that are new or whose conditions changed."""
    rules = modelled(steps, now)
    digests = {guard.key: guard.digest for guard in before}
    moved = {_words(guard): guard.digest for guard in before}  # to another file: not new
    for guard in now:
        name = ", ".join(rules[guard.key])
        earlier = digests.get(guard.key) or moved.get(_words(guard))
        if earlier is None and not name and guard.reads:
            told = f"{guard.kind}: {guard.says} (reads {', '.join(guard.reads)})"
            yield Drift("new", guard.key, told, wrong=False)
        elif earlier is not None and earlier != guard.digest and name:
            yield Drift("changed", guard.key, f"named by {name}", wrong=False)


def _words(guard: Guard) -> tuple[str, str]:
    return guard.symbol.rpartition(".")[2].lstrip("_"), guard.says


def flags(now: Mapping[str, Any], recorded: Mapping[str, Any], *, wrong: bool) -> Iterator[Drift]:
    """Find the options that differ."""
    ours, theirs = ({one["flags"][0]: one for one in data["options"]} for data in (recorded, now))
    for flag in sorted({*ours, *theirs}):
        if flag not in theirs or flag not in ours:
            yield Drift("flags", flag, "gone" if flag not in theirs else "new", wrong)
            continue
        for key in _OPTION:
            old, new = ours[flag].get(key), theirs[flag].get(key)
            if old != new:
                yield Drift("flags", flag, f"{key}: {_difference(old, new)}", wrong)


def _difference(old: object, new: object) -> str:
    if isinstance(old, list) and isinstance(new, list):
        less, more = [one for one in old if one not in new], [one for one in new if one not in old]
        return f"without {less}, with {more}" if less or more else "in another order"
    return f"{old!r} became {new!r}"


def pins(now: Mapping[str, Any], recorded: Mapping[str, Any], *, wrong: bool) -> Iterator[Drift]:
    """Find the requirements that differ."""
    for kind in ("pins", "minimums"):
        for name in sorted({*now[kind], *recorded.get(kind, {})}):
            old, new = recorded.get(kind, {}).get(name), now[kind].get(name)
            if old != new:
                yield Drift("pins", name, f"{kind.rstrip('s')} {old} became {new}", wrong)


def audit(
    wheel: Path,
    version: str,
    engine: str,
    python: str | None = None,
    paths: Sequence[str] = (),
    preload: Sequence[str] = (),
    kinds: Sequence[str] = _ORDER,
) -> list[Drift]:
    """Compare the rules with one wheel."""
    source = source_of(wheel, engine)
    steps = build_program(ruleset(engine), version).steps
    found = list(gone(steps, source))
    recorded = recorded_versions(engine)
    earlier = [one for one in recorded if Version(one) < Version(version)]
    if earlier and {"new", "changed"} & set(kinds):  # these have to read every file
        now = list(guards_in(fold(engine, {}, extract_guards(source, version)), version))
        found.extend(drifted(steps, now, guards(engine, earlier[-1])))
    if {"flags", "pins"} & set(kinds):
        own = version in recorded
        file = rules_root() / engine / "flags" / f"{version if own else earlier[-1]}.json"
        options = json.loads(file.read_text(encoding="utf-8"))
        read = extract_flags.read_wheel(wheel, engine)
        found.extend(pins(RECORDERS[engine].needs(read), options, wrong=own))
        if python is not None:
            now_has = RECORDERS[engine].extract(read, python, paths, preload)
            found.extend(flags(now_has, options, wrong=own))
    return sorted((one for one in found if one.kind in kinds), key=lambda one: _ORDER.index(one.kind))


def main() -> int:
    """Print what drifted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, metavar="WHEEL_DIR")
    parser.add_argument("--engine-version", required=True, metavar="V")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    parser.add_argument("--python", help="interpreter with the engine's dependencies")
    parser.add_argument("--path", action="append", default=[], help="folder to import from, after the wheel")
    parser.add_argument("--preload", action="append", default=[], help="shared library to map first")
    parser.add_argument("--kind", action="append", choices=_ORDER, help="show only these")
    given = parser.parse_args()
    kinds = given.kind or _ORDER
    found = audit(
        given.wheel, given.engine_version, given.engine, given.python, given.path, given.preload, kinds
    )
    for one in found:
        print(f"{one.kind:8} {one.place}: {one.detail}")
    counts = ", ".join(f"{sum(one.kind == kind for one in found)} {kind}" for kind in _ORDER if kind in kinds)
    print(f"{given.engine_version}: {counts}")
    return 1 if any(one.wrong for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
