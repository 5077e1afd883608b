"""Says which guard of an engine fired in a recorded verdict: file, function and message template.

    python tools/fired.py WHEELS_DIR [FILE.jsonl.gz...]

adds the function to recorded verdicts (those in tests/conformance by default) that name only file and line.
WHEELS_DIR holds unzipped wheels as sglang-VERSION.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine_source import Source

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.ruleset.guards import Guard, guards, modelled
from mlacheck.ruleset.load import load_program
from mlacheck.ruleset.wording import was_cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.ruleset.program import Step

RECORDED: Final = Path(__file__).parent.parent / "tests" / "conformance" / "recorded"


def place(row: Mapping[str, Any]) -> tuple[str, str]:
    """Give the file and, where it was recorded, the function of a verdict."""
    file = str(row.get("where") or "").split(":")[0]
    return file[file.find("srt/") :] if "srt/" in file else file, str(row.get("function") or "")


def fired(row: Mapping[str, Any], version: str) -> list[Guard]:
    """Give the guards that can have fired: in that file and function, with that message."""
    file, function = place(row)
    message = " ".join(str(row.get("message") or "").split())
    return [
        guard
        for guard in _by_file(version).get(file, ())
        if (not function or guard.symbol == function) and _pattern(guard.says).match(message)
    ]


def same_guard(row: Mapping[str, Any], step: Step, version: str) -> bool:
    """Tell whether a rule is about the guard that fired."""
    file, function = place(row)
    its_file, _, symbols = step.source.partition("::")
    if not its_file or its_file != file:
        return False
    if function and not any(not one or f".{one}." in f".{function}." for one in symbols.split(", ")):
        return False
    message = " ".join(str(row.get("message") or "").split())
    if message and not any(" ".join(text.split()) in message for text in step.engine_says):
        return False
    found = fired(row, version)
    # A crash is no guard, nor is what a library says; of a long template only the beginning is listed.
    # Then file, function and the recorded text have to do.
    return not found or any(step.id in _rules(version)[one.key] or was_cut(one.says) for one in found)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    pieces = [re.escape(piece) for piece in " ".join(template.split()).split("{}")]
    return re.compile(".*".join(pieces) if template else "$", re.DOTALL)


@cache
def _by_file(version: str) -> dict[str, list[Guard]]:
    found: dict[str, list[Guard]] = {}
    for guard in guards("sglang", version):
        found.setdefault(guard.file, []).append(guard)
    return found


@cache
def _rules(version: str) -> dict[str, tuple[str, ...]]:
    return modelled(load_program("sglang", version).program.steps, guards("sglang", version))


def function_at(source: Source, where: str) -> str | None:
    """Name the innermost function around FILE:LINE."""
    file, _, line = where.removeprefix("sglang/").partition(":")
    module = source.module(file)
    inside = [
        unit
        for unit in (module.units.values() if module else ())
        if line.isdigit() and unit.node.lineno <= int(line) <= (unit.node.end_lineno or 0)
    ]
    return max(inside, key=lambda unit: unit.node.lineno).symbol if inside else None


def name_functions(path: Path, wheels: Path) -> int:
    """Add the function to every refusal of one file of recorded verdicts; give how many were added."""
    source = Source(wheels / f"sglang-{path.name.split('.jsonl')[0]}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    added = 0
    for row in rows:
        if row.get("where") and not row.get("function"):
            function = function_at(source, row["where"])
            if function is not None:
                row["function"] = function
                added += 1
    text = "".join(json.dumps(row) + "\n" for row in rows)
    # No time stamp, so that the same rows make the same file.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return added


def main() -> int:
    """Add functions to recorded verdicts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheels", type=Path, metavar="WHEELS_DIR")
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args()
    for path in given.files or sorted(RECORDED.glob("*.jsonl.gz")):
        print(f"{path.name}: {name_functions(path, given.wheels)} functions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
