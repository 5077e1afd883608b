"""Runs a compiled program over facts: what the engine would set, in its order, and what it would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mlacheck.facts import UNKNOWN, Possible, is_known, one_of
from mlacheck.frozen import field, frozen, record
from mlacheck.ruleset.expression import UNDECIDABLE
from mlacheck.ruleset.interpreter import Moment, evaluate
from mlacheck.ruleset.program import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.ruleset.awake import Awake
    from mlacheck.ruleset.expression import Scope
    from mlacheck.ruleset.memory import Memory
    from mlacheck.ruleset.program import Program, Step


class Runner(Protocol):
    """The generated function of a program."""

    def __call__(self, f: dict[str, object], h: Run, /) -> None:
        """Run all rules over facts `f`, telling `h` what fired."""


@frozen
class Hit:
    """A rule that fired, with its message filled in from the facts as they were then."""

    step: int
    message: str
    values: tuple[tuple[str, object], ...]
    # What rules had set when this one fired, and which.
    facts: dict[str, object] = field(default_factory=dict)
    setters: dict[str, tuple[int, int]] = field(default_factory=dict)


@record
class Run:
    """One pass of a program over one set of facts."""

    program: Program
    scope: Scope
    memory: Memory[int]
    awake: Awake  # told of every fact that a rule sets
    # Whether hits say what they saw; who only asks which rules fire need not know.
    told: bool = True
    setters: dict[str, tuple[int, int]] = field(default_factory=dict)  # fact -> (step, arm) that set it last
    hits: list[Hit] = field(default_factory=list)
    undecided: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    _moment: Moment | None = None

    def find(self, index: int, f: dict[str, object]) -> None:
        """Record that a rule fired."""
        if self.told:
            step = self.program.steps[index]
            then = {name: f[name] for name in self.setters}
            self.hits.append(
                Hit(index, self._message(step, f), self._values(step, f), then, self.setters.copy())
            )
        else:
            self.hits.append(Hit(index, "", ()))

    def slow_find(self, index: int, f: dict[str, object]) -> None:
        """Decide a rule whose fast form met an unknown value."""
        step = self.program.steps[index]
        decided, needs = self.memory.recall(index, f, lambda: _decide(step, self._now(f)))
        if decided:
            self.find(index, f)
        elif decided is None:
            self.undecided.append((index, needs))

    def assign(
        self,
        setter: tuple[int, int],
        f: dict[str, object],
        names: tuple[str, ...],
        values: tuple[object, ...],
    ) -> bool:
        """Set facts, remembering which rule did it; tell whether one changed."""
        changed = False
        for name, value in zip(names, values, strict=True):
            old = f[name]
            if type(old) is type(value) and is_known(value) and old == value:
                continue
            f[name] = value
            self.awake.tell(name, value)
            self.setters[name] = setter
            self._moment = None
            changed = True
        return changed

    def slow_set(self, index: int, f: dict[str, object]) -> None:
        """Apply a `set` rule whose conditions or values could not all be decided."""
        step = self.program.steps[index]
        choice = self.memory.recall(index, f, lambda: _choose(step, self._now(f)))
        if choice is None:
            return
        if choice.certain:
            values = choice.values
            if self.assign((index, choice.arm), f, tuple(values), tuple(values.values())) and step.message:
                self.find(index, f)
            return
        f.update(choice.values)
        for name, value in choice.values.items():
            self.awake.tell(name, value)
        self._moment = None
        self.setters.update(dict.fromkeys(choice.values, (index, choice.arm)))

    def _now(self, f: dict[str, object]) -> Moment:
        """Give the facts as they are until the next rule changes one."""
        if self._moment is None:
            self._moment = Moment(f, self.scope)
        return self._moment

    def _message(self, step: Step, f: dict[str, object]) -> str:
        return PLACEHOLDER.sub(lambda match: told(self.value(match[1], f)), step.message)

    def _values(self, step: Step, f: dict[str, object]) -> tuple[tuple[str, object], ...]:
        if step.when is None:
            return ()
        names = self.scope.names(step.when)
        return tuple((name, self.value(name, f)) for name in names if name not in self.scope.tables)

    def value(self, name: str, f: Mapping[str, object]) -> object:
        """Read a fact, derived ones too."""
        text = self.scope.derives.get(name)
        if text is None:
            return f.get(name, UNKNOWN)
        try:
            return self.scope.derive(name, f)
        except UNDECIDABLE:
            return evaluate(text, f, self.scope)


@frozen
class _Choice:
    """What a `set` rule comes to: an arm and its values, each one of several where that is not certain."""

    arm: int
    values: dict[str, object]
    certain: bool


def _decide(step: Step, now: Moment) -> tuple[bool | None, tuple[str, ...]]:
    """Decide a rule's condition; where that cannot be done, name the unknown facts that it reads."""
    text = step.when or "True"
    decided = now.decide(text)
    if decided is not None:
        return decided, ()
    return None, tuple(name for name in now.scope.inputs(text) if not is_known(now.facts.get(name, UNKNOWN)))


def _choose(step: Step, now: Moment) -> _Choice | None:
    """Find the arms of a `set` rule that may apply, and what its facts may be then."""
    outer = True if step.when is None else now.decide(step.when)
    if outer is False:
        return None
    facts = now.facts
    applied: list[tuple[int, dict[str, object]]] = []
    certain = False
    for number, arm in enumerate(step.arms):
        decided = True if arm.when is None else now.decide(arm.when)
        if decided is False:
            continue
        values = {
            fact: now.evaluate(value) if is_expression else value
            for fact, is_expression, value in arm.targets
        }
        applied.append((number, values))
        if decided:
            certain = True
            break
    if not applied:
        return None
    if outer and certain and len(applied) == 1:
        return _Choice(*applied[0], certain=True)
    unchanged = not (outer and certain)
    merged = {}
    for fact in dict.fromkeys(fact for _, values in applied for fact in values):
        options = [values.get(fact, facts[fact]) for _, values in applied]
        if unchanged:
            options.append(facts[fact])
        merged[fact] = one_of(options)
    return _Choice(applied[0][0], merged, certain=False)


def told(value: object) -> str:
    """Write a fact's value inside a sentence."""
    return "none" if value is None else show(value)


def show(value: object) -> str:
    """Write a fact's value as a person would."""
    if value is None:
        return "unset"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, tuple | list | set | frozenset):
        return ", ".join(map(str, sorted(value, key=str)))
    if value is UNKNOWN:
        return "unknown"
    return str(value) if not isinstance(value, Possible) else repr(value)
