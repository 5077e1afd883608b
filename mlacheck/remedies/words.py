"""A rule's own remedies in words, with the flags as the engine spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlacheck.engines import Grammar
from mlacheck.probes.engine import recorded_versions
from mlacheck.remedies.write import set_words
from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def words_of_remedy(engine: str, one: Mapping[str, Any], versions: Sequence[str]) -> str:
    """Put one remedy of a rule into words."""
    if "edit" in one:
        told = "; ".join(_change(engine, name, value, versions) for name, value in one["edit"].items())
    elif "upgrade" in one:
        told = "install " + ", ".join(f"{name} {wanted}" for name, wanted in one["upgrade"].items())
    elif "hardware" in one:
        told = f"run it on {one['hardware']}"
    else:
        told = f"none by flags: {one['none']}"
    notes = [f"{name} {wanted}" for name, wanted in one.get("versions", {}).items()]
    notes += [f"where {one['when']}"] if one.get("when") else []
    notes += [one["cost"]] if one.get("cost") else []
    return f"{told} ({'; '.join(notes)})" if notes else told


def _change(engine: str, name: str, value: object, versions: Sequence[str]) -> str:
    flag = name.removeprefix("env.")
    for version in reversed(versions or recorded_versions(engine)):
        option = Grammar.load(engine, version).options.get(name)
        if option is not None:
            flag = option.flag
            break
    if not isinstance(value, list) and value in {UNSET, False}:
        return f"drop {flag}"
    return f"add {flag}" if value is True else set_words(flag, value)
