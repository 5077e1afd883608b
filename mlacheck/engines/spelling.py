"""Suggests what was meant by a flag or value that the engine refuses."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import load_json, load_yaml, rules_root
from mlacheck.frozen import replace
from mlacheck.probes.engine import recorded_versions
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mlacheck.engines.arguments import ArgumentProblem
    from mlacheck.engines.conversion import ConversionError
    from mlacheck.engines.grammar import Grammar

_MOST: Final = 3
_CANDIDATES: Final = 12
# Below these, what is suggested for a made-up word is noise.
_FLAG_LIKE: Final = 0.72
_VALUE_LIKE: Final = 0.6
# Shared words alone do not make two flags one.
_EDIT_LIKE: Final = 0.6
# What a flag begins with that switches off: the opposite of what is asked for is never meant.
_OFF: Final = ("--no-", "--disable-")
# Choices that are listed in a line, and those that are left away rather than one or two of them.
_SHOWN: Final = 9
_FEW: Final = 3
_DASHES: Final = "flags are written in lower case, with dashes"
_TWO: Final = "flags start with two dashes"


def suggest(problem: ArgumentProblem, grammar: Grammar) -> ArgumentProblem:
    """Add suggestions and a note to a problem, where anything is known or close."""
    if problem.suggestions:
        return problem
    if problem.kind == "unknown-flag":
        found, note = _flag(grammar.engine, grammar.version, problem.token)
        return replace(problem, suggestions=found, note=note)
    if problem.kind == "invalid-choice" and problem.dest is not None and problem.flag is not None:
        option = grammar.flags[problem.flag]
        found, note = _value(grammar.engine, problem.dest, problem.token, tuple(map(str, option.choices)))
        return replace(problem, suggestions=found, note=note)
    return problem


def refusal(engine: str, error: ConversionError) -> str:
    """Give the engine's own text for a value that one of its types refuses."""
    template = _known(engine, "refusals").get(error.reason)
    return str(error) if template is None else str(template).format(**error.parts)


def listed(choices: Iterable[object]) -> str:
    """Name the choices of a flag, the first ones of many."""
    names = [str(choice) for choice in choices]
    more = len(names) - _SHOWN
    return ", ".join(names if more < _FEW else names[:_SHOWN]) + (f" and {more} more" if more >= _FEW else "")


@lru_cache(maxsize=1024)
def _flag(engine: str, version: str, flag: str) -> tuple[tuple[str, ...], str]:
    from mlacheck.engines.grammar import Grammar  # which imports this module when a line is refused

    flags = Grammar.load(engine, version).flags
    dashes = flag.replace("_", "-").lower()
    if dashes != flag and dashes in flags:
        return (dashes,), _DASHES
    if not flag.startswith("--"):
        longer = [one for one in flags if one.startswith("-" + dashes)]
        same = [one for one in longer if one == "-" + dashes]
        return tuple((same or longer)[:_MOST]), _TWO
    known = _known(engine, "flags")
    entry = known.get(flag) or known.get(dashes)
    if isinstance(entry, dict):
        return _written(engine, flags, entry)
    lifetimes, replacements = _history(engine)
    successor = replacements.get(flag)
    note = _lifetime(engine, version, lifetimes[flag]) if flag in lifetimes else ""
    if successor is not None:
        return (successor,) if successor.partition("=")[0] in flags else (), note
    near = _close_flags(engine, version, dashes)
    if flag in lifetimes:
        # No misspelling: another name for it is one that no version has beside it.
        near = tuple(one for one in near if not set(lifetimes[flag]) & set(lifetimes[one]))
    return near, note


