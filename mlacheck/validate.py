"""The main job: one launch command and one target in, one report out; the only I/O is a model's config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.boundary import not_checked
from mlacheck.builtin import BROKEN, DISAGREEMENT
from mlacheck.engines import Grammar
from mlacheck.evaluation import Evaluation, known_or_none
from mlacheck.facts import UNKNOWN, Possible, is_known, one_of, the_same
from mlacheck.finding import (
    NOT_KNOWN,
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
from mlacheck.line import Line, Options, world_fact
from mlacheck.probes.config import first_value
from mlacheck.probes.weights import least_weights
from mlacheck.refusal import refusal_findings
from mlacheck.ruleset.machine import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.evaluation import Outcome
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.line import Models
    from mlacheck.probes.model import ModelConfig
    from mlacheck.probes.target import Target
    from mlacheck.ruleset.load import Compiled
    from mlacheck.ruleset.machine import Hit

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
        self._model_facts: dict[tuple[str, str | None, str], dict[str, object]] = {}

    def check(self, command: LaunchCommand, options: Options | None = None, *, id_: object = None) -> Report:
        """Check one launch command."""
        return _Check(self, command, options or Options()).report(id_)

    def model_facts(self, prefix: str, model: ModelConfig | None) -> dict[str, object]:
        """Give the facts of a model's config under `target.` or `draft.`."""
        key = (prefix, model.ref if model else None, model.changes if model else "")
        facts = self._model_facts.get(key)
        if facts is None:
            facts = self._model_facts[key] = {f"{prefix}known": model is not None}
            if model is not None and model.files is not None and f"{prefix}files" in self.facts:
                facts[f"{prefix}files"] = model.files
            if prefix == "target.":
                facts |= self._weight_facts(model)
            for name, declared in self.compiled.program.declarations.items():
                if model is not None and declared.config and name.startswith(prefix):
                    facts[name] = first_value(model.config, declared.config, declared.type)
                    if facts[name] is None and "architectures.0" in declared.config:
                        facts[name] = UNKNOWN  # the engine takes one from the model's type
        return facts

    def _weight_facts(self, model: ModelConfig | None) -> dict[str, object]:
        """Give the lower bounds of the weights; None where there is none, and nothing is compared."""
        least = None if model is None else least_weights(model.config, model.least_files_gib)
        facts = {
            "given.weights_gib": None if least is None else round(least.total, 2),
            "given.attention_gib": None if least is None else round(least.attention, 2),
        }
        return {name: value for name, value in facts.items() if name in self.facts}


