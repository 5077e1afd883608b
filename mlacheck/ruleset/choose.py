"""Writes a `choose` rule out as derived facts and one decision table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import frozen
from mlacheck.ruleset.schema import Case, SetRule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mlacheck.ruleset.schema import ChooseRule, Versions

_TRAIT: Final = re.compile(r"\bcandidate\.([a-z_][a-z0-9_]*)")


@frozen
class Expansion:
    """What a `choose` rule becomes: derived facts by name, and the rule that sets the chosen candidate."""

    derives: dict[str, str]
    rule: SetRule


def expand(rule: ChooseRule, traits: Mapping[str, Any], in_range: Callable[[Versions], bool]) -> Expansion:
    """Write a rule out over the candidates of one version; KeyError names a trait that one lacks."""
    fact = rule.choose
    reasons = [one for one in rule.reasons if in_range(one.versions)]
    derives: dict[str, str] = {}
    for name, mine in traits.items():
        tests = [(_filled(one.when, mine, name), one.say) for one in reasons]
        derives[f"{fact}.refused.{name}"] = " or ".join(f"({when})" for when, _ in tests) or "False"
        pairs = ", ".join(f"{when}, {_filled_text(say, mine)!r}" for when, say in tests)
        derives[f"{fact}.reasons.{name}"] = f"listed({pairs})"
    cases: list[Case] = []
    if rule.named is not None:
        named = f"coalesce({rule.named}, '')"
        derives[f"{fact}.named_refused"] = (
            " or ".join(f"({named} == {name!r} and {fact}.refused.{name})" for name in traits) or "False"
        )
        derives[f"{fact}.named_reasons"] = _chain(
            [(f"{named} == {name!r}", f"{fact}.reasons.{name}") for name in traits]
        )
        taken: dict[str, Any] = {fact: f"= {rule.named}"}
        cases.append(Case(when=f"{rule.named} is not None", set=taken, title=rule.named_title))
    lists: list[tuple[str, str]] = []
    earlier: list[str] = []
    for among in rule.among:
        if not in_range(among.versions):
            continue
        here = " and ".join([*(f"not ({when})" for when in earlier), f"({among.when or 'True'})"])
        cases.extend(
            Case(when=f"{here} and not {fact}.refused.{name}", set={fact: name}, title=among.title)
            for name in among.values
        )
        shown = ", ".join(
            f"{fact}.refused.{name}, {name!r} + ' (' + {fact}.reasons.{name} + ')'" for name in among.values
        )
        lists.append((here, f"listed({shown})"))
        if among.when is None:
            break
        earlier.append(among.when)
    derives[f"{fact}.reasons"] = _chain(lists)
    cases.append(Case(set={fact: None}))
    written = SetRule(
        slug=rule.slug, title=rule.title or rule.slug, when=rule.when, cases=cases, source=rule.source
    )
    return Expansion(derives, written)


def _chain(arms: list[tuple[str, str]]) -> str:
    text = "''"
    for when, value in reversed(arms):
        text = f"({value} if {when} else {text})"
    return text


def _filled(text: str, traits: Mapping[str, Any], name: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] == "name":
            return repr(name)
        found = traits[match[1]]
        return repr(tuple(found) if isinstance(found, list) else found)

    return _TRAIT.sub(value, text)


def _filled_text(text: str, traits: Mapping[str, Any]) -> str:
    return re.sub(r"\{candidate\.([a-z_]+)\}", lambda match: str(traits[match[1]]), text)
