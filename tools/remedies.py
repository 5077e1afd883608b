"""Measure the corrected lines: how many failing recorded cases get one, and whether the engine takes them.

Without --verdicts, every recorded refusal is checked with remedies; the table counts them, and --cases writes
every suggested line as a case (as tools/random_cases.py does) for replay by the real engine. With --verdicts,
the engine's verdicts of these cases are read and each suggested line that it refuses is listed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parent))

import conformance
import conformance_vllm
from conformance import RECORDED, rows_of

from mlacheck.cases import Cases
from mlacheck.launch import parse_text
from mlacheck.probes.engine import ENGINES
from mlacheck.remedies import advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.finding import Finding, Remedy, Report

# No flag mends these: what is missing is a GPU, an engine package, FlashInfer or a model.
KINDS: Final = ("mended", "nothing to mend", "no suggestion", "needs more changes")
# The search stops at three changes; with this many it is told whether a line has more mistakes than that.
_MORE: Final = 6
Make = Callable[[dict[str, Any], str, Path], dict[str, Any]]
# What makes a case of a recorded row, and where the rows lie.
CASES: Final[dict[str, tuple[Make, Path]]] = {
    "sglang": (conformance.case_of, RECORDED / "recorded"),
    "vllm": (
        lambda row, version, models: conformance_vllm.case_of(row, version, models, Path(os.devnull)),
        RECORDED / "recorded" / "vllm",
    ),
}


def measure(
    engine: str, version: str, rows: Iterator[dict[str, Any]], models: Path
) -> Iterator[dict[str, Any]]:
    """Yield what became of each refused row: {version, row, kind, stop, seconds, suggestions, fires}."""
    cases = Cases(remedies=True)
    case_of = CASES[engine][0]
    for row in rows:
        if row["verdict"] != "error" or row.get("yaml"):  # what a file says is not mended in the line
            continue
        case = case_of(row, version, models)
        start = time.perf_counter()
        report = cases.report(case)
        seconds = time.perf_counter() - start
        errors = [finding for finding in report.findings if finding.level == "error"]
        edits = _all_edits(report)
        suggestions = [_suggested(one, row, case, models) for one in edits]
        yield {
            "version": version,
            "row": row,
            "kind": KINDS[0]
            if edits
            else KINDS[1]
            if _beyond_flags(report, errors)
            else KINDS[3]
            if _with_more_changes(case)
            else KINDS[2],
            "stop": f"{errors[0].id} {errors[0].message}" if errors else "no error found",
            "seconds": seconds,
            "without": [finding.id for finding in errors if not finding.remedies],
            "suggestions": suggestions,
            "fires": [_fires(cases, case, one, models) for one in suggestions],
        }


def _all_edits(report: Report) -> list[str]:
    errors = (finding for finding in report.findings if finding.level == "error")
    return list(dict.fromkeys(one for finding in errors for one in _edits(finding)))


def _with_more_changes(case: dict[str, Any]) -> bool:
    """Tell whether more changes than the search makes mend a line."""
    held = vars(advice)
    usual = held["MOST_CHANGES"]
    held["MOST_CHANGES"] = _MORE
    try:
        return bool(_all_edits(Cases(remedies=True).report(case)))
    finally:
        held["MOST_CHANGES"] = usual


def _edits(finding: Finding) -> Iterator[str]:
    for remedy in finding.remedies:
        if remedy.command is not None or remedy.edits:
            yield json.dumps([remedy.command, _env(remedy)])


def _env(remedy: Remedy) -> dict[str, Any]:
    return {name[4:]: value for name, value in remedy.edits.items() if name.startswith("env.")}


def _beyond_flags(report: Report, errors: list[Finding]) -> bool:
    """Tell whether what an error's rule names is no flag: another GPU, version, package or model."""
    if not errors:
        return False
    missing = report.target.get("gpu") == "none" or errors[0].slug == "missing-required"
    told = [{remedy.kind for remedy in one.remedies} for one in errors]
    elsewhere = any(kinds & {"upgrade", "hardware"} and "edit" not in kinds for kinds in told)
    return missing or elsewhere or bool(told[0] & {"upgrade", "hardware"})


