"""What a search for a corrected line may try and what such a line should keep: rules/ENGINE/remedies.yaml."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from mlacheck.data import load_yaml, rules_root
from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class Keep:
    """One thing that a line asks for, how bad its loss is, and the words for what becomes of it."""

    fact: str
    gone: tuple[object, ...] = ()  # values with which it is gone
    weight: float = 0
    change: float = 0
    when: str | None = None  # another of these that has to be on for this one to matter
    like: str | None = None  # another of these: nothing is said where both move alike
    kept: str | None = None
    lost: str | None = None
    changed: str | None = None
    added: str | None = None


@frozen
class Preferences:
    """The search's knowledge of one engine."""

    fixed: frozenset[str]
    levers: Mapping[str, tuple[object, ...]]
    suits: Mapping[str, str]
    keeps: tuple[Keep, ...]
    # Arguments that say nothing without another one: they go where it goes.
    companions: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def keep(self, fact: str) -> Keep | None:
        """Give what is said of a fact."""
        return next((keep for keep in self.keeps if keep.fact == fact), None)


@cache
def preferences(engine: str) -> Preferences:
    """Load them; an engine without such a file has none."""
    if not rules_root().joinpath(engine, "remedies.yaml").exists():
        return Preferences(frozenset(), {}, {}, ())
    data = cast("dict[str, Any]", load_yaml(engine, "remedies.yaml"))
    keeps = tuple(Keep(**{**one, "gone": tuple(one.get("gone", ()))}) for one in data["keeps"])
    levers = {name: tuple(values) for name, values in data["levers"].items()}
    companions = {name: tuple(others) for name, others in data.get("companions", {}).items()}
    return Preferences(frozenset(data["fixed"]), levers, data["suits"], keeps, companions)
