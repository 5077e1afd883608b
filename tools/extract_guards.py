"""Record the places where an engine version can refuse a launch: rules/ENGINE/guards/inventory.json.

    python tools/extract_guards.py WHEEL_DIR --engine-version V [--engine ENGINE]

WHEEL_DIR is an unzipped wheel. What counts as start-up stands in areas.yaml beside the inventory; the
guards are found by static analysis, nothing of the engine runs. The inventory holds all recorded versions:
this one is folded in, or replaced. One guard a line, under its file and function:

    [kind, message, arguments, versions]

kind       the exception, or SystemExit
message    with {} for what is filled in, cut short: to recognise the guard, not to quote it
arguments  the engine arguments that the conditions on the way to it name, or, where they name none, that a
           caller hands to its function, with ! where the argument must be given; @ before a model class or
           speculative algorithm that it is about; # before the reason why no launch line meets it, where it
           stands in a function that rules name
versions   "first-last" recorded versions, each with a digest of these conditions: it tells when they change

Guards that no launch line meets are left out and counted, by the reasons in areas.yaml and two more: nothing
that start-up runs leads to them, or they read nothing that a line, a model or a GPU decides. The latter is
not said of a guard that a rule is about, nor where a function reads what a checkpoint says of itself.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import yaml
from engine_guards import bounds_of, guards_of, handed
from engine_source import Source
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.data import rules_root
from mlacheck.finding import START_UP_PHASES
from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.ruleset.guards import digest_at, models
from mlacheck.ruleset.load import build_program, ruleset

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from engine_guards import Guard
    from engine_source import Module, Unit

    from mlacheck.ruleset.program import Step

_ELSEWHERE: Final = "elsewhere"


@cache
def settings(engine: str) -> dict[str, Any]:
    """Read what counts as start-up."""
    text = (folder(engine) / "areas.yaml").read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))


def folder(engine: str) -> Path:
    """Give the folder of an engine's inventory."""
    return rules_root() / engine / "guards"


def source_of(wheel: Path, engine: str) -> Source:
    """Open an unzipped wheel of an engine."""
    return Source(wheel, engine, whole=settings(engine)["paths"] == "wheel")


def areas_of(source: Source) -> dict[str, dict[str, Any]]:
    """Give each file's area; the first whose globs hold it."""
    found: dict[str, dict[str, Any]] = {}
    for area in settings(source.package)["areas"]:
        for pattern in area["files"]:
            for file in source.files(pattern):
                found.setdefault(file, area)
    return found


def start_up(source: Source, areas: dict[str, dict[str, Any]]) -> dict[tuple[str, str], Unit]:
    """Give every function that start-up reaches in the files of some area."""
    roots: list[Unit] = []
    for file, area in areas.items():
        pattern = re.compile(area["roots"])
        module = source.module(file)
        units = module.units.values() if module else ()
        roots.extend(unit for unit in units if pattern.search(f"{file}::{unit.symbol}"))
    reached = source.reach(roots, re.compile(settings(source.package)["requests"]))
    return {name: unit for name, unit in sorted(reached.items()) if name[0] in areas}


def known_names(engine: str, version: str) -> tuple[dict[str, str], set[str]]:
    """Give the names that mean an argument of a version, and config keys and other facts that rules read."""
    recorded, areas = recorded_versions(engine), settings(engine)
    near = version if version in recorded else recorded[-1]
    flags = json.loads((rules_root() / engine / "flags" / f"{near}.json").read_text(encoding="utf-8"))
    dests = {option["dest"]: option["dest"] for option in flags["options"]}
    dests |= {name: dest for name, dest in areas.get("names", {}).items() if dest in dests}
    dests = {name: dest for name, dest in dests.items() if name not in areas["generic"]}
    facts = set(areas["facts"])
    for path in sorted((rules_root() / engine).glob("*.yaml")):
        for fact in (yaml.safe_load(path.read_text(encoding="utf-8")).get("facts") or {}).values():
            facts.update(key.rpartition(".")[2] for key in fact.get("config") or ())
    return dests, facts - dests.keys()


