"""What a check says about one launch command."""

from __future__ import annotations

from typing import Final

from mlacheck.frozen import field, frozen, replace

LEVELS: Final = ("info", "warning", "error")

# Phases in which the engine itself refuses to start; in the others it boots and then dies or decodes wrongly.
START_UP_PHASES: Final = ("argparse", "resolve", "topology", "environment", "backend-factory", "backend-init")

# All phases, in the order in which they bite.
PHASES: Final = (*START_UP_PHASES, "first-decode", "silent")

# States of a decode row with which decode is not what the line asks for.
BAD_DECODE: Final = frozenset({"fails", "wrong", "unsupported by the kernel"})
# Origin of a resolved value that too much is open for.
NOT_KNOWN: Final = "not known"


@frozen
class Location:
    """A 1-based place in the text that was checked."""

    line: int
    column: int
    # Another file than the report's: one that the command names.
    file: str | None = None


@frozen
class Remedy:
    """One way out: `kind` is edit, upgrade, hardware or none; an edit carries the corrected command."""

    kind: str
    text: str
    command: str | None = None
    edits: dict[str, object] = field(default_factory=dict)
    cost: str | None = None


@frozen
class Finding:
    """One thing that is wrong, or worth knowing, with the values that show it."""

    id: str
    slug: str
    level: str
    phase: str
    message: str
    because: tuple[str, ...] = ()
    location: Location | None = None
    engine_stops_here: bool = False
    engine_message: str | None = None
    extrapolated: bool = False
    suppressed: bool = False
    remedies: tuple[Remedy, ...] = ()
    source: str | None = None
    evidence: tuple[str, ...] = ()
    confirm: str | None = None
    # The rule in general, for those who meet it first in this finding.
    title: str = ""
    explain: str = ""
    # What silenced it: comment, option or baseline; and the reason that was given.
    suppressed_by: str | None = None
    suppressed_reason: str | None = None


@frozen
class Undecided:
    """A rule that could not be decided, and the facts that would decide it."""

    rule: str
    title: str
    level: str
    needs: tuple[str, ...]
    slug: str = ""
    phase: str = ""


@frozen
class Resolved:
    """The final value of one engine argument or derived fact, and which flag, default or override set it."""

    value: object
    origin: str


@frozen
class Problem:
    """Something about the input that kept part of it from being read."""

    kind: str
    message: str
    hint: str
    location: Location | None = None


@frozen
class Report:
    """Everything said about one launch command."""

    id: object
    command: str
    file: str | None
    location: Location | None
    engine: str
    engine_version: str | None
    target: dict[str, object]
    assumptions: tuple[str, ...]
    verdict: str
    findings: tuple[Finding, ...]
    resolved: dict[str, Resolved]
    undecided: tuple[Undecided, ...]
    not_checked: tuple[str, ...]
    decode: tuple[dict[str, object], ...] = ()
    problems: tuple[Problem, ...] = ()
    # Engine and words without layout and quoting: what a baseline and fingerprints know the command by.
    normalised: str = ""
    # Without an error the verdict is unknown: something that the findings do not show is not settled.
    unsure: bool = False
    # Where the words start when that is below `location`: a script inside a manifest. 0: not below.
    words_line: int = 0
    # Where the command is better shown than at `location`: a script inside a manifest at its words.
    better: Location | None = None

    @property
    def live(self) -> tuple[Finding, ...]:
        """The findings that nothing silences."""
        return tuple(finding for finding in self.findings if not finding.suppressed)


def judged(report: Report) -> Report:
    """Give a report the verdict that its live findings, undecided rules and open ends make."""
    levels = {finding.level for finding in report.live}
    decoded = any(row.get("state") in BAD_DECODE for row in report.decode)
    if "error" in levels or decoded:
        verdict = "error"
    elif report.unsure or any(one.level == "error" for one in report.undecided):
        verdict = "unknown"
    else:
        verdict = "warning" if "warning" in levels else "ok"
    return report if verdict == report.verdict else replace(report, verdict=verdict)
