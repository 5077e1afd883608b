"""What another engine version changes for one launch line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.engines import ArgumentProblem, Grammar
from mlacheck.engines.spelling import suggest
from mlacheck.frozen import frozen
from mlacheck.line import arguments_of
from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.engines import Option
    from mlacheck.evaluation import Evaluation, Outcome
    from mlacheck.finding import Finding, Report
    from mlacheck.launch.command import LaunchCommand


@frozen
class Changed:
    """A value before and after."""

    name: str
    old: object
    new: object
    why: str = ""
    dest: str = ""


@frozen
class FlagChange:
    """What happens to a flag of the line: gone, renamed, deprecated, other choices or another meaning."""

    flag: str
    kind: str
    text: str


@frozen
class Comparison:
    """One line under two engine versions."""

    old: Report
    new: Report
    gone: tuple[Finding, ...]
    fresh: tuple[Finding, ...]
    values: tuple[Changed, ...]
    flags: tuple[FlagChange, ...]
    defaults: tuple[Changed, ...]

    @property
    def kept(self) -> tuple[Finding, ...]:
        """Give what the new version finds and the old one does too."""
        fresh = {one.id for one in self.fresh}
        return tuple(one for one in self.new.findings if one.id not in fresh)

    @property
    def same(self) -> bool:
        """Tell whether nothing changes for this line."""
        return self.old.verdict == self.new.verdict and not (
            self.gone or self.fresh or self.values or self.flags
        )


def compare(
    command: LaunchCommand, old: Report, new: Report, evaluations: Sequence[Evaluation]
) -> Comparison:
    """Compare the reports of one command, and what the two versions make of its flags.

    `evaluations` are the new version's, by which a default is told to matter for this line.
    """
    before, after = {one.id for one in old.findings}, {one.id for one in new.findings}
    versions = str(old.engine_version), str(new.engine_version)
    grammars = [Grammar.load(command.engine, one) for one in versions]
    return Comparison(
        old,
        new,
        tuple(one for one in old.findings if one.id not in after),
        tuple(one for one in new.findings if one.id not in before),
        tuple(_values(old, new)),
        tuple(_flags(command, *grammars)),
        tuple(one for one in _defaults(command, *grammars) if _matters(one, evaluations)),
    )


def _values(old: Report, new: Report) -> Iterator[Changed]:
    for name, one in new.resolved.items():
        earlier = old.resolved.get(name)
        if earlier is not None and earlier.value != one.value:
            yield Changed(name, earlier.value, one.value, one.origin)


def _flags(command: LaunchCommand, old: Grammar, new: Grammar) -> Iterator[FlagChange]:
    given = arguments_of(command, old)
    for name, one in given.given.items():
        flag = one.canonical or one.flag
        option, later = old.flags.get(flag) or old.options[name], new.flags.get(flag)
        if later is None:
            problem = ArgumentProblem("unknown-flag", None, flag, None, "", "")
            problem = suggest(problem, new)
            meant = f"; {' or '.join(problem.suggestions)} takes its place" if problem.suggestions else ""
            text = f"{new.engine} {new.version} has no {flag}{meant}"
            yield FlagChange(flag, "gone", f"{text} ({problem.note})" if problem.note else text)
            continue
        yield from _changes(flag, option, later, given.values.get(name), new)


def _changes(flag: str, old: Option, new: Option, value: object, grammar: Grammar) -> Iterator[FlagChange]:
    if new.message is not None and old.message is None:
        yield FlagChange(flag, "gone", new.message)
    elif new.deprecated is not None and old.deprecated is None:
        instead = f": {new.deprecated} takes its place" if new.deprecated else ""
        yield FlagChange(flag, "deprecated", f"{flag} still works and is deprecated{instead}")
    if new.dest != old.dest:
        yield FlagChange(flag, "renamed", f"{flag} sets {new.dest}, no longer {old.dest}")
    if new.choices and value not in new.choices and value in old.choices:
        yield FlagChange(flag, "choice-gone", f"{grammar.engine} {grammar.version} has no {flag} {value}")
    if new.kind != old.kind:
        yield FlagChange(flag, "kind", f"{flag} takes {_takes(new)}, no longer {_takes(old)}")


def _takes(option: Option) -> str:
    return {"switch": "no value", "value": "one value", "multi": "several values"}[option.kind]


def _matters(default: Changed, evaluations: Sequence[Evaluation]) -> bool:
    """Tell whether the rules would say or resolve anything else with the earlier default."""

    def seen(evaluation: Evaluation, outcome: Outcome) -> tuple[object, ...]:
        values = (outcome.run.value(name, outcome.facts) for name in evaluation.compiled.program.resolved)
        return outcome.fired, *values

    return any(
        seen(one, one.outcome()) != seen(one, one.outcome({default.dest: default.old})) for one in evaluations
    )


def _defaults(command: LaunchCommand, old: Grammar, new: Grammar) -> Iterator[Changed]:
    """Yield defaults that the line relies on and that rules read."""
    given = arguments_of(command, old).given
    reads = load_program(new.engine, new.version).program.reads
    for name, value in new.defaults.items():
        if name in old.defaults and name not in given and name in reads and old.defaults[name] != value:
            yield Changed(new.options[name].flag, old.defaults[name], value, dest=name)
