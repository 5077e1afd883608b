"""Writes what share of an engine's start-up guards the rules model, and which they do not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mlacheck.report.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mlacheck.ruleset.coverage import Coverage
    from mlacheck.ruleset.guards import Guard


def as_json(coverage: Coverage, flags: Mapping[str, str]) -> str:
    """Write it as one JSON object."""
    rows = [_row(guard, coverage, flags) for guard in coverage.guards]
    named = sum(bool(row["rules"]) for row in rows)
    return json.dumps(
        {
            "schema_version": 1,
            "engine": {"name": coverage.engine, "version": coverage.version},
            "guards": len(rows),
            "modelled": named,
            "share": round(named / len(rows), 4) if rows else None,
            "areas": [
                {"phase": phase, "area": area, "guards": total, "modelled": count}
                for phase, area, total, count in coverage.table()
            ],
            "modelled_guards": [row for row in rows if row["rules"]],
            "unmodelled_guards": [row for row in rows if not row["rules"]],
            "rules_about_crashes": coverage.crashes,
            "rules_without_a_listed_guard": coverage.unplaced,
            "out_of_scope": dict(coverage.left_out),
        },
        indent=1,
    )


def _row(guard: Guard, coverage: Coverage, flags: Mapping[str, str]) -> dict[str, object]:
    row: dict[str, object] = {
        "key": guard.key,
        "file": guard.file,
        "symbol": guard.symbol,
        "kind": guard.kind,
        "says": guard.says,
        "phase": guard.phase,
        "area": guard.area,
        "flags": [flags[name] for name in guard.reads if name in flags],
        "rules": coverage.rules[guard.key],
    }
    if guard.backends:
        row["backends"] = guard.backends
    return row


def as_text(coverage: Coverage, flags: Mapping[str, str], *, listed: bool = True) -> str:
    """Write it for people: the table, then, `listed`, each guard that no rule models."""
    return "\n".join((*_table(coverage), *(_unmodelled(coverage, flags) if listed else ())))


def _table(coverage: Coverage) -> Iterator[str]:
    total = named = 0
    yield f"start-up guards of {coverage.engine} {coverage.version}"
    yield "phase            area                 guards  modelled  share"
    for phase, area, guards, modelled in coverage.table():
        total, named = total + guards, named + modelled
        yield f"{phase:15}  {area:20} {guards:6}  {modelled:8}  {100 * modelled // guards:4}%"
    if total:
        yield f"{'all':15}  {'':20} {total:6}  {named:8}  {100 * named // total:4}%"
    for why, count in coverage.left_out.items():
        yield f"out of scope: {counted(count, 'guard')}: {why}"
    yield f"rules beside these: {len(coverage.crashes)} about crashes in the engine's own code"
    if coverage.unplaced:
        yield f"rules whose guard is not listed: {', '.join(coverage.unplaced)}"


def _unmodelled(coverage: Coverage, flags: Mapping[str, str]) -> Iterator[str]:
    place = ""
    for guard in coverage.guards:
        if coverage.rules[guard.key]:
            continue
        here = f"{guard.phase}, {guard.area}: {guard.file}::{guard.symbol}"
        if here != place:
            place = here
            yield f"\n{here}" + (f" (backend {', '.join(guard.backends)})" if guard.backends else "")
        reads = ", ".join(flags[name] for name in guard.reads if name in flags)
        yield f"  {guard.kind}: {guard.says or '(no message)'}" + (f"  [{reads}]" if reads else "")
