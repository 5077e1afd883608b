"""Puts what a log holds together: the rules behind its errors, the version, and the line corrected."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mlacheck.builtin import CONFIG_REFUSED, PARSER
from mlacheck.diagnosis.advice import fixes
from mlacheck.diagnosis.version import versions
from mlacheck.engines import ArgumentProblem, Grammar
from mlacheck.engines.spelling import suggest
from mlacheck.frozen import frozen, replace
from mlacheck.launch import parse_text
from mlacheck.launch.command import CONFIG, LaunchCommand, Word
from mlacheck.launch.file.config import with_configs
from mlacheck.probes.engine import recorded_versions
from mlacheck.remedies.edit import option_words
from mlacheck.remedies.words import words_of_remedy
from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.diagnosis.log import Log, Sighting, Strange
    from mlacheck.diagnosis.phrases import Candidate
    from mlacheck.evaluation import Evaluation
    from mlacheck.finding import Finding, Report
    from mlacheck.launch.command import LaunchProblem
    from mlacheck.ruleset.program import Step
    from mlacheck.session import Session

# Programs that a launch line may start with in a log, beside the engine's own.
_STARTS: Final = ("python", "docker", "srun")


@frozen
class Rule:
    """A rule that an error may come from."""

    id: str
    slug: str
    title: str
    level: str
    phase: str
    versions: tuple[str, ...]
    source: str
    remedies: tuple[str, ...]
    confirmed: bool = False  # the rule fires on the launch line of the log


@frozen
class Diagnosis:
    """One error of a log, how often it was said, and the rules it may come from."""

    line: int
    said: str
    count: int
    place: str | None
    rules: tuple[Rule, ...]
    note: str = ""
    # What helps where no rule is certain to be behind it, and what of it.
    title: str = ""
    fixes: tuple[str, ...] = ()


@frozen
class Result:
    """What there is to say of a log."""

    lines: int
    engine: str | None  # None where nothing tells whose log it is
    version: str | None
    versions: tuple[str, ...]  # those that the log fits, where it fits several
    version_from: str
    command: str | None
    command_from: str
    diagnoses: tuple[Diagnosis, ...]
    report: Report | None = None
    strange: tuple[Strange, ...] = ()  # exceptions that no rule knows, where it knows none of the log

    @property
    def unsaid(self) -> tuple[Finding, ...]:
        """The errors of the launch line that no line of the log says."""
        said = {rule.id for one in self.diagnoses for rule in one.rules}
        findings = self.report.findings if self.report else ()
        return tuple(one for one in findings if one.level == "error" and one.id not in said)


def diagnose(log: Log, session: Session, version: str | None = None) -> Result:
    """Name the rules; `version` is what the caller says of the engine."""
    fit, origin = versions(log) if version is None else ((version,), "--engine-version")
    told = fit[0] if len(fit) == 1 else None
    if told is not None:
        session.flags = replace(session.flags, engine_version=told)
    command, command_from, problems = _command(log, session)
    report = None
    evaluations: tuple[Evaluation, ...] = ()
    if command is not None and told is not None:
        report, evaluations = session.check(command, problems), session.evaluations(command)
    remedies = Remedies(log.engine, fit, evaluations)
    diagnoses = []
    for key, sighting in log.sightings.items():
        diagnoses.append(_diagnosis(log, sighting, log.counts[key], fit, report, remedies))
    return Result(
        lines=log.lines,
        engine=log.engine if log.told else None,
        version=told,
        versions=fit if told is None else (),
        version_from=origin,
        command=command.text if command else None,
        command_from=command_from,
        diagnoses=tuple(diagnoses),
        report=report,
        strange=() if diagnoses else tuple(log.strange.values()),
    )


def _command(log: Log, session: Session) -> tuple[LaunchCommand | None, str, tuple[LaunchProblem, ...]]:
    """Give the launch line, where it comes from, and what is wrong with a config file that it names."""
    printed = log.arguments is not None
    for text in log.launches:
        for start in sorted(at for at in map(text.find, (log.engine, *_STARTS)) if at >= 0):
            launch = parse_text(text[start:])
            # What the log prints holds what the engine read from the file there; a file here may be another.
            if printed and any(word.text == CONFIG for one in launch.commands for word in one.words):
                continue
            result = with_configs(launch, Path())
            found = [one for one in result.commands if one.engine == log.engine]
            if found:
                return found[0], "the log shows it", result.problems
    if log.arguments is None:
        return None, "", ()
    launcher = log.signs.launcher
    checker = session.checker(LaunchCommand(log.engine, launcher[-1], ()))
    grammar, program = checker.grammar, checker.compiled.program
    reads = program.reads | {program.model}
    words: list[str] = []
    arguments = dict(log.arguments)
    word = arguments.pop(grammar.positional_name or "", None)
    if word is not None and grammar.positional is not None:
        arguments[grammar.positional] = word
    for name, value in arguments.items():
        option = grammar.options.get(name)
        if option is None or name not in reads or value is None or value == grammar.defaults.get(name):
            continue
        if option.deprecated is None and option.message is None:
            words += option_words(option, value)
    text = " ".join([*launcher, *map(shlex.quote, words)])
    command = LaunchCommand(log.engine, launcher[-1], tuple(map(Word, words)), prefix=launcher, text=text)
    return command, "made from the arguments that the log prints", ()


class Remedies:
    """The ways out that rules name, those only of which it is known that they apply."""

    def __init__(self, engine: str, fit: Sequence[str], evaluations: Sequence[Evaluation]) -> None:
        self.engine, self.evaluations = engine, evaluations
        known = recorded_versions(engine)
        self.version = next((one for one in reversed(fit) if one in known), known[-1])

    def of(self, candidate: Candidate) -> tuple[str, ...]:
        """Put them into words, without their conditions."""
        return tuple(
            words_of_remedy(
                self.engine,
                {name: value for name, value in one.items() if name != "when"},
                candidate.versions,
            )
            for one in self._step(candidate.step).remedies
            if self._applies(one)
        )

    def _step(self, step: Step) -> Step:
        """Give the rule as the version of the log has it: its conditions use that version's names."""
        program = load_program(self.engine, self.version).program
        if self.evaluations:
            program = self.evaluations[0].compiled.program
        same = (one for one in program.steps if one.id == step.id and one.kind == step.kind)
        bare = replace(step, remedies=tuple(one for one in step.remedies if not one.get("when")))
        return next(same, bare)

    def _applies(self, remedy: Mapping[str, object]) -> bool:
        if not remedy.get("when"):
            return True
        return bool(self.evaluations) and all(
            one.applies(remedy, one.outcome().facts) for one in self.evaluations
        )


