"""What some engines do to their words before argparse reads them, undone again in what it says of them.

Underscores in flags become dashes, `--config.key value` becomes one JSON value at the end of the line, `-O3`
becomes `--optimization-level 3`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mlacheck.engines.arguments import ArgumentProblem, Arguments, Given
from mlacheck.engines.parser import Parse, Positional
from mlacheck.frozen import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.engines.grammar import Grammar

# From the dashes to the first dot: what follows a dot is a key of the config, in its own spelling.
_NAME: Final = re.compile(r"^--[^.]*")
_LEVEL: Final = "--optimization-level"
Spans = tuple[tuple[int, int], ...]


@dataclass
class _Words:
    """The words as argparse gets them, each with the places in the line that it came from."""

    texts: list[str] = field(default_factory=list)
    spans: list[Spans] = field(default_factory=list)
    unknown: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def add(self, text: str, spans: Spans, unknown: tuple[str, ...] | None = None) -> None:
        if unknown:
            self.unknown[len(self.texts)] = unknown
        self.texts.append(text)
        self.spans.append(spans)


def parse_rewritten(
    grammar: Grammar,
    words: Sequence[str],
    unknown: Mapping[int, tuple[str, ...]],
    positional: Positional | None = None,
) -> Arguments:
    """Parse an argv of an engine that rewrites it first."""
    rewritten, cut = _dotted(_dashes(words, unknown))
    if positional is not None and positional.loose:
        moved = [at for at, spans in enumerate(rewritten.spans) if spans[0][0] in positional.loose]
        positional = replace(positional, loose=moved)
    arguments = Parse(grammar, rewritten.texts, rewritten.unknown, positional).arguments()
    given = {name: _located(one, rewritten.spans) for name, one in arguments.given.items()}
    problems = tuple(
        one if one.index is None else replace(one, index=rewritten.spans[one.index][0][0])
        for one in arguments.problems
    )
    return Arguments(arguments.values, given, (*cut, *problems))


def _located(given: Given, spans: Sequence[Spans]) -> Given:
    found: list[tuple[int, int]] = []
    for start, end in given.spans:
        for span in sorted({one for word in spans[start:end] for one in word}):
            if found and found[-1][1] == span[0] and span[0] != spans[start][0][0]:
                found[-1] = (found[-1][0], span[1])
            else:
                found.append(span)
    return replace(given, spans=tuple(found))


def _dashes(words: Sequence[str], unknown: Mapping[int, tuple[str, ...]]) -> _Words:
    out = _Words()
    for index, word in enumerate(words):
        here: Spans = ((index, index + 1),)
        if word.startswith("--help="):  # what to look for in the help
            out.add("--help", here)
        elif word.startswith("--"):
            key, equals, value = word.partition("=")
            key = _NAME.sub(lambda match: match[0].replace("_", "-"), key)
            out.add(key + equals + value, here, unknown.get(index))
        elif word.startswith("-O") and len(word) > 2:
            out.add(_LEVEL, here)
            out.add(word[3:] if word[2] == "=" else word[2:], here, unknown.get(index))
        elif word == "-O" and index + 1 < len(words) and words[index + 1] in {"0", "1", "2", "3"}:
            out.add(_LEVEL, here)
        else:
            out.add(word, here, unknown.get(index))
    return out


def _dotted(words: _Words) -> tuple[_Words, tuple[ArgumentProblem, ...]]:
    """Gather `--config.key value` into one JSON value for each config, after all other words."""
    out = _Words()
    configs: dict[str, dict[str, Any]] = {}
    places: dict[str, list[tuple[int, int]]] = {}
    hidden: dict[str, tuple[str, ...]] = {}
    cut: list[ArgumentProblem] = []
    at = 0
    while at < len(words.texts):
        word = words.texts[at]
        name, equals, text = word.partition("=")
        if not (word.startswith("-") and "." in name):
            out.add(word, words.spans[at], words.unknown.get(at))
            at += 1
            continue
        start = words.spans[at][0][0]
        names = words.unknown.get(at, ())
        if not equals:
            at += 1
            if at == len(words.texts):
                said = "list index out of range"
                cut.append(
                    ArgumentProblem(
                        "missing-value", start, name, None, f"{name} needs a value", said, flag=name
                    )
                )
                break
            text, names = words.texts[at], (*names, *words.unknown.get(at, ()))
        end = words.spans[at][-1][1]
        at += 1
        key, _, path = name.removesuffix("+").partition(".")
        value: object = text.split(",") if name.endswith("+") else _plain(text)
        for part in reversed(path.split(".")):
            value = {part: value}
        _merge(configs.setdefault(key, {}), value)
        places.setdefault(key, []).append((start, end))
        if names:
            hidden[key] = (*hidden.get(key, ()), *names)
    for key, config in configs.items():
        spans = tuple(places[key])
        out.add(key, spans)
        out.add(json.dumps(config), spans, hidden.get(key))
    return out, tuple(cut)


def _plain(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _merge(into: dict[str, Any], new: object) -> None:
    if not isinstance(new, dict):
        return
    for key, value in new.items():
        old = into.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            _merge(old, value)
        elif isinstance(value, list) and isinstance(old, list):
            into[key] = [*old, *value]
        else:
            into[key] = value
