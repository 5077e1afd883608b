"""What a check says about one launch command."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from mlacheck.frozen import frozen

LEVELS: Final = ("info", "warning", "error")

# Phases in which the engine itself refuses to start; in the others it boots and then dies or decodes wrongly.
START_UP_PHASES: Final = ("argparse", "resolve", "topology", "environment", "backend-factory", "backend-init")


@frozen
class Location:
    """A 1-based place in the text that was checked."""

    line: int
    column: int


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


@frozen
class Undecided:
    """A rule that could not be decided, and the facts that would decide it."""

    rule: str
    title: str
    level: str
    needs: tuple[str, ...]


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
