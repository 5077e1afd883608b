"""Records which environment variables engine releases read, in rules/ENGINE/environment.json.

Usage: python tools/extract_environment.py [--engine ENGINE] WHEEL_DIR...
A wheel folder is named ENGINE-VERSION and holds the unzipped wheel. Every name that begins as the engine's do
and stands anywhere in its sources counts as read: too many hide a slip, too few report one that is none.
Versions that are not given keep what is recorded of them.
Beside the names stands how a table of readers, `environment_variables` in envs.py, reads each that not every
text fits: as a number, or as one of some words.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.data import find_json, rules_root
from mlacheck.probes.engine import ENGINES, entry_points, recorded_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SOURCES: Final = frozenset({".py", ".sh", ".rs", ".toml", ".json", ".cu", ".cuh", ".h", ".cpp"})
COMMENT: Final = (
    "Written by tools/extract_environment.py: the first and the last recorded version that reads each name,"
    " and what its text has to be."
)
NUMBERS: Final = {"int": "int", "float": "float", "maybe_convert_int": "int", "maybe_convert_bool": "int"}
WORDS: Final = {"env_with_choices": False, "env_list_with_choices": True, "env_set_with_choices": True}


def main() -> int:
    """Read every given release and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="+", type=Path, metavar="WHEEL_DIR")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    options = parser.parse_args()
    prefixes = entry_points(options.engine)["variables"]
    found, forms = {}, {}
    for folder in options.releases:
        version = folder.name.removeprefix(f"{options.engine}-")
        if version not in recorded_versions(options.engine):
            print(f"{folder}: {version} is not a recorded version; extract its flags first", file=sys.stderr)
            return 1
        found[version] = read(folder / options.engine, prefixes)
        table = folder / options.engine / "envs.py"
        forms[version] = readings(table.read_text(encoding="utf-8")) if table.is_file() else {}
    out = rules_root() / options.engine / "environment.json"
    old = find_json(options.engine, "environment.json")
    names = merged(old, found, recorded_versions(options.engine))
    values = merged_forms(old, forms, recorded_versions(options.engine))
    lines = [f' "comment": {json.dumps(COMMENT)}']
    for key, entries in (("names", names), ("values", values)):
        if entries:
            rows = ",\n".join(
                f"  {json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries)
            )
            lines.append(f' "{key}": {{\n{rows}\n }}')
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{out}: {len(names)} names")
    return 0


def read(package: Path, prefixes: Iterable[str]) -> set[str]:
    """List the names in one release."""
    name = re.compile(rf"\b(?:{'|'.join(prefixes)})[A-Z0-9_]*[A-Z0-9]\b")
    files = (path for path in package.rglob("*") if path.suffix in SOURCES)
    return {one for path in files for one in name.findall(path.read_text(encoding="utf-8", errors="replace"))}


def merged(
    old: dict[str, Any] | None, found: dict[str, set[str]], versions: tuple[str, ...]
) -> dict[str, list[str]]:
    """Give the range of each name, from what is recorded and what was found."""
    ranges: dict[str, list[str]] = (old or {}).get("names", {})
    recorded = {"values": {name: [[first, last, None]] for name, (first, last) in ranges.items()}}
    names = {version: dict.fromkeys(sorted(one)) for version, one in found.items()}
    spans = merged_forms(recorded, names, versions)
    return {name: [spans[name][0][0], spans[name][-1][1]] for name in sorted(spans)}


def readings(source: str) -> dict[str, Any]:
    """Tell for each variable of a table of readers what its text has to be."""
    module = ast.parse(source)
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    tables = [
        node.value
        for node in module.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == "environment_variables"
        and isinstance(node.value, ast.Dict)
    ]
    forms = {
        key.value: _form(key.value, functions.get(value.id, value) if isinstance(value, ast.Name) else value)
        for table in tables
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    return {name: form for name, form in forms.items() if form is not None}


def _form(name: str, reader: ast.AST) -> Any:
    if isinstance(reader, ast.FunctionDef) and reader.name == "get_vllm_port":
        return "int"
    for node in ast.walk(reader):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
            continue
        if node.func.id in NUMBERS and _is_text_of(name, node.args[0]):
            return NUMBERS[node.func.id]
        if node.func.id in WORDS:
            given = dict(zip(("name", "default", "choices", "case_sensitive"), node.args, strict=False))
            given |= {one.arg: one.value for one in node.keywords if one.arg is not None}
            if not isinstance(given["choices"], ast.List):
                return None
            words: list[str] = ast.literal_eval(given["choices"])
            cased = ast.literal_eval(given["case_sensitive"]) if "case_sensitive" in given else True
            return {
                "words": words,
                **({} if cased else {"cased": False}),
                **({"many": True} if WORDS[node.func.id] else {}),
            }
    return None


def _is_text_of(name: str, node: ast.expr) -> bool:
    """Tell whether an expression is the text of a variable as it stands, with or without a default."""
    pattern = rf"os\.(getenv|environ\.get)\('{name}'(, .*)?\)|os\.environ\['{name}'\]"
    return re.fullmatch(pattern, ast.unparse(node)) is not None


def merged_forms(
    old: dict[str, Any] | None, found: Mapping[str, Mapping[str, Any]], versions: tuple[str, ...]
) -> dict[str, list[list[Any]]]:
    """Give the spans of versions that read each variable alike, with how they do."""
    has = {version: dict(forms) for version, forms in found.items()}
    for name, spans in (old or {}).get("values", {}).items():
        for first, last, form in spans:
            for version in versions[versions.index(first) : versions.index(last) + 1]:
                if version not in found:
                    has.setdefault(version, {})[name] = form
    merged: dict[str, list[list[Any]]] = {}
    before = ""
    for version in (one for one in versions if one in has):
        for name, form in has[version].items():
            spans = merged.setdefault(name, [])
            if spans and spans[-1][1] == before and spans[-1][2] == form:
                spans[-1][1] = version
            else:
                spans.append([version, version, form])
        before = version
    return merged


if __name__ == "__main__":
    raise SystemExit(main())
