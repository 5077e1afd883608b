"""One run of the tool: remembers models, targets and programs while launch commands are checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mlacheck.finding import Location, Problem, Report
from mlacheck.probes.model import ModelConfig, ModelProblem, find_model
from mlacheck.probes.target import LaunchHints, Target, TargetFlags, resolve_target
from mlacheck.ruleset.load import Compiled, load_extended, load_program
from mlacheck.validate import Options, validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mlacheck.launch.command import LaunchCommand, LaunchProblem


@dataclass
class Session:
    """Checks launch commands against what the caller says of the target."""

    flags: TargetFlags
    model: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    extra_rules: tuple[Path, ...] = ()
    remedies: bool = True
    _models: dict[str, ModelConfig | ModelProblem] = field(default_factory=dict)
    _targets: dict[tuple[TargetFlags, str | None, str], Target] = field(default_factory=dict)

    def check(
        self, command: LaunchCommand, problems: Iterable[LaunchProblem] = (), *, id_: object = None
    ) -> Report:
        """Check one command; `problems` of the text it came from go into its report."""
        target = self.target(command)
        options = Options(self.model, self.env, self.remedies)
        report = validate(command, target, self._program(command.engine, target), self.find_model, options, id_=id_)
        told = [
            Problem(one.kind, one.message, one.hint, Location(one.line, one.column))
            for one in problems
        ]
        return replace(report, problems=(*told, *report.problems)) if told else report

    def target(self, command: LaunchCommand) -> Target:
        """Resolve what a command will run on."""
        key = (self.flags, command.image, command.engine)
        target = self._targets.get(key)
        if target is None:
            hints = LaunchHints(image=command.image)
            target = self._targets[key] = resolve_target(command.engine, self.flags, hints)
        return target

    def find_model(self, reference: str) -> ModelConfig | ModelProblem:
        """Find a model's config once."""
        found = self._models.get(reference)
        if found is None:
            found = self._models[reference] = find_model(reference)
        return found

    def _program(self, engine: str, target: Target) -> Compiled:
        if self.extra_rules:
            return load_extended(engine, target.rules_version, self.extra_rules)
        return load_program(engine, target.rules_version)
