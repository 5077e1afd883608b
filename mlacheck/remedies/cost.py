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
        self._known: dict[tuple[str, str], tuple[float, float]] = {}

    def words(self, after: Outcome) -> str:
        """Say what becomes of what the line asks for."""
        return "; ".join(
            text.format(old=show(old), new=show(new))
            for _, text, old, new in self._differences(after)
            if text
        )

    def dropped(self, name: str, value: str) -> tuple[float, str]:
        """Weigh an argument that is left out before the line can be read, and say that it goes."""
        keep = self._keeps.get(name)
        if keep is None or any(value == str(one) for one in keep.gone):
            return 0, ""
        return keep.weight, (keep.lost or "").format(old=value)

    def loss(self, edits: Edits, after: Outcome, new_warnings: int) -> float:
        """Weigh a corrected line; less is better."""
        lost = sum(weight for weight, _, _, _ in self._differences(after))
        changes = sum([self._alone(name, value)[0] for name, value in edits.items()])
        return lost + changes - self._together(edits) + _WARNING * new_warnings

    def guess(self, edits: Edits) -> float:
        """Weigh edits by themselves, before anything is evaluated."""
        return sum([sum(self._alone(name, value)) for name, value in edits.items()]) - self._together(edits)

    def _together(self, edits: Edits) -> float:
        """Weigh what goes along with another change, which is none of its own."""
        if len(edits) < 2:
            return 0
        along = {one for name in edits for one in self.preferences.companions.get(name, ())}
        return _CHANGE * len(along & edits.keys())

    def _alone(self, name: str, value: object) -> tuple[float, float]:
        """Weigh one change: as a change, and what it is guessed to give up."""
        key = (name, repr(value))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (self._change(name, value), self._loss(name, value))
        return known

    def _change(self, name: str, value: object) -> float:
        """Prefer a spelling put right, which gives nothing up, and values that the data name first."""
        levers = self.preferences.levers.get(name, ())
        right = meant_by(self.before.facts.get(name), levers) == value
        rank = levers.index(value) if value in levers else 0
        return (-_CHANGE if right else _CHANGE) + rank * 0.1

    def _loss(self, name: str, value: object) -> float:
        keep = self._keeps.get(name)
        if keep is None:
            return 0.0
        gone = value == UNSET or any(value == one for one in keep.gone)
        return (keep.weight if gone else keep.change) * _CAUTION

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
