"""Corrected lines: searched for, written out, and checked again as lines before anybody sees them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen, replace
from mlacheck.line import Line, gpus
from mlacheck.remedies.candidates import Candidates
from mlacheck.remedies.cost import Costs
from mlacheck.remedies.preference import preferences
from mlacheck.remedies.search import MOST_CHANGES, Search, warnings
from mlacheck.remedies.write import write_edit
from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.evaluation import Edits, Evaluation
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.remedies.repair import Repair

_MOST_LINES: Final = 3
_MOST_REPAIRS: Final = 4
# How bad it is to leave out a flag that the engine does not read.
_DROPPED: Final = 5.0
# How much worse the next of several things is that a misspelt word may mean.
_FARTHER: Final = 20.0
# How bad it is when a line passes on some of the GPUs that it may run on only.
_PARTLY: Final = 100.0


@frozen
class Solution:
    """A line that passes: what to change, the command with it, and what becomes of what was asked for."""

    text: str
    command: LaunchCommand
    line: str | None  # None where what has to change is beside the line: a variable given with --env
    edits: dict[str, object]
    cost: str
    loss: float
    changes: frozenset[str] = frozenset()  # each of them, as it is told


class Advice:
    """Ways out of the errors of one line."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.preferences = preferences(line.command.engine)

    @cached_property
    def solutions(self) -> tuple[Solution, ...]:
        """Give up to three corrected lines, the one that keeps most first."""
        found = [solution for repair, line in self._readable() for solution in self._solve(repair, line)]
        found.sort(key=lambda solution: solution.loss)
        distinct: dict[object, Solution] = {}
        for solution in found:
            # One that does all that a better one does, and more, has nothing for it.
            if not any(better.changes < solution.changes for better in distinct.values()):
                made = solution.command
                same = (sorted(made.argv), sorted(made.env.items())) if solution.line else solution.text
                distinct.setdefault(repr(same), solution)
        return tuple(distinct.values())[:_MOST_LINES]

    def _readable(self) -> Iterator[tuple[Repair | None, Line]]:
        """Yield lines that the engine's parser takes: this one, or the nearest ones."""
        if not self.line.refusals:
            yield None, self.line
            return
        from mlacheck.remedies.repair import repairs  # only for words that are refused

        count = 0
        for repair in repairs(self.line, MOST_CHANGES):
            line = Line(self.line.around, repair.command, self.line.options)
            if not line.refusals:
                count += 1
                yield repair, line
            if count == _MOST_REPAIRS:
                return

    def _solve(self, repair: Repair | None, line: Line) -> Iterator[Solution]:
        worlds = line.evaluations
        dropped = [one.drops for one in repair.changes if one.drops is not None] if repair else []
        left = MOST_CHANGES - len(dropped)
        passing: list[Edits] = []
        for world in worlds:
            if not any(_passes(world, edits) for edits in passing):
                for found in self._search(line, world, left):
                    edits = self._with_companions(found, dropped, line, world)
                    passing += [edits] if edits not in passing else []
        scored = sorted(
            ((self._loss(repair, edits, worlds), number) for number, edits in enumerate(passing)),
        )
        shown = 0
        for loss, number in scored:
            solution = self._write(repair, line, passing[number], worlds, loss)
            if solution is not None:
                shown += 1
                yield solution
            if shown == _MOST_LINES:
                return

    def _with_companions(self, edits: Edits, dropped: list[str], line: Line, world: Evaluation) -> Edits:
        """Leave out, with an argument, those that say nothing without it."""
        gone = [*dropped, *(name for name, value in edits.items() if value == UNSET)]
        orphans = [one for name in gone for one in self.preferences.companions.get(name, ())]
        whole = {
            **edits,
            **{one: UNSET for one in orphans if one in line.arguments.given and one not in edits},
        }
        return whole if _passes(world, whole) else edits

    def _search(self, line: Line, world: Evaluation, most_changes: int) -> list[Edits]:
        candidates = Candidates(world, line.around.grammar, frozenset(line.arguments.given), self.preferences)
        return Search(world, candidates, Costs(self.preferences, world.outcome())).run(most_changes)

    def _loss(self, repair: Repair | None, edits: Edits, worlds: Sequence[Evaluation]) -> float:
        well = [world for world in worlds if _passes(world, edits)]
        before, after = well[0].outcome(), well[0].outcome(edits)
        new = len(warnings(well[0], after) - warnings(well[0], before))
        costs = Costs(self.preferences, before)
        total = costs.loss(edits, after, new) + _PARTLY * (len(worlds) - len(well))
        for change in repair.changes if repair else ():
            total += _FARTHER * change.rank
            if change.drops is not None:
                total += _DROPPED + costs.dropped(change.drops, change.value)[0]
        return total

    def _write(
        self, repair: Repair | None, line: Line, edits: Edits, worlds: Sequence[Evaluation], loss: float
    ) -> Solution | None:
        changes = repair.changes if repair else ()
        if any(edits.get(change.writes or "") == UNSET for change in changes):
            return None  # the line without the misspelt flag is another repair
        text, edited = write_edit(line.command, line.arguments, line.around.grammar, edits)
        beside = {name for name in line.options.env or {} if f"env.{name}" in edits}
        env = {name: value for name, value in (line.options.env or {}).items() if name not in beside}
        env |= {name: str(edits[f"env.{name}"]) for name in beside if edits[f"env.{name}"] != UNSET}
        again = Line(line.around, edited.command, replace(line.options, env=env))
        if again.refusals:
            return None
        good = [number for number, world in enumerate(again.evaluations) if _passes(world, {})]
        if not good:
            return None
        world = worlds[good[0]]
        costs = Costs(self.preferences, world.outcome())
        gone = [costs.dropped(one.drops, one.value)[1] for one in changes if one.drops]
        cost = "; ".join(filter(None, (*gone, costs.words(world.outcome(edits)))))
        if len(good) < len(worlds):
            some = f"passes on {gpus(worlds[number] for number in good)} only"
            cost = "; ".join(filter(None, (some, cost)))
        told = "; ".join(filter(None, (repair.text if repair else "", text)))
        made = frozenset(
            {f"{name}={value}" for name, value in edits.items()} | {change.text for change in changes}
        )
        same = all(name.removeprefix("env.") in beside for name in edits) and repair is None
        return Solution(told, edited.command, None if same else edited.text, dict(edits), cost, loss, made)


def _passes(world: Evaluation, edits: Edits) -> bool:
    return not world.errors(world.outcome(edits))
