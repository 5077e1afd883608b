"""Suggests what was meant by a flag or value that the engine refuses."""

from __future__ import annotations

import difflib
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import load_json, load_yaml, rules_root
from mlacheck.frozen import replace
from mlacheck.probes.engine import recorded_versions

if TYPE_CHECKING:
    from mlacheck.engines.arguments import ArgumentProblem
    from mlacheck.engines.grammar import Grammar

_LIKE: Final = 0.75
_MOST: Final = 3


def suggest(problem: ArgumentProblem, grammar: Grammar) -> ArgumentProblem:
    """Add suggestions and a note to a problem, where anything is known or close."""
    if problem.suggestions:
        return problem
    if problem.kind == "unknown-flag":
        return _flag(problem, grammar)
    if problem.kind == "invalid-choice" and problem.dest is not None:
        choices = [str(choice) for choice in grammar.option(problem.dest).choices]
        known = _known(grammar.engine, "values").get(problem.dest, {}).get(problem.token)
        if known in choices:
            return replace(problem, suggestions=(known,))
        return replace(problem, suggestions=_close(problem.token.lower().replace("-", "_"), tuple(choices)))
    return problem


def _flag(problem: ArgumentProblem, grammar: Grammar) -> ArgumentProblem:
    flag = problem.token.partition("=")[0]
    known = _known(grammar.engine, "flags").get(flag)
    if isinstance(known, dict):
        right = known.get("flag")
        found = (right,) if right in grammar.flags else ()
        note = str(known.get("note") or "")
        if right and not found:
            note = (
                f"{note}; {right}: {_lifetime(grammar, right)}"
                if note
                else f"{right}: {_lifetime(grammar, right)}"
            )
        return replace(problem, suggestions=found, note=note)
    dashes = flag.replace("_", "-")
    if dashes in grammar.flags:
        return replace(problem, suggestions=(dashes,), note="flags are written with dashes")
    return replace(problem, suggestions=_close(flag, tuple(grammar.flags)), note=_lifetime(grammar, flag))


@cache
def _lifetime(grammar: Grammar, flag: str) -> str:
    """Say in which recorded versions a flag exists."""
    have = [
        version
        for version in recorded_versions(grammar.engine)
        if any(flag in option["flags"] for option in _options(grammar.engine, version))
    ]
    if not have:
        return f"no recorded {grammar.engine} version has it"
    return f"{grammar.engine} {have[0]} to {have[-1]} have it" if len(have) > 1 else f"only {have[0]} has it"


def _options(engine: str, version: str) -> list[dict[str, Any]]:
    return cast("dict[str, Any]", load_json(engine, "flags", f"{version}.json"))["options"]  # type: ignore[no-any-return]


def _known(engine: str, kind: str) -> dict[str, Any]:
    if not rules_root().joinpath(engine, "spellings.yaml").exists():
        return {}
    data = cast("dict[str, Any]", load_yaml(engine, "spellings.yaml"))
    return cast("dict[str, Any]", data.get(kind) or {})


@cache
def _close(word: str, among: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(word, among, n=_MOST, cutoff=_LIKE))