def _diagnosis(
    log: Log,
    sighting: Sighting,
    count: int,
    fit: Sequence[str],
    report: Report | None,
    remedies: Remedies,
) -> Diagnosis:
    version = fit[0] if len(fit) == 1 else None
    if sighting.parser is not None:
        return _refused(log, sighting, count, version)
    merged: dict[str, Candidate] = {}
    for one in sighting.candidates:
        id_ = one.step.id or one.step.slug
        earlier = merged.get(id_)
        told = dict.fromkeys((*(earlier.versions if earlier else ()), *one.versions))
        merged[id_] = replace(one, versions=tuple(told))
    candidates = list(merged.values())
    fired = {finding.id for finding in report.findings} if report else set()
    # What the version rules out goes, what fires on the line of the log stays, unless nothing would be left.
    candidates = [one for one in candidates if set(fit) & set(one.versions)] or candidates
    certain = [one for one in candidates if one.step.id in fired]
    advice = sighting.advice if not certain else None
    if advice is not None and report is not None:
        # An accident has causes that no rule knows: what the line rules out goes, even if nothing is left.
        waiting = {one.rule for one in report.undecided}
        candidates = [one for one in candidates if one.step.id in waiting]
    candidates = certain or candidates
    rules = tuple(_rule(one, remedies, one.step.id in fired) for one in candidates)
    note = ""
    if advice is not None:
        helps = tuple(fixes(advice, log, fit, report))
        return Diagnosis(sighting.line, sighting.text, count, sighting.place, rules, "", advice.title, helps)
    if len(rules) > 1:
        note = "the words do not decide between these rules"
    elif version in recorded_versions(log.engine) and version not in candidates[0].versions:
        note = f"{log.engine} {version} is not known to say this"
    return Diagnosis(sighting.line, sighting.text, count, sighting.place, rules, note)


def _rule(candidate: Candidate, remedies: Remedies, confirmed: bool) -> Rule:
    step = candidate.step
    return Rule(
        id=step.id or step.slug,
        slug=step.slug,
        title=step.title,
        level=step.level or "error",
        phase=step.phase,
        versions=candidate.versions,
        source=step.source,
        remedies=remedies.of(candidate),
        confirmed=confirmed,
    )


def _refused(log: Log, sighting: Sighting, count: int, version: str | None) -> Diagnosis:
    kind = sighting.parser or ""
    builtin = PARSER.get(kind, CONFIG_REFUSED)
    note, remedies = "", []
    if version in recorded_versions(log.engine):
        grammar = Grammar.load(log.engine, str(version))
        option = grammar.flags.get(sighting.flag or "")
        problem = ArgumentProblem(
            kind, None, sighting.token, option.dest if option else None, "", "", flag=sighting.flag
        )
        problem = suggest(problem, grammar) if option or kind == "unknown-flag" else problem
        remedies = [f"did you mean {one}?" for one in problem.suggestions]
        note = problem.note
    rule = Rule(builtin.id, builtin.slug, builtin.title, "error", "argparse", (), "", tuple(remedies))
    return Diagnosis(sighting.line, sighting.text, count, None, (rule,), note)
