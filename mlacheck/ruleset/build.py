"""Builds one engine version's program from the rule files, checking every name and expression in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from mlacheck.ruleset.check import check
from mlacheck.ruleset.choose import Expansion, expand
from mlacheck.ruleset.error import RuleError
from mlacheck.ruleset.expression import Declaration, ExpressionError, Scope, names_of
from mlacheck.ruleset.program import PLACEHOLDER, Arm, Program, Step
from mlacheck.ruleset.schema import (
    ChooseRule,
    FindRule,
    SetRule,
    SourceReference,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mlacheck.ruleset.files import Rule, RuleSet
    from mlacheck.ruleset.source import Key, Source

_RUNNER: Final = re.compile(r"\brunner\.")


def in_range(versions: Mapping[str, str], engine: str, version: Version) -> bool:
    """Tell whether a rule's version range includes an engine version."""
    specifier = versions.get(engine)
    return specifier is None or SpecifierSet(specifier).contains(version, prereleases=True)


def build(
    ruleset: RuleSet,
    version: str,
    arguments: Mapping[str, Declaration],
    argument_defaults: Mapping[str, Any],
    absent: frozenset[str] = frozenset(),
) -> Program:
    """Select one version's rules and check every expression in them. Raises `RuleError` with its place."""
    builder = _Builder(ruleset, version, absent)
    return builder.program(arguments, argument_defaults)