def backends(source: Source) -> dict[str, list[str]]:
    """Give each attention file the backend names whose factory or class leads to it."""
    found: dict[str, set[str]] = {}
    how = settings(source.package)["backends"]
    requests = re.compile(settings(source.package)["requests"])
    for name, roots in _made(source, how) if "decorator" in how else _listed(source, how):
        for reached, _ in source.reach(roots, requests):
            found.setdefault(reached, set()).add(name)
    every = max((len(names) for names in found.values()), default=0)
    # What every factory leads to belongs to none of them.
    return {file: sorted(names) for file, names in found.items() if len(names) < every}


def _made(source: Source, how: dict[str, str]) -> Iterator[tuple[str, list[Unit]]]:
    """Give the functions that a decorator registers under a name."""
    for file in source.files(how["files"]):
        module = source.module(file)
        for unit in module.units.values() if module else ():
            for decorator in unit.node.decorator_list:
                call = cast("Any", decorator)
                if getattr(getattr(call, "func", None), "id", "") == how["decorator"] and call.args:
                    yield str(getattr(call.args[0], "value", "")), [unit]


def _listed(source: Source, how: dict[str, str]) -> Iterator[tuple[str, list[Unit]]]:
    """Give the functions of the files whose classes a list names by their path, under its names."""
    file, _, owner = how["list"].partition("::")
    module = source.module(file)
    body = (
        [node.body for node in module.tree.body if isinstance(node, ast.ClassDef) and node.name == owner]
        if module
        else []
    )
    for node in (one for part in body for one in part):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value:
            inside = source.file_of(str(node.value.value).rpartition(".")[0])
            named = source.module(inside)
            if named is not None:
                yield getattr(node.targets[0], "id", ""), list(named.units.values())


def handed_on(
    source: Source, reached: Iterable[Unit], known: Collection[str]
) -> dict[tuple[str, str], dict[str, set[str]]]:
    """Give the parameters of each function that a caller fills from an argument or fact, with these names."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for unit in reached:
        for call, called in source.calls(unit):
            for name, names in handed(unit, call, called).items():
                if not names.isdisjoint(known):
                    place = found.setdefault((called.file, called.symbol), {})
                    place.setdefault(name, set()).update(names.intersection(known))
    return found


@dataclass(frozen=True)
class Ties:
    """What ties a guard to launch lines although the conditions on the way to it name nothing of one."""

    handed: dict[tuple[str, str], dict[str, set[str]]]  # by function, what callers fill its parameters from
    later: dict[str, list[Step]]  # by file, rules about what dies after start-up's own refusals
    checkpoint: re.Pattern[str]  # functions that read what a checkpoint says of itself

    def names(self, guard: Guard) -> set[str]:
        """Give the arguments and facts that callers hand to its function for what it reads."""
        parameters = self.handed.get((guard.file, guard.symbol), {})
        return {one for name in guard.reads for one in parameters.get(name, ())}

    def others(self, guard: Guard) -> bool:
        """Tell whether it stands where a checkpoint is read, or a rule is about it."""
        if self.checkpoint.search(f"{guard.file}::{guard.symbol}"):
            return True
        rules = self.later.get(guard.file, ())
        return any(models(step, guard.file, guard.symbol, guard.says) for step in rules)


def named_by_rules(engine: str, version: str) -> dict[str, set[str]]:
    """Give the functions that rules name as the place of a start-up guard, by file."""
    found: dict[str, set[str]] = {}
    for step in build_program(ruleset(engine), version).steps:
        if step.kind == "find" and step.phase in START_UP_PHASES:
            file, _, symbols = step.source.partition("::")
            found.setdefault(file, set()).update(symbols.split(", "))
    return found


def later_rules(engine: str, version: str) -> dict[str, list[Step]]:
    """Give the rules that say what dies after start-up's own refusals, by the file that they name."""
    found: dict[str, list[Step]] = {}
    for step in build_program(ruleset(engine), version).steps:
        if step.kind == "find" and step.phase not in START_UP_PHASES and step.source.partition("::")[2]:
            found.setdefault(step.source.partition("::")[0], []).append(step)
    return found


