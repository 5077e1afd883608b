"""What there is to know of a rule, for people: gathered from the rule files, all versions."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from mlacheck.builtin import BUILTINS, INPUT
from mlacheck.diagnosis.signs import signs
from mlacheck.engines import Grammar
from mlacheck.frozen import frozen
from mlacheck.launch.programs import POSITIONAL_MODEL
from mlacheck.probes.engine import recorded_versions
from mlacheck.remedies.words import words_of_remedy
from mlacheck.ruleset.build import in_range
from mlacheck.ruleset.names import hint, spelt
from mlacheck.ruleset.schema import FindRule, SetRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mlacheck.builtin import Builtin
    from mlacheck.ruleset.files import RuleSet
    from mlacheck.ruleset.schema import SourceReference, TestRow

_WHEN: Final = {
    "first-decode": "the engine starts, then fails at graph capture or the first decode",
    "silent": "the engine starts and says nothing",
    INPUT: "this is about the input of mlacheck, not about the engine",
}


@frozen
class Example:
    """A launch line, and what it would run on."""

    command: str
    target: str


@frozen
class Explanation:
    """One rule in words."""

    id: str
    slug: str
    title: str
    level: str
    phase: str
    bites: str
    versions: str
    place: str
    condition: str = ""
    why: str = ""
    message: str = ""
    engine_says: tuple[str, ...] = ()
    bad: tuple[Example, ...] = ()
    good: tuple[Example, ...] = ()
    remedies: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    confirm: str = ""


class UnknownRule(Exception):  # noqa: N818 - what it says
    """No rule has this id or slug."""


def explain(rulesets: Iterable[RuleSet], name: str) -> Explanation:
    """Explain one rule, by id or slug. Raises `UnknownRule` with the closest names."""
    every: dict[str, Explanation] = {}
    asked = spelt(name)
    for ruleset in rulesets:
        for one in explanations(ruleset):
            every.setdefault(one.id.lower(), one)
            every.setdefault(one.slug, one)
        if asked in every:
            return every[asked]
    raise UnknownRule(f"no rule {name!r}; {hint(name, {key: one.id for key, one in every.items()})}")


def explanations(ruleset: RuleSet) -> Iterator[Explanation]:
    """Explain every rule that makes findings, in the order of the rule files, then the built-in ones."""
    for source, path, rule in ruleset.rules():
        place = f"{source.name}:{source.line(path)}"
        if isinstance(rule, FindRule):
            yield _find(ruleset, rule, place)
        elif rule.id is not None:
            yield _set(ruleset.engine, rule, place)
    for one in BUILTINS:
        yield _builtin(one, ruleset.engine)


def _find(rules: RuleSet, rule: FindRule, place: str) -> Explanation:
    engine = rules.engine
    versions = _versions(engine, rule.versions)
    return Explanation(
        id=rule.id,
        slug=rule.slug,
        title=rule.title,
        level=rule.level,
        phase=rule.phase,
        bites=_bites(rule.level, rule.phase),
        versions=_range(engine, versions),
        place=place,
        condition=" ".join(rule.when.split()),
        why=" ".join(rule.explain.split()),
        message=rule.message,
        engine_says=rule.engine_words,
        bad=tuple(_example(rules, row) for row in rule.tests.fails[:1]),
        good=tuple(_example(rules, row) for row in rule.tests.passes[:1]),
        remedies=tuple(
            words_of_remedy(engine, one.model_dump(exclude_none=True), versions) for one in rule.remedies
        ),
        sources=_sources(rule.source),
        evidence=tuple(rule.evidence),
        confirm=rule.confirm,
    )


def _set(engine: str, rule: SetRule, place: str) -> Explanation:
    return Explanation(
        id=rule.id or "",
        slug=rule.slug,
        title=rule.title or rule.slug,
        level=rule.level or "info",
        phase="resolve",
        bites="the engine changes what the line says and starts",
        versions=_range(engine, _versions(engine, rule.versions)),
        place=place,
        condition=" ".join((rule.when or "").split()),
        message=rule.message,
        sources=_sources(rule.source),
        evidence=tuple(rule.evidence),
    )


def _builtin(one: Builtin, engine: str) -> Explanation:
    argparse = one.phase == "argparse"
    return Explanation(
        id=one.id,
        slug=one.slug,
        title=one.title,
        level=one.level,
        phase=one.phase,
        bites=_bites(one.level, one.phase),
        versions="all",
        place=f"rules/{engine}/flags" if argparse else "built in",
        why="It comes from the recorded options of each engine version." if argparse else "",
    )


def _bites(level: str, phase: str) -> str:
    if phase in _WHEN:
        return _WHEN[phase]
    if level != "error":
        return f"seen at start-up ({phase}); the engine starts"
    return f"the engine refuses the line at start-up ({phase})"


def _versions(engine: str, versions: dict[str, str]) -> list[str]:
    return [one for one in recorded_versions(engine) if in_range(versions, engine, Version(one))]


def _range(engine: str, versions: Sequence[str]) -> str:
    known = recorded_versions(engine)
    if not versions:
        return f"no recorded {engine}"
    if len(versions) == 1:
        return f"{engine} {versions[0]}"
    ends = f"{engine} {versions[0]} to {versions[-1]}"
    return f"{ends} (all recorded)" if list(versions) == list(known) else ends


def _example(rules: RuleSet, row: TestRow) -> Example:
    engine = rules.engine
    args = shlex.split(row.args) if isinstance(row.args, str) else row.args
    env = [f"{name}={shlex.quote(value)}" for name, value in row.env.items()]
    model = row.model or ("MODEL" if row.config is not None else None)
    launcher = signs(engine).launcher
    # What follows `serve` is the model; other launchers have a flag for it.
    flag = Grammar.load(engine, recorded_versions(engine)[-1]).option(rules.order.model).flag
    named = [] if not model else [model] if " ".join(launcher) in POSITIONAL_MODEL else [flag, model]
    command = " ".join([*env, *launcher, *map(shlex.quote, [*named, *args])])
    on = [f"{engine} {row.version}", "any GPU" if row.gpu is None else f"GPU {row.gpu}"]
    if row.flashinfer != "pin":
        on.append(f"FlashInfer {row.flashinfer or 'not installed'}")
    on += [f"{name} {version or 'not installed'}" for name, version in row.packages.items()]
    if row.config is not None:
        keys = ", ".join(f"{key}: {value}" for key, value in list(row.config.items())[:4])
        on.append(f"a model with {keys}")
    return Example(command, ", ".join(on))


def _sources(given: SourceReference | list[SourceReference] | None) -> tuple[str, ...]:
    references = given if isinstance(given, list) else [given] if given is not None else []
    return tuple(
        (f"{one.file}::{one.symbol}" if one.symbol else one.file)
        + "".join(f" ({wanted})" for wanted in one.versions.values())
        for one in references
    )