class _Builder:
    def __init__(self, ruleset: RuleSet, version: str, absent: frozenset[str]) -> None:
        self.absent = absent
        self.ruleset, self.engine = ruleset, ruleset.engine
        self.version, self.parsed = version, Version(version)
        # What `choose` rules of this version become, by slug, and where their derived facts come from.
        self.chosen: dict[str, list[SetRule]] = {}
        self.places: dict[str, tuple[Source, Key]] = {}

    def program(self, arguments: Mapping[str, Declaration], argument_defaults: Mapping[str, Any]) -> Program:
        declarations, defaults = self._declarations(arguments, argument_defaults)
        derives, tables = self._derives(), self._tables()
        derives.update(self._choices(tables))
        for name in derives:
            declarations.setdefault(name, Declaration("any"))
        scope = Scope(declarations, derives, tables, absent=self.absent)
        self._check_derives(scope)
        self._check_order(scope)
        steps = tuple(
            step
            for source, path, rule in self.ruleset.rules()
            for step in self._steps(source, path, rule, scope)
        )
        order = self.ruleset.order
        for key, names in (("resolved", order.resolved), ("about", order.about)):
            for name in names:
                if name not in declarations:
                    said = f"{key}: no fact {name!r} is declared"
                    raise RuleError(said, file=f"rules/{self.engine}/program.yaml")
        return Program(
            engine=self.engine,
            version=self.version,
            model=order.model,
            draft=order.draft,
            overrides=order.overrides,
            overrides_keep=order.overrides_keep,
            declarations=declarations,
            defaults=defaults,
            derives=derives,
            tables=tables,
            steps=steps,
            resolved=tuple(order.resolved),
            about=tuple(order.about),
            worlds=tuple(order.worlds),
            reads=frozenset(
                name
                for step in steps
                for text in (*step.conditions, *step.values)
                for name in scope.references(text)
            ),
            read_at=self._read_at(steps),
            inert=frozenset(order.inert),
            absent=self.absent,
            settled=scope.find_settled({fact for step in steps for fact in step.targets}),
        )

    def _read_at(self, steps: Sequence[Step]) -> dict[str, int]:
        places = {step.slug: number for number, step in reversed(list(enumerate(steps)))}
        try:
            return {name: places[slug] for name, slug in self.ruleset.order.read_at.items()}
        except KeyError as error:
            raise RuleError(f"read_at: no rule {error}", file=f"rules/{self.engine}/program.yaml") from None

    def _check_order(self, scope: Scope) -> None:
        order = self.ruleset.order
        try:
            for text in (order.model, order.draft, order.overrides, order.overrides_keep):
                check(text, scope)
        except ExpressionError as error:
            raise RuleError(str(error), file=f"rules/{self.engine}/program.yaml") from None

    def _in_range(self, versions: Mapping[str, str], source: Source, path: Key) -> bool:
        unknown = set(versions) - {self.engine}
        if unknown:
            raise source.error(
                f"versions: {', '.join(unknown)} is not the engine; use a condition on a version fact", path
            )
        try:
            return in_range(versions, self.engine, self.parsed)
        except InvalidSpecifier as error:
            raise source.error(f"versions: {error}", path) from None

    def _declarations(
        self, arguments: Mapping[str, Declaration], argument_defaults: Mapping[str, Any]
    ) -> tuple[dict[str, Declaration], dict[str, Any]]:
        declarations = dict(arguments)
        defaults = dict(argument_defaults)
        for source, file in self.ruleset.files:
            for name, fact in file.facts.items():
                declared = Declaration(fact.type, tuple(fact.values), fact.doc, tuple(fact.config))
                earlier = declarations.get(name)
                if earlier is not None and name not in arguments and earlier.type != declared.type:
                    raise source.error(f"{name} is declared as {earlier.type} elsewhere", ("facts", name))
                if name in arguments:
                    old = arguments[name]
                    declared = Declaration(old.type, (*old.values, *declared.values), declared.doc or old.doc)
                elif earlier is not None:
                    declared = Declaration(
                        earlier.type,
                        (*earlier.values, *declared.values),
                        earlier.doc or declared.doc,
                        earlier.config or declared.config,
                    )
                else:
                    defaults[name] = fact.default
                declarations[name] = declared
                if name.startswith("target.") and fact.config:
                    twin = "draft." + name.removeprefix("target.")
                    declarations.setdefault(twin, declared)
                    defaults.setdefault(twin, None)
        return declarations, defaults

    def _derives(self) -> dict[str, str]:
        derives: dict[str, str] = {}
        for source, file in self.ruleset.files:
            for name, given in file.derive.items():
                path: Key = ("derive", name)
                if name in derives:
                    raise source.error(f"{name} is derived twice", path)
                versions = [given] if isinstance(given, str) else given
                for one in versions:
                    if isinstance(one, str):
                        derives[name] = one
                    elif self._in_range(one.versions, source, path):
                        derives[name] = one.value
                    else:
                        continue
                    break
                else:
                    derives[name] = "None"
        return derives

    def _choices(self, tables: Mapping[str, Any]) -> dict[str, str]:
        """Write every `choose` rule of this version out; give the derived facts that they make."""
        derives: dict[str, str] = {}
        for source, path, rule in self.ruleset.rules():
            if not isinstance(rule, ChooseRule) or not self._in_range(rule.versions, source, path):
                continue
            choice = self._like(source, path, rule)
            traits = tables.get(choice.traits)
            if not isinstance(traits, dict):
                raise source.error(f"traits: no map table {choice.traits!r}", path)
            for runner in choice.for_each or (None,):
                expansion = self._expansion(source, path, choice, traits, runner)
                derives.update(expansion.derives)
                self.chosen.setdefault(rule.slug, []).append(expansion.rule)
                self.places.update(dict.fromkeys(expansion.derives, (source, path)))
        return derives

    def _like(self, source: Source, path: Key, rule: ChooseRule) -> ChooseRule:
        """Give the rule itself, or the one that it repeats, for its own runners."""
        if rule.like is None:
            return rule
        for _, _, other in self.ruleset.rules():
            if isinstance(other, ChooseRule) and other.slug == rule.like:
                return other.model_copy(update={"slug": rule.slug, "for_each": rule.for_each})
        raise source.error(f"like: no choose rule {rule.like!r}", path)

    def _expansion(
        self, source: Source, path: Key, rule: ChooseRule, traits: dict[str, Any], runner: str | None
    ) -> Expansion:
        try:
            return expand(rule, traits, lambda versions: self._in_range(versions, source, path), runner)
        except KeyError as error:
            raise source.error(f"a candidate of {rule.traits} lacks trait {error}", path) from None

    def _tables(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for source, file in self.ruleset.files:
            for name, versions in file.tables.items():
                path: Key = ("tables", name)
                if name in tables:
                    raise source.error(f"table {name} is given twice", path)
                tables[name] = ()
                for one in versions:
                    if self._in_range(one.versions, source, path):
                        tables[name] = one.values if isinstance(one.values, dict) else tuple(one.values)
                        break
        return tables

    def _check_derives(self, scope: Scope) -> None:
        places: dict[str, tuple[Source, Key]] = {
            name: (source, ("derive", name)) for source, file in self.ruleset.files for name in file.derive
        }
        places.update(self.places)
        for name, text in scope.derives.items():
            source, path = places[name]
            self._check(text, scope, source, path)
        done: set[str] = set()

        def visit(name: str, trail: tuple[str, ...]) -> None:
            if name in trail:
                source, path = places[name]
                raise source.error(f"derived facts go in a circle: {' -> '.join((*trail, name))}", path)
            if name in done:
                return
            for inner in _derived_names(scope.tree(scope.derives[name]), scope):
                visit(inner, (*trail, name))
            done.add(name)

        for name in scope.derives:
            visit(name, ())

    def _check(self, text: str, scope: Scope, source: Source, path: Key) -> None:
        try:
            check(text, scope)
        except (ExpressionError, RecursionError) as error:
            raise source.error(str(error), path) from None

    def _steps(self, source: Source, path: Key, rule: Rule, scope: Scope) -> Iterator[Step]:
        if not self._in_range(rule.versions, source, (*path, "versions")):
            return
        line = source.line(path) or 0
        if isinstance(rule, ChooseRule):
            for chosen in self.chosen[rule.slug]:
                yield self._set_step(source, path, chosen, scope, line)
            return
        if isinstance(rule, SetRule):
            yield self._set_step(source, path, rule, scope, line)
            return
        for runner in rule.for_each or (None,):
            yield self._find_step(source, path, rule, scope, line, runner)

    def _set_step(self, source: Source, path: Key, rule: SetRule, scope: Scope, line: int) -> Step:
        if rule.when is not None:
            self._check(rule.when, scope, source, (*path, "when"))
        self._check_message(rule.message, scope, source, path)
        arms = []
        cases = [(rule.when, rule.set, rule.title, (*path, "set"))] if rule.set is not None else []
        for index, case in enumerate(rule.cases or ()):
            when = case.when
            if when is not None:
                self._check(when, scope, source, (*path, "cases", index, "when"))
            cases.append((when, case.set, case.title or rule.title, (*path, "cases", index, "set")))
        for when, assignments, title, place in cases:
            targets = []
            for fact, value in assignments.items():
                if fact in scope.derives:
                    raise source.error(f"{fact} is derived and cannot be set", (*place, fact))
                if fact not in scope.declarations:
                    raise source.error(f"no fact {fact!r} is declared", (*place, fact))
                expression = isinstance(value, str) and value.startswith("= ")
                if expression:
                    self._check(value[2:], scope, source, (*place, fact))
                targets.append((fact, expression, value[2:] if expression else value))
            arms.append(Arm(when, title or rule.slug, tuple(targets)))
        return Step(
            kind="set",
            id=rule.id,
            slug=rule.slug,
            title=rule.title or rule.slug,
            when=rule.when if rule.cases is not None else None,
            arms=tuple(arms),
            level=rule.level,
            phase="resolve",
            message=rule.message,
            source=self._source(rule.source, source, path),
            evidence=tuple(rule.evidence),
            file=source.name,
            line=line,
        )

    def _find_step(
        self, source: Source, path: Key, rule: FindRule, scope: Scope, line: int, runner: str | None
    ) -> Step:
        when, message = rule.when, rule.message
        remedies = [remedy.model_dump(exclude_none=True) for remedy in rule.remedies]
        if runner is not None:
            when, message = _RUNNER.sub(f"{runner}.", when), message.replace("{runner.", f"{{{runner}.")
            if runner == "draft":
                when = f"draft.exists and ({when})"
            for remedy in remedies:
                if "when" in remedy:
                    remedy["when"] = _RUNNER.sub(f"{runner}.", remedy["when"])
        self._check(when, scope, source, (*path, "when"))
        self._check_message(message, scope, source, path)
        kept = []
        for index, remedy in enumerate(remedies):
            place = (*path, "remedies", index)
            if not self._in_range(remedy.pop("versions", {}), source, place):
                continue
            if "when" in remedy:
                self._check(remedy["when"], scope, source, (*place, "when"))
            for fact in remedy.get("edit", {}):
                if fact not in scope.declarations:
                    raise source.error(f"edit: no argument {fact!r} is known", place)
            kept.append(remedy)
        return Step(
            kind="find",
            id=rule.id,
            slug=rule.slug,
            title=rule.title,
            when=when,
            level=rule.level,
            phase=rule.phase,
            message=message,
            engine_says=rule.engine_words,
            crash=rule.crash,
            source=self._source(rule.source, source, path),
            explain=rule.explain,
            confirm=rule.confirm,
            known_only=rule.known_only,
            evidence=tuple(rule.evidence),
            remedies=tuple(kept),
            file=source.name,
            line=line,
        )

    def _check_message(self, message: str, scope: Scope, source: Source, path: Key) -> None:
        for name in PLACEHOLDER.findall(message):
            if name not in scope.declarations:
                raise source.error(f"message: no fact {name!r} is declared", (*path, "message"))
        if "{" in PLACEHOLDER.sub("", message):
            raise source.error("message: braces hold the name of a fact, nothing else", (*path, "message"))

    def _source(
        self, given: SourceReference | list[SourceReference] | None, source: Source, path: Key
    ) -> str:
        references = [given] if isinstance(given, SourceReference) else given or []
        for one in references:
            if self._in_range(one.versions, source, (*path, "source")):
                return f"{one.file}::{one.symbol}" if one.symbol else one.file
        return ""


def _derived_names(node: ast.expr, scope: Scope) -> Iterable[str]:
    return (name for name in names_of(node) if name in scope.derives)
