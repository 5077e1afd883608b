"""Replay recorded verdicts of the real engine and count where the rules differ.

A recorded line: {id, kind, model, gpu, flashinfer, args, env, verdict, stage, message, where, function,
backends, resolved, ...}. A reason is right when the rule's file, function and message are those of the guard
that fired; tools/fired.py adds the function to lines that lack it.
`model` and `@name` in args are folders with a config.json under --models, or ids of the catalogue.
Differences that tests/conformance/exceptions.yaml explains are not counted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from fired import same_guard
from record import without_folders

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.cases import Cases
from mlacheck.finding import START_UP_PHASES
from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mlacheck.finding import Finding, Report

RECORDED: Final = Path(__file__).parent.parent / "tests" / "conformance"
EXCEPTIONS: Final[list[dict[str, Any]]] = yaml.safe_load(
    (RECORDED / "exceptions.yaml").read_text(encoding="utf-8")
)
KINDS: Final = ("false OK", "false alarm", "wrong reason", "undecided", "wrong value")
# Facts the reports name beside the engine's own arguments.
_BACKENDS: Final = ("prefill_backend", "decode_backend")


@dataclass
class Tally:
    """Counts and the differing cases of one version."""

    version: str
    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)

    def add(self, kind: str, row: dict[str, Any], detail: str) -> None:
        """Count one difference."""
        self.counts[kind] += 1
        self.rows.append((kind, row, detail))


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Read recorded verdicts, gzipped or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield _flat(row) if "case" in row and "result" in row else row


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Bring a row that keeps case and result apart into the recorded form."""
    return {"kind": "own", "env": {}, **row["case"], **row["result"]}


def case_of(row: dict[str, Any], version: str, models: Path) -> dict[str, Any]:
    """Make the case of a recorded row; models that have no folder are the catalogue's."""

    def path(name: str) -> str:
        return str(models / name) if (models / name).exists() else name

    args = [path(arg[1:]) if arg.startswith("@") else arg for arg in row["args"]]
    model = row.get("model")
    if model is not None:
        args = ["--model-path", path(model), *args]
    return {
        "id": row["id"],
        "engine_version": version,
        "model": None,  # it is in the args, or nowhere
        "gpu": row["gpu"],
        "gpu_count": 8,
        "flashinfer": row["flashinfer"],
        "args": args,
        "env": row.get("env") or {},
    }


def refusal(report: Report) -> Finding | None:
    """Give the finding at which the engine would stop."""
    for finding in report.findings:
        if finding.engine_stops_here:
            return finding
    errors = [f for f in report.findings if f.level == "error" and f.phase in START_UP_PHASES]
    return errors[0] if errors else None


def excepted(version: str, stop: Finding) -> bool:
    """Tell whether the recorded verdict is known not to be the engine's where this rule fires."""
    return any(
        version in one["versions"]
        and stop.id in one["rules"]
        and any(fact.startswith(f"{one.get('about', '')}") for fact in stop.because or ("",))
        for one in EXCEPTIONS
    )


def compare(tally: Tally, row: dict[str, Any], report: Report) -> None:
    """Count how one report differs from the recorded verdict."""
    if row["verdict"] not in {"ok", "error"}:
        return
    tally.cases += 1
    stop = refusal(report)
    if stop is not None and excepted(tally.version, stop):
        return
    if row["verdict"] == "error":
        if stop is None:
            # A guard that waits for a fact of the host is shown beside whatever fails after start-up.
            needs = sorted({need for one in report.undecided if one.level == "error" for need in one.needs})
            waits = any(one.level == "error" and one.phase in START_UP_PHASES for one in report.undecided)
            kind = "undecided" if waits or report.verdict == "unknown" else "false OK"
            tally.add(kind, row, f"{_told(row)}  needs {needs}" if kind == "undecided" else _told(row))
        elif not same_reason(row, stop, tally.version):
            tally.add("wrong reason", row, f"{_told(row)} <> {stop.id} {stop.message[:100]}")
        return
    if stop is not None:
        tally.add("false alarm", row, f"{stop.id} {stop.message[:120]}")
        return
    if report.verdict == "unknown":
        waiting = [f"{one.rule}({','.join(one.needs)})" for one in report.undecided if one.level == "error"]
        tally.add("undecided", row, " ".join(waiting[:4]))
    for name, expected, found in differing(row, report):
        # Where a fact of the host is not known (AMX on a CPU), several values are left.
        kind = "undecided" if str(found).startswith("one of ") else "wrong value"
        tally.add(kind, row, f"{name}: engine {expected!r}, ours {found!r}")


