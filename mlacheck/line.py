"""One launch line before any rule runs: its arguments, and every fact that rules may ask for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from mlacheck.builtin import DISAGREEMENT, MODELS_DIFFER
from mlacheck.evaluation import Evaluation
from mlacheck.facts import UNKNOWN, is_known, the_same
from mlacheck.finding import Location, Problem, Remedy
from mlacheck.frozen import frozen, replace
from mlacheck.launch.programs import OWN_FLAGS, POSITIONAL_MODEL
from mlacheck.probes.config import read_overrides
from mlacheck.probes.model import ModelProblem, of_draft
from mlacheck.probes.version import parse_version
from mlacheck.ruleset.interpreter import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mlacheck.engines import ArgumentProblem, Arguments, Grammar
    from mlacheck.finding import Finding
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.models import Models
    from mlacheck.probes.model import ModelConfig
    from mlacheck.probes.target import Target
    from mlacheck.ruleset.load import Compiled


@frozen
class Options:
    """What a run asks for beside the command and its target."""

    model: str | None = None
    env: Mapping[str, str] | None = None
    remedies: bool = True
    # The model is said beside the flags, so that a line without it is not a mistake.
    model_beside: bool = False


class Surroundings(Protocol):
    """What lines of one engine version on one target share."""

    compiled: Compiled
    target: Target
    models: Models
    grammar: Grammar
    origins: dict[str, str]
    facts: dict[str, object]


class Line:
    """The arguments and facts of one command."""

    def __init__(self, around: Surroundings, command: LaunchCommand, options: Options) -> None:
        command = fitted(command, around.grammar)
        self.around, self.command, self.options = around, command, options
        self.arguments: Arguments = arguments_of(command, around.grammar)
        spans = [span for given in self.arguments.given.values() for span in given.spans]
        # Words that are not known and are no flag's value: any flag may be among them.
        self.open = any(not any(a <= at < b for a, b in spans) for at in command.loose)
        problems = self.arguments.problems
        # None of the engine's flags: the launcher before it may read them.
        others = [one for one in problems if one.kind == "unknown-flag" and command.entry in OWN_FLAGS]
        self.refusals = tuple(
            one
            for one in problems
            if one not in others
            and not self._named_beside(one)
            and not (self.open and one.kind == "missing-required")
        )
        self.model: ModelConfig | None = None
        self._overrides: Mapping[str, Any] = {}
        self._kept: tuple[str, ...] = ()  # parts of a config of which overrides change values
        # A named model or draft was not found, or a flag may be a launcher's.
        self.unsure = False
        self.assumptions = [
            *(f"variant: {branch}" for branch in command.variant),
            *(f"{default} (default in the text)" for default in command.assumed),
            *around.target.assumptions,
        ]
        self.problems = [Problem(one.name, one.message, one.hint) for one in around.target.problems]
        self.launchers: list[str] = []  # flags that the launcher reads
        for one in others:
            self._add_launchers(one)
        self.origins: dict[str, str] = dict(around.origins)
        # Where what is said beside the line contradicts it.
        self.remarks: list[Finding] = []
        self.facts = around.facts.copy()
        for name in self.arguments.given:
            if name in self.arguments.values:
                self.facts[name] = self.arguments.values[name]
        if "given.model_word" in self.facts:
            self.facts["given.model_word"] = self._model_word()
        if "given.entry" in self.facts:
            self.facts["given.entry"] = command.entry
        self._add_environment()
        self._add_models()
        for name, given in self.arguments.given.items():
            self.origins[name] = given.flag
            if name in self.facts:
                self.facts[name] = the_same(self.facts[name])
        # The engine never gets past a value it refuses. With the one it is close to, the rest can be checked;
        # without one nothing more can be said.
        self.checkable = True
        for problem in self.refusals:
            if problem.dest in self.facts and problem.kind != "missing-required":
                close = (
                    problem.suggestions[0]
                    if problem.kind == "invalid-choice" and problem.suggestions
                    else None
                )
                self.checkable = self.checkable and (close is not None or problem.late)
                self.facts[problem.dest] = close
        if "given.refused" in self.facts:
            self.facts["given.refused"] = {one.dest: one.value for one in self.refusals if one.late}

    @cached_property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Give the run of the rules, once for each value that an unknown GPU may have."""
        compiled, defaults = self.around.compiled, self.around.grammar.defaults
        places = {name: given.index for name, given in self.arguments.given.items()}
        facts = self.facts
        compiled.settle(facts)
        worlds = compiled.program.worlds
        if not worlds or is_known(facts.get(world_fact(worlds))):
            return (Evaluation(compiled, facts, defaults, places),)
        every = [{**facts, **world} for world in worlds]
        for one in every:
            compiled.settle_again(one, worlds[0])
        return tuple(Evaluation(compiled, one, defaults, places) for one in every)

    def left_out(self, names: Iterable[str]) -> tuple[str, ...]:
        """Give those of the facts that are flags at their default where open words may still give them."""
        if not self.open:
            return ()
        flags = self.around.grammar.defaults
        return tuple(dict.fromkeys(one for one in names if one in flags and one not in self.arguments.given))

    def _add_launchers(self, problem: ArgumentProblem) -> None:
        """Note a flag that is none of the engine's: as the launcher's, or as one that nobody knows."""
        flag, entry = problem.token.partition("=")[0], self.command.entry
        if flag.replace("--no-", "--", 1).replace("_", "-") in OWN_FLAGS[entry]:
            self.launchers.append(flag)
            return
        self.unsure = True
        message = f"{problem.message}, and {entry} is not known to have it"
        meant = f"did you mean {' or '.join(problem.suggestions)}? " if problem.suggestions else ""
        place = None if problem.index is None else self.location(problem.index)
        hint = f"{meant}python -m {entry} --help tells"
        self.problems.append(Problem("launcher-flag", message, hint, place))

    def location(self, index: int) -> Location | None:
        """Give the place of a word."""
        if index >= len(self.command.words):
            return None
        word = self.command.words[index]
        return Location(word.line, word.column, word.file)

    def _named_beside(self, problem: ArgumentProblem) -> bool:
        beside = self.options.model_beside or (
            self.options.model is not None and self.command.entry == "flags"
        )
        return (
            beside
            and problem.kind == "missing-required"
            and problem.dest == self.around.compiled.program.model
        )

    def _add_environment(self) -> None:
        beside = self.options.env or {}
        given = {**self.command.env, **beside}
        self.remarks += [
            DISAGREEMENT.finding(f"env.{name}: {beside[name]} is used, not {value} (launch line)")
            for name, value in self.command.env.items()
            if beside.get(name, value) != value
        ]
        for name, value in given.items():
            fact = f"env.{name}"
            if fact in self.facts:
                self.facts[fact] = value
                self.origins[fact] = f"{name}={value}"
        if given:
            from mlacheck.environment import misread, unread  # few lines name a variable

            program = self.around.compiled.program
            if "given.misread" in self.facts:
                self.facts["given.misread"] = misread(given, program.engine, program.version)
            if not self.around.target.extrapolated:
                strange = [name for name in given if f"env.{name}" not in self.facts]
                self.remarks += unread(strange, program.engine, program.version)
        for name in self.command.unknown_env:
            if f"env.{name}" in self.facts and name not in (self.options.env or {}):
                self.facts[f"env.{name}"] = UNKNOWN

    def _model_word(self) -> str | None:
        """Tell how a line that may name its model in a word of its own does so; None for others."""
        if self.command.entry not in POSITIONAL_MODEL:
            return None
        given = self.arguments.given.get(self.around.compiled.program.model)
        if given is None:
            return "none"
        start, end = given.spans[0]
        if self.command.words[start].implied:
            return "first" if len(given.spans) == 1 else "both"
        return "after" if end == start + 1 else "flag"

    def _add_models(self) -> None:
        program = self.around.compiled.program
        unnamed = self.open and program.model not in self.arguments.given
        reference = self.options.model or (None if unnamed else self._given(program.model))
        overrides = evaluate(program.overrides, self.facts, self.around.compiled.scope)
        self._overrides = read_overrides(overrides) if is_known(overrides) else {}
        if self._overrides:
            kept = evaluate(program.overrides_keep, self.facts, self.around.compiled.scope)
            self._kept = tuple(kept) if isinstance(kept, (tuple, list)) else ()
        self.unsure |= not is_known(overrides)
        if self.facts.get(program.model) is None or program.model not in self.arguments.given:
            self.facts[program.model] = UNKNOWN if reference is None else reference
        self.model = self._add_model("target.", reference)
        if self.options.model is not None and program.model in self.arguments.given:
            self._compare_models(self._given(program.model))
        named = evaluate(program.draft, self.facts, self.around.compiled.scope)
        draft = named if is_known(named) else None
        if draft is None:
            # Without a checkpoint of its own the draft is made of the target's extra layers.
            self.facts.update(self.around.models.facts(program, "draft.", self.model))
        else:
            self._add_model("draft.", draft)
        if reference is None and is_known(self.facts.get(program.model)):
            self.assumptions.append("no model is named: --model PATH|ID supplies one")
        elif reference is not None and not self.options.model and program.model not in self.arguments.given:
            self.assumptions.append(f"no model is named: {program.engine} serves its default, {reference}")

    def _compare_models(self, served: object) -> None:
        """Remark that another model is checked than the line serves, where both are known."""
        found = self._found(served)
        if found is None or isinstance(found, ModelProblem) or self.model is None:
            return
        if found.config != self.model.config:
            said = f"{self.model.name} is checked, but the line serves {found.name}: their configs differ"
            remedy = Remedy("none", "name the model of the line, or leave it to the line")
            self.remarks.append(MODELS_DIFFER.finding(said, remedies=(remedy,)))

    def _add_model(self, prefix: str, reference: object) -> ModelConfig | None:
        found = self._found(reference)
        model = None if isinstance(found, ModelProblem) else found
        if isinstance(found, ModelProblem) and prefix == "draft.":
            found = of_draft(found)
        wrong = (found,) if isinstance(found, ModelProblem) else model.odd if model else ()
        self.unsure |= bool(wrong)
        self.problems.extend(Problem(one.kind, one.message, one.hint) for one in wrong)
        self.facts.update(self.around.models.facts(self.around.compiled.program, prefix, model))
        if model is not None:
            self.origins[prefix] = model.origin
            if prefix == "target.":
                self.origins["given.weights_gib"] = self.origins["given.attention_gib"] = model.origin
            if model.assumption is not None:
                self.assumptions.append(model.assumption)
        return model

    def _found(self, reference: object) -> ModelConfig | ModelProblem | None:
        """Find a model as the line changes it; None where the line does not say which."""
        if not isinstance(reference, str):
            return None
        return self.around.models.find(reference, self._overrides, self._kept)

    def _given(self, dest: str) -> object:
        value = self.facts.get(dest)
        return value if is_known(value) else None


def arguments_of(command: LaunchCommand, grammar: Grammar) -> Arguments:
    """Read the words of a command as its entry point does."""
    positional = command.entry == "flags" or command.entry in POSITIONAL_MODEL
    return grammar.parse(command.argv, command.unknown, loose=command.loose, positional=positional)


def fitted(command: LaunchCommand, grammar: Grammar) -> LaunchCommand:
    """Settle the words that stand for some versions of the engine only."""
    if not any(word.since for word in command.words):
        return command
    now = parse_version(grammar.version)
    words = []
    for word in command.words:
        first = parse_version(word.since) if word.since else None
        if first is None or now is None:
            words.append(word)
        elif now >= first:
            words.append(replace(word, unknown=(), splits=False, since=""))
    return replace(command, words=tuple(words))


def world_fact(worlds: tuple[Mapping[str, object], ...]) -> str:
    """Name the fact whose absence the worlds stand in for."""
    return next(iter(worlds[0]))


def gpus(worlds: Iterable[Evaluation]) -> str:
    """Name the GPUs that worlds stand for."""
    return ", ".join(f"SM{one.facts[world_fact(one.compiled.program.worlds)]}" for one in worlds)
