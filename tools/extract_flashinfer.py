"""Records FlashInfer's signatures from wheels or unzipped trees in rules/flashinfer/signatures.json.

Usage: python tools/extract_flashinfer.py [--out FILE] WHEEL_OR_TREE...
A tree is a folder that holds `flashinfer/`, its version read from the METADATA beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from packaging.version import Version

from mlacheck.data import rules_root
from mlacheck.probes.signature import Signature, SourceTree, load_watched

COMMENT = "Written by tools/extract_flashinfer.py: each row holds from its version up to the next row's."


def main() -> int:
    """Read every given release and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="+", type=Path, metavar="WHEEL_OR_TREE")
    parser.add_argument("--out", type=Path, default=rules_root() / "flashinfer" / "signatures.json")
    options = parser.parse_args()
    records: dict[Version, dict[str, Any]] = {}
    for release in options.releases:
        try:
            version, record = read_release(release)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            print(f"{release}: {error}", file=sys.stderr)
            return 1
        records[version] = record
    options.out.write_text(render(table(records)), encoding="utf-8")
    print(f"{options.out}: {len(records)} versions, {min(records)} to {max(records)}")
    return 0


def read_release(release: Path) -> tuple[Version, dict[str, Any]]:
    """Read one wheel or unzipped tree."""
    if release.is_dir():
        return read_tree(release)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(release) as wheel:
        wanted = [
            name
            for name in wheel.namelist()
            if (name.startswith("flashinfer/") and name.endswith(".py"))
            or name.endswith(".dist-info/METADATA")
        ]
        wheel.extractall(folder, wanted)
        return read_tree(Path(folder))


def read_tree(folder: Path) -> tuple[Version, dict[str, Any]]:
    """Read the watched names of one unzipped release."""
    metadata = next(folder.glob("*.dist-info/METADATA"), None)
    if metadata is None:
        raise ValueError("no *.dist-info/METADATA")
    lines = metadata.read_text(encoding="utf-8").splitlines()
    version = Version(next(line for line in lines if line.startswith("Version: ")).removeprefix("Version: "))
    tree, watched = SourceTree(folder / "flashinfer"), load_watched()
    signatures = {name: tree.signature(name) for name in watched.callables}
    return version, {
        "callables": {
            name: list(signature.parameters) if isinstance(signature, Signature) else None
            for name, signature in signatures.items()
        },
        "present": {name: tree.has(name) for name in watched.present},
    }


def table(records: dict[Version, dict[str, Any]]) -> dict[str, Any]:
    """Keep, for each name, only the versions at which it changed."""
    versions = [str(version) for version in sorted(records)]
    data: dict[str, Any] = {"comment": COMMENT, "decode": load_watched().decode, "versions": versions}
    for kind in ("callables", "present"):
        names = next(iter(records.values()))[kind]
        data[kind] = {}
        for name in names:
            rows: list[list[Any]] = []
            for version in sorted(records):
                value = records[version][kind][name]
                if not rows or rows[-1][1] != value:
                    rows.append([str(version), value])
            data[kind][name] = rows
    return data


def render(data: dict[str, Any]) -> str:
    """Write the table as JSON, one change a line."""
    parts = [f'"{key}": {json.dumps(data[key])}' for key in ("comment", "decode", "versions")]
    for kind in ("callables", "present"):
        named = [
            f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in rows) + "\n  ]"
            for name, rows in data[kind].items()
        ]
        parts.append(f'"{kind}": {{\n' + ",\n".join(named) + "\n }")
    return "{\n " + ",\n ".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
