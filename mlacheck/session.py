"""One run of the tool: remembers models, targets and programs while launch commands are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.builtin import CONFIG_NOT_READ, CONFIG_REFUSED
from mlacheck.finding import Location, Problem, Remedy, judged
from mlacheck.frozen import field, record, replace
from mlacheck.line import Line, Options, fitted
from mlacheck.models import Models
from mlacheck.probes.engine import recorded_versions
from mlacheck.probes.model import ModelConfig, ModelProblem
from mlacheck.probes.target import LaunchHints, TargetFlags, resolve_target
from mlacheck.ruleset.load import load_extended, load_program
from mlacheck.ruleset.machine import show
from mlacheck.validate import Checker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mlacheck.config import Profile, Settings
    from mlacheck.engines.grammar import Grammar
    from mlacheck.evaluation import Evaluation
    from mlacheck.finding import Finding, Report
    from mlacheck.launch.command import LaunchCommand, LaunchProblem
    from mlacheck.probes.machine import Machine
    from mlacheck.remedies.advice import Solution


@record
class Session:
    """Checks launch commands against what the caller says of the target."""

    flags: TargetFlags
    model: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    machine: Machine | None = None
    extra_rules: tuple[Path, ...] = ()
    remedies: bool = True
    # The configuration's profiles: the target of a file where the flags say nothing.
    settings: Settings | None = None
    profile: Profile | None = None  # chosen by name, whatever the file
    model_beside: bool = False  # a line without a model is no mistake: it is named, or left out, elsewhere
    models: Models = field(default_factory=Models)
    _checkers: dict[tuple[object, ...], Checker] = field(default_factory=dict)
    _profiles: dict[str | None, Profile | None] = field(default_factory=dict)

    def check(
        self, command: LaunchCommand, problems: Iterable[LaunchProblem] = (), *, id_: object = None
    ) -> Report:
        """Check one command; `problems` of the text it came from go into its report."""
        checker = self.checker(command)
        report = checker.check(command, self._options(command), id_=id_)
        problems = tuple(problems)
        refused = [_refusal(one) for one in problems if one.kind == CONFIG_REFUSED.slug]
        if command.config_keys:
            refused += _refused_keys(command, checker.grammar, stops=not refused)
        if refused:
            # The engine stops before it reads another word.
            later = (replace(one, engine_stops_here=False) for one in report.findings)
            report = judged(replace(report, findings=(*refused, *later)))
        unread = [_unread(one) for one in problems if one.kind == CONFIG_NOT_READ.slug]
        if unread:
            report = judged(replace(report, findings=(*report.findings, *unread)))
        problems = tuple(
            one for one in problems if one.kind not in (CONFIG_REFUSED.slug, CONFIG_NOT_READ.slug)
        )
        told = [Problem(one.kind, one.message, one.hint, Location(one.line, one.column)) for one in problems]
        if any(one.level == "error" for one in problems):
            # Part of the text was not understood, so what was checked may not be what will run.
            report = judged(replace(report, unsure=True))
        return replace(report, problems=(*told, *report.problems)) if told else report

    def solutions(self, command: LaunchCommand) -> tuple[Solution, ...]:
        """Give corrected lines for one command, the one that keeps most first."""
        from mlacheck.remedies.advice import Advice  # only for a line with an error

        return Advice(Line(self.checker(command), command, self._options(command))).solutions

    def fitted(self, command: LaunchCommand) -> LaunchCommand:
        """Give the command as the engine's version reads it."""
        return fitted(command, self.checker(command).grammar)

    def evaluations(self, command: LaunchCommand) -> tuple[Evaluation, ...]:
        """Give the rules' run over one command, once for each GPU that it may be for."""
        return Line(self.checker(command), command, self._options(command)).evaluations

    def settled(self, command: LaunchCommand) -> dict[str, str]:
        """Give, as text, every argument of a command as the engine ends up with it, and what reports show."""
        checker = self.checker(command)
        names = dict.fromkeys((*checker.compiled.program.resolved, *checker.grammar.options))
        told: dict[str, list[str]] = {name: [] for name in names}
        for outcome in (one.outcome() for one in self.evaluations(command)):
            for name, texts in told.items():
                texts.append(show(outcome.run.value(name, outcome.facts)))
        return {name: " or ".join(dict.fromkeys(texts)) for name, texts in told.items()}

    def _options(self, command: LaunchCommand) -> Options:
        profile = self.profile_of(command.source.file)
        model = self.model or (profile.model if profile else None)
        return Options(model, self.env_of(command.source.file), self.remedies, self.model_beside)

    @staticmethod
    def has_rules(command: LaunchCommand) -> bool:
        """Tell whether commands of this engine can be checked."""
        return bool(recorded_versions(command.engine))

    def checker(self, command: LaunchCommand) -> Checker:
        """Give what checks commands of this engine with these hints about its target."""
        beside = self.env_of(command.source.file)
        visible = beside.get("CUDA_VISIBLE_DEVICES", command.env.get("CUDA_VISIBLE_DEVICES"))
        profile = self.profile_of(command.source.file)
        said = (command.image, command.gpu, command.gpu_count, command.nodes)
        key = (command.engine, *said, visible, profile and profile.name)
        checker = self._checkers.get(key)
        if checker is None:
            env = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
            hints = LaunchHints(command.image, env, command.gpu, command.gpu_count, command.nodes)
            target = resolve_target(
                command.engine,
                self.flags,
                hints,
                profile=profile.target if profile else None,
                profile_name=profile.name if profile else "",
                machine=self.machine,
            )
            if not target.rules_version:
                raise ValueError(command.engine)
            if self.extra_rules:
                compiled = load_extended(command.engine, target.rules_version, self.extra_rules)
            else:
                compiled = load_program(command.engine, target.rules_version)
            checker = self._checkers[key] = Checker(compiled, target, self.models)
        return checker

    def env_of(self, file: str | None) -> Mapping[str, str]:
        """Give the environment that the caller names for the commands of a file."""
        profile = self.profile_of(file)
        return self.env if profile is None else {**profile.env, **self.env}

    def profile_of(self, file: str | None) -> Profile | None:
        """Give the profile that a file is checked for."""
        if self.profile is not None or self.settings is None:
            return self.profile
        if file not in self._profiles:
            self._profiles[file] = self.settings.profile_of(file)
        return self._profiles[file]

    def named_model(self, command: LaunchCommand) -> ModelProblem | None:
        """Say why the model that a flag or a profile names beside the line is not known."""
        profile = self.profile_of(command.source.file)
        reference = self.model or (profile and profile.model)
        found = self.models.find(reference) if reference else None
        return found if isinstance(found, ModelProblem) else None

    def model_of(self, report: Report) -> ModelConfig | None:
        """Give the config of the model that a report is about."""
        names = {checker.compiled.program.model for checker in self._checkers.values()}
        named = next((one for name, one in report.resolved.items() if name in names), None)
        profile = self.profile_of(report.file)
        reference = self.model or (profile and profile.model) or (named.value if named else None)
        found = self.models.find(reference) if isinstance(reference, str) else None
        return found if isinstance(found, ModelConfig) else None


