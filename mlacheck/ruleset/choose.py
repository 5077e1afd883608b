"""Writes a `choose` rule out as derived facts and one decision table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import frozen
from mlacheck.ruleset.schema import Case, SetRule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mlacheck.ruleset.schema import Candidates, ChooseRule, Reason, Versions

_TRAIT: Final = re.compile(r"\bcandidate\.([a-z_][a-z0-9_]*)")
_RUNNER: Final = re.compile(r"\brunner\.")


@frozen
class Expansion:
    """What a `choose` rule becomes: derived facts by name, and the rule that sets the chosen candidate."""

    derives: dict[str, str]
    rule: SetRule


def expand(
    rule: ChooseRule, traits: Mapping[str, Any], in_range: Callable[[Versions], bool], runner: str | None
) -> Expansion:
    """Write a rule out over the candidates of one version; KeyError names a trait that one lacks."""
    fact, named = _of(rule.choose, runner), _of(rule.named or "None", runner)
    reasons = [one for one in rule.reasons if in_range(one.versions)]
    among = [one for one in rule.among if in_range(one.versions)]
    derives: dict[str, str] = {}
    for name, mine in traits.items():
        derives.update(_judged(fact, name, [_pair(one, mine, name, runner) for one in reasons]))
    derives[f"{fact}.alternative"] = _chain(
        [(_of(one.when or "True", runner), str(index)) for index, one in enumerate(among)], "None"
    )
    given = f"coalesce({named}, '')"
    derives[f"{fact}.named_refused"] = (
        " or ".join(f"({given} == {name!r} and {fact}.refused.{name})" for name in traits) or "False"
    )
    derives[f"{fact}.named_reasons"] = _chain(
        [(f"{given} == {name!r}", f"{fact}.reasons.{name}") for name in traits], "''"
    )
    derives[f"{fact}.reasons"] = _chain(
        [(f"{fact}.alternative == {index}", _all(fact, one)) for index, one in enumerate(among)], "''"
    )
    when = rule.when and _of(rule.when, runner)
    if runner == "draft":
        when = f"draft.exists and ({when or 'True'})"
    written = SetRule(
        slug=rule.slug if runner is None else f"{rule.slug}-{runner}",
        title=rule.title or rule.slug,
        when=when,
        cases=_cases(fact, named, rule, among),
        source=rule.source,
    )
    return Expansion(derives, written)


def _pair(reason: Reason, traits: Mapping[str, Any], name: str, runner: str | None) -> tuple[str, str]:
    def value(match: re.Match[str]) -> str:
        found = name if match[1] == "name" else traits[match[1]]
        return repr(tuple(found) if isinstance(found, list) else found)

    return _TRAIT.sub(value, _of(reason.when, runner)), reason.say


def _judged(fact: str, name: str, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    return {
        f"{fact}.refused.{name}": " or ".join(f"({when})" for when, _ in pairs) or "False",
        f"{fact}.reasons.{name}": "listed(" + ", ".join(f"{when}, {say!r}" for when, say in pairs) + ")",
    }


def _cases(fact: str, named: str, rule: ChooseRule, among: Sequence[Candidates]) -> list[Case]:
    cases = []
    if rule.named is not None:
        taken: dict[str, Any] = {fact: f"= {named}"}
        cases.append(Case(when=f"{named} is not None", set=taken, title=rule.named_title))
    cases.extend(
        Case(when=f"{fact}.alternative == {index} and not {fact}.refused.{name}", set={fact: name})
        for index, one in enumerate(among)
        for name in one.values
    )
    return [*cases, Case(set={fact: None})]


def _all(fact: str, among: Candidates) -> str:
    """Write the reasons of all candidates of one list."""
    shown = (f"True, {name!r} + ': ' + {fact}.reasons.{name}" for name in among.values)
    return f"listed({', '.join(shown)})"


def _chain(arms: Sequence[tuple[str, str]], last: str) -> str:
    text = last
    for when, value in reversed(arms):
        text = f"({value} if {when} else {text})"
    return text


def _of(text: str, runner: str | None) -> str:
    return text if runner is None else _RUNNER.sub(f"{runner}.", text)
