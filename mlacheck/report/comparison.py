"""A comparison of two engine versions, for a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlacheck.frozen import as_dict
from mlacheck.report.json_ import to_dict as report_dict
from mlacheck.report.layout import wrap, wrap_command
from mlacheck.ruleset.machine import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mlacheck.comparison import Comparison
    from mlacheck.finding import Finding


def text_lines(one: Comparison, width: int) -> Iterator[str]:
    """Lay a comparison out."""
    old, new = one.old, one.new
    yield f"{old.engine} {old.engine_version} to {new.engine_version}"
    yield from wrap_command(old.command, width, "  ")
    yield ""
    yield f"  verdict:     {_moved(old.verdict, new.verdict)}"
    yield f"  FlashInfer:  {_moved(show(old.target.get('flashinfer')), show(new.target.get('flashinfer')))}"
    if one.flags:
        yield from ("", "  flags of this line:")
        for flag in one.flags:
            yield from wrap(f"{flag.kind}: {flag.text}", width, "    ", "      ")
    yield from _findings("new:", one.fresh, width)
    yield from _findings("gone:", one.gone, width)
    yield from _findings("on both:", one.kept, width)
    if one.values:
        yield from ("", "  would run:")
        for value in one.values:
            text = f"{value.name}: {show(value.old)} becomes {show(value.new)} ({value.why})"
            yield from wrap(text, width, "    ", "      ")
    if one.defaults:
        yield from ("", "  defaults that this line relies on:")
        for value in one.defaults:
            text = f"{value.name}: {show(value.old)} becomes {show(value.new)}"
            yield from wrap(text, width, "    ", "      ")
    shown: set[str] = set()
    for remedy in (remedy for finding in new.findings for remedy in finding.remedies):
        if remedy.command and remedy.command not in shown:
            if not shown:
                yield from ("", f"  lines that pass on {new.engine_version}:")
            shown.add(remedy.command)
            yield from wrap(remedy.text, width, "    ", "      ")
            yield from wrap_command(remedy.command, width, "      ")
    if one.same:
        yield from ("", "  nothing changes for this line that the rules know")


def _moved(old: str, new: str) -> str:
    return old if old == new else f"{old} becomes {new}"


def _findings(heading: str, findings: Iterable[Finding], width: int) -> Iterator[str]:
    for number, one in enumerate(findings):
        if not number:
            yield from ("", f"  {heading}")
        yield from wrap(f"{one.level}[{one.id}] {one.message}", width, "    ", "      ")


def to_dict(one: Comparison) -> dict[str, Any]:
    """Give a comparison as plain data."""
    return {
        "schema_version": 1,
        "same": one.same,
        "old": report_dict(one.old),
        "new": report_dict(one.new),
        "gone": [finding.id for finding in one.gone],
        "fresh": [finding.id for finding in one.fresh],
        "values": [as_dict(value) for value in one.values],
        "flags": [as_dict(flag) for flag in one.flags],
        "defaults": [as_dict(value) for value in one.defaults],
    }
