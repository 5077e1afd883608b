"""Turn verdicts of the real engine into a recorded file of tests/conformance, small, without machine paths.

Each input line: {"case": {id, model, gpu, flashinfer, args, env}, "result": {verdict, stage, exc_type,
message, where, guard, backends, resolved, notes}}, as whatever ran the engine's own resolution wrote it.
`verdict` is ok or error. Other lines are dropped, and those with a --skip text in message or notes: what
the recorder could not run, such as a stage that it left out. The output has one row a line and replays
with tools/conformance.py, vLLM's with tools/conformance_vllm.py.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CASE: Final = ("model", "gpu", "flashinfer", "args", "env")
_RESULT: Final = ("verdict", "stage", "exc_type", "message", "where", "guard")
# What a row says of an engine's backends.
_BACKENDS: Final = {"sglang": ("backends",), "vllm": ("prefill_backend", "decode_backend")}
# By our name of a value, the name that rows have.
NAMES: Final = {"sglang": {}, "vllm": {"speculative_method": "spec_method"}}
_MOST_TEXT: Final = 160
# A folder on the way to a model or to the engine; the names of one argument have slashes between them too.
_FOLDER: Final = re.compile(r"(?<![\w.+-])/(?:[\w.+-]+/)+(?=[\w.+-])")


def recorded(
    lines: Iterable[str], version: str, kind: str, skipped: Iterable[str] = (), engine: str = "sglang"
) -> Iterator[dict[str, Any]]:
    """Yield the rows to keep, shortened."""
    ours = load_program(engine, version).program.resolved
    resolved = [NAMES[engine].get(name, name) for name in ours]
    skipped = tuple(skipped)
    for line in lines:
        row = json.loads(line)
        case, result = row["case"], row["result"]
        if result["verdict"] not in {"ok", "error"} or _skips(result, skipped):
            continue
        kept: dict[str, Any] = {"id": case["id"], "kind": case.get("kind", kind)}
        kept |= {name: case.get(name) for name in _CASE}
        kept |= {name: result.get(name) for name in (*_RESULT, *_BACKENDS[engine])}
        if kept["message"]:
            kept["message"] = without_folders(kept["message"])[:_MOST_TEXT]
        if result.get("function"):
            kept["function"] = result["function"]
        values = result.get("resolved") or {}
        kept["resolved"] = {
            name: values[name] for name in resolved if name in values and name not in {"model_path", "model"}
        }
        yield kept


def without_folders(message: str) -> str:
    """Give a message with files and models by their last name alone."""
    return _FOLDER.sub("", message)


def _skips(result: dict[str, Any], skipped: tuple[str, ...]) -> bool:
    told = [*(result.get("notes") or ()), result.get("message") or ""]
    return any(text in one for text in skipped for one in told)


def write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write the rows in the order of their ids; the same rows give the same bytes."""
    ordered = sorted(rows, key=lambda row: str(row["id"]))
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in ordered)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    return len(ordered)


def _kept(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main() -> int:
    """Write the recorded file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="lines of case and result")
    parser.add_argument("--engine", choices=_BACKENDS, default="sglang")
    parser.add_argument("--version", required=True, help="engine version that gave the verdicts")
    parser.add_argument("--kind", default="random", help="what the rows are called")
    parser.add_argument(
        "--skip", action="append", default=[], metavar="TEXT", help="drop rows with TEXT in notes or message"
    )
    parser.add_argument("--add", action="store_true", help="keep the rows that --out already has")
    parser.add_argument("--out", type=Path, required=True, help="tests/conformance/recorded/VERSION.jsonl.gz")
    given = parser.parse_args()
    lines = (line for file in given.files for line in file.read_text(encoding="utf-8").splitlines())
    rows = {row["id"]: row for row in (_kept(given.out) if given.add else ())}
    rows |= {row["id"]: row for row in recorded(lines, given.version, given.kind, given.skip, given.engine)}
    count = write(given.out, rows.values())
    print(f"{given.out}: {count} rows, {given.out.stat().st_size // 1024} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
