"""One engine version's rules as plain data, in the engine's order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import field, frozen
from mlacheck.ruleset.expression import Declaration, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.ruleset.guards import Unmodelled

PLACEHOLDER: Final = re.compile(r"\{([a-z_][A-Za-z0-9_.]*)\}")
UNSET: Final = "unset"


@frozen
class Arm:
    """One arm of a `set` rule: under `when`, each target gets a literal or the value of an expression."""

    when: str | None
    title: str
    targets: tuple[tuple[str, bool, Any], ...]  # (fact, is an expression, text or literal)


@frozen
class Step:
    """One rule in scope of a version."""

    kind: str  # find | set
    slug: str
    title: str
    id: str | None = None
    when: str | None = None
    arms: tuple[Arm, ...] = ()
    level: str | None = None
    phase: str = ""
    message: str = ""
    engine_says: tuple[str, ...] = ()
    crash: bool = False
    source: str = ""
    explain: str = ""
    confirm: str = ""
    known_only: bool = False  # without the values that it asks for it keeps still
    evidence: tuple[str, ...] = ()
    remedies: tuple[dict[str, Any], ...] = ()
    file: str = ""
    line: int = 0

    @property
    def conditions(self) -> Iterator[str]:
        """Yield the expressions that decide whether it fires, or which arm applies."""
        if self.when is not None:
            yield self.when
        yield from (arm.when for arm in self.arms if arm.when is not None)

    @property
    def values(self) -> Iterator[str]:
        """Yield the expressions whose values it sets facts to."""
        for arm in self.arms:
            yield from (value for _, is_expression, value in arm.targets if is_expression)

    @property
    def targets(self) -> Iterator[str]:
        """Yield the facts that it may set."""
        for arm in self.arms:
            yield from (fact for fact, _, _ in arm.targets)


@frozen
class Program:
    """All rules of one engine version, in order, and the names they use."""

    engine: str
    version: str
    declarations: dict[str, Declaration]
    defaults: dict[str, Any]
    derives: dict[str, str]
    tables: dict[str, Any]
    steps: Sequence[Step]
    model: str  # the argument that names the model
    draft: str  # an expression for the draft model's name
    overrides: str = "None"  # an expression for what the line changes in the models' configs, JSON
    overrides_keep: str = "[]"  # an expression for the parts of a config that keep what overrides do not name
    resolved: tuple[str, ...] = ()
    about: tuple[str, ...] = ()  # facts by whose values the inventory's guards say what they are about
    worlds: tuple[dict[str, Any], ...] = ()
    # Facts that some rule reads, and arguments declared to matter to none.
    reads: frozenset[str] = frozenset()
    inert: frozenset[str] = frozenset()

    # Arguments that the parser lets through, and the number of the step where they are read.
    read_at: dict[str, int] = field(default_factory=dict)
    # Derived facts that no rule can change, in the order in which they can be computed.
    settled: tuple[str, ...] = ()
    # Arguments of other recorded versions that this one does not have.
    absent: frozenset[str] = frozenset()
    # Start-up guards that no rule names, counted by what makes them concern a line.
    unmodelled: Unmodelled = field(default_factory=dict)

    def scope(self) -> Scope:
        """Give the names that this program's expressions use."""
        return Scope(self.declarations, self.derives, self.tables, settled=self.settled, absent=self.absent)