@cache
def outside(engine: str) -> list[tuple[str, re.Pattern[str], frozenset[str]]]:
    """Give the reasons why no line of ours meets a guard, with its place and words and what it needs."""
    return [
        (one["why"], re.compile("|".join(one["guards"])), frozenset(one.get("needs", ())))
        for one in settings(engine)["outside"]
    ]


def left_aside(engine: str, guard: str, needs: Collection[str]) -> str | None:
    """Give the first of these reasons that holds for a guard."""
    for why, guards, needed in outside(engine):
        if guards.search(guard) or not needed.isdisjoint(needs):
            return why
    return None


def gated(engine: str, guard: str, names: list[str]) -> list[str]:
    """Add what a guard's place and words say it needs beside the conditions in its function."""
    needs = {name[:-1] for name in names if name.endswith("!")}
    about: list[str] = []
    for gate in settings(engine)["gates"]:
        if re.search(gate["guards"], guard):
            needs.update(gate.get("needs", ()))
            about = gate.get("about", about)
    plain = [name for name in names if name.rstrip("!") not in needs]
    return sorted([*plain, *(f"{name}!" for name in needs), *(f"@{name}" for name in about)])


def extract(source: Source, version: str) -> dict[str, Any]:
    """Make the inventory of one version alone."""
    engine = source.package
    areas = areas_of(source)
    dests, facts = known_names(engine, version)
    served = backends(source)
    rules = named_by_rules(engine, version)
    reached = start_up(source, areas)
    ties = Ties(
        handed_on(source, reached.values(), dests.keys() | facts),
        later_rules(engine, version),
        re.compile(settings(engine).get("checkpoint", "(?!)")),  # nothing matches (?!)
    )
    files: dict[str, Any] = {}
    left_out: Counter[str] = Counter()
    for file in sorted({*areas, *rules}):
        module = source.module(file)
        area = areas.get(file, {"area": _ELSEWHERE, "phase": "backend-init"})
        if module is None:
            continue
        for symbol, guards in _guards(module):
            ruled = any(not one or f".{one}." in f".{symbol}." for one in rules.get(file, ()))
            for guard in guards:
                named = sorted({dests[name] for name in guard.reads if name in dests})
                needed = {dests[name] for name in guard.needs if name in dests}
                why = left_aside(engine, f"{file}::{symbol}::{guard.says}", guard.needs)
                if why is None and guard.asserts and not guard.says:
                    why = left_aside(engine, f"{file}::{symbol}::assert {guard.asserts}", ())
                # What a class declares holds whenever one is made.
                if (file, symbol) not in reached and symbol in module.units:
                    why = why or "runs for a request or a batch, or nothing that start-up runs leads to it"
                elif not named and area["phase"] == "backend-init" and not facts & set(guard.reads):
                    names = ties.names(guard)
                    named = sorted({dests[name] for name in names if name in dests})
                    if not names and not ties.others(guard):
                        why = why or "reads no argument of a line and no fact of a model or GPU"
                if why is not None and not ruled:
                    left_out[why] += 1
                    continue
                entry = files.setdefault(file, {"area": area["area"]})
                if area.get("by") == "backend" and file in served:
                    entry["backends"] = served[file]
                marked = [f"{name}!" if name in needed else name for name in named]
                marked = gated(engine, f"{file}::{symbol}::{guard.says}", marked)
                marked += [f"#{why}"] if why else []
                rows = entry.setdefault("guards", {}).setdefault(symbol, [])
                rows.append([guard.kind, guard.says, marked, f"{version} {guard.digest}"])
    return {"versions": [version], "files": files, "left_out": {version: dict(sorted(left_out.items()))}}


def _guards(module: Module) -> Iterator[tuple[str, list[Guard]]]:
    """Give the guards of each function and of each field of a class."""
    found = {symbol: guards_of(unit) for symbol, unit in module.units.items()}
    for guard in bounds_of(module):
        found.setdefault(guard.symbol, []).append(guard)
    yield from sorted(found.items())