def _written(engine: str, flags: Iterable[str], entry: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Give what the spellings data says of a flag that no version has."""
    note, right = str(entry.get("note") or ""), entry.get("flag")
    if right is None:
        return (), note
    if right.partition(".")[0] not in flags:
        versions = _history(engine)[0].get(right, ())
        more = f"{right} is in {engine} {', '.join(versions)}" if versions else ""
        return (), "; ".join(part for part in (note, more) if part)
    value = entry.get("value")
    return (right if value is None else f"{right} {value}",), note


def _value(engine: str, dest: str, text: str, choices: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    known = _known(engine, "values").get(dest, {}).get(text)
    if known in choices:
        return (known,), ""
    if text.isdecimal() and all(map(str.isdecimal, choices)):
        larger = [choice for choice in choices if int(choice) > int(text)]
        return (min(larger, key=int, default=max(choices, key=int)),), ""
    versions = _choice_versions(engine).get((dest, text), ())
    note = f"{engine} {_span(versions)} had {text}" if versions else ""
    wanted = _letters(text)
    same = tuple(choice for choice in choices if _letters(choice) == wanted)
    if same:
        return same[:_MOST], note
    longer = tuple(choice for choice in choices if wanted and _letters(choice).startswith(wanted))
    if longer:
        return longer[:_MOST], note
    if note:
        return (), note  # a value that is gone is no misspelling
    return tuple(closest(text.lower(), choices, _MOST, _VALUE_LIKE)), ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


@cache
def _history(engine: str) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Give the versions that have each flag, and what the last of them said replaces it."""
    lifetimes: dict[str, tuple[str, ...]] = {}
    replacements: dict[str, str] = {}
    for version in recorded_versions(engine):
        for option in _options(engine, version):
            for flag in option["flags"]:
                lifetimes[flag] = (*lifetimes.get(flag, ()), version)
                if str(option.get("deprecated") or "").startswith("--"):
                    replacements[flag] = option["deprecated"]
    return lifetimes, replacements


@cache
def _choice_versions(engine: str) -> dict[tuple[str, str], tuple[str, ...]]:
    versions: dict[tuple[str, str], tuple[str, ...]] = {}
    for version in recorded_versions(engine):
        for option in _options(engine, version):
            for choice in option["choices"] or ():
                key = (option["dest"], str(choice))
                if version not in versions.get(key, ()):
                    versions[key] = (*versions.get(key, ()), version)
    return versions


def _lifetime(engine: str, version: str, have: tuple[str, ...]) -> str:
    """Say when a flag came or went."""
    order = recorded_versions(engine)
    at = order.index(version)
    if order.index(have[-1]) < at:
        return f"{engine} {order[order.index(have[-1]) + 1]} removed it ({_span(have)} had it)"
    if order.index(have[0]) > at:
        return f"{engine} has it since {have[0]}"
    return f"{engine} {_span(have)} has it"


def _span(versions: tuple[str, ...]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _options(engine: str, version: str) -> list[dict[str, Any]]:
    data = cast("dict[str, Any]", load_json(engine, "flags", f"{version}.json"))
    return cast("list[dict[str, Any]]", data["options"])


@cache
def _known(engine: str, kind: str) -> dict[str, Any]:
    if not rules_root().joinpath(engine, "spellings.yaml").exists():
        return {}
    data = cast("dict[str, Any]", load_yaml(engine, "spellings.yaml"))
    return cast("dict[str, Any]", data.get(kind) or {})


@cache
def _pieces(engine: str, version: str) -> list[tuple[str, frozenset[str]]]:
    from mlacheck.engines.grammar import Grammar  # which imports this module when a line is refused

    options = Grammar.load(engine, version).flags.items()
    return [(flag, _triples(flag)) for flag, option in options if not option.hidden]


def _triples(text: str) -> frozenset[str]:
    return frozenset(text[at : at + 3] for at in range(len(text) - 2))


def _close_flags(engine: str, version: str, flag: str) -> tuple[str, ...]:
    """Rank flags by edit distance and shared words, among the few that share most letter triples."""
    wanted = _triples(flag)
    if not wanted:
        return ()
    scored = sorted(
        ((len(wanted & triples) / len(wanted | triples), one) for one, triples in _pieces(engine, version)),
        reverse=True,
    )[:_CANDIDATES]
    words = flag.strip("-").split("-")
    off = flag.startswith(_OFF)
    ranked = sorted(
        (
            (_likeness(flag, words, one), one)
            for _, one in scored
            if one.startswith(_OFF) == off and _edit(flag, one) >= _EDIT_LIKE
        ),
        reverse=True,
    )
    best = ranked[0][0] if ranked else 0.0
    # What is much less like it than the best only distracts.
    return tuple(one for score, one in ranked[:_MOST] if score >= max(_FLAG_LIKE, best - 0.1))


def _edit(flag: str, other: str) -> float:
    import difflib  # only for a flag that is not there

    return difflib.SequenceMatcher(None, flag, other, autojunk=False).ratio()


def _likeness(flag: str, words: list[str], other: str) -> float:
    others = other.strip("-").split("-")
    edit = _edit(flag, other)
    # A word counts as shared also when it is short for the other (`spec`, `algo`).
    shared = sum(
        any(one == word or (len(word) > 2 and one.startswith(word)) for one in others) for word in words
    )
    return max(edit, (edit + 2 * shared / (len(words) + len(others))) / 2)
