"""How much of an engine version's start-up the rules model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mlacheck.finding import START_UP_PHASES
from mlacheck.frozen import frozen, replace
from mlacheck.ruleset.guards import Guard, guards, inventory, modelled
from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class Coverage:
    """The start-up guards of one version, each with the rules that name it."""

    engine: str
    version: str
    guards: tuple[Guard, ...]
    rules: Mapping[str, tuple[str, ...]]
    # Refusals by rules that quote Python or a library, not a guard; and those whose guard is not listed.
    crashes: tuple[str, ...]
    unplaced: tuple[str, ...]
    # How many guards are not listed, by the reason.
    left_out: Mapping[str, int]

    @staticmethod
    def of(engine: str, version: str) -> Coverage:
        """Compare a version's rules with its guards."""
        listed = guards(engine, version)
        steps = load_program(engine, version).program.steps
        rules = modelled(steps, listed)
        # A rule can be about what no line should meet; only where none is, the reason speaks for itself.
        found = tuple(one for one in listed if rules[one.key] or not one.why)
        left_out = Counter(inventory(engine).get("left_out", {}).get(version, {}))
        left_out.update(one.why for one in listed if one.why and not rules[one.key])
        named = {name for names in rules.values() for name in names}
        refusing = [step for step in steps if step.level == "error" and step.phase in START_UP_PHASES]
        crashes = {step.id for step in refusing if step.id and step.crash}
        unplaced = {step.id for step in refusing if step.id and not step.crash and step.id not in named}
        return Coverage(
            engine,
            version,
            found,
            rules,
            tuple(sorted(crashes)),
            tuple(sorted(unplaced)),
            dict(sorted(left_out.items())),
        )

    @property
    def areas(self) -> tuple[str, ...]:
        """Name the areas, in the order in which the engine comes to them."""
        return tuple(dict.fromkeys(guard.area for guard in self.guards))

    def of_flag(self, dest: str | None) -> Coverage:
        """Keep the guards that read an argument."""
        if dest is None:
            return self
        return replace(self, guards=tuple(one for one in self.guards if dest in one.reads))

    def of_area(self, area: str | None) -> Coverage:
        """Keep the guards of an area."""
        if area is None:
            return self
        return replace(self, guards=tuple(one for one in self.guards if one.area == area))

    def table(self) -> list[tuple[str, str, int, int]]:
        """Count guards and modelled guards by phase and area, in the engine's order."""
        counts: dict[tuple[str, str], list[int]] = {}
        for guard in self.guards:
            row = counts.setdefault((guard.phase, guard.area), [0, 0])
            row[0] += 1
            row[1] += bool(self.rules[guard.key])
        ordered = sorted(counts.items(), key=lambda item: START_UP_PHASES.index(item[0][0]))
        return [(phase, area, total, named) for (phase, area), (total, named) in ordered]