def differing(row: dict[str, Any], report: Report) -> Iterator[tuple[str, object, object]]:
    """Yield each resolved value that differs."""
    for name, expected in (row.get("resolved") or {}).items():
        one = report.resolved.get(name)
        if one is not None and one.value != expected:
            yield name, expected, one.value
    for name, expected in zip(_BACKENDS, row.get("backends") or (), strict=False):
        one = report.resolved.get(name)
        if one is not None and one.value != expected:
            yield name, expected, one.value


def same_reason(row: dict[str, Any], stop: Finding, version: str) -> bool:
    """Tell whether the rule is about the guard that fired: its file, its function, its message."""
    if row.get("stage") == "parse" and row.get("exc_type") == "SystemExit":
        # The recorded text is cut short, and newer Pythons quote choices differently.
        said = (row.get("message") or "").partition("error: ")[2]
        ours, theirs = (_bare(without_folders(text)) for text in (stop.engine_message or "", said))
        return stop.phase == "argparse" and bool(ours) and _same_words(ours, theirs)
    step = next((s for s in load_program("sglang", version).program.steps if s.id == stop.id), None)
    return step is not None and same_guard(row, step, version)


def _same_words(ours: str, theirs: str) -> bool:
    if ours.startswith(theirs) or theirs.startswith(ours):
        return True
    # Some versions keep choices in sets, which print in any order; the last one may be cut.
    our_head, _, our_choices = ours.partition("(choosefrom")
    their_head, _, their_choices = theirs.partition("(choosefrom")
    listed = their_choices.rstrip(")").split(",")
    return our_head == their_head and {*listed[:-1]} <= {*our_choices.rstrip(")").split(",")}


def _bare(text: str) -> str:
    return re.sub(r"['\"\s]", "", text)


def _told(row: dict[str, Any]) -> str:
    where = (row.get("where") or "").replace("sglang/srt/", "")
    return f"{row['stage']} {row['exc_type']} {where}: {(row['message'] or '')[:140]}"


def replay(version: str, rows: Iterable[dict[str, Any]], models: Path) -> Tally:
    """Check every recorded row of a version."""
    tally = Tally(version)
    cases = Cases()
    for row in rows:
        compare(tally, row, cases.report(case_of(row, version, models)))
    return tally


def table(tallies: Iterable[Tally]) -> str:
    """Lay the counts out as a table."""
    lines = ["version        cases  " + "  ".join(kind.rjust(12) for kind in KINDS)]
    lines.extend(
        f"{one.version:13}  {one.cases:5}  " + "  ".join(str(one.counts[kind]).rjust(12) for kind in KINDS)
        for one in tallies
    )
    return "\n".join(lines)


def main() -> int:
    """Print the table and the differing cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="recorded verdicts (default: those in tests/conformance)"
    )
    parser.add_argument("--version", action="append", help="only this engine version; repeatable")
    parser.add_argument("--models", type=Path, default=RECORDED / "models")
    parser.add_argument("--show", type=int, default=25, metavar="N", help="differing cases to show")
    parser.add_argument("--kind", action="append", choices=KINDS, help="show only these kinds")
    parser.add_argument("--match", default="", help="show only differences whose text contains this")
    parser.add_argument("--as-version", help="engine version of files whose name does not begin with it")
    given = parser.parse_args()
    files = given.files or sorted((RECORDED / "recorded").glob("*.jsonl.gz"))
    tallies = []
    for path in files:
        version = given.as_version or re.match(r"\d+(\.\d+)*", path.name)[0]  # type: ignore[index]  # named so
        if not given.version or version in given.version:
            tallies.append(replay(version, rows_of(path), given.models))
    print(table(tallies))
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for tally in tallies:
        for kind, row, detail in tally.rows:
            if (not given.kind or kind in given.kind) and given.match in detail:
                groups.setdefault((tally.version, kind, detail), []).append(row)
    for (version, kind, detail), rows in sorted(groups.items(), key=lambda item: -len(item[1]))[: given.show]:
        row = rows[0]
        print(
            f"\n{len(rows)}x {version} {kind}: {detail}\n"
            f"   {row['id']} {row['model']} {row['gpu']} fi={row['flashinfer']} "
            f"{' '.join(row['args'])} {row.get('env') or ''}"
        )
    return 1 if any(tally.rows for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
