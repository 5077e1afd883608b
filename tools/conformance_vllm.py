"""Replay recorded verdicts of the real vLLM, as tools/conformance.py does for SGLang.

A recorded line: {id, model, gpu, flashinfer, args, env, verdict, stage, message, where, prefill_backend,
decode_backend, resolved}. `@name` in args, also inside JSON, is a folder with a config.json under --models or
an id of the catalogue, and `@@yaml` a file that holds the row's `yaml`. Hybrid models report the backend of
their first layer, which has linear attention: their decode backend is not compared.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from conformance import RECORDED, Tally, refusal, rows_of, table
from record import NAMES

from mlacheck.cases import Cases
from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mlacheck.finding import Finding, Report

_OURS: Final = {theirs: ours for ours, theirs in NAMES["vllm"].items()}
# What the recorder has not installed.
_ABSENT: Final[dict[str, str | None]] = {"arctic_inference": None}
# Without effect there: it counts 8 GPUs, whichever are visible.
_IGNORED: Final = "CUDA_VISIBLE_DEVICES"
_LINEAR: Final = frozenset({"GDN_ATTN", "KIMI_K3_KDA", "MAMBA2_ATTN", "LINEAR_ATTN", "SHORT_CONV_ATTN"})
_FOLDER: Final = re.compile(r"@([\w./-]+)")


def case_of(row: dict[str, Any], version: str, models: Path, file: Path) -> dict[str, Any]:
    """Make the case of a recorded row, whose config file is written to `file`."""
    if row.get("yaml") is not None:
        file.write_text(row["yaml"], encoding="utf-8")

    def placed(text: str) -> str:
        if text == "@@yaml":
            return str(file)
        return _FOLDER.sub(lambda m: str(models / m[1]) if (models / m[1]).exists() else m[1], text)

    args = [placed(word) for word in row["args"]]
    if row.get("model") is not None:
        args = ["--model", placed(f"@{row['model']}"), *args]
    return {
        "id": row["id"],
        "engine": "vllm",
        "engine_version": version,
        "model": None,
        "gpu": row["gpu"],
        "gpu_count": 8,
        "flashinfer": row["flashinfer"],
        "args": args,
        "env": {name: value for name, value in (row.get("env") or {}).items() if name != _IGNORED},
        "packages": _ABSENT,
    }


def compare(tally: Tally, row: dict[str, Any], report: Report) -> None:
    """Count how one report differs from the recorded verdict."""
    if row["verdict"] not in {"ok", "error"}:
        return
    tally.cases += 1
    stop = refusal(report)
    told = f"{row['stage']} {row.get('where')}: {(row.get('message') or '')[:140]!r}"
    if row["verdict"] == "error" and stop is None:
        tally.add("undecided" if report.verdict == "unknown" else "false OK", row, told)
    elif row["verdict"] == "error" and stop is not None and not same_reason(row, stop, tally.version):
        tally.add("wrong reason", row, f"{told} <> {stop.id} {stop.message[:100]}")
    elif row["verdict"] == "ok" and stop is not None:
        tally.add("false alarm", row, f"{stop.id} {stop.message[:120]}")
    elif row["verdict"] == "ok":
        if report.verdict == "unknown":
            tally.add("undecided", row, " ".join(one.rule for one in report.undecided[:4]))
        for name, expected, found in differing(row, report):
            tally.add("wrong value", row, f"{name}: engine {expected!r}, ours {found!r}")


def differing(row: dict[str, Any], report: Report) -> Iterator[tuple[str, object, object]]:
    """Yield each resolved value that differs."""
    expected: dict[str, Any] = dict(row.get("resolved") or {})
    skips = any("skip" in word and "layers" in word for word in row["args"])
    mixed = skips or str(expected.get("kv_cache_dtype")).startswith("turboquant")
    if row.get("decode_backend") not in _LINEAR and not mixed:
        expected["decode_backend"] = row.get("decode_backend")
    if row.get("prefill_backend"):  # 0.18.1 keeps it nowhere
        expected["prefill_backend"] = row["prefill_backend"]
    for name, value in expected.items():
        ours = report.resolved.get(_OURS.get(name, name))
        if ours is not None and name != "model" and ours.value != value:
            yield name, value, ours.value


def same_reason(row: dict[str, Any], stop: Finding, version: str) -> bool:
    """Tell whether the rule is about the guard that fired, by what the engine said."""
    step = next((one for one in load_program("vllm", version).program.steps if one.id == stop.id), None)
    texts = step.engine_says if step else (stop.engine_message or "",)
    said = _bare(row.get("message") or "")
    # argparse puts the option's name before a converter's own text.
    return any(
        _bare(text.partition(": ")[2] or text)[:50] in said or _bare(text)[:50] in said for text in texts
    )


def _bare(text: str) -> str:
    return re.sub(r"['\"`\s]", "", text).lower()


def replay(version: str, rows: Iterable[dict[str, Any]], models: Path) -> Tally:
    """Check every recorded row of a version."""
    tally = Tally(version)
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        for row in rows:
            compare(tally, row, cases.report(case_of(row, version, models, file)))
    return tally


def main() -> int:
    """Print the table and the differing cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="recorded verdicts (default: tests/conformance)")
    parser.add_argument("--models", type=Path, default=RECORDED / "models")
    parser.add_argument("--show", type=int, default=25, metavar="N", help="differing cases to show")
    parser.add_argument("--as-version", help="engine version of files whose name does not begin with it")
    given = parser.parse_args()
    tallies = []
    for path in given.files or sorted((RECORDED / "recorded" / "vllm").glob("*.jsonl.gz")):
        version = given.as_version or path.name.removesuffix(".jsonl.gz")
        tallies.append(replay(version, rows_of(path), given.models))
    print(table(tallies))
    for tally in tallies:
        for kind, row, detail in tally.rows[: given.show]:
            print(
                f"\n{tally.version} {kind}: {detail}\n   {row['model']} {row['gpu']} {' '.join(row['args'])}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