def _suggested(edit: str, row: dict[str, Any], case: dict[str, Any], models: Path) -> dict[str, Any]:
    """Make a case of a suggested line, by reading the line as a shell would."""
    text, changed = json.loads(edit)
    if text is None:  # only a variable beside the line changes
        text = shlex.join(case["args"])
    engine = case.get("engine", ENGINES[0])
    [command] = parse_text(text, default_engine=engine).commands if text.strip() else [None]
    argv = list(command.argv) if command else []
    env = {**(row.get("env") or {}), **(dict(command.env) if command else {}), **changed}
    return {
        "id": "",
        "model": None,
        "gpu": row["gpu"],
        "flashinfer": row["flashinfer"],
        "args": [word.replace(f"{models}/", "@") for word in argv],
        "env": {name: value for name, value in env.items() if value != "unset"},
        "text": shlex.join(argv),
    }


def _fires(cases: Cases, case: dict[str, Any], suggested: dict[str, Any], models: Path) -> list[str]:
    placed = [re.sub(r"@(?=[\w.-]+)", f"{models}/", word) for word in suggested["args"]]
    report = cases.report({**case, "args": placed, "env": suggested["env"]})
    return [one.id for one in report.findings if one.level == "error"]


def main() -> int:
    """Print the table; exit 1 when a suggested line is refused by a rule or by the engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="recorded verdicts (default: tests/conformance)")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    parser.add_argument("--models", type=Path, default=RECORDED / "models")
    parser.add_argument("--cases", type=Path, help="folder to write VERSION.jsonl of suggested lines into")
    parser.add_argument("--verdicts", type=Path, help="folder with the engine's VERSION.jsonl for such cases")
    parser.add_argument("--show", type=int, default=20)
    given = parser.parse_args()
    if given.verdicts:
        return _count(given.verdicts, given.show)
    counts: Counter[str] = Counter()
    total, times, bad = 0, [], 0
    for path in given.files or sorted(CASES[given.engine][1].glob("*.jsonl.gz")):
        version = re.match(r"\d+(\.\d+)*", path.name)[0]  # type: ignore[index]  # named so
        lines = []
        for one in measure(given.engine, version, rows_of(path), given.models):
            counts[one["kind"]] += 1
            times.append(one["seconds"])
            total += len(one["suggestions"])
            bad += sum(map(bool, one["fires"])) + bool(one["without"])
            for number, suggestion in enumerate(one["suggestions"]):
                lines.append(json.dumps({**suggestion, "id": f"{one['row']['id']}/{number}"}))
                if one["fires"][number]:
                    print(f"FIRES {one['fires'][number]} {one['row']['id']}: {suggestion['text']}")
            if one["without"]:
                print(f"NO REMEDY {one['without']} {one['row']['id']}")
            if one["kind"] != KINDS[0] and counts[one["kind"]] <= given.show:
                row = one["row"]
                print(
                    f"{one['kind']}: {row['id']} {row['model']} {row['gpu']} {row['flashinfer']} "
                    f"{' '.join(row['args'])} {row['env'] or ''}\n    {one['stop'][:150]}"
                )
        if given.cases:
            given.cases.mkdir(parents=True, exist_ok=True)
            (given.cases / f"{version}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    mendable = counts[KINDS[0]] + counts[KINDS[2]]
    print(f"{dict(counts)}; {counts[KINDS[0]] / max(mendable, 1):.1%} of {mendable} that a flag may mend")
    times.sort()
    print(f"{total} lines; median {times[len(times) // 2] * 1e3:.0f} ms, longest {times[-1] * 1e3:.0f} ms")
    return 1 if bad else 0


def _count(folder: Path, show: int) -> int:
    taken = refused = broken = 0
    for path in sorted(folder.glob("*.jsonl")):
        for row in rows_of(path):
            taken += row["verdict"] == "ok"
            broken += row["verdict"] not in {"ok", "error"}
            if row["verdict"] == "error":
                refused += 1
                if refused <= show:
                    print(f"{path.stem} {row['id']} {row['gpu']} {row['flashinfer']} {' '.join(row['args'])}")
                    print(f"    {row['stage']} {row['where']}: {(row['message'] or '')[:200]}")
    print(f"the engine takes {taken} of {taken + refused} suggested lines ({broken} not judged)")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
