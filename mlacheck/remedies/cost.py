"""What a corrected line keeps and what it gives up, from the difference of what the engine would run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.facts import is_known
from mlacheck.remedies.candidates import meant_by
from mlacheck.ruleset.machine import show
from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.evaluation import Edits, Outcome
    from mlacheck.remedies.preference import Keep, Preferences

# Beside losses: each change is a change, and a warning that the line did not have is worse than one.
_CHANGE: Final = 3.0
_WARNING: Final = 10.0
# A loss may turn out to be none (the default can be what the line had), and most dear losses do mend a line.
_CAUTION: Final = 0.25


class Costs:
    """Compares corrected lines with the line that was asked for."""

    def __init__(self, preferences: Preferences, before: Outcome) -> None:
        self.preferences, self.before = preferences, before
        self._keeps = {keep.fact: keep for keep in preferences.keeps}

    def words(self, after: Outcome) -> str:
        """Say what becomes of what the line asks for."""
        return "; ".join(
            text.format(old=show(old), new=show(new))
            for _, text, old, new in self._differences(after)
            if text
        )

    def loss(self, edits: Edits, after: Outcome, new_warnings: int) -> float:
        """Weigh a corrected line; less is better."""
        lost = sum(weight for weight, _, _, _ in self._differences(after))
        return lost + self._changes(edits) + _WARNING * new_warnings + self._rank(edits)

    def guess(self, edits: Edits) -> float:
        """Weigh edits by themselves, before anything is evaluated."""
        total = self._changes(edits) + self._rank(edits)
        for name, value in edits.items():
            keep = self._keeps.get(name)
            if keep is not None:
                gone = value == UNSET or any(value == one for one in keep.gone)
                total += (keep.weight if gone else keep.change) * _CAUTION
        return total

    def _changes(self, edits: Edits) -> float:
        """Count changes: what goes along is none of its own, and a spelling put right gives nothing up."""
        along = {one for name in edits for one in self.preferences.companions.get(name, ())}
        levers, facts = self.preferences.levers, self.before.facts
        right = [name for name in edits if meant_by(facts.get(name), levers.get(name, ())) == edits[name]]
        return _CHANGE * (len(set(edits) - along) - 2 * len(right))

    def _rank(self, edits: Edits) -> float:
        """Prefer, among values of one argument, those that the data name first."""
        levers = self.preferences.levers
        return sum(
            levers[name].index(value) * 0.1
            for name, value in edits.items()
            if name in levers and value in levers[name]
        )

    def _differences(self, after: Outcome) -> Iterator[tuple[float, str | None, object, object]]:
        on = {keep.fact: _is_on(keep, self._old(keep.fact)) for keep in self.preferences.keeps}
        gone = {
            keep.fact
            for keep in self.preferences.keeps
            if on[keep.fact] and not _is_on(keep, after.run.value(keep.fact, after.facts))
        }
        for keep in self.preferences.keeps:
            old, new = self._old(keep.fact), after.run.value(keep.fact, after.facts)
            if not is_known(old) or not is_known(new):
                continue
            if keep.when is not None and (not on.get(keep.when) or keep.when in gone):
                continue
            if not keep.gone:
                if old == new:
                    yield 0, keep.kept, old, new
                elif old is not None:
                    yield (
                        keep.change,
                        None if self._follows(keep, old, new, after) else keep.changed,
                        old,
                        new,
                    )
            elif not on[keep.fact]:
                if keep.fact not in gone and _is_on(keep, new):
                    yield keep.change, keep.added, old, new
            elif keep.fact in gone:
                yield keep.weight, keep.lost, old, new
            else:
                yield (0, keep.kept, old, new) if old == new else (keep.change, keep.changed, old, new)

    def _follows(self, keep: Keep, old: object, new: object, after: Outcome) -> bool:
        """Tell whether this one only moves along with another."""
        if keep.like is None:
            return False
        return (old, new) == (self._old(keep.like), after.run.value(keep.like, after.facts))

    def _old(self, fact: str) -> object:
        return self.before.run.value(fact, self.before.facts)


def _is_on(keep: Keep, value: object) -> bool:
    return is_known(value) and not any(type(value) is type(one) and value == one for one in keep.gone)
