"""Records which environment variables engine releases read, in rules/ENGINE/environment.json.

Usage: python tools/extract_environment.py [--engine ENGINE] WHEEL_DIR...
A wheel folder is named ENGINE-VERSION and holds the unzipped wheel. Every name that begins as the engine's do
and stands anywhere in its sources counts as read: too many hide a slip, too few report one that is none.
Versions that are not given keep what is recorded of them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.data import find_json, rules_root
from mlacheck.probes.engine import ENGINES, entry_points, recorded_versions

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCES: Final = frozenset({".py", ".sh", ".rs", ".toml", ".json", ".cu", ".cuh", ".h", ".cpp"})
COMMENT: Final = (
    "Written by tools/extract_environment.py: the first and the last recorded version that reads each."
)


def main() -> int:
    """Read every given release and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="+", type=Path, metavar="WHEEL_DIR")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    options = parser.parse_args()
    prefixes = entry_points(options.engine)["variables"]
    found = {}
    for folder in options.releases:
        version = folder.name.removeprefix(f"{options.engine}-")
        if version not in recorded_versions(options.engine):
            print(f"{folder}: {version} is not a recorded version; extract its flags first", file=sys.stderr)
            return 1
        found[version] = read(folder / options.engine, prefixes)
    out = rules_root() / options.engine / "environment.json"
    names = merged(find_json(options.engine, "environment.json"), found, recorded_versions(options.engine))
    table = {"comment": COMMENT, "names": names}
    text = json.dumps(table, indent=1)
    out.write_text(re.sub(r"\[\s+(\S+),\s+(\S+)\s+\]", r"[\1, \2]", text) + "\n", encoding="utf-8")
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
    has = {version: set(names) for version, names in found.items()}
    for name, (first, last) in ranges.items():
        for version in versions[versions.index(first) : versions.index(last) + 1]:
            if version not in found:
                has.setdefault(version, set()).add(name)
    within = [version for version in versions if version in has]
    spans = {
        name: [version for version in within if name in has[version]]
        for name in sorted(set().union(*has.values()))
    }
    return {name: [span[0], span[-1]] for name, span in spans.items()}


if __name__ == "__main__":
    raise SystemExit(main())