def fold(engine: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Put one version's inventory into that of the others, in the place of what was recorded of it."""
    (version,) = new["versions"]
    versions = sorted({*old.get("versions", ()), version}, key=Version)
    places: dict[tuple[str, str, str, str, int], dict[str, tuple[str, list[str]]]] = {}
    entries: dict[str, dict[str, Any]] = {}
    for data in (old, new):
        for file, entry in data.get("files", {}).items():
            kept = entries.setdefault(file, {})
            kept["area"] = entry["area"]
            if "backends" in entry or "backends" in kept:
                kept["backends"] = sorted({*entry.get("backends", ()), *kept.get("backends", ())})
            for symbol, rows in entry["guards"].items():
                numbers: Counter[tuple[str, str]] = Counter()
                for kind, words, names, *spans in rows:
                    place = (file, symbol, kind, words, numbers[kind, words])
                    numbers[kind, words] += 1
                    seen = places.setdefault(place, {})
                    for one in data["versions"]:
                        digest = digest_at(spans, one, data["versions"])
                        if one == version and data is old:
                            continue
                        if digest is not None:
                            seen[one] = (digest, names)
    files: dict[str, Any] = {}
    for (file, symbol, kind, words, _), seen in sorted(places.items()):
        if seen:
            entry = files.setdefault(file, {**entries[file], "guards": {}})
            names = seen[max(seen, key=Version)][1]
            spans = list(_spans({one: digest for one, (digest, _) in seen.items()}, versions))
            entry["guards"].setdefault(symbol, []).append([kind, words, names, *spans])
    left_out = {**old.get("left_out", {}), **new["left_out"]}
    phases = {area["area"]: area["phase"] for area in settings(engine)["areas"]} | {
        _ELSEWHERE: "backend-init"
    }
    return {"versions": versions, "areas": phases, "left_out": left_out, "files": files}


def _spans(digests: dict[str, str], versions: list[str]) -> Iterator[str]:
    """Write the versions as ranges of one digest each; one that goes on to the newest stays open."""
    runs: list[list[str]] = []
    for before, version in zip([None, *versions], versions, strict=False):
        if version not in digests:
            continue
        if runs and runs[-1][1] == before and digests[runs[-1][0]] == digests[version]:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    for first, last in runs:
        end = "-" if last != versions[-1] else ""
        yield f"{first}{end}{last if end else ''} {digests[first]}"


def write(data: dict[str, Any]) -> str:
    """Lay the inventory out with one guard a line."""
    heads = [f' "{key}": {json.dumps(data[key])},' for key in ("versions", "areas")]
    lines = ["{", *heads, ' "left_out": {']
    left_out = [f"  {json.dumps(one)}: {json.dumps(data['left_out'][one])}" for one in data["versions"]]
    lines.extend((",\n".join(left_out), " },", ' "files": {'))
    files = []
    for file, entry in data["files"].items():
        head = {key: value for key, value in entry.items() if key != "guards"}
        symbols = []
        for symbol, rows in entry["guards"].items():
            texts = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in rows)
            symbols.append(f"   {json.dumps(symbol)}: [\n    {texts}]")
        guards = ",\n".join(symbols)
        files.append(f'  {json.dumps(file)}: {json.dumps(head)[:-1]}, "guards": {{\n{guards}}}}}')
    return "\n".join((*lines, ",\n".join(files), " }", "}")) + "\n"


def main() -> int:
    """Fold one wheel's guards into the inventory."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, metavar="WHEEL_DIR")
    parser.add_argument("--engine-version", required=True, metavar="V")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    parser.add_argument("--out", type=Path, help="another file than the engine's inventory")
    given = parser.parse_args()
    out = given.out or folder(given.engine) / "inventory.json"
    old = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    alone = extract(source_of(given.wheel, given.engine), given.engine_version)
    data = fold(given.engine, old, alone)
    out.write_text(write(data), encoding="utf-8")
    number = sum(len(rows) for entry in data["files"].values() for rows in entry["guards"].values())
    print(f"{out}: {number} guards of {len(data['versions'])} versions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
