"""The main job: one launch command and one target in, one report out; the only I/O is a model's config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.boundary import not_checked
from mlacheck.builtin import BROKEN, DISAGREEMENT, NO_GPU
from mlacheck.engines import Grammar
from mlacheck.facts import UNKNOWN, Possible, is_known, one_of, the_same
from mlacheck.finding import (
    NOT_KNOWN,
    PHASES,
    Finding,
    Location,
    Problem,
    Remedy,
    Report,
    Resolved,
    Undecided,
    judged,
)
from mlacheck.frozen import replace
from mlacheck.launch.quoting import quote
from mlacheck.line import Line, Options, gpus, world_fact
from mlacheck.pattern import lazy
from mlacheck.ruleset.machine import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.engines import ArgumentProblem
    from mlacheck.evaluation import Evaluation, Outcome
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.models import Models
    from mlacheck.probes.target import Target
    from mlacheck.ruleset.load import Compiled
    from mlacheck.ruleset.machine import Hit
    from mlacheck.ruleset.program import Step

# Problems that the parser tells when it has read all words.
_TOLD_LAST: Final = frozenset({"unknown-flag", "unexpected-argument", "missing-required"})
_FLAG: Final = lazy(r"--?[A-Za-z][\w.-]*")
# Facts that only a probe can supply; without one they are unknown.
_PROBED: Final = ("gpu.", "host.", "version.", "flashinfer.", "target.", "draft.")


class Checker:
    """Checks launch commands of one engine version on one target; what commands share is prepared once."""

    def __init__(self, compiled: Compiled, target: Target, models: Models) -> None:
        self.compiled, self.target, self.models = compiled, target, models
        self.engine, self.version = compiled.program.engine, compiled.program.version
        self.grammar = Grammar.load(self.engine, self.version)
        self.origins = target.origins
        self.summary = target.summary()
        self.facts: dict[str, object] = dict(compiled.program.defaults)
        for name, value in self.facts.items():
            if value is None and name.startswith(_PROBED):
                self.facts[name] = UNKNOWN
        told = target.facts().items()
        self.facts.update((name, the_same(value)) for name, value in told if name in self.facts)
        # The program's own values where they are equal: what is the same object wakes no rule.
        known = compiled.program.defaults.items()
        self.facts.update(item for item in self.grammar.defaults.items() if item not in known)

    def check(self, command: LaunchCommand, options: Options | None = None, *, id_: object = None) -> Report:
        """Check one launch command."""
        return _Check(self, command, options or Options()).report(id_)


class _Check:
    """The work on one command."""

    def __init__(self, checker: Checker, command: LaunchCommand, options: Options) -> None:
        self.checker, self.options = checker, options
        self.target, self.compiled, self.grammar = checker.target, checker.compiled, checker.grammar
        self.line = Line(checker, command, options)
        self.command = self.line.command
        self._lines: tuple[Remedy, ...] | None = None

    def report(self, id_: object) -> Report:
        findings, undecided, values = self._found()
        resolved = {name: one if is_known(one.value) else _open(one) for name, one in values.items()}
        findings = [*findings, *self.line.remarks, *self._target_findings()]
        if self.target.extrapolated:
            findings = [replace(finding, extrapolated=True) for finding in findings]
        here = (self.command.source.line, self.command.source.column)
        report = Report(
            id=id_,
            command=self.command.text,
            file=self.command.source.file,
            location=Location(*here),
            engine=self.command.engine,
            engine_version=self.target.engine_version,
            target={**self.checker.summary, "model": self.line.model.name if self.line.model else None},
            assumptions=tuple(self.line.assumptions),
            verdict="",
            findings=tuple(findings),
            resolved=resolved,
            undecided=tuple(undecided),
            not_checked=not_checked(self.compiled.program, self.line, resolved),
            problems=self._problems(),
            normalised=self._normalised(),
            unsure=self._unsure(),
            words_line=self.command.first.line if self.command.first is not None else 0,
            better=None if self.command.place == here else Location(*self.command.place),
        )
        return judged(report)

    def _found(self) -> tuple[list[Finding], list[Undecided], dict[str, Resolved]]:
        """Give what the rules say, with what the parser refuses where the engine comes to it."""
        refused = self.line.refusals
        worlds = []
        for one in self.line.evaluations:
            worlds.append(_World(one, self.line))
            if not self.line.checkable and not worlds[-1].ends_in_parser():
                return self._refused(refused, first=True), [], {}  # whatever other worlds say
        findings, undecided, resolved = self._evaluate(worlds[0]) if len(worlds) == 1 else self._merge(worlds)
        if refused:
            before = self._found_before(refused[0], worlds[0], findings)
            later = findings[before:] if self.line.checkable else []
            if not before:
                later = [replace(finding, engine_stops_here=False) for finding in later]
            findings = [*findings[:before], *self._refused(refused, first=not before), *later]
            undecided = []
        return findings, undecided, resolved if self.line.checkable else {}

    def _refused(self, problems: Sequence[ArgumentProblem], *, first: bool) -> list[Finding]:
        from mlacheck.refusal import refusal_findings  # only for a line that the parser refuses

        corrected = self._corrected()
        return [*refusal_findings(problems, self.grammar, self.line.location, corrected, first=first)]

    def _found_before(self, problem: ArgumentProblem, world: _World, findings: Sequence[Finding]) -> int:
        """Count the findings up to where the engine stops before it reads what it refuses, if it does."""
        if world.stop is None:
            return 0
        step = world.evaluation.step(world.stop)
        if problem.late:
            earlier = world.stop.step < self.compiled.program.read_at.get(str(problem.dest), 0)
        else:
            at = world.evaluation.parsed_at(step)
            earlier = step.phase == "argparse" and _parsed_before(at, problem)
        if not earlier:
            return 0
        stops = (one.engine_stops_here and one.slug == step.slug for one in findings)
        return next((number for number, here in enumerate(stops, 1) if here), 0)

    def _evaluate(self, world: _World) -> tuple[list[Finding], list[Undecided], dict[str, Resolved]]:
        findings = [self._finding(world, hit) for hit in world.hits]
        resolved = {
            name: Resolved(value, world.origin(name, self.line)) for name, value in world.resolved().items()
        }
        return findings, world.waiting(), resolved

    def _merge(self, results: Sequence[_World]) -> tuple[list[Finding], list[Undecided], dict[str, Resolved]]:
        """Keep what holds in every world; what holds in some is undecided, and nobody asks how to mend it."""
        name = world_fact(self.compiled.program.worlds)
        everywhere = set.intersection(*({one.id_of(hit) for hit in one.hits} for one in results))
        first = results[0]
        findings = [self._finding(first, hit) for hit in first.hits if first.id_of(hit) in everywhere]
        errors = [(one, hit) for one in results if (hit := one.error()) is not None]
        if len(errors) == len(results) and all(one.level != "error" for one in findings):
            findings.append(self._nowhere(errors))
        undecided: dict[str, Undecided] = {}
        for one in results:
            for hit in one.hits:
                id_, step = one.id_of(hit), one.evaluation.step(hit)
                level = step.level or "info"
                if id_ not in everywhere and level != "info" and id_ not in undecided:
                    where = gpus(each.evaluation for each in results if each.fires(id_))
                    title = f"{step.title} (on {where})"
                    undecided[id_] = Undecided(id_, title, level, (name,), step.slug, step.phase)
            for waiting in one.waiting():
                undecided.setdefault(waiting.rule, waiting)
        resolved = {}
        values = [one.resolved() for one in results]
        for fact in values[0]:
            told = [each[fact] for each in values]
            value = told[0] if all(other is told[0] for other in told) else one_of(told)
            origin = f"depends on {name}" if isinstance(value, Possible) else first.origin(fact, self.line)
            resolved[fact] = Resolved(value, origin)
        return findings, list(undecided.values()), resolved

    def _nowhere(self, errors: Sequence[tuple[_World, Hit]]) -> Finding:
        """Say that every world has an error, not all the same: no rule's own finding shows it."""
        stopped: dict[str, list[Evaluation]] = {}
        because, phases = [], []
        for world, hit in errors:
            id_, step = world.id_of(hit), world.evaluation.step(hit)
            if id_ not in stopped:
                because.append(f"{id_} {step.slug}: {hit.message}")
            stopped.setdefault(id_, []).append(world.evaluation)
            phases.append(step.phase)
        rules = ", ".join(f"{id_} on {gpus(where)}" for id_, where in stopped.items())
        finding = NO_GPU.finding(
            f"no GPU runs this line, and what stops it depends on which one it is: {rules}",
            because=tuple(because),
            engine_stops_here=all(world.stop is not None for world, _ in errors),
            remedies=(*self._corrected(), Remedy("none", "--gpu NAME shows what one GPU needs")),
        )
        return replace(finding, phase=max(phases, key=PHASES.index))

    def _finding(self, world: _World, hit: Hit) -> Finding:
        step = world.evaluation.step(hit)
        because = []
        then = world.evaluation.then(hit, world.outcome)
        for name, value in hit.values:
            if not is_known(value):
                continue
            because.append(f"{name} = {show(value)} ({world.origin(name, self.line, then)})")
        return Finding(
            id=world.id_of(hit),
            slug=step.slug,
            level=step.level or "info",
            phase=step.phase,
            message=hit.message,
            because=tuple(because),
            location=self._place(step, hit),
            engine_stops_here=hit is world.stop,
            engine_message=step.engine_says[0] if step.engine_says else None,
            remedies=self._remedies(world, hit) if step.level == "error" else self._hints(world, hit),
            source=step.source or None,
            evidence=step.evidence,
            confirm=step.confirm or None,
            title=step.title,
            explain=step.explain,
        )

    def _place(self, step: Step, hit: Hit) -> Location | None:
        """Give the place of the argument that a finding is about: the one that it names, reads or changes."""
        given = self.line.arguments.given
        name = next((name for name in self._concerned(step, hit) if name in given), None)
        return None if name is None else self.line.location(given[name].index)

    def _concerned(self, step: Step, hit: Hit) -> Iterator[str]:
        """Name the arguments that a finding is about, the nearest first."""
        given = self.line.arguments.given
        options = {name: self.grammar.option(name).flags for name in given}
        for said in _FLAG.findall(hit.message):
            yield from (name for name, flags in options.items() if said.rstrip(".") in flags)
        yield from (name for name, value in hit.values if is_known(value))
        for remedy in step.remedies:
            yield from remedy.get("edit", ())
        read = self.compiled.scope.references(step.when or "True") - {self.compiled.program.model}
        yield from sorted(read & given.keys(), key=lambda name: given[name].index)

    def _remedies(self, world: _World, hit: Hit) -> tuple[Remedy, ...]:
        remedies = [*self._corrected(), *self._other_ways(world, hit)]
        if not remedies and self.options.remedies:
            remedies.append(
                Remedy("none", "no change of up to three flags that the rules know makes this line pass")
            )
        return tuple(remedies)

    def _hints(self, world: _World, hit: Hit) -> tuple[Remedy, ...]:
        """Give what makes a notice fall silent and costs no new error."""
        step, evaluation, program = world.evaluation.step(hit), world.evaluation, self.compiled.program
        if not self.options.remedies or not step.remedies:
            return ()
        from mlacheck.remedies.words import words_of_remedy  # only for a notice with a way out

        errors = {one.step for one in evaluation.errors(world.outcome)}
        hints = []
        for edits in evaluation.curing_edits(hit, {}):
            if {one.step for one in evaluation.errors(evaluation.outcome(edits))} <= errors:
                text = words_of_remedy(program.engine, {"edit": edits}, (program.version,))
                hints.append(Remedy("edit", text, edits=edits))
        return (*hints, *self._other_ways(world, hit))

    def _other_ways(self, world: _World, hit: Hit) -> Iterator[Remedy]:
        """Give the ways out that a rule names and that no flag is."""
        for remedy in world.evaluation.step(hit).remedies:
            if not world.evaluation.applies(remedy, world.outcome.facts):
                continue
            cost = remedy.get("cost")
            if "upgrade" in remedy:
                wanted = ", ".join(f"{name} {range_}" for name, range_ in remedy["upgrade"].items())
                yield Remedy("upgrade", f"install {wanted}", cost=cost)
            elif "hardware" in remedy:
                yield Remedy("hardware", f"run it on {remedy['hardware']}", cost=cost)
            elif "none" in remedy:
                yield Remedy("none", str(remedy["none"]), cost=cost)

    def _corrected(self) -> tuple[Remedy, ...]:
        """Give the corrected lines; each mends every error of this one."""
        if not self.options.remedies:
            return ()
        if self._lines is None:
            from mlacheck.remedies.advice import Advice  # only for a line with an error

            self._lines = tuple(
                Remedy("edit", one.text, one.line, one.edits, one.cost or None)
                for one in Advice(self.line).solutions
            )
        return self._lines

    def _target_findings(self) -> list[Finding]:
        """Say where sources of the target disagree, and where an installation cannot be what it claims."""
        findings = [DISAGREEMENT.finding(one.message) for one in self.target.disagreements]
        if self.target.broken is not None:
            remedy = Remedy("none", self.target.broken.hint)
            findings.append(BROKEN.finding(self.target.broken.message, remedies=(remedy,)))
        return findings

    def _normalised(self) -> str:
        env = (f"{name}={quote(value)}" for name, value in sorted(self.command.env.items()))
        return " ".join((*env, self.command.engine, *map(quote, self.command.argv)))

    def _unsure(self) -> bool:
        guessed = self.target.extrapolated or self.target.assumed or self.line.unsure
        return guessed or bool(self.target.problems) or bool(self.command.loose)

    def _problems(self) -> tuple[Problem, ...]:
        unresolved = [
            Problem(
                "unresolved-variable",
                f"{word.text} depends on {', '.join(word.unknown)}, which this text does not settle",
                f"give the value in the line, or with --env {word.unknown[0]}=VALUE",
                Location(word.line, word.column, word.file),
            )
            for word in self.command.words
            if word.unknown and word.unknown != (word.text,)  # a file that is not read is told of already
        ]
        return (*self.line.problems, *unresolved)