class _Check:
    """The work on one command."""

    def __init__(self, checker: Checker, command: LaunchCommand, options: Options) -> None:
        self.checker, self.options = checker, options
        self.target, self.compiled, self.grammar = checker.target, checker.compiled, checker.grammar
        self.line = Line(checker, command, options)
        self.command = self.line.command
        # Every possible world has an error, if not the same one.
        self.fails_everywhere = False
        self._lines: tuple[Remedy, ...] | None = None

    def report(self, id_: object) -> Report:
        worlds = self.line.worlds()
        findings: list[Finding] = []
        undecided: list[Undecided] = []
        resolved: dict[str, Resolved] = {}
        if self.line.checkable and len(worlds) == 1:
            findings, undecided, resolved = self._evaluate(worlds[0])
        elif self.line.checkable:
            findings, undecided, resolved = self._merge(worlds)
        resolved = {
            name: Resolved(known_or_none(one.value), NOT_KNOWN if one.value is UNKNOWN else one.origin)
            for name, one in resolved.items()
        }
        refused = self.line.refusals
        corrected = self._corrected() if refused else ()
        parse = refusal_findings(refused, self.grammar, self.line.location, corrected)
        if parse:
            findings = [replace(finding, engine_stops_here=False) for finding in findings]
            undecided = []
        findings = [*parse, *findings, *self.line.remarks, *self._target_findings()]
        if self.target.extrapolated:
            findings = [replace(finding, extrapolated=True) for finding in findings]
        report = Report(
            id=id_,
            command=self.command.text,
            file=self.command.source.file,
            location=Location(self.command.source.line, self.command.source.column),
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
            fails_everywhere=self.fails_everywhere,
            words_line=self.command.words[0].line if self.command.words else 0,
        )
        return judged(report)

    def _evaluate(
        self, facts: dict[str, object]
    ) -> tuple[list[Finding], list[Undecided], dict[str, Resolved]]:
        evaluation = Evaluation(self.compiled, facts, self.grammar.defaults)
        outcome = evaluation.outcome()
        hits, stop = evaluation.independent()
        findings = [self._finding(evaluation, outcome, hit, stop) for hit in hits]
        undecided = [
            Undecided(step.id or step.slug, step.title, step.level or "info", needs, step.slug, step.phase)
            for step, needs in evaluation.unknown(outcome)
        ]
        resolved = {
            name: Resolved(
                outcome.run.value(name, outcome.facts),
                evaluation.origin(name, outcome, self.line.origins),
            )
            for name in self.compiled.program.resolved
        }
        return findings, undecided, resolved

    def _merge(
        self, worlds: Sequence[dict[str, object]]
    ) -> tuple[list[Finding], list[Undecided], dict[str, Resolved]]:
        """Keep what holds in every world; what holds in some is undecided."""
        name = world_fact(self.compiled.program.worlds)
        results = [self._evaluate(world) for world in worlds]
        self.fails_everywhere = all(any(one.level == "error" for one in found) for found, _, _ in results)
        everywhere = set.intersection(*({finding.id for finding in found} for found, _, _ in results))
        findings = [finding for finding in results[0][0] if finding.id in everywhere]
        undecided: dict[str, Undecided] = {}
        for found, waiting, _ in results:
            for finding in found:
                if finding.id not in everywhere and finding.level != "info":
                    undecided.setdefault(
                        finding.id,
                        Undecided(
                            finding.id, finding.message, finding.level, (name,), finding.slug, finding.phase
                        ),
                    )
            for one in waiting:
                undecided.setdefault(one.rule, one)
        resolved = {}
        for fact in results[0][2]:
            values = [one[fact] for _, _, one in results]
            value = one_of(each.value for each in values)
            origin = values[0].origin if not isinstance(value, Possible) else f"depends on {name}"
            resolved[fact] = Resolved(value, origin)
        return findings, list(undecided.values()), resolved

    def _finding(self, evaluation: Evaluation, outcome: Outcome, hit: Hit, stop: Hit | None) -> Finding:
        step = evaluation.step(hit)
        because = []
        location = None
        for name, value in hit.values:
            if not is_known(value):
                continue
            because.append(f"{name} = {show(value)} ({evaluation.origin(name, outcome, self.line.origins)})")
            if location is None and name in self.line.arguments.given:
                location = self.line.location(self.line.arguments.given[name].index)
        return Finding(
            id=step.id or step.slug,
            slug=step.slug,
            level=step.level or "info",
            phase=step.phase,
            message=hit.message,
            because=tuple(because),
            location=location,
            engine_stops_here=hit is stop,
            engine_message=step.engine_says[0] if step.engine_says else None,
            remedies=self._remedies(evaluation, outcome, hit) if step.level == "error" else (),
            source=step.source or None,
            evidence=step.evidence,
            confirm=step.confirm or None,
            title=step.title,
            explain=step.explain,
        )

    def _remedies(self, evaluation: Evaluation, outcome: Outcome, hit: Hit) -> tuple[Remedy, ...]:
        remedies = list(self._corrected())
        for remedy in evaluation.step(hit).remedies:
            if not evaluation.applies(remedy, outcome.facts):
                continue
            cost = remedy.get("cost")
            if "upgrade" in remedy:
                wanted = ", ".join(f"{name} {range_}" for name, range_ in remedy["upgrade"].items())
                remedies.append(Remedy("upgrade", f"install {wanted}", cost=cost))
            elif "hardware" in remedy:
                remedies.append(Remedy("hardware", f"run it on {remedy['hardware']}", cost=cost))
            elif "none" in remedy:
                remedies.append(Remedy("none", str(remedy["none"]), cost=cost))
        if not remedies and self.options.remedies:
            remedies.append(
                Remedy("none", "no change of up to three flags that the rules know makes this line pass")
            )
        return tuple(remedies)

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
        guessed = self.target.extrapolated or self.target.assumed or self.line.model_unsure
        return guessed or bool(self.target.problems) or bool(self.command.loose)

    def _problems(self) -> tuple[Problem, ...]:
        unresolved = [
            Problem(
                "unresolved-variable",
                f"{word.text} depends on {', '.join(word.unknown)}, which this text does not settle",
                "give the value in the line, or set the variable in the same text",
                Location(word.line, word.column),
            )
            for word in self.command.words
            if word.unknown and word.unknown != (word.text,)  # a file that is not read is told of already
        ]
        return (*self.line.problems, *unresolved)