def _refusal(problem: LaunchProblem) -> Finding:
    return CONFIG_REFUSED.finding(
        problem.message,
        location=Location(problem.line, problem.column),
        engine_stops_here=True,
        engine_message=problem.said,
        remedies=(Remedy("none", problem.hint),),
    )


def _refused_keys(command: LaunchCommand, grammar: Grammar, *, stops: bool) -> Iterator[Finding]:
    """Give what the engine refuses of its config file's keys; it `stops` at the first of them."""
    from mlacheck.engines.merging import refused_keys  # few commands have a config file

    keys = refused_keys(grammar)
    for word in command.config_keys:
        said = keys.get(word.text.replace("-", "_"))
        if said is None or word.unknown:
            continue
        yield CONFIG_REFUSED.finding(
            f"{grammar.engine} {grammar.version} takes no {word.text} from a config file",
            location=Location(word.line, word.column, word.file),
            engine_stops_here=stops,
            engine_message=said,
            remedies=(Remedy("none", f"give it as a flag on the line, not in {word.via[0]}"),),
        )
        stops = False


def _unread(problem: LaunchProblem) -> Finding:
    return CONFIG_NOT_READ.finding(
        problem.message,
        location=Location(problem.line, problem.column),
        remedies=(Remedy("none", problem.hint),),
    )
