"""What helps against an accident: the engine's advice for that version, with the values of this launch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.engines import Grammar
from mlacheck.probes.engine import recorded_versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.diagnosis.log import Log
    from mlacheck.diagnosis.signs import Advice
    from mlacheck.finding import Report

_FLAG: Final = re.compile(r"--[a-z][a-z0-9-]*")


def fixes(advice: Advice, log: Log, fit: Sequence[str], report: Report | None) -> Iterator[str]:
    """Give what helps, without what these versions have no flag for."""
    known = recorded_versions(log.engine)
    grammars = [Grammar.load(log.engine, one) for one in fit if one in known] or [
        Grammar.load(log.engine, known[-1])
    ]
    for text in advice.fixes:
        flags = _FLAG.findall(text)
        if all(flag in grammar.flags for flag in flags for grammar in grammars):
            yield _told(text, flags, grammars[-1], log, report)


def _told(text: str, flags: Sequence[str], grammar: Grammar, log: Log, report: Report | None) -> str:
    """Add the value that the first flag has in this launch."""
    if not flags:
        return text
    dest = grammar.flags[flags[0]].dest
    value = (log.arguments or {}).get(dest)
    if value is None and report is not None and dest in report.resolved:
        value = report.resolved[dest].value
    return text if value is None else text.replace(flags[0], f"{flags[0]} ({value} here)", 1)