class _World:
    """What the rules say of one line for one GPU."""

    def __init__(self, evaluation: Evaluation, line: Line) -> None:
        self.evaluation, self.outcome = evaluation, evaluation.outcome()
        hits, self.stop = evaluation.independent()
        # By each hit the flags that words not known may still give, and without which it may not be one.
        absent = {id(hit): line.left_out(evaluation.chosen(hit, self.outcome)) for hit in hits}
        self.hits = [hit for hit in hits if not absent[id(hit)]]
        self._open = [(hit, absent[id(hit)]) for hit in hits if absent[id(hit)]]

    def id_of(self, hit: Hit) -> str:
        step = self.evaluation.step(hit)
        return step.id or step.slug

    def error(self) -> Hit | None:
        """Give the error that this world meets first."""
        errors = [hit for hit in self.hits if self.evaluation.step(hit).level == "error"]
        return self.stop if self.stop in errors else next(iter(errors), None)

    def ends_in_parser(self) -> bool:
        """Tell whether the engine stops while it reads its arguments."""
        return self.stop is not None and self.evaluation.step(self.stop).phase == "argparse"

    def fires(self, id_: str) -> bool:
        return any(self.id_of(hit) == id_ for hit in self.hits)

    def waiting(self) -> list[Undecided]:
        waiting = [(self.evaluation.step(hit), needs) for hit, needs in self._open]
        waiting += self.evaluation.unknown(self.outcome)
        return [
            Undecided(step.id or step.slug, step.title, step.level or "info", needs, step.slug, step.phase)
            for step, needs in waiting
        ]

    def resolved(self) -> dict[str, object]:
        names = self.evaluation.compiled.program.resolved
        return {name: self.outcome.run.value(name, self.outcome.facts) for name in names}

    def origin(self, name: str, line: Line, outcome: Outcome | None = None) -> str:
        return self.evaluation.origin(name, outcome or self.outcome, line.origins)


def _open(one: Resolved) -> Resolved:
    """Give what a report says of a value that is not known: none, or those that it may be."""
    return Resolved(None, NOT_KNOWN) if one.value is UNKNOWN else Resolved(str(one.value), one.origin)


def _parsed_before(at: int, problem: ArgumentProblem) -> bool:
    """Tell whether the parser takes a word, -1 for none, before it tells of a problem."""
    if at < 0 or problem.index is None or problem.kind in _TOLD_LAST:
        return True
    return problem.kind != "ambiguous-flag" and at < problem.index
